/* linear_floats.c - products in float32 with F32, F16 and BF16 weights, see linear_job.h: dot products
 * for few rows of F32, OpenBLAS for many, and for the rest the float32 kernel on panels of widened
 * weights. (BF16 comes here where there are no bfloat16 products.) */
#include "runtime/kernels/linear_job.h"

#include "runtime/kernels/gemm_blas.h"

enum {
    /* Fewer float32 rows than this are dot products: a library call costs more. */
    BLAS_ROWS = 4,
    /* Columns of a panel of widened weights: 256 x 32 floats fill a 32 KiB level-1 cache. */
    DEPTH_BLOCK = OC_DEPTH_BLOCK,
    /* Rows that share a widened panel: making it costs a few percent of using it. */
    BLOCK_ROWS = 256
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- dot products ---------------------------------------------------------------------------- */

static void dot_outputs(void *argument, size_t begin, size_t end, int worker)
{
    const oc_linear_job *job = argument;
    const oc_activations *x = job->x;
    (void)worker;
    for (size_t n = begin; n < end; n++) {
        const float *w = (const float *)job->weight->data + n * x->cols;
        for (size_t r = 0; r < x->rows; r++) {
            float sum = job->kernels->dot(x->x + r * x->stride, w, x->cols);
            job->y[r * job->y_stride + n] = job->bias != NULL ? sum + job->bias[n] : sum;
        }
    }
}

/* ---- OpenBLAS -------------------------------------------------------------------------------- */

static void bias_rows(void *argument, size_t begin, size_t end, int worker)
{
    const oc_linear_job *job = argument;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        oc_linear_add_bias(job, job->y + r * job->y_stride, 0, job->weight->rows);
    }
}

static bool multiply_blas(oc_linear_job *job)
{
    const oc_activations *x = job->x;
    if (!oc_gemm_blas(x->rows, job->weight->rows, x->cols, x->x, x->stride, job->weight->data,
                      job->y, job->y_stride)) {
        return false;
    }
    if (job->bias != NULL) {
        oc_pool_run(job->pool, x->rows, 16, bias_rows, job);
    }
    return true;
}

static size_t element_size(oc_format format)
{
    return format == OC_FORMAT_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* ---- panels ---------------------------------------------------------------------------------- */

/* What is asked for while a panel is multiplied: the next one's weights, as `runs` runs of bytes. */
typedef struct next_panel {
    const unsigned char *data; /* NULL: none */
    size_t stride, bytes, runs;
} next_panel;

/* One panel's columns [depth, depth + gemm->depth) times rows [row, row_end). Weights come from memory
 * for their first use; meanwhile the next panel is asked for, a run with every block of rows. */
static void multiply_panel(const oc_linear_job *job, oc_gemm *gemm, size_t depth, size_t row,
                           size_t row_end, const next_panel *next)
{
    const oc_kernels *k = job->kernels;
    const oc_activations *x = job->x;
    size_t padded = (x->rows + k->gemm_rows - 1) / k->gemm_rows * k->gemm_rows, asked = 0;
    while (row < row_end) {
        if (x->has_panels) { /* row is a multiple of gemm_rows */
            gemm->rows = least(k->gemm_rows, row_end - row);
            gemm->x = x->panels + depth * padded + row * gemm->depth;
            gemm->x_row = 1;
            gemm->x_step = k->gemm_rows;
        } else {
            gemm->rows = row_end - row;
            gemm->x = x->x + row * x->stride + depth;
            gemm->x_row = x->stride;
            gemm->x_step = 1;
        }
        k->gemm(gemm);
        gemm->y += gemm->rows * gemm->y_stride;
        row += gemm->rows;
        if (next->data != NULL && asked < next->runs) {
            k->prefetch(next->data + asked * next->stride, next->bytes);
            asked++;
        }
    }
}

/* Widens columns [depth, depth + count) of outputs from `first` on; says where the next panel is. Whole
 * panels only: what is asked for must be there. */
static next_panel widen_panel(const oc_linear_job *job, float *widened, size_t first, size_t depth,
                              size_t count)
{
    const oc_kernels *k = job->kernels;
    const oc_matrix *w = job->weight;
    next_panel next = {.data = NULL};
    bool more = first + 2 * k->gemm_cols <= w->rows;
    if (w->format == OC_FORMAT_BF16) {
        size_t tile_bytes = (w->cols / OC_BF16_STEP + w->cols % OC_BF16_STEP) * OC_BF16_LINE;
        const unsigned char *packed =
            (const unsigned char *)w->data + depth / OC_BF16_STEP * OC_BF16_LINE;
        k->pack_bf16(widened, packed, tile_bytes, first, w->rows, count);
        if (more) {
            next.data = packed + (first + k->gemm_cols) / OC_BF16_TILE * tile_bytes;
            next.stride = tile_bytes;
            next.bytes = count / OC_BF16_STEP * OC_BF16_LINE;
            next.runs = k->gemm_cols / OC_BF16_TILE;
        }
        return next;
    }
    size_t element = element_size(w->format);
    const unsigned char *source =
        (const unsigned char *)w->data + (first * w->cols + depth) * element;
    k->pack[w->format](widened, source, w->cols, least(k->gemm_cols, w->rows - first), count);
    if (more) {
        next.stride = w->cols * element;
        next.data = source + k->gemm_cols * next.stride;
        next.bytes = count * element;
        next.runs = k->gemm_cols;
    }
    return next;
}

static void multiply_item(const oc_linear_job *job, size_t item, float *widened, float *sums)
{
    const oc_kernels *k = job->kernels;
    const oc_matrix *w = job->weight;
    size_t row = item % job->row_blocks * job->block_rows;
    size_t row_end = least(row + job->block_rows, job->x->rows), depth = 0;
    oc_gemm gemm = {.outputs = k->gemm_cols, .w = widened, .w_step = k->gemm_cols};
    gemm.y_stride = k->gemm_cols;
    do { /* once even without columns: it writes zeros */
        gemm.depth = least(DEPTH_BLOCK, w->cols - depth);
        gemm.add = depth > 0;
        for (size_t p = 0; p < job->strip_panels; p++) {
            size_t first = (item / job->row_blocks * job->strip_panels + p) * k->gemm_cols;
            if (first >= w->rows) {
                break;
            }
            next_panel next = widen_panel(job, widened, first, depth, gemm.depth);
            if (p + 1 == job->strip_panels) {
                next.data = NULL;
            }
            gemm.y = sums + p * job->block_rows * k->gemm_cols;
            multiply_panel(job, &gemm, depth, row, row_end, &next);
        }
        depth += gemm.depth;
    } while (depth < w->cols);
    oc_linear_store(job, item, sums);
}

static void multiply_items(void *argument, size_t begin, size_t end, int worker)
{
    const oc_linear_job *job = argument;
    float *widened = (float *)(void *)(job->scratch + (size_t)worker * job->scratch_bytes);
    for (size_t item = begin; item < end; item++) {
        multiply_item(job, item, widened, widened + DEPTH_BLOCK * job->kernels->gemm_cols);
    }
}

void oc_linear_floats(oc_linear_job *job, const oc_compute *compute, oc_arena *arena)
{
    bool plain = job->weight->format == OC_FORMAT_F32;
    size_t rows = job->x->rows;
    job->panel_outputs = job->kernels->gemm_cols;
    size_t items = oc_linear_cut(job, BLOCK_ROWS, job->kernels->gemm_rows);
    size_t floats = (DEPTH_BLOCK + job->strip_panels * job->block_rows) * job->panel_outputs;
    if (!oc_linear_take_scratch(job, compute, arena, floats * sizeof(float))) {
        return;
    }
    if (plain && rows < BLAS_ROWS) {
        size_t row_bytes = job->weight->cols * sizeof(float) + 1;
        oc_pool_run(job->pool, job->weight->rows, OC_ROW_CHUNK_BYTES / row_bytes + 1, dot_outputs,
                    job);
    } else if (!plain || !job->kernels->blas_sound || !multiply_blas(job)) {
        oc_pool_run(job->pool, items, 1, multiply_items, job);
    }
}
