/* linear_quant.c - products of many rows with Q8 and Q4 weights, see linear_job.h and quant_format.h: by
 * pairs of tiles, Q4 unpacked to 8 bits on the way into the level-1 cache. Few rows are linear_few.c. */
#include "runtime/kernels/linear_job.h"

#include <string.h>

enum {
    PAIR = 2, /* tiles multiplied together */
    PAIR_OUTPUTS = PAIR * OC_QUANT_TILE,
    /* Of a pair of tiles these hold 16 KiB of codes: half a level-1 cache. */
    GROUP_BLOCK = OC_QUANT_BLOCK_GROUPS,
    /* Their activations, 512 columns of so many rows, and a strip's sums fit a level-2 cache. */
    BLOCK_ROWS = 512,
    CODES_BYTES = PAIR * GROUP_BLOCK * OC_QUANT_STEPS * OC_QUANT_LINE
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_q4(const oc_linear_job *job)
{
    return job->weight->format == OC_FORMAT_Q4;
}

/* Weights come from memory for their first use; while a pair is multiplied, the next one is asked for
 * a little with every panel of rows. */
typedef struct next_pair {
    const unsigned char *packed; /* NULL: none */
    size_t tiles, bytes;         /* of each tile */
    size_t done, slice;
} next_pair;

static void ask_slice(const oc_linear_job *job, next_pair *next)
{
    if (next->packed == NULL || next->done >= next->bytes) {
        return;
    }
    size_t bytes = least(next->slice, next->bytes - next->done);
    for (size_t t = 0; t < next->tiles; t++) {
        job->kernels->prefetch(next->packed + t * job->layout.tile_bytes + next->done, bytes);
    }
    next->done += bytes;
}

/* What a pass over the rows does beside multiplying. */
typedef struct pair_pass {
    size_t group, row, row_end;
    size_t output;    /* the pair's first */
    bool first, last; /* block of groups: sums begin, and are finished */
    next_pair *next;
} pair_pass;

/* One pair of tiles' groups [group, group + product->groups) times rows [row, row_end). Sums begin and
 * end while they are in the level-1 cache. */
static void multiply_pair(const oc_linear_job *job, oc_quant_product *product,
                          const pair_pass *pass)
{
    const oc_kernels *k = job->kernels;
    const oc_quantised *q = &job->x->quantised;
    size_t outputs = least(PAIR_OUTPUTS, job->weight->rows - pass->output);
    for (size_t row = pass->row; row < pass->row_end; row += product->rows) {
        product->rows = least(k->quant_rows, pass->row_end - row);
        size_t at = pass->group * job->x->rows + row * product->groups; /* in groups */
        product->x = q->values + at * OC_QUANT_GROUP;
        product->x_groups = q->groups + at;
        if (pass->first) {
            memset(product->y, 0, product->rows * PAIR_OUTPUTS * sizeof *product->y);
        }
        (is_q4(job) ? k->product_q4 : k->product_q8)(product);
        if (pass->last) {
            oc_linear_finish(job, row, product->rows, pass->output, outputs, product->y,
                             PAIR_OUTPUTS);
        }
        product->y += product->rows * PAIR_OUTPUTS;
        ask_slice(job, pass->next);
    }
}

/* Pair p of the item's strip, at a group; NULL past the strip or the matrix. */
static const unsigned char *find_pair(const oc_linear_job *job, size_t item, size_t p, size_t group,
                                      size_t *tiles)
{
    size_t tile = (item / job->row_blocks * job->strip_panels + p) * PAIR;
    size_t block_bytes = is_q4(job) ? OC_Q4_BLOCK_BYTES : OC_Q8_BLOCK_BYTES / 2;
    if (p >= job->strip_panels || tile >= job->layout.tiles) {
        return NULL;
    }
    *tiles = least(PAIR, job->layout.tiles - tile);
    return (const unsigned char *)job->weight->data + tile * job->layout.tile_bytes +
           group * block_bytes;
}

/* What follows pair p at group: the strip's next pair, else its first at the next groups, else the
 * first of the next strip. */
static next_pair find_next(const oc_linear_job *job, size_t item, size_t p, size_t group,
                           size_t panels)
{
    const oc_quant_layout *layout = &job->layout;
    next_pair next = {.tiles = 0};
    next.packed = find_pair(job, item, p + 1, group, &next.tiles);
    if (next.packed == NULL) {
        group += GROUP_BLOCK;
        if (group >= layout->groups) {
            group = 0;
            item += job->row_blocks;
        }
        next.packed = find_pair(job, item, 0, group, &next.tiles);
    }
    size_t groups = least(GROUP_BLOCK, layout->groups - group);
    next.bytes = groups * (is_q4(job) ? OC_Q4_BLOCK_BYTES : OC_Q8_BLOCK_BYTES / 2);
    next.slice = (next.bytes / panels + OC_QUANT_LINE) / OC_QUANT_LINE * OC_QUANT_LINE;
    return next;
}

static void multiply_item(const oc_linear_job *job, size_t item, uint8_t *codes, float *sums)
{
    const oc_quant_layout *layout = &job->layout;
    size_t row = item % job->row_blocks * job->block_rows;
    size_t row_end = least(row + job->block_rows, job->x->rows);
    size_t panels = (row_end - row) / job->kernels->quant_rows + 1;
    oc_quant_product product = {.packed_stride = layout->tile_bytes, .y_stride = PAIR_OUTPUTS};
    size_t group = 0;
    do { /* once even without columns: the outputs are written */
        product.groups = least(GROUP_BLOCK, layout->groups - group);
        for (size_t p = 0; p < job->strip_panels; p++) {
            product.packed = find_pair(job, item, p, group, &product.tiles);
            if (product.packed == NULL) {
                break;
            }
            if (is_q4(job)) {
                product.codes = codes;
                product.codes_stride = product.groups * OC_QUANT_STEPS * OC_QUANT_LINE;
                for (size_t t = 0; t < product.tiles; t++) {
                    job->kernels->unpack_q4(codes + t * product.codes_stride,
                                            product.packed + t * layout->tile_bytes,
                                            product.groups);
                }
            }
            next_pair next = find_next(job, item, p, group, panels);
            product.y = sums + p * job->block_rows * PAIR_OUTPUTS;
            size_t pair = item / job->row_blocks * job->strip_panels + p;
            multiply_pair(job, &product,
                          &(pair_pass){.group = group,
                                       .row = row,
                                       .row_end = row_end,
                                       .output = pair * PAIR_OUTPUTS,
                                       .first = group == 0,
                                       .last = group + product.groups == layout->groups,
                                       .next = &next});
        }
        group += GROUP_BLOCK;
    } while (group < layout->groups);
}

static void multiply_items(void *argument, size_t begin, size_t end, int worker)
{
    const oc_linear_job *job = argument;
    unsigned char *scratch = job->scratch + (size_t)worker * job->scratch_bytes;
    for (size_t item = begin; item < end; item++) {
        multiply_item(job, item, scratch, (float *)(void *)(scratch + CODES_BYTES));
    }
}

void oc_linear_quantised(oc_linear_job *job, const oc_compute *compute, oc_arena *arena)
{
    if (!oc_quant_layout_of(job->weight->format, job->weight->rows, job->weight->cols,
                            &job->layout)) {
        return; /* such a matrix cannot exist in memory */
    }
    if (job->x->rows <= job->kernels->quant_few) {
        if (!arena->dry && !arena->overflow) {
            oc_linear_part part = {job->weight, job->bias, job->y, job->y_stride};
            oc_linear_few(job->kernels, job->pool, &part, 1, job->x);
        }
        return;
    }
    job->panel_outputs = PAIR_OUTPUTS;
    size_t items = oc_linear_cut(job, BLOCK_ROWS, job->kernels->quant_rows);
    size_t floats = job->strip_panels * job->block_rows * PAIR_OUTPUTS;
    if (oc_linear_take_scratch(job, compute, arena, CODES_BYTES + floats * sizeof(float))) {
        oc_pool_run(job->pool, items, 1, multiply_items, job);
    }
}
