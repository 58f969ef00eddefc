/* scatter.c - see scatter.h. */
#include "fusion/scatter.h"

size_t oc_medium_pair_tokens(const oc_medium *medium)
{
    return medium->grid_h / medium->merge_size * (medium->grid_w / medium->merge_size);
}

size_t oc_medium_tokens(const oc_medium *medium)
{
    return medium->grid_t * oc_medium_pair_tokens(medium);
}

/* The next row to hand out among media of one kind. */
typedef struct cursor {
    bool video;
    size_t medium, row;
} cursor;

/* Moves past exhausted media; false when no row of this kind is left. */
static bool settle(cursor *at, const oc_medium *media, size_t media_count)
{
    while (at->medium < media_count && (media[at->medium].video != at->video ||
                                        at->row == oc_medium_tokens(&media[at->medium]))) {
        at->medium++;
        at->row = 0;
    }
    return at->medium < media_count;
}

static ocelli_status mismatch(const int32_t *ids, size_t count, int32_t pad, bool video,
                              const oc_medium *media, size_t media_count, ocelli_error *err)
{
    size_t pads = 0, rows = 0;
    for (size_t i = 0; i < count; i++) {
        pads += ids[i] == pad;
    }
    for (size_t i = 0; i < media_count; i++) {
        rows += media[i].video == video ? oc_medium_tokens(&media[i]) : 0;
    }
    return oc_fail(err, OCELLI_E_ARGUMENT,
                   "the prompt has %zu %s pads but there are %zu %s rows; does the text hold "
                   "spelled-out pad tokens?",
                   pads, video ? "video" : "image", rows, video ? "video" : "image");
}

ocelli_status oc_scatter_map(int32_t *medium, int32_t *row, const int32_t *ids, size_t count,
                             const oc_pad_ids *pads, const oc_medium *media, size_t media_count,
                             ocelli_error *err)
{
    cursor images = {.video = false}, videos = {.video = true};
    for (size_t i = 0; i < count; i++) {
        medium[i] = -1;
        row[i] = -1;
        if (ids[i] != pads->image && ids[i] != pads->video) {
            continue;
        }
        cursor *at = ids[i] == pads->image ? &images : &videos;
        if (!settle(at, media, media_count)) {
            return mismatch(ids, count, ids[i], at->video, media, media_count, err);
        }
        medium[i] = (int32_t)at->medium;
        row[i] = (int32_t)at->row++;
    }
    if (settle(&images, media, media_count)) {
        return mismatch(ids, count, pads->image, false, media, media_count, err);
    }
    if (settle(&videos, media, media_count)) {
        return mismatch(ids, count, pads->video, true, media, media_count, err);
    }
    return OCELLI_OK;
}
