/* test_linear.c - oc_linear against sums in double, for every format, tier and shape; its memory; and
 * the promise that a row's bits depend on that row alone. */
#include "runtime/kernels/linear.h"

#include "tests/unit/kernels/kernel_fixture.h"

#include <criterion/parameterized.h>
#include <string.h>

typedef struct shape {
    size_t rows, outputs, cols;
} shape;

static const shape SHAPES[] = {
    {1, 1, 1},   {1, 33, 64},   {1, 100, 320}, {2, 16, 64},    {3, 17, 65},   {7, 48, 96},
    {13, 5, 31}, {19, 64, 640}, {64, 31, 72},  {40, 130, 272}, {97, 65, 130}, {2, 5, 0},
    {6, 40, 0},  {20, 40, 0},   {5, 40, 600},  {520, 150, 70}, {300, 20, 600}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof SHAPES[0] };

static oc_matrix pack(oc_format format, const float *source, size_t rows, size_t cols)
{
    size_t bytes;
    cr_assert(oc_matrix_bytes(format, rows, cols, &bytes));
    void *data = oc_alloc(bytes, 1);
    cr_assert_not_null(data);
    oc_matrix_pack(format, data, rows, cols, 0, rows, source);
    return (oc_matrix){.data = data, .rows = rows, .cols = cols, .format = format};
}

/* Prepares, multiplies, and checks that the dry run took exactly what the real run took. */
static void multiply(const oc_compute *compute, const oc_matrix *weight, const float *bias,
                     const float *x, size_t rows, size_t stride, float *y, size_t y_stride)
{
    oc_arena dry = oc_arena_dry(), arena = {0};
    oc_activations activations;
    ocelli_error error;
    oc_activations_prepare(&activations, compute, &dry, weight->format, NULL, rows, weight->cols,
                           stride);
    oc_linear(compute, &dry, weight, bias, &activations, NULL, y_stride);
    cr_assert_eq(oc_arena_reserve(&arena, dry.peak, "test", &error), OCELLI_OK);
    oc_activations_prepare(&activations, compute, &arena, weight->format, x, rows, weight->cols,
                           stride);
    oc_linear(compute, &arena, weight, bias, &activations, y, y_stride);
    cr_assert(!arena.overflow);
    cr_assert_eq(arena.peak, dry.peak);
    cr_assert_eq(arena.used, dry.used);
    oc_arena_close(&arena);
}

/* Against the weights as they read back. What is left: rounding of float32 sums, and for packed
 * formats the rounding of activations to 127 steps of their group's largest: at most half a step for
 * each column, hardly ever more than six standard deviations of that in the sum. With bfloat16 products
 * it is their rounding to 8 bits: each by at most 2^-8 of itself. */
static void check_values(const oc_compute *compute, oc_format format, shape s, uint64_t seed)
{
    size_t stride = s.cols + 3, y_stride = s.outputs + 5;
    float *source = test_floats(s.outputs * s.cols, &seed);
    float *x = test_floats(s.rows * stride, &seed), *bias = test_floats(s.outputs, &seed);
    float *y = oc_alloc(s.rows * y_stride, sizeof *y), *row = oc_alloc(s.cols, sizeof *row);
    oc_matrix weight = pack(format, source, s.outputs, s.cols);
    bool packed = format == OC_FORMAT_Q8 || format == OC_FORMAT_Q4;
    bool halves = format == OC_FORMAT_BF16 && compute->kernels->bf16_products;
    for (size_t i = 0; i < s.rows * y_stride; i++) {
        y[i] = 77.0f;
    }
    multiply(compute, &weight, bias, x, s.rows, stride, y, y_stride);
    for (size_t n = 0; n < s.outputs; n++) {
        oc_matrix_row(&weight, n, row);
        for (size_t r = 0; r < s.rows; r++) {
            double sum = bias[n], magnitude = fabs((double)bias[n]), largest = 0.0, squares = 0.0;
            double product_squares = 0.0;
            for (size_t k = 0; k < s.cols; k++) {
                double product = (double)row[k] * (double)x[r * stride + k];
                sum += product;
                magnitude += fabs(product);
                squares += (double)row[k] * (double)row[k];
                product_squares += product * product;
                largest = fmax(largest, fabs((double)x[r * stride + k]));
            }
            double bound = magnitude * 1e-6;
            if (packed) {
                bound += 6.0 * largest / 127.0 / sqrt(12.0) * sqrt(squares) +
                         (s.cols < 8 ? largest / 254.0 * sqrt(squares) : 0.0);
            }
            if (halves) {
                bound += fmin(6.0 / sqrt(3.0) * sqrt(product_squares), magnitude) * 0x1p-8;
            }
            cr_assert(fabs((double)y[r * y_stride + n] - sum) <= bound,
                      "%s %s %zux%zux%zu row %zu output %zu: %g, expected %g within %g",
                      compute->kernels->tier, oc_format_name(format), s.rows, s.outputs, s.cols, r,
                      n, (double)y[r * y_stride + n], sum, bound);
        }
    }
    for (size_t r = 0; r < s.rows; r++) { /* nothing beside the outputs is written */
        for (size_t n = s.outputs; n < y_stride; n++) {
            cr_assert_eq(y[r * y_stride + n], 77.0f);
        }
    }
    oc_free(source);
    oc_free(x);
    oc_free(bias);
    oc_free(y);
    oc_free(row);
    oc_free((void *)weight.data);
}

Test(linear, values)
{
    for (int tier = 0; oc_kernels_tier(tier) != NULL; tier++) {
        test_compute t;
        test_compute_open(&t, oc_kernels_tier(tier), 2);
        for (int blas = 0; blas < 2; blas++) {
            t.kernels.blas_sound = t.kernels.blas_sound && blas == 0;
            for (int f = 0; f < OC_FORMATS; f++) {
                for (size_t i = 0; i < SHAPE_COUNT; i++) {
                    check_values(&t.compute, (oc_format)f, SHAPES[i], 1 + i);
                }
            }
        }
        test_compute_close(&t);
    }
}

/* Rows together, alone, in other company and under 1, 2 and 3 threads: the same bytes. */
Test(linear, bits_depend_on_the_row_alone)
{
    static const oc_format formats[] = {OC_FORMAT_F16, OC_FORMAT_BF16, OC_FORMAT_Q8, OC_FORMAT_Q4};
    enum { ROWS = 400, OUTPUTS = 150, COLS = 330 };
    static const size_t groups[] = {2, 7, 50, ROWS};
    for (int tier = 0; oc_kernels_tier(tier) != NULL; tier++) {
        for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
            uint64_t seed = 99 + f;
            float *source = test_floats(OUTPUTS * COLS, &seed);
            float *x = test_floats(ROWS * COLS, &seed), *bias = test_floats(OUTPUTS, &seed);
            float *expected = oc_alloc(ROWS * OUTPUTS, sizeof *expected);
            float *y = oc_alloc(ROWS * OUTPUTS, sizeof *y);
            oc_matrix weight = pack(formats[f], source, OUTPUTS, COLS);
            test_compute serial;
            test_compute_open(&serial, oc_kernels_tier(tier), 0);
            for (size_t r = 0; r < ROWS; r++) {
                multiply(&serial.compute, &weight, bias, x + r * COLS, 1, COLS,
                         expected + r * OUTPUTS, OUTPUTS);
            }
            for (int threads = 0; threads < 4; threads++) {
                test_compute t;
                test_compute_open(&t, oc_kernels_tier(tier), threads);
                for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
                    size_t together = groups[g];
                    memset(y, 0xff, ROWS * OUTPUTS * sizeof *y);
                    for (size_t r = 0; r < ROWS; r += together) {
                        size_t rows = ROWS - r < together ? ROWS - r : together;
                        multiply(&t.compute, &weight, bias, x + r * COLS, rows, COLS,
                                 y + r * OUTPUTS, OUTPUTS);
                    }
                    cr_assert_eq(memcmp(y, expected, ROWS * OUTPUTS * sizeof *y), 0,
                                 "%s %s, %zu rows together, %d threads", oc_kernels_tier(tier),
                                 oc_format_name(formats[f]), together, threads);
                }
                test_compute_close(&t);
            }
            oc_free(source);
            oc_free(x);
            oc_free(bias);
            oc_free(expected);
            oc_free(y);
            oc_free((void *)weight.data);
        }
    }
}

/* A row with NaN or infinity answers NaN or infinity, and its neighbours are as they were. */
Test(linear, a_bad_row_stays_alone)
{
    enum { ROWS = 9, OUTPUTS = 20, COLS = 128 };
    uint64_t seed = 5;
    test_compute t;
    test_compute_open(&t, NULL, 2);
    for (int f = 0; f < OC_FORMATS; f++) {
        float *source = test_floats(OUTPUTS * COLS, &seed), *x = test_floats(ROWS * COLS, &seed);
        float good[ROWS * OUTPUTS], bad[ROWS * OUTPUTS];
        oc_matrix weight = pack((oc_format)f, source, OUTPUTS, COLS);
        multiply(&t.compute, &weight, NULL, x, ROWS, COLS, good, OUTPUTS);
        x[4 * COLS + 70] = f % 2 == 0 ? NAN : INFINITY;
        multiply(&t.compute, &weight, NULL, x, ROWS, COLS, bad, OUTPUTS);
        for (size_t i = 0; i < ROWS * OUTPUTS; i++) {
            if (i / OUTPUTS == 4) {
                cr_assert(!isfinite(bad[i]), "%s", oc_format_name((oc_format)f));
            } else {
                cr_assert_eq(bad[i], good[i], "%s", oc_format_name((oc_format)f));
            }
        }
        oc_free(source);
        oc_free(x);
        oc_free((void *)weight.data);
    }
    test_compute_close(&t);
}

/* An arena that is too small must not be written through. */
Test(linear, too_small_an_arena_is_survived)
{
    enum { ROWS = 9, OUTPUTS = 20, COLS = 128 };
    uint64_t seed = 6;
    test_compute t;
    test_compute_open(&t, NULL, 2);
    float *source = test_floats(OUTPUTS * COLS, &seed), *x = test_floats(ROWS * COLS, &seed);
    for (int f = 0; f < OC_FORMATS; f++) {
        float y[ROWS * OUTPUTS];
        oc_arena arena = {0};
        oc_activations activations;
        oc_matrix weight = pack((oc_format)f, source, OUTPUTS, COLS);
        memset(y, 0, sizeof y);
        oc_activations_prepare(&activations, &t.compute, &arena, (oc_format)f, x, ROWS, COLS, COLS);
        oc_linear(&t.compute, &arena, &weight, NULL, &activations, y, OUTPUTS);
        cr_assert(arena.overflow);
        cr_assert_eq(y[0], 0.0f);
        oc_free((void *)weight.data);
    }
    oc_free(source);
    oc_free(x);
    test_compute_close(&t);
}

/* Normed on the way in, and any output: the bits of the steps one by one, and memory as counted. */
static void check_output(const oc_compute *compute, oc_format format, size_t rows, bool add,
                         oc_pointwise pointwise, bool in_halves)
{
    enum { OUTPUTS = 75, COLS = 130, STRIDE = OUTPUTS + 3 };
    uint64_t seed = rows + (uint64_t)format;
    float *source = test_floats(OUTPUTS * COLS, &seed), *x = test_floats(rows * COLS, &seed);
    float *bias = test_floats(OUTPUTS, &seed), *weight = test_floats(COLS, &seed);
    float *normed = oc_alloc(rows * COLS, sizeof *normed);
    float *sums = oc_alloc(rows * OUTPUTS, sizeof *sums);
    float *expected = test_floats(rows * STRIDE, &seed), *y = oc_alloc(rows * STRIDE, sizeof *y);
    uint16_t *halves = oc_alloc(rows * STRIDE, sizeof *halves);
    uint16_t *expected_halves = oc_alloc(rows * STRIDE, sizeof *halves);
    oc_matrix matrix = pack(format, source, OUTPUTS, COLS);
    oc_norm norm = {weight, source, 1e-6f};
    memcpy(y, expected, rows * STRIDE * sizeof *y);
    for (size_t r = 0; r < rows; r++) {
        compute->kernels->layer_norm(normed + r * COLS, x + r * COLS, norm.weight, norm.bias, COLS,
                                     norm.eps);
    }
    multiply(compute, &matrix, NULL, normed, rows, COLS, sums, OUTPUTS);
    oc_finish finish = {.rows = rows,
                        .count = OUTPUTS,
                        .sums = sums,
                        .sums_stride = OUTPUTS,
                        .bias = bias,
                        .pointwise = pointwise,
                        .add = add,
                        .y = expected,
                        .y_stride = STRIDE,
                        .halves = in_halves ? expected_halves : NULL,
                        .halves_stride = STRIDE};
    compute->kernels->finish(&finish);
    oc_linear_output output = {.bias = bias,
                               .pointwise = pointwise,
                               .add = add,
                               .in_halves = in_halves,
                               .y_stride = STRIDE,
                               .halves_stride = STRIDE};
    oc_arena dry = oc_arena_dry(), arena = {0};
    oc_activations activations;
    ocelli_error error;
    oc_activations_prepare_normed(&activations, compute, &dry, format, &norm, NULL, rows, COLS);
    oc_linear_into(compute, &dry, &matrix, &activations, &output);
    cr_assert_eq(oc_arena_reserve(&arena, dry.peak, "test", &error), OCELLI_OK);
    output.y = in_halves ? NULL : y;
    output.halves = in_halves ? halves : NULL;
    oc_activations_prepare_normed(&activations, compute, &arena, format, &norm, x, rows, COLS);
    oc_linear_into(compute, &arena, &matrix, &activations, &output);
    cr_assert(!arena.overflow && arena.peak == dry.peak && arena.used == dry.used);
    cr_assert_eq(memcmp(y, expected, rows * STRIDE * sizeof *y), 0, "%s %s, %zu rows",
                 compute->kernels->tier, oc_format_name(format), rows);
    cr_assert_eq(memcmp(halves, expected_halves, rows * STRIDE * sizeof *halves), 0,
                 "%s %s, %zu rows in halves", compute->kernels->tier, oc_format_name(format), rows);
    oc_arena_close(&arena);
    oc_free(source);
    oc_free(x);
    oc_free(bias);
    oc_free(weight);
    oc_free(normed);
    oc_free(sums);
    oc_free(expected);
    oc_free(y);
    oc_free(halves);
    oc_free(expected_halves);
    oc_free((void *)matrix.data);
}

Test(linear, outputs)
{
    static const size_t rows[] = {1, 3, 9, 60, 300};
    for (int tier = 0; oc_kernels_tier(tier) != NULL; tier++) {
        test_compute t;
        test_compute_open(&t, oc_kernels_tier(tier), 2);
        for (int f = 0; f < OC_FORMATS; f++) {
            for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
                check_output(&t.compute, (oc_format)f, rows[r], true, OC_POINTWISE_NONE, false);
                check_output(&t.compute, (oc_format)f, rows[r], r % 2 == 0, OC_POINTWISE_GELU_TANH,
                             false);
                check_output(&t.compute, (oc_format)f, rows[r], false, OC_POINTWISE_GELU_ERF, true);
                check_output(&t.compute, (oc_format)f, rows[r], false, OC_POINTWISE_GELU_TANH,
                             true);
            }
        }
        test_compute_close(&t);
    }
}
