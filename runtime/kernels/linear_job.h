/* linear_job.h - what linear.c hands to the ways of multiplying: by float32 panels (linear_floats.c),
 * by packed tiles of codes (linear_quant.c) and by tiles of bfloat16 (linear_bf16.c).
 *
 * The first two cut the product alike. A work item is a strip of outputs times a block of rows. Within it the
 * columns come in blocks, so that one block of activations stays in the level-2 cache while all of the
 * strip's weights pass over it, and one panel of weights stays in the level-1 cache while the rows
 * pass over it. Sums gather in the worker's memory, where whole panels may be written, and go to y at
 * the end. The cut depends on shapes only; sums run over columns in order within one thread. */
#ifndef OC_KERNELS_LINEAR_JOB_H
#define OC_KERNELS_LINEAR_JOB_H

#include "runtime/kernels/linear.h"

enum {
    /* Panels of a strip; one when there are few rows, for then the weights are what is read. */
    OC_STRIP_PANELS = 4,
    OC_STRIP_LEAST_ROWS = 48,
    /* Bytes of weights that one claim of a product of few rows reads: a thread's claims follow one
     * another, so the size only says how unevenly the threads may end. */
    OC_ROW_CHUNK_BYTES = 32 * 1024
};

typedef struct oc_linear_job {
    const oc_kernels *kernels;
    const oc_matrix *weight;
    const float *bias; /* [weight->rows] or NULL */
    const oc_activations *x;
    float *y; /* [x->rows, y_stride] */
    size_t y_stride;
    /* bias, y and y_stride and more. Where it asks for more, every way of multiplying ends in
     * oc_linear_finish; linear.c does it for those whose products go straight to y. */
    const oc_linear_output *output;
    oc_pool *pool;        /* NULL when the product is too small to be worth it */
    size_t panel_outputs; /* of one panel, or of one pair of tiles */
    size_t strip_panels;
    size_t block_rows;      /* rows of a block */
    size_t row_blocks;      /* work item = strip * row_blocks + block */
    oc_quant_layout layout; /* packed formats */
    unsigned char *scratch; /* [threads][scratch_bytes] */
    size_t scratch_bytes;   /* a multiple of OC_ALIGNMENT */
} oc_linear_job;

/* Each takes its memory from arena and, unless that only counts or is too small, multiplies. */
void oc_linear_floats(oc_linear_job *job, const oc_compute *compute, oc_arena *arena);
void oc_linear_quantised(oc_linear_job *job, const oc_compute *compute, oc_arena *arena);
/* Q8 and Q4, 1..quant_few rows prepared for them; needs no memory. count: 1..OC_LINEAR_PARTS.
 * pool NULL: serial. */
void oc_linear_few(const oc_kernels *kernels, oc_pool *pool, const oc_linear_part *parts,
                   size_t count, const oc_activations *x);
void oc_linear_bf16(oc_linear_job *job, const oc_compute *compute, oc_arena *arena);

/* The pool, or NULL when so few multiply-adds are not worth waking it. */
oc_pool *oc_linear_pool(const oc_compute *compute, const oc_matrix *weight, size_t rows);
/* False when memory was only counted or did not fit. */
bool oc_linear_take_scratch(oc_linear_job *job, const oc_compute *compute, oc_arena *arena,
                            size_t bytes);
/* Fills in the cut from panel_outputs: even blocks of at most about most_rows, a multiple of multiple.
 * Returns the number of work items. */
size_t oc_linear_cut(oc_linear_job *job, size_t most_rows, size_t multiple);
/* sums [strip_panels][block_rows][panel_outputs] of one work item to the output. */
void oc_linear_store(const oc_linear_job *job, size_t item, const float *sums);
/* rows x count sums to the output, from row and output `first` on. */
void oc_linear_finish(const oc_linear_job *job, size_t row, size_t rows, size_t first, size_t count,
                      const float *sums, size_t sums_stride);
/* y += bias, for outputs [first, first + count) of one row. */
void oc_linear_add_bias(const oc_linear_job *job, float *y, size_t first, size_t count);

#endif
