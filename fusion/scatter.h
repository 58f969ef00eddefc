/* scatter.h - masked_scatter: the k-th visual row goes to the k-th marked position. */
#ifndef OC_FUSION_SCATTER_H
#define OC_FUSION_SCATTER_H

#include "fusion/media.h"
#include "runtime/base/status.h"

/* The pad ids of a checkpoint. */
typedef struct oc_pad_ids {
    int32_t image, video;
} oc_pad_ids;

/* For each of ids [count]: which medium's row stands there, and which row of it. Text: medium -1.
 * Rows are handed out by order, pictures and clips counted apart. A count that does not match is
 * OCELLI_E_ARGUMENT with both numbers, never a truncation. medium, row [count]. */
ocelli_status oc_scatter_map(int32_t *medium, int32_t *row, const int32_t *ids, size_t count,
                             const oc_pad_ids *pads, const oc_medium *media, size_t media_count,
                             ocelli_error *err);

#endif
