/* check_quant.c - the kernel checker's packed part. Nothing here is approximate: integer sums are
 * exact and the few float steps are promised in order, so every bit is compared. */
#include "runtime/kernels/half.h"
#include "tests/kernels/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = OC_QUANT_STEPS, TILE = OC_QUANT_TILE, LINE = OC_QUANT_LINE };

static void check_quantize(checker *c)
{
    size_t cols = 1 + check_below(c, 400), rows = 1 + check_below(c, 8);
    size_t groups = (cols + OC_QUANT_GROUP - 1) / OC_QUANT_GROUP, kind = check_below(c, 6);
    array x = check_floats(c, cols, kind == 0 ? 1e-28f : kind == 1 ? 1e37f : 1.0f);
    float *xs = x.data;
    if (kind == 2) {
        xs[check_below(c, cols)] = check_below(c, 2) == 0 ? NAN : -INFINITY;
    } else if (kind == 3) {
        memset(xs, 0, cols * sizeof *xs);
    } else if (kind == 4) { /* halves: rounding to even shows */
        for (size_t i = 0; i < cols; i++) {
            xs[i] = i % OC_QUANT_GROUP == 0 ? 127.0f : (float)check_below(c, 250) * 0.5f;
        }
    }
    size_t bytes = groups * OC_QUANT_GROUP * rows;
    array got = check_output(c, bytes, 1), expected = check_output(c, bytes, 1);
    array got_groups = check_output(c, groups * rows, sizeof(oc_quant_group));
    array expected_groups = check_output(c, groups * rows, sizeof(oc_quant_group));
    for (size_t r = 0; r < rows; r++) { /* every lane of a panel takes the same row */
        c->kernels->quantize((int8_t *)got.data + r * OC_QUANT_STEP, rows * OC_QUANT_STEP,
                             (oc_quant_group *)got_groups.data + r, rows, xs, cols);
        c->scalar->quantize((int8_t *)expected.data + r * OC_QUANT_STEP, rows * OC_QUANT_STEP,
                            (oc_quant_group *)expected_groups.data + r, rows, xs, cols);
    }
    if (memcmp(got.data, expected.data, bytes) != 0) {
        check_fail(c, "quantize", "%zu columns: codes differ", cols);
    }
    const oc_quant_group *a = got_groups.data, *b = expected_groups.data;
    for (size_t g = 0; g < groups * rows; g++) {
        bool same = a[g].scale == b[g].scale || (isnan(a[g].scale) && isnan(b[g].scale));
        if (!same || a[g].correction != b[g].correction || a[g].half[0] != b[g].half[0] ||
            a[g].half[1] != b[g].half[1]) {
            check_fail(c, "quantize", "%zu columns: group %zu differs", cols, g / rows);
        }
    }
    /* Every code within half a step of its number, and the corrections what they must be. */
    for (size_t i = 0; i < groups * OC_QUANT_GROUP && kind != 2; i++) {
        int code = ((const int8_t *)
                        got.data)[i / OC_QUANT_STEP * rows * OC_QUANT_STEP + i % OC_QUANT_STEP];
        double value = i < cols ? (double)xs[i] : 0.0,
               scale = (double)a[i / OC_QUANT_GROUP * rows].scale;
        check_near(c, "quantize", i, (float)code, scale > 0.0 ? value / scale : 0.0, 0.50002);
    }
    check_free(c, &x, "quantize");
    check_free(c, &got, "quantize");
    check_free(c, &expected, "quantize");
    check_free(c, &got_groups, "quantize");
    check_free(c, &expected_groups, "quantize");
}

/* Random operands of a product; extreme ones now and then, where 16-bit sums would saturate. The
 * weights are written here both packed and plain. */
typedef struct operands {
    size_t rows, tiles, groups;
    bool four_bits;
    size_t tile_bytes;
    array x, x_groups, packed;
    array codes;  /* [tiles][groups * 16 steps][16][4], 8 bits */
    array scales; /* float32 [tiles][groups][2][16]; Q8: both halves alike */
} operands;

static void make_weights(checker *c, operands *o, bool extreme)
{
    static const int8_t values[16] = OC_Q4_VALUES;
    uint8_t *codes = o->codes.data;
    unsigned char *packed = o->packed.data;
    oc_format format = o->four_bits ? OC_FORMAT_Q4 : OC_FORMAT_Q8;
    size_t width = o->four_bits ? OC_Q4_GROUP : OC_Q8_GROUP;
    memset(packed, 0, o->packed.bytes);
    for (size_t i = 0; i < o->codes.bytes; i++) {
        size_t lane = i / OC_QUANT_STEP % TILE, step = i / LINE % (o->groups * STEPS);
        size_t column = step * OC_QUANT_STEP + i % OC_QUANT_STEP;
        unsigned char *tile = packed + i / LINE / (o->groups * STEPS) * o->tile_bytes;
        unsigned char *byte = tile + oc_quant_code_at(format, lane, column);
        if (o->four_bits) {
            size_t nibble = extreme ? 15 * check_below(c, 2) : check_below(c, 16);
            codes[i] = (uint8_t)(values[nibble] + OC_QUANT_OFFSET);
            *byte = (unsigned char)(*byte | (step % 2 == 0 ? nibble : nibble << 4));
        } else {
            codes[i] = (uint8_t)(extreme ? 1 + 254 * check_below(c, 2) : 1 + check_below(c, 255));
            *byte = codes[i];
        }
        if (column % width == 0) {
            float *plain = (float *)o->scales.data + (tile - packed) / (ptrdiff_t)o->tile_bytes *
                                                         (ptrdiff_t)o->groups * 2 * TILE;
            uint16_t scale = oc_bf16_narrow(check_normal(c) * 0.01f);
            memcpy(tile + oc_quant_scale_at(format, lane, column), &scale, sizeof scale);
            for (size_t h = column / OC_Q4_GROUP; h < (column + width) / OC_Q4_GROUP; h++) {
                plain[h * TILE + lane] = oc_bf16_widen(scale);
            }
        }
    }
}

static operands make_operands(checker *c, bool four_bits, size_t rows, size_t tiles)
{
    operands o = {.rows = rows, .tiles = tiles, .four_bits = four_bits};
    oc_quant_layout layout;
    bool extreme = check_below(c, 3) == 0;
    o.groups = 1 + check_below(c, 5);
    oc_quant_layout_of(four_bits ? OC_FORMAT_Q4 : OC_FORMAT_Q8, tiles * TILE,
                       o.groups * OC_QUANT_GROUP, &layout);
    o.tile_bytes = layout.tile_bytes;
    size_t lines = o.groups * STEPS;
    o.x = check_input(c, lines * rows * OC_QUANT_STEP, 1);
    o.x_groups = check_input(c, o.groups * rows, sizeof(oc_quant_group));
    o.codes = check_input(c, tiles * lines * LINE, 1);
    o.packed = check_input(c, layout.total_bytes, 1);
    o.scales = check_input(c, tiles * o.groups * 2 * TILE, sizeof(float));
    int8_t *x = o.x.data;
    for (size_t i = 0; i < o.x.bytes; i++) {
        x[i] = (int8_t)(extreme ? (check_below(c, 2) == 0 ? 127 : -127)
                                : (int)check_below(c, 255) - 127);
    }
    make_weights(c, &o, extreme);
    for (size_t g = 0; g < o.groups; g++) {
        for (size_t r = 0; r < rows; r++) {
            oc_quant_group *group = (oc_quant_group *)o.x_groups.data + g * rows + r;
            int32_t sums[2] = {0, 0};
            for (size_t i = 0; i < OC_QUANT_GROUP; i++) {
                size_t step = g * STEPS + i / OC_QUANT_STEP;
                sums[i / OC_Q4_GROUP] += x[(step * rows + r) * OC_QUANT_STEP + i % OC_QUANT_STEP];
            }
            group->half[0] = -OC_QUANT_OFFSET * sums[0];
            group->half[1] = -OC_QUANT_OFFSET * sums[1];
            group->correction = group->half[0] + group->half[1];
            group->scale = fabsf(check_normal(c)) * 0.1f;
        }
    }
    return o;
}

static void free_operands(checker *c, operands *o, const char *kernel)
{
    check_free(c, &o->x, kernel);
    check_free(c, &o->x_groups, kernel);
    check_free(c, &o->codes, kernel);
    check_free(c, &o->packed, kernel);
    check_free(c, &o->scales, kernel);
}

static float fuse(const checker *c, float a, float b, float sum)
{
    volatile float product = a * b; /* not to be fused here */
    return c->fused ? fmaf(a, b, sum) : sum + product;
}

/* One output as kernels.h says: y is where the sum starts. */
static float expected_output(const checker *c, const operands *o, size_t tile, size_t lane,
                             size_t row, float y)
{
    const int8_t *x = o->x.data;
    const uint8_t *codes = (const uint8_t *)o->codes.data + tile * o->groups * STEPS * LINE;
    size_t halves = o->four_bits ? 2 : 1;
    const float *scales = (const float *)o->scales.data + tile * o->groups * 2 * TILE;
    for (size_t g = 0; g < o->groups; g++) {
        const oc_quant_group *group = (const oc_quant_group *)o->x_groups.data + g * o->rows + row;
        float t = 0.0f;
        for (size_t h = 0; h < halves; h++) {
            int32_t sum = 0;
            for (size_t i = h * STEPS / halves; i < (h + 1) * STEPS / halves; i++) {
                for (size_t k = 0; k < OC_QUANT_STEP; k++) {
                    int w = codes[(g * STEPS + i) * LINE + lane * OC_QUANT_STEP + k];
                    sum += (w - OC_QUANT_OFFSET) *
                           x[((g * STEPS + i) * o->rows + row) * OC_QUANT_STEP + k];
                }
            }
            float scale = scales[(g * 2 + h) * TILE + lane];
            t = h == 0 ? (float)sum * scale : fuse(c, (float)sum, scale, t);
        }
        y = fuse(c, t, group->scale, y);
    }
    return y;
}

static void check_products(checker *c, bool four_bits)
{
    const char *name = four_bits ? "product_q4" : "product_q8";
    size_t panel = c->kernels->quant_rows, tiles = 1 + check_below(c, 2);
    size_t rows = check_below(c, 3) == 0 ? panel : 1 + check_below(c, panel);
    operands o = make_operands(c, four_bits, rows, tiles);
    size_t stride = tiles * TILE + 3, count = (rows - 1) * stride + tiles * TILE;
    array y = check_output(c, count, 4), before = check_floats(c, count, 1.0f);
    memcpy(y.data, before.data, y.bytes);
    oc_quant_product job = {.rows = rows,
                            .tiles = tiles,
                            .groups = o.groups,
                            .x = o.x.data,
                            .x_groups = o.x_groups.data,
                            .packed = o.packed.data,
                            .packed_stride = o.tile_bytes,
                            .codes = four_bits ? o.codes.data : NULL,
                            .codes_stride = o.groups * STEPS * LINE,
                            .y = y.data,
                            .y_stride = stride};
    (four_bits ? c->kernels->product_q4 : c->kernels->product_q8)(&job);
    for (size_t i = 0; i < count; i++) {
        size_t row = i / stride, n = i % stride;
        float start = ((const float *)before.data)[i];
        float expected =
            n < tiles * TILE ? expected_output(c, &o, n / TILE, n % TILE, row, start) : start;
        check_near(c, name, i, job.y[i], (double)expected, 0.0);
    }
    check_free(c, &y, name);
    check_free(c, &before, name);
    free_operands(c, &o, name);
}

static void check_few(checker *c, bool four_bits)
{
    const char *name = four_bits ? "few_q4" : "few_q8";
    size_t rows = 1 + check_below(c, OC_QUANT_FEW_ROWS);
    size_t stride = TILE + check_below(c, 3);
    operands o = make_operands(c, four_bits, rows, 1);
    array y = check_output(c, (rows - 1) * stride + TILE, 4);
    oc_quant_product job = {.rows = rows,
                            .tiles = 1,
                            .groups = o.groups,
                            .x = o.x.data,
                            .x_groups = o.x_groups.data,
                            .packed = o.packed.data,
                            .y = y.data,
                            .y_stride = stride};
    (four_bits ? c->kernels->few_q4 : c->kernels->few_q8)(&job);
    for (size_t i = 0; i < rows * TILE; i++) {
        size_t row = i / TILE, n = i % TILE;
        check_near(c, name, i, job.y[row * stride + n],
                   (double)expected_output(c, &o, 0, n, row, 0.0f), 0.0);
    }
    check_free(c, &y, name);
    free_operands(c, &o, name);
}

static void check_unpack(checker *c)
{
    operands o = make_operands(c, true, 1, 1);
    array codes = check_output(c, o.codes.bytes, 1);
    c->kernels->unpack_q4(codes.data, o.packed.data, o.groups);
    if (memcmp(codes.data, o.codes.data, o.codes.bytes) != 0) {
        check_fail(c, "unpack_q4", "codes differ");
    }
    check_free(c, &codes, "unpack_q4");
    free_operands(c, &o, "unpack_q4");
}

void check_quant_kernels(checker *c)
{
    check_quantize(c);
    check_products(c, false);
    check_products(c, true);
    check_few(c, false);
    check_few(c, true);
    check_unpack(c);
}
