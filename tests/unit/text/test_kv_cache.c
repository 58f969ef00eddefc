/* test_kv_cache.c - where slots lie: every key and value of every layer, head and slot has a place
 * of its own, and stays there while the cache grows and shrinks. */
#include "text/kv_cache.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

enum { LAYERS = 3, HEADS = 2, DIM = 6, SLOTS = 2 * OC_KV_SLAB_SLOTS + 5 };

static const oc_kv_shape shape = {LAYERS, HEADS, DIM, OC_FORMAT_F32};

/* Key (which 0) or value (which 1), element d of a head and slot, as attention.h says it lies. */
static float *element_of(const oc_kv_layer *layer, size_t slot, size_t head, int which, size_t d)
{
    size_t lane = slot % OC_KV_PAGE_SLOTS;
    size_t at = which == 0 ? d * OC_KV_PAGE_SLOTS + lane : lane * DIM + d;
    unsigned char *base = layer->pages[slot / OC_KV_PAGE_SLOTS] + head * layer->head_stride;
    return (float *)(void *)(base + (which == 0 ? layer->key_offset : layer->value_offset)) + at;
}

static float number_of(size_t layer, size_t slot, size_t head, int which, size_t d)
{
    return (float)((((layer * SLOTS + slot) * HEADS + head) * 2 + (size_t)which) * DIM + d);
}

static void visit(const oc_kv_cache *cache, size_t first, size_t end, bool write)
{
    for (size_t i = 0; i < LAYERS * (end - first) * HEADS * 2 * DIM; i++) {
        size_t d = i % DIM, head = i / DIM / 2 % HEADS;
        size_t slot = first + i / DIM / 2 / HEADS % (end - first);
        size_t layer = i / DIM / 2 / HEADS / (end - first);
        int which = (int)(i / DIM % 2);
        oc_kv_layer view = oc_kv_view(cache, layer);
        float *element = element_of(&view, slot, head, which, d);
        if (write) {
            *element = number_of(layer, slot, head, which, d);
        } else {
            cr_assert_eq(*element, number_of(layer, slot, head, which, d));
        }
    }
}

Test(kv_cache, a_place_for_everything)
{
    oc_kv_cache cache;
    ocelli_error error;
    size_t slab, bytes;
    oc_kv_open(&cache, &shape);
    cr_assert_eq(oc_kv_capacity(&cache), 0);
    cr_assert_eq(oc_kv_reserve(&cache, 1, &error), OCELLI_OK);
    cr_assert_eq(oc_kv_capacity(&cache), OC_KV_SLAB_SLOTS);
    visit(&cache, 0, OC_KV_SLAB_SLOTS, true);
    cr_assert_eq(oc_kv_reserve(&cache, SLOTS, &error), OCELLI_OK);
    cr_assert_eq(oc_kv_capacity(&cache), 3 * OC_KV_SLAB_SLOTS);
    visit(&cache, OC_KV_SLAB_SLOTS, SLOTS, true);
    visit(&cache, 0, SLOTS, false);
    oc_kv_trim(&cache, OC_KV_SLAB_SLOTS + 1);
    cr_assert_eq(oc_kv_capacity(&cache), 2 * OC_KV_SLAB_SLOTS);
    visit(&cache, 0, 2 * OC_KV_SLAB_SLOTS, false);
    cr_assert(oc_kv_slab_bytes(&shape, &slab));
    cr_assert_eq(slab, LAYERS * HEADS * 2 * DIM * OC_KV_SLAB_SLOTS * sizeof(float));
    cr_assert(oc_kv_bytes(&shape, SLOTS, &bytes));
    cr_assert_eq(bytes, 3 * slab);
    oc_kv_close(&cache);
}

Test(kv_cache, sizes_that_do_not_fit)
{
    oc_kv_shape huge = {SIZE_MAX / 2, 8, 128, OC_FORMAT_F16};
    oc_kv_cache cache;
    ocelli_error error;
    size_t bytes;
    cr_assert_not(oc_kv_slab_bytes(&huge, &bytes));
    cr_assert_not(oc_kv_bytes(&shape, SIZE_MAX, &bytes));
    oc_kv_open(&cache, &huge);
    cr_assert_eq(oc_kv_reserve(&cache, 1, &error), OCELLI_E_MEMORY);
    cr_assert(strstr(error.message, "kv cache of 1 tokens") != NULL);
    oc_kv_close(&cache);
}
