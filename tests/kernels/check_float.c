/* check_float.c - the kernel checker's float32 part. */
#include "runtime/kernels/half.h"
#include "tests/kernels/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double U = 0x1p-24;

/* Often small, so that every tail is met; sometimes long. */
static size_t some_count(checker *c)
{
    return check_below(c, 4) == 0 ? check_below(c, 3000) : check_below(c, 70);
}

/* n products in chains of at least 32: each is rounded n / 32 + 6 times. */
static void check_dot(checker *c)
{
    size_t n = some_count(c);
    array a = check_floats(c, n, 1.0f), b = check_floats(c, n, 3.0f);
    const float *x = a.data, *y = b.data;
    double sum = 0.0, magnitude = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)x[i] * (double)y[i];
        magnitude += fabs((double)x[i] * (double)y[i]);
    }
    check_near(c, "dot", n, c->kernels->dot(x, y, n), sum,
               ((double)n / 32.0 + 6.0) * U * magnitude);
    check_free(c, &a, "dot");
    check_free(c, &b, "dot");
}

/* Widening is exact; narrowing rounds alike, whatever the bits. */
static void check_halves(checker *c)
{
    size_t n = some_count(c);
    array halves = check_input(c, n, 2), wide = check_output(c, n, 4);
    array numbers = check_input(c, n, 4), narrow = check_output(c, n, 2);
    uint16_t *h = halves.data, *out = narrow.data;
    float *w = wide.data, *x = numbers.data;
    for (size_t i = 0; i < n; i++) {
        h[i] = (uint16_t)check_random(c);
        x[i] = i % 2 == 0 ? oc_float_from_bits((uint32_t)(check_random(c) >> 32))
                          : ldexpf(check_normal(c), (int)check_below(c, 44) - 26);
    }
    c->kernels->widen_f16(w, h, n);
    for (size_t i = 0; i < n; i++) {
        check_near(c, "widen_f16", i, w[i], (double)oc_f16_widen(h[i]), 0.0);
    }
    c->kernels->widen_bf16(w, h, n);
    for (size_t i = 0; i < n; i++) {
        check_near(c, "widen_bf16", i, w[i], (double)oc_bf16_widen(h[i]), 0.0);
    }
    c->kernels->narrow_f16(out, x, n);
    for (size_t i = 0; i < n; i++) {
        uint16_t expected = oc_f16_narrow(x[i]);
        bool same = isnan(x[i]) ? isnan(oc_f16_widen(out[i])) : out[i] == expected;
        if (!same) {
            check_fail(c, "narrow_f16", "%a is %04x, expected %04x", (double)x[i], (unsigned)out[i],
                       (unsigned)expected);
        }
    }
    check_free(c, &halves, "widen");
    check_free(c, &wide, "widen");
    check_free(c, &numbers, "narrow_f16");
    check_free(c, &narrow, "narrow_f16");
}

static float element(oc_format format, const void *rows, size_t at)
{
    if (format == OC_FORMAT_F32) {
        return ((const float *)rows)[at];
    }
    return oc_f16_widen(((const uint16_t *)rows)[at]);
}

static void check_pack(checker *c)
{
    size_t cols = c->kernels->gemm_cols, count = 1 + check_below(c, cols);
    size_t depth = check_below(c, 70), stride = depth + check_below(c, 5);
    for (int f = OC_FORMAT_F32; f <= OC_FORMAT_F16; f++) {
        size_t size = f == OC_FORMAT_F32 ? 4 : 2;
        size_t used = (count - 1) * stride + depth;
        array rows = check_input(c, used, size);
        array panel = check_output(c, depth * cols, 4);
        for (size_t i = 0; i < used; i++) { /* finite patterns */
            float value = check_normal(c);
            uint16_t half = oc_f16_narrow(value);
            memcpy((unsigned char *)rows.data + i * size,
                   f == OC_FORMAT_F32 ? (const void *)&value : (const void *)&half, size);
        }
        c->kernels->pack[f](panel.data, rows.data, stride, count, depth);
        for (size_t i = 0; i < depth * cols; i++) {
            size_t row = i % cols, k = i / cols;
            float expected =
                row < count ? element((oc_format)f, rows.data, row * stride + k) : 0.0f;
            check_near(c, "pack", i, ((float *)panel.data)[i], (double)expected, 0.0);
        }
        check_free(c, &rows, "pack");
        check_free(c, &panel, "pack");
    }
}

/* The chain of sums is promised, so every bit is. */
static void check_gemm(checker *c)
{
    size_t cols = c->kernels->gemm_cols, rows = 1 + check_below(c, 3 * c->kernels->gemm_rows);
    size_t depth = check_below(c, 100), outputs = 1 + check_below(c, cols);
    bool transposed = check_below(c, 2) == 0;
    oc_gemm job = {.rows = rows, .depth = depth, .outputs = outputs};
    job.x_row = transposed ? 1 : depth + 3;
    job.x_step = transposed ? rows + 2 : 1;
    job.w_step = cols + check_below(c, 3) * 5;
    job.y_stride = outputs + 4;
    job.add = check_below(c, 2) == 0;
    size_t x_count = depth > 0 ? (rows - 1) * job.x_row + (depth - 1) * job.x_step + 1 : 0;
    size_t w_count = depth > 0 ? (depth - 1) * job.w_step + cols : 0;
    array x = check_floats(c, x_count, 1.0f), w = check_floats(c, w_count, 1.0f);
    array y = check_output(c, rows * job.y_stride, 4);
    float *before = malloc(rows * job.y_stride * sizeof *before + 1);
    for (size_t i = 0; i < rows * job.y_stride; i++) {
        ((float *)y.data)[i] = before[i] = check_normal(c);
    }
    job.x = x.data;
    job.w = w.data;
    job.y = y.data;
    c->kernels->gemm(&job);
    for (size_t r = 0; r < rows; r++) {
        for (size_t n = 0; n < job.y_stride; n++) {
            float old = before[r * job.y_stride + n], sum = job.add ? old : 0.0f;
            for (size_t k = 0; n < outputs && k < depth; k++) {
                float a = job.x[r * job.x_row + k * job.x_step], b = job.w[k * job.w_step + n];
                volatile float product = a * b; /* not to be fused here */
                sum = c->fused ? fmaf(a, b, sum) : sum + product;
            }
            check_near(c, "gemm", r * job.y_stride + n, job.y[r * job.y_stride + n],
                       (double)(n < outputs ? sum : old), 0.0);
        }
    }
    free(before);
    check_free(c, &x, "gemm");
    check_free(c, &w, "gemm");
    check_free(c, &y, "gemm");
}

/* A weight exp(x), |x| <= 90: x itself is off by 2 u |x|, the exponential by 4 u. */
static void check_softmax(checker *c)
{
    size_t n = check_below(c, 200), spread = check_below(c, 3);
    float scale = 0.125f, old = check_below(c, 2) == 0 ? -INFINITY : check_normal(c) * 20.0f;
    array x = check_output(c, n, 4);
    float *scores = x.data, max = old, sum = isinf(old) ? 0.0f : 3.5f;
    double before = (double)sum, largest = (double)old, total = 0.0;
    double *expected = malloc(n * sizeof *expected + 1);
    for (size_t i = 0; i < n; i++) {
        scores[i] = check_normal(c) * (spread == 0 ? 1.0f : spread == 1 ? 30.0f : 300.0f);
        expected[i] = (double)scores[i];
        largest = fmax(largest, expected[i]);
    }
    float correction = c->kernels->softmax_block(scores, n, scale, &max, &sum);
    for (size_t i = 0; i < n; i++) {
        double exponent = (double)scale * (expected[i] - largest);
        double weight = exp(exponent);
        total += weight;
        check_near(c, "softmax_block", i, scores[i], weight,
                   weight * (6.0 + 2.0 * fabs(exponent)) * U + 2e-38);
    }
    double drop = n > 0 && !isinf(old) ? (double)scale * ((double)old - largest) : 0.0;
    double ratio = n == 0 ? 1.0 : isinf(old) ? 0.0 : exp(drop);
    check_near(c, "softmax_block", n, correction, ratio,
               ratio * (6.0 + 2.0 * fabs(drop)) * U + 2e-38);
    check_near(c, "softmax_block", n, max, largest, 0.0);
    total += before * ratio;
    check_near(c, "softmax_block", n, sum, total, total * (40.0 + 2.0 * 90.0) * U);
    free(expected);
    check_free(c, &x, "softmax_block");
}

/* The two norms against scalar (double sums): one side rounds the mean square n / lanes times. */
static void check_norms(checker *c)
{
    size_t n = 1 + some_count(c);
    array x = check_floats(c, n, 2.0f), weight = check_floats(c, n, 1.0f);
    array bias = check_floats(c, n, 1.0f), got = check_output(c, n, 4);
    array expected = check_output(c, n, 4);
    const float *xs = x.data, *weights = weight.data;
    float *a = got.data, *b = expected.data;
    double relative = ((double)n / 64.0 + 12.0) * U;
    c->kernels->rms_norm(a, xs, weights, n, 1e-6f);
    c->scalar->rms_norm(b, xs, weights, n, 1e-6f);
    for (size_t i = 0; i < n; i++) {
        check_near(c, "rms_norm", i, a[i], (double)b[i], fabs((double)b[i]) * relative);
    }
    c->kernels->layer_norm(a, xs, weights, bias.data, n, 1e-3f);
    c->scalar->layer_norm(b, xs, weights, bias.data, n, 1e-3f);
    for (size_t i = 0; i < n; i++) { /* the mean's own rounding is magnified by 1 / deviation */
        double bound = (4.0 + fabs((double)b[i])) * (1.0 + fabs((double)weights[i])) * relative;
        check_near(c, "layer_norm", i, a[i], (double)b[i], n == 1 ? 1e-4 : 8.0 * bound);
    }
    memcpy(b, xs, n * sizeof *b); /* in place */
    c->kernels->layer_norm(b, b, weights, bias.data, n, 1e-3f);
    if (memcmp(a, b, n * sizeof *a) != 0) {
        check_fail(c, "layer_norm", "in place gives other bits");
    }
    check_free(c, &x, "norm");
    check_free(c, &weight, "norm");
    check_free(c, &bias, "norm");
    check_free(c, &got, "norm");
    check_free(c, &expected, "norm");
}

static double exact(int which, double x)
{
    switch (which) {
    case 0: return x / (1.0 + exp(-x));
    case 1: return 0.5 * x * (1.0 + tanh(0.79788456080286541 * (x + 0.044715 * x * x * x)));
    default: return 0.5 * x * (1.0 + erf(x * 0.70710678118654752));
    }
}

/* x -> f(x), each element alone: the same bits wherever in the array it stands. */
static void check_pointwise(checker *c)
{
    static const char *const names[3] = {"silu_mul", "gelu_tanh", "gelu_erf"};
    size_t n = some_count(c);
    array x = check_floats(c, n, 4.0f), up = check_floats(c, n, 1.0f), y = check_output(c, n, 4);
    const float *xs = x.data, *ups = up.data;
    float *ys = y.data;
    for (int which = 0; which < 3; which++) {
        for (int again = 0; again < 2; again++) {
            size_t first = again == 0 || n == 0 ? 0 : check_below(c, n);
            float *old = malloc(n * sizeof *old + 1);
            memcpy(old, ys, n * sizeof *old);
            if (which == 0) {
                c->kernels->silu_mul(ys + first, xs + first, ups + first, n - first);
            } else if (which == 1) {
                c->kernels->gelu_tanh(ys + first, xs + first, n - first);
            } else {
                c->kernels->gelu_erf(ys + first, xs + first, n - first);
            }
            if (again == 1 && memcmp(old, ys, n * sizeof *old) != 0) {
                check_fail(c, names[which], "an element's bits depend on its place");
            }
            free(old);
        }
        for (size_t i = 0; i < n; i++) {
            /* exp of x is off by u |x| + 4 u; erf's formula by 1.5e-7. */
            double factor = which == 0 ? (double)ups[i] : 1.0, v = (double)xs[i];
            double value = exact(which, v) * factor;
            double bound = which == 2 ? 2.5e-7 * fabs(v) + 8.0 * U * fabs(value)
                                      : (10.0 + 4.0 * fabs(v)) * U * fabs(value) +
                                            (which == 1 ? 1.2e-7 * fabs(v) : 0.0);
            check_near(c, names[which], i, ys[i], value, bound + 1e-37);
        }
    }
    memcpy(ys, xs, n * sizeof *ys);
    c->kernels->add(ys, ups, n);
    for (size_t i = 0; i < n; i++) {
        check_near(c, "add", i, ys[i], (double)(xs[i] + ups[i]), 0.0);
    }
    memcpy(ys, xs, n * sizeof *ys);
    c->kernels->scale(ys, 0.3f, n);
    for (size_t i = 0; i < n; i++) {
        check_near(c, "scale", i, ys[i], (double)(xs[i] * 0.3f), 0.0);
    }
    check_free(c, &x, "pointwise");
    check_free(c, &up, "pointwise");
    check_free(c, &y, "pointwise");
}

/* Two products and a sum, each rounded at most once. */
static void check_rope(checker *c)
{
    size_t half = check_below(c, 80);
    array v = check_output(c, 2 * half, 4), cosine = check_floats(c, half, 1.0f);
    array sine = check_floats(c, half, 1.0f), before = check_floats(c, 2 * half, 1.0f);
    const float *x = before.data, *cs = cosine.data, *sn = sine.data;
    const float *y = v.data;
    memcpy(v.data, x, 2 * half * sizeof *x);
    c->kernels->rope(v.data, cs, sn, half);
    for (size_t i = 0; i < half; i++) {
        double a = (double)x[i], b = (double)x[i + half], cosn = (double)cs[i],
               sinn = (double)sn[i];
        double bound = 2.0 * U * (fabs(a * cosn) + fabs(b * sinn));
        check_near(c, "rope", i, y[i], a * cosn - b * sinn, bound);
        bound = 2.0 * U * (fabs(b * cosn) + fabs(a * sinn));
        check_near(c, "rope", i + half, y[i + half], b * cosn + a * sinn, bound);
    }
    check_free(c, &v, "rope");
    check_free(c, &cosine, "rope");
    check_free(c, &sine, "rope");
    check_free(c, &before, "rope");
}

void check_float_kernels(checker *c)
{
    check_dot(c);
    check_halves(c);
    check_pack(c);
    check_gemm(c);
    check_softmax(c);
    check_norms(c);
    check_pointwise(c);
    check_rope(c);
}
