/* matrix.h - a weight matrix W [rows, cols] in one of the forms that oc_linear multiplies.
 *
 * F32 is plain row-major and may be the mapped checkpoint itself. F16 is plain row-major too. BF16 is
 * the packed layout of bf16_format.h, Q8 and Q4 that of quant_format.h: the same bytes on disk and in
 * memory. */
#ifndef OC_KERNELS_MATRIX_H
#define OC_KERNELS_MATRIX_H

#include "runtime/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum oc_format {
    OC_FORMAT_F32,
    OC_FORMAT_F16,
    OC_FORMAT_BF16,
    OC_FORMAT_Q8,
    OC_FORMAT_Q4
} oc_format;
enum { OC_FORMATS = 5 };

/* Rows are packed in tiles of this many; oc_matrix_pack takes whole tiles (the last may be short). */
enum { OC_MATRIX_TILE = 16 };

typedef struct oc_matrix {
    const void
        *data; /* not owned; OC_ALIGNMENT aligned for BF16, Q8 and Q4, element aligned else */
    size_t rows, cols;
    oc_format format;
} oc_matrix;

/* "q8" */
const char *oc_format_name(oc_format format);
bool oc_format_from_name(const char *name, oc_format *out);

/* Bytes of a matrix in this format; false when it does not fit size_t. */
bool oc_matrix_bytes(oc_format format, size_t rows, size_t cols, size_t *out);

/* Packs rows [first, first + count) from source, float32 [count, cols], into data, the whole matrix
 * of rows x cols. first is a multiple of OC_MATRIX_TILE; count is too, or ends at rows. Disjoint row
 * ranges may be packed by several threads at once. Scalar, the same bytes on every machine. */
void oc_matrix_pack(oc_format format, void *data, size_t rows, size_t cols, size_t first,
                    size_t count, const float *source);

/* Reads one row back as float32 [cols]. */
void oc_matrix_row(const oc_matrix *matrix, size_t row, float *out);

#endif
