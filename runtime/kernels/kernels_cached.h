/* kernels_cached.h - one query or a few meet a page of a float16 kv cache, written once over the
 * vector operations of a tier (see kernels_loops.h). Decoding a long context is bound by reading
 * the cache: here every key and value is read once, widened in a register and used for two queries.
 *
 * Sums are the chains that the gemm kernel forms: over dims for a score, over keys for a value, in
 * order. So a row's bits do not depend on which way it went. */
#ifndef OC_KERNELS_KERNELS_CACHED_H
#define OC_KERNELS_KERNELS_CACHED_H

#if defined(OC_VECTOR_LANES)

#include "runtime/kernels/kernels.h"

#include <string.h>

enum {
    CACHED_VECTORS = 4, /* of each of two queries: 8 sums, enough for the latency of a product */
    CACHED_STRIDE = CACHED_VECTORS * OC_VECTOR_LANES,
    CACHED_KEYS = 64, /* OC_KV_PAGE_SLOTS */
    /* 16 sums fit the 32 registers of AVX-512: values are then read in one pass, as they lie. */
    CACHED_WIDE = OC_VECTOR_LANES == 16
};

/* Asks for bytes of what is read next, if anything is. A macro: gcc 12 takes a function that only
 * asks for one without effect, and leaves out its calls. */
#define OC_CACHED_ASK(ahead, offset, bytes)                                                        \
    if ((ahead) != NULL) {                                                                         \
        for (size_t at = 0; at < (bytes); at += 64) {                                              \
            vec_prefetch((const char *)(ahead) + (offset) + at);                                   \
        }                                                                                          \
    }

static void cached_scores(float *scores, size_t stride, const float *query, size_t head_dim,
                          size_t queries, const uint16_t *keys, const void *ahead)
{
    for (size_t q = 0; q < queries; q += 2) {
        size_t other = q + 1 < queries ? q + 1 : q; /* an odd one out is worked out twice */
        const float *x = query + q * head_dim, *y = query + other * head_dim;
        for (size_t first = 0; first < CACHED_KEYS; first += CACHED_STRIDE) {
            const void *next = q + first == 0 ? ahead : NULL;
            vec a[CACHED_VECTORS], b[CACHED_VECTORS];
            for (size_t v = 0; v < CACHED_VECTORS; v++) {
                a[v] = b[v] = vec_zero();
            }
            for (size_t d = 0; d < head_dim; d++) {
                vec xs = vec_set(x[d]), ys = vec_set(y[d]);
                OC_CACHED_ASK(next, d * CACHED_KEYS * sizeof *keys, CACHED_KEYS * sizeof *keys)
                const uint16_t *from = keys + d * CACHED_KEYS + first;
                for (size_t v = 0; v < CACHED_VECTORS; v++) {
                    vec key = vec_load_f16(from + v * OC_VECTOR_LANES);
                    a[v] = vec_fma(xs, key, a[v]);
                    b[v] = vec_fma(ys, key, b[v]);
                }
            }
            for (size_t v = 0; v < CACHED_VECTORS; v++) {
                vec_store(scores + q * stride + first + v * OC_VECTOR_LANES, a[v]);
                vec_store(scores + other * stride + first + v * OC_VECTOR_LANES, b[v]);
            }
        }
    }
}

/* VECTORS vectors of dims from first on, for two queries. */
#define OC_CACHED_SUMS(VECTORS, LOAD)                                                              \
    {                                                                                              \
        vec a[VECTORS], b[VECTORS];                                                                \
        for (size_t v = 0; v < VECTORS; v++) {                                                     \
            a[v] = vec_load_part(x + v * OC_VECTOR_LANES, left - v * OC_VECTOR_LANES);             \
            b[v] = vec_load_part(y + v * OC_VECTOR_LANES, left - v * OC_VECTOR_LANES);             \
        }                                                                                          \
        for (size_t k = 0; k < count; k++) {                                                       \
            vec xs = vec_set(weights[q * stride + k]);                                             \
            vec ys = vec_set(weights[other * stride + k]);                                         \
            OC_CACHED_ASK(next, k *head_dim * sizeof *values, head_dim * sizeof *values)           \
            const uint16_t *from = values + k * head_dim + first;                                  \
            for (size_t v = 0; v < VECTORS; v++) {                                                 \
                vec value = LOAD;                                                                  \
                a[v] = vec_fma(xs, value, a[v]);                                                   \
                b[v] = vec_fma(ys, value, b[v]);                                                   \
            }                                                                                      \
        }                                                                                          \
        for (size_t v = 0; v < VECTORS; v++) {                                                     \
            vec_store_part(x + v * OC_VECTOR_LANES, a[v], left - v * OC_VECTOR_LANES);             \
            vec_store_part(y + v * OC_VECTOR_LANES, b[v], left - v * OC_VECTOR_LANES);             \
        }                                                                                          \
        first += VECTORS * OC_VECTOR_LANES;                                                        \
    }

/* n >= 1 values, zeros behind. */
static inline vec cached_load_part(const uint16_t *from, size_t n)
{
    uint16_t lanes[OC_VECTOR_LANES] = {0};
    memcpy(lanes, from, (n < OC_VECTOR_LANES ? n : OC_VECTOR_LANES) * sizeof *lanes);
    return vec_load_f16(lanes);
}

static void cached_values(float *sums, size_t head_dim, const float *weights, size_t stride,
                          size_t queries, const uint16_t *values, size_t count, const void *ahead)
{
    for (size_t q = 0; q < queries; q += 2) {
        size_t other = q + 1 < queries ? q + 1 : q;
        for (size_t first = 0; first < head_dim;) {
            float *x = sums + q * head_dim + first, *y = sums + other * head_dim + first;
            const void *next = q + first == 0 ? ahead : NULL;
            size_t left = head_dim - first;
            if (CACHED_WIDE && left >= 2 * CACHED_STRIDE) {
                OC_CACHED_SUMS(2 * CACHED_VECTORS, vec_load_f16(from + v * OC_VECTOR_LANES))
            } else if (left >= CACHED_STRIDE) {
                OC_CACHED_SUMS(CACHED_VECTORS, vec_load_f16(from + v * OC_VECTOR_LANES))
            } else {
                OC_CACHED_SUMS(1, cached_load_part(from, left))
            }
        }
    }
}

static void cached_fill_table(oc_kernels *table)
{
    table->scores_f16 = cached_scores;
    table->values_f16 = cached_values;
}

#endif

#endif
