/* visual.h - one encoded image or clip: rows, deepstack rows, grid, identity.
 *
 * visual.c plans a picture and tells of visuals; visual_clip.c plans a clip; visual_encode.c makes
 * rows, or takes those of visual_cache.c. */
#ifndef OC_VISUAL_H
#define OC_VISUAL_H

#include "fusion/media.h"
#include "runtime/model.h"

/* What the tower makes, shared by the visuals and the cache that hold it: never written to after
 * it was made. */
typedef struct oc_visual_rows {
    atomic_int references;
    float *values; /* [1 + tap_count, tokens, hidden]: visual rows, then each tap's; owned */
    size_t bytes;  /* of values */
} oc_visual_rows;

/* Values are not zeroed. NULL: no memory. */
oc_visual_rows *oc_visual_rows_new(size_t bytes);
oc_visual_rows *oc_visual_rows_retain(oc_visual_rows *rows);
/* Accepts NULL. */
void oc_visual_rows_release(oc_visual_rows *rows);

struct ocelli_visual {
    atomic_int references;
    oc_medium medium; /* views of what follows */
    oc_hash pixels;   /* of the frames in order and of the size they get */
    size_t tokens;
    oc_visual_rows *rows; /* NULL: planned only */
    double *timestamps;   /* [grid_t]; a clip's */
    int32_t *times;       /* [grid_t], or NULL: see oc_medium */
    int source_width, source_height, width, height;
    size_t frames;
    double encode_seconds, cache_seconds;
    ocelli_visual_hit hit;
};

ocelli_visual *oc_visual_retain(const ocelli_visual *visual);

/* How many of `groups` temporal groups of the medium's grid share a pass of the tower: small ones so
 * many that the products have rows enough to be fast. One of a float32 tower, whose products may have
 * other bits among other rows. */
size_t oc_visual_together(const ocelli_model *model, const oc_medium *medium, size_t groups);

/* The checkpoint's size rule with the caller's bounds over it. OCELLI_E_ARGUMENT: they contradict. */
ocelli_status oc_visual_choose_rule(oc_size_rule *rule, const oc_size_rule *checkpoint,
                                    const ocelli_visual_options *options, ocelli_error *err);
/* A visual of frames [count] at the size width x height, with everything but its rows. */
ocelli_status oc_visual_plan(ocelli_visual **out, const ocelli_model *model,
                             const ocelli_image *const *frames, size_t count, bool video, int width,
                             int height, ocelli_error *err);

#endif
