/* check_bf16.c - the kernel checker's bfloat16 part, and the finishing of products. */
#include "runtime/kernels/half.h"
#include "tests/kernels/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double U = 0x1p-24;

static void *need(void *block)
{
    if (block == NULL) {
        exit(2);
    }
    return block;
}

/* count numbers, roughly normal, as bfloat16. */
static array some_halves(checker *c, size_t count)
{
    array a = check_input(c, count, sizeof(uint16_t));
    for (size_t i = 0; i < count; i++) {
        ((uint16_t *)a.data)[i] = oc_bf16_narrow(check_normal(c));
    }
    return a;
}

/* step: bytes from a tile's line to its next. */
static float weight_beside(const void *packed, size_t stride, size_t step, size_t output,
                           size_t column)
{
    uint16_t half;
    memcpy(&half,
           (const unsigned char *)packed + output / OC_BF16_TILE * stride +
               column / OC_BF16_STEP * step +
               oc_bf16_at(output % OC_BF16_TILE, column % OC_BF16_STEP),
           sizeof half);
    return oc_bf16_widen(half);
}

static float weight_at(const void *packed, size_t stride, size_t output, size_t column)
{
    return weight_beside(packed, stride, OC_BF16_LINE, output, column);
}

/* Nearest even, NaN stays NaN; below the normal numbers zero will do. */
static void check_narrow(checker *c)
{
    size_t n = check_below(c, 100);
    array in = check_input(c, n, 4), out = check_output(c, n, 2);
    float *x = in.data;
    uint16_t *got = out.data;
    for (size_t i = 0; i < n; i++) {
        x[i] = i % 2 == 0 ? oc_float_from_bits((uint32_t)(check_random(c) >> 32))
                          : check_normal(c) * 3.0f;
        if (i % 7 == 3) { /* half way between two */
            x[i] = oc_float_from_bits((oc_float_bits(x[i]) & 0xffff0000u) | 0x8000u);
        }
    }
    c->kernels->narrow_bf16(got, x, n);
    for (size_t i = 0; i < n; i++) {
        bool tiny = fabsf(x[i]) < 0x1p-126f && (got[i] & 0x7fffu) == 0;
        bool fine = isnan(x[i]) ? isnan(oc_bf16_widen(got[i])) : got[i] == oc_bf16_narrow(x[i]);
        if (!fine && !tiny) {
            check_fail(c, "narrow_bf16", "%a is %04x", (double)x[i], (unsigned)got[i]);
        }
    }
    check_free(c, &in, "narrow_bf16");
    check_free(c, &out, "narrow_bf16");
}

static void check_pack(checker *c)
{
    size_t cols = c->kernels->gemm_cols, depth = check_below(c, 70);
    size_t stride = (depth + 1) / 2 * OC_BF16_LINE + check_below(c, 3) * OC_BF16_LINE;
    size_t end = 1 + check_below(c, 3 * cols),
           first = check_below(c, (end + cols - 1) / cols) * cols;
    size_t tiles = (end + OC_BF16_TILE - 1) / OC_BF16_TILE;
    array packed = some_halves(c, tiles * stride / 2), panel = check_output(c, depth * cols, 4);
    c->kernels->pack_bf16(panel.data, packed.data, stride, first, end, depth);
    for (size_t i = 0; i < depth * cols; i++) {
        size_t output = first + i % cols;
        float expected = output < end ? weight_at(packed.data, stride, output, i / cols) : 0.0f;
        check_near(c, "pack_bf16", i, ((float *)panel.data)[i], (double)expected, 0.0);
    }
    check_free(c, &packed, "pack_bf16");
    check_free(c, &panel, "pack_bf16");
}

/* Every addition rounds; a step may be one rounding or two. Then the same cut up: tile by tile, a
 * row or some rows at a time, columns in two parts. */
static void check_product(checker *c)
{
    size_t rows = 1 + check_below(c, 20), tiles = 1 + check_below(c, OC_BF16_MOST_TILES);
    size_t steps = check_below(c, 60), outputs = tiles * OC_BF16_TILE;
    size_t stride = 2 * (steps + check_below(c, 3)), y_stride = outputs + check_below(c, 4);
    /* Tile after tile, or line beside line. */
    bool beside = check_below(c, 2) == 0;
    size_t packed_stride = beside ? OC_BF16_LINE : (steps + check_below(c, 2)) * OC_BF16_LINE;
    size_t packed_step = beside ? (tiles + check_below(c, 2)) * OC_BF16_LINE : OC_BF16_LINE;
    array x = some_halves(c, (rows - 1) * stride + 2 * steps);
    array packed = some_halves(c, ((tiles - 1) * packed_stride + steps * packed_step) / 2);
    array y = check_output(c, rows * y_stride, 4), again = check_output(c, rows * y_stride, 4);
    bool add = check_below(c, 2) == 0;
    float *got = y.data, *old = need(malloc(rows * y_stride * sizeof *old));
    for (size_t i = 0; i < rows * y_stride; i++) {
        old[i] = got[i] = ((float *)again.data)[i] = check_normal(c);
    }
    c->kernels->product_bf16(&(oc_bf16_product){rows, tiles, steps, x.data, stride, packed.data,
                                                packed_stride, packed_step, got, y_stride, add});
    for (size_t i = 0; i < rows * y_stride; i++) {
        size_t r = i / y_stride, n = i % y_stride;
        double sum = add || n >= outputs ? (double)old[i] : 0.0, magnitude = fabs(sum);
        for (size_t k = 0; n < outputs && k < 2 * steps; k++) {
            double product = (double)oc_bf16_widen(((uint16_t *)x.data)[r * stride + k]) *
                             (double)weight_beside(packed.data, packed_stride, packed_step, n, k);
            sum += product;
            magnitude += fabs(product);
        }
        double bound = n < outputs ? (2.0 * (double)steps + 2.0) * U * magnitude : 0.0;
        check_near(c, "product_bf16", i, got[i], sum, bound);
    }
    size_t cut = check_below(c, steps + 1), most = 1 + check_below(c, 9);
    for (size_t t = 0; t < tiles; t++) {
        for (size_t r = 0; r < rows; r += most) {
            oc_bf16_product part = {.rows = rows - r < most ? rows - r : most,
                                    .tiles = 1,
                                    .steps = cut,
                                    .x = (uint16_t *)x.data + r * stride,
                                    .x_stride = stride,
                                    .packed = (unsigned char *)packed.data + t * packed_stride,
                                    .packed_stride = packed_stride,
                                    .packed_step = packed_step,
                                    .y = (float *)again.data + r * y_stride + t * OC_BF16_TILE,
                                    .y_stride = y_stride,
                                    .add = add};
            c->kernels->product_bf16(&part);
            part.x += 2 * cut;
            part.packed = (const unsigned char *)part.packed + cut * packed_step;
            part.steps = steps - cut;
            part.add = true;
            c->kernels->product_bf16(&part);
        }
    }
    if (memcmp(got, again.data, y.bytes) != 0) {
        check_fail(c, "product_bf16", "bits depend on how the product is cut");
    }
    free(old);
    check_free(c, &x, "product_bf16");
    check_free(c, &packed, "product_bf16");
    check_free(c, &y, "product_bf16");
    check_free(c, &again, "product_bf16");
}

/* A power of two is off by 1.1e-4 and then cut: by less than one part in 128. */
static void check_weigh(checker *c)
{
    const double power = 1.1e-4;
    size_t keys = 1 + check_below(c, 40), tiles = 1 + check_below(c, OC_BF16_TILES);
    size_t steps = (keys + 1) / 2, stride = (steps + check_below(c, 2)) * OC_BF16_LINE;
    size_t dims = check_below(c, 6), queries = tiles * OC_BF16_TILE;
    array scores = check_floats(c, (keys - 1) * OC_BF16_COLS + queries, 4.0f);
    array weights = check_output(c, (tiles - 1) * stride + steps * OC_BF16_LINE, 1);
    array max = check_output(c, queries, 4), total = check_output(c, queries, 4);
    size_t sum_count = dims > 0 ? (dims - 1) * OC_BF16_COLS + queries : 0;
    array sums = check_output(c, sum_count, 4), before = check_floats(c, sum_count, 1.0f);
    const float *score = scores.data, *old_sums = before.data;
    float *most = max.data, *sum = total.data, old[OC_BF16_COLS];
    bool first = check_below(c, 2) == 0;
    for (size_t k = 0; k < keys; k++) { /* some vanish */
        ((float *)scores.data)[k * OC_BF16_COLS] -= check_below(c, 5) == 0 ? 500.0f : 0.0f;
    }
    for (size_t q = 0; q < queries; q++) {
        old[q] = most[q] = first ? -INFINITY : check_normal(c) * 8.0f;
        sum[q] = first ? 0.0f : 2.5f;
    }
    if (sum_count > 0) {
        memcpy(sums.data, old_sums, sums.bytes);
    }
    c->kernels->weigh_bf16(
        &(oc_bf16_weighing){keys, tiles, score, most, sum, weights.data, stride, dims, sums.data});
    for (size_t q = 0; q < queries; q++) {
        float largest = old[q];
        for (size_t k = 0; k < keys; k++) {
            largest = fmaxf(largest, score[k * OC_BF16_COLS + q]);
        }
        largest = largest > old[q] + (float)OC_BF16_WEIGHT_SLACK ? largest : old[q];
        check_near(c, "weigh_bf16", q, most[q], (double)largest, 0.0);
        double factor = first ? 0.0 : exp2((double)old[q] - (double)largest);
        double expected = first ? 0.0 : 2.5 * factor, cut_total = 0.0;
        for (size_t k = 0; k < 2 * steps; k++) {
            double got = (double)weight_at(weights.data, stride, q, k), weight = 0.0;
            if (k < keys) {
                weight = exp2((double)(score[k * OC_BF16_COLS + q] - largest));
            }
            if (got > weight * (1.0 + power) ||
                got < weight * (1.0 - power) * (1.0 - 0x1p-7) - 2e-38) {
                check_fail(c, "weigh_bf16", "weight %g, expected %g", got, weight);
            }
            cut_total += got;
        }
        check_near(c, "weigh_bf16 total", q, sum[q], expected + cut_total,
                   expected * power + (expected + cut_total) * ((double)keys + 4.0) * U);
        for (size_t d = 0; d < dims; d++) {
            double value = (double)old_sums[d * OC_BF16_COLS + q] * factor;
            check_near(c, "weigh_bf16 sums", q, ((float *)sums.data)[d * OC_BF16_COLS + q], value,
                       factor == 1.0 ? 0.0 : fabs(value) * power + 1e-37);
        }
    }
    check_free(c, &scores, "weigh_bf16");
    check_free(c, &weights, "weigh_bf16");
    check_free(c, &max, "weigh_bf16");
    check_free(c, &total, "weigh_bf16");
    check_free(c, &sums, "weigh_bf16");
    check_free(c, &before, "weigh_bf16");
}

/* As above, but rounded to nearest: off by half as much. The last page of a chunk: queries see none of the
 * keys, some or all. */
static void check_weigh_page(checker *c)
{
    const double power = 1.1e-4;
    size_t queries = check_below(c, 5), keys = 1 + check_below(c, OC_BF16_PAGE_KEYS);
    size_t dims = check_below(c, 40), padded = keys + keys % 2;
    float scale = 0.1f + 0.01f * (float)check_below(c, 10);
    array scores = check_floats(c, queries * OC_BF16_PAGE_KEYS, 30.0f);
    array weights = check_output(c, queries * OC_BF16_PAGE_KEYS, 2);
    array max = check_output(c, queries, 4), total = check_output(c, queries, 4);
    array sums = check_output(c, queries * dims, 4), before = check_floats(c, queries * dims, 1.0f);
    float *most = max.data, *sum = total.data, old[5];
    size_t visible[5];
    for (size_t q = 0; q < queries; q++) {
        bool first = check_below(c, 2) == 0;
        visible[q] = check_below(c, 2) == 0 ? keys : check_below(c, keys + 1);
        old[q] = most[q] = first ? -INFINITY : check_normal(c) * 8.0f;
        sum[q] = first ? 0.0f : 2.5f;
        ((float *)scores.data)[q * OC_BF16_PAGE_KEYS] -= check_below(c, 5) == 0 ? 5000.0f : 0.0f;
    }
    if (queries * dims > 0) {
        memcpy(sums.data, before.data, sums.bytes);
    }
    c->kernels->weigh_page_bf16(&(oc_bf16_page){queries, keys, visible, scale, scores.data, most,
                                                sum, weights.data, dims, sums.data});
    for (size_t q = 0; q < queries; q++) {
        const float *score = (float *)scores.data + q * OC_BF16_PAGE_KEYS;
        float largest = old[q];
        for (size_t k = 0; k < visible[q]; k++) {
            largest = fmaxf(largest, score[k] * scale);
        }
        largest = largest > old[q] + (float)OC_BF16_WEIGHT_SLACK ? largest : old[q];
        check_near(c, "weigh_page_bf16", q, most[q], (double)largest, 0.0);
        double factor = largest == old[q] ? 1.0 : exp2((double)old[q] - (double)largest);
        double expected = isinf(old[q]) ? 0.0 : 2.5 * factor, rounded_total = 0.0;
        for (size_t k = 0; k < padded; k++) {
            double got =
                (double)oc_bf16_widen(((uint16_t *)weights.data)[q * OC_BF16_PAGE_KEYS + k]);
            double weight = k < visible[q] ? exp2((double)(score[k] * scale - largest)) : 0.0;
            if (fabs(got - weight) > weight * (power + 0x1p-8) + 2e-38) {
                check_fail(c, "weigh_page_bf16", "weight %g, expected %g", got, weight);
            }
            rounded_total += got;
        }
        check_near(c, "weigh_page_bf16 total", q, sum[q], expected + rounded_total,
                   expected * power + (expected + rounded_total) * ((double)keys + 4.0) * U);
        for (size_t d = 0; d < dims; d++) {
            double value = (double)((float *)before.data)[q * dims + d] * factor;
            check_near(c, "weigh_page_bf16 sums", q, ((float *)sums.data)[q * dims + d], value,
                       factor == 1.0 ? 0.0 : fabs(value) * power + 1e-37);
        }
    }
    check_free(c, &scores, "weigh_page_bf16");
    check_free(c, &weights, "weigh_page_bf16");
    check_free(c, &max, "weigh_page_bf16");
    check_free(c, &total, "weigh_page_bf16");
    check_free(c, &sums, "weigh_page_bf16");
    check_free(c, &before, "weigh_page_bf16");
}

static double exact(oc_pointwise which, double x)
{
    switch (which) {
    case OC_POINTWISE_GELU_TANH:
        return 0.5 * x * (1.0 + tanh(0.79788456080286541 * (x + 0.044715 * x * x * x)));
    case OC_POINTWISE_GELU_ERF: return 0.5 * x * (1.0 + erf(x * 0.70710678118654752));
    default: return x;
    }
}

/* Bounds as in check_float.c's check_pointwise. */
static void check_finish(checker *c)
{
    size_t rows = 1 + check_below(c, 5), count = 1 + check_below(c, 70);
    size_t stride = count + check_below(c, 3), y_stride = count + 1 + check_below(c, 3);
    array sums = check_floats(c, (rows - 1) * stride + count, 2.0f);
    array bias = check_floats(c, count, 1.0f), before = check_floats(c, rows * y_stride, 1.0f);
    array y = check_output(c, rows * y_stride, 4), halves = check_output(c, rows * y_stride, 2);
    oc_finish job = {.rows = rows, .count = count, .sums = sums.data, .sums_stride = stride};
    job.bias = check_below(c, 2) == 0 ? bias.data : NULL;
    job.pointwise = (oc_pointwise)check_below(c, 3);
    job.add = check_below(c, 2) == 0;
    job.y = y.data;
    job.y_stride = job.halves_stride = y_stride;
    memcpy(y.data, before.data, y.bytes);
    memset(halves.data, 0x11, halves.bytes);
    c->kernels->finish(&job);
    float *plain = need(malloc(y.bytes));
    memcpy(plain, y.data, y.bytes);
    for (size_t i = 0; i < rows * y_stride; i++) {
        size_t r = i / y_stride, n = i % y_stride;
        float old = ((float *)before.data)[i];
        double expected = (double)old, bound = 0.0;
        if (n < count) {
            float x = job.sums[r * stride + n];
            x = job.bias != NULL ? x + job.bias[n] : x;
            double value = exact(job.pointwise, (double)x);
            expected = value + (job.add ? (double)old : 0.0);
            bound =
                job.pointwise == OC_POINTWISE_NONE
                    ? 0.0
                    : 2.7e-7 * fabs((double)x) + (10.0 + 4.0 * fabs((double)x)) * U * fabs(value);
            bound += job.add ? U * fabs(expected) : 0.0;
        }
        check_near(c, "finish", i, plain[i], expected, bound);
    }
    /* As halves: what the plain result rounds to, or with a function its neighbour. */
    job.add = false;
    c->kernels->finish(&job);
    job.halves = halves.data;
    c->kernels->finish(&job);
    for (size_t i = 0; i < rows * y_stride; i++) {
        float plain_result = ((float *)y.data)[i];
        uint16_t expected = i % y_stride < count ? oc_bf16_narrow(plain_result) : 0x1111;
        uint16_t got = job.halves[i];
        double off = fabs((double)oc_bf16_widen(got) - (double)plain_result);
        bool near = i % y_stride < count && job.pointwise != OC_POINTWISE_NONE &&
                    off <= (0x1p-8 + 2e-4) * fabs((double)plain_result) + 1e-37;
        if (got != expected && !near) {
            check_fail(c, "finish", "element %zu is %04x as bfloat16, expected %04x", i,
                       (unsigned)got, (unsigned)expected);
        }
    }
    free(plain);
    check_free(c, &sums, "finish");
    check_free(c, &bias, "finish");
    check_free(c, &before, "finish");
    check_free(c, &y, "finish");
    check_free(c, &halves, "finish");
}

void check_bf16_kernels(checker *c)
{
    check_narrow(c);
    check_pack(c);
    check_product(c);
    check_weigh(c);
    check_weigh_page(c);
    check_finish(c);
}
