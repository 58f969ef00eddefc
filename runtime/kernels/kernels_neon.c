/* kernels_neon.c - the kernels for 64-bit Arm: 4 lanes, products with packed weights by widening
 * multiplies. kernels_neon_dotprod.c replaces the latter where the CPU has the dot product. */
#include "runtime/kernels/kernels.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <string.h>

enum { LANES = 4 };
#define OC_VECTOR_LANES 4
#define OC_GEMM_TILE_ROWS 6
#define OC_GEMM_VECTORS 4

typedef float32x4_t vec;

static inline void vec_prefetch(const void *p)
{
    __builtin_prefetch(p, 0, 2);
}

static inline vec vec_zero(void)
{
    return vdupq_n_f32(0.0f);
}

static inline vec vec_set(float value)
{
    return vdupq_n_f32(value);
}

static inline vec vec_load(const float *p)
{
    return vld1q_f32(p);
}

static inline void vec_store(float *p, vec v)
{
    vst1q_f32(p, v);
}

/* n lanes, other behind; n of 4 or more is all of them. */
static inline vec vec_load_or(const float *p, size_t n, float other)
{
    if (n >= LANES) {
        return vld1q_f32(p);
    }
    float lanes[LANES] = {other, other, other, other};
    memcpy(lanes, p, n * sizeof *p);
    return vld1q_f32(lanes);
}

/* n lanes, zeros behind. */
static inline vec vec_load_part(const float *p, size_t n)
{
    return vec_load_or(p, n, 0.0f);
}

static inline void vec_store_part(float *p, vec v, size_t n)
{
    if (n >= LANES) {
        vst1q_f32(p, v);
    } else {
        float lanes[LANES];
        vst1q_f32(lanes, v);
        memcpy(p, lanes, n * sizeof *p);
    }
}

static inline vec vec_add(vec a, vec b)
{
    return vaddq_f32(a, b);
}

static inline vec vec_sub(vec a, vec b)
{
    return vsubq_f32(a, b);
}

static inline vec vec_mul(vec a, vec b)
{
    return vmulq_f32(a, b);
}

static inline vec vec_div(vec a, vec b)
{
    return vdivq_f32(a, b);
}

/* a b + c */
static inline vec vec_fma(vec a, vec b, vec c)
{
    return vfmaq_f32(c, a, b);
}

/* NaN where either is NaN. */
static inline vec vec_max(vec a, vec b)
{
    return vmaxq_f32(a, b);
}

static inline vec vec_min(vec a, vec b)
{
    return vminq_f32(a, b);
}

/* 2^n for the whole number n in the low bits of its sum with 1.5 * 2^23. */
static inline vec vec_power(vec shifted)
{
    uint32x4_t bits = vshlq_n_u32(vreinterpretq_u32_f32(shifted), 23);
    return vreinterpretq_f32_u32(vaddq_u32(bits, vdupq_n_u32(0x3f800000u)));
}

/* a < b ? x : y */
static inline vec vec_select_less(vec a, vec b, vec x, vec y)
{
    return vbslq_f32(vcltq_f32(a, b), x, y);
}

static inline float vec_sum(vec v)
{
    return vaddvq_f32(v);
}

static inline float vec_max_across(vec v)
{
    return vmaxvq_f32(v);
}

static inline vec vec_load_f16(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

static inline void vec_store_f16(uint16_t *p, vec v)
{
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}

static inline vec vec_load_bf16(const uint16_t *p)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
}

static inline void vec_transpose(vec v[LANES])
{
    float32x4_t a = vtrn1q_f32(v[0], v[1]), b = vtrn2q_f32(v[0], v[1]);
    float32x4_t c = vtrn1q_f32(v[2], v[3]), d = vtrn2q_f32(v[2], v[3]);
    v[0] = vcombine_f32(vget_low_f32(a), vget_low_f32(c));
    v[1] = vcombine_f32(vget_low_f32(b), vget_low_f32(d));
    v[2] = vcombine_f32(vget_high_f32(a), vget_high_f32(c));
    v[3] = vcombine_f32(vget_high_f32(b), vget_high_f32(d));
}

#include "runtime/kernels/kernels_cached.h"
#include "runtime/kernels/kernels_gemm.h"
#include "runtime/kernels/kernels_loops.h"

/* Sums of products of neighbouring columns: row 2i and 2i + 1 of a quarter of the tile in pairs. */
typedef struct tile_sums {
    int32x4_t low[4], high[4];
} tile_sums;

static inline void tile_clear(tile_sums *sums)
{
    for (size_t q = 0; q < 4; q++) {
        sums->low[q] = sums->high[q] = vdupq_n_s32(0);
    }
}

/* A line of codes, made signed, times the four x of a step. Two products fit 16 bits: 127 * 127. */
static inline void tile_add(tile_sums *sums, const int8x16_t line[4], int8x16_t x)
{
    for (size_t q = 0; q < 4; q++) {
        int16x8_t low = vmull_s8(vget_low_s8(line[q]), vget_low_s8(x));
        int16x8_t high = vmull_high_s8(line[q], x);
        sums->low[q] = vpadalq_s16(sums->low[q], low);
        sums->high[q] = vpadalq_s16(sums->high[q], high);
    }
}

static inline int32x4_t tile_quarter(const tile_sums *sums, size_t q)
{
    return vpaddq_s32(sums->low[q], sums->high[q]);
}

enum { TOGETHER = 2 }; /* rows in registers: 16 sums */
#define OC_NEON_TILE

#include "runtime/kernels/kernels_neon_quant.h"

void oc_kernels_init_neon(oc_kernels *table)
{
    table->tier = "neon";
    loop_fill_table(table);
    cached_fill_table(table);
    gemm_fill_table(table);
    quant_fill_table(table);
}

#endif
