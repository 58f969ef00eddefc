/* jpeg_turbo.c - see jpeg_turbo.h. The library's ways of failing and of speaking are replaced: it
 * returns here by longjmp, and prints nothing. What outlives the jump lies in one struct. */
#include "vision/jpeg_turbo.h"

#include "runtime/base/memory.h"
#include "vision/ink.h"

#include <limits.h>
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>

#include <jerror.h>

typedef struct turbo {
    struct jpeg_decompress_struct codec;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
    ocelli_image *image;
    uint8_t *inks; /* [width, 4]: a row of a picture in inks; else NULL */
    bool remarked, no_memory;
} turbo;

static void leave(j_common_ptr codec)
{
    turbo *state = codec->client_data;
    state->no_memory = codec->err->msg_code == JERR_OUT_OF_MEMORY;
    longjmp(state->failed, 1);
}

static void note(j_common_ptr codec, int level)
{
    turbo *state = codec->client_data;
    state->remarked = state->remarked || level < 0;
}

static void print_nothing(j_common_ptr codec)
{
    (void)codec;
}

/* A row of inverted inks to rgb. */
static void convert_inks(uint8_t *rgb, const uint8_t *inks, int width)
{
    for (int x = 0; x < width; x++, rgb += 3, inks += 4) {
        for (int i = 0; i < 3; i++) {
            rgb[i] = oc_ink_light(inks[i], inks[3]);
        }
    }
}

/* True: a whole picture stands in state->image. */
static bool decode(turbo *state, const oc_decode_input *in, const oc_jpeg *jpeg, int shrink)
{
    struct jpeg_decompress_struct *codec = &state->codec;
    if (setjmp(state->failed) != 0) {
        return false;
    }
    jpeg_create_decompress(codec);
    jpeg_mem_src(codec, in->bytes, (unsigned long)in->size);
    (void)jpeg_read_header(codec, TRUE);
    bool inked = jpeg->components == 4;
    codec->out_color_space = inked ? JCS_CMYK : JCS_RGB;
    codec->scale_num = 1;
    codec->scale_denom = (unsigned)shrink;
    (void)jpeg_start_decompress(codec);
    if (codec->image_width != (JDIMENSION)jpeg->width ||
        codec->image_height != (JDIMENSION)jpeg->height) {
        return false;
    }
    state->no_memory = oc_image_new(&state->image, (int)codec->output_width,
                                    (int)codec->output_height, NULL) != OCELLI_OK;
    state->inks = inked ? oc_alloc(codec->output_width, 4) : NULL;
    state->no_memory = state->no_memory || (inked && state->inks == NULL);
    if (state->no_memory) {
        return false;
    }
    int width = state->image->width;
    while (codec->output_scanline < codec->output_height) {
        uint8_t *row = state->image->rgb + (size_t)codec->output_scanline * (size_t)width * 3;
        JSAMPROW rows[1] = {inked ? state->inks : row};
        (void)jpeg_read_scanlines(codec, rows, 1);
        if (inked) {
            convert_inks(row, state->inks, width);
        }
    }
    (void)jpeg_finish_decompress(codec);
    return !state->remarked;
}

ocelli_status oc_jpeg_turbo_decode(ocelli_image **out, const oc_decode_input *in,
                                   const oc_jpeg *jpeg, int shrink, ocelli_error *err)
{
    *out = NULL;
    turbo *state = oc_alloc(1, sizeof *state);
    if (state == NULL) {
        return oc_fail_memory(err, "picture");
    }
    state->codec.err = jpeg_std_error(&state->errors);
    state->codec.client_data = state;
    state->errors.error_exit = leave;
    state->errors.emit_message = note;
    state->errors.output_message = print_nothing;
    if (decode(state, in, jpeg, shrink)) {
        state->image->full_width = jpeg->width;
        state->image->full_height = jpeg->height;
        *out = state->image;
        state->image = NULL;
    }
    ocelli_status status = state->no_memory ? oc_fail_memory(err, "picture") : OCELLI_OK;
    jpeg_destroy_decompress(&state->codec);
    oc_image_free(state->image);
    oc_free(state->inks);
    oc_free(state);
    return status;
}
