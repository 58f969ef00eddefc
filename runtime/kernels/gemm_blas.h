/* gemm_blas.h - float32 products of many rows through OpenBLAS, if it is built in and sound.
 *
 * Its thread count belongs to the process and is never set here. Its bits may depend on the number
 * of rows; no other product of ours does. */
#ifndef OC_KERNELS_GEMM_BLAS_H
#define OC_KERNELS_GEMM_BLAS_H

#include <stdbool.h>
#include <stddef.h>

/* True when OpenBLAS is built in and gets a known product right (some old builds do not). */
bool oc_gemm_blas_sound(void);

/* y [rows, y_stride] = x [rows, x_stride] times w [outputs, depth] transposed. False, y untouched,
 * when it is not built in or a size does not fit its integers. */
bool oc_gemm_blas(size_t rows, size_t outputs, size_t depth, const float *x, size_t x_stride,
                  const float *w, float *y, size_t y_stride);

#endif
