/* kernels_avx512_bf16.c - bfloat16 products (VDPBF16PS) over the AVX-512 tier, and what goes with
 * them: rounding to bfloat16 and the weighing of attention scores. */
#include "runtime/kernels/kernels.h"

#if defined(__x86_64__)

#include "runtime/kernels/kernels_avx512_vectors.h"

#include <string.h>

#define OC_VECTOR_STORES_BF16

static inline void vec_store_bf16(uint16_t *p, vec v, size_t n)
{
    __m256i halves = (__m256i)_mm512_cvtneps_pbh(v);
    if (n >= LANES) {
        _mm256_storeu_si256((__m256i *)(void *)p, halves);
    } else {
        _mm256_mask_storeu_epi16(p, lane_mask(n), halves);
    }
}

#include "runtime/kernels/kernels_loops.h"

/* ---- products -------------------------------------------------------------------------------- */

/* Two columns of one row in every lane. */
static inline __m512bh load_pair(const uint16_t *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
}

static inline __m512bh load_line(const unsigned char *p)
{
    return (__m512bh)_mm512_loadu_si512(p);
}

/* ROWS rows from row `first` on with TILES tiles. A macro because both must be constants for the
 * sums to be registers. 8 x 3 sums, 3 lines of weights and a pair of activations are 28 registers;
 * a step is 11 loads for 24 products, and the units do two of either a cycle. */
#define DEFINE_PRODUCT(ROWS, TILES, NAME, ADD)                                                     \
    static void product_##NAME(const oc_bf16_product *job, size_t first)                           \
    {                                                                                              \
        vec sums[ROWS][TILES];                                                                     \
        const size_t x_stride = job->x_stride, y_stride = job->y_stride;                           \
        const size_t stride = job->packed_stride, step = job->packed_step;                         \
        const uint16_t *x = job->x + first * x_stride;                                             \
        const unsigned char *packed = job->packed;                                                 \
        float *y = job->y + first * y_stride;                                                      \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            for (size_t t = 0; t < TILES; t++) {                                                   \
                sums[r][t] = ADD ? vec_load(y + r * y_stride + t * LANES) : vec_zero();            \
            }                                                                                      \
        }                                                                                          \
        size_t s = job->steps;                                                                     \
        do { /* once at least: with none, compilers would pass the sums through memory */          \
            __m512bh weights[TILES];                                                               \
            for (size_t t = 0; t < TILES; t++) {                                                   \
                weights[t] = load_line(packed + t * stride);                                       \
            }                                                                                      \
            for (size_t r = 0; r < ROWS; r++) {                                                    \
                __m512bh pair = load_pair(x + r * x_stride);                                       \
                for (size_t t = 0; t < TILES; t++) {                                               \
                    sums[r][t] = _mm512_dpbf16_ps(sums[r][t], pair, weights[t]);                   \
                }                                                                                  \
            }                                                                                      \
            packed += step;                                                                        \
            x += OC_BF16_STEP;                                                                     \
        } while (--s > 0);                                                                         \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            for (size_t t = 0; t < TILES; t++) {                                                   \
                vec_store(y + r * y_stride + t * LANES, sums[r][t]);                               \
            }                                                                                      \
        }                                                                                          \
    }

/* All rows: MOST (8 or 6) at a time, then what is left. */
#define DEFINE_PRODUCTS(TILES, MOST, NAME, ADD)                                                    \
    DEFINE_PRODUCT(MOST, TILES, most_##NAME, ADD)                                                  \
    DEFINE_PRODUCT(4, TILES, 4_##NAME, ADD)                                                        \
    DEFINE_PRODUCT(2, TILES, 2_##NAME, ADD)                                                        \
    DEFINE_PRODUCT(1, TILES, 1_##NAME, ADD)                                                        \
    static void products_##NAME(const oc_bf16_product *job)                                        \
    {                                                                                              \
        size_t row = 0;                                                                            \
        for (; row + MOST <= job->rows; row += MOST) {                                             \
            product_most_##NAME(job, row);                                                         \
        }                                                                                          \
        if (row + 4 <= job->rows) {                                                                \
            product_4_##NAME(job, row);                                                            \
            row += 4;                                                                              \
        }                                                                                          \
        if (row + 2 <= job->rows) {                                                                \
            product_2_##NAME(job, row);                                                            \
            row += 2;                                                                              \
        }                                                                                          \
        if (row < job->rows) {                                                                     \
            product_1_##NAME(job, row);                                                            \
        }                                                                                          \
    }

DEFINE_PRODUCTS(1, 8, 1, false)
DEFINE_PRODUCTS(1, 8, 1_add, true)
DEFINE_PRODUCTS(2, 8, 2, false)
DEFINE_PRODUCTS(2, 8, 2_add, true)
DEFINE_PRODUCTS(3, 8, 3, false)
DEFINE_PRODUCTS(3, 8, 3_add, true)
DEFINE_PRODUCTS(4, 6, 4, false)
DEFINE_PRODUCTS(4, 6, 4_add, true)

static void product_bf16(const oc_bf16_product *job)
{
    if (job->steps == 0) {
        for (size_t r = 0; r < job->rows && !job->add; r++) {
            memset(job->y + r * job->y_stride, 0, job->tiles * LANES * sizeof *job->y);
        }
        return;
    }
    switch (job->tiles) {
    case 1: (job->add ? products_1_add : products_1)(job); break;
    case 2: (job->add ? products_2_add : products_2)(job); break;
    case 3: (job->add ? products_3_add : products_3)(job); break;
    default: (job->add ? products_4_add : products_4)(job); break;
    }
}

/* ---- finishing products ---------------------------------------------------------------------- */

/* 2^x: x = n + f with n whole and f in [0, 1), 2^f by a polynomial that is off by 1e-4, a
 * fiftieth of what bfloat16 cuts, and right at both ends. */
static inline vec power_of_two(vec x)
{
    vec f = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    vec p = vec_set(0.07826796f);
    p = vec_fma(p, f, vec_set(0.22630770f));
    p = vec_fma(p, f, vec_set(0.69542434f));
    p = vec_fma(p, f, vec_set(1.0f));
    return _mm512_scalef_ps(p, x);
}

/* Where the result is rounded to 8 bits anyway, a reciprocal of 14 bits and the power above are
 * enough for x / (1 + 2^-t), t = 2 u log2 e (see loop_gelu_tanh_of): twice as fast. */
static inline vec gelu_tanh_roughly(vec value)
{
    const vec linear = vec_set(-2.3022081983f), cubic = vec_set(-0.1029432397f);
    vec t = vec_mul(value, vec_fma(vec_mul(value, value), cubic, linear));
    return vec_mul(value, _mm512_rcp14_ps(vec_add(vec_set(1.0f), power_of_two(t))));
}

static void finish(const oc_finish *job)
{
    if (job->halves == NULL || job->pointwise != OC_POINTWISE_GELU_TANH) {
        loop_finish(job);
        return;
    }
    for (size_t r = 0; r < job->rows; r++) {
        const float *sums = job->sums + r * job->sums_stride;
        uint16_t *halves = job->halves + r * job->halves_stride;
        for (size_t i = 0; i < job->count; i += LANES) {
            size_t left = job->count - i;
            vec value = vec_load_part(sums + i, left);
            if (job->bias != NULL) {
                value = vec_add(value, vec_load_part(job->bias + i, left));
            }
            vec_store_bf16(halves + i, gelu_tanh_roughly(value), left);
        }
    }
}

/* ---- attention ------------------------------------------------------------------------------- */

/* Two keys of 16 queries: the upper half of each float. */
static inline __m512i cut_pair(vec even, vec odd)
{
    __m512i low = _mm512_srli_epi32(_mm512_castps_si512(even), 16);
    return _mm512_mask_blend_epi16(0xaaaaaaaau, low, _mm512_castps_si512(odd));
}

static void weigh_tile(const oc_bf16_weighing *job, size_t tile)
{
    const __m512bh ones = (__m512bh)_mm512_set1_epi32(0x3f803f80);
    const float *scores = job->scores + tile * LANES;
    unsigned char *out = (unsigned char *)job->weights + tile * job->weights_stride;
    float *place = job->max + tile * LANES;
    vec old = vec_load(place), most[4] = {old, old, old, old};
    size_t k = 0;
    for (; k + 4 <= job->keys; k += 4) {
        for (size_t j = 0; j < 4; j++) {
            most[j] = vec_max(vec_load(scores + (k + j) * OC_BF16_COLS), most[j]);
        }
    }
    for (; k < job->keys; k++) {
        most[0] = vec_max(vec_load(scores + k * OC_BF16_COLS), most[0]);
    }
    vec max = vec_max(vec_max(most[0], most[1]), vec_max(most[2], most[3]));
    __mmask16 raised =
        _mm512_cmp_ps_mask(max, vec_add(old, vec_set((float)OC_BF16_WEIGHT_SLACK)), _CMP_NLE_UQ);
    max = _mm512_mask_mov_ps(old, raised, max);
    vec correction = power_of_two(vec_sub(old, max)), total[2] = {vec_zero(), vec_zero()};
    for (k = 0; k + 4 <= job->keys; k += 4) {
        for (size_t j = 0; j < 2; j++) {
            const float *pair = scores + (k + 2 * j) * OC_BF16_COLS;
            vec even = power_of_two(vec_sub(vec_load(pair), max));
            vec odd = power_of_two(vec_sub(vec_load(pair + OC_BF16_COLS), max));
            __m512i line = cut_pair(even, odd);
            total[j] = _mm512_dpbf16_ps(total[j], (__m512bh)line, ones);
            _mm512_storeu_si512(out, line);
            out += OC_BF16_LINE;
        }
    }
    for (; k < job->keys; k += 2) {
        const float *pair = scores + k * OC_BF16_COLS;
        vec even = power_of_two(vec_sub(vec_load(pair), max)), odd = vec_zero();
        if (k + 1 < job->keys) {
            odd = power_of_two(vec_sub(vec_load(pair + OC_BF16_COLS), max));
        }
        __m512i line = cut_pair(even, odd);
        total[0] = _mm512_dpbf16_ps(total[0], (__m512bh)line, ones);
        _mm512_storeu_si512(out, line);
        out += OC_BF16_LINE;
    }
    float *sum = job->total + tile * LANES;
    vec_store(place, max);
    vec_store(sum, vec_fma(vec_load(sum), correction, vec_add(total[0], total[1])));
    if (raised != 0) { /* else all factors are one */
        for (size_t d = 0; d < job->dims; d++) {
            float *at = job->sums + d * OC_BF16_COLS + tile * LANES;
            vec_store(at, vec_mul(vec_load(at), correction));
        }
    }
}

static void weigh_bf16(const oc_bf16_weighing *job)
{
    for (size_t tile = 0; tile < job->tiles; tile++) {
        weigh_tile(job, tile);
    }
}

/* The scores of one query: four vectors, what it does not see at minus infinity. */
static void weigh_query(const oc_bf16_page *job, size_t q)
{
    enum { PARTS = OC_BF16_PAGE_KEYS / LANES };
    const __m512bh ones = (__m512bh)_mm512_set1_epi32(0x3f803f80);
    const float *scores = job->scores + q * OC_BF16_PAGE_KEYS;
    uint16_t *weights = job->weights + q * OC_BF16_PAGE_KEYS;
    const vec scale = vec_set(job->scale),
              limit = vec_set(job->max[q] + (float)OC_BF16_WEIGHT_SLACK);
    size_t visible = job->visible[q];
    vec part[PARTS];
    __mmask16 above = 0;
    for (size_t i = 0; i < PARTS; i++) {
        size_t before = i * LANES, seen_here = visible > before ? visible - before : 0;
        __mmask16 seen = seen_here >= LANES ? 0xffffu : lane_mask(seen_here);
        part[i] = _mm512_mask_mul_ps(vec_set(-INFINITY), seen, vec_load(scores + i * LANES), scale);
        above |= _mm512_cmp_ps_mask(part[i], limit, _CMP_NLE_UQ);
    }
    if (above != 0) {
        vec most = vec_max(vec_max(part[0], part[1]), vec_max(part[2], part[3]));
        float old = job->max[q], max = _mm512_reduce_max_ps(most);
        vec correction = power_of_two(vec_set(old - max));
        job->max[q] = max;
        job->total[q] *= _mm512_cvtss_f32(correction);
        for (size_t d = 0; d < job->dims; d += LANES) {
            float *at = job->sums + q * job->dims + d;
            vec_store_part(at, vec_mul(vec_load_part(at, job->dims - d), correction),
                           job->dims - d);
        }
    }
    const vec max = vec_set(job->max[q]);
    vec total = vec_zero();
    for (size_t i = 0; i < PARTS; i += 2) {
        vec low = power_of_two(vec_sub(part[i], max)),
            high = power_of_two(vec_sub(part[i + 1], max));
        __m512bh pairs = _mm512_cvtne2ps_pbh(high, low);
        total = _mm512_dpbf16_ps(total, pairs, ones);
        _mm512_storeu_si512(weights + i * LANES, (__m512i)pairs);
    }
    job->total[q] += _mm512_reduce_add_ps(total);
}

static void weigh_page_bf16(const oc_bf16_page *job)
{
    for (size_t q = 0; q < job->queries; q++) {
        if (job->visible[q] > 0) {
            weigh_query(job, q);
        } else {
            memset(job->weights + q * OC_BF16_PAGE_KEYS, 0,
                   OC_BF16_PAGE_KEYS * sizeof *job->weights);
        }
    }
}

void oc_kernels_init_avx512_bf16(oc_kernels *table)
{
    loop_fill_table(table);
    table->tier = "avx512_bf16";
    table->bf16_products = true;
    table->finish = finish;
    table->product_bf16 = product_bf16;
    table->weigh_bf16 = weigh_bf16;
    table->weigh_page_bf16 = weigh_page_bf16;
}

#endif
