/* check_cached.c - the kernel checker's part for float16 kv pages: the bits of gemm on the widened page. */
#include "runtime/kernels/half.h"
#include "tests/kernels/check.h"

#include <math.h>
#include <string.h>

enum { SLOTS = 64 };

static array check_halves(checker *c, size_t count)
{
    array halves = check_input(c, count, sizeof(uint16_t));
    for (size_t i = 0; i < count; i++) {
        ((uint16_t *)halves.data)[i] = oc_f16_narrow(check_normal(c));
    }
    return halves;
}

/* One chain of fused products, as gemm's. */
static float chain(float start, const float *x, size_t x_step, const uint16_t *w, size_t w_step,
                   size_t count)
{
    for (size_t i = 0; i < count; i++) {
        start = fmaf(x[i * x_step], oc_f16_widen(w[i * w_step]), start);
    }
    return start;
}

static void check_scores(checker *c)
{
    size_t head_dim = 1 + check_below(c, 150), queries = 1 + check_below(c, 9);
    size_t stride = SLOTS + check_below(c, 3), count = (queries - 1) * stride + SLOTS;
    array query = check_floats(c, queries * head_dim, 1.0f);
    array keys = check_halves(c, head_dim * SLOTS), scores = check_output(c, count, sizeof(float));
    c->kernels->scores_f16(scores.data, stride, query.data, head_dim, queries, keys.data,
                           check_below(c, 2) == 0 ? NULL : keys.data);
    for (size_t i = 0; i < queries * SLOTS; i++) {
        size_t q = i / SLOTS, slot = i % SLOTS;
        float expected = chain(0.0f, (const float *)query.data + q * head_dim, 1,
                               (const uint16_t *)keys.data + slot, SLOTS, head_dim);
        check_near(c, "scores_f16", i, ((const float *)scores.data)[q * stride + slot],
                   (double)expected, 0.0);
    }
    check_free(c, &query, "scores_f16");
    check_free(c, &keys, "scores_f16");
    check_free(c, &scores, "scores_f16");
}

static void check_values(checker *c)
{
    size_t head_dim = 1 + check_below(c, 150), queries = 1 + check_below(c, 9);
    size_t slots = check_below(c, SLOTS + 1), stride = SLOTS;
    array weights = check_floats(c, queries * stride, 1.0f);
    array values = check_halves(c, SLOTS * head_dim);
    array before = check_floats(c, queries * head_dim, 1.0f);
    array sums = check_output(c, queries * head_dim, sizeof(float));
    memcpy(sums.data, before.data, sums.bytes);
    c->kernels->values_f16(sums.data, head_dim, weights.data, stride, queries, values.data, slots,
                           check_below(c, 2) == 0 ? NULL : values.data);
    for (size_t i = 0; i < queries * head_dim; i++) {
        size_t q = i / head_dim, d = i % head_dim;
        float expected =
            chain(((const float *)before.data)[i], (const float *)weights.data + q * stride, 1,
                  (const uint16_t *)values.data + d, head_dim, slots);
        check_near(c, "values_f16", i, ((const float *)sums.data)[i], (double)expected, 0.0);
    }
    check_free(c, &weights, "values_f16");
    check_free(c, &values, "values_f16");
    check_free(c, &before, "values_f16");
    check_free(c, &sums, "values_f16");
}

void check_cached_kernels(checker *c)
{
    if (c->kernels->scores_f16 != NULL) {
        check_scores(c);
        check_values(c);
    }
}
