/* prompt.h - chat items and media to token ids, every placeholder expanded. */
#ifndef OC_FUSION_PROMPT_H
#define OC_FUSION_PROMPT_H

#include "fusion/media.h"
#include "fusion/scatter.h"
#include "text/bpe.h"
#include "text/chat.h"

/* A picture becomes vision_start, one pad per visual row, vision_end. A clip becomes, for every
 * frame pair, "<0.2 seconds>" as ordinary text and the same three; with times, the three once for
 * all of it. items' media index into media; each medium is used once, in any order: *order gets the
 * media in prompt order, [media_count], which is the order that the scatter counts in. */
ocelli_status oc_prompt_encode(oc_ids *out, size_t *order, const oc_bpe *bpe,
                               const oc_chat_items *items, const oc_pad_ids *pads,
                               const oc_medium *media, size_t media_count, ocelli_error *err);

/* "<%.1f seconds>" with a point whatever the locale; ties to even of the binary double. */
void oc_prompt_timestamp(char text[64], double seconds);

#endif
