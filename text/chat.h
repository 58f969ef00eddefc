/* chat.h - messages to the flat text of the chat template, with media as slots.
 *
 * The template is C, tested against recorded renderings, not an interpreter: see chat_qwen.c. */
#ifndef OC_TEXT_CHAT_H
#define OC_TEXT_CHAT_H

#include "runtime/base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

/* One part of a message. Exactly one of the three. */
typedef struct oc_chat_part {
    enum { OC_PART_TEXT, OC_PART_IMAGE, OC_PART_VIDEO, OC_PART_IDS } kind;
    const char *text; /* OC_PART_TEXT */
    size_t length;
    size_t media;       /* OC_PART_IMAGE, OC_PART_VIDEO: the caller's index of the medium */
    const int32_t *ids; /* OC_PART_IDS: an answer as it was generated, never tokenised again */
    size_t id_count;
} oc_chat_part;

/* Tool calls and tool results arrive with the server; roles are the three of the public header. */
typedef struct oc_chat_message {
    ocelli_role role;
    const oc_chat_part *parts;
    size_t count;
} oc_chat_message;

typedef struct oc_chat_options {
    bool add_generation_prompt; /* ends with "<|im_start|>assistant\n" */
    bool add_vision_id;         /* "Picture 1: " before each medium, counted over all messages */
    bool special_in_text;       /* user text may become control tokens, as in the reference */
    bool default_system; /* "You are a helpful assistant." when there is none (not Qwen3-VL) */
} oc_chat_options;

/* What the template gives: text runs, media slots and id runs, in order. */
typedef struct oc_chat_item {
    enum { OC_ITEM_TEXT, OC_ITEM_IMAGE, OC_ITEM_VIDEO, OC_ITEM_IDS } kind;
    size_t begin, length; /* OC_ITEM_TEXT: bytes of text.data; OC_ITEM_IDS: entries of the part */
    bool special;         /* OC_ITEM_TEXT: added tokens are recognised in it */
    size_t media;         /* OC_ITEM_IMAGE, OC_ITEM_VIDEO */
    const int32_t *ids;   /* OC_ITEM_IDS, borrowed from the part */
} oc_chat_item;

typedef struct oc_chat_items {
    oc_buffer text;
    oc_chat_item *items; /* [count], owned */
    size_t count, capacity;
} oc_chat_items;
void oc_chat_items_close(oc_chat_items *items);
ocelli_status oc_chat_items_text(oc_chat_items *items, const char *text, size_t length,
                                 bool special, ocelli_error *err);
ocelli_status oc_chat_items_media(oc_chat_items *items, bool video, size_t media,
                                  ocelli_error *err);

/* Renders all messages. A media item stands for "<|vision_start|><|image_pad|><|vision_end|>" (or
 * video_pad): expanding it is fusion's work. */
ocelli_status oc_chat_render(oc_chat_items *out, const oc_chat_message *messages, size_t count,
                             const oc_chat_options *options, ocelli_error *err);

#endif
