/* linear.h - y = x Wt + b for a matrix in any form, split over the pool.
 *
 * The bits of one output row depend on that row of x and on W alone: not on how many rows are
 * multiplied together and not on the number of threads. (F32 through OpenBLAS is the exception.)
 * BF16 weights meet activations as they are, or, with kernels that have bfloat16 products, rounded
 * to it. */
#ifndef OC_KERNELS_LINEAR_H
#define OC_KERNELS_LINEAR_H

#include "runtime/base/arena.h"
#include "runtime/kernels/compute.h"
#include "runtime/kernels/matrix.h"

/* Activations are prepared in blocks of columns, and within a block in panels of the few rows that
 * a kernel takes together: what a pass over all rows reads of one block is one run of memory. */
enum {
    OC_QUANT_BLOCK_GROUPS = 8, /* groups of OC_QUANT_GROUP columns; even: whole blocks of weights */
    OC_DEPTH_BLOCK = 256       /* columns of a float32 block */
};

/* The int8 form. For more rows than quant_few: block b of w groups (8, the last may have fewer) begins at values + b * 512 *
 * rows; there the panel of n rows from row r on (r a multiple of oc_quantised_panel) is at + r * w
 * * 64, [w * 16 steps][n][4]. Likewise groups + b * 8 * rows, + r * w: [w][n]. For few rows all groups are
 * one block. */
typedef struct oc_quantised {
    int8_t *values;         /* [rows * padded] */
    oc_quant_group *groups; /* [rows * padded / 64] */
    size_t padded;          /* columns, a multiple of OC_QUANT_GROUP */
} oc_quantised;

/* Rows of a panel: quant_rows, or, for the few_ kernels, as even parts of all as they can take. */
size_t oc_quantised_panel(const oc_kernels *kernels, size_t rows);

/* Rows of activations, prepared once for all the matrices that multiply them (q, k and v; gate and
 * up): float32, and what a format needs beside: int8, float32 transposed in panels, or bfloat16.
 * Block b of w columns begins at panels + b * 256 * padded rows (a multiple of gemm_rows); there
 * the panel from row r on is at + r * w, [w][gemm_rows]. */
typedef struct oc_activations {
    const float *x; /* [rows, stride]; NULL where only a prepared form was ever made */
    size_t rows, cols, stride;
    /* Prepared; on a dry arena these say so though nothing is there. */
    bool has_quantised, has_panels, has_halves;
    oc_quantised quantised;
    float *panels; /* [padded rows * cols] */
    const uint16_t
        *halves; /* bfloat16 [rows, halves_stride]; one odd column is followed by a zero */
    size_t halves_stride;
} oc_activations;

/* Takes from arena what the products with matrices of this format need for rows x cols (works on a
 * dry arena: the only way to know the size) and, unless dry, prepares the rows. x is borrowed. */
void oc_activations_prepare(oc_activations *out, const oc_compute *compute, oc_arena *arena,
                            oc_format format, const float *x, size_t rows, size_t cols,
                            size_t stride);

/* The same of LayerNorm(x): y = (x - mean) / sqrt(variance + eps) * weight + bias, as oc_layer_norm
 * does it, rounded on its way into the prepared form where there is one. Without a bias of
 * RMSNorm(x), as oc_rms_norm does it. */
typedef struct oc_norm {
    const float *weight, *bias; /* [cols]; bias NULL: RMSNorm */
    float eps;
} oc_norm;
/* The norm itself: x, y [rows, cols]; y may be x. */
void oc_norm_rows(const oc_compute *compute, float *y, const float *x, const oc_norm *norm,
                  size_t rows, size_t cols);
void oc_activations_prepare_normed(oc_activations *out, const oc_compute *compute, oc_arena *arena,
                                   oc_format format, const oc_norm *norm, const float *x,
                                   size_t rows, size_t cols);

/* True when matrices of this format meet activations in bfloat16: what is written as such (see
 * oc_linear_output) need not be prepared. */
bool oc_linear_takes_halves(const oc_compute *compute, oc_format format);
/* Elements from row to row of bfloat16 activations: rows begin at cache lines, an odd number of
 * them apart, so that neighbouring rows do not meet in one set of a cache. */
size_t oc_halves_stride(size_t cols);
/* Activations that are bfloat16 already: [rows, oc_halves_stride(cols)]. */
void oc_activations_from_halves(oc_activations *out, const uint16_t *halves, size_t rows,
                                size_t cols);

/* What becomes of a product: value = f(sum + bias), stored or added. */
typedef struct oc_linear_output {
    const float *bias; /* [weight->rows] or NULL */
    oc_pointwise pointwise;
    bool add;       /* onto y; not with in_halves */
    bool in_halves; /* rounded to bfloat16, to halves in place of y (on a dry arena say so too) */
    float *y;       /* [rows, y_stride] */
    size_t y_stride;
    uint16_t *halves; /* [rows, halves_stride] */
    size_t halves_stride;
} oc_linear_output;

/* As oc_linear with any output. Nothing is passed over twice: what is done to the sums is done
 * while they are in the cache, except after OpenBLAS and with few rows. */
void oc_linear_into(const oc_compute *compute, oc_arena *arena, const oc_matrix *weight,
                    const oc_activations *x, const oc_linear_output *output);

/* y [rows, y_stride], the first weight->rows of each row are written; bias [weight->rows] or NULL.
 * x must have weight->cols columns; if x was not prepared for this format, that is done here and
 * thrown away. y must not overlap x. arena gives temporary memory (a dry arena
 * only counts; then x->x and y may be NULL). */
void oc_linear(const oc_compute *compute, oc_arena *arena, const oc_matrix *weight,
               const float *bias, const oc_activations *x, float *y, size_t y_stride);

/* One of several products of the same rows, as oc_linear. */
typedef struct oc_linear_part {
    const oc_matrix *weight;
    const float *bias; /* [weight->rows] or NULL */
    float *y;          /* [rows, y_stride] */
    size_t y_stride;
} oc_linear_part;

enum { OC_LINEAR_PARTS = 3 };

/* The products of count parts (1..OC_LINEAR_PARTS), few rows of Q8 and Q4 in one pass. The same
 * bits as one after another. */
void oc_linear_several(const oc_compute *compute, oc_arena *arena, const oc_linear_part *parts,
                       size_t count, const oc_activations *x);

#endif
