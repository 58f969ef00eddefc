/* kernels_neon_quant.h - the packed kernels of the Arm tiers, written once over the integer sums of a
 * tile that a tier defines before it includes this: tile_sums, tile_clear, tile_add, tile_quarter and
 * TOGETHER, the rows whose sums stay in registers (and OC_NEON_TILE to say so). Without OC_NEON_TILE
 * there is only what all need: sizes and scales. */
#ifndef OC_KERNELS_KERNELS_NEON_QUANT_H
#define OC_KERNELS_KERNELS_NEON_QUANT_H

#if defined(__aarch64__)

#include "runtime/kernels/kernels.h"

#include <arm_neon.h>
#include <math.h>
#include <string.h>

enum { LINE = OC_QUANT_LINE, STEPS = OC_QUANT_STEPS, TILE = OC_QUANT_TILE };

/* Four scales: rows 4 q .. of group 0 or 1 of a block. */
static inline float32x4_t load_scales(const unsigned char *block, size_t group, size_t q)
{
    uint16_t halves[4];
    memcpy(halves, block + (group * TILE + 4 * q) * sizeof(uint16_t), sizeof halves);
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(halves), 16));
}

#if defined(OC_NEON_TILE)

enum { PANEL_ROWS = 4 /* of activations */ };

static inline int8x16_t load_step(const int8_t *x)
{
    int32_t four;
    memcpy(&four, x, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

/* Codes are offset by 128: the top bit turned over makes them signed. */
static inline void load_line(int8x16_t line[4], const uint8_t *codes)
{
    for (size_t q = 0; q < 4; q++) {
        uint8x16_t bytes = veorq_u8(vld1q_u8(codes + 16 * q), vdupq_n_u8(OC_QUANT_OFFSET));
        line[q] = vreinterpretq_s8_u8(bytes);
    }
}

/* ---- activations ----------------------------------------------------------------------------- */

/* 64 values, padded by the caller. */
static void quantize_group(int8_t *values, size_t step, oc_quant_group *group, const float *x)
{
    uint32x4_t largest = vdupq_n_u32(0);
    for (size_t i = 0; i < OC_QUANT_GROUP; i += 4) {
        /* Magnitudes order as whole numbers; infinity and NaN are above all others. */
        largest = vmaxq_u32(largest, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + i))));
    }
    uint32_t bits = vmaxvq_u32(largest);
    float most;
    memcpy(&most, &bits, sizeof most);
    bool finite = bits < 0x7f800000u, usable = finite && most >= 1e-30f;
    float inverse = usable ? 127.0f / most : 0.0f;
    int32x4_t sums[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
    for (size_t i = 0; i < OC_QUANT_GROUP; i += 4) {
        int32x4_t codes =
            usable ? vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + i), inverse)) : vdupq_n_s32(0);
        sums[i / OC_Q4_GROUP] = vaddq_s32(sums[i / OC_Q4_GROUP], codes);
        int16x4_t words = vqmovn_s32(codes);
        int8x8_t bytes = vqmovn_s16(vcombine_s16(words, words));
        int8_t eight[8];
        vst1_s8(eight, bytes);
        memcpy(values + i / OC_QUANT_STEP * step, eight, OC_QUANT_STEP);
    }
    group->scale = usable ? most / 127.0f : finite ? 0.0f : NAN;
    group->half[0] = -OC_QUANT_OFFSET * vaddvq_s32(sums[0]);
    group->half[1] = -OC_QUANT_OFFSET * vaddvq_s32(sums[1]);
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

/* Up to TOGETHER rows over some steps; where rows are missing the last one stands in. */
static inline void sum_steps(tile_sums sums[TOGETHER], const uint8_t *codes, const int8_t *x,
                             size_t x_step, size_t rows, size_t steps)
{
    for (size_t r = 0; r < TOGETHER; r++) {
        tile_clear(&sums[r]);
    }
    for (size_t s = 0; s < steps; s++) {
        int8x16_t line[4];
        load_line(line, codes + s * LINE);
        for (size_t r = 0; r < TOGETHER; r++) {
            size_t lane = r < rows ? r : rows - 1;
            tile_add(&sums[r], line, load_step(x + s * x_step + lane * OC_QUANT_STEP));
        }
    }
}

/* Sums of one row and its group, to y. */
static inline void add_q8(float *y, const tile_sums *sums, const unsigned char *block, size_t which,
                          const oc_quant_group *group)
{
    for (size_t q = 0; q < 4; q++) {
        float32x4_t sum = vcvtq_f32_s32(tile_quarter(sums, q));
        sum = vmulq_f32(sum, load_scales(block, which, q));
        vst1q_f32(y + 4 * q, vfmaq_n_f32(vld1q_f32(y + 4 * q), sum, group->scale));
    }
}

static inline void add_q4(float *y, const tile_sums *first, const tile_sums *second,
                          const unsigned char *block, const oc_quant_group *group)
{
    for (size_t q = 0; q < 4; q++) {
        float32x4_t sum = vcvtq_f32_s32(tile_quarter(first, q));
        sum = vmulq_f32(sum, load_scales(block, 0, q));
        sum = vfmaq_f32(sum, vcvtq_f32_s32(tile_quarter(second, q)), load_scales(block, 1, q));
        vst1q_f32(y + 4 * q, vfmaq_n_f32(vld1q_f32(y + 4 * q), sum, group->scale));
    }
}

static void product_q8(const oc_quant_product *job)
{
    size_t x_step = job->rows * OC_QUANT_STEP;
    for (size_t i = 0; i < job->tiles * job->groups; i++) {
        size_t tile = i / job->groups, g = i % job->groups;
        const unsigned char *block =
            job->packed + tile * job->packed_stride + g / 2 * OC_Q8_BLOCK_BYTES;
        for (size_t r = 0; r < job->rows; r += TOGETHER) {
            size_t rows = job->rows - r < TOGETHER ? job->rows - r : TOGETHER;
            tile_sums sums[TOGETHER];
            sum_steps(sums, block + (1 + g % 2 * STEPS) * LINE,
                      job->x + g * STEPS * x_step + r * OC_QUANT_STEP, x_step, rows, STEPS);
            for (size_t k = 0; k < rows; k++) {
                add_q8(job->y + (r + k) * job->y_stride + tile * TILE, &sums[k], block, g % 2,
                       &job->x_groups[g * job->rows + r + k]);
            }
        }
    }
}

static void product_q4(const oc_quant_product *job)
{
    size_t x_step = job->rows * OC_QUANT_STEP;
    for (size_t i = 0; i < job->tiles * job->groups; i++) {
        size_t tile = i / job->groups, g = i % job->groups;
        const unsigned char *block =
            job->packed + tile * job->packed_stride + g * OC_Q4_BLOCK_BYTES;
        const uint8_t *codes = job->codes + tile * job->codes_stride + g * STEPS * LINE;
        for (size_t r = 0; r < job->rows; r += TOGETHER) {
            size_t rows = job->rows - r < TOGETHER ? job->rows - r : TOGETHER;
            const int8_t *x = job->x + g * STEPS * x_step + r * OC_QUANT_STEP;
            tile_sums first[TOGETHER], second[TOGETHER];
            sum_steps(first, codes, x, x_step, rows, STEPS / 2);
            sum_steps(second, codes + STEPS / 2 * LINE, x + STEPS / 2 * x_step, x_step, rows,
                      STEPS / 2);
            for (size_t k = 0; k < rows; k++) {
                add_q4(job->y + (r + k) * job->y_stride + tile * TILE, &first[k], &second[k], block,
                       &job->x_groups[g * job->rows + r + k]);
            }
        }
    }
}

static void few_q8(const oc_quant_product *job)
{
    const size_t x_step = job->rows * OC_QUANT_STEP;
    for (size_t r = 0; r < job->rows; r++) { /* the tile stays in the caches */
        const unsigned char *block = job->packed;
        float *y = job->y + r * job->y_stride;
        memset(y, 0, TILE * sizeof *y);
        for (size_t g = 0; g < job->groups; g++) {
            const int8_t *x = job->x + g * STEPS * x_step + r * OC_QUANT_STEP;
            tile_sums sums;
            tile_clear(&sums);
            for (size_t s = 0; s < STEPS; s++) {
                int8x16_t line[4];
                load_line(line, block + (1 + g % 2 * STEPS + s) * LINE);
                tile_add(&sums, line, load_step(x + s * x_step));
            }
            add_q8(y, &sums, block, g % 2, &job->x_groups[g * job->rows + r]);
            block += g % 2 * OC_Q8_BLOCK_BYTES;
        }
    }
}

static inline int8x16_t load_table(void)
{
    static const int8_t values[16] = OC_Q4_VALUES;
    return vld1q_s8(values);
}

/* Half a group of activations: 4 lines of nibbles. */
static inline void sum_half(tile_sums *sums, const uint8_t *packed, const int8_t *x, size_t x_step,
                            int8x16_t table)
{
    tile_clear(sums);
    for (size_t j = 0; j < STEPS / 4; j++) {
        int8x16_t low[4], high[4];
        for (size_t q = 0; q < 4; q++) {
            uint8x16_t bytes = vld1q_u8(packed + j * LINE + 16 * q);
            low[q] = vqtbl1q_s8(table, vandq_u8(bytes, vdupq_n_u8(15)));
            high[q] = vqtbl1q_s8(table, vshrq_n_u8(bytes, 4));
        }
        tile_add(sums, low, load_step(x + 2 * j * x_step));
        tile_add(sums, high, load_step(x + (2 * j + 1) * x_step));
    }
}

static void few_q4(const oc_quant_product *job)
{
    const int8x16_t table = load_table();
    const size_t x_step = job->rows * OC_QUANT_STEP;
    for (size_t r = 0; r < job->rows; r++) {
        const unsigned char *block = job->packed;
        float *y = job->y + r * job->y_stride;
        memset(y, 0, TILE * sizeof *y);
        for (size_t g = 0; g < job->groups; g++) {
            const int8_t *x = job->x + g * STEPS * x_step + r * OC_QUANT_STEP;
            tile_sums first, second;
            sum_half(&first, block + LINE, x, x_step, table);
            sum_half(&second, block + (1 + STEPS / 4) * LINE, x + STEPS / 2 * x_step, x_step,
                     table);
            add_q4(y, &first, &second, block, &job->x_groups[g * job->rows + r]);
            block += OC_Q4_BLOCK_BYTES;
        }
    }
}

static void unpack_q4(uint8_t *codes, const unsigned char *packed, size_t groups)
{
    const uint8x16_t table =
        veorq_u8(vreinterpretq_u8_s8(load_table()), vdupq_n_u8(OC_QUANT_OFFSET));
    for (size_t i = 0; i < groups * STEPS / 2; i++) {
        size_t group = i / (STEPS / 2), line = i % (STEPS / 2);
        const uint8_t *source = packed + group * OC_Q4_BLOCK_BYTES + (1 + line) * LINE;
        for (size_t q = 0; q < LINE; q += 16) {
            uint8x16_t bytes = vld1q_u8(source + q);
            vst1q_u8(codes + 2 * i * LINE + q, vqtbl1q_u8(table, vandq_u8(bytes, vdupq_n_u8(15))));
            vst1q_u8(codes + (2 * i + 1) * LINE + q, vqtbl1q_u8(table, vshrq_n_u8(bytes, 4)));
        }
    }
}

static void quant_fill_table(oc_kernels *table)
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

#endif

#endif
