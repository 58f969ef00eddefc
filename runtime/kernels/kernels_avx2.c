/* kernels_avx2.c - the float32 kernels for AVX2, FMA and F16C: 8 lanes. The packed formats are in
 * kernels_avx2_quant.c. */
#include "runtime/kernels/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

enum { LANES = 8 };
#define OC_VECTOR_LANES 8
#define OC_GEMM_TILE_ROWS 6
#define OC_GEMM_VECTORS 2

typedef __m256 vec;

static inline void vec_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

static inline vec vec_zero(void)
{
    return _mm256_setzero_ps();
}

static inline vec vec_set(float value)
{
    return _mm256_set1_ps(value);
}

static inline vec vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline void vec_store(float *p, vec v)
{
    _mm256_storeu_ps(p, v);
}

/* Ones in the first n lanes. */
static inline __m256i lane_mask(size_t n)
{
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), numbers);
}

/* n lanes, zeros behind; n of 8 or more is all of them. */
static inline vec vec_load_part(const float *p, size_t n)
{
    return n >= LANES ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, lane_mask(n));
}

/* n lanes, other behind. */
static inline vec vec_load_or(const float *p, size_t n, float other)
{
    if (n >= LANES) {
        return _mm256_loadu_ps(p);
    }
    __m256i mask = lane_mask(n);
    return _mm256_blendv_ps(_mm256_set1_ps(other), _mm256_maskload_ps(p, mask),
                            _mm256_castsi256_ps(mask));
}

static inline void vec_store_part(float *p, vec v, size_t n)
{
    if (n >= LANES) {
        _mm256_storeu_ps(p, v);
    } else {
        _mm256_maskstore_ps(p, lane_mask(n), v);
    }
}

static inline vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

static inline vec vec_sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}

static inline vec vec_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

static inline vec vec_div(vec a, vec b)
{
    return _mm256_div_ps(a, b);
}

/* a b + c */
static inline vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}

/* b where either is NaN. */
static inline vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

static inline vec vec_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}

/* 2^n for the whole number n in the low bits of its sum with 1.5 * 2^23. */
static inline vec vec_power(vec shifted)
{
    __m256i bits = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_set1_epi32(0x3f800000)));
}

/* a < b ? x : y */
static inline vec vec_select_less(vec a, vec b, vec x, vec y)
{
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

static inline float vec_sum(vec v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

static inline float vec_max_across(vec v)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

static inline vec vec_load_f16(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline void vec_store_f16(uint16_t *p, vec v)
{
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

static inline vec vec_load_bf16(const uint16_t *p)
{
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

/* Pairs of rows, then pairs of pairs, then halves. */
static inline void vec_transpose(vec v[LANES])
{
    vec a[LANES], b[LANES];
    for (size_t i = 0; i < LANES; i += 2) {
        a[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
        a[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
    for (size_t i = 0; i < LANES; i += 4) {
        b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    for (size_t i = 0; i < 4; i++) {
        v[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
        v[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
    }
}

#include "runtime/kernels/kernels_cached.h"
#include "runtime/kernels/kernels_gemm.h"
#include "runtime/kernels/kernels_loops.h"

void oc_kernels_init_avx2(oc_kernels *table)
{
    table->tier = "avx2";
    loop_fill_table(table);
    cached_fill_table(table);
    gemm_fill_table(table);
    oc_kernels_init_avx2_quant(table);
}

#endif
