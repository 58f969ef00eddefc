/* decode_bmp.c - Windows and OS/2 bitmaps to RGB: palettes of 1, 2, 4 and 8 bits, run-length coded
 * ones, 16, 24 and 32 bits with fixed or given masks.
 *
 * The fourth byte of a 32-bit pixel is alpha only if the header gives an alpha mask, and not even
 * then if it is 0 everywhere: programs that leave it unset are common. */
#include "vision/decode.h"

#include "runtime/base/memory.h"
#include "vision/alpha.h"

#include <stdbool.h>
#include <string.h>

enum { FILE_HEADER_BYTES = 14, CORE_HEADER_BYTES = 12 };
enum compression { RGB = 0, RLE8 = 1, RLE4 = 2, BITFIELDS = 3, ALPHA_BITFIELDS = 6 };

/* Where one colour lies in a 16- or 32-bit pixel. */
typedef struct channel {
    uint32_t mask;
    int shift;
    uint32_t most; /* the mask, shifted down */
} channel;

typedef struct bitmap {
    int width, height; /* height is positive */
    bool top_down;
    int bits;
    uint32_t compression;
    size_t pixels_at; /* offset of the rows */
    size_t row_bytes; /* padded to 4 */
    uint8_t palette[256][3];
    channel channels[4]; /* red, green, blue, alpha */
} bitmap;

static uint32_t read16(const unsigned char *at)
{
    return (uint32_t)at[1] << 8 | at[0];
}

static uint32_t read32(const unsigned char *at)
{
    return read16(at + 2) << 16 | read16(at);
}

/* The two's complement value, without a conversion that the implementation defines. */
static int64_t read_signed32(const unsigned char *at)
{
    int64_t value = read32(at);
    return value > INT32_MAX ? value - (INT64_C(1) << 32) : value;
}

static ocelli_status fail_damaged(const oc_decode_input *in, const char *what, ocelli_error *err)
{
    return oc_decode_damaged(in, "BMP", what, err);
}

static ocelli_status set_mask(const oc_decode_input *in, channel *out, uint32_t mask,
                              ocelli_error *err)
{
    *out = (channel){.mask = mask, .most = mask};
    while (out->most != 0 && (out->most & 1) == 0) {
        out->most >>= 1;
        out->shift++;
    }
    if ((out->most & (out->most + 1)) != 0) {
        return fail_damaged(in, "a colour mask has holes", err);
    }
    return OCELLI_OK;
}

static ocelli_status read_masks(bitmap *bmp, const oc_decode_input *in, size_t header_bytes,
                                ocelli_error *err)
{
    static const uint32_t MASKS_16[4] = {0x7C00, 0x03E0, 0x001F, 0};
    static const uint32_t MASKS_32[4] = {0xFF0000, 0x00FF00, 0x0000FF, 0};
    uint32_t masks[4];
    memcpy(masks, bmp->bits == 16 ? MASKS_16 : MASKS_32, sizeof masks);
    if (bmp->compression == BITFIELDS || bmp->compression == ALPHA_BITFIELDS) {
        /* Inside the longer headers, behind the short one: the same place. */
        int count = bmp->compression == ALPHA_BITFIELDS || header_bytes >= 56 ? 4 : 3;
        if (in->size < FILE_HEADER_BYTES + 40u + 4u * (unsigned)count) {
            return oc_decode_cut_off(in, "BMP", err);
        }
        for (int i = 0; i < count; i++) {
            masks[i] = read32(in->bytes + FILE_HEADER_BYTES + 40 + 4 * i);
        }
    }
    for (int i = 0; i < 4; i++) {
        OC_TRY(set_mask(in, &bmp->channels[i], masks[i], err));
    }
    return OCELLI_OK;
}

static ocelli_status read_palette(bitmap *bmp, const oc_decode_input *in, size_t header_bytes,
                                  uint32_t colours, ocelli_error *err)
{
    size_t entry_bytes = header_bytes == CORE_HEADER_BYTES ? 3 : 4;
    if (colours == 0) {
        colours = 1u << bmp->bits;
    }
    if (colours > 65536) {
        return fail_damaged(in, "its palette is larger than any", err);
    }
    size_t at = FILE_HEADER_BYTES + header_bytes;
    for (size_t i = 0; i < colours && i < 256; i++, at += entry_bytes) {
        if (at + entry_bytes > in->size) {
            return oc_decode_cut_off(in, "BMP", err);
        }
        if (at + entry_bytes > bmp->pixels_at) {
            break; /* the rows begin before the palette is full, and win */
        }
        bmp->palette[i][0] = in->bytes[at + 2];
        bmp->palette[i][1] = in->bytes[at + 1];
        bmp->palette[i][2] = in->bytes[at];
    }
    return OCELLI_OK;
}

static bool is_kind_known(const bitmap *bmp)
{
    switch (bmp->compression) {
    case RGB:
        return bmp->bits == 1 || bmp->bits == 2 || bmp->bits == 4 || bmp->bits == 8 ||
               bmp->bits == 16 || bmp->bits == 24 || bmp->bits == 32;
    case RLE8: return bmp->bits == 8 && !bmp->top_down;
    case RLE4: return bmp->bits == 4 && !bmp->top_down;
    case BITFIELDS:
    case ALPHA_BITFIELDS: return bmp->bits == 16 || bmp->bits == 32;
    default: return false;
    }
}

static ocelli_status read_size(bitmap *bmp, const oc_decode_input *in, int64_t width,
                               int64_t height, ocelli_error *err)
{
    if (width < 0) {
        return fail_damaged(in, "its width is negative", err);
    }
    bmp->top_down = height < 0;
    if (height < 0) {
        height = -height;
    }
    OC_TRY(oc_decode_check_size(in, (uint64_t)width, (uint64_t)height, err));
    bmp->width = (int)width;
    bmp->height = (int)height;
    return OCELLI_OK;
}

static ocelli_status read_header(bitmap *bmp, const oc_decode_input *in, ocelli_error *err)
{
    if (in->size < FILE_HEADER_BYTES + CORE_HEADER_BYTES) {
        return oc_decode_cut_off(in, "BMP", err);
    }
    const unsigned char *header = in->bytes + FILE_HEADER_BYTES;
    size_t header_bytes = read32(header);
    bmp->pixels_at = read32(in->bytes + 10);
    uint32_t colours = 0;
    if (header_bytes == CORE_HEADER_BYTES) {
        OC_TRY(read_size(bmp, in, read16(header + 4), read16(header + 6), err));
        bmp->bits = (int)read16(header + 10);
    } else {
        if (header_bytes < 16 || header_bytes > 256) {
            return fail_damaged(in, "its header has an unknown length", err);
        }
        if (in->size < FILE_HEADER_BYTES + header_bytes) {
            return oc_decode_cut_off(in, "BMP", err);
        }
        OC_TRY(read_size(bmp, in, read_signed32(header + 4), read_signed32(header + 8), err));
        bmp->bits = (int)read16(header + 14);
        bmp->compression = header_bytes >= 20 ? read32(header + 16) : RGB;
        colours = header_bytes >= 36 ? read32(header + 32) : 0;
        if (header_bytes == 64 && bmp->compression >= BITFIELDS) {
            bmp->compression = UINT32_MAX; /* OS/2 means something else by these numbers */
        }
    }
    if (!is_kind_known(bmp)) {
        return oc_fail(
            err, OCELLI_E_UNSUPPORTED,
            "%s: a BMP picture with %d bits a pixel and compression %u, which this build "
            "cannot decode; save it again as PNG",
            in->name, bmp->bits, (unsigned)bmp->compression);
    }
    if (bmp->pixels_at > in->size) {
        return oc_decode_cut_off(in, "BMP", err);
    }
    bmp->row_bytes = (((size_t)bmp->width * (unsigned)bmp->bits + 31) / 32) * 4;
    return bmp->bits <= 8 ? read_palette(bmp, in, header_bytes, colours, err)
                          : read_masks(bmp, in, header_bytes, err);
}

static uint8_t *output_row(ocelli_image *image, const bitmap *bmp, int y)
{
    int row = bmp->top_down ? y : bmp->height - 1 - y;
    return image->rgb + (size_t)row * (size_t)bmp->width * 3;
}

static uint8_t read_channel(const channel *part, uint32_t pixel)
{
    uint64_t value = (pixel & part->mask) >> part->shift;
    return part->most == 0 ? 0 : (uint8_t)(value * 255 / part->most);
}

static bool has_visible_alpha(const bitmap *bmp, const unsigned char *rows)
{
    if (bmp->channels[3].mask == 0) {
        return false;
    }
    size_t pixel_bytes = (size_t)bmp->bits / 8;
    for (int y = 0; y < bmp->height; y++) {
        const unsigned char *at = rows + (size_t)y * bmp->row_bytes;
        for (int x = 0; x < bmp->width; x++, at += pixel_bytes) {
            uint32_t pixel = pixel_bytes == 2 ? read16(at) : read32(at);
            if ((pixel & bmp->channels[3].mask) != 0) {
                return true;
            }
        }
    }
    return false;
}

static void place_masked_row(uint8_t *out, const bitmap *bmp, const unsigned char *row,
                             bool has_alpha, const ocelli_image_options *options)
{
    size_t pixel_bytes = (size_t)bmp->bits / 8;
    for (int x = 0; x < bmp->width; x++, row += pixel_bytes, out += 3) {
        uint32_t pixel = pixel_bytes == 2 ? read16(row) : read32(row);
        uint8_t rgba[4];
        for (int i = 0; i < 4; i++) {
            rgba[i] = read_channel(&bmp->channels[i], pixel);
        }
        if (!has_alpha) {
            rgba[3] = 255;
        }
        oc_alpha_settle(out, rgba, options);
    }
}

static void place_plain_row(uint8_t *out, const bitmap *bmp, const unsigned char *row)
{
    if (bmp->bits == 24) {
        for (int x = 0; x < bmp->width; x++, row += 3, out += 3) {
            out[0] = row[2];
            out[1] = row[1];
            out[2] = row[0];
        }
        return;
    }
    int per_byte = 8 / bmp->bits;
    unsigned most = (1u << bmp->bits) - 1;
    for (int x = 0; x < bmp->width; x++, out += 3) {
        int shift = 8 - bmp->bits * (x % per_byte + 1);
        memcpy(out, bmp->palette[(unsigned)row[x / per_byte] >> shift & most], 3);
    }
}

static ocelli_status place_rows(ocelli_image *image, const bitmap *bmp, const oc_decode_input *in,
                                ocelli_error *err)
{
    const unsigned char *rows = in->bytes + bmp->pixels_at;
    /* The padding of the last row may be missing. */
    size_t last_bytes = ((size_t)bmp->width * (unsigned)bmp->bits + 7) / 8;
    size_t needed;
    if (!oc_size_mul(bmp->row_bytes, (size_t)(bmp->height - 1), &needed) ||
        !oc_size_add(needed, last_bytes, &needed) || needed > in->size - bmp->pixels_at) {
        return oc_decode_cut_off(in, "BMP", err);
    }
    bool masked = bmp->bits == 16 || bmp->bits == 32;
    bool has_alpha = masked && has_visible_alpha(bmp, rows);
    for (int y = 0; y < bmp->height; y++) {
        const unsigned char *row = rows + (size_t)y * bmp->row_bytes;
        if (masked) {
            place_masked_row(output_row(image, bmp, y), bmp, row, has_alpha, &in->options);
        } else {
            place_plain_row(output_row(image, bmp, y), bmp, row);
        }
    }
    return OCELLI_OK;
}

static void place_index(ocelli_image *image, const bitmap *bmp, int x, int y, unsigned index)
{
    if (x < bmp->width && y < bmp->height) {
        memcpy(output_row(image, bmp, y) + (size_t)x * 3, bmp->palette[index], 3);
    }
}

/* The i-th pixel of a run whose bytes hold one or two pixels each. */
static unsigned run_index(const bitmap *bmp, const unsigned char *bytes, int i)
{
    if (bmp->bits == 8) {
        return bytes[i];
    }
    return (unsigned)bytes[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15u;
}

/* Run-length codes: pairs of count and value; count 0 is an escape: 0 ends a row, 1 the picture, 2
 * moves, more is that many plain pixels. Pixels never named are colour 0. */
static ocelli_status place_runs(ocelli_image *image, const bitmap *bmp, const oc_decode_input *in,
                                ocelli_error *err)
{
    for (int y = 0; y < bmp->height; y++) {
        for (int x = 0; x < bmp->width; x++) {
            place_index(image, bmp, x, y, 0);
        }
    }
    const unsigned char *at = in->bytes + bmp->pixels_at;
    const unsigned char *end = in->bytes + in->size;
    int x = 0, y = 0;
    while (y < bmp->height) {
        if (end - at < 2) {
            return oc_decode_cut_off(in, "BMP", err);
        }
        int count = at[0], value = at[1];
        at += 2;
        if (count > 0) {
            unsigned char twice[1] = {(unsigned char)value};
            for (int i = 0; i < count && x < bmp->width; i++, x++) {
                place_index(image, bmp, x, y, run_index(bmp, twice, bmp->bits == 8 ? 0 : i % 2));
            }
        } else if (value == 0) {
            x = 0;
            y++;
        } else if (value == 1) {
            break;
        } else if (value == 2) {
            if (end - at < 2) {
                return oc_decode_cut_off(in, "BMP", err);
            }
            x += at[0];
            y += at[1];
            at += 2;
            if (x > bmp->width) {
                return fail_damaged(in, "a run-length code leaves the picture", err);
            }
        } else {
            int bytes = bmp->bits == 8 ? value : (value + 1) / 2;
            int padded = (bytes + 1) & ~1;
            if (end - at < padded) {
                return oc_decode_cut_off(in, "BMP", err);
            }
            for (int i = 0; i < value && x < bmp->width; i++, x++) {
                place_index(image, bmp, x, y, run_index(bmp, at, i));
            }
            at += padded;
        }
    }
    return OCELLI_OK;
}

ocelli_status oc_decode_bmp(ocelli_image **out, const oc_decode_input *in, ocelli_error *err)
{
    *out = NULL;
    bitmap bmp = {0};
    OC_TRY(read_header(&bmp, in, err));
    bool runs = bmp.compression == RLE8 || bmp.compression == RLE4;
    /* Before the pixels are allocated: plain rows must be there in full. */
    if (!runs && (in->size - bmp.pixels_at) / bmp.row_bytes + 1 < (size_t)bmp.height) {
        return oc_decode_cut_off(in, "BMP", err);
    }
    ocelli_image *image;
    OC_TRY(oc_image_new(&image, bmp.width, bmp.height, err));
    ocelli_status status =
        runs ? place_runs(image, &bmp, in, err) : place_rows(image, &bmp, in, err);
    if (status != OCELLI_OK) {
        oc_image_free(image);
        return status;
    }
    *out = image;
    return OCELLI_OK;
}
