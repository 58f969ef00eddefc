/* fuse.c - see fuse.h. */
#include "fusion/fuse.h"

#include "fusion/positions.h"
#include "runtime/base/memory.h"

#include <string.h>

/* Takes ids over; they are freed with fused, also on failure. */
static ocelli_status fuse(oc_fused *fused, oc_ids *ids, const oc_pad_ids *pads,
                          const oc_medium *media, const size_t *order, size_t media_count,
                          ocelli_error *err)
{
    fused->ids = *ids;
    fused->count = fused->capacity = ids->count;
    *ids = (oc_ids){0};
    fused->media_count = media_count;
    fused->media = oc_alloc(media_count, sizeof *fused->media);
    fused->medium = oc_alloc(fused->count, sizeof *fused->medium);
    fused->row = oc_alloc(fused->count, sizeof *fused->row);
    fused->positions = oc_alloc(fused->count, sizeof *fused->positions);
    if (fused->media == NULL || fused->medium == NULL || fused->row == NULL ||
        fused->positions == NULL) {
        return oc_fail_memory(err, "the prompt");
    }
    for (size_t i = 0; i < media_count; i++) {
        fused->media[i] = media[order != NULL ? order[i] : i];
    }
    OC_TRY(oc_scatter_map(fused->medium, fused->row, fused->ids.ids, fused->count, pads,
                          fused->media, media_count, err));
    return oc_positions_assign(fused->positions, &fused->next_position, fused->medium, fused->row,
                               fused->count, fused->media, err);
}

ocelli_status oc_fuse(oc_fused *out, const oc_bpe *bpe, const oc_chat_items *items,
                      const oc_pad_ids *pads, const oc_medium *media, size_t media_count,
                      ocelli_error *err)
{
    oc_ids ids = {0};
    *out = (oc_fused){0};
    size_t *order = oc_alloc(media_count, sizeof *order);
    if (order == NULL) {
        return oc_fail_memory(err, "the prompt");
    }
    ocelli_status status = oc_prompt_encode(&ids, order, bpe, items, pads, media, media_count, err);
    if (status == OCELLI_OK) {
        status = fuse(out, &ids, pads, media, order, media_count, err);
    }
    oc_ids_close(&ids);
    oc_free(order);
    if (status != OCELLI_OK) {
        oc_fused_close(out);
    }
    return status;
}

ocelli_status oc_fuse_ids(oc_fused *out, const int32_t *ids, size_t count, const oc_pad_ids *pads,
                          const oc_medium *media, size_t media_count, ocelli_error *err)
{
    oc_ids copy = {0};
    ocelli_status status = OCELLI_OK;
    *out = (oc_fused){0};
    for (size_t i = 0; i < count && status == OCELLI_OK; i++) {
        status = oc_ids_push(&copy, ids[i], err);
    }
    if (status == OCELLI_OK) {
        status = fuse(out, &copy, pads, media, NULL, media_count, err);
    }
    oc_ids_close(&copy);
    if (status != OCELLI_OK) {
        oc_fused_close(out);
    }
    return status;
}

void oc_fused_close(oc_fused *fused)
{
    oc_ids_close(&fused->ids);
    oc_free(fused->medium);
    oc_free(fused->row);
    oc_free(fused->positions);
    oc_free(fused->media);
    *fused = (oc_fused){0};
}

static ocelli_status copy_tokens(oc_fused *out, const oc_fused *fused, size_t count,
                                 ocelli_error *err)
{
    out->media = oc_alloc(fused->media_count, sizeof *out->media);
    out->medium = oc_alloc(count, sizeof *out->medium);
    out->row = oc_alloc(count, sizeof *out->row);
    out->positions = oc_alloc(count, sizeof *out->positions);
    if (out->media == NULL || out->medium == NULL || out->row == NULL || out->positions == NULL) {
        return oc_fail_memory(err, "the prompt");
    }
    for (size_t i = 0; i < fused->media_count; i++) {
        oc_medium medium = fused->media[i];
        medium.timestamps = NULL;
        medium.times = NULL;
        medium.rows = medium.taps = NULL;
        out->media[out->media_count++] = medium;
    }
    for (size_t i = 0; i < count; i++) {
        OC_TRY(oc_ids_push(&out->ids, fused->ids.ids[i], err));
        out->medium[i] = fused->medium[i];
        out->row[i] = fused->row[i];
        memcpy(out->positions[i], fused->positions[i], sizeof out->positions[i]);
    }
    out->count = out->capacity = count;
    out->next_position = fused->next_position;
    return OCELLI_OK;
}

ocelli_status oc_fused_copy(oc_fused *out, const oc_fused *fused, size_t count, ocelli_error *err)
{
    *out = (oc_fused){0};
    ocelli_status status = copy_tokens(out, fused, count, err);
    if (status != OCELLI_OK) {
        oc_fused_close(out);
    }
    return status;
}

static ocelli_status grow(oc_fused *fused, ocelli_error *err)
{
    size_t capacity = fused->capacity + fused->capacity / 2 + 64;
    int32_t *medium = oc_grow(fused->medium, fused->count, capacity, sizeof *medium);
    fused->medium = medium != NULL ? medium : fused->medium;
    int32_t *row = oc_grow(fused->row, fused->count, capacity, sizeof *row);
    fused->row = row != NULL ? row : fused->row;
    int32_t(*positions)[3] = oc_grow(fused->positions, fused->count, capacity, sizeof *positions);
    fused->positions = positions != NULL ? positions : fused->positions;
    if (medium == NULL || row == NULL || positions == NULL) {
        return oc_fail_memory(err, "the answer"); /* what grew stays valid at the old capacity */
    }
    fused->capacity = capacity;
    return OCELLI_OK;
}

ocelli_status oc_fused_push(oc_fused *fused, int32_t id, ocelli_error *err)
{
    if (fused->count == fused->capacity) {
        OC_TRY(grow(fused, err));
    }
    OC_TRY(oc_ids_push(&fused->ids, id, err));
    size_t i = fused->count++;
    fused->medium[i] = -1;
    fused->row[i] = -1;
    fused->positions[i][0] = fused->positions[i][1] = fused->positions[i][2] = fused->next_position;
    fused->next_position++;
    return OCELLI_OK;
}

size_t oc_fused_common(const oc_fused *a, const oc_fused *b)
{
    size_t least = a->count < b->count ? a->count : b->count;
    for (size_t i = 0; i < least; i++) {
        if (a->ids.ids[i] != b->ids.ids[i] || (a->medium[i] < 0) != (b->medium[i] < 0)) {
            return i;
        }
        if (a->medium[i] >= 0 &&
            (a->row[i] != b->row[i] ||
             !oc_hash_equal(a->media[a->medium[i]].identity, b->media[b->medium[i]].identity))) {
            return i;
        }
    }
    return least;
}

ocelli_status oc_fused_rows(float *out, const oc_fused *fused, const oc_embed_table *table,
                            size_t begin, size_t end, ocelli_error *err)
{
    size_t hidden = oc_embed_table_hidden(table);
    for (size_t i = begin; i < end;) {
        float *to = out + (i - begin) * hidden;
        if (fused->medium[i] >= 0) {
            const oc_medium *medium = &fused->media[fused->medium[i]];
            if (medium->rows == NULL) {
                return oc_fail(err, OCELLI_E_STATE, "a picture was planned but not encoded");
            }
            if (medium->width != hidden) {
                return oc_fail(err, OCELLI_E_ARGUMENT,
                               "a picture was encoded for another model: rows of %zu, not %zu",
                               medium->width, hidden);
            }
            memcpy(to, medium->rows + (size_t)fused->row[i] * hidden, hidden * sizeof *to);
            i++;
            continue;
        }
        size_t stop = i + 1; /* gather a run of text at once */
        while (stop < end && fused->medium[stop] < 0) {
            stop++;
        }
        OC_TRY(oc_embed_table_gather(table, fused->ids.ids + i, stop - i, to, err));
        i = stop;
    }
    return OCELLI_OK;
}

const float *oc_fused_taps(const oc_fused *fused, size_t i, size_t *stride)
{
    *stride = 0;
    if (fused->medium[i] < 0) {
        return NULL;
    }
    const oc_medium *medium = &fused->media[fused->medium[i]];
    if (medium->tap_count == 0 || medium->taps == NULL) {
        return NULL;
    }
    *stride = medium->tap_stride;
    return medium->taps + (size_t)fused->row[i] * medium->width;
}

size_t oc_fused_tap_count(const oc_fused *fused)
{
    size_t most = 0;
    for (size_t i = 0; i < fused->media_count; i++) {
        most = fused->media[i].tap_count > most ? fused->media[i].tap_count : most;
    }
    return most;
}
