/* visual_key.c - see visual_key.h. */
#include "runtime/visual_key.h"

#include "runtime/base/cpu.h"
#include "runtime/base/memory.h"

#include <string.h>

/* Adds a text to a chain of hashes. */
static void add_text(oc_hash *chain, const char *text)
{
    const oc_hash link[2] = {*chain, oc_hash_bytes(text, strlen(text))};
    *chain = oc_hash_bytes(link, sizeof link);
}

/* The tower's weights, and what else of this program and machine decides the bits of its rows. Kernel
 * tiers differ in the last bits, so each has its own rows. Float32 products are OpenBLAS's, which
 * splits sums as it sees fit: by the threads, too. */
static oc_hash identify_tower(const ocelli_model *model)
{
    oc_hash chain = oc_vit_identity(model->vit);
    bool exact = model->vision == OCELLI_VISION_F32;
    add_text(&chain, ocelli_version());
    add_text(&chain, model->kernels.tier);
#ifdef __VERSION__
    add_text(&chain, __VERSION__); /* the compiler */
#endif
    if (exact) {
        add_text(&chain, ocelli_build_info()); /* with which BLAS */
    }
    const uint64_t rest[5] = {chain.high, chain.low, OC_VISUAL_ROWS_VERSION, oc_cpu_features(),
                              exact ? (uint64_t)oc_pool_threads(model->pool) : 0};
    return oc_hash_bytes(rest, sizeof rest);
}

static ocelli_status lasting_tower(oc_hash *out, ocelli_model *model, ocelli_error *err)
{
    OC_TRY(oc_model_begin(model, 0, "the vision tower", err));
    if (!model->tower_is_known) {
        model->tower = identify_tower(model);
        model->tower_is_known = true;
    }
    *out = model->tower;
    oc_model_end(model);
    return OCELLI_OK;
}

ocelli_status oc_visual_key_make(oc_visual_key *out, const ocelli_visual *visual,
                                 ocelli_model *model, bool lasting, ocelli_error *err)
{
    const oc_medium *medium = &visual->medium;
    memset(out, 0, sizeof *out);
    out->pixels = visual->pixels;
    out->video = medium->video;
    out->frames = visual->frames;
    out->source_width = (uint64_t)visual->source_width;
    out->source_height = (uint64_t)visual->source_height;
    out->width = (uint64_t)visual->width;
    out->height = (uint64_t)visual->height;
    out->tokens = visual->tokens;
    out->row_width = medium->width;
    out->taps = medium->tap_count;
    if (lasting) {
        return lasting_tower(&out->tower, model, err);
    }
    /* A model that is opened where another one was has another time. */
    out->tower.high = (uint64_t)(uintptr_t)model;
    memcpy(&out->tower.low, &model->opened, sizeof out->tower.low);
    return OCELLI_OK;
}

bool oc_visual_key_equal(const oc_visual_key *a, const oc_visual_key *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool oc_visual_key_bytes(const oc_visual_key *key, size_t *bytes)
{
    return oc_size_mul((size_t)key->tokens, (size_t)key->row_width, bytes) &&
           oc_size_mul(*bytes, 1 + (size_t)key->taps, bytes) &&
           oc_size_mul(*bytes, sizeof(float), bytes);
}
