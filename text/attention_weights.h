/* attention_weights.h - what a row of cached attention looks at: its softmax over the keys.
 *
 * The attention that answers never holds these numbers (attention.h); this is for whoever wants to
 * see them, and takes its time. */
#ifndef OC_TEXT_ATTENTION_WEIGHTS_H
#define OC_TEXT_ATTENTION_WEIGHTS_H

#include "runtime/kernels/attention.h"

typedef struct oc_attention_shape {
    size_t heads, kv_heads, head_dim;
    float scale; /* of scores: 1 / sqrt(head_dim) */
} oc_attention_shape;

/* Floats of scratch for a row of at most length slots; false: more than fits size_t. */
bool oc_attention_weights_scratch(const oc_attention_shape *shape, size_t length, size_t *floats);

/* weights [row->length]: of each slot the mean over heads of softmax(query . key * scale), which sums
 * to 1. Queries and keys are what the attention itself multiplies: beside a bfloat16 cache queries
 * are rounded to it. scratch: of the size above. Bits do not depend on the threads. */
void oc_attention_weights(const oc_compute *compute, const oc_attention_shape *shape,
                          const oc_attention_row *row, float *scratch, float *weights);

#endif
