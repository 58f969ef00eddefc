/* png_chunks.c - see png_chunks.h. */
#include "vision/png_chunks.h"

#include <string.h>

enum { SIGNATURE_BYTES = 8, CHUNK_BYTES = 12 }; /* length, name and CRC of a chunk */

typedef struct chunk {
    const unsigned char *name, *data;
    size_t length;
} chunk;

/* What has been seen so far. */
typedef struct reader {
    const oc_decode_input *in;
    oc_png *png;
    uint32_t crc_table[256];
    bool has_header, has_palette, data_open, data_closed, ended;
} reader;

static uint32_t read32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint16_t read16(const unsigned char *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static void fill_crc_table(uint32_t table[256])
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 1) != 0 ? 0xEDB88320u ^ (crc >> 1) : crc >> 1;
        }
        table[byte] = crc;
    }
}

/* Over name and data, which lie together. */
static bool has_right_crc(const reader *state, const chunk *part)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < part->length + 4; i++) {
        crc = state->crc_table[(crc ^ part->name[i]) & 0xFF] ^ (crc >> 8);
    }
    return (crc ^ 0xFFFFFFFFu) == read32(part->data + part->length);
}

static bool is_named(const chunk *part, const char *name)
{
    return memcmp(part->name, name, 4) == 0;
}

static ocelli_status fail_damaged(const reader *state, const char *what, ocelli_error *err)
{
    return oc_decode_damaged(state->in, "PNG", what, err);
}

static bool is_depth_allowed(int colour, int depth)
{
    switch (colour) {
    case OC_PNG_GREY: return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case OC_PNG_PALETTE: return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case OC_PNG_RGB:
    case OC_PNG_GREY_ALPHA:
    case OC_PNG_RGBA: return depth == 8 || depth == 16;
    default: return false;
    }
}

static int samples_of(int colour)
{
    switch (colour) {
    case OC_PNG_RGB: return 3;
    case OC_PNG_GREY_ALPHA: return 2;
    case OC_PNG_RGBA: return 4;
    default: return 1;
    }
}

static ocelli_status read_header(reader *state, const chunk *part, ocelli_error *err)
{
    if (state->has_header || part->length != 13) {
        return fail_damaged(state, "its header (IHDR) is not one of 13 bytes", err);
    }
    const unsigned char *data = part->data;
    oc_png *png = state->png;
    png->width = read32(data);
    png->height = read32(data + 4);
    int depth = data[8], colour = data[9];
    if (png->width > INT32_MAX || png->height > INT32_MAX) {
        return fail_damaged(state, "its header gives a negative size", err);
    }
    if (!is_depth_allowed(colour, depth)) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: the PNG picture is damaged: no such kind as colour type %d with %d "
                       "bits a sample",
                       state->in->name, colour, depth);
    }
    if (data[10] != 0 || data[11] != 0 || data[12] > 1) {
        return fail_damaged(state, "its header names an unknown compression, filter or interlace",
                            err);
    }
    OC_TRY(oc_decode_check_size(state->in, png->width, png->height, err));
    png->depth = depth;
    png->colour = (oc_png_colour)colour;
    png->samples = samples_of(colour);
    png->interlaced = data[12] == 1;
    state->has_header = true;
    return OCELLI_OK;
}

static ocelli_status read_palette(reader *state, const chunk *part, ocelli_error *err)
{
    if (state->png->colour != OC_PNG_PALETTE) {
        return OCELLI_OK; /* a hint for screens with few colours */
    }
    if (state->has_palette || state->data_open || part->length == 0 || part->length % 3 != 0 ||
        part->length > 256 * 3) {
        return fail_damaged(state, "its palette (PLTE) is doubled, late or of a wrong length", err);
    }
    for (size_t i = 0; i < part->length / 3; i++) {
        memcpy(state->png->palette[i], part->data + 3 * i, 3);
    }
    state->has_palette = true;
    return OCELLI_OK;
}

static ocelli_status read_transparency(reader *state, const chunk *part, ocelli_error *err)
{
    oc_png *png = state->png;
    size_t values = png->colour == OC_PNG_RGB ? 3 : 1;
    switch (png->colour) {
    case OC_PNG_PALETTE:
        if (!state->has_palette || part->length > 256) {
            return fail_damaged(state, "its transparency (tRNS) does not fit its palette", err);
        }
        for (size_t i = 0; i < part->length; i++) {
            png->palette[i][3] = part->data[i];
        }
        return OCELLI_OK;
    case OC_PNG_GREY:
    case OC_PNG_RGB:
        if (part->length != 2 * values) {
            return fail_damaged(state, "its transparency (tRNS) has a wrong length", err);
        }
        for (size_t i = 0; i < values; i++) {
            /* Only the low bits count at a low depth. */
            png->key[i] = (uint16_t)(read16(part->data + 2 * i) & ((1u << png->depth) - 1));
        }
        png->has_key = true;
        return OCELLI_OK;
    case OC_PNG_GREY_ALPHA:
    case OC_PNG_RGBA: return OCELLI_OK; /* has alpha already */
    }
    return OCELLI_OK;
}

/* at: offset of the chunk in the file. */
static ocelli_status read_data(reader *state, const chunk *part, size_t at, ocelli_error *err)
{
    if (state->data_closed) {
        return fail_damaged(state, "its pixel data (IDAT) is in pieces with other chunks between",
                            err);
    }
    if (state->png->colour == OC_PNG_PALETTE && !state->has_palette) {
        return fail_damaged(state, "it has no palette (PLTE)", err);
    }
    if (!state->data_open) {
        state->png->data_begin = at;
        state->data_open = true;
    }
    state->png->data_end = at + CHUNK_BYTES + part->length;
    state->png->data_size += part->length;
    return OCELLI_OK;
}

static bool decides_pixels(const chunk *part)
{
    bool critical = (part->name[0] & 0x20) == 0;
    return (critical && !is_named(part, "IEND")) || is_named(part, "tRNS");
}

static ocelli_status read_chunk(reader *state, const chunk *part, size_t at, ocelli_error *err)
{
    if (is_named(part, "CgBI")) {
        return oc_decode_unsupported(state->in, "PNG", "in Apple's own form (CgBI)", err);
    }
    if (!state->has_header && !is_named(part, "IHDR")) {
        return fail_damaged(state, "it does not begin with its header (IHDR)", err);
    }
    if (!decides_pixels(part)) {
        state->ended = is_named(part, "IEND");
        state->data_closed = state->data_open;
        return OCELLI_OK;
    }
    if (!has_right_crc(state, part)) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: the PNG picture is damaged: the checksum of its %.4s chunk is wrong",
                       state->in->name, (const char *)part->name);
    }
    if (is_named(part, "IDAT")) {
        return read_data(state, part, at, err);
    }
    state->data_closed = state->data_open;
    if (is_named(part, "IHDR")) {
        return read_header(state, part, err);
    }
    if (is_named(part, "PLTE")) {
        return read_palette(state, part, err);
    }
    if (is_named(part, "tRNS")) {
        return state->data_open ? OCELLI_OK : read_transparency(state, part, err);
    }
    return oc_fail(err, OCELLI_E_UNSUPPORTED,
                   "%s: the PNG picture needs a chunk named %.4s, which this build does not know",
                   state->in->name, (const char *)part->name);
}

static bool is_name(const unsigned char *name)
{
    for (int i = 0; i < 4; i++) {
        unsigned char lower = name[i] | 0x20;
        if (lower < 'a' || lower > 'z') {
            return false;
        }
    }
    return true;
}

ocelli_status oc_png_read_chunks(oc_png *out, const oc_decode_input *in, ocelli_error *err)
{
    *out = (oc_png){0};
    for (int i = 0; i < 256; i++) {
        out->palette[i][3] = 255;
    }
    reader state = {.in = in, .png = out};
    fill_crc_table(state.crc_table);
    size_t at = SIGNATURE_BYTES;
    while (!state.ended && in->size - at >= CHUNK_BYTES) {
        chunk part = {.name = in->bytes + at + 4,
                      .data = in->bytes + at + 8,
                      .length = read32(in->bytes + at)};
        if (!is_name(part.name)) {
            if (state.data_open) {
                break; /* something else behind the pixels: let them decide */
            }
            return fail_damaged(&state, "a chunk has no proper name", err);
        }
        if (part.length > in->size - at - CHUNK_BYTES) {
            return oc_decode_cut_off(in, "PNG", err);
        }
        OC_TRY(read_chunk(&state, &part, at, err));
        at += CHUNK_BYTES + part.length;
    }
    if (!state.has_header || (!state.data_open && !state.ended)) {
        return oc_decode_cut_off(in, "PNG", err);
    }
    if (!state.data_open) {
        return fail_damaged(&state, "it has no pixel data (IDAT)", err);
    }
    return OCELLI_OK;
}

void oc_png_gather_data(unsigned char *out, const oc_png *png, const oc_decode_input *in)
{
    size_t at = png->data_begin;
    while (at < png->data_end) {
        size_t length = read32(in->bytes + at);
        memcpy(out, in->bytes + at + 8, length);
        out += length;
        at += CHUNK_BYTES + length;
    }
}
