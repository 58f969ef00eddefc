/* kernels_neon_dotprod.c - products with packed weights for 64-bit Arm with the int8 dot product. */
#include "runtime/kernels/kernels.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <string.h>

typedef struct tile_sums {
    int32x4_t quarter[4]; /* four rows of the tile each */
} tile_sums;

static inline void tile_clear(tile_sums *sums)
{
    for (size_t q = 0; q < 4; q++) {
        sums->quarter[q] = vdupq_n_s32(0);
    }
}

static inline void tile_add(tile_sums *sums, const int8x16_t line[4], int8x16_t x)
{
    for (size_t q = 0; q < 4; q++) {
        sums->quarter[q] = vdotq_s32(sums->quarter[q], line[q], x);
    }
}

static inline int32x4_t tile_quarter(const tile_sums *sums, size_t q)
{
    return sums->quarter[q];
}

enum { TOGETHER = 4 }; /* rows in registers: 16 sums */
#define OC_NEON_TILE

#include "runtime/kernels/kernels_neon_quant.h"

void oc_kernels_init_dotprod(oc_kernels *table)
{
    table->tier = "dotprod";
    quant_fill_table(table);
}

#endif
