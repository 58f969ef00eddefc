/* linear_bf16.c - products with BF16 weights and activations in bfloat16, see bf16_format.h.
 *
 * A work item is up to three tiles of outputs times a block of rows. Sums are made over all columns
 * at once and stay in registers meanwhile: the tiles' weights (96 KiB for 1024 columns) are read
 * from the level-2 cache for every 8 rows, 16 bytes a cycle, which costs less than gathering the
 * sums of blocks of columns that would fit the level-1 cache (measured: 95 % of peak against 80 %).
 * The cut depends on shapes only. */
#include "runtime/kernels/linear_job.h"

enum {
    /* Rows of a work item: 256 of 1024 columns are half a level-2 cache. */
    BLOCK_ROWS = 256,
    /* Rows whose sums are finished together, out of the level-1 cache:
     * what a kernel takes at once. */
    FINISH_ROWS = 8
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

typedef struct bf16_job {
    const oc_linear_job *job;
    oc_bf16_layout layout;
    size_t groups;     /* of up to OC_BF16_TILES tiles */
    size_t block_rows; /* a multiple of FINISH_ROWS */
    size_t
        row_blocks; /* work item = block * groups + group: rows stay in the cache, weights pass */
} bf16_job;

/* Tiles of a group: two or three in each, not three and one at the end. */
static size_t find_tiles(const bf16_job *bf16, size_t group, size_t *first)
{
    size_t each = bf16->layout.tiles / bf16->groups, more = bf16->layout.tiles % bf16->groups;
    *first = group * each + least(group, more);
    return each + (group < more);
}

/* What is asked for while an item is multiplied, a little with every few rows: the weights that
 * this thread will probably meet next. It changes no result. */
typedef struct next_group {
    const unsigned char *packed; /* NULL: none */
    size_t bytes, done, slice;
} next_group;

static next_group find_next(const bf16_job *bf16, size_t item, size_t slices)
{
    size_t next_item = item + 1, first; /* a thread's items follow one another */
    next_group next = {.packed = NULL};
    if (next_item < bf16->groups * bf16->row_blocks) {
        next.bytes = find_tiles(bf16, next_item % bf16->groups, &first) * bf16->layout.tile_bytes;
        next.packed =
            (const unsigned char *)bf16->job->weight->data + first * bf16->layout.tile_bytes;
        next.slice = next.bytes / slices / OC_BF16_LINE * OC_BF16_LINE + OC_BF16_LINE;
    }
    return next;
}

static void ask_slice(const bf16_job *bf16, next_group *next)
{
    if (next->packed != NULL && next->done < next->bytes) {
        bf16->job->kernels->prefetch(next->packed + next->done,
                                     least(next->slice, next->bytes - next->done));
        next->done += next->slice;
    }
}

/* Results go to memory that is not in the cache: it is asked for before the sums are made. */
static void ask_output(const oc_linear_job *job, size_t row, size_t rows, size_t first,
                       size_t count)
{
    const oc_linear_output *out = job->output;
    for (size_t r = row; r < row + rows; r++) {
        if (out->in_halves) {
            job->kernels->prefetch(out->halves + r * out->halves_stride + first,
                                   count * sizeof *out->halves);
        } else {
            job->kernels->prefetch(out->y + r * out->y_stride + first, count * sizeof *out->y);
        }
    }
}

static void multiply_item(const bf16_job *bf16, size_t item, float *sums)
{
    const oc_linear_job *job = bf16->job;
    const oc_activations *x = job->x;
    size_t first, tiles = find_tiles(bf16, item % bf16->groups, &first);
    size_t output = first * OC_BF16_TILE;
    size_t row = item / bf16->groups * bf16->block_rows;
    size_t row_end = least(row + bf16->block_rows, x->rows);
    size_t count = least(tiles * OC_BF16_TILE, job->weight->rows - output);
    next_group next = find_next(bf16, item, (row_end - row) / FINISH_ROWS + 1);
    oc_bf16_product product = {.tiles = tiles,
                               .steps = bf16->layout.steps,
                               .x_stride = x->halves_stride,
                               .packed = (const unsigned char *)job->weight->data +
                                         first * bf16->layout.tile_bytes,
                               .packed_stride = bf16->layout.tile_bytes,
                               .packed_step = OC_BF16_LINE,
                               .y = sums,
                               .y_stride = OC_BF16_COLS};
    for (; row < row_end; row += product.rows) {
        product.rows = least(FINISH_ROWS, row_end - row);
        product.x = x->halves + row * x->halves_stride;
        ask_output(job, row, product.rows, output, count);
        ask_slice(bf16, &next);
        job->kernels->product_bf16(&product);
        oc_linear_finish(job, row, product.rows, output, count, sums, OC_BF16_COLS);
    }
}

static void multiply_items(void *argument, size_t begin, size_t end, int worker)
{
    const bf16_job *bf16 = argument;
    float *sums = (float *)(void *)(bf16->job->scratch + (size_t)worker * bf16->job->scratch_bytes);
    for (size_t item = begin; item < end; item++) {
        multiply_item(bf16, item, sums);
    }
}

void oc_linear_bf16(oc_linear_job *job, const oc_compute *compute, oc_arena *arena)
{
    size_t rows = job->x->rows;
    bf16_job bf16 = {.job = job};
    if (!oc_bf16_layout_of(job->weight->rows, job->weight->cols, &bf16.layout)) {
        return; /* such a matrix cannot exist in memory */
    }
    bf16.groups = (bf16.layout.tiles + OC_BF16_TILES - 1) / OC_BF16_TILES;
    size_t blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    bf16.block_rows = (rows + blocks - 1) / blocks + FINISH_ROWS - 1;
    bf16.block_rows -= bf16.block_rows % FINISH_ROWS;
    bf16.row_blocks = (rows + bf16.block_rows - 1) / bf16.block_rows;
    if (oc_linear_take_scratch(job, compute, arena, FINISH_ROWS * OC_BF16_COLS * sizeof(float))) {
        oc_pool_run(job->pool, bf16.groups * bf16.row_blocks, 1, multiply_items, &bf16);
    }
}
