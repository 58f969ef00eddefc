/* visual.h - one encoded image or clip: rows, deepstack rows, grid, identity. */
#ifndef OC_VISUAL_H
#define OC_VISUAL_H

#include "fusion/media.h"
#include "runtime/model.h"

struct ocelli_visual {
    atomic_int references;
    oc_medium medium; /* views of what follows */
    size_t tokens;
    float *rows;        /* [tokens, hidden]; NULL: planned only */
    float *taps;        /* [tap_count, tokens, hidden] */
    double *timestamps; /* [grid_t]; a clip's */
    int32_t *times;     /* [grid_t], or NULL: see oc_medium */
    int source_width, source_height, width, height;
    size_t frames;
    double encode_seconds;
};

ocelli_visual *oc_visual_retain(const ocelli_visual *visual);

#endif
