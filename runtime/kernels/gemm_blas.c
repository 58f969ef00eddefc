/* gemm_blas.c - see gemm_blas.h. The only file that includes a header of OpenBLAS. */
#include "runtime/kernels/gemm_blas.h"

#include <limits.h>

#if defined(OCELLI_HAVE_BLAS)

#include <cblas.h>

bool oc_gemm_blas(size_t rows, size_t outputs, size_t depth, const float *x, size_t x_stride,
                  const float *w, float *y, size_t y_stride)
{
    if (rows > INT_MAX || outputs > INT_MAX || depth > INT_MAX || x_stride > INT_MAX ||
        y_stride > INT_MAX || depth == 0) {
        return false;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)outputs, (int)depth, 1.0f,
                x, (int)x_stride, w, (int)depth, 0.0f, y, (int)y_stride);
    return true;
}

/* Small whole numbers, so that any order of sums is exact; sizes that no tile divides. */
enum { ROWS = 19, OUTPUTS = 37, DEPTH = 83 };

bool oc_gemm_blas_sound(void)
{
    float x[ROWS * DEPTH], w[OUTPUTS * DEPTH], y[ROWS * OUTPUTS];
    for (int i = 0; i < ROWS * DEPTH; i++) {
        x[i] = (float)(i * 7 % 15 - 7);
    }
    for (int i = 0; i < OUTPUTS * DEPTH; i++) {
        w[i] = (float)(i * 5 % 13 - 6);
    }
    for (int i = 0; i < ROWS * OUTPUTS; i++) {
        y[i] = -1e30f;
    }
    if (!oc_gemm_blas(ROWS, OUTPUTS, DEPTH, x, DEPTH, w, y, OUTPUTS)) {
        return false;
    }
    for (int r = 0; r < ROWS; r++) {
        for (int n = 0; n < OUTPUTS; n++) {
            float sum = 0.0f;
            for (int k = 0; k < DEPTH; k++) {
                sum += x[r * DEPTH + k] * w[n * DEPTH + k];
            }
            if (!(y[r * OUTPUTS + n] == sum)) {
                return false;
            }
        }
    }
    return true;
}

#else

bool oc_gemm_blas(size_t rows, size_t outputs, size_t depth, const float *x, size_t x_stride,
                  const float *w, float *y, size_t y_stride)
{
    (void)rows, (void)outputs, (void)depth, (void)x, (void)x_stride, (void)w, (void)y;
    (void)y_stride;
    return false;
}

bool oc_gemm_blas_sound(void)
{
    return false;
}

#endif
