/* visual_key.h - what visual rows depend on: the key of the cache. Equal keys, equal bits. */
#ifndef OC_VISUAL_KEY_H
#define OC_VISUAL_KEY_H

#include "runtime/visual.h"

/* Whatever changes the rows that this program makes of the same pixels with the same tower (resizing,
 * cutting, the pass) raises it, so that rows of an older program are not found. */
enum { OC_VISUAL_ROWS_VERSION = 1 };

/* Compared and written as bytes: words of 64 bits only, no padding. */
typedef struct oc_visual_key {
    oc_hash pixels, tower;
    uint64_t video, frames, source_width, source_height, width, height;
    uint64_t tokens, row_width, taps;
} oc_visual_key;

/* lasting: the key means the same in another process, because the tower's weights are hashed, once
 * in a model's life; else the tower is this open model. Errors as oc_model_begin. */
ocelli_status oc_visual_key_make(oc_visual_key *out, const ocelli_visual *visual,
                                 ocelli_model *model, bool lasting, ocelli_error *err);
bool oc_visual_key_equal(const oc_visual_key *a, const oc_visual_key *b);
/* Bytes of the rows and taps. */
bool oc_visual_key_bytes(const oc_visual_key *key, size_t *bytes);

#endif
