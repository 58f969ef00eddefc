/* kernels_avx2_quant.c - products with packed weights for AVX2, which has no int8 dot product:
 * VPMADDUBSW of |x| with w sign(x). Its sums of two products saturate at 16 bits, so codes are made
 * signed first, -127..127: 2 * 127 * 127 fits. (A code of 0 in a damaged file gives a wrong number
 * here, not a wrong access.) */
#include "runtime/kernels/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <math.h>
#include <string.h>

enum {
    LINE = OC_QUANT_LINE,
    STEPS = OC_QUANT_STEPS,
    TILE = OC_QUANT_TILE,
    ROWS = 4,   /* of a panel of activations */
    HALVES = 2, /* of a tile: 8 outputs each */
    LANES = 8
};

static inline __m256i load_bytes(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline __m256i load_step(const int8_t *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return _mm256_set1_epi32(four);
}

/* 8 of a block's scales: half (0 or 1) of the tile's rows in group 0 or 1. */
static inline __m256 load_scales(const unsigned char *block, size_t group, size_t half)
{
    const void *scales = block + (group * TILE + half * LANES) * sizeof(uint16_t);
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)scales));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

static inline __m256i to_signed(__m256i codes)
{
    return _mm256_xor_si256(codes, _mm256_set1_epi8((char)OC_QUANT_OFFSET));
}

/* sum + 8 sums of 4 products; w -127..127, four x in every lane. */
static inline __m256i add_products(__m256i sum, __m256i w, __m256i x)
{
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(w, x));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

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

/* ---- products -------------------------------------------------------------------------------- */

/* Two rows (the second may be the first again) and one tile over `steps` steps. */
static inline void sum_steps(__m256i sums[2][HALVES], const uint8_t *codes, const int8_t *x,
                             const int8_t *other, size_t x_step, size_t steps)
{
    for (size_t s = 0; s < steps; s++) {
        __m256i a = load_step(x + s * x_step), b = load_step(other + s * x_step);
        for (size_t h = 0; h < HALVES; h++) {
            __m256i w = to_signed(load_bytes(codes + s * LINE + h * (LINE / HALVES)));
            sums[0][h] = add_products(sums[0][h], w, a);
            sums[1][h] = add_products(sums[1][h], w, b);
        }
    }
}

static inline void clear(__m256i sums[2][HALVES])
{
    for (size_t h = 0; h < HALVES; h++) {
        sums[0][h] = _mm256_setzero_si256();
        sums[1][h] = _mm256_setzero_si256();
    }
}

/* y += scaled * scale, 8 outputs. */
static inline void add_scaled(float *y, __m256 scaled, float scale)
{
    _mm256_storeu_ps(y, _mm256_fmadd_ps(scaled, _mm256_set1_ps(scale), _mm256_loadu_ps(y)));
}

/* One tile, one group of columns, rows r and r + 1 (if there). block: where the scales are; group:
 * which of them are Q8's. */
static void add_group(const oc_quant_product *job, size_t tile, size_t g, size_t r, bool four_bits)
{
    size_t x_step = job->rows * OC_QUANT_STEP, pair = r + 1 < job->rows ? 2 : 1;
    const unsigned char *block = job->packed + tile * job->packed_stride;
    const uint8_t *codes;
    if (four_bits) {
        block += g * OC_Q4_BLOCK_BYTES;
        codes = job->codes + tile * job->codes_stride + g * STEPS * LINE;
    } else {
        block += g / 2 * OC_Q8_BLOCK_BYTES;
        codes = block + (1 + g % 2 * STEPS) * LINE;
    }
    const int8_t *x = job->x + g * STEPS * x_step + r * OC_QUANT_STEP;
    const int8_t *other = x + (pair - 1) * OC_QUANT_STEP;
    const oc_quant_group *groups = job->x_groups + g * job->rows + r;
    __m256i sums[2][HALVES], first[2][HALVES];
    clear(sums);
    clear(first);
    if (four_bits) {
        sum_steps(first, codes, x, other, x_step, STEPS / 2);
        sum_steps(sums, codes + STEPS / 2 * LINE, x + STEPS / 2 * x_step,
                  other + STEPS / 2 * x_step, x_step, STEPS / 2);
    } else {
        sum_steps(sums, codes, x, other, x_step, STEPS);
    }
    for (size_t i = 0; i < pair; i++) {
        float *y = job->y + (r + i) * job->y_stride + tile * TILE;
        for (size_t h = 0; h < HALVES; h++) {
            __m256 scaled, sum = _mm256_cvtepi32_ps(sums[i][h]);
            if (four_bits) {
                scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(first[i][h]), load_scales(block, 0, h));
                scaled = _mm256_fmadd_ps(sum, load_scales(block, 1, h), scaled);
            } else {
                scaled = _mm256_mul_ps(sum, load_scales(block, g % 2, h));
            }
            add_scaled(y + h * LANES, scaled, groups[i].scale);
        }
    }
}

static void product_q8(const oc_quant_product *job)
{
    for (size_t tile = 0; tile < job->tiles; tile++) {
        for (size_t g = 0; g < job->groups; g++) {
            for (size_t r = 0; r < job->rows; r += 2) {
                add_group(job, tile, g, r, false);
            }
        }
    }
}

static void product_q4(const oc_quant_product *job)
{
    for (size_t tile = 0; tile < job->tiles; tile++) {
        for (size_t g = 0; g < job->groups; g++) {
            for (size_t r = 0; r < job->rows; r += 2) {
                add_group(job, tile, g, r, true);
            }
        }
    }
}

/* Row r of the panel. */
static void row_q8(const oc_quant_product *job, size_t r)
{
    const size_t x_step = job->rows * OC_QUANT_STEP;
    const int8_t *x = job->x + r * OC_QUANT_STEP;
    const oc_quant_group *x_group = job->x_groups + r;
    const unsigned char *tile = job->packed;
    float *y = job->y + r * job->y_stride;
    __m256 totals[HALVES] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (size_t g = 0; g < job->groups; g++) {
        const uint8_t *codes = tile + (1 + g % 2 * STEPS) * LINE;
        __m256i sums[HALVES] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (size_t s = 0; s < STEPS; s++) {
            __m256i four = load_step(x + s * x_step);
            for (size_t h = 0; h < HALVES; h++) {
                __m256i w = to_signed(load_bytes(codes + s * LINE + h * (LINE / HALVES)));
                sums[h] = add_products(sums[h], w, four);
            }
        }
        for (size_t h = 0; h < HALVES; h++) {
            __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[h]), load_scales(tile, g % 2, h));
            totals[h] = _mm256_fmadd_ps(scaled, _mm256_set1_ps(x_group->scale), totals[h]);
        }
        tile += g % 2 * OC_Q8_BLOCK_BYTES;
        x += STEPS * x_step;
        x_group += job->rows;
    }
    _mm256_storeu_ps(y, totals[0]);
    _mm256_storeu_ps(y + LANES, totals[1]);
}

static void few_q8(const oc_quant_product *job)
{
    for (size_t r = 0; r < job->rows; r++) { /* the tile stays in the caches */
        row_q8(job, r);
    }
}

/* Q4's table, signed, in both 128-bit lanes. */
static inline __m256i load_table(void)
{
    static const int8_t values[16] = OC_Q4_VALUES;
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)values));
}

static inline __m256i low_values(__m256i bytes, __m256i table)
{
    return _mm256_shuffle_epi8(table, _mm256_and_si256(bytes, _mm256_set1_epi8(15)));
}

static inline __m256i high_values(__m256i bytes, __m256i table)
{
    return low_values(_mm256_srli_epi16(bytes, 4), table);
}

/* Half a group of activations, 8 outputs: 4 lines of nibbles. */
static inline __m256i sum_half(const uint8_t *packed, const int8_t *x, size_t x_step, __m256i table)
{
    __m256i sum = _mm256_setzero_si256();
    for (size_t j = 0; j < STEPS / 4; j++) {
        __m256i bytes = load_bytes(packed + j * LINE);
        sum = add_products(sum, low_values(bytes, table), load_step(x + 2 * j * x_step));
        sum = add_products(sum, high_values(bytes, table), load_step(x + (2 * j + 1) * x_step));
    }
    return sum;
}

/* Row r of the panel. */
static void row_q4(const oc_quant_product *job, size_t r)
{
    const size_t x_step = job->rows * OC_QUANT_STEP;
    const int8_t *x = job->x + r * OC_QUANT_STEP;
    const oc_quant_group *x_group = job->x_groups + r;
    const unsigned char *tile = job->packed;
    float *y = job->y + r * job->y_stride;
    const __m256i table = load_table();
    __m256 totals[HALVES] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (size_t g = 0; g < job->groups; g++) {
        for (size_t h = 0; h < HALVES; h++) {
            const uint8_t *half = tile + LINE + h * (LINE / HALVES);
            __m256i first = sum_half(half, x, x_step, table);
            __m256i second =
                sum_half(half + STEPS / 4 * LINE, x + STEPS / 2 * x_step, x_step, table);
            __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(first), load_scales(tile, 0, h));
            scaled = _mm256_fmadd_ps(_mm256_cvtepi32_ps(second), load_scales(tile, 1, h), scaled);
            totals[h] = _mm256_fmadd_ps(scaled, _mm256_set1_ps(x_group->scale), totals[h]);
        }
        tile += OC_Q4_BLOCK_BYTES;
        x += STEPS * x_step;
        x_group += job->rows;
    }
    _mm256_storeu_ps(y, totals[0]);
    _mm256_storeu_ps(y + LANES, totals[1]);
}

static void few_q4(const oc_quant_product *job)
{
    for (size_t r = 0; r < job->rows; r++) { /* the tile stays in the caches */
        row_q4(job, r);
    }
}

static void unpack_q4(uint8_t *codes, const unsigned char *packed, size_t groups)
{
    const __m256i table = load_table();
    for (size_t g = 0; g < groups; g++) {
        for (size_t i = 0; i < HALVES * STEPS / 2; i++) {
            __m256i bytes = load_bytes(packed + LINE + i * (LINE / HALVES));
            uint8_t *out = codes + i / HALVES * 2 * LINE + i % HALVES * (LINE / HALVES);
            __m256i low = to_signed(low_values(bytes, table));
            __m256i high = to_signed(high_values(bytes, table));
            _mm256_storeu_si256((__m256i *)(void *)out, low);
            _mm256_storeu_si256((__m256i *)(void *)(out + LINE), high);
        }
        packed += OC_Q4_BLOCK_BYTES;
        codes += STEPS * LINE;
    }
}

void oc_kernels_init_avx2_quant(oc_kernels *table)
{
    table->quant_rows = ROWS;
    table->quantize = quantize;
    table->product_q8 = product_q8;
    table->product_q4 = product_q4;
    table->few_q8 = few_q8;
    table->few_q4 = few_q4;
    table->unpack_q4 = unpack_q4;
}

#endif
