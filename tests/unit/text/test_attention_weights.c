/* What a row looks at: against sums in float64 from the keys that were stored, and against what the
 * attention itself makes of values that tell slots apart. */
#include "text/attention_weights.h"

#include "runtime/base/memory.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/half.h"
#include "text/kv_cache.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 32, MOST_SLOTS = 200, HEADS = 4, KV_HEADS = 2 };

static float noise(size_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (float)(x % 20001) / 10000.0f - 1.0f;
}

static float rounded(float value, oc_format format)
{
    if (format == OC_FORMAT_BF16) {
        return oc_bf16_widen(oc_bf16_narrow(value));
    }
    return format == OC_FORMAT_F16 ? oc_f16_widen(oc_f16_narrow(value)) : value;
}

typedef struct scene {
    oc_compute compute;
    oc_kernels kernels;
    oc_kv_cache cache;
    float keys[MOST_SLOTS][KV_HEADS][DIM], values[MOST_SLOTS][KV_HEADS][DIM];
    float query[HEADS][DIM];
    float weights[MOST_SLOTS];
} scene;

static void make_scene(scene *s, size_t kv_heads, oc_format format, oc_pool *pool)
{
    ocelli_error err;
    const oc_kv_shape shape = {1, kv_heads, DIM, format};
    cr_assert_eq(oc_kernels_choose(&s->kernels, NULL, &err), OCELLI_OK, "%s", err.message);
    s->compute = (oc_compute){&s->kernels, pool};
    oc_kv_open(&s->cache, &shape);
    cr_assert_eq(oc_kv_reserve(&s->cache, MOST_SLOTS, &err), OCELLI_OK);
    for (size_t i = 0; i < sizeof s->query / sizeof(float); i++) {
        s->query[i / DIM][i % DIM] = 3 * noise(i + 7);
    }
    for (size_t slot = 0; slot < MOST_SLOTS; slot++) {
        oc_kv_layer layer = oc_kv_view(&s->cache, 0);
        for (size_t i = 0; i < KV_HEADS * DIM; i++) {
            s->keys[slot][i / DIM][i % DIM] = noise(slot * 1000 + i + 31);
            s->values[slot][i / DIM][i % DIM] = noise(slot * 777 + i + 5);
        }
        oc_kv_store(&s->compute, &layer, slot, kv_heads, DIM, s->keys[slot][0], s->values[slot][0]);
    }
}

static void weigh(scene *s, size_t heads, size_t kv_heads, size_t length)
{
    const oc_attention_shape shape = {heads, kv_heads, DIM, 1.0f / sqrtf((float)DIM)};
    const oc_attention_row row = {
        .query = s->query[0], .cache = oc_kv_view(&s->cache, 0), .length = length};
    size_t floats;
    cr_assert(oc_attention_weights_scratch(&shape, length, &floats));
    float *scratch = calloc(floats, sizeof *scratch);
    oc_attention_weights(&s->compute, &shape, &row, scratch, s->weights);
    free(scratch);
}

Test(attention_weights, by_the_formula)
{
    static const oc_format formats[] = {OC_FORMAT_F32, OC_FORMAT_F16, OC_FORMAT_BF16};
    static const size_t lengths[] = {1, 63, 64, 65, MOST_SLOTS};
    for (size_t f = 0; f < 3; f++) {
        scene *s = calloc(1, sizeof *s);
        make_scene(s, KV_HEADS, formats[f], NULL);
        for (size_t l = 0; l < 5; l++) {
            double wanted[MOST_SLOTS] = {0}, sum = 0;
            for (size_t h = 0; h < HEADS; h++) {
                double scores[MOST_SLOTS], total = 0;
                for (size_t i = 0; i < lengths[l]; i++) {
                    double score = 0;
                    for (size_t d = 0; d < DIM; d++) {
                        float q = s->query[h][d];
                        q = formats[f] == OC_FORMAT_BF16 ? rounded(q, OC_FORMAT_BF16) : q;
                        score +=
                            (double)q * rounded(s->keys[i][h / (HEADS / KV_HEADS)][d], formats[f]);
                    }
                    scores[i] = exp(score / sqrt(DIM));
                    total += scores[i];
                }
                for (size_t i = 0; i < lengths[l]; i++) {
                    wanted[i] += scores[i] / total / HEADS;
                }
            }
            weigh(s, HEADS, KV_HEADS, lengths[l]);
            for (size_t i = 0; i < lengths[l]; i++) {
                cr_assert_lt(fabs(s->weights[i] - wanted[i]), 1e-6, "%zu of %zu: %g, %g", i,
                             lengths[l], (double)s->weights[i], wanted[i]);
                sum += s->weights[i];
            }
            cr_assert_lt(fabs(sum - 1), 1e-5);
        }
        oc_kv_close(&s->cache);
        free(s);
    }
}

/* With one head the weighted sum of the values is what the attention gives. */
Test(attention_weights, the_attention_uses_them)
{
    enum { LENGTH = 150 };
    scene *s = calloc(1, sizeof *s);
    float out[DIM];
    make_scene(s, 1, OC_FORMAT_F32, NULL);
    const oc_attention_row row = {
        .query = s->query[0], .out = out, .cache = oc_kv_view(&s->cache, 0), .length = LENGTH};
    oc_arena dry = oc_arena_dry(), arena = oc_arena_dry();
    ocelli_error err;
    oc_attention_cached(&s->compute, &dry, &row, 1, 1, 1, DIM, 1.0f / sqrtf((float)DIM));
    memset(&arena, 0, sizeof arena);
    cr_assert_eq(oc_arena_reserve(&arena, dry.peak + 64, "a test", &err), OCELLI_OK);
    oc_attention_cached(&s->compute, &arena, &row, 1, 1, 1, DIM, 1.0f / sqrtf((float)DIM));
    weigh(s, 1, 1, LENGTH);
    for (size_t d = 0; d < DIM; d++) {
        double sum = 0;
        for (size_t i = 0; i < LENGTH; i++) {
            sum += (double)s->weights[i] * s->values[i][0][d];
        }
        cr_assert_lt(fabs(sum - out[d]), 1e-5, "%zu: %g, %g", d, sum, (double)out[d]);
    }
    oc_arena_close(&arena);
    oc_kv_close(&s->cache);
    free(s);
}

Test(attention_weights, threads_change_no_bit)
{
    oc_pool *pool;
    scene *alone = calloc(1, sizeof *alone), *together = calloc(1, sizeof *together);
    cr_assert_eq(oc_pool_open(&pool, 3, NULL), OCELLI_OK);
    make_scene(alone, KV_HEADS, OC_FORMAT_BF16, NULL);
    make_scene(together, KV_HEADS, OC_FORMAT_BF16, pool);
    weigh(alone, HEADS, KV_HEADS, MOST_SLOTS);
    weigh(together, HEADS, KV_HEADS, MOST_SLOTS);
    cr_assert_arr_eq(alone->weights, together->weights, sizeof alone->weights);
    oc_kv_close(&alone->cache);
    oc_kv_close(&together->cache);
    oc_pool_close(pool);
    free(alone);
    free(together);
}
