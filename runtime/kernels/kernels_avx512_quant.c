/* kernels_avx512_quant.c - products with packed weights for AVX-512 and its int8 dot product: one
 * 64-byte line of codes (16 outputs, 4 columns) is one operand of VPDPBUSD. */
#include "runtime/kernels/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <string.h>

enum { LINE = OC_QUANT_LINE, STEPS = OC_QUANT_STEPS, TILE = OC_QUANT_TILE };

static inline __m512i load_line(const uint8_t *p)
{
    return _mm512_loadu_si512((const void *)p);
}

/* The 4 codes of one row's step in every lane. */
static inline __m512i load_step(const int8_t *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm512_set1_epi32(four);
}

/* 16 of a block's scales: which is 0 or 1. */
static inline __m512 load_scales(const unsigned char *block, size_t which)
{
    const void *scales = block + which * TILE * sizeof(uint16_t);
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)scales));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

/* ---- activations ----------------------------------------------------------------------------- */

/* part[i]: columns 16 i on; behind count zeros. Magnitudes order as whole numbers; infinity and NaN are
 * above all others. */
static inline float load_group(__m512 part[4], const float *x, size_t count)
{
    __m512i largest[4];
    for (size_t i = 0; i < 4; i++) {
        size_t left = count > 16 * i ? count - 16 * i : 0;
        __mmask16 mask = (__mmask16)(left >= 16 ? 0xffffu : (1u << left) - 1u);
        part[i] = _mm512_maskz_loadu_ps(mask, x + 16 * i);
        largest[i] = _mm512_castps_si512(_mm512_abs_ps(part[i]));
    }
    uint32_t bits = _mm512_reduce_max_epu32(_mm512_max_epu32(
        _mm512_max_epu32(largest[0], largest[1]), _mm512_max_epu32(largest[2], largest[3])));
    float most;
    memcpy(&most, &bits, sizeof most);
    return most;
}

/* The 64 codes in order: packing leaves part j's quad of lane l at 4 l + j. */
static inline __m512i pack_codes(const __m512 part[4], __m512 inverse)
{
    __m512i codes[4];
    for (size_t i = 0; i < 4; i++) {
        codes[i] = _mm512_cvtps_epi32(_mm512_mul_ps(part[i], inverse));
    }
    __m512i mixed = _mm512_packs_epi16(_mm512_packs_epi32(codes[0], codes[1]),
                                       _mm512_packs_epi32(codes[2], codes[3]));
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, mixed);
}

static void quantize_group(int8_t *values, size_t step, oc_quant_group *group, const float *x,
                           size_t count)
{
    __m512 part[4];
    float most = load_group(part, x, count);
    bool finite = most <= 0x1.fffffep127f, usable = finite && most >= 1e-30f;
    __m512i codes = _mm512_setzero_si512();
    if (usable) {
        codes = pack_codes(part, _mm512_set1_ps(127.0f / most));
    }
    if (step == OC_QUANT_STEP) {
        _mm512_storeu_si512((void *)values, codes);
    } else {
        int32_t steps[STEPS];
        _mm512_storeu_si512((void *)steps, codes);
        for (size_t s = 0; s < STEPS; s++) {
            memcpy(values + s * step, &steps[s], OC_QUANT_STEP);
        }
    }
    /* Sums of fours, then of all that are in either half. */
    __m512i fours = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1), codes);
    __m256i twos =
        _mm256_hadd_epi32(_mm512_castsi512_si256(fours), _mm512_extracti64x4_epi64(fours, 1));
    __m256i ones = _mm256_hadd_epi32(twos, twos);
    __m128i halves = _mm_add_epi32(_mm256_castsi256_si128(ones), _mm256_extracti128_si256(ones, 1));
    group->scale = usable ? most / 127.0f : finite ? 0.0f : NAN;
    group->half[0] = -OC_QUANT_OFFSET * _mm_cvtsi128_si32(halves);
    group->half[1] = -OC_QUANT_OFFSET * _mm_extract_epi32(halves, 1);
    group->correction = group->half[0] + group->half[1];
}

static void quantize(int8_t *values, size_t step, oc_quant_group *groups, size_t group_step,
                     const float *x, size_t cols)
{
    for (size_t first = 0; first < cols; first += OC_QUANT_GROUP) {
        quantize_group(values + first / OC_QUANT_STEP * step, step,
                       groups + first / OC_QUANT_GROUP * group_step, x + first, cols - first);
    }
}

/* ---- many rows ------------------------------------------------------------------------------- */

/* Five rows by two tiles: 10 integer sums, 10 float sums, two lines of codes and one step of a row are 23
 * registers. Six rows fit, but are 5 % slower with Q8 (Zen 5); eight, ten and twelve are slower with both.
 * Q4's sums over groups stay in memory: in registers some of them would be spilled to the stack. */
enum { ROWS = 5 };

/* Up to here a tile is faster multiplied straight from its packed bytes, panel after panel (Zen 5: 16
 * rows of Q4 in 79 ms a step of 1.7 billion weights, not 101; 48 rows in 216 to 222, not 225). */
enum { FEW = 48 };

/* The compilers' own name for 16 int32: kept in __m512i, gcc 12 copies every sum at every step. */
typedef __v16si sums16;

static inline sums16 add_products(sums16 sum, __m512i codes, __m512i x)
{
    return (sums16)_mm512_dpbusd_epi32((__m512i)sum, codes, x);
}

static inline __m512 to_floats(sums16 sum)
{
    return _mm512_cvtepi32_ps((__m512i)sum);
}

static inline sums16 start_sum(int32_t correction)
{
    return (sums16)_mm512_set1_epi32(correction);
}

/* sums[r][t] += the products of steps [first_step, end_step). These are macros because the number of
 * rows and tiles must be constants for the sums to be registers, and inlining is not a promise. */
#define OC_SUM_STEPS(ROWS, TILES, first_step, end_step)                                            \
    for (size_t s = (first_step); s < (end_step); s++) {                                           \
        __m512i w[TILES];                                                                          \
        for (size_t t = 0; t < TILES; t++) {                                                       \
            w[t] = load_line(codes + t * codes_stride + s * LINE);                                 \
        }                                                                                          \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            __m512i four = load_step(x + (s * ROWS + r) * OC_QUANT_STEP);                          \
            for (size_t t = 0; t < TILES; t++) {                                                   \
                sums[r][t] = add_products(sums[r][t], w[t], four);                                 \
            }                                                                                      \
        }                                                                                          \
    }

#define OC_DEFINE_PRODUCTS(ROWS, TILES)                                                            \
    static void product_q8_##ROWS##_##TILES(const oc_quant_product *job)                           \
    {                                                                                              \
        const unsigned char *block = job->packed;                                                  \
        const int8_t *x = job->x;                                                                  \
        const oc_quant_group *groups = job->x_groups;                                              \
        const size_t codes_stride = job->packed_stride, y_stride = job->y_stride;                  \
        float *y = job->y;                                                                         \
        __m512 totals[ROWS][TILES];                                                                \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            for (size_t t = 0; t < TILES; t++) {                                                   \
                totals[r][t] = _mm512_loadu_ps(y + r * y_stride + t * TILE);                       \
            }                                                                                      \
        }                                                                                          \
        for (size_t g = 0; g < job->groups; g++) {                                                 \
            const uint8_t *codes = block + (1 + g % 2 * STEPS) * LINE;                             \
            sums16 sums[ROWS][TILES];                                                              \
            for (size_t r = 0; r < ROWS; r++) {                                                    \
                for (size_t t = 0; t < TILES; t++) {                                               \
                    sums[r][t] = start_sum(groups[r].correction);                                  \
                }                                                                                  \
            }                                                                                      \
            OC_SUM_STEPS(ROWS, TILES, 0, STEPS)                                                    \
            for (size_t t = 0; t < TILES; t++) {                                                   \
                __m512 scale = load_scales(block + t * codes_stride, g % 2);                       \
                for (size_t r = 0; r < ROWS; r++) {                                                \
                    totals[r][t] = _mm512_fmadd_ps(_mm512_mul_ps(to_floats(sums[r][t]), scale),    \
                                                   _mm512_set1_ps(groups[r].scale), totals[r][t]); \
                }                                                                                  \
            }                                                                                      \
            x += ROWS * OC_QUANT_GROUP;                                                            \
            groups += ROWS;                                                                        \
            block += g % 2 * OC_Q8_BLOCK_BYTES;                                                    \
        }                                                                                          \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            for (size_t t = 0; t < TILES; t++) {                                                   \
                _mm512_storeu_ps(y + r * y_stride + t * TILE, totals[r][t]);                       \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void product_q4_##ROWS##_##TILES(const oc_quant_product *job)                           \
    {                                                                                              \
        const uint8_t *codes = job->codes;                                                         \
        const int8_t *x = job->x;                                                                  \
        const oc_quant_group *groups = job->x_groups;                                              \
        const unsigned char *block = job->packed;                                                  \
        const size_t codes_stride = job->codes_stride;                                             \
        for (size_t g = job->groups; g > 0; g--) {                                                 \
            sums16 sums[ROWS][TILES];                                                              \
            __m512 scaled[ROWS][TILES];                                                            \
            for (size_t r = 0; r < ROWS; r++) {                                                    \
                for (size_t t = 0; t < TILES; t++) {                                               \
                    sums[r][t] = start_sum(groups[r].half[0]);                                     \
                }                                                                                  \
            }                                                                                      \
            OC_SUM_STEPS(ROWS, TILES, 0, STEPS / 2)                                                \
            for (size_t t = 0; t < TILES; t++) {                                                   \
                __m512 scale = load_scales(block + t * job->packed_stride, 0);                     \
                for (size_t r = 0; r < ROWS; r++) {                                                \
                    scaled[r][t] = _mm512_mul_ps(to_floats(sums[r][t]), scale);                    \
                    sums[r][t] = start_sum(groups[r].half[1]);                                     \
                }                                                                                  \
            }                                                                                      \
            OC_SUM_STEPS(ROWS, TILES, STEPS / 2, STEPS)                                            \
            for (size_t t = 0; t < TILES; t++) {                                                   \
                __m512 scale = load_scales(block + t * job->packed_stride, 1);                     \
                for (size_t r = 0; r < ROWS; r++) {                                                \
                    float *y = job->y + r * job->y_stride + t * TILE;                              \
                    __m512 sum = _mm512_fmadd_ps(to_floats(sums[r][t]), scale, scaled[r][t]);      \
                    sum =                                                                          \
                        _mm512_fmadd_ps(sum, _mm512_set1_ps(groups[r].scale), _mm512_loadu_ps(y)); \
                    _mm512_storeu_ps(y, sum);                                                      \
                }                                                                                  \
            }                                                                                      \
            codes += STEPS * LINE;                                                                 \
            x += ROWS * OC_QUANT_GROUP;                                                            \
            groups += ROWS;                                                                        \
            block += OC_Q4_BLOCK_BYTES;                                                            \
        }                                                                                          \
    }

OC_DEFINE_PRODUCTS(1, 1)
OC_DEFINE_PRODUCTS(2, 1)
OC_DEFINE_PRODUCTS(3, 1)
OC_DEFINE_PRODUCTS(4, 1)
OC_DEFINE_PRODUCTS(5, 1)
OC_DEFINE_PRODUCTS(1, 2)
OC_DEFINE_PRODUCTS(2, 2)
OC_DEFINE_PRODUCTS(3, 2)
OC_DEFINE_PRODUCTS(4, 2)
OC_DEFINE_PRODUCTS(5, 2)

typedef void (*product_fn)(const oc_quant_product *job);

static void product_q8(const oc_quant_product *job)
{
    static const product_fn by_shape[2][ROWS] = {
        {product_q8_1_1, product_q8_2_1, product_q8_3_1, product_q8_4_1, product_q8_5_1},
        {product_q8_1_2, product_q8_2_2, product_q8_3_2, product_q8_4_2, product_q8_5_2},
    };
    by_shape[job->tiles - 1][job->rows - 1](job);
}

static void product_q4(const oc_quant_product *job)
{
    static const product_fn by_shape[2][ROWS] = {
        {product_q4_1_1, product_q4_2_1, product_q4_3_1, product_q4_4_1, product_q4_5_1},
        {product_q4_1_2, product_q4_2_2, product_q4_3_2, product_q4_4_2, product_q4_5_2},
    };
    by_shape[job->tiles - 1][job->rows - 1](job);
}

/* ---- few rows -------------------------------------------------------------------------------- */

/* Q4's table as 8-bit codes, in each 128-bit lane. */
static inline __m512i load_table(void)
{
    static const int8_t values[16] = OC_Q4_VALUES;
    __m128i table = _mm_loadu_si128((const __m128i *)(const void *)values);
    return _mm512_broadcast_i32x4(_mm_xor_si128(table, _mm_set1_epi8((char)OC_QUANT_OFFSET)));
}

static inline __m512i low_codes(__m512i line, __m512i table)
{
    return _mm512_shuffle_epi8(table, _mm512_and_si512(line, _mm512_set1_epi8(15)));
}

static inline __m512i high_codes(__m512i line, __m512i table)
{
    return low_codes(_mm512_srli_epi16(line, 4), table);
}

/* With many rows to work on, a thread asks for lines too late: they are asked for 4 KiB before (Zen 5: 28
 * instead of 21 GB/s for 8 rows of Q4). With one or two rows asking only costs. */
enum { AHEAD = 64 * LINE, AHEAD_ROWS = 4 };

static inline __m512i load_stream(const unsigned char *packed, size_t rows)
{
    if (rows >= AHEAD_ROWS) {
        _mm_prefetch((const char *)packed + AHEAD, _MM_HINT_T0);
    }
    return load_line(packed);
}

/* sums[r][chain] += one step of every row; w holds the step's codes. */
#define OC_ADD_STEP(ROWS, step, chain)                                                             \
    for (size_t r = 0; r < ROWS; r++) {                                                            \
        sums[r][chain] =                                                                           \
            add_products(sums[r][chain], w, load_step(x + ((step)*ROWS + r) * OC_QUANT_STEP));     \
    }

#define OC_START_FEW(ROWS, CHAINS, correction)                                                     \
    for (size_t r = 0; r < ROWS; r++) {                                                            \
        sums[r][CHAINS - 1] = start_sum(0);                                                        \
        sums[r][0] = start_sum(groups[r].correction);                                              \
    }

/* The sum over the chains, exact in any order. */
#define OC_FEW_FLOATS(CHAINS) to_floats(CHAINS > 1 ? sums[r][0] + sums[r][CHAINS - 1] : sums[r][0])

/* 8 steps: half a group of activations, 4 lines of nibbles. */
#define OC_SUM_NIBBLES(ROWS, CHAINS, packed)                                                       \
    for (size_t j = 0; j < STEPS / 4; j++) {                                                       \
        __m512i line = load_stream((packed) + j * LINE, ROWS), w = low_codes(line, table);         \
        OC_ADD_STEP(ROWS, 2 * j, 0)                                                                \
        w = high_codes(line, table);                                                               \
        OC_ADD_STEP(ROWS, 2 * j + 1, CHAINS - 1)                                                   \
    }

/* The instruction takes several cycles: with few sums each has two chains. One tile at a time: two of
 * them would load every row half as often, but read from memory as two streams they come a third
 * slower (Zen 5). Macros for the same reason as above. */
#define OC_DEFINE_FEW(ROWS, CHAINS)                                                                \
    static void few_q8_##ROWS(const oc_quant_product *job)                                         \
    {                                                                                              \
        const unsigned char *tile = job->packed;                                                   \
        const int8_t *x = job->x;                                                                  \
        const oc_quant_group *groups = job->x_groups;                                              \
        __m512 totals[ROWS];                                                                       \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            totals[r] = _mm512_setzero_ps();                                                       \
        }                                                                                          \
        for (size_t g = 0; g < job->groups; g++) {                                                 \
            const unsigned char *codes = tile + (1 + g % 2 * STEPS) * LINE;                        \
            sums16 sums[ROWS][CHAINS];                                                             \
            OC_START_FEW(ROWS, CHAINS, correction)                                                 \
            for (size_t s = 0; s < STEPS; s += 2) {                                                \
                __m512i w = load_stream(codes + s * LINE, ROWS);                                   \
                OC_ADD_STEP(ROWS, s, 0)                                                            \
                w = load_stream(codes + (s + 1) * LINE, ROWS);                                     \
                OC_ADD_STEP(ROWS, s + 1, CHAINS - 1)                                               \
            }                                                                                      \
            __m512 scale = load_scales(tile, g % 2);                                               \
            for (size_t r = 0; r < ROWS; r++) {                                                    \
                totals[r] = _mm512_fmadd_ps(_mm512_mul_ps(OC_FEW_FLOATS(CHAINS), scale),           \
                                            _mm512_set1_ps(groups[r].scale), totals[r]);           \
            }                                                                                      \
            tile += g % 2 * OC_Q8_BLOCK_BYTES;                                                     \
            x += ROWS * OC_QUANT_GROUP;                                                            \
            groups += ROWS;                                                                        \
        }                                                                                          \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            _mm512_storeu_ps(job->y + r * job->y_stride, totals[r]);                               \
        }                                                                                          \
    }                                                                                              \
    static void few_q4_##ROWS(const oc_quant_product *job)                                         \
    {                                                                                              \
        const __m512i table = load_table();                                                        \
        const unsigned char *tile = job->packed;                                                   \
        const int8_t *x = job->x;                                                                  \
        const oc_quant_group *groups = job->x_groups;                                              \
        __m512 totals[ROWS];                                                                       \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            totals[r] = _mm512_setzero_ps();                                                       \
        }                                                                                          \
        for (size_t g = job->groups; g > 0; g--) {                                                 \
            __m512 scaled[ROWS];                                                                   \
            sums16 sums[ROWS][CHAINS];                                                             \
            OC_START_FEW(ROWS, CHAINS, half[0])                                                    \
            OC_SUM_NIBBLES(ROWS, CHAINS, tile + LINE)                                              \
            __m512 scale = load_scales(tile, 0);                                                   \
            for (size_t r = 0; r < ROWS; r++) {                                                    \
                scaled[r] = _mm512_mul_ps(OC_FEW_FLOATS(CHAINS), scale);                           \
            }                                                                                      \
            x += ROWS * OC_QUANT_GROUP / 2;                                                        \
            OC_START_FEW(ROWS, CHAINS, half[1])                                                    \
            OC_SUM_NIBBLES(ROWS, CHAINS, tile + (1 + STEPS / 4) * LINE)                            \
            scale = load_scales(tile, 1);                                                          \
            for (size_t r = 0; r < ROWS; r++) {                                                    \
                __m512 sum = _mm512_fmadd_ps(OC_FEW_FLOATS(CHAINS), scale, scaled[r]);             \
                totals[r] = _mm512_fmadd_ps(sum, _mm512_set1_ps(groups[r].scale), totals[r]);      \
            }                                                                                      \
            x += ROWS * OC_QUANT_GROUP / 2;                                                        \
            tile += OC_Q4_BLOCK_BYTES;                                                             \
            groups += ROWS;                                                                        \
        }                                                                                          \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            _mm512_storeu_ps(job->y + r * job->y_stride, totals[r]);                               \
        }                                                                                          \
    }

OC_DEFINE_FEW(1, 2)
OC_DEFINE_FEW(2, 2)
OC_DEFINE_FEW(3, 2)
OC_DEFINE_FEW(4, 2)
OC_DEFINE_FEW(5, 1)
OC_DEFINE_FEW(6, 1)
OC_DEFINE_FEW(7, 1)
OC_DEFINE_FEW(8, 1)

static void few_q8(const oc_quant_product *job)
{
    static const product_fn by_rows[OC_QUANT_FEW_ROWS] = {few_q8_1, few_q8_2, few_q8_3, few_q8_4,
                                                          few_q8_5, few_q8_6, few_q8_7, few_q8_8};
    by_rows[job->rows - 1](job);
}

static void few_q4(const oc_quant_product *job)
{
    static const product_fn by_rows[OC_QUANT_FEW_ROWS] = {few_q4_1, few_q4_2, few_q4_3, few_q4_4,
                                                          few_q4_5, few_q4_6, few_q4_7, few_q4_8};
    by_rows[job->rows - 1](job);
}

static void unpack_q4(uint8_t *codes, const unsigned char *packed, size_t groups)
{
    const __m512i table = load_table();
    for (size_t g = 0; g < groups; g++) {
        for (size_t i = 0; i < STEPS / 2; i++) {
            __m512i line = load_line(packed + (1 + i) * LINE);
            _mm512_storeu_si512((void *)(codes + 2 * i * LINE), low_codes(line, table));
            _mm512_storeu_si512((void *)(codes + (2 * i + 1) * LINE), high_codes(line, table));
        }
        packed += OC_Q4_BLOCK_BYTES;
        codes += STEPS * LINE;
    }
}

void oc_kernels_init_avx512_quant(oc_kernels *table)
{
    table->quant_rows = ROWS;
    table->quant_few = FEW;
    table->quantize = quantize;
    table->product_q8 = product_q8;
    table->product_q4 = product_q4;
    table->few_q8 = few_q8;
    table->few_q4 = few_q4;
    table->unpack_q4 = unpack_q4;
}

#endif
