/* kernels.h - the table of arithmetic for one instruction set: function pointers and tile sizes.
 *
 * A kernel knows one instruction set, one tile and one thread. It never allocates and never fails.
 * Pointers need the alignment of their element type only, unless said otherwise. Sizes may be any,
 * zero too. Within one table, the bits of each result depend on its own inputs alone. */
#ifndef OC_KERNELS_KERNELS_H
#define OC_KERNELS_KERNELS_H

#include "runtime/kernels/bf16_format.h"
#include "runtime/kernels/quant_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No tier has tiles larger than these. */
enum { OC_GEMM_ROWS_MAX = 16, OC_GEMM_COLS_MAX = 64, OC_QUANT_ROWS_MAX = 32 };
/* Tiles of packed BF16 that matrices are multiplied by and weigh_bf16 takes together; in every
 * tier. */
enum { OC_BF16_TILES = 3, OC_BF16_COLS = OC_BF16_TILES * OC_BF16_TILE };
/* Tiles that product_bf16 takes at most. */
enum { OC_BF16_MOST_TILES = 4 };
/* Rows that the few_ products take at most. */
enum { OC_QUANT_FEW_ROWS = 8 };

/* y[r][n] (+)= sum over k of x[r][k] * w[k][n], float32, k in order from 0: one chain of fused
 * multiply-adds for each y, so that splitting depth in blocks changes no bit. */
typedef struct oc_gemm {
    size_t rows;    /* any */
    size_t depth;   /* k */
    size_t outputs; /* n, at most gemm_cols; only these are written */
    const float *x; /* element (r, k) at x[r * x_row + k * x_step] */
    size_t x_row, x_step;
    const float *w; /* element (k, n) at w[k * w_step + n]; gemm_cols are read of each k */
    size_t w_step;
    float *y; /* [rows, y_stride] */
    size_t y_stride;
    bool add; /* onto what y holds */
} oc_gemm;

/* One tile or two of packed weights times up to quant_rows rows of quantised activations, over
 * `groups` consecutive groups of OC_QUANT_GROUP columns. */
typedef struct oc_quant_product {
    size_t rows;                    /* 1..quant_rows; few_: 1..OC_QUANT_FEW_ROWS */
    size_t tiles;                   /* 1 or 2 */
    size_t groups;                  /* of OC_QUANT_GROUP columns */
    const int8_t *x;                /* [groups * 16 steps][rows][4] */
    const oc_quant_group *x_groups; /* [groups][rows] */
    const unsigned char *packed;    /* the first tile at its first group, the start of a block */
    size_t packed_stride;           /* bytes to the second tile */
    const uint8_t *codes;           /* Q4 only: the first tile's groups as unpack_q4 leaves them */
    size_t codes_stride;            /* bytes to the second tile's */
    float *y;                       /* [rows][y_stride], 16 * tiles of each row are added to */
    size_t y_stride;
} oc_quant_product;

/* y[r][n] (+)= sum over c of x[r][c] * w[n][c], both bfloat16, sums float32. A step of two columns
 * adds two products; steps go in order from 0, one chain of sums for each y: where depth is cut and
 * which rows and tiles are multiplied together changes no bit. Numbers of less than 2^-126 may
 * count as zero. */
typedef struct oc_bf16_product {
    size_t rows;          /* any */
    size_t tiles;         /* 1..OC_BF16_MOST_TILES */
    size_t steps;         /* of 2 columns */
    const uint16_t *x;    /* element (r, c) at x[r * x_stride + c] */
    size_t x_stride;      /* even */
    const void *packed;   /* the first tile at its first step */
    size_t packed_stride; /* bytes to the next tile's line of the same step */
    size_t packed_step;   /* bytes to the tile's line of the next step */
    float *y;             /* [rows][y_stride], 16 * tiles of each row are written */
    size_t y_stride;
    bool add; /* onto what y holds */
} oc_bf16_product;

/* A block of attention scores becomes weights; lanes are queries. Scores are to the base 2. Weights
 * are relative to a score that is at most so much less than the largest: it follows only when it
 * must, for then all sums are multiplied. */
enum { OC_BF16_WEIGHT_SLACK = 8 };
typedef struct oc_bf16_weighing {
    size_t keys;         /* rows of scores; 0 is not allowed */
    size_t tiles;        /* of 16 queries, 1..OC_BF16_TILES */
    const float *scores; /* [keys][OC_BF16_COLS] */
    float *max;   /* [OC_BF16_COLS]: what weights are relative to, -INFINITY at first; raised to the
                 * block's largest score if that is more than OC_BF16_WEIGHT_SLACK above it */
    float *total; /* [OC_BF16_COLS]: sum of weights so far, 0 at first */
    void *weights;         /* [tiles][weights_stride]: lines of [16 queries][2 keys] bfloat16 */
    size_t weights_stride; /* bytes to the next tile of 16 queries */
    size_t dims;           /* rows of sums */
    float *sums;           /* [dims][OC_BF16_COLS]: multiplied by 2^(old max - max) */
} oc_bf16_weighing;

/* The same with scores as they come from a page of a kv cache (attention.h): rows are queries. */
enum { OC_BF16_PAGE_KEYS = 64 };
typedef struct oc_bf16_page {
    size_t queries;
    size_t keys; /* of the page, 1..OC_BF16_PAGE_KEYS */
    const size_t
        *visible;        /* [queries]: the first so many keys weigh, the others nothing; may be 0 */
    float scale;         /* > 0: times a score it is to the base 2 */
    const float *scores; /* [queries][OC_BF16_PAGE_KEYS], all may be read */
    float *max;          /* [queries], of scaled scores, -INFINITY at first; see above */
    float *total;        /* [queries]: sum of weights so far, 0 at first */
    uint16_t *weights;   /* [queries][OC_BF16_PAGE_KEYS], keys and one more if that is odd are
                            * written at least */
    size_t dims;
    float *sums; /* [queries][dims]: multiplied by 2^(old max - max) */
} oc_bf16_page;

/* What becomes of the sums of a linear product: + bias, a function, and where it goes. */
typedef enum oc_pointwise {
    OC_POINTWISE_NONE,
    OC_POINTWISE_GELU_TANH,
    OC_POINTWISE_GELU_ERF
} oc_pointwise;

typedef struct oc_finish {
    size_t rows, count; /* elements of a row */
    const float *sums;  /* [rows][sums_stride] */
    size_t sums_stride;
    const float *bias; /* [count] or NULL */
    oc_pointwise pointwise;
    bool add; /* onto what y holds */
    float *y; /* [rows][y_stride]; may be sums */
    size_t y_stride;
    /* If not NULL the results go here, rounded to bfloat16, in place of y; the function may then be
     * off by 2e-4 of itself, a twentieth of the rounding. */
    uint16_t *halves;
    size_t halves_stride;
} oc_finish;

typedef void (*oc_pack_fn)(float *panel, const void *rows, size_t stride, size_t count,
                           size_t depth);

typedef struct oc_kernels {
    const char *tier;  /* "avx512" */
    bool blas_sound;   /* float32 products of many rows may go to OpenBLAS: a known one was right */
    size_t gemm_rows;  /* rows that gemm handles best together */
    size_t gemm_cols;  /* width of a panel */
    size_t quant_rows; /* rows of a panel of quantised activations */
    size_t quant_few;  /* so many rows at most are multiplied by the few_ kernels, one panel after
                        * another while a tile is in the caches; at least OC_QUANT_FEW_ROWS */
    bool bf16_products; /* product_bf16 is fast: BF16 weights meet activations in bfloat16 */

    /* Asks for the cache lines of [from, from + bytes), level 2, without waiting;
     * changes nothing. */
    void (*prefetch)(const void *from, size_t bytes);
    /* Sum of a[i] * b[i]. */
    float (*dot)(const float *a, const float *b, size_t count);
    void (*widen_f16)(float *out, const uint16_t *in, size_t count);
    void (*widen_bf16)(float *out, const uint16_t *in, size_t count);
    /* Nearest even; beyond the range of float16 its largest finite value. NaN stays NaN. */
    void (*narrow_f16)(uint16_t *out, const float *in, size_t count);

    /* Nearest even; NaN stays NaN; numbers of less than 2^-126 may become zero. */
    void (*narrow_bf16)(uint16_t *out, const float *in, size_t count);

    /* By oc_format, F32 and F16: panel [depth][gemm_cols] = the first depth columns of count
     * (at most gemm_cols) rows, transposed and widened; row i begins at element i * stride of rows.
     * Missing rows are zero. */
    oc_pack_fn pack[OC_FORMAT_F16 + 1];
    /* The same from packed BF16: outputs [first, first + gemm_cols) of the tiles at packed, a tile
     * being packed_stride bytes; first is a multiple of gemm_cols, outputs from end on are zero,
     * and their tiles are not read. packed is at the first of the columns, an even one. */
    void (*pack_bf16)(float *panel, const void *packed, size_t packed_stride, size_t first,
                      size_t end, size_t depth);
    void (*gemm)(const oc_gemm *job);

    void (*product_bf16)(const oc_bf16_product *job);
    /* weight = 2^(score - max), cut (not rounded) to bfloat16 with 0 for a missing second key;
     * total counts what was cut, so that the cut is in numerator and denominator alike. */
    void (*weigh_bf16)(const oc_bf16_weighing *job);
    /* weight = 2^(scale * score - max), rounded to the nearest bfloat16, and total counts what it was
     * rounded to. */
    void (*weigh_page_bf16)(const oc_bf16_page *job);
    void (*finish)(const oc_finish *job);

    /* One row of activations into int8: step s (4 columns) goes to values + s * step, group g to
     * groups[g * group_step]; cols are padded with zeros to OC_QUANT_GROUP. Scale amax / 127, codes
     * rounded half to even: the same in every tier. A group with a value that is not finite gets
     * scale NaN and codes 0; one below 1e-30 becomes zero. */
    void (*quantize)(int8_t *values, size_t step, oc_quant_group *groups, size_t group_step,
                     const float *x, size_t cols);
    /* y += products; integer sums inside a group of weights; then, in order of columns,
     * t = sum * scale (Q4: fused with the second half's), y = t * x scale + y. */
    void (*product_q8)(const oc_quant_product *job);
    void (*product_q4)(const oc_quant_product *job);
    /* The same for few rows (1..OC_QUANT_FEW_ROWS) and one tile, straight from its packed
     * bytes: what is read from memory is used at once for all rows. y is overwritten; tiles and
     * codes are not looked at. Same bits as above. */
    void (*few_q8)(const oc_quant_product *job);
    void (*few_q4)(const oc_quant_product *job);
    /* `groups` blocks of 64 columns of Q4 into 8-bit codes (value + 128),
     * [groups * 16 steps][64]. */
    void (*unpack_q4)(uint8_t *codes, const unsigned char *packed, size_t groups);

    /* A block of scores [count] of one query becomes exp(scale * (score - m)), m the largest so far
     * (*max, raised by this block). *sum becomes *sum * c + the block's sum, where the returned c =
     * exp(scale * (old max - m)) is what earlier results must be multiplied by. scale > 0. Start
     * with *max = -INFINITY and *sum = 0 (then c is 0). count 0 changes nothing and returns 1. */
    float (*softmax_block)(float *scores, size_t count, float scale, float *max, float *sum);

    /* A page of a float16 kv cache and few queries [queries, head_dim]; NULL in a tier that has no
     * faster way than widening the page for gemm, whose bits they are. keys [head_dim][64 slots]:
     * scores[q * stride + slot] = query[q] . key, all 64 slots. values [64 slots][head_dim]: sums
     * [queries, head_dim] += weights[q * stride + slot] * value, slots 0..count-1 in order. ahead:
     * another page's worth that is read next, asked for meanwhile; NULL: none. */
    void (*scores_f16)(float *scores, size_t stride, const float *query, size_t head_dim,
                       size_t queries, const uint16_t *keys, const void *ahead);
    void (*values_f16)(float *sums, size_t head_dim, const float *weights, size_t stride,
                       size_t queries, const uint16_t *values, size_t count, const void *ahead);

    void (*rms_norm)(float *y, const float *x, const float *weight, size_t count, float eps);
    void (*layer_norm)(float *y, const float *x, const float *weight, const float *bias,
                       size_t count, float eps);
    void (*silu_mul)(float *y, const float *gate, const float *up, size_t count);
    void (*gelu_tanh)(float *y, const float *x, size_t count);
    void (*gelu_erf)(float *y, const float *x, size_t count);
    void (*add)(float *y, const float *x, size_t count);
    void (*scale)(float *y, float factor, size_t count); /* y *= factor */
    /* One head: pairs (v[i], v[i + half]). */
    void (*rope)(float *v, const float *cosine, const float *sine, size_t half);
} oc_kernels;

/* Each fills the entries it has; scalar fills all and comes first. */
void oc_kernels_init_scalar(oc_kernels *table);
#if defined(__x86_64__)
void oc_kernels_init_avx2(oc_kernels *table);
void oc_kernels_init_avxvnni(oc_kernels *table); /* packed formats; over avx2 */
void oc_kernels_init_avx512(oc_kernels *table);
/* The part of each that is in a file of its own: packed formats. */
void oc_kernels_init_avx2_quant(oc_kernels *table);
void oc_kernels_init_avx512_quant(oc_kernels *table);
void oc_kernels_init_avx512_bf16(oc_kernels *table); /* bfloat16 products; over avx512 */
#elif defined(__aarch64__)
void oc_kernels_init_neon(oc_kernels *table);
void oc_kernels_init_dotprod(oc_kernels *table); /* packed formats; over neon */
void oc_kernels_init_i8mm(oc_kernels *table);    /* their products of many rows; over dotprod */
#endif

#endif
