/* bf16_format.h - the packed layout of BF16 matrices, on disk and in memory alike.
 *
 * A matrix W [rows, cols] is cut into tiles of 16 rows, as Q8 and Q4 are. Rows are padded to a multiple
 * of 16 and columns to an even number, with zeros. A tile is a run of lines of 64 bytes:
 *
 *     line of 64 bytes: step s, 2 columns
 *     | row 0      | row 1      | ... | row 15 |
 *     | 2s, 2s + 1 | 2s, 2s + 1 |     |        |   bfloat16, element 2 r + c of the line
 *
 * Why so:
 * - One 64-byte load is one operand of a bfloat16 dot product instruction (VDPBF16PS): 16 outputs,
 *   2 columns.
 * - Without such an instruction the line is two vectors of 16 outputs in float32: the even column
 *   shifted up, the odd one masked. No transposition, as row-major weights need.
 * - The numbers are those of a bfloat16 checkpoint; only their places change. */
#ifndef OC_KERNELS_BF16_FORMAT_H
#define OC_KERNELS_BF16_FORMAT_H

#include "runtime/kernels/matrix.h"

enum {
    OC_BF16_TILE = OC_MATRIX_TILE, /* rows of a tile */
    OC_BF16_STEP = 2,              /* columns that one dot product instruction sums */
    OC_BF16_LINE = OC_BF16_TILE * OC_BF16_STEP * 2 /* bytes */
};

/* Bytes from the start of a tile to the weight of a row of the tile in a column. */
static inline size_t oc_bf16_at(size_t lane, size_t column)
{
    return column / OC_BF16_STEP * OC_BF16_LINE +
           (lane * OC_BF16_STEP + column % OC_BF16_STEP) * sizeof(uint16_t);
}

typedef struct oc_bf16_layout {
    size_t tiles;       /* ceil(rows / 16) */
    size_t steps;       /* ceil(cols / 2) */
    size_t tile_bytes;  /* steps * 64 */
    size_t total_bytes; /* tiles * tile_bytes */
} oc_bf16_layout;

/* False when the sizes do not fit size_t. */
bool oc_bf16_layout_of(size_t rows, size_t cols, oc_bf16_layout *out);

#endif
