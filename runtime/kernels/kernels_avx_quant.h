/* kernels_avx_quant.h - products with packed weights in 256-bit registers, written once over the integer
 * products of a tier. Before it includes this, the tier defines OC_AVX_QUANT, to say so, and
 *
 *     sums8                            8 sums of 32 bits, one for each of half a tile's rows
 *     start_sum(correction)            what they start with; correction is oc_quant_group's
 *     add_products(sum, weights, x)    plus 8 sums of 4 products: 32 weights, 4 activations repeated
 *     add_products_alone(...)          the same where one row of activations takes the weights
 *     CODE_FLIP                        weights = codes xor this: as they are packed, or signed
 *     HALVES(rows)                     halves of a tile whose sums are in registers together, 1 or 2
 *
 * Integer sums are exact, so tiers differ in no bit. Sums stay in registers only if the numbers of rows
 * and halves are constants, and inlining is not a promise: hence the macros. */
#ifndef OC_KERNELS_KERNELS_AVX_QUANT_H
#define OC_KERNELS_KERNELS_AVX_QUANT_H

#if defined(OC_AVX_QUANT)

#include "runtime/kernels/kernels.h"

#include <immintrin.h>
#include <string.h>

enum {
    LINE = OC_QUANT_LINE,
    STEPS = OC_QUANT_STEPS,
    TILE = OC_QUANT_TILE,
    LANES = 8, /* outputs of half a tile */
    HALF_LINE = LINE / 2
};

static inline __m256i load_bytes(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* The 4 codes of one row's step in every lane. */
static inline __m256i load_step(const int8_t *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm256_set1_epi32(four);
}

static inline __m256i from_codes(__m256i codes)
{
    return CODE_FLIP != 0 ? _mm256_xor_si256(codes, _mm256_set1_epi8((char)CODE_FLIP)) : codes;
}

/* What Q4's codes stand for, as weights, in both 128-bit lanes. */
static inline __m256i load_table(void)
{
    static const int8_t values[16] = OC_Q4_VALUES;
    __m128i table = _mm_loadu_si128((const __m128i *)(const void *)values);
    table = _mm_xor_si128(table, _mm_set1_epi8((char)(OC_QUANT_OFFSET ^ CODE_FLIP)));
    return _mm256_broadcastsi128_si256(table);
}

static inline __m256i low_weights(__m256i bytes, __m256i table)
{
    return _mm256_shuffle_epi8(table, _mm256_and_si256(bytes, _mm256_set1_epi8(15)));
}

static inline __m256i high_weights(__m256i bytes, __m256i table)
{
    return low_weights(_mm256_srli_epi16(bytes, 4), table);
}

/* 8 of a block's scales: half (0 or 1) of the tile's rows in group 0 or 1. */
static inline __m256 load_scales(const unsigned char *block, size_t group, size_t half)
{
    const void *scales = block + (group * TILE + half * LANES) * sizeof(uint16_t);
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)scales));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

static inline __m256 to_floats(sums8 sum)
{
    return _mm256_cvtepi32_ps((__m256i)sum);
}

/* y += scaled * scale, 8 outputs. */
static inline void add_scaled(float *y, __m256 scaled, float scale)
{
    _mm256_storeu_ps(y, _mm256_fmadd_ps(scaled, _mm256_set1_ps(scale), _mm256_loadu_ps(y)));
}

/* How far ahead of its use a line is asked for: hardware stops at every 4 KiB page. */
enum { AHEAD = 32 * LINE };

static inline void ask_ahead(const unsigned char *packed, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LINE) {
        _mm_prefetch((const char *)packed + AHEAD + at, _MM_HINT_T0);
    }
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* sums[r][h] of rows and halves of a tile, and their group's start. */
#define OC_START_SUMS(ROWS, TOGETHER, correction)                                                  \
    for (size_t r = 0; r < ROWS; r++) {                                                            \
        for (size_t i = 0; i < TOGETHER; i++) {                                                    \
            sums[r][i] = start_sum(groups[r].correction);                                          \
        }                                                                                          \
    }

/* One step: weights[h], activations [ROWS][4]. */
#define OC_ADD_STEP(ROWS, TOGETHER, weights, activations)                                          \
    for (size_t r = 0; r < ROWS; r++) {                                                            \
        __m256i four = load_step((activations) + r * OC_QUANT_STEP);                               \
        for (size_t i = 0; i < TOGETHER; i++) {                                                    \
            sums[r][i] = ROWS == 1 ? add_products_alone(sums[r][i], (weights)[i], four)            \
                                   : add_products(sums[r][i], (weights)[i], four);                 \
        }                                                                                          \
    }

/* Steps [first, end) of 8-bit codes. */
#define OC_ADD_CODES(ROWS, TOGETHER, codes, first, end)                                            \
    for (size_t s = (first); s < (end); s++) {                                                     \
        __m256i weights[TOGETHER];                                                                 \
        for (size_t i = 0; i < TOGETHER; i++) {                                                    \
            weights[i] = from_codes(load_bytes((codes) + s * LINE + i * HALF_LINE));               \
        }                                                                                          \
        OC_ADD_STEP(ROWS, TOGETHER, weights, x + s * x_step)                                       \
    }

/* Half `part` of a group of Q4's nibbles: 4 lines, 8 steps. */
#define OC_ADD_NIBBLES(ROWS, TOGETHER, lines, part)                                                \
    for (size_t j = (part)*STEPS / 4; j < ((part) + 1) * STEPS / 4; j++) {                         \
        __m256i low[TOGETHER], high[TOGETHER];                                                     \
        for (size_t i = 0; i < TOGETHER; i++) {                                                    \
            __m256i bytes = load_bytes((lines) + j * LINE + i * HALF_LINE);                        \
            low[i] = low_weights(bytes, table);                                                    \
            high[i] = high_weights(bytes, table);                                                  \
        }                                                                                          \
        OC_ADD_STEP(ROWS, TOGETHER, low, x + 2 * j * x_step)                                       \
        OC_ADD_STEP(ROWS, TOGETHER, high, x + (2 * j + 1) * x_step)                                \
    }

/* The first half of a Q4 group, scaled; the second, and both to y. */
#define OC_SCALE_FIRST(ROWS, TOGETHER)                                                             \
    for (size_t i = 0; i < TOGETHER; i++) {                                                        \
        __m256 scale = load_scales(block, 0, half % 2 + i);                                        \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            scaled[r][i] = _mm256_mul_ps(to_floats(sums[r][i]), scale);                            \
        }                                                                                          \
    }

#define OC_SCALE_SECOND(ROWS, TOGETHER)                                                            \
    for (size_t i = 0; i < TOGETHER; i++) {                                                        \
        __m256 scale = load_scales(block, 1, half % 2 + i);                                        \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            add_scaled(y + r * job->y_stride + (half + i) * LANES,                                 \
                       _mm256_fmadd_ps(to_floats(sums[r][i]), scale, scaled[r][i]),                \
                       groups[r].scale);                                                           \
        }                                                                                          \
    }

/* ---- products -------------------------------------------------------------------------------- */

/* q8: products of so many rows of a panel of `panel` rows, added to y; with `ask`, of weights from
 * memory. q4_codes: with unpacked codes. q4_nibbles: of a whole panel with one tile as it is packed. */
#define OC_DEFINE_PRODUCTS(ROWS)                                                                   \
    static void q8_##ROWS(const oc_quant_product *job, size_t panel, bool ask)                     \
    {                                                                                              \
        enum { TOGETHER = HALVES(ROWS) };                                                          \
        const size_t x_step = panel * OC_QUANT_STEP;                                               \
        const int8_t *x = job->x;                                                                  \
        const oc_quant_group *groups = job->x_groups;                                              \
        float *y = job->y;                                                                         \
        for (size_t g = 0; g < job->groups; g++) {                                                 \
            size_t before = g / 2 * OC_Q8_BLOCK_BYTES;                                             \
            if (ask) {                                                                             \
                ask_ahead(job->packed + before + g % 2 * STEPS * LINE, STEPS * LINE);              \
            }                                                                                      \
            for (size_t half = 0; half < 2 * job->tiles; half += TOGETHER) {                       \
                const unsigned char *block = job->packed + half / 2 * job->packed_stride + before; \
                const uint8_t *codes = block + (1 + g % 2 * STEPS) * LINE + half % 2 * HALF_LINE;  \
                sums8 sums[ROWS][TOGETHER];                                                        \
                OC_START_SUMS(ROWS, TOGETHER, correction)                                          \
                OC_ADD_CODES(ROWS, TOGETHER, codes, 0, STEPS)                                      \
                for (size_t i = 0; i < TOGETHER; i++) {                                            \
                    __m256 scale = load_scales(block, g % 2, half % 2 + i);                        \
                    for (size_t r = 0; r < ROWS; r++) {                                            \
                        add_scaled(y + r * job->y_stride + (half + i) * LANES,                     \
                                   _mm256_mul_ps(to_floats(sums[r][i]), scale), groups[r].scale);  \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
            x += panel * OC_QUANT_GROUP;                                                           \
            groups += panel;                                                                       \
        }                                                                                          \
    }                                                                                              \
    static void q4_codes_##ROWS(const oc_quant_product *job, size_t panel)                         \
    {                                                                                              \
        enum { TOGETHER = HALVES(ROWS) };                                                          \
        const size_t x_step = panel * OC_QUANT_STEP;                                               \
        const int8_t *x = job->x;                                                                  \
        const oc_quant_group *groups = job->x_groups;                                              \
        float *y = job->y;                                                                         \
        for (size_t g = 0; g < job->groups; g++) {                                                 \
            for (size_t half = 0; half < 2 * job->tiles; half += TOGETHER) {                       \
                const unsigned char *block =                                                       \
                    job->packed + half / 2 * job->packed_stride + g * OC_Q4_BLOCK_BYTES;           \
                const uint8_t *codes = job->codes + half / 2 * job->codes_stride +                 \
                                       g * STEPS * LINE + half % 2 * HALF_LINE;                    \
                sums8 sums[ROWS][TOGETHER];                                                        \
                __m256 scaled[ROWS][TOGETHER];                                                     \
                OC_START_SUMS(ROWS, TOGETHER, half[0])                                             \
                OC_ADD_CODES(ROWS, TOGETHER, codes, 0, STEPS / 2)                                  \
                OC_SCALE_FIRST(ROWS, TOGETHER)                                                     \
                OC_START_SUMS(ROWS, TOGETHER, half[1])                                             \
                OC_ADD_CODES(ROWS, TOGETHER, codes, STEPS / 2, STEPS)                              \
                OC_SCALE_SECOND(ROWS, TOGETHER)                                                    \
            }                                                                                      \
            x += panel * OC_QUANT_GROUP;                                                           \
            groups += panel;                                                                       \
        }                                                                                          \
    }                                                                                              \
    static void q4_nibbles_##ROWS(const oc_quant_product *job)                                     \
    {                                                                                              \
        enum { TOGETHER = HALVES(ROWS) };                                                          \
        const __m256i table = load_table();                                                        \
        const size_t x_step = ROWS * OC_QUANT_STEP;                                                \
        const int8_t *x = job->x;                                                                  \
        const oc_quant_group *groups = job->x_groups;                                              \
        const unsigned char *block = job->packed;                                                  \
        float *y = job->y;                                                                         \
        for (size_t g = 0; g < job->groups; g++) {                                                 \
            ask_ahead(block, OC_Q4_BLOCK_BYTES);                                                   \
            for (size_t half = 0; half < 2; half += TOGETHER) {                                    \
                const uint8_t *lines = block + LINE + half * HALF_LINE;                            \
                sums8 sums[ROWS][TOGETHER];                                                        \
                __m256 scaled[ROWS][TOGETHER];                                                     \
                OC_START_SUMS(ROWS, TOGETHER, half[0])                                             \
                OC_ADD_NIBBLES(ROWS, TOGETHER, lines, 0)                                           \
                OC_SCALE_FIRST(ROWS, TOGETHER)                                                     \
                OC_START_SUMS(ROWS, TOGETHER, half[1])                                             \
                OC_ADD_NIBBLES(ROWS, TOGETHER, lines, 1)                                           \
                OC_SCALE_SECOND(ROWS, TOGETHER)                                                    \
            }                                                                                      \
            block += OC_Q4_BLOCK_BYTES;                                                            \
            x += ROWS * OC_QUANT_GROUP;                                                            \
            groups += ROWS;                                                                        \
        }                                                                                          \
    }

OC_DEFINE_PRODUCTS(1)
OC_DEFINE_PRODUCTS(2)
OC_DEFINE_PRODUCTS(3)
OC_DEFINE_PRODUCTS(4)
OC_DEFINE_PRODUCTS(5)
OC_DEFINE_PRODUCTS(6)
OC_DEFINE_PRODUCTS(7)
OC_DEFINE_PRODUCTS(8)

/* ---- by rows ---------------------------------------------------------------------------------- */

static void multiply_q8(const oc_quant_product *job, size_t panel, bool ask)
{
    static void (*const by_rows[OC_QUANT_FEW_ROWS])(const oc_quant_product *, size_t, bool) = {
        q8_1, q8_2, q8_3, q8_4, q8_5, q8_6, q8_7, q8_8};
    by_rows[job->rows - 1](job, panel, ask);
}

static void multiply_q4(const oc_quant_product *job, size_t panel)
{
    static void (*const by_rows[OC_QUANT_FEW_ROWS])(const oc_quant_product *, size_t) = {
        q4_codes_1, q4_codes_2, q4_codes_3, q4_codes_4,
        q4_codes_5, q4_codes_6, q4_codes_7, q4_codes_8};
    by_rows[job->rows - 1](job, panel);
}

static void clear_tile(const oc_quant_product *job)
{
    for (size_t r = 0; r < job->rows; r++) {
        memset(job->y + r * job->y_stride, 0, TILE * sizeof *job->y);
    }
}

/* One tile. */
static void few_q8(const oc_quant_product *job)
{
    clear_tile(job);
    multiply_q8(job, job->rows, true);
}

static void few_q4(const oc_quant_product *job)
{
    static void (*const by_rows[OC_QUANT_FEW_ROWS])(const oc_quant_product *) = {
        q4_nibbles_1, q4_nibbles_2, q4_nibbles_3, q4_nibbles_4,
        q4_nibbles_5, q4_nibbles_6, q4_nibbles_7, q4_nibbles_8};
    clear_tile(job);
    by_rows[job->rows - 1](job);
}

#endif

#endif
