/* kernels_avx2_quant.c - the packed kernels of AVX2, which has no int8 dot product: VPMADDUBSW of |w| with
 * x sign(w), VPMADDWD with ones, VPADDD. The first one's sums of two products saturate at 16 bits, so
 * weights are made signed: 2 * 128 * 127 fits. No exact way takes fewer than four instructions for 32
 * products (the other: 16 bits wide, two VPMADDWD and two VPADDD). */
#include "runtime/kernels/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <string.h>

/* The compilers' own name for 8 int32: kept in __m256i, gcc 12 copies every sum at every step. */
typedef __v8si sums8;

static inline sums8 start_sum(int32_t correction)
{
    (void)correction; /* codes are made signed */
    return (sums8){0};
}

static inline sums8 add_pairs(sums8 sum, __m256i pairs)
{
    return sum + (sums8)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

/* The compiler takes |weights| once for all rows. */
static inline sums8 add_products(sums8 sum, __m256i weights, __m256i x)
{
    return add_pairs(sum,
                     _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(x, weights)));
}

/* And here |x| once for both halves of a tile. */
static inline sums8 add_products_alone(sums8 sum, __m256i weights, __m256i x)
{
    return add_pairs(sum, _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(weights, x)));
}

enum { CODE_FLIP = OC_QUANT_OFFSET };
#define HALVES(rows) ((rows) <= 3 ? 2 : 1)
#define OC_AVX_QUANT

#include "runtime/kernels/kernels_avx_quant.h"

/* ---- activations ----------------------------------------------------------------------------- */

static inline int32_t add_across(__m256i v)
{
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

static inline uint32_t max_across(__m256i v)
{
    __m128i four = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_max_epu32(four, _mm_shuffle_epi32(four, 0xb1)));
}

/* 64 values, padded by the caller. */
static void quantize_group(int8_t *values, size_t step, oc_quant_group *group, const float *x)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i largest = _mm256_setzero_si256();
    for (size_t i = 0; i < OC_QUANT_GROUP; i += LANES) {
        /* Magnitudes order as whole numbers; infinity and NaN are above all others. */
        largest = _mm256_max_epu32(largest, _mm256_and_si256(load_bytes(x + i), magnitude));
    }
    uint32_t bits = max_across(largest);
    float most;
    memcpy(&most, &bits, sizeof most);
    bool finite = bits < 0x7f800000u, usable = finite && most >= 1e-30f;
    __m256 inverse = _mm256_set1_ps(usable ? 127.0f / most : 0.0f);
    __m256i sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (size_t i = 0; i < OC_QUANT_GROUP; i += LANES) {
        __m256i codes = usable ? _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + i), inverse))
                               : _mm256_setzero_si256();
        sums[i / OC_Q4_GROUP] = _mm256_add_epi32(sums[i / OC_Q4_GROUP], codes);
        __m128i words =
            _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
        __m128i bytes = _mm_packs_epi16(words, words);
        int32_t four = _mm_cvtsi128_si32(bytes);
        memcpy(values + i / OC_QUANT_STEP * step, &four, sizeof four);
        four = _mm_extract_epi32(bytes, 1);
        memcpy(values + (i / OC_QUANT_STEP + 1) * step, &four, sizeof four);
    }
    group->scale = usable ? most / 127.0f : finite ? 0.0f : NAN;
    group->half[0] = -OC_QUANT_OFFSET * add_across(sums[0]);
    group->half[1] = -OC_QUANT_OFFSET * add_across(sums[1]);
    group->correction = group->half[0] + group->half[1];
}

static void quantize(int8_t *values, size_t step, oc_quant_group *groups, size_t group_step,
                     const float *x, size_t cols)
{
    for (size_t first = 0; first < cols; first += OC_QUANT_GROUP) {
        float padded[OC_QUANT_GROUP] = {0};
        const float *source = x + first;
        if (cols - first < OC_QUANT_GROUP) {
            memcpy(padded, source, (cols - first) * sizeof *padded);
            source = padded;
        }
        quantize_group(values + first / OC_QUANT_STEP * step, step,
                       groups + first / OC_QUANT_GROUP * group_step, source);
    }
}

/* ---- many rows ------------------------------------------------------------------------------- */

/* Half a tile's step, made once for all rows of a panel. Here x is not negated but inverted (-x - 1)
 * where the weight is negative: each such product is short of |w|, whatever x is, so the sums start
 * with that. Of a core's four vector units all can invert and two do VPSIGNB, one of which multiplies
 * besides (Zen 5: 1.02 cycles for 32 products, not 1.12). */
typedef struct prepared_step {
    __m256i magnitudes, negative; /* the latter: all bits or none */
} prepared_step;

enum {
    ROWS = 8,       /* whose sums are in registers together */
    PANEL_ROWS = 32 /* that share the prepared steps */
};

/* Returns what the sums must start with. */
static inline sums8 prepare_steps(prepared_step *steps, const uint8_t *codes, size_t count)
{
    __m256i lack = _mm256_setzero_si256(); /* 16 bits hold 16 steps of -2 * 128 */
    for (size_t s = 0; s < count; s++) {
        __m256i weights = from_codes(load_bytes(codes + s * LINE));
        steps[s].magnitudes = _mm256_abs_epi8(weights);
        steps[s].negative = _mm256_cmpgt_epi8(_mm256_setzero_si256(), weights);
        lack = _mm256_add_epi16(lack, _mm256_maddubs_epi16(steps[s].magnitudes, steps[s].negative));
    }
    return (sums8)_mm256_madd_epi16(lack, _mm256_set1_epi16(-1));
}

#define OC_SUM_PREPARED(sums, start, steps, x, x_step, count)                                      \
    for (size_t r = 0; r < ROWS; r++) {                                                            \
        sums[r] = start;                                                                           \
    }                                                                                              \
    for (size_t s = 0; s < (count); s++) {                                                         \
        __m256i magnitudes = (steps)[s].magnitudes, negative = (steps)[s].negative;                \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            __m256i four = load_step((x) + s * (x_step) + r * OC_QUANT_STEP);                      \
            sums[r] = add_pairs(                                                                   \
                sums[r], _mm256_maddubs_epi16(magnitudes, _mm256_xor_si256(four, negative)));      \
        }                                                                                          \
    }

static void product_q8_whole(const oc_quant_product *job, size_t whole)
{
    const size_t x_step = job->rows * OC_QUANT_STEP;
    for (size_t g = 0; g < job->groups; g++) {
        for (size_t half = 0; half < 2 * job->tiles; half++) {
            const unsigned char *block =
                job->packed + half / 2 * job->packed_stride + g / 2 * OC_Q8_BLOCK_BYTES;
            prepared_step steps[STEPS];
            sums8 start = prepare_steps(
                steps, block + (1 + g % 2 * STEPS) * LINE + half % 2 * HALF_LINE, STEPS);
            __m256 scale = load_scales(block, g % 2, half % 2);
            const int8_t *x = job->x + g * STEPS * x_step;
            const oc_quant_group *groups = job->x_groups + g * job->rows;
            float *y = job->y + half * LANES;
            for (size_t row = 0; row < whole; row += ROWS) {
                sums8 sums[ROWS];
                OC_SUM_PREPARED(sums, start, steps, x, x_step, STEPS)
                for (size_t r = 0; r < ROWS; r++) {
                    add_scaled(y + r * job->y_stride, _mm256_mul_ps(to_floats(sums[r]), scale),
                               groups[r].scale);
                }
                x += ROWS * OC_QUANT_STEP;
                groups += ROWS;
                y += ROWS * job->y_stride;
            }
        }
    }
}

static void product_q4_whole(const oc_quant_product *job, size_t whole)
{
    enum { HALF_STEPS = STEPS / 2 };
    const size_t x_step = job->rows * OC_QUANT_STEP;
    for (size_t g = 0; g < job->groups; g++) {
        for (size_t half = 0; half < 2 * job->tiles; half++) {
            const unsigned char *block =
                job->packed + half / 2 * job->packed_stride + g * OC_Q4_BLOCK_BYTES;
            const uint8_t *codes =
                job->codes + half / 2 * job->codes_stride + g * STEPS * LINE + half % 2 * HALF_LINE;
            prepared_step first[HALF_STEPS], second[HALF_STEPS];
            sums8 first_start = prepare_steps(first, codes, HALF_STEPS);
            sums8 second_start = prepare_steps(second, codes + HALF_STEPS * LINE, HALF_STEPS);
            __m256 first_scale = load_scales(block, 0, half % 2);
            __m256 second_scale = load_scales(block, 1, half % 2);
            const int8_t *x = job->x + g * STEPS * x_step;
            const oc_quant_group *groups = job->x_groups + g * job->rows;
            float *y = job->y + half * LANES;
            for (size_t row = 0; row < whole; row += ROWS) {
                sums8 sums[ROWS];
                __m256 scaled[ROWS];
                OC_SUM_PREPARED(sums, first_start, first, x, x_step, HALF_STEPS)
                for (size_t r = 0; r < ROWS; r++) {
                    scaled[r] = _mm256_mul_ps(to_floats(sums[r]), first_scale);
                }
                OC_SUM_PREPARED(sums, second_start, second, x + HALF_STEPS * x_step, x_step,
                                HALF_STEPS)
                for (size_t r = 0; r < ROWS; r++) {
                    add_scaled(y + r * job->y_stride,
                               _mm256_fmadd_ps(to_floats(sums[r]), second_scale, scaled[r]),
                               groups[r].scale);
                }
                x += ROWS * OC_QUANT_STEP;
                groups += ROWS;
                y += ROWS * job->y_stride;
            }
        }
    }
}

/* The rows behind the whole eights, as a job; none: rows is 0. */
static oc_quant_product rows_from(const oc_quant_product *job, size_t row)
{
    oc_quant_product rest = *job;
    rest.rows = job->rows - row;
    rest.x += row * OC_QUANT_STEP;
    rest.x_groups += row;
    rest.y += row * job->y_stride;
    return rest;
}

static void product_q8(const oc_quant_product *job)
{
    size_t whole = job->rows / ROWS * ROWS;
    if (whole > 0) {
        product_q8_whole(job, whole);
    }
    if (whole < job->rows) {
        oc_quant_product rest = rows_from(job, whole);
        multiply_q8(&rest, job->rows, false);
    }
}

static void product_q4(const oc_quant_product *job)
{
    size_t whole = job->rows / ROWS * ROWS;
    if (whole > 0) {
        product_q4_whole(job, whole);
    }
    if (whole < job->rows) {
        oc_quant_product rest = rows_from(job, whole);
        multiply_q4(&rest, job->rows);
    }
}

/* ---- Q4 to 8 bits ---------------------------------------------------------------------------- */

static void unpack_q4(uint8_t *codes, const unsigned char *packed, size_t groups)
{
    const __m256i table = load_table();
    for (size_t g = 0; g < groups; g++) {
        for (size_t i = 0; i < STEPS; i++) { /* halves of lines */
            __m256i bytes = load_bytes(packed + LINE + i * HALF_LINE);
            uint8_t *out = codes + i / 2 * 2 * LINE + i % 2 * HALF_LINE;
            _mm256_storeu_si256((__m256i *)(void *)out, from_codes(low_weights(bytes, table)));
            _mm256_storeu_si256((__m256i *)(void *)(out + LINE),
                                from_codes(high_weights(bytes, table)));
        }
        packed += OC_Q4_BLOCK_BYTES;
        codes += STEPS * LINE;
    }
}

void oc_kernels_init_avx2_quant(oc_kernels *table)
{
    table->quant_rows = PANEL_ROWS;
    table->quantize = quantize;
    table->product_q8 = product_q8;
    table->product_q4 = product_q4;
    table->few_q8 = few_q8;
    table->few_q4 = few_q4;
    table->unpack_q4 = unpack_q4;
}

#endif
