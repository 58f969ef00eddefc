/* decode_png.c - PNG to RGB: unfilter, deinterlace, widen or narrow samples, settle alpha.
 *
 * The size of the inflated data follows from the header, so one buffer of that size is all that a
 * file can ask for, however much it would inflate to. 16-bit samples keep their high byte and gamma
 * and profiles are ignored, as in the reference's decoder. */
#include "vision/png_chunks.h"

#include "runtime/base/memory.h"
#include "vision/alpha.h"
#include "vision/decode_stb.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* inflate stops in front of a match (at most 258 bytes) or a stored block (65535) that does not fit:
 * with room for one more, "stopped" always means "has enough". */
enum { SLACK = 65536, MOST_RATIO = 1032 }; /* deflate cannot shrink by more than 1032 */

/* One of the seven interlaced pictures, or the only one. */
typedef struct pass {
    uint32_t first_x, first_y, step_x, step_y;
} pass;

static const pass WHOLE = {0, 0, 1, 1};
static const pass ADAM7[7] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                              {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};

typedef struct pass_size {
    uint32_t width, height;
    size_t row_bytes; /* without the filter byte */
} pass_size;

static uint32_t count_steps(uint32_t size, uint32_t first, uint32_t step)
{
    return size > first ? (size - first - 1) / step + 1 : 0;
}

/* width and height were checked: their product is bounded, a row of 64-bit pixels fits. */
static pass_size measure(const oc_png *png, const pass *part)
{
    pass_size size = {.width = count_steps(png->width, part->first_x, part->step_x),
                      .height = count_steps(png->height, part->first_y, part->step_y)};
    uint64_t bits = (uint64_t)size.width * (unsigned)png->samples * (unsigned)png->depth;
    size.row_bytes = (size_t)((bits + 7) / 8);
    return size;
}

static const pass *passes_of(const oc_png *png, int *count)
{
    *count = png->interlaced ? 7 : 1;
    return png->interlaced ? ADAM7 : &WHOLE;
}

/* Bytes of all filtered rows; false: too many. */
static bool count_raw(const oc_png *png, size_t *total)
{
    int count;
    const pass *parts = passes_of(png, &count);
    *total = 0;
    for (int i = 0; i < count; i++) {
        pass_size size = measure(png, &parts[i]);
        size_t bytes;
        if (size.width > 0 && (!oc_size_mul(size.height, size.row_bytes + 1, &bytes) ||
                               !oc_size_add(*total, bytes, total))) {
            return false;
        }
    }
    return true;
}

static uint8_t paeth(int left, int up, int corner)
{
    int from_left = abs(up - corner), from_up = abs(left - corner);
    int from_corner = abs(left + up - 2 * corner);
    if (from_left <= from_up && from_left <= from_corner) {
        return (uint8_t)left;
    }
    return (uint8_t)(from_up <= from_corner ? up : corner);
}

/* Undoes one row's filter in place. up: the row above without its filter byte, or zeros. */
static bool unfilter(int filter, uint8_t *row, const uint8_t *up, size_t bytes, size_t step)
{
    size_t i = 0;
    switch (filter) {
    case 0: return true;
    case 1:
        for (i = step; i < bytes; i++) {
            row[i] = (uint8_t)(row[i] + row[i - step]);
        }
        return true;
    case 2:
        for (; i < bytes; i++) {
            row[i] = (uint8_t)(row[i] + up[i]);
        }
        return true;
    case 3:
        for (; i < bytes; i++) {
            int left = i >= step ? row[i - step] : 0;
            row[i] = (uint8_t)(row[i] + (left + up[i]) / 2);
        }
        return true;
    case 4:
        for (; i < step && i < bytes; i++) {
            row[i] = (uint8_t)(row[i] + up[i]);
        }
        for (; i < bytes; i++) {
            row[i] = (uint8_t)(row[i] + paeth(row[i - step], up[i], up[i - step]));
        }
        return true;
    default: return false;
    }
}

/* A sample at the file's own depth. */
static uint32_t read_sample(const uint8_t *row, size_t index, int depth)
{
    if (depth == 8) {
        return row[index];
    }
    if (depth == 16) {
        return (uint32_t)row[2 * index] << 8 | row[2 * index + 1];
    }
    size_t per_byte = 8u / (unsigned)depth;
    unsigned shift = 8u - (unsigned)depth * (unsigned)(index % per_byte + 1);
    return (uint32_t)row[index / per_byte] >> shift & ((1u << depth) - 1);
}

static uint8_t to_byte(uint32_t sample, int depth)
{
    if (depth == 16) {
        return (uint8_t)(sample >> 8);
    }
    return (uint8_t)(sample * 255u / ((1u << depth) - 1)); /* exact: 255 is a multiple of each */
}

static void read_pixel(uint8_t rgba[4], const oc_png *png, const uint8_t *row, uint32_t x)
{
    size_t first = (size_t)x * (unsigned)png->samples;
    uint32_t value[4] = {0};
    for (int i = 0; i < png->samples; i++) {
        value[i] = read_sample(row, first + (unsigned)i, png->depth);
    }
    int depth = png->depth;
    rgba[3] = 255;
    switch (png->colour) {
    case OC_PNG_PALETTE: memcpy(rgba, png->palette[value[0]], 4); return;
    case OC_PNG_GREY:
    case OC_PNG_GREY_ALPHA: rgba[0] = rgba[1] = rgba[2] = to_byte(value[0], depth); break;
    case OC_PNG_RGB:
    case OC_PNG_RGBA:
        for (int i = 0; i < 3; i++) {
            rgba[i] = to_byte(value[i], depth);
        }
        break;
    }
    if (png->colour == OC_PNG_GREY_ALPHA || png->colour == OC_PNG_RGBA) {
        rgba[3] = to_byte(value[png->samples - 1], depth);
    } else if (png->has_key && value[0] == png->key[0] &&
               (png->samples == 1 || (value[1] == png->key[1] && value[2] == png->key[2]))) {
        rgba[3] = 0;
    }
}

/* row: unfiltered samples of width pixels; they go to out, step bytes apart. */
static void place_row(uint8_t *out, size_t step, const oc_png *png, const uint8_t *row,
                      uint32_t width, const ocelli_image_options *options)
{
    if (png->colour == OC_PNG_RGB && png->depth == 8 && !png->has_key && step == 3) {
        memcpy(out, row, (size_t)width * 3);
        return;
    }
    if (png->colour == OC_PNG_RGBA && png->depth == 8) {
        for (uint32_t x = 0; x < width; x++, out += step) {
            oc_alpha_settle(out, row + (size_t)4 * x, options);
        }
        return;
    }
    for (uint32_t x = 0; x < width; x++, out += step) {
        uint8_t rgba[4];
        read_pixel(rgba, png, row, x);
        oc_alpha_settle(out, rgba, options);
    }
}

/* raw: filtered rows of all passes, unfiltered here in place. zeros [a row of the widest pass]. */
static bool place_rows(ocelli_image *image, const oc_png *png, uint8_t *raw, const uint8_t *zeros,
                       const ocelli_image_options *options)
{
    int count;
    const pass *parts = passes_of(png, &count);
    size_t pixel_bytes = ((unsigned)png->samples * (unsigned)png->depth + 7) / 8;
    for (int i = 0; i < count; i++) {
        pass_size size = measure(png, &parts[i]);
        const uint8_t *up = zeros;
        for (uint32_t y = 0; size.width > 0 && y < size.height; y++) {
            int filter = *raw++;
            if (!unfilter(filter, raw, up, size.row_bytes, pixel_bytes)) {
                return false;
            }
            size_t out_y = parts[i].first_y + (size_t)y * parts[i].step_y;
            size_t pixel = out_y * png->width + parts[i].first_x;
            place_row(image->rgb + 3 * pixel, (size_t)3 * parts[i].step_x, png, raw, size.width,
                      options);
            up = raw;
            raw += size.row_bytes;
        }
    }
    return true;
}

/* Inflates the IDAT chunks; *raw is the caller's. */
static ocelli_status inflate_data(uint8_t **raw, size_t raw_bytes, const oc_png *png,
                                  const oc_decode_input *in, ocelli_error *err)
{
    *raw = NULL;
    if (png->data_size < raw_bytes / MOST_RATIO) {
        return oc_decode_cut_off(in, "PNG", err);
    }
    /* A few zeros behind the stream: inflate looks ahead, and some files lack the checksum. */
    enum { LOOK_AHEAD = 8 };
    if (png->data_size > INT_MAX - LOOK_AHEAD || raw_bytes > INT_MAX - SLACK) {
        return oc_fail(err, OCELLI_E_LIMIT,
                       "%s: the PNG picture holds more than 2 GiB of pixel data; convert it to 8 "
                       "bits a sample or shrink it",
                       in->name);
    }
    unsigned char *packed = oc_alloc(png->data_size + LOOK_AHEAD, 1);
    uint8_t *unpacked = oc_alloc(raw_bytes + SLACK, 1);
    if (packed == NULL || unpacked == NULL) {
        oc_free(packed);
        oc_free(unpacked);
        return oc_fail_memory(err, "picture");
    }
    oc_png_gather_data(packed, png, in);
    size_t produced;
    bool ended =
        oc_stb_inflate(packed, png->data_size + LOOK_AHEAD, unpacked, raw_bytes + SLACK, &produced);
    oc_free(packed);
    if (produced >= raw_bytes) {
        *raw = unpacked;
        return OCELLI_OK;
    }
    oc_free(unpacked);
    return ended
               ? oc_decode_cut_off(in, "PNG", err)
               : oc_decode_damaged(in, "PNG", "its pixel data is cut off or does not inflate", err);
}

ocelli_status oc_decode_png(ocelli_image **out, const oc_decode_input *in, ocelli_error *err)
{
    *out = NULL;
    oc_png png;
    OC_TRY(oc_png_read_chunks(&png, in, err));
    size_t raw_bytes;
    if (!count_raw(&png, &raw_bytes)) {
        return oc_fail_memory(err, "picture");
    }
    uint8_t *raw;
    OC_TRY(inflate_data(&raw, raw_bytes, &png, in, err));
    ocelli_image *image = NULL;
    uint8_t *zeros = oc_alloc(measure(&png, &WHOLE).row_bytes, 1);
    ocelli_status status = zeros == NULL
                               ? oc_fail_memory(err, "picture")
                               : oc_image_new(&image, (int)png.width, (int)png.height, err);
    if (status == OCELLI_OK && !place_rows(image, &png, raw, zeros, &in->options)) {
        oc_image_free(image);
        image = NULL;
        status = oc_decode_damaged(in, "PNG", "a row names an unknown filter", err);
    }
    oc_free(zeros);
    oc_free(raw);
    *out = image;
    return status;
}
