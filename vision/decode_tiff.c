/* decode_tiff.c - TIFF to RGB through libtiff: the first page of a file. Bitmaps, grey, palettes, RGB
 * and inks of 1 to 16 bits, in strips or tiles, in one plane or several; 16 bits keep their high
 * byte.
 *
 * libtiff reads from our memory and maps nothing; what it has to say goes nowhere, by handlers of
 * this file's own, not by those of the process. Every sample becomes a byte first, [height, width,
 * channels]; then pixels are made of them. */
#include "vision/decode.h"

#include "runtime/base/memory.h"
#include "vision/alpha.h"
#include "vision/ink.h"
#include "vision/turn.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <tiffio.h>

enum { MOST_SAMPLES = 16 };

typedef struct tiff {
    const oc_decode_input *in;
    TIFF *file;
    toff_t at;
    uint32_t width, height;
    uint16_t bits, samples, photometric, planar, compression, orientation;
    uint16_t alpha;  /* EXTRASAMPLE_*: what the sample behind the colours is */
    size_t channels; /* that count: colours, and alpha if there is one */
    uint8_t *bytes;  /* [height, width, channels] */
    uint8_t *buffer; /* a line or a tile, as the file has it */
    size_t buffer_size;
} tiff;

/* ---- the file as libtiff asks for it ------------------------------------------------------- */

static tmsize_t read_bytes(thandle_t handle, void *out, tmsize_t count)
{
    tiff *state = handle;
    uint64_t size = state->in->size;
    uint64_t left = state->at < size ? size - state->at : 0;
    size_t got = count < 0 ? 0 : (uint64_t)count < left ? (size_t)count : (size_t)left;
    memcpy(out, state->in->bytes + (got > 0 ? state->at : 0), got);
    state->at += got;
    return (tmsize_t)got;
}

static tmsize_t write_nothing(thandle_t handle, void *bytes, tmsize_t count)
{
    (void)handle;
    (void)bytes;
    (void)count;
    return -1;
}

static toff_t seek(thandle_t handle, toff_t offset, int from)
{
    tiff *state = handle;
    switch (from) {
    case SEEK_CUR: state->at += offset; break;
    case SEEK_END: state->at = state->in->size + offset; break;
    default: state->at = offset; break;
    }
    return state->at;
}

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t tell_size(thandle_t handle)
{
    const tiff *state = handle;
    return state->in->size;
}

/* 1: nobody else is to be told. */
static int keep_silent(TIFF *file, void *user, const char *module, const char *form, va_list words)
{
    (void)file;
    (void)user;
    (void)module;
    (void)form;
    (void)words;
    return 1;
}

static ocelli_status fail_damaged(const tiff *state, const char *what, ocelli_error *err)
{
    return oc_decode_damaged(state->in, "TIFF", what, err);
}

static ocelli_status open_file(tiff *state, ocelli_error *err)
{
    enum { MORE = 16 << 20 };
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (options == NULL) {
        return oc_fail_memory(err, "picture");
    }
    /* A strip may be the whole picture; nothing else in a file is large. */
    uint64_t most = state->in->options.max_pixels;
    most = most < (uint64_t)INT64_MAX / 16 ? most * 8 : (uint64_t)INT64_MAX / 2;
    most = (most > state->in->size ? most : state->in->size) + MORE;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)most);
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_silent, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(options, keep_silent, NULL);
    state->file =
        TIFFClientOpenExt("picture", "rm", state, read_bytes, write_nothing, seek, close_nothing,
                          tell_size, NULL, NULL, options); /* m: nothing is mapped */
    TIFFOpenOptionsFree(options);
    return state->file != NULL ? OCELLI_OK
                               : fail_damaged(state, "its first directory cannot be read", err);
}

/* ---- what kind it is ----------------------------------------------------------------------- */

static size_t count_colours(const tiff *state)
{
    switch (state->photometric) {
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_YCBCR: return 3;
    case PHOTOMETRIC_SEPARATED: return 4;
    default: return 1;
    }
}

static bool is_kind_known(const tiff *state)
{
    bool whole = state->bits == 8 || state->bits == 16;
    bool part = state->bits == 1 || state->bits == 2 || state->bits == 4;
    switch (state->photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK: return whole || part;
    case PHOTOMETRIC_PALETTE: return state->bits == 8 || part;
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_SEPARATED: return whole;
    case PHOTOMETRIC_YCBCR: return state->bits == 8 && state->samples == 3;
    default: return false;
    }
}

static void read_alpha(tiff *state)
{
    uint16_t count = 0, *kinds = NULL;
    if (TIFFGetField(state->file, TIFFTAG_EXTRASAMPLES, &count, &kinds) == 1 && count > 0 &&
        kinds != NULL && state->samples > count_colours(state) &&
        state->photometric != PHOTOMETRIC_SEPARATED) {
        state->alpha = kinds[0];
    }
}

static ocelli_status read_kind(tiff *state, ocelli_error *err)
{
    TIFF *file = state->file;
    uint16_t format = SAMPLEFORMAT_UINT, inks = INKSET_CMYK;
    if (TIFFGetField(file, TIFFTAG_IMAGEWIDTH, &state->width) != 1 ||
        TIFFGetField(file, TIFFTAG_IMAGELENGTH, &state->height) != 1) {
        return fail_damaged(state, "it does not say its size", err);
    }
    OC_TRY(oc_decode_check_size(state->in, state->width, state->height, err));
    (void)TIFFGetFieldDefaulted(file, TIFFTAG_BITSPERSAMPLE, &state->bits);
    (void)TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLESPERPIXEL, &state->samples);
    (void)TIFFGetFieldDefaulted(file, TIFFTAG_PLANARCONFIG, &state->planar);
    (void)TIFFGetFieldDefaulted(file, TIFFTAG_COMPRESSION, &state->compression);
    (void)TIFFGetFieldDefaulted(file, TIFFTAG_ORIENTATION, &state->orientation);
    (void)TIFFGetFieldDefaulted(file, TIFFTAG_SAMPLEFORMAT, &format);
    (void)TIFFGetFieldDefaulted(file, TIFFTAG_INKSET, &inks);
    if (TIFFGetField(file, TIFFTAG_PHOTOMETRIC, &state->photometric) != 1) {
        state->photometric = PHOTOMETRIC_MINISWHITE;
    }
    if (!TIFFIsCODECConfigured(state->compression) || state->compression == COMPRESSION_OJPEG) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: a TIFF picture compressed in a way (number %u) that this machine's "
                       "libtiff does not read; convert it to PNG or JPEG",
                       state->in->name, (unsigned)state->compression);
    }
    if (!is_kind_known(state) || state->samples < count_colours(state) ||
        state->samples > MOST_SAMPLES || inks != INKSET_CMYK ||
        (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID)) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: a TIFF picture of a kind that this build cannot decode (%u samples of "
                       "%u bits, photometric interpretation %u, sample format %u); convert it to "
                       "8-bit RGB, as PNG or JPEG",
                       state->in->name, (unsigned)state->samples, (unsigned)state->bits,
                       (unsigned)state->photometric, (unsigned)format);
    }
    if (state->orientation < 1 || state->orientation > 8) {
        state->orientation = 1;
    }
    read_alpha(state);
    state->channels = count_colours(state) + (state->alpha != EXTRASAMPLE_UNSPECIFIED ? 1 : 0);
    return OCELLI_OK;
}

/* ---- samples to bytes ---------------------------------------------------------------------- */

/* Sample number index of a row. Grey of few bits is widened; a palette's index stays. */
static uint8_t read_sample(const tiff *state, const uint8_t *row, size_t index)
{
    if (state->bits == 8) {
        return row[index];
    }
    if (state->bits == 16) {
        uint16_t value; /* in this machine's order */
        memcpy(&value, row + 2 * index, sizeof value);
        return (uint8_t)(value >> 8);
    }
    size_t per_byte = 8u / state->bits;
    unsigned most = (1u << state->bits) - 1;
    unsigned shift = 8u - state->bits * (unsigned)(index % per_byte + 1);
    unsigned value = (unsigned)row[index / per_byte] >> shift & most;
    return (uint8_t)(state->photometric == PHOTOMETRIC_PALETTE ? value : value * 255 / most);
}

/* A row of count pixels, which begins at pixel x of line y, from row: all samples of each pixel, or
 * only those of one plane. */
static void place_samples(tiff *state, const uint8_t *row, size_t x, size_t y, size_t count,
                          size_t plane)
{
    bool together = state->planar == PLANARCONFIG_CONTIG;
    uint8_t *to = state->bytes + (y * state->width + x) * state->channels;
    for (size_t i = 0; i < count; i++, to += state->channels) {
        if (together) {
            for (size_t channel = 0; channel < state->channels; channel++) {
                to[channel] = read_sample(state, row, i * state->samples + channel);
            }
        } else {
            to[plane] = read_sample(state, row, i);
        }
    }
}

/* So many bytes hold count pixels of a row. */
static bool holds(const tiff *state, uint64_t bytes, uint64_t count)
{
    uint64_t samples = state->planar == PLANARCONFIG_CONTIG ? state->samples : 1;
    return bytes >= (count * samples * state->bits + 7) / 8;
}

static ocelli_status make_buffer(tiff *state, tmsize_t bytes, ocelli_error *err)
{
    state->buffer_size = bytes > 0 ? (size_t)bytes : 0;
    state->buffer = oc_alloc(state->buffer_size, 1);
    return state->buffer != NULL ? OCELLI_OK : oc_fail_memory(err, "picture");
}

static ocelli_status read_strips(tiff *state, size_t planes, ocelli_error *err)
{
    tmsize_t line = TIFFScanlineSize(state->file);
    if (line <= 0 || !holds(state, (uint64_t)line, state->width)) {
        return fail_damaged(state, "its lines are too short", err);
    }
    OC_TRY(make_buffer(state, line, err));
    for (size_t plane = 0; plane < planes; plane++) {
        for (uint32_t y = 0; y < state->height; y++) {
            if (TIFFReadScanline(state->file, state->buffer, y, (uint16_t)plane) != 1) {
                return fail_damaged(state, "its coded data is cut off or cannot be read", err);
            }
            place_samples(state, state->buffer, 0, y, state->width, plane);
        }
    }
    return OCELLI_OK;
}

/* The part of a tile that lies within the picture. */
static void place_tile(tiff *state, uint32_t x, uint32_t y, uint32_t tile_width,
                       uint32_t tile_height, size_t row_bytes, size_t plane)
{
    uint32_t columns = state->width - x < tile_width ? state->width - x : tile_width;
    uint32_t rows = state->height - y < tile_height ? state->height - y : tile_height;
    for (uint32_t row = 0; row < rows; row++) {
        place_samples(state, state->buffer + row * row_bytes, x, y + row, columns, plane);
    }
}

static ocelli_status read_tiles(tiff *state, size_t planes, ocelli_error *err)
{
    uint32_t across = 0, down = 0;
    (void)TIFFGetField(state->file, TIFFTAG_TILEWIDTH, &across);
    (void)TIFFGetField(state->file, TIFFTAG_TILELENGTH, &down);
    tmsize_t tile = TIFFTileSize(state->file), row = TIFFTileRowSize(state->file);
    if (across == 0 || down == 0 || row <= 0 || tile <= 0 || tile / row < (tmsize_t)down ||
        !holds(state, (uint64_t)row, across)) {
        return fail_damaged(state, "its tiles are too small", err);
    }
    /* Tiles are at most the picture and a border, unless someone means harm. */
    if (oc_decode_check_size(state->in, across, down, err) != OCELLI_OK) {
        return fail_damaged(state, "its tiles are far larger than the picture", err);
    }
    OC_TRY(make_buffer(state, tile, err));
    for (size_t plane = 0; plane < planes; plane++) {
        for (uint64_t y = 0; y < state->height; y += down) {
            for (uint64_t x = 0; x < state->width; x += across) {
                if (TIFFReadTile(state->file, state->buffer, (uint32_t)x, (uint32_t)y, 0,
                                 (uint16_t)plane) < 0) {
                    return fail_damaged(state, "its coded data is cut off or cannot be read", err);
                }
                place_tile(state, (uint32_t)x, (uint32_t)y, across, down, (size_t)row, plane);
            }
        }
    }
    return OCELLI_OK;
}

/* Less than this cannot hold the picture, whatever the compression: deflate's best, and fax's. */
static bool is_possible(const tiff *state)
{
    uint64_t bits = (uint64_t)state->width * state->height * state->bits;
    return state->compression != COMPRESSION_NONE || bits / 8 <= state->in->size;
}

static ocelli_status read_samples(tiff *state, ocelli_error *err)
{
    size_t pixels = (size_t)state->width * state->height;
    if (!is_possible(state)) {
        return oc_decode_cut_off(state->in, "TIFF", err);
    }
    state->bytes = oc_alloc(pixels, state->channels);
    if (state->bytes == NULL) {
        return oc_fail_memory(err, "picture");
    }
    size_t planes = state->planar == PLANARCONFIG_SEPARATE ? state->channels : 1;
    return TIFFIsTiled(state->file) ? read_tiles(state, planes, err)
                                    : read_strips(state, planes, err);
}

/* ---- bytes to pixels ----------------------------------------------------------------------- */

static ocelli_status read_palette(const tiff *state, uint8_t colours[256][3], ocelli_error *err)
{
    uint16_t *parts[3] = {NULL, NULL, NULL};
    if (state->photometric != PHOTOMETRIC_PALETTE) {
        return OCELLI_OK;
    }
    if (TIFFGetField(state->file, TIFFTAG_COLORMAP, &parts[0], &parts[1], &parts[2]) != 1) {
        return fail_damaged(state, "it has no palette", err);
    }
    for (size_t i = 0; i < (size_t)1 << state->bits; i++) {
        for (int channel = 0; channel < 3; channel++) {
            colours[i][channel] = (uint8_t)(parts[channel][i] >> 8);
        }
    }
    return OCELLI_OK;
}

/* A colour that was multiplied by its alpha, as it was before. */
static uint8_t unmultiply(uint8_t value, uint8_t alpha)
{
    unsigned whole = alpha == 0 ? 0 : 255u * value / alpha;
    return (uint8_t)(whole > 255 ? 255 : whole);
}

static void make_pixel(uint8_t rgba[4], const tiff *state, const uint8_t *bytes,
                       uint8_t colours[256][3])
{
    rgba[3] = state->alpha != EXTRASAMPLE_UNSPECIFIED ? bytes[state->channels - 1] : 255;
    switch (state->photometric) {
    case PHOTOMETRIC_PALETTE: memcpy(rgba, colours[bytes[0]], 3); return;
    case PHOTOMETRIC_MINISWHITE: memset(rgba, 255 - bytes[0], 3); break;
    case PHOTOMETRIC_MINISBLACK: memset(rgba, bytes[0], 3); break;
    case PHOTOMETRIC_SEPARATED:
        for (int i = 0; i < 3; i++) {
            rgba[i] = oc_ink_light((uint8_t)(255 - bytes[i]), (uint8_t)(255 - bytes[3]));
        }
        return;
    default: memcpy(rgba, bytes, 3); break;
    }
    for (int i = 0; i < 3 && state->alpha == EXTRASAMPLE_ASSOCALPHA && rgba[3] != 255; i++) {
        rgba[i] = unmultiply(rgba[i], rgba[3]);
    }
}

static ocelli_status make_pixels(ocelli_image *image, tiff *state, ocelli_error *err)
{
    uint8_t colours[256][3] = {{0}};
    OC_TRY(read_palette(state, colours, err));
    OC_TRY(read_samples(state, err));
    size_t pixels = (size_t)state->width * state->height;
    for (size_t i = 0; i < pixels; i++) {
        uint8_t rgba[4];
        make_pixel(rgba, state, state->bytes + i * state->channels, colours);
        oc_alpha_settle(image->rgb + 3 * i, rgba, &state->in->options);
    }
    return OCELLI_OK;
}

/* Luminance and colour at two resolutions, without JPEG: libtiff's own conversion. Its rows come in
 * the file's order, since it is asked for that. */
static ocelli_status convert_ycc(ocelli_image *image, tiff *state, ocelli_error *err)
{
    size_t pixels = (size_t)state->width * state->height;
    uint32_t *raster = oc_alloc(pixels, sizeof *raster);
    if (raster == NULL) {
        return oc_fail_memory(err, "picture");
    }
    int done = TIFFReadRGBAImageOriented(state->file, state->width, state->height, raster,
                                         state->orientation, 1);
    for (size_t i = 0; done == 1 && i < pixels; i++) {
        image->rgb[3 * i] = (uint8_t)TIFFGetR(raster[i]);
        image->rgb[3 * i + 1] = (uint8_t)TIFFGetG(raster[i]);
        image->rgb[3 * i + 2] = (uint8_t)TIFFGetB(raster[i]);
    }
    oc_free(raster);
    return done == 1 ? OCELLI_OK
                     : fail_damaged(state, "its coded data is cut off or cannot be read", err);
}

static ocelli_status decode(ocelli_image **out, tiff *state, ocelli_error *err)
{
    OC_TRY(open_file(state, err));
    OC_TRY(read_kind(state, err));
    bool is_ycc = state->photometric == PHOTOMETRIC_YCBCR;
    if (is_ycc && state->compression == COMPRESSION_JPEG) {
        /* The JPEG decoder gives RGB, whatever its planes' resolutions are. */
        (void)TIFFSetField(state->file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
        is_ycc = false;
    }
    OC_TRY(oc_image_new(out, (int)state->width, (int)state->height, err));
    OC_TRY(is_ycc ? convert_ycc(*out, state, err) : make_pixels(*out, state, err));
    return oc_image_turn(*out, state->orientation, err);
}

ocelli_status oc_decode_tiff(ocelli_image **out, const oc_decode_input *in, ocelli_error *err)
{
    tiff state = {.in = in,
                  .bits = 1,
                  .samples = 1,
                  .planar = PLANARCONFIG_CONTIG,
                  .orientation = 1,
                  .alpha = EXTRASAMPLE_UNSPECIFIED};
    *out = NULL;
    ocelli_status status = decode(out, &state, err);
    if (state.file != NULL) {
        TIFFClose(state.file);
    }
    oc_free(state.bytes);
    oc_free(state.buffer);
    if (status != OCELLI_OK) {
        oc_image_free(*out);
        *out = NULL;
    }
    return status;
}
