/* operations.h - row-wise arithmetic, split over the pool. All arrays are float32.
 * y may be x in every function. */
#ifndef OC_KERNELS_OPERATIONS_H
#define OC_KERNELS_OPERATIONS_H

#include "runtime/kernels/compute.h"

/* y = x / sqrt(mean(x^2) + eps) * weight; x, y [rows, stride], the first cols of each row. */
void oc_rms_norm(const oc_compute *compute, float *y, const float *x, const float *weight,
                 size_t rows, size_t cols, size_t stride, float eps);
/* y = (x - mean) / sqrt(variance + eps) * weight + bias; biased variance; x, y [rows, cols]. */
void oc_layer_norm(const oc_compute *compute, float *y, const float *x, const float *weight,
                   const float *bias, size_t rows, size_t cols, float eps);
/* y = silu(gate) * up; [count]. silu(x) = x / (1 + exp(-x)). */
void oc_silu_mul(const oc_compute *compute, float *y, const float *gate, const float *up,
                 size_t count);
/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): blocks of the tower. */
void oc_gelu_tanh(const oc_compute *compute, float *y, const float *x, size_t count);
/* 0.5 x (1 + erf(x / sqrt(2))): mergers. */
void oc_gelu_erf(const oc_compute *compute, float *y, const float *x, size_t count);
/* x sigmoid(1.702 x): blocks of Qwen2-VL's tower. */
void oc_quick_gelu(const oc_compute *compute, float *y, const float *x, size_t count);
/* y += x; [count]. */
void oc_add(const oc_compute *compute, float *y, const float *x, size_t count);
/* Rotates heads in place: for i < half: (a, b) = (v[i], v[i + half]) becomes
 * (a cos - b sin, b cos + a sin). v: row r's head h begins at base + r * stride + h * 2 * half.
 * cosine, sine [rows, half]. */
void oc_rope(const oc_compute *compute, float *base, size_t rows, size_t stride, size_t heads,
             size_t half, const float *cosine, const float *sine);
/* Softmax in place over one row. */
void oc_softmax(const oc_compute *compute, float *x, size_t count);

#endif
