/* kernels_loops.h - the float32 kernels other than products, written once over the few vector
 * operations that a tier's file defines before it includes this (see kernels_avx2.c): the same body
 * becomes code for each instruction set, with that file's flags.
 *
 * Tails are loads and stores of a part of a vector with zeros behind, so an element's bits do not
 * depend on where in the array it stands. */
#ifndef OC_KERNELS_KERNELS_LOOPS_H
#define OC_KERNELS_KERNELS_LOOPS_H

#if defined(OC_VECTOR_LANES)

#include "runtime/kernels/half.h"
#include "runtime/kernels/kernels.h"

#include <math.h>

/* exp(x), off by at most 2 units in the last place; below -87 zero (exp would be less than 2e-38),
 * above 88 as 88; NaN stays NaN. x = n ln 2 + f, exp(x) = 2^n exp(f). Adding 1.5 * 2^23 rounds to a
 * whole number that stands in the low bits of the sum. */
static inline vec loop_exp(vec x)
{
    const vec magic = vec_set(12582912.0f), lowest = vec_set(-87.0f);
    vec in_range = vec_min(vec_set(88.0f), vec_max(lowest, x)); /* x second: NaN stays */
    vec shifted = vec_fma(in_range, vec_set(1.44269504089f), magic);
    vec n = vec_sub(shifted, magic);
    vec f = vec_fma(n, vec_set(-0.693359375f), in_range);
    f = vec_fma(n, vec_set(2.12194440e-4f), f);
    vec p = vec_set(1.9875691500e-4f);
    p = vec_fma(p, f, vec_set(1.3981999507e-3f));
    p = vec_fma(p, f, vec_set(8.3334519073e-3f));
    p = vec_fma(p, f, vec_set(4.1665795894e-2f));
    p = vec_fma(p, f, vec_set(1.6666665459e-1f));
    p = vec_fma(p, f, vec_set(5.0000001201e-1f));
    p = vec_fma(vec_mul(f, f), p, f);
    p = vec_mul(vec_add(p, vec_set(1.0f)), vec_power(shifted));
    return vec_select_less(x, lowest, vec_zero(), p);
}

static inline float loop_exp_one(float x)
{
    float lanes[OC_VECTOR_LANES];
    vec_store(lanes, loop_exp(vec_set(x)));
    return lanes[0];
}

static void loop_prefetch(const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 64) {
        vec_prefetch((const char *)from + at);
    }
}

static float loop_dot(const float *a, const float *b, size_t count)
{
    vec sums[4] = {vec_zero(), vec_zero(), vec_zero(), vec_zero()};
    size_t i = 0;
    for (; i + 4 * OC_VECTOR_LANES <= count; i += 4 * OC_VECTOR_LANES) {
        for (size_t j = 0; j < 4; j++) {
            sums[j] = vec_fma(vec_load(a + i + j * OC_VECTOR_LANES),
                              vec_load(b + i + j * OC_VECTOR_LANES), sums[j]);
        }
    }
    for (; i < count; i += OC_VECTOR_LANES) {
        sums[0] =
            vec_fma(vec_load_part(a + i, count - i), vec_load_part(b + i, count - i), sums[0]);
    }
    return vec_sum(vec_add(vec_add(sums[0], sums[1]), vec_add(sums[2], sums[3])));
}

static void loop_widen_f16(float *out, const uint16_t *in, size_t count)
{
    size_t i = 0;
    for (; i + OC_VECTOR_LANES <= count; i += OC_VECTOR_LANES) {
        vec_store(out + i, vec_load_f16(in + i));
    }
    for (; i < count; i++) {
        out[i] = oc_f16_widen(in[i]);
    }
}

static void loop_widen_bf16(float *out, const uint16_t *in, size_t count)
{
    size_t i = 0;
    for (; i + OC_VECTOR_LANES <= count; i += OC_VECTOR_LANES) {
        vec_store(out + i, vec_load_bf16(in + i));
    }
    for (; i < count; i++) {
        out[i] = oc_bf16_widen(in[i]);
    }
}

static void loop_narrow_f16(uint16_t *out, const float *in, size_t count)
{
    size_t i = 0;
    for (; i + OC_VECTOR_LANES <= count; i += OC_VECTOR_LANES) {
        /* The bound goes first: NaN stays. */
        vec value = vec_min(vec_set(65504.0f), vec_max(vec_set(-65504.0f), vec_load(in + i)));
        vec_store_f16(out + i, value);
    }
    for (; i < count; i++) {
        out[i] = oc_f16_narrow(in[i]);
    }
}

/* To bfloat16, nearest even: an instruction where the tier has one, else in integers. */
static inline void loop_store_bf16(uint16_t *out, vec value, size_t count)
{
#if defined(OC_VECTOR_STORES_BF16)
    vec_store_bf16(out, value, count);
#else
    float lanes[OC_VECTOR_LANES];
    vec_store(lanes, value);
    for (size_t i = 0; i < count && i < OC_VECTOR_LANES; i++) {
        out[i] = oc_bf16_narrow(lanes[i]);
    }
#endif
}

static void loop_narrow_bf16(uint16_t *out, const float *in, size_t count)
{
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        loop_store_bf16(out + i, vec_load_part(in + i, count - i), count - i);
    }
}

static float loop_softmax_block(float *scores, size_t count, float scale, float *max, float *sum)
{
    if (count == 0) {
        return 1.0f;
    }
    float old = *max;
    vec most = vec_set(old);
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        /* Lanes behind the end repeat the first score. */
        most = vec_max(most, vec_load_or(scores + i, count - i, scores[0]));
    }
    float largest = vec_max_across(most);
    vec total = vec_zero(), part = vec_zero(), base = vec_set(largest), factor = vec_set(scale);
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        vec x = vec_sub(vec_load_or(scores + i, count - i, -INFINITY), base);
        vec weight = loop_exp(vec_mul(x, factor)); /* zero behind the end */
        vec_store_part(scores + i, weight, count - i);
        part = vec_add(part, weight);
        if (i / OC_VECTOR_LANES % 64 == 63) { /* long rows: sums of sums round less */
            total = vec_add(total, part);
            part = vec_zero();
        }
    }
    total = vec_add(total, part);
    float correction = old == largest ? 1.0f : loop_exp_one(scale * (old - largest));
    *max = largest;
    *sum = *sum * correction + vec_sum(total);
    return correction;
}

static void loop_rms_norm(float *y, const float *x, const float *weight, size_t count, float eps)
{
    float mean = loop_dot(x, x, count) / (float)count;
    vec inverse = vec_set(1.0f / sqrtf(mean + eps));
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        vec value = vec_mul(vec_load_part(x + i, count - i), inverse);
        vec_store_part(y + i, vec_mul(value, vec_load_part(weight + i, count - i)), count - i);
    }
}

static void loop_layer_norm(float *y, const float *x, const float *weight, const float *bias,
                            size_t count, float eps)
{
    vec total = vec_zero(), squares = vec_zero();
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        total = vec_add(total, vec_load_part(x + i, count - i));
    }
    float mean = vec_sum(total) / (float)count;
    vec base = vec_set(mean);
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        vec off = vec_sub(vec_load_or(x + i, count - i, mean), base);
        squares = vec_fma(off, off, squares);
    }
    vec inverse = vec_set(1.0f / sqrtf(vec_sum(squares) / (float)count + eps));
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        vec value = vec_mul(vec_sub(vec_load_part(x + i, count - i), base), inverse);
        value = vec_fma(value, vec_load_part(weight + i, count - i),
                        vec_load_part(bias + i, count - i));
        vec_store_part(y + i, value, count - i);
    }
}

/* x / (1 + exp(-t)) */
static inline vec loop_gate(vec x, vec t)
{
    return vec_div(x, vec_add(vec_set(1.0f), loop_exp(vec_sub(vec_zero(), t))));
}

static void loop_silu_mul(float *y, const float *gate, const float *up, size_t count)
{
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        vec x = vec_load_part(gate + i, count - i);
        vec value = vec_mul(loop_gate(x, x), vec_load_part(up + i, count - i));
        vec_store_part(y + i, value, count - i);
    }
}

/* 0.5 (1 + tanh(u)) = 1 / (1 + exp(-2u)): no cancellation for large negative u. */
static inline vec loop_gelu_tanh_of(vec value)
{
    const vec linear = vec_set(1.5957691216f), cubic = vec_set(0.0713548162726f);
    return loop_gate(value, vec_mul(value, vec_fma(vec_mul(value, value), cubic, linear)));
}

static void loop_gelu_tanh(float *y, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        vec value = vec_load_part(x + i, count - i);
        vec_store_part(y + i, loop_gelu_tanh_of(value), count - i);
    }
}

/* erfc(z) = t (a1 + t (a2 + ...)) exp(-z z), t = 1 / (1 + p z), off by less than 1.5e-7 (Abramowitz
 * and Stegun 7.1.26). gelu(x) = x - x erfc(x / sqrt 2) / 2 for x > 0, and x erfc(-x / sqrt 2) / 2 for
 * the rest: again no cancellation. */
static inline vec loop_gelu_erf_of(vec value)
{
    const vec one = vec_set(1.0f);
    vec z = vec_mul(vec_max(value, vec_sub(vec_zero(), value)), vec_set(0.70710678118f));
    vec t = vec_div(one, vec_fma(z, vec_set(0.3275911f), one));
    vec p = vec_set(1.061405429f);
    p = vec_fma(p, t, vec_set(-1.453152027f));
    p = vec_fma(p, t, vec_set(1.421413741f));
    p = vec_fma(p, t, vec_set(-0.284496736f));
    p = vec_fma(p, t, vec_set(0.254829592f));
    vec tail = vec_mul(vec_mul(p, t), loop_exp(vec_sub(vec_zero(), vec_mul(z, z))));
    vec half = vec_mul(vec_mul(vec_set(0.5f), value), tail);
    return vec_select_less(vec_zero(), value, vec_sub(value, half), half);
}

static void loop_gelu_erf(float *y, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        vec value = vec_load_part(x + i, count - i);
        vec_store_part(y + i, loop_gelu_erf_of(value), count - i);
    }
}

static void loop_finish(const oc_finish *job)
{
    for (size_t r = 0; r < job->rows; r++) {
        const float *sums = job->sums + r * job->sums_stride;
        for (size_t i = 0; i < job->count; i += OC_VECTOR_LANES) {
            size_t left = job->count - i;
            vec value = vec_load_part(sums + i, left);
            if (job->bias != NULL) {
                value = vec_add(value, vec_load_part(job->bias + i, left));
            }
            if (job->pointwise == OC_POINTWISE_GELU_TANH) {
                value = loop_gelu_tanh_of(value);
            } else if (job->pointwise == OC_POINTWISE_GELU_ERF) {
                value = loop_gelu_erf_of(value);
            }
            if (job->halves != NULL) {
                loop_store_bf16(job->halves + r * job->halves_stride + i, value, left);
            } else {
                float *y = job->y + r * job->y_stride + i;
                if (job->add) {
                    value = vec_add(vec_load_part(y, left), value);
                }
                vec_store_part(y, value, left);
            }
        }
    }
}

static void loop_add(float *y, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        vec value = vec_add(vec_load_part(y + i, count - i), vec_load_part(x + i, count - i));
        vec_store_part(y + i, value, count - i);
    }
}

static void loop_scale(float *y, float factor, size_t count)
{
    for (size_t i = 0; i < count; i += OC_VECTOR_LANES) {
        vec value = vec_mul(vec_load_part(y + i, count - i), vec_set(factor));
        vec_store_part(y + i, value, count - i);
    }
}

static void loop_rope(float *v, const float *cosine, const float *sine, size_t half)
{
    for (size_t i = 0; i < half; i += OC_VECTOR_LANES) {
        vec a = vec_load_part(v + i, half - i), b = vec_load_part(v + half + i, half - i);
        vec c = vec_load_part(cosine + i, half - i), s = vec_load_part(sine + i, half - i);
        vec_store_part(v + i, vec_sub(vec_mul(a, c), vec_mul(b, s)), half - i);
        vec_store_part(v + half + i, vec_fma(a, s, vec_mul(b, c)), half - i);
    }
}

static void loop_fill_table(oc_kernels *table)
{
    table->prefetch = loop_prefetch;
    table->dot = loop_dot;
    table->widen_f16 = loop_widen_f16;
    table->widen_bf16 = loop_widen_bf16;
    table->narrow_f16 = loop_narrow_f16;
    table->narrow_bf16 = loop_narrow_bf16;
    table->finish = loop_finish;
    table->softmax_block = loop_softmax_block;
    table->rms_norm = loop_rms_norm;
    table->layer_norm = loop_layer_norm;
    table->silu_mul = loop_silu_mul;
    table->gelu_tanh = loop_gelu_tanh;
    table->gelu_erf = loop_gelu_erf;
    table->add = loop_add;
    table->scale = loop_scale;
    table->rope = loop_rope;
}

#endif

#endif
