/* operations.c - see operations.h. Work below a fixed amount runs on the calling thread: waking the
 * pool costs more than it saves. Which way is taken depends on sizes only, never on bits. */
#include "runtime/kernels/operations.h"

#include <math.h>

/* A chunk of about 16384 floats takes a core a few microseconds; two or more are worth the pool. */
enum { CHUNK_FLOATS = 16384, SERIAL_FLOATS = 32768 };

/* Runs fn over rows of cols floats each. */
static void run_rows(const oc_compute *compute, size_t rows, size_t cols, oc_range_fn fn, void *job)
{
    size_t chunk = cols < CHUNK_FLOATS ? CHUNK_FLOATS / (cols > 0 ? cols : 1) : 1;
    if (rows <= SERIAL_FLOATS / (cols > 0 ? cols : 1)) {
        fn(job, 0, rows, 0);
    } else {
        oc_pool_run(compute->pool, rows, chunk, fn, job);
    }
}

typedef struct norm_job {
    const oc_kernels *kernels;
    float *y;       /* [rows, stride] */
    const float *x; /* [rows, stride] */
    const float *weight, *bias;
    size_t cols, stride;
    float eps;
} norm_job;

static void rms_norm_rows(void *argument, size_t begin, size_t end, int worker)
{
    const norm_job *job = argument;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        job->kernels->rms_norm(job->y + r * job->stride, job->x + r * job->stride, job->weight,
                               job->cols, job->eps);
    }
}

void oc_rms_norm(const oc_compute *compute, float *y, const float *x, const float *weight,
                 size_t rows, size_t cols, size_t stride, float eps)
{
    norm_job job = {compute->kernels, y, x, weight, NULL, cols, stride, eps};
    run_rows(compute, rows, cols, rms_norm_rows, &job);
}

static void layer_norm_rows(void *argument, size_t begin, size_t end, int worker)
{
    const norm_job *job = argument;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        job->kernels->layer_norm(job->y + r * job->stride, job->x + r * job->stride, job->weight,
                                 job->bias, job->cols, job->eps);
    }
}

void oc_layer_norm(const oc_compute *compute, float *y, const float *x, const float *weight,
                   const float *bias, size_t rows, size_t cols, float eps)
{
    norm_job job = {compute->kernels, y, x, weight, bias, cols, cols, eps};
    run_rows(compute, rows, cols, layer_norm_rows, &job);
}

typedef struct pointwise_job {
    const oc_kernels *kernels;
    float *y;       /* [count] */
    const float *x; /* [count] */
    const float *up;
} pointwise_job;

static void silu_mul_range(void *argument, size_t begin, size_t end, int worker)
{
    const pointwise_job *job = argument;
    (void)worker;
    job->kernels->silu_mul(job->y + begin, job->x + begin, job->up + begin, end - begin);
}

void oc_silu_mul(const oc_compute *compute, float *y, const float *gate, const float *up,
                 size_t count)
{
    pointwise_job job = {compute->kernels, y, gate, up};
    run_rows(compute, count, 1, silu_mul_range, &job);
}

static void gelu_tanh_range(void *argument, size_t begin, size_t end, int worker)
{
    const pointwise_job *job = argument;
    (void)worker;
    job->kernels->gelu_tanh(job->y + begin, job->x + begin, end - begin);
}

void oc_gelu_tanh(const oc_compute *compute, float *y, const float *x, size_t count)
{
    pointwise_job job = {compute->kernels, y, x, NULL};
    run_rows(compute, count, 1, gelu_tanh_range, &job);
}

static void gelu_erf_range(void *argument, size_t begin, size_t end, int worker)
{
    const pointwise_job *job = argument;
    (void)worker;
    job->kernels->gelu_erf(job->y + begin, job->x + begin, end - begin);
}

void oc_gelu_erf(const oc_compute *compute, float *y, const float *x, size_t count)
{
    pointwise_job job = {compute->kernels, y, x, NULL};
    run_rows(compute, count, 1, gelu_erf_range, &job);
}

/* silu(1.702 x) / 1.702, so that every tier's silu serves. */
static void quick_gelu_range(void *argument, size_t begin, size_t end, int worker)
{
    enum { STRETCH = 256 };
    static const float SLOPE = 1.702f;
    const pointwise_job *job = argument;
    float gate[STRETCH], rest[STRETCH];
    (void)worker;
    for (size_t i = 0; i < STRETCH; i++) {
        rest[i] = 1.0f / SLOPE;
    }
    for (size_t at = begin; at < end; at += STRETCH) {
        size_t count = end - at < STRETCH ? end - at : STRETCH;
        for (size_t i = 0; i < count; i++) {
            gate[i] = SLOPE * job->x[at + i];
        }
        job->kernels->silu_mul(job->y + at, gate, rest, count);
    }
}

void oc_quick_gelu(const oc_compute *compute, float *y, const float *x, size_t count)
{
    pointwise_job job = {compute->kernels, y, x, NULL};
    run_rows(compute, count, 1, quick_gelu_range, &job);
}

static void add_range(void *argument, size_t begin, size_t end, int worker)
{
    const pointwise_job *job = argument;
    (void)worker;
    job->kernels->add(job->y + begin, job->x + begin, end - begin);
}

void oc_add(const oc_compute *compute, float *y, const float *x, size_t count)
{
    pointwise_job job = {compute->kernels, y, x, NULL};
    run_rows(compute, count, 1, add_range, &job);
}

typedef struct rope_job {
    const oc_kernels *kernels;
    float *base; /* [rows, stride] */
    size_t stride, heads, half;
    const float *cosine, *sine; /* [rows, half] */
} rope_job;

static void rope_rows(void *argument, size_t begin, size_t end, int worker)
{
    const rope_job *job = argument;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        for (size_t h = 0; h < job->heads; h++) {
            job->kernels->rope(job->base + r * job->stride + h * 2 * job->half,
                               job->cosine + r * job->half, job->sine + r * job->half, job->half);
        }
    }
}

void oc_rope(const oc_compute *compute, float *base, size_t rows, size_t stride, size_t heads,
             size_t half, const float *cosine, const float *sine)
{
    rope_job job = {compute->kernels, base, stride, heads, half, cosine, sine};
    run_rows(compute, rows, heads * 2 * half, rope_rows, &job);
}

void oc_softmax(const oc_compute *compute, float *x, size_t count)
{
    float max = -INFINITY, sum = 0.0f;
    compute->kernels->softmax_block(x, count, 1.0f, &max, &sum);
    compute->kernels->scale(x, 1.0f / sum, count);
}
