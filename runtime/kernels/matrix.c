/* matrix.c - see matrix.h, bf16_format.h and quant_format.h: sizes, packing, reading a row back.
 *
 * Packing is scalar float32 in a fixed order, built with -ffp-contract=off: the same bytes on every
 * machine. Weights that are not finite are clamped (NaN becomes zero) so that no scale is poisoned;
 * the loader refuses such weights before they come here. */
#include "runtime/kernels/matrix.h"

#include "runtime/base/memory.h"
#include "runtime/kernels/bf16_format.h"
#include "runtime/kernels/half.h"
#include "runtime/kernels/quant_format.h"

#include <math.h>
#include <string.h>

static const char *const FORMAT_NAMES[OC_FORMATS] = {"f32", "f16", "bf16", "q8", "q4"};

const char *oc_format_name(oc_format format)
{
    return (unsigned)format < OC_FORMATS ? FORMAT_NAMES[format] : "unknown";
}

bool oc_format_from_name(const char *name, oc_format *out)
{
    for (int i = 0; i < OC_FORMATS; i++) {
        if (strcmp(name, FORMAT_NAMES[i]) == 0) {
            *out = (oc_format)i;
            return true;
        }
    }
    return false;
}

static size_t group_columns(oc_format format)
{
    return format == OC_FORMAT_Q4 ? OC_Q4_GROUP : OC_Q8_GROUP;
}

bool oc_quant_layout_of(oc_format format, size_t rows, size_t cols, oc_quant_layout *out)
{
    size_t unused;
    oc_quant_layout layout = {.tiles = rows / OC_QUANT_TILE + (rows % OC_QUANT_TILE != 0),
                              .groups = cols / OC_QUANT_GROUP + (cols % OC_QUANT_GROUP != 0)};
    /* Enough for either format, so nothing below wraps that this does not. */
    if (!oc_size_mul(layout.groups + 1, OC_Q8_BLOCK_BYTES, &unused)) {
        return false;
    }
    if (format == OC_FORMAT_Q4) {
        layout.tile_bytes = layout.groups * OC_Q4_BLOCK_BYTES;
    } else {
        layout.tile_bytes = (layout.groups + 1) / 2 * OC_QUANT_LINE +
                            layout.groups * OC_QUANT_STEPS * OC_QUANT_LINE;
    }
    if (!oc_size_mul(layout.tiles, layout.tile_bytes, &layout.total_bytes)) {
        return false;
    }
    *out = layout;
    return true;
}

bool oc_bf16_layout_of(size_t rows, size_t cols, oc_bf16_layout *out)
{
    oc_bf16_layout layout = {.tiles = rows / OC_BF16_TILE + (rows % OC_BF16_TILE != 0),
                             .steps = cols / OC_BF16_STEP + (cols % OC_BF16_STEP != 0)};
    if (!oc_size_mul(layout.steps, OC_BF16_LINE, &layout.tile_bytes) ||
        !oc_size_mul(layout.tiles, layout.tile_bytes, &layout.total_bytes)) {
        return false;
    }
    *out = layout;
    return true;
}

bool oc_matrix_bytes(oc_format format, size_t rows, size_t cols, size_t *out)
{
    oc_quant_layout layout;
    oc_bf16_layout halves;
    size_t count;
    switch (format) {
    case OC_FORMAT_F32:
        return oc_size_mul(rows, cols, &count) && oc_size_mul(count, sizeof(float), out);
    case OC_FORMAT_F16:
        return oc_size_mul(rows, cols, &count) && oc_size_mul(count, sizeof(uint16_t), out);
    case OC_FORMAT_BF16:
        if (!oc_bf16_layout_of(rows, cols, &halves)) {
            return false;
        }
        *out = halves.total_bytes;
        return true;
    case OC_FORMAT_Q8:
    case OC_FORMAT_Q4:
        if (!oc_quant_layout_of(format, rows, cols, &layout)) {
            return false;
        }
        *out = layout.total_bytes;
        return true;
    }
    return false;
}

/* ---- choosing codes -------------------------------------------------------------------------- */

/* Largest weight that is packed: 127 scales of it still do not overflow when read back. */
static const float MOST = 1e38f;
/* Below this a whole group is zero: its scale would be a subnormal number. */
static const float LEAST = 1e-35f;

static float finite_weight(float value)
{
    if (!(value == value)) {
        return 0.0f;
    }
    return value > MOST ? MOST : value < -MOST ? -MOST : value;
}

/* A power of 1/2^8 up: the bfloat16 that is not below value > 0. */
static uint16_t bf16_upwards(float value)
{
    uint32_t bits = oc_float_bits(value);
    return (uint16_t)((bits >> 16) + ((bits & 0xffffu) != 0));
}

/* Q8, count <= OC_Q8_GROUP weights. The scale is rounded upwards, so no weight is clipped and each is
 * off by at most half the scale. */
static uint16_t choose_q8(uint8_t *codes, const float *weights, size_t count)
{
    float largest = 0.0f;
    for (size_t i = 0; i < count; i++) {
        float magnitude = fabsf(weights[i]);
        largest = magnitude > largest ? magnitude : largest;
    }
    uint16_t rounded = largest >= LEAST ? bf16_upwards(largest / 127.0f) : 0;
    float scale = oc_bf16_widen(rounded);
    for (size_t i = 0; i < count; i++) {
        float code = rounded != 0 ? rintf(weights[i] / scale) : 0.0f;
        codes[i] = (uint8_t)((int)code + OC_QUANT_OFFSET);
    }
    return rounded;
}

enum { Q4_CANDIDATES = 9, NEAREST_ENTRIES = 258 };

/* nearest[v + 128]: the code whose value is nearest to v. */
static void fill_nearest(uint8_t nearest[NEAREST_ENTRIES])
{
    static const int8_t values[16] = OC_Q4_VALUES;
    unsigned code = 0;
    for (int v = -128; v < NEAREST_ENTRIES - 128; v++) {
        while (code < 15 && 2 * v > values[code] + values[code + 1]) {
            code++;
        }
        nearest[v + 128] = (uint8_t)code;
    }
}

static unsigned nearest_code(const uint8_t nearest[NEAREST_ENTRIES], float value)
{
    float clamped = value < -127.0f ? -127.0f : value > 127.0f ? 127.0f : value;
    return nearest[(unsigned)(clamped + 128.5f)];
}

/* Q4, count <= OC_Q4_GROUP weights. A few scales around the one that maps the largest weight to an end
 * of the table are tried, each with both signs; the one with the least squared error after a least
 * squares fit is taken: with codes c fixed, scale = sum(w c) / sum(c c) is best and what it explains is
 * sum(w c)^2 / sum(c c). */
static uint16_t choose_q4(uint8_t *codes, const float *weights, size_t count,
                          const uint8_t nearest[NEAREST_ENTRIES])
{
    static const int8_t values[16] = OC_Q4_VALUES;
    /* Where the largest weight is put, in units of the table. */
    static const float ends[Q4_CANDIDATES] = {90.0f,  98.0f,  106.0f, 113.0f, 120.0f,
                                              127.0f, 134.0f, 142.0f, 152.0f};
    float scaled[OC_Q4_GROUP];
    float largest = 0.0f, best_explained = 0.0f, best_scale = 0.0f;
    for (size_t i = 0; i < count; i++) {
        float magnitude = fabsf(weights[i]);
        largest = magnitude > largest ? magnitude : largest;
    }
    if (largest < LEAST) {
        memset(codes, 0, count);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        scaled[i] = weights[i] / largest; /* squares neither overflow nor vanish */
    }
    for (int c = 0; c < 2 * Q4_CANDIDATES; c++) {
        float factor = c < Q4_CANDIDATES ? ends[c] : -ends[c - Q4_CANDIDATES];
        float products = 0.0f, squares = 0.0f;
        for (size_t i = 0; i < count; i++) {
            float value = (float)values[nearest_code(nearest, scaled[i] * factor)];
            products += scaled[i] * value;
            squares += value * value;
        }
        float explained = products * products / squares;
        if (explained > best_explained) {
            best_explained = explained;
            best_scale = products / squares;
        }
    }
    uint16_t rounded = oc_bf16_narrow(best_scale * largest);
    float inverse = 1.0f / (oc_bf16_widen(rounded) / largest);
    for (size_t i = 0; i < count; i++) {
        codes[i] = (uint8_t)nearest_code(nearest, scaled[i] * inverse);
    }
    return rounded;
}

/* ---- packing --------------------------------------------------------------------------------- */

/* One row into its tile. */
static void pack_row(oc_format format, unsigned char *tile, size_t lane, const float *weights,
                     size_t cols, const uint8_t nearest[NEAREST_ENTRIES])
{
    size_t columns = group_columns(format);
    for (size_t first = 0; first < cols; first += columns) {
        size_t count = cols - first < columns ? cols - first : columns;
        float group[OC_Q8_GROUP];
        uint8_t codes[OC_Q8_GROUP];
        for (size_t i = 0; i < count; i++) {
            group[i] = finite_weight(weights[first + i]);
        }
        uint16_t scale = format == OC_FORMAT_Q8 ? choose_q8(codes, group, count)
                                                : choose_q4(codes, group, count, nearest);
        memcpy(tile + oc_quant_scale_at(format, lane, first), &scale, sizeof scale);
        for (size_t i = 0; i < count; i++) {
            unsigned char *byte = tile + oc_quant_code_at(format, lane, first + i);
            if (format == OC_FORMAT_Q8) {
                *byte = codes[i];
            } else {
                bool high = (first + i) / OC_QUANT_STEP % 2 == 1;
                *byte = (unsigned char)(*byte | (high ? codes[i] << 4 : codes[i]));
            }
        }
    }
}

/* What is padded: Q8 codes that mean zero, Q4 codes of zero under scales of zero. */
static void clear_tile(unsigned char *tile, const oc_quant_layout *layout, oc_format format)
{
    memset(tile, format == OC_FORMAT_Q8 ? OC_QUANT_OFFSET : 0, layout->tile_bytes);
    if (format == OC_FORMAT_Q8) {
        for (size_t at = 0; at < layout->tile_bytes; at += OC_Q8_BLOCK_BYTES) {
            memset(tile + at, 0, OC_QUANT_LINE);
        }
    }
}

static void pack_tiles(oc_format format, unsigned char *data, size_t rows, size_t cols,
                       size_t first, size_t count, const float *source)
{
    oc_quant_layout layout;
    uint8_t nearest[NEAREST_ENTRIES];
    if (!oc_quant_layout_of(format, rows, cols, &layout)) {
        return; /* the caller could not have allocated data */
    }
    fill_nearest(nearest);
    for (size_t r = 0; r < count; r++) {
        size_t lane = (first + r) % OC_QUANT_TILE;
        unsigned char *tile = data + (first + r) / OC_QUANT_TILE * layout.tile_bytes;
        if (lane == 0) {
            clear_tile(tile, &layout, format);
        }
        pack_row(format, tile, lane, source + r * cols, cols, nearest);
    }
}

/* BF16: a move of numbers. What is padded is zero. */
static void pack_bf16(unsigned char *data, size_t rows, size_t cols, size_t first, size_t count,
                      const float *source)
{
    oc_bf16_layout layout;
    if (!oc_bf16_layout_of(rows, cols, &layout)) {
        return; /* the caller could not have allocated data */
    }
    for (size_t r = 0; r < count; r++) {
        size_t lane = (first + r) % OC_BF16_TILE;
        unsigned char *tile = data + (first + r) / OC_BF16_TILE * layout.tile_bytes;
        if (lane == 0 && (count - r < OC_BF16_TILE || cols % OC_BF16_STEP != 0)) {
            memset(tile, 0, layout.tile_bytes);
        }
        for (size_t c = 0; c < cols; c++) {
            uint16_t half = oc_bf16_narrow(source[r * cols + c]);
            memcpy(tile + oc_bf16_at(lane, c), &half, sizeof half);
        }
    }
}

void oc_matrix_pack(oc_format format, void *data, size_t rows, size_t cols, size_t first,
                    size_t count, const float *source)
{
    unsigned char *bytes = data;
    switch (format) {
    case OC_FORMAT_F32:
        if (count * cols > 0) {
            memcpy(bytes + first * cols * sizeof(float), source, count * cols * sizeof(float));
        }
        return;
    case OC_FORMAT_F16:
        for (size_t i = 0; i < count * cols; i++) {
            uint16_t half = oc_f16_narrow(source[i]);
            memcpy(bytes + (first * cols + i) * sizeof half, &half, sizeof half);
        }
        return;
    case OC_FORMAT_BF16: pack_bf16(bytes, rows, cols, first, count, source); return;
    case OC_FORMAT_Q8:
    case OC_FORMAT_Q4: pack_tiles(format, bytes, rows, cols, first, count, source); return;
    }
}

/* ---- reading back ---------------------------------------------------------------------------- */

static void read_packed_row(const oc_matrix *matrix, size_t row, float *out)
{
    static const int8_t values[16] = OC_Q4_VALUES;
    oc_quant_layout layout;
    if (!oc_quant_layout_of(matrix->format, matrix->rows, matrix->cols, &layout)) {
        return;
    }
    const unsigned char *tile =
        (const unsigned char *)matrix->data + row / OC_QUANT_TILE * layout.tile_bytes;
    size_t lane = row % OC_QUANT_TILE;
    for (size_t i = 0; i < matrix->cols; i++) {
        unsigned byte = tile[oc_quant_code_at(matrix->format, lane, i)];
        uint16_t scale;
        int code;
        if (matrix->format == OC_FORMAT_Q8) {
            code = (int)byte - OC_QUANT_OFFSET;
        } else {
            code = values[i / OC_QUANT_STEP % 2 == 1 ? byte >> 4 : byte & 15u];
        }
        memcpy(&scale, tile + oc_quant_scale_at(matrix->format, lane, i), sizeof scale);
        out[i] = (float)code * oc_bf16_widen(scale);
    }
}

static void read_bf16_row(const oc_matrix *matrix, size_t row, float *out)
{
    oc_bf16_layout layout;
    if (!oc_bf16_layout_of(matrix->rows, matrix->cols, &layout)) {
        return;
    }
    const unsigned char *tile =
        (const unsigned char *)matrix->data + row / OC_BF16_TILE * layout.tile_bytes;
    for (size_t c = 0; c < matrix->cols; c++) {
        uint16_t half;
        memcpy(&half, tile + oc_bf16_at(row % OC_BF16_TILE, c), sizeof half);
        out[c] = oc_bf16_widen(half);
    }
}

void oc_matrix_row(const oc_matrix *matrix, size_t row, float *out)
{
    const unsigned char *data = matrix->data;
    switch (matrix->format) {
    case OC_FORMAT_F32:
        memcpy(out, data + row * matrix->cols * sizeof(float), matrix->cols * sizeof(float));
        return;
    case OC_FORMAT_F16:
        for (size_t i = 0; i < matrix->cols; i++) {
            uint16_t half;
            memcpy(&half, data + (row * matrix->cols + i) * sizeof half, sizeof half);
            out[i] = oc_f16_widen(half);
        }
        return;
    case OC_FORMAT_BF16: read_bf16_row(matrix, row, out); return;
    case OC_FORMAT_Q8:
    case OC_FORMAT_Q4: read_packed_row(matrix, row, out); return;
    }
}
