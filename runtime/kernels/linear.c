/* linear.c - see linear.h: chooses the way of multiplying by the matrix's format, and the parts that
 * the ways share. Besides matrix.c and the packing of activations, the only switch on format. */
#include "runtime/kernels/linear_job.h"

#include "runtime/base/memory.h"

/* Multiply-adds below which waking the pool costs more than it saves (about 5 microseconds). */
static const double SERIAL_PRODUCTS = 262144.0;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

oc_pool *oc_linear_pool(const oc_compute *compute, const oc_matrix *weight, size_t rows)
{
    double products = (double)weight->rows * (double)weight->cols * (double)rows;
    return products < SERIAL_PRODUCTS ? NULL : compute->pool;
}

bool oc_linear_take_scratch(oc_linear_job *job, const oc_compute *compute, oc_arena *arena,
                            size_t bytes)
{
    job->scratch_bytes = oc_round_up(bytes, OC_ALIGNMENT);
    job->scratch = oc_arena_take(arena, (size_t)oc_pool_threads(compute->pool), job->scratch_bytes);
    return !arena->dry && !arena->overflow;
}

size_t oc_linear_cut(oc_linear_job *job, size_t most_rows, size_t multiple)
{
    size_t rows = job->x->rows, outputs = job->weight->rows;
    size_t blocks = rows / most_rows + (rows % most_rows != 0);
    job->block_rows = rows / blocks + multiple - 1;
    job->block_rows -= job->block_rows % multiple;
    job->strip_panels = rows < OC_STRIP_LEAST_ROWS ? 1 : OC_STRIP_PANELS;
    job->row_blocks = rows / job->block_rows + (rows % job->block_rows != 0);
    size_t strip = job->strip_panels * job->panel_outputs;
    return (outputs / strip + (outputs % strip != 0)) * job->row_blocks;
}

void oc_linear_add_bias(const oc_linear_job *job, float *y, size_t first, size_t count)
{
    if (job->bias != NULL) {
        job->kernels->add(y, job->bias + first, count);
    }
}

void oc_linear_finish(const oc_linear_job *job, size_t row, size_t rows, size_t first, size_t count,
                      const float *sums, size_t sums_stride)
{
    const oc_linear_output *output = job->output;
    oc_finish finish = {.rows = rows,
                        .count = count,
                        .sums = sums,
                        .sums_stride = sums_stride,
                        .bias = output->bias != NULL ? output->bias + first : NULL,
                        .pointwise = output->pointwise,
                        .add = output->add,
                        .y_stride = output->y_stride,
                        .halves_stride = output->halves_stride};
    if (output->in_halves) {
        finish.halves = output->halves + row * output->halves_stride + first;
    } else {
        finish.y = output->y + row * output->y_stride + first;
    }
    job->kernels->finish(&finish);
}

void oc_linear_store(const oc_linear_job *job, size_t item, const float *sums)
{
    size_t row = item % job->row_blocks * job->block_rows;
    size_t rows = least(job->block_rows, job->x->rows - row);
    for (size_t p = 0; p < job->strip_panels; p++) {
        size_t first = (item / job->row_blocks * job->strip_panels + p) * job->panel_outputs;
        if (first >= job->weight->rows) {
            return;
        }
        size_t count = least(job->panel_outputs, job->weight->rows - first);
        oc_linear_finish(job, row, rows, first, count,
                         sums + p * job->block_rows * job->panel_outputs, job->panel_outputs);
    }
}

/* ---- results that are finished afterwards ---------------------------------------------------- */

static void finish_rows(void *argument, size_t begin, size_t end, int worker)
{
    const oc_linear_job *job = argument;
    (void)worker;
    oc_linear_finish(job, begin, end - begin, 0, job->weight->rows, job->y + begin * job->y_stride,
                     job->y_stride);
}

/* Where products go straight to y: OpenBLAS, and few rows of codes. */
static bool goes_straight(const oc_linear_job *job)
{
    const oc_linear_output *output = job->output;
    bool plain = output->pointwise == OC_POINTWISE_NONE && !output->add && !output->in_halves;
    switch (job->weight->format) {
    case OC_FORMAT_F32: return !plain;
    case OC_FORMAT_Q8:
    case OC_FORMAT_Q4: return !plain && job->x->rows <= job->kernels->quant_few;
    default: return false;
    }
}

static void multiply(oc_linear_job *job, const oc_compute *compute, oc_arena *arena)
{
    switch (job->weight->format) {
    case OC_FORMAT_Q8:
    case OC_FORMAT_Q4: oc_linear_quantised(job, compute, arena); return;
    case OC_FORMAT_BF16:
        if (job->kernels->bf16_products) {
            oc_linear_bf16(job, compute, arena);
            return;
        }
        break;
    case OC_FORMAT_F32:
    case OC_FORMAT_F16: break;
    }
    oc_linear_floats(job, compute, arena);
}

/* The product goes to memory of the arena and from there through the output. */
static void multiply_and_finish(oc_linear_job *job, const oc_compute *compute, oc_arena *arena)
{
    const oc_linear_output *output = job->output;
    float *sums = oc_arena_take(arena, job->x->rows, job->weight->rows * sizeof *sums);
    oc_linear_output plain = {.y = sums, .y_stride = job->weight->rows};
    job->output = &plain;
    job->bias = NULL;
    job->y = sums;
    job->y_stride = job->weight->rows;
    multiply(job, compute, arena);
    job->output = output;
    if (!arena->dry && !arena->overflow) {
        oc_pool_run(job->pool, job->x->rows, 16, finish_rows, job);
    }
}

static bool is_prepared(const oc_compute *compute, oc_format format, const oc_activations *x)
{
    if (oc_format_is_quantised(format)) {
        return x->has_quantised;
    }
    return oc_linear_takes_halves(compute, format) ? x->has_halves : x->has_panels;
}

void oc_linear_into(const oc_compute *compute, oc_arena *arena, const oc_matrix *weight,
                    const oc_activations *x, const oc_linear_output *output)
{
    size_t mark = oc_arena_mark(arena);
    oc_activations prepared = *x;
    if (x->rows == 0 || weight->rows == 0) {
        return;
    }
    if (!is_prepared(compute, weight->format, x)) {
        oc_activations_prepare(&prepared, compute, arena, weight->format, x->x, x->rows, x->cols,
                               x->stride);
    }
    oc_linear_job job = {.kernels = compute->kernels,
                         .weight = weight,
                         .bias = output->bias,
                         .x = &prepared,
                         .y = output->y,
                         .y_stride = output->y_stride,
                         .output = output,
                         .pool = oc_linear_pool(compute, weight, x->rows)};
    if (goes_straight(&job)) {
        multiply_and_finish(&job, compute, arena);
    } else {
        multiply(&job, compute, arena);
    }
    oc_arena_release(arena, mark);
}

void oc_linear(const oc_compute *compute, oc_arena *arena, const oc_matrix *weight,
               const float *bias, const oc_activations *x, float *y, size_t y_stride)
{
    oc_linear_output output = {.bias = bias, .y = y, .y_stride = y_stride};
    oc_linear_into(compute, arena, weight, x, &output);
}
