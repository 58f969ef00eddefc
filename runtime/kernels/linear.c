/* linear.c - see linear.h: chooses the way of multiplying by the matrix's format, and the parts that
 * both ways share. Besides matrix.c and the packing of activations, the only switch on format. */
#include "runtime/kernels/linear_job.h"

#include "runtime/base/memory.h"

#include <string.h>

/* Multiply-adds below which waking the pool costs more than it saves (about 5 microseconds). */
static const double SERIAL_PRODUCTS = 262144.0;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool oc_linear_take_scratch(oc_linear_job *job, const oc_compute *compute, oc_arena *arena,
                            size_t bytes)
{
    size_t whole = bytes + OC_ALIGNMENT - 1;
    job->scratch_bytes = whole - whole % OC_ALIGNMENT;
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
        for (size_t r = 0; r < rows; r++) {
            float *y = job->y + (row + r) * job->y_stride + first;
            memcpy(y, sums + (p * job->block_rows + r) * job->panel_outputs, count * sizeof *y);
            oc_linear_add_bias(job, y, first, count);
        }
    }
}

void oc_linear(const oc_compute *compute, oc_arena *arena, const oc_matrix *weight,
               const float *bias, const oc_activations *x, float *y, size_t y_stride)
{
    size_t mark = oc_arena_mark(arena);
    oc_activations prepared = *x;
    bool quantised = weight->format == OC_FORMAT_Q8 || weight->format == OC_FORMAT_Q4;
    double products = (double)weight->rows * (double)weight->cols * (double)x->rows;
    if (x->rows == 0 || weight->rows == 0) {
        return;
    }
    if (quantised ? !x->has_quantised : !x->has_panels) {
        oc_activations_prepare(&prepared, compute, arena, weight->format, x->x, x->rows, x->cols,
                               x->stride);
    }
    oc_linear_job job = {.kernels = compute->kernels,
                         .weight = weight,
                         .bias = bias,
                         .x = &prepared,
                         .y = y,
                         .y_stride = y_stride,
                         .pool = products < SERIAL_PRODUCTS ? NULL : compute->pool};
    if (quantised) {
        oc_linear_quantised(&job, compute, arena);
    } else {
        oc_linear_floats(&job, compute, arena);
    }
    oc_arena_release(arena, mark);
}
