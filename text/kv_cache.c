/* kv_cache.c - see kv_cache.h. A slab: [layers][kv_heads][OC_KV_SLAB_PAGES][keys, values], keys and
 * values of a page and head as attention.h says. */
#include "text/kv_cache.h"

#include "runtime/base/memory.h"

#include <string.h>

static size_t element_size(const oc_kv_shape *shape)
{
    return shape->format == OC_FORMAT_F32 ? 4 : 2;
}

/* Keys or values of one head in one page. */
static bool part_bytes(const oc_kv_shape *shape, size_t *bytes)
{
    return oc_size_mul(shape->head_dim, OC_KV_PAGE_SLOTS * element_size(shape), bytes);
}

bool oc_kv_slab_bytes(const oc_kv_shape *shape, size_t *bytes)
{
    return part_bytes(shape, bytes) && oc_size_mul(*bytes, 2 * OC_KV_SLAB_PAGES, bytes) &&
           oc_size_mul(*bytes, shape->kv_heads, bytes) && oc_size_mul(*bytes, shape->layers, bytes);
}

static size_t slabs_for(size_t slots)
{
    return slots / OC_KV_SLAB_SLOTS + (slots % OC_KV_SLAB_SLOTS != 0);
}

bool oc_kv_bytes(const oc_kv_shape *shape, size_t slots, size_t *bytes)
{
    return oc_kv_slab_bytes(shape, bytes) && oc_size_mul(*bytes, slabs_for(slots), bytes);
}

void oc_kv_open(oc_kv_cache *cache, const oc_kv_shape *shape)
{
    *cache = (oc_kv_cache){.shape = *shape};
}

void oc_kv_close(oc_kv_cache *cache)
{
    oc_kv_trim(cache, 0);
    oc_free(cache->pages);
    memset(cache, 0, sizeof *cache);
}

static ocelli_status no_memory(const oc_kv_cache *cache, size_t slots, ocelli_error *err)
{
    size_t bytes = 0;
    if (!oc_kv_bytes(&cache->shape, slots, &bytes)) {
        bytes = SIZE_MAX;
    }
    return oc_fail(err, OCELLI_E_MEMORY,
                   "not enough memory for a kv cache of %zu tokens (%zu bytes); use a smaller "
                   "context or fewer pictures",
                   slots, bytes);
}

ocelli_status oc_kv_reserve(oc_kv_cache *cache, size_t slots, ocelli_error *err)
{
    size_t wanted = slabs_for(slots) * OC_KV_SLAB_PAGES;
    size_t part, bytes;
    if (!part_bytes(&cache->shape, &part) || !oc_kv_slab_bytes(&cache->shape, &bytes)) {
        return no_memory(cache, slots, err);
    }
    if (wanted > cache->page_room) {
        size_t room = wanted + wanted / 2 + 8;
        unsigned char **pages = oc_grow(cache->pages, cache->page_count, room, sizeof *pages);
        if (pages == NULL) {
            return no_memory(cache, slots, err);
        }
        cache->pages = pages;
        cache->page_room = room;
    }
    while (cache->page_count < wanted) {
        /* Not zeroed: a slot is written before it is read, and what lies beside it is worked on by
         * the lane but never looked at. */
        unsigned char *slab = oc_alloc_raw(bytes, 1);
        if (slab == NULL) {
            return no_memory(cache, slots, err);
        }
        for (size_t i = 0; i < OC_KV_SLAB_PAGES; i++) {
            cache->pages[cache->page_count++] = slab + i * 2 * part;
        }
    }
    return OCELLI_OK;
}

size_t oc_kv_capacity(const oc_kv_cache *cache)
{
    return cache->page_count * OC_KV_PAGE_SLOTS;
}

ocelli_status oc_kv_copy(oc_kv_cache *cache, const oc_kv_cache *from, size_t slots,
                         ocelli_error *err)
{
    size_t bytes;
    OC_TRY(oc_kv_reserve(cache, slots, err));
    if (!oc_kv_slab_bytes(&cache->shape, &bytes)) {
        return no_memory(cache, slots, err);
    }
    for (size_t i = 0; i < slabs_for(slots); i++) { /* the first page of a slab owns it */
        memcpy(cache->pages[i * OC_KV_SLAB_PAGES], from->pages[i * OC_KV_SLAB_PAGES], bytes);
    }
    return OCELLI_OK;
}

void oc_kv_trim(oc_kv_cache *cache, size_t slots)
{
    size_t keep = slabs_for(slots) * OC_KV_SLAB_PAGES;
    while (cache->page_count > keep) {
        cache->page_count -= OC_KV_SLAB_PAGES;
        oc_free(cache->pages[cache->page_count]);
    }
}

oc_kv_layer oc_kv_view(const oc_kv_cache *cache, size_t layer)
{
    size_t bytes = 0;
    (void)part_bytes(&cache->shape, &bytes); /* in range: the slabs were allocated with it */
    size_t head = 2 * OC_KV_SLAB_PAGES * bytes, first = layer * cache->shape.kv_heads * head;
    return (oc_kv_layer){.pages = cache->pages,
                         .key_offset = first,
                         .value_offset = first + bytes,
                         .head_stride = head,
                         .format = cache->shape.format};
}
