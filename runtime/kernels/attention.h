/* attention.h - softmax(Q Kt * scale) V, tiled: no [n, n] matrix is ever stored.
 *
 * Each output row depends on its own query and its keys alone, summed in an order that does not
 * depend on the other rows, the chunking or the threads. */
#ifndef OC_KERNELS_ATTENTION_H
#define OC_KERNELS_ATTENTION_H

#include "runtime/base/arena.h"
#include "runtime/kernels/compute.h"
#include "runtime/kernels/matrix.h"

/* Scores of bfloat16 attention are to the base 2: e^x = 2^(x log2 e). */
#define OC_LOG2_E 1.44269504089f

/* Full (not causal) attention among rows [0, rows): the vision tower, one segment.
 * query, key, value, out: float32; head h of row r begins at base + r * stride + h * head_dim. */
typedef struct oc_attention_full_job {
    const float *query, *key, *value; /* [rows, stride] */
    float *out;                       /* [rows, out_stride] */
    size_t stride, out_stride;
    size_t rows, heads, head_dim;
    float scale;
    /* [rows, head_dim / 2], or NULL: queries and keys are first rotated by these angles, as oc_rope
     * does it. */
    const float *cosine, *sine;
} oc_attention_full_job;
/* Temporary memory comes from arena; a dry arena only counts. */
void oc_attention_full(const oc_compute *compute, oc_arena *arena,
                       const oc_attention_full_job *job);

/* The same in bfloat16: queries, keys, values and weights are rounded to it, sums are float32. For
 * kernels that have such products (bf16_products); right, but slow, with others. */
typedef struct oc_attention_bf16_job {
    const uint16_t *query, *key, *value; /* bfloat16 [rows, stride] */
    uint16_t *out;                       /* bfloat16 [rows, out_stride], or NULL: */
    float *wide_out;                     /* float32 [rows, out_stride] */
    size_t stride, out_stride;
    size_t rows, heads, head_dim;
    float scale;
    const float *cosine, *sine; /* as above */
} oc_attention_bf16_job;
void oc_attention_full_bf16(const oc_compute *compute, oc_arena *arena,
                            const oc_attention_bf16_job *job);

/* Slots of a kv cache page. */
enum { OC_KV_PAGE_SLOTS = OC_BF16_PAGE_KEYS };

/* In a page of bfloat16 a head's keys are a packed matrix [slots, head_dim], and its values are one
 * or more, [64 of head_dim, slots] (the last may have fewer rows), whose tiles lie line beside line
 * (bf16_format.h): all tiles of step 0, all of step 1 and so on,
 * so that a page is read as it lies. */
enum { OC_KV_PANEL = OC_BF16_MOST_TILES * OC_BF16_TILE };
/* Bytes from the start of a head's keys to one key's dim, and of its values to one value's. */
static inline size_t oc_kv_key_at(size_t lane, size_t dim)
{
    return (dim / OC_BF16_STEP * OC_KV_PAGE_SLOTS + lane) * OC_BF16_STEP * sizeof(uint16_t) +
           dim % OC_BF16_STEP * sizeof(uint16_t);
}
static inline size_t oc_kv_value_at(size_t lane, size_t dim, size_t head_dim)
{
    size_t first = dim - dim % OC_KV_PANEL;
    size_t width = head_dim - first < OC_KV_PANEL ? head_dim - first : OC_KV_PANEL;
    return (first * OC_KV_PAGE_SLOTS + (lane / OC_BF16_STEP * width + dim - first) * OC_BF16_STEP +
            lane % OC_BF16_STEP) *
           sizeof(uint16_t);
}
/* Such pages are for heads of whole tiles. */
static inline bool oc_kv_takes_halves(size_t head_dim)
{
    return head_dim % OC_BF16_TILE == 0;
}

/* One layer's keys and values of one session. Slot s lives in page s / OC_KV_PAGE_SLOTS. In a page
 * the keys of this layer's head h begin at key_offset + h * head_stride and its values at
 * value_offset + h * head_stride (bytes), of format F32, F16 or BF16: values [OC_KV_PAGE_SLOTS,
 * head_dim], keys [head_dim, OC_KV_PAGE_SLOTS]. Keys lie so because neighbouring slots then are
 * neighbouring lanes: scores need no sum across lanes, and a row's key is scattered once while it
 * is read by every later row. */
typedef struct oc_kv_layer {
    unsigned char *const *pages;
    size_t key_offset, value_offset, head_stride;
    oc_format format;
} oc_kv_layer;

/* Stores one row's keys and values, float32 [kv_heads, head_dim] each, into slot. */
void oc_kv_store(const oc_compute *compute, const oc_kv_layer *layer, size_t slot, size_t kv_heads,
                 size_t head_dim, const float *key, const float *value);

/* One row of causal attention: sees slots [0, length) of its cache. */
typedef struct oc_attention_row {
    const float *query; /* [heads, head_dim] */
    float *out;         /* [heads, head_dim] */
    oc_kv_layer cache;
    size_t length;
} oc_attention_row;
/* Query head j reads kv head j / (heads / kv_heads). rows [count]. */
void oc_attention_cached(const oc_compute *compute, oc_arena *arena, const oc_attention_row *rows,
                         size_t count, size_t heads, size_t kv_heads, size_t head_dim, float scale);

#endif
