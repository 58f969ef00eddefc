/* prompt.c - see prompt.h.
 *
 * The template's text and the timestamps are tokenised as one text, since pieces reach across their
 * borders; each pad is tokenised once and then repeated, so that a large picture costs no text. */
#include "fusion/prompt.h"

#include "runtime/base/memory.h"

#include <stdio.h>
#include <string.h>

static const char IMAGE_TEXT[] = "<|vision_start|><|image_pad|><|vision_end|>";
static const char VIDEO_TEXT[] = "<|vision_start|><|video_pad|><|vision_end|>";

void oc_prompt_timestamp(char text[64], double seconds)
{
    char number[48];
    char *out = text;
    snprintf(number, sizeof number, "%.1f", seconds);
    *out++ = '<';
    bool pointed = false;
    for (const char *at = number; *at != '\0'; at++) {
        bool digit = (*at >= '0' && *at <= '9') || *at == '-';
        if (digit) {
            *out++ = *at;
        } else if (!pointed) {
            *out++ = '.'; /* the locale's decimal point, however many bytes it has */
            pointed = true;
        }
    }
    memcpy(out, " seconds>", sizeof " seconds>");
}

/* Text and runs of one prompt; runs hold offsets until the text stops moving. */
typedef struct draft {
    oc_buffer text;
    oc_text_run *runs; /* [count], text is set last */
    size_t count, capacity;
} draft;

static void close_draft(draft *d)
{
    oc_buffer_close(&d->text);
    oc_free(d->runs);
}

static ocelli_status add_run(draft *d, const char *text, size_t length, bool special,
                             ocelli_error *err)
{
    if (length == 0) {
        return OCELLI_OK;
    }
    if (d->count == d->capacity) {
        size_t capacity = d->capacity * 2 + 16;
        oc_text_run *runs = oc_grow(d->runs, d->count, capacity, sizeof *runs);
        if (runs == NULL) {
            return oc_fail_memory(err, "the prompt");
        }
        d->runs = runs;
        d->capacity = capacity;
    }
    OC_TRY(oc_buffer_append(&d->text, text, length, err));
    d->runs[d->count++] = (oc_text_run){.length = length, .special = special};
    return OCELLI_OK;
}

static ocelli_status add_medium(draft *d, const oc_medium *medium, ocelli_error *err)
{
    if (!medium->video) {
        return add_run(d, IMAGE_TEXT, sizeof IMAGE_TEXT - 1, true, err);
    }
    if (medium->times != NULL) {
        return add_run(d, VIDEO_TEXT, sizeof VIDEO_TEXT - 1, true, err);
    }
    for (size_t pair = 0; pair < medium->grid_t; pair++) {
        char time[64];
        oc_prompt_timestamp(time, medium->timestamps[pair]);
        OC_TRY(add_run(d, time, strlen(time), false, err));
        OC_TRY(add_run(d, VIDEO_TEXT, sizeof VIDEO_TEXT - 1, true, err));
    }
    return OCELLI_OK;
}

/* Tokenises what was drafted and forgets it. */
static ocelli_status flush(draft *d, const oc_bpe *bpe, oc_ids *ids, ocelli_error *err)
{
    const char *at = d->text.data;
    for (size_t i = 0; i < d->count; i++) {
        d->runs[i].text = at;
        at += d->runs[i].length;
    }
    ocelli_status status =
        d->count > 0 ? oc_bpe_encode(bpe, d->runs, d->count, ids, err) : OCELLI_OK;
    oc_buffer_clear(&d->text);
    d->count = 0;
    return status;
}

static ocelli_status draft_items(oc_ids *ids, size_t *order, draft *d, const oc_bpe *bpe,
                                 const oc_chat_items *items, const oc_medium *media,
                                 size_t media_count, ocelli_error *err)
{
    size_t used = 0;
    for (size_t i = 0; i < items->count; i++) {
        const oc_chat_item *item = &items->items[i];
        switch (item->kind) {
        case OC_ITEM_TEXT:
            OC_TRY(add_run(d, items->text.data + item->begin, item->length, item->special, err));
            break;
        case OC_ITEM_IMAGE:
        case OC_ITEM_VIDEO:
            if (item->media >= media_count || used == media_count ||
                media[item->media].video != (item->kind == OC_ITEM_VIDEO)) {
                return oc_fail(err, OCELLI_E_INTERNAL, "the prompt names picture %zu of %zu",
                               item->media, media_count);
            }
            order[used++] = item->media;
            OC_TRY(add_medium(d, &media[item->media], err));
            break;
        case OC_ITEM_IDS:
            OC_TRY(flush(d, bpe, ids, err));
            for (size_t j = 0; j < item->length; j++) {
                OC_TRY(oc_ids_push(ids, item->ids[j], err));
            }
            break;
        }
    }
    if (used != media_count) {
        return oc_fail(err, OCELLI_E_INTERNAL, "the prompt uses %zu of %zu pictures", used,
                       media_count);
    }
    return flush(d, bpe, ids, err);
}

/* Repeats the n-th pad of each kind as often as the n-th block of that kind, a frame pair or the
 * whole medium, has rows. */
typedef struct pad_cursor {
    bool video;
    size_t next, pair; /* in order; the frame pair of a clip */
} pad_cursor;

static size_t take_pads(pad_cursor *at, const size_t *order, const oc_medium *media,
                        size_t media_count)
{
    while (at->next < media_count && media[order[at->next]].video != at->video) {
        at->next++;
    }
    if (at->next == media_count) {
        return 1; /* a pad that the text spelled out: the scatter will count one too many */
    }
    const oc_medium *medium = &media[order[at->next]];
    if (medium->times != NULL) {
        at->next++;
        return oc_medium_tokens(medium);
    }
    if (++at->pair == medium->grid_t) {
        at->next++;
        at->pair = 0;
    }
    return oc_medium_pair_tokens(medium);
}

static ocelli_status expand_pads(oc_ids *out, const oc_ids *short_ids, const size_t *order,
                                 const oc_pad_ids *pads, const oc_medium *media, size_t media_count,
                                 ocelli_error *err)
{
    pad_cursor images = {.video = false}, videos = {.video = true};
    for (size_t i = 0; i < short_ids->count; i++) {
        int32_t id = short_ids->ids[i];
        size_t times = 1;
        if (id == pads->image) {
            times = take_pads(&images, order, media, media_count);
        } else if (id == pads->video) {
            times = take_pads(&videos, order, media, media_count);
        }
        for (size_t j = 0; j < times; j++) {
            OC_TRY(oc_ids_push(out, id, err));
        }
    }
    return OCELLI_OK;
}

ocelli_status oc_prompt_encode(oc_ids *out, size_t *order, const oc_bpe *bpe,
                               const oc_chat_items *items, const oc_pad_ids *pads,
                               const oc_medium *media, size_t media_count, ocelli_error *err)
{
    draft d = {0};
    oc_ids short_ids = {0};
    ocelli_status status = draft_items(&short_ids, order, &d, bpe, items, media, media_count, err);
    if (status == OCELLI_OK) {
        status = expand_pads(out, &short_ids, order, pads, media, media_count, err);
    }
    oc_ids_close(&short_ids);
    close_draft(&d);
    return status;
}
