/* test_operations.c - row-wise arithmetic of every tier against libm in double, large enough to be
 * split over the pool, in place and not. */
#include "runtime/kernels/linear.h"
#include "runtime/kernels/operations.h"

#include "tests/unit/kernels/kernel_fixture.h"

#include <string.h>

enum { ROWS = 70, COLS = 1001, COUNT = ROWS * COLS };

#define EACH_TIER(t)                                                                               \
    for (int tier_index = 0; oc_kernels_tier(tier_index) != NULL; tier_index++)                    \
        for (int threads = 0; threads < 3; threads++)                                              \
            for (int once = (test_compute_open(&(t), oc_kernels_tier(tier_index), threads), 1);    \
                 once; once = 0, test_compute_close(&(t)))

static void assert_near(float got, double expected, double absolute, double relative)
{
    double bound = absolute + relative * fabs(expected);
    cr_assert(fabs((double)got - expected) <= bound, "%.9g, expected %.9g", (double)got, expected);
}

Test(operations, rms_norm)
{
    uint64_t seed = 1;
    test_compute t;
    float *x = test_floats(ROWS * (COLS + 9), &seed), *weight = test_floats(COLS, &seed);
    float *y = oc_alloc(ROWS * (COLS + 9), sizeof *y);
    EACH_TIER(t)
    {
        oc_rms_norm(&t.compute, y, x, weight, ROWS, COLS, COLS + 9, 1e-6f);
        for (size_t r = 0; r < ROWS; r++) {
            double squares = 0.0;
            for (size_t i = 0; i < COLS; i++) {
                double value = (double)x[r * (COLS + 9) + i];
                squares += value * value;
            }
            double inverse = 1.0 / sqrt(squares / COLS + 1e-6);
            for (size_t i = 0; i < COLS; i++) {
                assert_near(y[r * (COLS + 9) + i],
                            (double)x[r * (COLS + 9) + i] * inverse * (double)weight[i], 0.0, 5e-7);
            }
            cr_assert_eq(y[r * (COLS + 9) + COLS], 0.0f);
        }
    }
    oc_free(x);
    oc_free(y);
    oc_free(weight);
}

/* Rows far from zero: the mean must be taken off before squaring. */
Test(operations, layer_norm)
{
    uint64_t seed = 2;
    test_compute t;
    float *x = test_floats(COUNT, &seed), *y = oc_alloc(COUNT, sizeof *y);
    float *weight = test_floats(COLS, &seed), *bias = test_floats(COLS, &seed);
    for (size_t i = 0; i < COUNT; i++) {
        x[i] += (float)(i / COLS * 10);
    }
    EACH_TIER(t)
    {
        memcpy(y, x, COUNT * sizeof *y);
        oc_layer_norm(&t.compute, y, y, weight, bias, ROWS, COLS, 1e-6f);
        for (size_t r = 0; r < ROWS; r++) {
            double total = 0.0, squares = 0.0;
            for (size_t i = 0; i < COLS; i++) {
                total += (double)x[r * COLS + i];
            }
            for (size_t i = 0; i < COLS; i++) {
                double value = (double)x[r * COLS + i] - total / COLS;
                squares += value * value;
            }
            double inverse = 1.0 / sqrt(squares / COLS + 1e-6);
            for (size_t i = 0; i < COLS; i++) {
                double value = ((double)x[r * COLS + i] - total / COLS) * inverse;
                /* The mean is rounded to float32: up to 700 * 2^-24. */
                assert_near(y[r * COLS + i], value * (double)weight[i] + (double)bias[i],
                            5e-6 * (1.0 + (double)r / 2.0) * (1.0 + fabs((double)weight[i])), 0.0);
            }
        }
    }
    oc_free(x);
    oc_free(y);
    oc_free(weight);
    oc_free(bias);
}

/* From -60 to 60, finer around zero. */
static float *ramp(void)
{
    float *x = oc_alloc(COUNT, sizeof *x);
    for (int i = 0; i < COUNT; i++) {
        float u = (float)(i - COUNT / 2) / (float)(COUNT / 2);
        x[i] = i % 2 == 0 ? 60.0f * u : 6.0f * u;
    }
    return x;
}

Test(operations, activations)
{
    uint64_t seed = 3;
    test_compute t;
    float *x = ramp(), *up = test_floats(COUNT, &seed), *y = oc_alloc(COUNT, sizeof *y);
    EACH_TIER(t)
    {
        oc_silu_mul(&t.compute, y, x, up, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            double v = (double)x[i];
            assert_near(y[i], v / (1.0 + exp(-v)) * (double)up[i], 1e-30, 5e-7);
        }
        oc_gelu_tanh(&t.compute, y, x, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            double v = (double)x[i];
            double tangent = tanh(0.79788456080286541 * (v + 0.044715 * v * v * v));
            assert_near(y[i], 0.5 * v * (1.0 + tangent), 4e-7, 3e-7);
        }
        memcpy(y, x, COUNT * sizeof *y);
        oc_gelu_erf(&t.compute, y, y, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            double v = (double)x[i];
            assert_near(y[i], 0.5 * v * (1.0 + erf(v * 0.70710678118654752)), 6e-7, 2e-7);
        }
        memcpy(y, x, COUNT * sizeof *y);
        oc_quick_gelu(&t.compute, y, y, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            double v = (double)x[i];
            /* The last bit of 1.702 v is worth so much where the result nearly vanishes. */
            assert_near(y[i], v / (1.0 + exp(-1.702 * v)), 1e-30, 1e-5);
        }
        memcpy(y, x, COUNT * sizeof *y);
        oc_add(&t.compute, y, up, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            cr_assert_eq(y[i], x[i] + up[i]);
        }
    }
    oc_free(x);
    oc_free(y);
    oc_free(up);
}

/* Very large inputs give their limits, NaN stays NaN. */
Test(operations, activations_at_the_ends)
{
    static const float x[6] = {-1e30f, -200.0f, 200.0f, 1e30f, NAN, 0.0f};
    static const float one[6] = {1, 1, 1, 1, 1, 1};
    test_compute t;
    EACH_TIER(t)
    {
        float y[3][6];
        oc_silu_mul(&t.compute, y[0], x, one, 6);
        oc_gelu_tanh(&t.compute, y[1], x, 6);
        oc_gelu_erf(&t.compute, y[2], x, 6);
        for (int i = 0; i < 3; i++) {
            cr_assert(fabsf(y[i][0]) < 1e-5f && fabsf(y[i][1]) < 1e-5f, "%g %g", (double)y[i][0],
                      (double)y[i][1]);
            cr_assert_eq(y[i][2], 200.0f);
            cr_assert_eq(y[i][3], 1e30f);
            cr_assert(isnan(y[i][4]));
            cr_assert_eq(y[i][5], 0.0f);
        }
        float *quick = y[0];
        oc_quick_gelu(&t.compute, quick, x, 6);
        cr_assert(fabsf(quick[0]) < 1e-5f && fabsf(quick[1]) < 1e-5f);
        assert_near(quick[2], 200.0, 0, 3e-7);
        assert_near(quick[3], 1e30, 0, 3e-7);
        cr_assert(isnan(quick[4]));
        cr_assert_eq(quick[5], 0.0f);
    }
}

/* A norm without a bias is RMSNorm, in place or not, and so on its way into a prepared form. */
Test(operations, norms_of_both_kinds)
{
    enum { HIGH = 5, WIDE = 161 };
    uint64_t seed = 9;
    test_compute t;
    float *x = test_floats(HIGH * WIDE, &seed), *y = oc_alloc(HIGH * WIDE, sizeof *y);
    float *weight = test_floats(WIDE, &seed), *bias = test_floats(WIDE, &seed);
    EACH_TIER(t)
    {
        for (int centred = 0; centred < 2; centred++) {
            const oc_norm norm = {weight, centred == 1 ? bias : NULL, 1e-6f};
            memcpy(y, x, HIGH * WIDE * sizeof *y);
            oc_norm_rows(&t.compute, y, y, &norm, HIGH, WIDE);
            for (size_t r = 0; r < HIGH; r++) {
                double mean = 0, square = 0;
                for (size_t i = 0; i < WIDE; i++) {
                    mean += centred * (double)x[r * WIDE + i] / WIDE;
                }
                for (size_t i = 0; i < WIDE; i++) {
                    square += pow((double)x[r * WIDE + i] - mean, 2) / WIDE;
                }
                for (size_t i = 0; i < WIDE; i++) {
                    double wanted = ((double)x[r * WIDE + i] - mean) / sqrt(square + 1e-6);
                    wanted = wanted * (double)weight[i] + centred * (double)bias[i];
                    assert_near(y[r * WIDE + i], wanted, 3e-6, 3e-6);
                }
            }
        }
    }
    oc_free(x);
    oc_free(y);
    oc_free(weight);
    oc_free(bias);
}

Test(operations, rope)
{
    enum { HEADS = 3, HALF = 21, WIDTH = HEADS * 2 * HALF, STRIDE = WIDTH + 4, LONG = 400 };
    uint64_t seed = 4;
    test_compute t;
    float *x = test_floats(LONG * STRIDE, &seed), *y = oc_alloc(LONG * STRIDE, sizeof *y);
    float *cosine = test_floats(LONG * HALF, &seed), *sine = test_floats(LONG * HALF, &seed);
    EACH_TIER(t)
    {
        memcpy(y, x, LONG * STRIDE * sizeof *y);
        oc_rope(&t.compute, y, LONG, STRIDE, HEADS, HALF, cosine, sine);
        for (size_t r = 0; r < LONG; r++) {
            for (size_t h = 0; h < HEADS; h++) {
                const float *v = x + r * STRIDE + h * 2 * HALF;
                const float *got = y + r * STRIDE + h * 2 * HALF;
                for (size_t i = 0; i < HALF; i++) {
                    double a = (double)v[i], b = (double)v[i + HALF];
                    double c = (double)cosine[r * HALF + i], s = (double)sine[r * HALF + i];
                    assert_near(got[i], a * c - b * s, 2e-7 * (fabs(a * c) + fabs(b * s)), 0.0);
                    assert_near(got[i + HALF], b * c + a * s, 2e-7 * (fabs(b * c) + fabs(a * s)),
                                0.0);
                }
            }
            cr_assert_eq(y[r * STRIDE + WIDTH], x[r * STRIDE + WIDTH]);
        }
    }
    oc_free(x);
    oc_free(y);
    oc_free(cosine);
    oc_free(sine);
}

Test(operations, softmax)
{
    uint64_t seed = 5;
    test_compute t;
    float *x = test_floats(COUNT, &seed), *y = oc_alloc(COUNT, sizeof *y);
    x[77] = 12.0f;
    x[78] = -INFINITY;
    EACH_TIER(t)
    {
        double total = 0.0;
        memcpy(y, x, COUNT * sizeof *y);
        oc_softmax(&t.compute, y, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            total += exp((double)x[i]);
        }
        for (size_t i = 0; i < COUNT; i++) {
            assert_near(y[i], exp((double)x[i]) / total, 0.0, 2e-6);
        }
        cr_assert_eq(y[78], 0.0f);
    }
    oc_free(x);
    oc_free(y);
}
