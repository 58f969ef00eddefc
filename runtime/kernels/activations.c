/* activations.c - the forms in which rows of activations meet weights; see linear.h. */
#include "runtime/kernels/linear.h"
#include "runtime/kernels/operations.h"

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
    if (rows == 0 || rows > kernels->quant_few) {
        return kernels->quant_rows;
    }
    size_t panels = (rows - 1) / OC_QUANT_FEW_ROWS + 1;
    return (rows - 1) / panels + 1;
}

typedef struct prepare_job {
    const oc_kernels *kernels;
    const oc_activations *activations;
    const oc_norm *norm; /* NULL: rows are taken as they are */
    float *normed;       /* [threads][cols], where there is a norm */
} prepare_job;

/* Row r, normed if that is asked for. */
static const float *row_of(const prepare_job *job, size_t r, int worker)
{
    const oc_activations *a = job->activations;
    const float *x = a->x + r * a->stride;
    if (job->norm == NULL) {
        return x;
    }
    float *normed = job->normed + (size_t)worker * a->cols;
    if (job->norm->bias == NULL) {
        job->kernels->rms_norm(normed, x, job->norm->weight, a->cols, job->norm->eps);
    } else {
        job->kernels->layer_norm(normed, x, job->norm->weight, job->norm->bias, a->cols,
                                 job->norm->eps);
    }
    return normed;
}

static void quantize_rows(void *argument, size_t begin, size_t end, int worker)
{
    const prepare_job *job = argument;
    const oc_activations *a = job->activations;
    const oc_quantised *q = &a->quantised;
    size_t panel_rows = oc_quantised_panel(job->kernels, a->rows);
    size_t all_groups = q->padded / OC_QUANT_GROUP;
    size_t block = a->rows <= job->kernels->quant_few ? all_groups : OC_QUANT_BLOCK_GROUPS;
    for (size_t r = begin; r < end; r++) {
        const float *x = row_of(job, r, worker);
        size_t first = r - r % panel_rows, lane = r - first;
        size_t rows = a->rows - first < panel_rows ? a->rows - first : panel_rows;
        for (size_t g = 0; g < all_groups; g += block) {
            size_t width = all_groups - g, col = g * OC_QUANT_GROUP;
            width = width < block ? width : block;
            size_t left = a->cols - col, most = width * OC_QUANT_GROUP;
            size_t at = g * a->rows + first * width; /* in groups */
            job->kernels->quantize(q->values + at * OC_QUANT_GROUP + lane * OC_QUANT_STEP,
                                   rows * OC_QUANT_STEP, q->groups + at + lane, rows, x + col,
                                   left < most ? left : most);
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

static void narrow_rows(void *argument, size_t begin, size_t end, int worker)
{
    const prepare_job *job = argument;
    const oc_activations *a = job->activations;
    uint16_t *halves = (uint16_t *)(uintptr_t)a->halves; /* taken below: ours to write */
    for (size_t r = begin; r < end; r++) {
        uint16_t *out = halves + r * a->halves_stride;
        job->kernels->narrow_bf16(out, row_of(job, r, worker), a->cols);
        if (a->cols % OC_BF16_STEP != 0) {
            out[a->cols] = 0;
        }
    }
}

/* Fills the prepared form, row by row. */
static void run_rows(const oc_activations *a, const oc_compute *compute, oc_arena *arena,
                     const oc_norm *norm, size_t multiple, oc_range_fn fn)
{
    size_t mark = oc_arena_mark(arena), chunk = chunk_rows(a->cols, multiple);
    prepare_job job = {.kernels = compute->kernels, .activations = a, .norm = norm};
    if (norm != NULL) {
        job.normed = oc_arena_take(arena, (size_t)oc_pool_threads(compute->pool),
                                   a->cols * sizeof *job.normed);
    }
    if (!arena->dry && !arena->overflow) {
        oc_pool_run(a->rows > chunk ? compute->pool : NULL, a->rows, chunk, fn, &job);
    }
    oc_arena_release(arena, mark);
}

static void prepare_quantised(oc_activations *a, const oc_compute *compute, oc_arena *arena,
                              const oc_norm *norm)
{
    size_t groups = a->cols / OC_QUANT_GROUP + (a->cols % OC_QUANT_GROUP != 0);
    a->has_quantised = true;
    a->quantised.padded = groups * OC_QUANT_GROUP;
    a->quantised.values = oc_arena_take(arena, a->rows, a->quantised.padded);
    a->quantised.groups = oc_arena_take(arena, a->rows * groups, sizeof(oc_quant_group));
    run_rows(a, compute, arena, norm, 1, quantize_rows);
}

static void prepare_panels(oc_activations *a, const oc_compute *compute, oc_arena *arena)
{
    size_t panel_rows = compute->kernels->gemm_rows;
    size_t panels = a->rows / panel_rows + (a->rows % panel_rows != 0);
    a->has_panels = true;
    a->panels = oc_arena_take(arena, panels * panel_rows * sizeof(float), a->cols);
    run_rows(a, compute, arena, NULL, panel_rows, transpose_rows);
}

static void prepare_halves(oc_activations *a, const oc_compute *compute, oc_arena *arena,
                           const oc_norm *norm)
{
    a->has_halves = true;
    a->halves_stride = oc_halves_stride(a->cols);
    a->halves = oc_arena_take(arena, a->rows, a->halves_stride * sizeof *a->halves);
    run_rows(a, compute, arena, norm, 1, narrow_rows);
}

size_t oc_halves_stride(size_t cols)
{
    enum { LINE = OC_BF16_LINE / sizeof(uint16_t) };
    size_t lines = cols / LINE + (cols % LINE != 0);
    return (lines | 1) * LINE;
}

bool oc_linear_takes_halves(const oc_compute *compute, oc_format format)
{
    return format == OC_FORMAT_BF16 && compute->kernels->bf16_products;
}

void oc_activations_from_halves(oc_activations *out, const uint16_t *halves, size_t rows,
                                size_t cols)
{
    *out = (oc_activations){.rows = rows,
                            .cols = cols,
                            .has_halves = true,
                            .halves = halves,
                            .halves_stride = oc_halves_stride(cols)};
}

void oc_activations_prepare(oc_activations *out, const oc_compute *compute, oc_arena *arena,
                            oc_format format, const float *x, size_t rows, size_t cols,
                            size_t stride)
{
    *out = (oc_activations){.x = x, .rows = rows, .cols = cols, .stride = stride};
    switch (format) {
    case OC_FORMAT_Q8:
    case OC_FORMAT_Q4: prepare_quantised(out, compute, arena, NULL); return;
    case OC_FORMAT_BF16:
        if (compute->kernels->bf16_products) {
            prepare_halves(out, compute, arena, NULL);
            return;
        }
        break;
    case OC_FORMAT_F16: break;
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

void oc_norm_rows(const oc_compute *compute, float *y, const float *x, const oc_norm *norm,
                  size_t rows, size_t cols)
{
    if (norm->bias == NULL) {
        oc_rms_norm(compute, y, x, norm->weight, rows, cols, cols, norm->eps);
    } else {
        oc_layer_norm(compute, y, x, norm->weight, norm->bias, rows, cols, norm->eps);
    }
}

void oc_activations_prepare_normed(oc_activations *out, const oc_compute *compute, oc_arena *arena,
                                   oc_format format, const oc_norm *norm, const float *x,
                                   size_t rows, size_t cols)
{
    bool quantised = oc_format_is_quantised(format);
    if (quantised || oc_linear_takes_halves(compute, format)) {
        *out = (oc_activations){.x = x, .rows = rows, .cols = cols, .stride = cols};
        (quantised ? prepare_quantised : prepare_halves)(out, compute, arena, norm);
        out->x = NULL; /* not what was prepared */
        return;
    }
    float *normed = oc_arena_take(arena, rows, cols * sizeof *normed);
    if (!arena->dry && !arena->overflow) {
        oc_norm_rows(compute, normed, x, norm, rows, cols);
    }
    oc_activations_prepare(out, compute, arena, format, normed, rows, cols, cols);
}
