/* decode_stb.c - the only file that compiles stb_image, and only two parts of it.
 *
 * JPEG is decoded whole. Of PNG only inflate is used: stb_image checks no CRC, lets a small file
 * inflate without end and leaves palette entries unset, so decode_png.c does the rest. GIF, PSD,
 * PIC, TGA, HDR and PNM of stb_image have a history of memory faults and are not compiled. */
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

uint8_t *oc_stb_jpeg(const unsigned char *bytes, size_t size, int *width, int *height,
                     const char **reason)
{
    *width = *height = 0;
    *reason = NULL;
    if (size > INT_MAX) {
        *reason = "larger than 2 GiB";
        return NULL;
    }
    int components;
    uint8_t *rgb = stbi_load_from_memory(bytes, (int)size, width, height, &components, 3);
    if (rgb == NULL) {
        *reason = stbi_failure_reason();
        *width = *height = 0;
    }
    return rgb;
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
