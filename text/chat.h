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

/* A call that an assistant's message made. */
typedef struct oc_chat_call {
    const char *name;
    const char *arguments; /* [arguments_length] UTF-8 */
    size_t arguments_length;
    bool verbatim; /* arguments was a string: written as it is; else it is JSON, written as Python
                    * would (oc_python_json_append) */
} oc_chat_call;

typedef struct oc_chat_message {
    ocelli_role
        role; /* a value outside the enum: the message is dropped, as Qwen3-VL's template does */
    const oc_chat_part *parts;
    size_t count;
    bool is_tool;              /* a tool's result: role is not looked at */
    const oc_chat_call *calls; /* an assistant's, after its parts */
    size_t call_count;
} oc_chat_message;

/* One tool that may be called: a JSON object as text, in any spacing. */
typedef struct oc_chat_tool {
    const char *json; /* [length] UTF-8 */
    size_t length;
} oc_chat_tool;

/* Whose template. */
typedef enum oc_chat_style {
    OC_CHAT_TOOLS, /* Qwen3-VL: system first or not at all, pictures of users, tools */
    OC_CHAT_PLAIN  /* Qwen2-VL, Qwen2.5-VL: every message as it stands, with pictures in any, and
                    * "You are a helpful assistant." before a first one that is not of the system;
                    * no tools */
} oc_chat_style;

typedef struct oc_chat_options {
    oc_chat_style style;
    bool add_generation_prompt; /* ends with "<|im_start|>assistant\n" */
    bool add_vision_id;         /* "Picture 1: " before each medium, counted over all messages */
    bool special_in_text;       /* user text may become control tokens, as in the reference */
    const oc_chat_tool *tools;
    size_t tool_count;
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
ocelli_status oc_chat_items_ids(oc_chat_items *items, const int32_t *ids, size_t count,
                                ocelli_error *err);

/* Renders all messages. A media item stands for "<|vision_start|><|image_pad|><|vision_end|>" (or
 * video_pad): expanding it is fusion's work. Text next to text of the same kind becomes one item,
 * so with special_in_text a control token may be spelled across parts, as in the reference. In
 * Qwen3-VL's style a system message counts only if it is the first, as in the template, and a
 * picture in a system or an assistant's message, which the template would lose without a word, is
 * OCELLI_E_ARGUMENT; so is a tool or call that is not JSON. In Qwen2-VL's style tools and calls, of
 * which the template knows nothing, are not looked at. out is empty (zero) before, and after a
 * failure. */
ocelli_status oc_chat_render(oc_chat_items *out, const oc_chat_message *messages, size_t count,
                             const oc_chat_options *options, ocelli_error *err);

/* ---- chat_tools.c: for chat_qwen.c ---------------------------------------------------------- */

/* The "# Tools" part of the system turn, without the turn's ends. */
ocelli_status oc_chat_append_tools(oc_chat_items *out, const oc_chat_options *options,
                                   ocelli_error *err);
/* The calls of an assistant's message. after_text: something stands before them in the turn. */
ocelli_status oc_chat_append_calls(oc_chat_items *out, const oc_chat_message *message,
                                   bool after_text, const oc_chat_options *options,
                                   ocelli_error *err);

/* ---- chat_template.c ------------------------------------------------------------------------ */

typedef enum oc_chat_template {
    OC_TEMPLATE_ABSENT, /* the directory has none */
    OC_TEMPLATE_KNOWN,  /* oc_chat_render stands for it */
    OC_TEMPLATE_UNKNOWN /* another one, or one that cannot be read */
} oc_chat_template;

/* Compares a template [length] with those that oc_chat_render was tested against in this style,
 * byte for byte but for line ends at its end: known or unknown. */
oc_chat_template oc_chat_judge_template(const char *text, size_t length, oc_chat_style style);
/* The same of the template of a checkpoint (chat_template.jinja, else chat_template.json, else the
 * one in tokenizer_config.json), which may be absent. Fails only for want of memory. */
ocelli_status oc_chat_check_template(const char *directory, oc_chat_style style,
                                     oc_chat_template *out, ocelli_error *err);

#endif
