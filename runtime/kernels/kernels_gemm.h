/* kernels_gemm.h - the float32 product and the packing of its panels, written once over a tier's
 * vector operations, as kernels_loops.h is. Before inclusion the tier defines OC_GEMM_TILE_ROWS (4, 6
 * or 8) and OC_GEMM_VECTORS, the size of the block of sums that stays in registers, and vec_transpose.
 *
 * Every sum is one chain of fused multiply-adds over k in order, whatever the shape of the block it
 * was computed in. */
#ifndef OC_KERNELS_KERNELS_GEMM_H
#define OC_KERNELS_KERNELS_GEMM_H

#if defined(OC_VECTOR_LANES)

#include "runtime/kernels/half.h"
#include "runtime/kernels/kernels.h"

#include <string.h>

enum { GEMM_COLS = OC_GEMM_VECTORS * OC_VECTOR_LANES };

/* Vector c of a row of y of which outputs elements count. */
static inline vec gemm_load(const float *y, size_t outputs, size_t c)
{
    size_t first = c * OC_VECTOR_LANES;
    if (outputs == GEMM_COLS) {
        return vec_load(y + first);
    }
    return outputs > first ? vec_load_part(y + first, outputs - first) : vec_zero();
}

static inline void gemm_store(float *y, vec sums, size_t outputs, size_t c)
{
    size_t first = c * OC_VECTOR_LANES;
    if (outputs == GEMM_COLS) {
        vec_store(y + first, sums);
    } else if (outputs > first) {
        vec_store_part(y + first, sums, outputs - first);
    }
}

/* One block of ROWS rows. A macro because the number must be a constant for the sums to be registers,
 * and inlining is not a promise. */
#define OC_DEFINE_GEMM_TILE(ROWS)                                                                  \
    static void gemm_tile_##ROWS(const oc_gemm *job, size_t first)                                 \
    {                                                                                              \
        vec sums[ROWS][OC_GEMM_VECTORS];                                                           \
        const float *x = job->x + first * job->x_row, *w = job->w;                                 \
        float *y = job->y + first * job->y_stride;                                                 \
        const size_t x_row = job->x_row, x_step = job->x_step, w_step = job->w_step;               \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            for (size_t c = 0; c < OC_GEMM_VECTORS; c++) {                                         \
                sums[r][c] =                                                                       \
                    job->add ? gemm_load(y + r * job->y_stride, job->outputs, c) : vec_zero();     \
            }                                                                                      \
        }                                                                                          \
        for (size_t k = job->depth; k > 0; k--) {                                                  \
            vec weights[OC_GEMM_VECTORS];                                                          \
            for (size_t c = 0; c < OC_GEMM_VECTORS; c++) {                                         \
                weights[c] = vec_load(w + c * OC_VECTOR_LANES);                                    \
            }                                                                                      \
            for (size_t r = 0; r < ROWS; r++) {                                                    \
                vec value = vec_set(x[r * x_row]);                                                 \
                for (size_t c = 0; c < OC_GEMM_VECTORS; c++) {                                     \
                    sums[r][c] = vec_fma(value, weights[c], sums[r][c]);                           \
                }                                                                                  \
            }                                                                                      \
            x += x_step;                                                                           \
            w += w_step;                                                                           \
        }                                                                                          \
        for (size_t r = 0; r < ROWS; r++) {                                                        \
            for (size_t c = 0; c < OC_GEMM_VECTORS; c++) {                                         \
                gemm_store(y + r * job->y_stride, sums[r][c], job->outputs, c);                    \
            }                                                                                      \
        }                                                                                          \
    }

OC_DEFINE_GEMM_TILE(1)
OC_DEFINE_GEMM_TILE(2)
OC_DEFINE_GEMM_TILE(3)
OC_DEFINE_GEMM_TILE(4)
#if OC_GEMM_TILE_ROWS > 4
OC_DEFINE_GEMM_TILE(5)
OC_DEFINE_GEMM_TILE(6)
#endif
#if OC_GEMM_TILE_ROWS > 6
OC_DEFINE_GEMM_TILE(7)
OC_DEFINE_GEMM_TILE(8)
#endif

static void gemm_tiles(const oc_gemm *job)
{
    size_t row = 0;
    while (row < job->rows) {
        size_t left = job->rows - row;
        switch (left < OC_GEMM_TILE_ROWS ? left : OC_GEMM_TILE_ROWS) {
        case 1: gemm_tile_1(job, row); break;
        case 2: gemm_tile_2(job, row); break;
        case 3: gemm_tile_3(job, row); break;
        case 4: gemm_tile_4(job, row); break;
#if OC_GEMM_TILE_ROWS > 4
        case 5: gemm_tile_5(job, row); break;
        case 6: gemm_tile_6(job, row); break;
#endif
#if OC_GEMM_TILE_ROWS > 6
        case 7: gemm_tile_7(job, row); break;
        case 8: gemm_tile_8(job, row); break;
#endif
        }
        row += OC_GEMM_TILE_ROWS;
    }
}

/* ---- panels ---------------------------------------------------------------------------------- */

static inline vec pack_load_f32(const void *rows, size_t at)
{
    return vec_load((const float *)rows + at);
}

static inline vec pack_load_f16(const void *rows, size_t at)
{
    return vec_load_f16((const uint16_t *)rows + at);
}

static inline float pack_one_f32(const void *rows, size_t at)
{
    return ((const float *)rows)[at];
}

static inline float pack_one_f16(const void *rows, size_t at)
{
    return oc_f16_widen(((const uint16_t *)rows)[at]);
}

/* Squares of LANES x LANES through registers; what is left over one by one. */
#define OC_DEFINE_PACK(FORMAT)                                                                     \
    static void pack_##FORMAT(float *panel, const void *rows, size_t stride, size_t count,         \
                              size_t depth)                                                        \
    {                                                                                              \
        for (size_t first = 0; first < GEMM_COLS; first += OC_VECTOR_LANES) {                      \
            size_t left = count > first ? count - first : 0, k = 0;                                \
            left = left < OC_VECTOR_LANES ? left : OC_VECTOR_LANES;                                \
            for (; left > 0 && k + OC_VECTOR_LANES <= depth; k += OC_VECTOR_LANES) {               \
                vec square[OC_VECTOR_LANES];                                                       \
                for (size_t i = 0; i < OC_VECTOR_LANES; i++) {                                     \
                    square[i] = i < left ? pack_load_##FORMAT(rows, (first + i) * stride + k)      \
                                         : vec_zero();                                             \
                }                                                                                  \
                vec_transpose(square);                                                             \
                for (size_t i = 0; i < OC_VECTOR_LANES; i++) {                                     \
                    vec_store(panel + (k + i) * GEMM_COLS + first, square[i]);                     \
                }                                                                                  \
            }                                                                                      \
            for (; k < depth; k++) {                                                               \
                for (size_t i = 0; i < OC_VECTOR_LANES; i++) {                                     \
                    panel[k * GEMM_COLS + first + i] =                                             \
                        i < left ? pack_one_##FORMAT(rows, (first + i) * stride + k) : 0.0f;       \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

OC_DEFINE_PACK(f32)
OC_DEFINE_PACK(f16)

/* The two columns of each output stand beside one another: as 32-bit lanes, the odd one above the even
 * one. A line is widened through a small array, which compilers turn into shifts and masks. */
static void pack_tiles_bf16(float *panel, const void *packed, size_t packed_stride, size_t first,
                            size_t end, size_t depth)
{
    for (size_t i = 0; i < GEMM_COLS; i += OC_BF16_TILE) {
        size_t output = first + i;
        bool missing = output >= end;
        const unsigned char *tile =
            (const unsigned char *)packed + (missing ? 0 : output / OC_BF16_TILE * packed_stride);
        uint32_t keep[OC_BF16_TILE];
        for (size_t lane = 0; lane < OC_BF16_TILE; lane++) {
            keep[lane] = output + lane < end ? UINT32_MAX : 0;
        }
        for (size_t k = 0; k < depth; k++) {
            uint32_t pairs[OC_BF16_TILE];
            unsigned up = k % OC_BF16_STEP == 0 ? 16 : 0;
            memcpy(pairs, tile + (missing ? 0 : k / OC_BF16_STEP * OC_BF16_LINE), sizeof pairs);
            for (size_t lane = 0; lane < OC_BF16_TILE; lane++) {
                pairs[lane] = (pairs[lane] << up) & 0xffff0000u & keep[lane];
            }
            memcpy(panel + k * GEMM_COLS + i, pairs, sizeof pairs);
        }
    }
}

static void gemm_fill_table(oc_kernels *table)
{
    table->gemm_rows = OC_GEMM_TILE_ROWS;
    table->gemm_cols = GEMM_COLS;
    table->gemm = gemm_tiles;
    table->pack[OC_FORMAT_F32] = pack_f32;
    table->pack[OC_FORMAT_F16] = pack_f16;
    table->pack_bf16 = pack_tiles_bf16;
}

#endif

#endif
