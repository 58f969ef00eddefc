/* quant_format.h - the packed layout of Q8 and Q4 matrices, on disk and in memory alike.
 *
 * A matrix W [rows, cols] is cut into tiles of 16 rows. Columns are padded to a multiple of 64, rows
 * to a multiple of 16; what is padded decodes to zero or meets zero activations. A tile is a run of
 * blocks, one after another along the columns, all a multiple of 64 bytes:
 *
 *     Q8, 128 columns                             Q4, 64 columns
 *     | scales  bfloat16 [2][16]     64 bytes |   | scales  bfloat16 [2][16]     64 bytes |
 *     | codes   byte [32][16][4]   2048 bytes |   | codes   byte [8][16][4]     512 bytes |
 *
 *     (The last block of Q8 has half the codes when the columns are an odd multiple of 64.)
 *
 *     Q8 line of 64 bytes: step s, 4 columns      Q4 line of 64 bytes: steps 2j and 2j + 1
 *     | row 0      | row 1      | ... | row 15 |  | row 0                    | row 1 ...
 *     | 4s .. 4s+3 | 4s .. 4s+3 |     |        |  | high: 8j + 4 .. 8j + 7   |
 *     byte 4 r + c                                | low:  8j     .. 8j + 3   |   byte 4 r + c
 *
 * Q8: group of 64 columns, weight = scale * (code - 128), code 1..255. 8.25 bits a weight.
 * Q4: group of 32 columns, weight = scale * OC_Q4_VALUES[code]; the table is not uniform, dense
 *     around zero as weights are; the sign of the scale says which end of the table is the longer.
 *     4.5 bits a weight.
 *
 * Why so:
 * - One 64-byte load is one operand of an int8 dot product instruction: 16 outputs, 4 columns. The
 *   same bytes serve one row of activations (bound by memory) and many (bound by arithmetic).
 * - Scales stand beside their codes, so a tile is read as one stream. With all scales of a tile in
 *   front of all its codes the memory delivered 14 GB/s to a core instead of 22 (Zen 5).
 * - Codes are unsigned because the instruction (VPDPBUSD) multiplies unsigned by signed. The offset
 *   of 128 costs nothing: the sum starts at -128 * sum(x), known from the activations alone.
 * - Q4 decodes by a table look-up of 16 bytes into the bytes of Q8: one product for both.
 * - bfloat16 scales have float32's range: no weight can overflow or vanish through its scale, as
 *   with float16. Codes are chosen for the rounded scale, so its 8 bits cost next to nothing.
 * - Q8 in 64 columns and activations in 64 columns: 16 dot instructions to 2 of float32. */
#ifndef OC_KERNELS_QUANT_FORMAT_H
#define OC_KERNELS_QUANT_FORMAT_H

#include "runtime/kernels/matrix.h"

enum {
    OC_QUANT_TILE = OC_MATRIX_TILE, /* rows of a tile */
    OC_QUANT_STEP = 4,              /* columns that one dot product instruction sums */
    OC_QUANT_LINE = OC_QUANT_TILE * OC_QUANT_STEP,
    OC_QUANT_GROUP = 64, /* columns of one scale of the activations; columns are padded to it */
    OC_Q8_GROUP = 64,    /* columns of one scale of Q8 weights */
    OC_Q4_GROUP = 32,    /* columns of one scale of Q4 weights */
    OC_QUANT_OFFSET = 128
};

/* Group of activations: x = scale * code, code int8 in [-127, 127]. */
typedef struct oc_quant_group {
    float scale;
    int32_t correction; /* -128 * sum of the 64 codes: where the sum with Q8 codes starts */
    int32_t half[2];    /* -128 * sum of each 32 codes: the same for Q4 */
} oc_quant_group;

enum {
    OC_QUANT_SCALES = 2 * OC_QUANT_TILE, /* bfloat16 scales at the front of a block: 64 bytes */
    OC_QUANT_STEPS = OC_QUANT_GROUP / OC_QUANT_STEP, /* lines of 8-bit codes in 64 columns */
    OC_Q8_BLOCK = 128,                               /* columns */
    OC_Q8_BLOCK_BYTES = OC_QUANT_LINE + OC_Q8_BLOCK / OC_QUANT_STEP * OC_QUANT_LINE,
    OC_Q4_BLOCK = 64,
    OC_Q4_BLOCK_BYTES = OC_QUANT_LINE + OC_Q4_BLOCK / OC_QUANT_STEP / 2 * OC_QUANT_LINE
};

/* Bytes from the start of a tile to the scale, and to the code, of a row of the tile in a column. (Of
 * Q4's bytes, even steps have the low half.) For packing and reading back; kernels walk. */
static inline size_t oc_quant_scale_at(oc_format format, size_t lane, size_t column)
{
    bool wide = format == OC_FORMAT_Q8;
    size_t block = column / (wide ? OC_Q8_BLOCK : OC_Q4_BLOCK);
    size_t group = column / (wide ? OC_Q8_GROUP : OC_Q4_GROUP) % 2;
    return block * (wide ? OC_Q8_BLOCK_BYTES : OC_Q4_BLOCK_BYTES) +
           (group * OC_QUANT_TILE + lane) * sizeof(uint16_t);
}

static inline size_t oc_quant_code_at(oc_format format, size_t lane, size_t column)
{
    bool wide = format == OC_FORMAT_Q8;
    size_t block = column / (wide ? OC_Q8_BLOCK : OC_Q4_BLOCK);
    size_t line = column % (wide ? OC_Q8_BLOCK : OC_Q4_BLOCK) / OC_QUANT_STEP / (wide ? 1 : 2);
    return block * (wide ? OC_Q8_BLOCK_BYTES : OC_Q4_BLOCK_BYTES) + (1 + line) * OC_QUANT_LINE +
           lane * OC_QUANT_STEP + column % OC_QUANT_STEP;
}

/* True of the formats that this file describes. */
static inline bool oc_format_is_quantised(oc_format format)
{
    return format == OC_FORMAT_Q8 || format == OC_FORMAT_Q4;
}

typedef struct oc_quant_layout {
    size_t tiles;       /* ceil(rows / 16) */
    size_t groups;      /* of 64 columns */
    size_t tile_bytes;  /* a multiple of 64 */
    size_t total_bytes; /* tiles * tile_bytes */
} oc_quant_layout;

/* format is Q8 or Q4. False when the sizes do not fit size_t. */
bool oc_quant_layout_of(oc_format format, size_t rows, size_t cols, oc_quant_layout *out);

/* What the 16 codes of Q4 stand for, in units of the scale: fitted (Lloyd's method) to groups of 32
 * normal, heavier-tailed and unevenly scaled numbers, zero kept exact. Mean square error 0.54 % of
 * normal weights' power, 0.62 % of heavy-tailed ones'; even steps with the best scale lose 0.66 % and
 * 0.95 %, even steps between minimum and maximum 0.61 % and 0.76 % and take 5 bits a weight, not 4.5. */
#define OC_Q4_VALUES                                                                               \
    {                                                                                              \
        -127, -93, -72, -55, -42, -30, -19, -9, 0, 10, 20, 31, 44, 59, 77, 100                     \
    }

#endif
