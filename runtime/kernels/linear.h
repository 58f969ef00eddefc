/* linear.h - y = x Wt + b for a matrix in any form, split over the pool.
 *
 * The bits of one output row depend on that row of x and on W alone: not on how many rows are
 * multiplied together and not on the number of threads. (F32 through OpenBLAS is the exception.) */
#ifndef OC_KERNELS_LINEAR_H
#define OC_KERNELS_LINEAR_H

#include "runtime/base/arena.h"
#include "runtime/kernels/compute.h"
#include "runtime/kernels/matrix.h"

/* The int8 form of activations: panels of quant_rows rows (the last may have fewer), row r in panel
 * r / quant_rows. A panel of n rows from row r on: values + r * padded is [padded / 4][n][4], groups
 * + r * (padded / 64) is [padded / 64][n]. */
typedef struct oc_quantised {
    int8_t *values;
    oc_quant_group *groups;
    size_t padded; /* columns, a multiple of OC_QUANT_GROUP */
} oc_quantised;

/* Rows of activations, prepared once for all the matrices that multiply them (q, k and v; gate and
 * up): float32, and what a format needs beside: int8, or float32 transposed in panels. */
typedef struct oc_activations {
    const float *x; /* [rows, stride] */
    size_t rows, cols, stride;
    bool has_quantised,
        has_panels; /* prepared; on a dry arena these say so though nothing is there */
    oc_quantised quantised;
    float *panels; /* [ceil(rows / gemm_rows)][cols][gemm_rows] */
} oc_activations;

/* Takes from arena what the products with matrices of this format need for rows x cols (works on a
 * dry arena: the only way to know the size) and, unless dry, prepares the rows. x is borrowed. */
void oc_activations_prepare(oc_activations *out, const oc_compute *compute, oc_arena *arena,
                            oc_format format, const float *x, size_t rows, size_t cols,
                            size_t stride);

/* y [rows, y_stride], the first weight->rows of each row are written; bias [weight->rows] or NULL.
 * x must have weight->cols columns; if x was not prepared for this format, that is done here and
 * thrown away. y must not overlap x. arena gives temporary memory (a dry arena
 * only counts; then x->x and y may be NULL). */
void oc_linear(const oc_compute *compute, oc_arena *arena, const oc_matrix *weight,
               const float *bias, const oc_activations *x, float *y, size_t y_stride);

#endif
