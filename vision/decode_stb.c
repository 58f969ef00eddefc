/* decode_stb.c - the only file that compiles stb_image, and only two parts of it.
 *
 * Of JPEG it reads the coded data into planes. The inverse DCT, upsampling and colours are ours
 * (jpeg_planes.h): stb_image's differ from the reference's by up to 3 levels, and by far more in the
 * last column of pictures halved across only. Of PNG only inflate is used: stb_image checks no CRC,
 * lets a small file inflate without end and leaves palette entries unset. Its other formats have a
 * history of memory faults and are not compiled.
 *
 * On damaged coded data its integers may overflow and its shifts be too wide. Nothing but sample
 * values depends on them; the build gives this file -fwrapv and no shift checks. */
#include "vision/decode_stb.h"

#include "runtime/base/memory.h"

#include <limits.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_JPEG
#define STBI_SUPPORT_ZLIB
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS 65535 /* the most a JPEG header can say */
/* Zeroed memory: a scan or table that a damaged file leaves out is then empty, not someone's data. */
#define STBI_MALLOC(size) oc_alloc(1, size)
#define STBI_REALLOC_SIZED(block, old_size, new_size) oc_grow(block, old_size, new_size, 1)
#define STBI_FREE(block) oc_free(block)
/* Its assertions check the input, not the program; a library may not end the process for that. */
#define STBI_ASSERT(condition) ((void)0)

#if defined(__GNUC__)
/* To the end of the file: that is where functions declared and never defined are found out. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#pragma GCC diagnostic ignored "-Wwrite-strings"
#endif
#include <stb/stb_image.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

struct oc_stb_jpeg {
    stbi__context source;
    stbi__jpeg decoder;
};

static void describe_planes(oc_jpeg_planes *out, const stbi__jpeg *decoder)
{
    *out = (oc_jpeg_planes){.width = (int)decoder->s->img_x,
                            .height = (int)decoder->s->img_y,
                            .count = decoder->s->img_n};
    for (int i = 0; i < out->count; i++) {
        out->planes[i] = (oc_jpeg_plane){.samples = decoder->img_comp[i].data,
                                         .stride = (size_t)decoder->img_comp[i].w2,
                                         .width = decoder->img_comp[i].x,
                                         .height = decoder->img_comp[i].y,
                                         .across = decoder->img_h_max / decoder->img_comp[i].h,
                                         .down = decoder->img_v_max / decoder->img_comp[i].v};
    }
}

oc_stb_jpeg *oc_stb_jpeg_open(oc_jpeg_planes *out, const unsigned char *bytes, size_t size,
                              const char **reason)
{
    *out = (oc_jpeg_planes){0};
    *reason = "larger than 2 GiB";
    if (size > INT_MAX) {
        return NULL;
    }
    *reason = "out of memory";
    oc_stb_jpeg *jpeg = oc_alloc(1, sizeof *jpeg);
    if (jpeg == NULL) {
        return NULL;
    }
    stbi__start_mem(&jpeg->source, bytes, (int)size);
    jpeg->decoder.s = &jpeg->source;
    stbi__setup_jpeg(&jpeg->decoder);
    jpeg->decoder.idct_block_kernel = oc_jpeg_idct;
    if (!stbi__decode_jpeg_image(&jpeg->decoder)) {
        *reason = stbi_failure_reason();
        oc_stb_jpeg_close(jpeg);
        return NULL;
    }
    describe_planes(out, &jpeg->decoder);
    return jpeg;
}

void oc_stb_jpeg_close(oc_stb_jpeg *jpeg)
{
    if (jpeg != NULL) {
        stbi__cleanup_jpeg(&jpeg->decoder);
        oc_free(jpeg);
    }
}

bool oc_stb_inflate(const unsigned char *bytes, size_t size, unsigned char *out, size_t capacity,
                    size_t *produced)
{
    *produced = 0;
    if (size > INT_MAX || capacity > INT_MAX) {
        return false;
    }
    stbi__zbuf *state = oc_alloc(1, sizeof *state);
    if (state == NULL) {
        return false;
    }
    /* stb_image does not write through zbuffer; its field is just not const. */
    union {
        const unsigned char *given;
        unsigned char *taken;
    } input = {bytes};
    state->zbuffer = input.taken;
    state->zbuffer_end = input.taken + size;
    enum { FIXED = 0, ZLIB_HEADER = 1 };
    bool ended = stbi__do_zlib(state, (char *)out, (int)capacity, FIXED, ZLIB_HEADER) != 0;
    *produced = (size_t)(state->zout - state->zout_start);
    oc_free(state);
    return ended;
}
