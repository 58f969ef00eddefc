/* fuse.h - items and media to everything the decoder needs to know of a prompt. */
#ifndef OC_FUSION_FUSE_H
#define OC_FUSION_FUSE_H

#include "fusion/prompt.h"
#include "text/embed_table.h"

/* A prompt, fused. The media are copied (views); what they point to must outlive it. */
typedef struct oc_fused {
    oc_ids ids;              /* [count] */
    int32_t *medium;         /* [count]: index into media, -1: text */
    int32_t *row;            /* [count]: row of the medium */
    int32_t (*positions)[3]; /* [count]: t, h, w */
    size_t count, capacity;
    int32_t next_position; /* of the first generated token; rope_delta = next_position - count */
    oc_medium *media;      /* [media_count], in prompt order */
    size_t media_count;
} oc_fused;

ocelli_status oc_fuse(oc_fused *out, const oc_bpe *bpe, const oc_chat_items *items,
                      const oc_pad_ids *pads, const oc_medium *media, size_t media_count,
                      ocelli_error *err);
/* Fuses ids that are already expanded. ids are copied; media in prompt order. */
ocelli_status oc_fuse_ids(oc_fused *out, const int32_t *ids, size_t count, const oc_pad_ids *pads,
                          const oc_medium *media, size_t media_count, ocelli_error *err);
void oc_fused_close(oc_fused *fused);
/* The first count tokens, to compare prompts with: of the media only what is no pointer. */
ocelli_status oc_fused_copy(oc_fused *out, const oc_fused *fused, size_t count, ocelli_error *err);

/* Appends one generated token: text, at the next position. */
ocelli_status oc_fused_push(oc_fused *fused, int32_t id, ocelli_error *err);

/* How many leading tokens of a and b are the same: equal ids, and equal pixels behind equal pads
 * (placeholder ids are all alike). */
size_t oc_fused_common(const oc_fused *a, const oc_fused *b);

/* Rows [begin, end) of the decoder's input: text rows gathered in float32 from the table, pads
 * replaced by visual rows (never gathered). out [end - begin, hidden]. */
ocelli_status oc_fused_rows(float *out, const oc_fused *fused, const oc_embed_table *table,
                            size_t begin, size_t end, ocelli_error *err);

/* Deepstack row of token i: tap t's at result + t * *stride; NULL for text. */
const float *oc_fused_taps(const oc_fused *fused, size_t i, size_t *stride);
/* Taps that the media carry; 0 without media. */
size_t oc_fused_tap_count(const oc_fused *fused);

#endif
