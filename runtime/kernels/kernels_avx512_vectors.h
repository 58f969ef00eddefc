/* kernels_avx512_vectors.h - the vector operations of kernels_loops.h and kernels_gemm.h in AVX-512 F, BW,
 * VL and DQ: 16 lanes. For the files of the AVX-512 tiers, which are built with these flags. */
#ifndef OC_KERNELS_KERNELS_AVX512_VECTORS_H
#define OC_KERNELS_KERNELS_AVX512_VECTORS_H

#if defined(__AVX512F__)

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

enum { LANES = 16 };
#define OC_VECTOR_LANES 16

typedef __m512 vec;

static inline void vec_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

static inline vec vec_zero(void)
{
    return _mm512_setzero_ps();
}

static inline vec vec_set(float value)
{
    return _mm512_set1_ps(value);
}

static inline vec vec_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

static inline void vec_store(float *p, vec v)
{
    _mm512_storeu_ps(p, v);
}

/* Ones for the first n < 16 lanes. */
static inline __mmask16 lane_mask(size_t n)
{
    return (__mmask16)((1u << n) - 1u);
}

/* n lanes, zeros behind; n of 16 or more is all of them. */
static inline vec vec_load_part(const float *p, size_t n)
{
    return n >= LANES ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(lane_mask(n), p);
}

/* n lanes, other behind. */
static inline vec vec_load_or(const float *p, size_t n, float other)
{
    return n >= LANES ? _mm512_loadu_ps(p)
                      : _mm512_mask_loadu_ps(_mm512_set1_ps(other), lane_mask(n), p);
}

/* A load soon after must wait for a store with a mask, even of all lanes. */
static inline void vec_store_part(float *p, vec v, size_t n)
{
    if (n >= LANES) {
        _mm512_storeu_ps(p, v);
    } else {
        _mm512_mask_storeu_ps(p, lane_mask(n), v);
    }
}

static inline vec vec_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

static inline vec vec_sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}

static inline vec vec_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

static inline vec vec_div(vec a, vec b)
{
    return _mm512_div_ps(a, b);
}

/* a b + c */
static inline vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}

/* b where either is NaN. */
static inline vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

static inline vec vec_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}

/* 2^n for the whole number n in the low bits of its sum with 1.5 * 2^23. */
static inline vec vec_power(vec shifted)
{
    __m512i bits = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(bits, _mm512_set1_epi32(0x3f800000)));
}

/* a < b ? x : y */
static inline vec vec_select_less(vec a, vec b, vec x, vec y)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}

/* In halves: the same order from every compiler. */
static inline float vec_sum(vec v)
{
    __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

static inline float vec_max_across(vec v)
{
    __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

static inline vec vec_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static inline void vec_store_f16(uint16_t *p, vec v)
{
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

static inline vec vec_load_bf16(const uint16_t *p)
{
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

/* Pairs of rows, pairs of pairs (then each 128-bit lane is a 4 x 4 square in place), then lanes. */
static inline void vec_transpose(vec v[LANES])
{
    vec a[LANES], b[LANES];
    for (size_t i = 0; i < LANES; i += 2) {
        a[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
        a[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
    }
    for (size_t i = 0; i < LANES; i += 4) {
        b[i] = _mm512_shuffle_ps(a[i], a[i + 2], 0x44);
        b[i + 1] = _mm512_shuffle_ps(a[i], a[i + 2], 0xee);
        b[i + 2] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0x44);
        b[i + 3] = _mm512_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    for (size_t i = 0; i < 4; i++) { /* b[4 g + i]: rows 4 g.. of columns i, 4 + i, 8 + i, 12 + i */
        vec low = _mm512_shuffle_f32x4(b[i], b[4 + i], 0x88);
        vec high = _mm512_shuffle_f32x4(b[i], b[4 + i], 0xdd);
        vec low_next = _mm512_shuffle_f32x4(b[8 + i], b[12 + i], 0x88);
        vec high_next = _mm512_shuffle_f32x4(b[8 + i], b[12 + i], 0xdd);
        v[i] = _mm512_shuffle_f32x4(low, low_next, 0x88);
        v[8 + i] = _mm512_shuffle_f32x4(low, low_next, 0xdd);
        v[4 + i] = _mm512_shuffle_f32x4(high, high_next, 0x88);
        v[12 + i] = _mm512_shuffle_f32x4(high, high_next, 0xdd);
    }
}

#endif

#endif
