/* linear_few.c - products of few rows with Q8 and Q4 weights: tile by tile straight from the packed
 * bytes, which are read once for all rows. Bound by memory, so everything here is about one unbroken
 * stream for each thread: several matrices are one region of the pool, walked as one list of tiles. */
#include "runtime/kernels/linear_job.h"

#include <string.h>

typedef struct few_job {
    const oc_kernels *kernels;
    const oc_activations *x;
    size_t panel;                             /* rows that are multiplied together */
    const oc_linear_part *parts;              /* [count] */
    oc_quant_layout layouts[OC_LINEAR_PARTS]; /* [count] */
    size_t ends[OC_LINEAR_PARTS];             /* [count]: the list's tiles up to the end of each */
} few_job;

/* The tile comes from memory for the first panel of rows, and from the caches for the others. */
static void multiply_tile(const few_job *job, size_t p, size_t tile)
{
    const oc_linear_part *part = &job->parts[p];
    const oc_quantised *q = &job->x->quantised;
    size_t first = tile * OC_QUANT_TILE, left = part->weight->rows - first;
    size_t count = left < OC_QUANT_TILE ? left : OC_QUANT_TILE;
    float sums[OC_QUANT_FEW_ROWS][OC_QUANT_TILE];
    oc_quant_product product = {.tiles = 1,
                                .groups = job->layouts[p].groups,
                                .packed = (const unsigned char *)part->weight->data +
                                          tile * job->layouts[p].tile_bytes,
                                .y = sums[0],
                                .y_stride = OC_QUANT_TILE};
    bool four_bits = part->weight->format == OC_FORMAT_Q4;
    for (size_t row = 0; row < job->x->rows; row += product.rows) {
        size_t rows = job->x->rows - row, at = row * product.groups; /* in groups */
        product.rows = rows < job->panel ? rows : job->panel;
        product.x = q->values + at * OC_QUANT_GROUP;
        product.x_groups = q->groups + at;
        (four_bits ? job->kernels->few_q4 : job->kernels->few_q8)(&product);
        for (size_t r = 0; r < product.rows; r++) {
            float *y = part->y + (row + r) * part->y_stride + first;
            memcpy(y, sums[r], count * sizeof *y);
            if (part->bias != NULL) {
                job->kernels->add(y, part->bias + first, count);
            }
        }
    }
}

static void multiply_tiles(void *argument, size_t begin, size_t end, int worker)
{
    const few_job *job = argument;
    (void)worker;
    for (size_t i = begin, p = 0; i < end; i++) {
        while (i >= job->ends[p]) {
            p++;
        }
        multiply_tile(job, p, i - (p > 0 ? job->ends[p - 1] : 0));
    }
}

void oc_linear_few(const oc_kernels *kernels, oc_pool *pool, const oc_linear_part *parts,
                   size_t count, const oc_activations *x)
{
    few_job job = {
        .kernels = kernels, .x = x, .panel = oc_quantised_panel(kernels, x->rows), .parts = parts};
    size_t tiles = 0, most = 1;
    for (size_t p = 0; p < count; p++) {
        const oc_matrix *weight = parts[p].weight;
        (void)oc_quant_layout_of(weight->format, weight->rows, weight->cols, &job.layouts[p]);
        tiles += job.layouts[p].tiles; /* in range: the matrices are in memory */
        job.ends[p] = tiles;
        most = job.layouts[p].tile_bytes > most ? job.layouts[p].tile_bytes : most;
    }
    oc_pool_run(pool, tiles, OC_ROW_CHUNK_BYTES / most + 1, multiply_tiles, &job);
}

void oc_linear_several(const oc_compute *compute, oc_arena *arena, const oc_linear_part *parts,
                       size_t count, const oc_activations *x)
{
    bool together = x->rows > 0 && x->rows <= compute->kernels->quant_few && x->has_quantised;
    oc_pool *pool = NULL; /* woken when one of the parts alone is worth it */
    for (size_t p = 0; p < count; p++) {
        together = together && oc_format_is_quantised(parts[p].weight->format);
        pool = pool != NULL ? pool : oc_linear_pool(compute, parts[p].weight, x->rows);
    }
    if (!together) {
        for (size_t p = 0; p < count; p++) {
            oc_linear(compute, arena, parts[p].weight, parts[p].bias, x, parts[p].y,
                      parts[p].y_stride);
        }
    } else if (!arena->dry && !arena->overflow) {
        oc_linear_few(compute->kernels, pool, parts, count, x);
    }
}
