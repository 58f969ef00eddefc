/* kernels_neon_i8mm.c - products of many rows with packed weights for 64-bit Arm with int8 matrix
 * multiplication: USMMLA multiplies two rows of unsigned codes by two rows of activations, 8 columns, as
 * much again as a dot product does. Few rows have nothing of it; theirs are the dotprod tier's. */
#include "runtime/kernels/kernels.h"

#if defined(__aarch64__)

#include "runtime/kernels/kernels_neon_quant.h"

/* Half a tile by eight rows: 16 registers of sums, each of 2 outputs by 2 rows. */
enum { ROWS = 8, ROW_PAIRS = ROWS / 2, OUTPUT_PAIRS = 4, HALF_LINE = LINE / 2, HALF_QUARTERS = 2 };

/* Two steps (8 columns) of eight rows, in pairs of rows; those from `rows` on are zero. */
static inline void load_rows(int8x16_t pairs[ROW_PAIRS], const int8_t *x, size_t x_step,
                             size_t rows)
{
    int8_t both[2][ROWS * OC_QUANT_STEP] = {{0}};
    const int8_t *first = x, *second = x + x_step;
    if (rows < ROWS) {
        memcpy(both[0], first, rows * OC_QUANT_STEP);
        memcpy(both[1], second, rows * OC_QUANT_STEP);
        first = both[0];
        second = both[1];
    }
    for (size_t i = 0; i < 2; i++) {
        int32x4_t a = vreinterpretq_s32_s8(vld1q_s8(first + 16 * i));
        int32x4_t b = vreinterpretq_s32_s8(vld1q_s8(second + 16 * i));
        pairs[2 * i] = vreinterpretq_s8_s32(vzip1q_s32(a, b));
        pairs[2 * i + 1] = vreinterpretq_s8_s32(vzip2q_s32(a, b));
    }
}

/* Sums of rows [0, rows) start with their groups' corrections: of the whole group, or of a half. */
static inline void start_sums(int32x4_t sums[OUTPUT_PAIRS][ROW_PAIRS], const oc_quant_group *groups,
                              size_t rows, int half)
{
    for (size_t p = 0; p < ROW_PAIRS; p++) {
        int32_t start[4] = {0};
        for (size_t i = 0; i < 2 && 2 * p + i < rows; i++) {
            const oc_quant_group *group = &groups[2 * p + i];
            start[i] = start[i + 2] = half < 0 ? group->correction : group->half[half];
        }
        for (size_t n = 0; n < OUTPUT_PAIRS; n++) {
            sums[n][p] = vld1q_s32(start);
        }
    }
}

/* An even number of steps; codes at half a line. */
static inline void sum_steps(int32x4_t sums[OUTPUT_PAIRS][ROW_PAIRS], const uint8_t *codes,
                             const int8_t *x, size_t x_step, size_t rows, size_t steps)
{
    for (size_t s = 0; s < steps; s += 2) {
        int8x16_t pairs[ROW_PAIRS];
        load_rows(pairs, x + s * x_step, x_step, rows);
        for (size_t q = 0; q < HALF_QUARTERS; q++) {
            uint32x4_t a = vreinterpretq_u32_u8(vld1q_u8(codes + s * LINE + 16 * q));
            uint32x4_t b = vreinterpretq_u32_u8(vld1q_u8(codes + (s + 1) * LINE + 16 * q));
            uint8x16_t low = vreinterpretq_u8_u32(vzip1q_u32(a, b));
            uint8x16_t high = vreinterpretq_u8_u32(vzip2q_u32(a, b));
            for (size_t p = 0; p < ROW_PAIRS; p++) {
                sums[2 * q][p] = vusmmlaq_s32(sums[2 * q][p], low, pairs[p]);
                sums[2 * q + 1][p] = vusmmlaq_s32(sums[2 * q + 1][p], high, pairs[p]);
            }
        }
    }
}

/* Four outputs of row r. */
static inline float32x4_t take_sums(int32x4_t sums[OUTPUT_PAIRS][ROW_PAIRS], size_t q, size_t r)
{
    int32x4_t low = sums[2 * q][r / 2], high = sums[2 * q + 1][r / 2];
    return vcvtq_f32_s32(r % 2 == 0 ? vuzp1q_s32(low, high) : vuzp2q_s32(low, high));
}

static inline void add_scaled(float *y, float32x4_t scaled, float scale)
{
    vst1q_f32(y, vfmaq_n_f32(vld1q_f32(y), scaled, scale));
}

static void product_q8(const oc_quant_product *job)
{
    const size_t x_step = job->rows * OC_QUANT_STEP;
    for (size_t i = 0; i < 2 * job->tiles * job->groups; i++) {
        size_t half = i / job->groups, g = i % job->groups;
        const unsigned char *block =
            job->packed + half / 2 * job->packed_stride + g / 2 * OC_Q8_BLOCK_BYTES;
        const oc_quant_group *groups = job->x_groups + g * job->rows;
        int32x4_t sums[OUTPUT_PAIRS][ROW_PAIRS];
        start_sums(sums, groups, job->rows, -1);
        sum_steps(sums, block + (1 + g % 2 * STEPS) * LINE + half % 2 * HALF_LINE,
                  job->x + g * STEPS * x_step, x_step, job->rows, STEPS);
        for (size_t q = 0; q < HALF_QUARTERS; q++) {
            float32x4_t scale = load_scales(block, g % 2, half % 2 * HALF_QUARTERS + q);
            for (size_t r = 0; r < job->rows; r++) {
                float *y = job->y + r * job->y_stride + half * TILE / 2 + 4 * q;
                add_scaled(y, vmulq_f32(take_sums(sums, q, r), scale), groups[r].scale);
            }
        }
    }
}

static void product_q4(const oc_quant_product *job)
{
    const size_t x_step = job->rows * OC_QUANT_STEP;
    for (size_t i = 0; i < 2 * job->tiles * job->groups; i++) {
        size_t half = i / job->groups, g = i % job->groups;
        const unsigned char *block =
            job->packed + half / 2 * job->packed_stride + g * OC_Q4_BLOCK_BYTES;
        const uint8_t *codes =
            job->codes + half / 2 * job->codes_stride + g * STEPS * LINE + half % 2 * HALF_LINE;
        const int8_t *x = job->x + g * STEPS * x_step;
        const oc_quant_group *groups = job->x_groups + g * job->rows;
        int32x4_t first[OUTPUT_PAIRS][ROW_PAIRS], second[OUTPUT_PAIRS][ROW_PAIRS];
        start_sums(first, groups, job->rows, 0);
        sum_steps(first, codes, x, x_step, job->rows, STEPS / 2);
        start_sums(second, groups, job->rows, 1);
        sum_steps(second, codes + STEPS / 2 * LINE, x + STEPS / 2 * x_step, x_step, job->rows,
                  STEPS / 2);
        for (size_t q = 0; q < HALF_QUARTERS; q++) {
            size_t quarter = half % 2 * HALF_QUARTERS + q;
            float32x4_t scales[2] = {load_scales(block, 0, quarter),
                                     load_scales(block, 1, quarter)};
            for (size_t r = 0; r < job->rows; r++) {
                float *y = job->y + r * job->y_stride + half * TILE / 2 + 4 * q;
                float32x4_t sum = vmulq_f32(take_sums(first, q, r), scales[0]);
                sum = vfmaq_f32(sum, take_sums(second, q, r), scales[1]);
                add_scaled(y, sum, groups[r].scale);
            }
        }
    }
}

void oc_kernels_init_i8mm(oc_kernels *table)
{
    table->tier = "i8mm";
    table->quant_rows = ROWS;
    table->product_q8 = product_q8;
    table->product_q4 = product_q4;
}

#endif
