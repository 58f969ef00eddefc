/* visual_encode.h - from planned visuals to visuals with rows: the cache first, then the tower. */
#ifndef OC_VISUAL_ENCODE_H
#define OC_VISUAL_ENCODE_H

#include "runtime/visual.h"
#include "runtime/visual_key.h"

typedef struct oc_visual_job {
    ocelli_visual *visual;             /* planned */
    const ocelli_image *const *frames; /* [visual->frames] */
    oc_visual_key key;                 /* of the cache; unset without one */
} oc_visual_job;

/* Gives every job's visual its rows, unless options say plan_only. What the cache holds is taken
 * from it, and what it does not is told to it; a picture that comes twice is encoded once. Pictures
 * of one size go through the tower together. On failure some visuals may have rows and others not:
 * they are the caller's to free. */
ocelli_status oc_visual_encode(oc_visual_job *jobs, size_t count, ocelli_model *model,
                               const ocelli_visual_options *options, ocelli_error *err);

#endif
