/* media.h - an encoded picture or clip as fusion sees it: rows, grid, times and identity. */
#ifndef OC_FUSION_MEDIA_H
#define OC_FUSION_MEDIA_H

#include "runtime/base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct oc_medium {
    bool video;
    size_t grid_t, grid_h, grid_w; /* in patches; grid_t counts frame pairs, 1 for a picture */
    size_t merge_size;
    const double *timestamps; /* [grid_t] seconds; a clip's */
    /* [grid_t] of a clip that is one block of the prompt: where each frame pair lies on the time
     * axis, not descending. NULL: every pair is a block of its own, announced by its timestamp. */
    const int32_t *times;
    oc_hash identity;  /* of pixels and size: two media with one identity have equal rows */
    const float *rows; /* [tokens, width]; NULL: planned, not encoded */
    const float *taps; /* deepstack: tap i at taps + i * tap_stride, [tokens, width] */
    size_t tap_count, tap_stride, width;
} oc_medium;

/* Visual rows of one frame pair: grid_h * grid_w / merge_size^2. */
size_t oc_medium_pair_tokens(const oc_medium *medium);
/* Of the whole medium. */
size_t oc_medium_tokens(const oc_medium *medium);

#endif
