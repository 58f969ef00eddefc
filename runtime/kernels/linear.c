/* linear.c - see linear.h: chooses the product by format and number of rows and splits it over the
 * pool by outputs and blocks of rows. The only switch on a matrix's format besides matrix.c.
 *
 * The split depends on shapes only; sums run over columns in order within one thread. */
#include "runtime/kernels/linear.h"

#include "runtime/kernels/gemm_blas.h"

#include <string.h>

enum {
    /* Fewer float32 rows than this are dot products: a library call costs more. */
    BLAS_ROWS = 4,
    /* Multiply-adds below which waking the pool costs more than it saves (about 5 microseconds). */
    SERIAL_PRODUCTS = 1 << 18,
    /* Columns of a panel of widened weights: 256 x 32 floats fill a 32 KiB level-1 cache. */
    DEPTH_BLOCK = 256,
    /* Rows that share a widened panel: making it costs a few percent of using it. */
    ROW_BLOCK = 512,
    /* Groups of columns that two tiles of packed weights hold in a level-1 cache: 16 KiB. */
    GROUP_BLOCK = 8,
    QUANT_ROW_BLOCK = 384,
    /* Bytes of weights that one claim of a one-row product reads. */
    ROW_CHUNK_BYTES = 128 * 1024,
    PAIR = 2, /* tiles of packed weights multiplied together */
    PAIR_OUTPUTS = PAIR * OC_QUANT_TILE,
    GROUP_LINES = OC_QUANT_GROUP / OC_QUANT_STEP /* 64-byte lines of 8-bit codes in a group */
};

typedef struct linear_job {
    const oc_kernels *kernels;
    const oc_matrix *weight;
    const float *bias;
    const oc_activations *x;
    float *y;
    size_t y_stride;
    oc_quant_layout layout; /* packed formats */
    size_t row_blocks;      /* work item = panel or pair * row_blocks + block of rows */
    unsigned char *scratch; /* [threads][scratch_bytes] */
    size_t scratch_bytes;
} linear_job;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static oc_pool *pool_for(const oc_compute *compute, const oc_matrix *weight, size_t rows)
{
    double products = (double)weight->rows * (double)weight->cols * (double)rows;
    return products < (double)SERIAL_PRODUCTS ? NULL : compute->pool;
}

/* Memory for every worker; false: only counted, or it did not fit. */
static bool take_scratch(linear_job *job, const oc_compute *compute, oc_arena *arena, size_t bytes)
{
    job->scratch_bytes = bytes;
    job->scratch = oc_arena_take(arena, (size_t)oc_pool_threads(compute->pool), bytes);
    return !arena->dry && !arena->overflow;
}

static void add_bias(const linear_job *job, float *y, size_t first, size_t count)
{
    if (job->bias != NULL) {
        job->kernels->add(y, job->bias + first, count);
    }
}

/* ---- float32 by dot products: few rows ------------------------------------------------------- */

static void dot_outputs(void *argument, size_t begin, size_t end, int worker)
{
    const linear_job *job = argument;
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

static void multiply_dots(linear_job *job, const oc_compute *compute)
{
    size_t row_bytes = job->x->cols * sizeof(float) + 1;
    size_t chunk = ROW_CHUNK_BYTES / row_bytes + 1;
    oc_pool_run(pool_for(compute, job->weight, job->x->rows), job->weight->rows, chunk, dot_outputs,
                job);
}

/* ---- float32 by OpenBLAS --------------------------------------------------------------------- */

static void bias_rows(void *argument, size_t begin, size_t end, int worker)
{
    const linear_job *job = argument;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        add_bias(job, job->y + r * job->y_stride, 0, job->weight->rows);
    }
}

static bool multiply_blas(linear_job *job, const oc_compute *compute)
{
    const oc_activations *x = job->x;
    if (!oc_gemm_blas(x->rows, job->weight->rows, x->cols, x->x, x->stride, job->weight->data,
                      job->y, job->y_stride)) {
        return false;
    }
    if (job->bias != NULL) {
        oc_pool_run(pool_for(compute, job->weight, x->rows), x->rows, 16, bias_rows, job);
    }
    return true;
}

/* ---- float32, float16, bfloat16 by panels of widened weights ---------------------------------- */

static void multiply_panel(const linear_job *job, size_t panel, size_t block, float *widened)
{
    const oc_kernels *k = job->kernels;
    const oc_activations *x = job->x;
    const oc_matrix *w = job->weight;
    size_t element = w->format == OC_FORMAT_F32 ? sizeof(float) : sizeof(uint16_t);
    size_t first = panel * k->gemm_cols, outputs = least(k->gemm_cols, w->rows - first);
    size_t row_end = least((block + 1) * ROW_BLOCK, x->rows);
    oc_gemm gemm = {.outputs = outputs, .w = widened, .w_step = k->gemm_cols};
    gemm.y_stride = job->y_stride;
    size_t depth = 0;
    do { /* once even without columns: it writes zeros */
        const unsigned char *source =
            (const unsigned char *)w->data + (first * w->cols + depth) * element;
        gemm.depth = least(DEPTH_BLOCK, w->cols - depth);
        gemm.add = depth > 0;
        k->pack[w->format](widened, source, w->cols, outputs, gemm.depth);
        for (size_t r = block * ROW_BLOCK; r < row_end; r += gemm.rows) {
            gemm.y = job->y + r * job->y_stride + first;
            if (x->has_panels) {
                gemm.rows = least(k->gemm_rows, row_end - r);
                gemm.x = x->panels + r * x->cols + depth * k->gemm_rows;
                gemm.x_row = 1;
                gemm.x_step = k->gemm_rows;
            } else {
                gemm.rows = row_end - r;
                gemm.x = x->x + r * x->stride + depth;
                gemm.x_row = x->stride;
                gemm.x_step = 1;
            }
            k->gemm(&gemm);
        }
        depth += gemm.depth;
    } while (depth < w->cols);
    for (size_t r = block * ROW_BLOCK; r < row_end; r++) {
        add_bias(job, job->y + r * job->y_stride + first, first, outputs);
    }
}

static void multiply_panels_range(void *argument, size_t begin, size_t end, int worker)
{
    const linear_job *job = argument;
    /* Arena blocks are aligned for any type; scratch_bytes is a multiple of that alignment. */
    float *widened = (float *)(void *)(job->scratch + (size_t)worker * job->scratch_bytes);
    for (size_t i = begin; i < end; i++) {
        multiply_panel(job, i / job->row_blocks, i % job->row_blocks, widened);
    }
}

static void multiply_panels(linear_job *job, const oc_compute *compute)
{
    size_t cols = job->kernels->gemm_cols;
    job->row_blocks = job->x->rows / ROW_BLOCK + (job->x->rows % ROW_BLOCK != 0);
    size_t panels = job->weight->rows / cols + (job->weight->rows % cols != 0);
    oc_pool_run(pool_for(compute, job->weight, job->x->rows), panels * job->row_blocks, 1,
                multiply_panels_range, job);
}

/* ---- Q8 and Q4, one row ---------------------------------------------------------------------- */

static void multiply_row_tiles(void *argument, size_t begin, size_t end, int worker)
{
    const linear_job *job = argument;
    const oc_quantised *q = &job->x->quantised;
    bool four_bits = job->weight->format == OC_FORMAT_Q4;
    (void)worker;
    for (size_t tile = begin; tile < end; tile++) {
        const unsigned char *data =
            (const unsigned char *)job->weight->data + tile * job->layout.tile_bytes;
        const uint16_t *scales = (const uint16_t *)(const void *)data;
        float sums[OC_QUANT_TILE];
        (four_bits ? job->kernels->row_q4 : job->kernels->row_q8)(sums, q->padded / OC_QUANT_GROUP,
                                                                  q->values, q->groups,
                                                                  data + job->layout.codes, scales);
        size_t first = tile * OC_QUANT_TILE;
        size_t count = least(OC_QUANT_TILE, job->weight->rows - first);
        memcpy(job->y + first, sums, count * sizeof *sums);
        add_bias(job, job->y + first, first, count);
    }
}

/* ---- Q8 and Q4, many rows -------------------------------------------------------------------- */

/* Two tiles' products with one block of rows are gathered in scratch, where whole tiles may be
 * written, then copied to y. */
typedef struct pair_scratch {
    uint8_t codes[PAIR * GROUP_BLOCK * GROUP_LINES * OC_QUANT_LINE]; /* Q4 unpacked */
    float sums[(QUANT_ROW_BLOCK + OC_QUANT_ROWS_MAX) * PAIR_OUTPUTS];
} pair_scratch;

/* One block of column groups of one pair of tiles, times rows [row, row_end). */
static void multiply_group_block(const linear_job *job, const unsigned char *tiles,
                                 size_t tile_count, size_t group, size_t groups, size_t row,
                                 size_t row_end, pair_scratch *scratch)
{
    const oc_kernels *k = job->kernels;
    const oc_quantised *q = &job->x->quantised;
    bool four_bits = job->weight->format == OC_FORMAT_Q4;
    size_t all_groups = q->padded / OC_QUANT_GROUP;
    size_t scale_groups = OC_QUANT_GROUP / (four_bits ? OC_Q4_GROUP : OC_Q8_GROUP);
    oc_quant_product product = {.tiles = tile_count, .groups = groups};
    product.scales = (const uint16_t *)(const void *)tiles + group * scale_groups * OC_QUANT_TILE;
    product.scales_stride = job->layout.tile_bytes / sizeof(uint16_t);
    const unsigned char *codes = tiles + job->layout.codes;
    if (four_bits) {
        size_t lines = groups * GROUP_LINES / 2;
        product.codes = scratch->codes;
        product.codes_stride = groups * GROUP_LINES * OC_QUANT_LINE;
        for (size_t t = 0; t < tile_count; t++) {
            k->unpack_q4(scratch->codes + t * product.codes_stride,
                         codes + t * job->layout.tile_bytes +
                             group * (GROUP_LINES / 2) * OC_QUANT_LINE,
                         lines);
        }
    } else {
        product.codes = codes + group * GROUP_LINES * OC_QUANT_LINE;
        product.codes_stride = job->layout.tile_bytes;
    }
    product.y = scratch->sums;
    product.y_stride = PAIR_OUTPUTS;
    for (; row < row_end; row += product.rows) {
        product.rows = least(k->quant_rows, job->x->rows - row);
        product.x = q->values + row * q->padded + group * OC_QUANT_GROUP * product.rows;
        product.x_groups = q->groups + row * all_groups + group * product.rows;
        (four_bits ? k->product_q4 : k->product_q8)(&product);
        product.y += product.rows * PAIR_OUTPUTS;
    }
}

static void multiply_pair(const linear_job *job, size_t pair, size_t block, pair_scratch *scratch)
{
    size_t tile_count = least(PAIR, job->layout.tiles - pair * PAIR);
    size_t block_rows = QUANT_ROW_BLOCK - QUANT_ROW_BLOCK % job->kernels->quant_rows;
    size_t row = block * block_rows, row_end = least(row + block_rows, job->x->rows);
    size_t all_groups = job->layout.padded / OC_QUANT_GROUP;
    const unsigned char *tiles =
        (const unsigned char *)job->weight->data + pair * PAIR * job->layout.tile_bytes;
    memset(scratch->sums, 0, (row_end - row) * PAIR_OUTPUTS * sizeof(float));
    for (size_t group = 0; group < all_groups; group += GROUP_BLOCK) {
        multiply_group_block(job, tiles, tile_count, group, least(GROUP_BLOCK, all_groups - group),
                             row, row_end, scratch);
    }
    size_t first = pair * PAIR_OUTPUTS;
    size_t count = least(PAIR_OUTPUTS, job->weight->rows - first);
    for (size_t r = row; r < row_end; r++) {
        float *y = job->y + r * job->y_stride + first;
        memcpy(y, scratch->sums + (r - row) * PAIR_OUTPUTS, count * sizeof *y);
        add_bias(job, y, first, count);
    }
}

static void multiply_pairs_range(void *argument, size_t begin, size_t end, int worker)
{
    const linear_job *job = argument;
    pair_scratch *scratch =
        (pair_scratch *)(void *)(job->scratch + (size_t)worker * job->scratch_bytes);
    for (size_t i = begin; i < end; i++) {
        multiply_pair(job, i / job->row_blocks, i % job->row_blocks, scratch);
    }
}

static void multiply_quantised(linear_job *job, const oc_compute *compute, oc_arena *arena)
{
    size_t rows = job->x->rows;
    if (!oc_quant_layout_of(job->weight->format, job->weight->rows, job->weight->cols,
                            &job->layout)) {
        return; /* such a matrix cannot exist in memory */
    }
    oc_pool *pool = pool_for(compute, job->weight, rows);
    if (rows == 1) {
        if (!arena->dry && !arena->overflow) {
            oc_pool_run(pool, job->layout.tiles, ROW_CHUNK_BYTES / (job->layout.tile_bytes + 1) + 1,
                        multiply_row_tiles, job);
        }
        return;
    }
    size_t bytes = sizeof(pair_scratch) + 63;
    if (!take_scratch(job, compute, arena, bytes - bytes % 64)) {
        return;
    }
    size_t block_rows = QUANT_ROW_BLOCK - QUANT_ROW_BLOCK % job->kernels->quant_rows;
    job->row_blocks = rows / block_rows + (rows % block_rows != 0);
    size_t pairs = job->layout.tiles / PAIR + job->layout.tiles % PAIR;
    oc_pool_run(pool, pairs * job->row_blocks, 1, multiply_pairs_range, job);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static bool is_quantised(oc_format format)
{
    return format == OC_FORMAT_Q8 || format == OC_FORMAT_Q4;
}

static void multiply_floats(linear_job *job, const oc_compute *compute, oc_arena *arena)
{
    bool plain = job->weight->format == OC_FORMAT_F32;
    if (!take_scratch(job, compute, arena, DEPTH_BLOCK * job->kernels->gemm_cols * sizeof(float))) {
        return;
    }
    if (plain && job->x->rows < BLAS_ROWS) {
        multiply_dots(job, compute);
    } else if (!plain || !job->kernels->blas_sound || !multiply_blas(job, compute)) {
        multiply_panels(job, compute);
    }
}

void oc_linear(const oc_compute *compute, oc_arena *arena, const oc_matrix *weight,
               const float *bias, const oc_activations *x, float *y, size_t y_stride)
{
    size_t mark = oc_arena_mark(arena);
    oc_activations prepared = *x;
    bool quantised = is_quantised(weight->format);
    if (x->rows == 0 || weight->rows == 0) {
        return;
    }
    if (quantised ? !x->has_quantised : !x->has_panels) {
        oc_activations_prepare(&prepared, compute, arena, weight->format, x->x, x->rows, x->cols,
                               x->stride);
    }
    linear_job job = {.kernels = compute->kernels,
                      .weight = weight,
                      .bias = bias,
                      .x = &prepared,
                      .y = y,
                      .y_stride = y_stride};
    if (quantised) {
        multiply_quantised(&job, compute, arena);
    } else {
        multiply_floats(&job, compute, arena);
    }
    oc_arena_release(arena, mark);
}
