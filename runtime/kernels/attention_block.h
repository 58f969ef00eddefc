/* attention_block.h - the inner step of attention: a block of queries of one key head meets 64 keys
 * and values. Both kinds of attention are loops around it.
 *
 * Softmax is online: each query keeps its largest score, the sum of its weights and the weighted sum
 * of values so far, all relative to that largest score. Keys come in blocks of 64 from slot 0 on
 * whatever the chunking, so one query's bits depend on nothing but itself and its keys. */
#ifndef OC_KERNELS_ATTENTION_BLOCK_H
#define OC_KERNELS_ATTENTION_BLOCK_H

#include "runtime/kernels/attention.h"

enum { OC_KEY_BLOCK = OC_KV_PAGE_SLOTS };

/* One worker's memory. */
typedef struct oc_attention_block {
    const oc_kernels *kernels;
    size_t head_dim;
    size_t value_width; /* head_dim up to a multiple of gemm_cols */
    size_t key_step;    /* floats from one dim of packed keys to the next ... */
    size_t key_panel;   /* ... and from one run of gemm_cols keys to the next */
    size_t queries;     /* used now */
    float scale;
    float *query;       /* [queries, head_dim] */
    float *sums;        /* [queries, head_dim], weighted values */
    float *scores;      /* [queries, 64] */
    float *max, *total; /* [queries] */
    size_t *visible;    /* [queries]: keys of this block that each query sees, <= keys */
} oc_attention_block;

/* Floats of one block's packed keys, [64 / gemm_cols][head_dim][gemm_cols], and of its values,
 * [64][value_width]. */
size_t oc_attention_key_floats(const oc_kernels *kernels, size_t head_dim);
size_t oc_attention_value_floats(const oc_kernels *kernels, size_t head_dim);

/* Packs count <= 64 keys; key i at element i * stride of rows. */
void oc_attention_pack_keys(const oc_kernels *kernels, float *packed, oc_format format,
                            const void *rows, size_t stride, size_t head_dim, size_t count);
void oc_attention_pack_values(const oc_kernels *kernels, float *packed, oc_format format,
                              const void *rows, size_t stride, size_t head_dim, size_t count);

/* Bytes, a multiple of OC_ALIGNMENT, of a worker's memory for so many queries; and its layout. */
size_t oc_attention_block_bytes(size_t queries, size_t head_dim);
void oc_attention_block_lay_out(oc_attention_block *block, const oc_kernels *kernels,
                                unsigned char *memory, size_t queries, size_t head_dim,
                                float scale);

/* Forgets all keys. */
void oc_attention_block_begin(oc_attention_block *block, size_t queries);
/* Takes in one block of keys (1..64); block->visible is set by the caller. */
void oc_attention_block_step(oc_attention_block *block, const float *keys, const float *values,
                             size_t count);
/* The middle of a step: scores [queries, 64] become weights, and the sums so far are scaled to them. */
void oc_attention_block_weigh(oc_attention_block *block, size_t count);
/* Writes query q's result [head_dim]; zeros if it has seen no key. */
void oc_attention_block_end(const oc_attention_block *block, size_t q, float *out);

#endif
