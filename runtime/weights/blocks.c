/* blocks.c - see blocks.h. One function a format; d and m are the block's half-precision scale and
 * minimum, "nibbles" of n bytes are the n low halves, then the n high halves. */
#include "runtime/weights/blocks.h"

#include "runtime/kernels/half.h"

#include <string.h>

static float half_at(const unsigned char *bytes)
{
    return oc_f16_widen((uint16_t)(bytes[0] | bytes[1] << 8));
}

static uint32_t word_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* Value i of a block of 32 whose nibbles stand in 16 bytes. */
static int nibble_of(const unsigned char *nibbles, int i)
{
    return i < 16 ? nibbles[i] & 15 : nibbles[i - 16] >> 4;
}

/* ---- blocks of 32 --------------------------------------------------------------------------- */

enum { SMALL = 32 };

static void widen_q8_0(const unsigned char *block, float *out)
{
    float d = half_at(block);
    for (int i = 0; i < SMALL; i++) {
        out[i] = d * (float)(int8_t)block[2 + i];
    }
}

static void widen_q4_0(const unsigned char *block, float *out)
{
    float d = half_at(block);
    for (int i = 0; i < SMALL; i++) {
        out[i] = d * (float)(nibble_of(block + 2, i) - 8);
    }
}

static void widen_q4_1(const unsigned char *block, float *out)
{
    float d = half_at(block), m = half_at(block + 2);
    for (int i = 0; i < SMALL; i++) {
        out[i] = d * (float)nibble_of(block + 4, i) + m;
    }
}

static void widen_q5_0(const unsigned char *block, float *out)
{
    float d = half_at(block);
    uint32_t high = word_at(block + 2);
    for (int i = 0; i < SMALL; i++) {
        int code = nibble_of(block + 6, i) + 16 * (int)(high >> i & 1);
        out[i] = d * (float)(code - 16);
    }
}

static void widen_q5_1(const unsigned char *block, float *out)
{
    float d = half_at(block), m = half_at(block + 2);
    uint32_t high = word_at(block + 4);
    for (int i = 0; i < SMALL; i++) {
        int code = nibble_of(block + 8, i) + 16 * (int)(high >> i & 1);
        out[i] = d * (float)code + m;
    }
}

/* The codes of iq4_nl and iq4_xs: steps that grow away from zero. */
static const int8_t uneven[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};

static void widen_iq4_nl(const unsigned char *block, float *out)
{
    float d = half_at(block);
    for (int i = 0; i < SMALL; i++) {
        out[i] = d * (float)uneven[nibble_of(block + 2, i)];
    }
}

/* ---- blocks of 256 -------------------------------------------------------------------------- */

enum { LARGE = 256 };

/* The two low bits of value i, as q2_K and q3_K have them: four planes of 32 in each half. */
static int two_bits_of(const unsigned char *codes, int i)
{
    int half = i / 128, within = i % 128;
    return codes[32 * half + within % 32] >> 2 * (within / 32) & 3;
}

static void widen_q2_k(const unsigned char *block, float *out)
{
    float d = half_at(block + 80), m = half_at(block + 82);
    for (int i = 0; i < LARGE; i++) {
        int scale = block[i / 16];
        out[i] =
            d * (float)(scale & 15) * (float)two_bits_of(block + 16, i) - m * (float)(scale >> 4);
    }
}

static void widen_q3_k(const unsigned char *block, float *out)
{
    const unsigned char *high = block, *scales = block + 96;
    float d = half_at(block + 108);
    for (int i = 0; i < LARGE; i++) {
        int group = i / 16;
        int low = group < 8 ? scales[group] & 15 : scales[group - 8] >> 4;
        int scale = (low | (scales[8 + group % 4] >> 2 * (group / 4) & 3) << 4) - 32;
        int code = two_bits_of(block + 32, i) - ((high[i % 32] >> i / 32 & 1) != 0 ? 0 : 4);
        out[i] = d * (float)scale * (float)code;
    }
}

/* The 6-bit scale and minimum of group 0..7 in the 12 bytes that q4_K and q5_K share. */
static void scales_of(const unsigned char *scales, int group, int *scale, int *least)
{
    if (group < 4) {
        *scale = scales[group] & 63;
        *least = scales[group + 4] & 63;
    } else {
        *scale = (scales[group + 4] & 15) | (scales[group - 4] >> 6) << 4;
        *least = scales[group + 4] >> 4 | (scales[group] >> 6) << 4;
    }
}

/* high: 32 bytes with the fifth bits of q5_K; NULL: q4_K, which has none. */
static void widen_groups(const unsigned char *block, const unsigned char *high,
                         const unsigned char *codes, float *out)
{
    float d = half_at(block), m = half_at(block + 2);
    for (int group = 0; group < 8; group++) {
        int scale, least;
        scales_of(block + 4, group, &scale, &least);
        float step = d * (float)scale, below = m * (float)least;
        for (int i = 0; i < 32; i++) {
            int pair = codes[32 * (group / 2) + i];
            int code = group % 2 == 0 ? pair & 15 : pair >> 4;
            code += high != NULL ? 16 * (high[i] >> group & 1) : 0;
            out[32 * group + i] = step * (float)code - below;
        }
    }
}

static void widen_q4_k(const unsigned char *block, float *out)
{
    widen_groups(block, NULL, block + 16, out);
}

static void widen_q5_k(const unsigned char *block, float *out)
{
    widen_groups(block, block + 16, block + 48, out);
}

static void widen_q6_k(const unsigned char *block, float *out)
{
    const unsigned char *low = block, *high = block + 128, *scales = block + 192;
    float d = half_at(block + 208);
    for (int i = 0; i < LARGE; i++) {
        int half = i / 128, at = i % 32, plane = i % 128 / 32;
        int pair = low[64 * half + at + 32 * (plane % 2)];
        int code = (plane < 2 ? pair & 15 : pair >> 4) | (high[32 * half + at] >> 2 * plane & 3)
                                                             << 4;
        out[i] = d * (float)(int8_t)scales[i / 16] * (float)(code - 32);
    }
}

static void widen_iq4_xs(const unsigned char *block, float *out)
{
    float d = half_at(block);
    int high = block[2] | block[3] << 8;
    for (int group = 0; group < 8; group++) {
        int low = block[4 + group / 2] >> 4 * (group % 2) & 15;
        float step = d * (float)((low | (high >> 2 * group & 3) << 4) - 32);
        for (int i = 0; i < 32; i++) {
            out[32 * group + i] = step * (float)uneven[nibble_of(block + 8 + 16 * group, i)];
        }
    }
}

void oc_block_widen(oc_dtype dtype, const unsigned char *block, float *out)
{
    switch (dtype) {
    case OC_Q8_0: widen_q8_0(block, out); break;
    case OC_Q4_0: widen_q4_0(block, out); break;
    case OC_Q4_1: widen_q4_1(block, out); break;
    case OC_Q5_0: widen_q5_0(block, out); break;
    case OC_Q5_1: widen_q5_1(block, out); break;
    case OC_Q2_K: widen_q2_k(block, out); break;
    case OC_Q3_K: widen_q3_k(block, out); break;
    case OC_Q4_K: widen_q4_k(block, out); break;
    case OC_Q5_K: widen_q5_k(block, out); break;
    case OC_Q6_K: widen_q6_k(block, out); break;
    case OC_IQ4_NL: widen_iq4_nl(block, out); break;
    case OC_IQ4_XS: widen_iq4_xs(block, out); break;
    default: break; /* callers ask for blocks only */
    }
}
