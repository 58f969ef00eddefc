/* decode_pnm.c - PBM, PGM and PPM, as text (P1 to P3) or bytes (P4 to P6), to RGB. A file may hold
 * several pictures; the first counts. */
#include "vision/decode.h"

#include <math.h>
#include <stdbool.h>

typedef struct header {
    int kind;                     /* 1 to 6 */
    uint32_t width, height, most; /* most: the value that means full; 1 for bitmaps */
} header;

typedef struct cursor {
    const oc_decode_input *in;
    size_t at;
} cursor;

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Blanks and comments, which run from # to the end of the line. */
static void skip_blanks(cursor *read)
{
    const unsigned char *bytes = read->in->bytes;
    while (read->at < read->in->size) {
        if (bytes[read->at] == '#') {
            while (read->at < read->in->size && bytes[read->at] != '\n' &&
                   bytes[read->at] != '\r') {
                read->at++;
            }
        } else if (is_blank(bytes[read->at])) {
            read->at++;
        } else {
            return;
        }
    }
}

/* A number of at most digits digits. */
static ocelli_status read_number(cursor *read, uint32_t *out, size_t digits, ocelli_error *err)
{
    skip_blanks(read);
    const oc_decode_input *in = read->in;
    if (read->at == in->size) {
        return oc_decode_cut_off(in, "PNM", err);
    }
    uint32_t value = 0;
    size_t begin = read->at;
    while (read->at < in->size && in->bytes[read->at] >= '0' && in->bytes[read->at] <= '9' &&
           read->at - begin < digits) {
        value = value * 10 + (uint32_t)(in->bytes[read->at] - '0');
        read->at++;
    }
    bool more = read->at < in->size && in->bytes[read->at] >= '0' && in->bytes[read->at] <= '9';
    if (read->at == begin || (more && digits > 1)) {
        return oc_decode_damaged(in, "PNM", "a number is missing or too long", err);
    }
    *out = value;
    return OCELLI_OK;
}

static ocelli_status read_header(header *out, cursor *read, ocelli_error *err)
{
    const oc_decode_input *in = read->in;
    enum { MOST_DIGITS = 9 }; /* so that a number fits its type */
    *out = (header){.kind = in->bytes[1] - '0', .most = 1};
    read->at = 2;
    OC_TRY(read_number(read, &out->width, MOST_DIGITS, err));
    OC_TRY(read_number(read, &out->height, MOST_DIGITS, err));
    if (out->kind != 1 && out->kind != 4) {
        OC_TRY(read_number(read, &out->most, MOST_DIGITS, err));
    }
    OC_TRY(oc_decode_check_size(in, out->width, out->height, err));
    if (out->most < 1 || out->most > 65535) {
        return oc_decode_damaged(in, "PNM", "its largest value is not from 1 to 65535", err);
    }
    read->at += out->kind >= 4; /* one blank, then bytes */
    return OCELLI_OK;
}

/* Half to even, as the reference's decoder rounds. */
static uint8_t to_byte(uint32_t value, uint32_t most)
{
    if (most == 255) {
        return value > 255 ? 255 : (uint8_t)value;
    }
    double scaled = rint((double)value / most * 255.0);
    return scaled > 255.0 ? 255 : (uint8_t)scaled;
}

static int samples_of(const header *head)
{
    return head->kind == 3 || head->kind == 6 ? 3 : 1;
}

/* Fewer bytes than these cannot hold the picture. */
static uint64_t least_bytes(const header *head)
{
    uint64_t samples = (uint64_t)head->width * head->height * (unsigned)samples_of(head);
    switch (head->kind) {
    case 4: return (uint64_t)((head->width + 7) / 8) * head->height;
    case 5:
    case 6: return head->most > 255 ? 2 * samples : samples;
    case 1: return samples;
    default: return 2 * samples - 1; /* a digit each, a blank between */
    }
}

static ocelli_status read_text_sample(cursor *read, const header *head, uint8_t *out,
                                      ocelli_error *err)
{
    uint32_t value;
    if (head->kind == 1) {
        OC_TRY(read_number(read, &value, 1, err)); /* bits may stand without blanks */
        if (value > 1) {
            return oc_decode_damaged(read->in, "PNM", "a bit is neither 0 nor 1", err);
        }
        *out = value == 0 ? 255 : 0;
        return OCELLI_OK;
    }
    OC_TRY(read_number(read, &value, 9, err));
    if (value > head->most) {
        return oc_decode_damaged(read->in, "PNM", "a value is above the largest", err);
    }
    *out = to_byte(value, head->most);
    return OCELLI_OK;
}

static void widen(uint8_t *rgb, int samples)
{
    if (samples == 1) {
        rgb[1] = rgb[2] = rgb[0];
    }
}

static ocelli_status read_text(ocelli_image *image, cursor *read, const header *head,
                               ocelli_error *err)
{
    int samples = samples_of(head);
    size_t pixels = (size_t)head->width * head->height;
    for (size_t i = 0; i < pixels; i++) {
        for (int sample = 0; sample < samples; sample++) {
            OC_TRY(read_text_sample(read, head, image->rgb + 3 * i + sample, err));
        }
        widen(image->rgb + 3 * i, samples);
    }
    return OCELLI_OK;
}

/* least_bytes of them are there. */
static void read_bytes(ocelli_image *image, const unsigned char *bytes, const header *head)
{
    int samples = samples_of(head);
    uint8_t *rgb = image->rgb;
    for (uint32_t y = 0; y < head->height; y++) {
        for (uint32_t x = 0; x < head->width; x++, rgb += 3) {
            if (head->kind == 4) {
                rgb[0] = (bytes[x / 8] >> (7 - x % 8) & 1) != 0 ? 0 : 255;
            } else {
                for (int sample = 0; sample < samples; sample++) {
                    uint32_t value = *bytes++;
                    if (head->most > 255) {
                        value = value << 8 | *bytes++;
                    }
                    rgb[sample] = to_byte(value, head->most);
                }
            }
            widen(rgb, samples);
        }
        if (head->kind == 4) {
            bytes += (head->width + 7) / 8;
        }
    }
}

ocelli_status oc_decode_pnm(ocelli_image **out, const oc_decode_input *in, ocelli_error *err)
{
    *out = NULL;
    cursor read = {.in = in};
    header head;
    OC_TRY(read_header(&head, &read, err));
    if (read.at > in->size || in->size - read.at < least_bytes(&head)) {
        return oc_decode_cut_off(in, "PNM", err);
    }
    ocelli_image *image;
    OC_TRY(oc_image_new(&image, (int)head.width, (int)head.height, err));
    ocelli_status status = OCELLI_OK;
    if (head.kind >= 4) {
        read_bytes(image, in->bytes + read.at, &head);
    } else {
        status = read_text(image, &read, &head, err);
    }
    if (status != OCELLI_OK) {
        oc_image_free(image);
        return status;
    }
    *out = image;
    return OCELLI_OK;
}
