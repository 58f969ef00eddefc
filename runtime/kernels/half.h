/* half.h - float16 and bfloat16 to float32 and back, one number at a time, in integers: the same
 * bits on every machine. */
#ifndef OC_KERNELS_HALF_H
#define OC_KERNELS_HALF_H

#include <stdint.h>
#include <string.h>

static inline float oc_float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t oc_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float oc_bf16_widen(uint16_t half)
{
    return oc_float_from_bits((uint32_t)half << 16);
}

/* Nearest even. NaN stays NaN. */
static inline uint16_t oc_bf16_narrow(float value)
{
    uint32_t bits = oc_float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)((bits >> 16) | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static inline float oc_f16_widen(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1fu;
    uint32_t mantissa = half & 0x3ffu;
    if (exponent == 0x1fu) { /* infinity; NaN quietened, as the hardware does */
        return oc_float_from_bits(sign | 0x7f800000u | (mantissa << 13) |
                                  (mantissa != 0 ? 0x400000u : 0));
    }
    if (exponent != 0) {
        return oc_float_from_bits(sign | ((exponent + 112u) << 23) | (mantissa << 13));
    }
    float magnitude = (float)mantissa * 0x1p-24f; /* exact */
    return oc_float_from_bits(sign | oc_float_bits(magnitude));
}

/* Nearest even; beyond the range the largest finite value, infinity too. NaN stays NaN. */
static inline uint16_t oc_f16_narrow(float value)
{
    uint32_t bits = oc_float_bits(value);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000u);
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u | ((bits >> 13) & 0x3ffu));
    }
    if (bits >= 0x477fe000u) { /* 65504 */
        return (uint16_t)(sign | 0x7bffu);
    }
    if (bits < 0x38800000u) { /* below 2^-14: a multiple of 2^-24, rounded by the float adder */
        float shifted = oc_float_from_bits(bits) + 0.5f; /* unit in the last place of 0.5: 2^-24 */
        return (uint16_t)(sign | (uint16_t)(oc_float_bits(shifted) - 0x3f000000u));
    }
    uint32_t rounded = bits + 0xfffu + ((bits >> 13) & 1u);
    return (uint16_t)(sign | (uint16_t)((rounded - 0x38000000u) >> 13));
}

#endif
