/* kv_cache.h - keys and values of one session, in pages that are added as the session grows.
 *
 * A slot is a token's place in the cache; it is not its rotary position (a picture fills h * w
 * slots and advances the position by max(h, w)). The cache does not know how many slots are valid:
 * whoever runs the decoder says which slot each row fills, and so a cache is truncated by writing
 * over it. */
#ifndef OC_TEXT_KV_CACHE_H
#define OC_TEXT_KV_CACHE_H

#include "runtime/kernels/attention.h"

typedef struct oc_kv_shape {
    size_t layers, kv_heads, head_dim;
    oc_format format; /* F32, F16, or BF16 if oc_kv_takes_halves(head_dim) */
} oc_kv_shape;

/* Pages are allocated so many at a time, as one slab: of each head they then lie side by side, for
 * memory gives long runs faster than short ones. */
enum { OC_KV_SLAB_PAGES = 4, OC_KV_SLAB_SLOTS = OC_KV_SLAB_PAGES * OC_KV_PAGE_SLOTS };

typedef struct oc_kv_cache {
    oc_kv_shape shape;
    unsigned char **pages; /* [page_count]; the first of each slab owns it */
    size_t page_count, page_room;
} oc_kv_cache;

/* Bytes of one slab; false: more than fits size_t. */
bool oc_kv_slab_bytes(const oc_kv_shape *shape, size_t *bytes);
/* Bytes for so many slots, in whole slabs. */
bool oc_kv_bytes(const oc_kv_shape *shape, size_t slots, size_t *bytes);

void oc_kv_open(oc_kv_cache *cache, const oc_kv_shape *shape);
void oc_kv_close(oc_kv_cache *cache);
/* Makes slots [0, slots) writable. OCELLI_E_MEMORY names slots and bytes; what was there stays. */
ocelli_status oc_kv_reserve(oc_kv_cache *cache, size_t slots, ocelli_error *err);
size_t oc_kv_capacity(const oc_kv_cache *cache);
/* Makes slots [0, slots) of an open cache of the same shape those of another, which has as many.
 * OCELLI_E_MEMORY. */
ocelli_status oc_kv_copy(oc_kv_cache *cache, const oc_kv_cache *from, size_t slots,
                         ocelli_error *err);
/* Gives back slabs beyond slots. */
void oc_kv_trim(oc_kv_cache *cache, size_t slots);

/* What the attention needs to know of one layer; valid until the next reserve. */
oc_kv_layer oc_kv_view(const oc_kv_cache *cache, size_t layer);

#endif
