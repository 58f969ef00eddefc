/* golden_chat.h - recorded messages (Hugging Face chat form) as the chat template takes them. */
#ifndef OC_TESTS_GOLDEN_CHAT_H
#define OC_TESTS_GOLDEN_CHAT_H

#include "text/bpe.h"
#include "text/chat.h"

#include <cjson/cJSON.h>

/* Messages as oc_chat_render takes them. Media are numbered in order of appearance. */
typedef struct golden_chat {
    oc_chat_message *messages; /* [count], owned with all they point to */
    size_t count;
    const cJSON **media; /* [media_count], owned list of parts of the JSON tree */
    size_t media_count;
} golden_chat;

/* NULL, or why the messages cannot be rendered. */
const char *golden_chat_read(golden_chat *out, const cJSON *messages);
void golden_chat_close(golden_chat *chat);

/* Renders in a family's style with recorded options (NULL: a generation prompt and nothing else),
 * special tokens in text being what they are to the reference. */
ocelli_status golden_chat_render(oc_chat_items *out, const golden_chat *chat, oc_chat_style style,
                                 const cJSON *options, ocelli_error *err);
/* The rendering as one text, media as their three control tokens. */
ocelli_status golden_chat_text(oc_buffer *out, const oc_chat_items *items, ocelli_error *err);
/* The ids of that text. */
ocelli_status golden_chat_ids(oc_ids *out, const oc_bpe *bpe, const oc_chat_items *items,
                              ocelli_error *err);

/* Concatenated bytes of ids, with or without the special ones. */
ocelli_status golden_decode(oc_buffer *out, const oc_bpe *bpe, const int64_t *ids, size_t count,
                            bool skip_special, ocelli_error *err);

#endif
