/* activations.c - the forms in which rows of activations meet weights; see linear.h. */
#include "runtime/kernels/linear.h"

/* Rows of a chunk of work: about this many floats. */
enum { CHUNK_FLOATS = 16384 };

static size_t chunk_rows(size_t cols, size_t multiple)
{
    size_t rows = CHUNK_FLOATS / (cols > 0 ? cols : 1);
    rows -= rows % multiple;
    return rows > multiple ? rows : multiple;
}

size_t oc_quantised_panel(const oc_kernels *kernels, size_t rows)
{
    return rows <= OC_QUANT_FEW_ROWS ? rows : kernels->quant_rows;
}

typedef struct prepare_job {
    const oc_kernels *kernels;
    const oc_activations *activations;
} prepare_job;

static void quantize_rows(void *argument, size_t begin, size_t end, int worker)
{
    const prepare_job *job = argument;
    const oc_activations *a = job->activations;
    const oc_quantised *q = &a->quantised;
    size_t panel_rows = oc_quantised_panel(job->kernels, a->rows);
    size_t all_groups = q->padded / OC_QUANT_GROUP;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        size_t first = r - r % panel_rows, lane = r - first;
        size_t rows = a->rows - first < panel_rows ? a->rows - first : panel_rows;
        for (size_t g = 0; g < all_groups; g += OC_QUANT_BLOCK_GROUPS) {
            size_t width = all_groups - g, col = g * OC_QUANT_GROUP;
            width = width < OC_QUANT_BLOCK_GROUPS ? width : OC_QUANT_BLOCK_GROUPS;
            size_t left = a->cols - col, most = width * OC_QUANT_GROUP;
            size_t at = g * a->rows + first * width; /* in groups */
            job->kernels->quantize(q->values + at * OC_QUANT_GROUP + lane * OC_QUANT_STEP,
                                   rows * OC_QUANT_STEP, q->groups + at + lane, rows,
                                   a->x + r * a->stride + col, left < most ? left : most);
        }
    }
}

static void transpose_rows(void *argument, size_t begin, size_t end, int worker)
{
    const prepare_job *job = argument;
    const oc_activations *a = job->activations;
    size_t panel_rows = job->kernels->gemm_rows;
    size_t padded = (a->rows + panel_rows - 1) / panel_rows * panel_rows;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        for (size_t block = 0; block < a->cols; block += OC_DEPTH_BLOCK) {
            size_t width = a->cols - block < OC_DEPTH_BLOCK ? a->cols - block : OC_DEPTH_BLOCK;
            const float *x = a->x + r * a->stride + block;
            float *panel =
                a->panels + block * padded + (r - r % panel_rows) * width + r % panel_rows;
            for (size_t k = 0; k < width; k++) {
                panel[k * panel_rows] = x[k];
            }
        }
    }
}

static void prepare_quantised(oc_activations *a, const oc_compute *compute, oc_arena *arena)
{
    size_t groups = a->cols / OC_QUANT_GROUP + (a->cols % OC_QUANT_GROUP != 0);
    a->has_quantised = true;
    a->quantised.padded = groups * OC_QUANT_GROUP;
    a->quantised.values = oc_arena_take(arena, a->rows, a->quantised.padded);
    a->quantised.groups = oc_arena_take(arena, a->rows * groups, sizeof(oc_quant_group));
    if (!arena->dry && !arena->overflow) {
        prepare_job job = {compute->kernels, a};
        size_t chunk = chunk_rows(a->cols, 1);
        oc_pool_run(a->rows > chunk ? compute->pool : NULL, a->rows, chunk, quantize_rows, &job);
    }
}

static void prepare_panels(oc_activations *a, const oc_compute *compute, oc_arena *arena)
{
    size_t panel_rows = compute->kernels->gemm_rows;
    size_t panels = a->rows / panel_rows + (a->rows % panel_rows != 0);
    a->has_panels = true;
    a->panels = oc_arena_take(arena, panels * panel_rows * sizeof(float), a->cols);
    if (!arena->dry && !arena->overflow) {
        prepare_job job = {compute->kernels, a};
        oc_pool_run(compute->pool, a->rows, chunk_rows(a->cols, panel_rows), transpose_rows, &job);
    }
}

void oc_activations_prepare(oc_activations *out, const oc_compute *compute, oc_arena *arena,
                            oc_format format, const float *x, size_t rows, size_t cols,
                            size_t stride)
{
    *out = (oc_activations){.x = x, .rows = rows, .cols = cols, .stride = stride};
    switch (format) {
    case OC_FORMAT_Q8:
    case OC_FORMAT_Q4: prepare_quantised(out, compute, arena); return;
    case OC_FORMAT_F16:
    case OC_FORMAT_BF16: break;
    case OC_FORMAT_F32:
        if (compute->kernels->blas_sound) {
            return;
        }
        break;
    }
    /* Few rows are read where they are: packing pays when panels of weights follow one another. */
    if (rows > compute->kernels->gemm_rows) {
        prepare_panels(out, compute, arena);
    }
}
