/* chat_qwen.c - the chat template of Qwen-VL Instruct models, in C.
 *
 * The checkpoint's template is a Jinja program; an interpreter for it would be larger than the
 * decoder and would run what strangers wrote. This follows the programs of Qwen3-VL and of Qwen2-VL
 * (Qwen2.5-VL's is the same) step by step and is tested against their renderings;
 * oc_chat_check_template tells when a checkpoint brings another.
 *
 * Text of the template is always read for control tokens, text of the messages only if asked. */
#include "text/chat.h"

#include <string.h>

typedef struct renderer {
    oc_chat_items *out;
    const oc_chat_options *options;
    size_t pictures, clips; /* numbered over the whole conversation */
} renderer;

static ocelli_status append_template(renderer *r, const char *text, ocelli_error *err)
{
    return oc_chat_items_text(r->out, text, strlen(text), true, err);
}

static ocelli_status append_medium(renderer *r, const oc_chat_part *part, ocelli_error *err)
{
    bool video = part->kind == OC_PART_VIDEO;
    size_t number = video ? ++r->clips : ++r->pictures;
    if (r->options->add_vision_id) {
        char digits[24];
        size_t at = sizeof digits;
        digits[--at] = '\0';
        do {
            digits[--at] = (char)('0' + number % 10);
            number /= 10;
        } while (number > 0);
        OC_TRY(append_template(r, video ? "Video " : "Picture ", err));
        OC_TRY(append_template(r, digits + at, err));
        OC_TRY(append_template(r, ": ", err));
    }
    return oc_chat_items_media(r->out, video, part->media, err);
}

static ocelli_status append_parts(renderer *r, const oc_chat_message *message, bool media_allowed,
                                  ocelli_error *err)
{
    for (size_t i = 0; i < message->count; i++) {
        const oc_chat_part *part = &message->parts[i];
        switch (part->kind) {
        case OC_PART_TEXT:
            OC_TRY(oc_chat_items_text(r->out, part->text, part->length, r->options->special_in_text,
                                      err));
            break;
        case OC_PART_IMAGE:
        case OC_PART_VIDEO:
            if (!media_allowed) {
                return oc_fail(err, OCELLI_E_ARGUMENT,
                               "a picture or clip may stand in a user's message only: the chat "
                               "template drops those of system and assistant");
            }
            OC_TRY(append_medium(r, part, err));
            break;
        case OC_PART_IDS: OC_TRY(oc_chat_items_ids(r->out, part->ids, part->id_count, err)); break;
        }
    }
    return OCELLI_OK;
}

/* ---- Qwen3-VL ------------------------------------------------------------------------------- */

static bool is_system(const oc_chat_message *message)
{
    return !message->is_tool && message->role == OCELLI_SYSTEM;
}

/* The system turn: text of the first message, tools. No turn if there is neither. */
static ocelli_status append_system(renderer *r, const oc_chat_message *first, ocelli_error *err)
{
    bool has_tools = r->options->tool_count > 0;
    if (first == NULL && !has_tools) {
        return OCELLI_OK;
    }
    OC_TRY(append_template(r, "<|im_start|>system\n", err));
    if (first != NULL) {
        OC_TRY(append_parts(r, first, false, err));
    }
    if (has_tools) {
        if (first != NULL) {
            OC_TRY(append_template(r, "\n\n", err));
        }
        OC_TRY(oc_chat_append_tools(r->out, r->options, err));
    }
    return append_template(r, "<|im_end|>\n", err);
}

static ocelli_status append_user(renderer *r, const oc_chat_message *message, ocelli_error *err)
{
    OC_TRY(append_template(r, "<|im_start|>user\n", err));
    OC_TRY(append_parts(r, message, true, err));
    return append_template(r, "<|im_end|>\n", err);
}

/* Whether a message has any content: the template asks before it writes a newline. */
static bool has_content(const oc_chat_message *message)
{
    for (size_t i = 0; i < message->count; i++) {
        const oc_chat_part *part = &message->parts[i];
        if ((part->kind == OC_PART_TEXT && part->length > 0) ||
            (part->kind == OC_PART_IDS && part->id_count > 0)) {
            return true;
        }
    }
    return false;
}

static ocelli_status append_assistant(renderer *r, const oc_chat_message *message,
                                      ocelli_error *err)
{
    OC_TRY(append_template(r, "<|im_start|>assistant\n", err));
    OC_TRY(append_parts(r, message, false, err));
    OC_TRY(oc_chat_append_calls(r->out, message, has_content(message), r->options, err));
    return append_template(r, "<|im_end|>\n", err);
}

/* Results that follow each other share one user turn. */
static ocelli_status append_tool(renderer *r, const oc_chat_message *message, bool begins,
                                 bool ends, ocelli_error *err)
{
    OC_TRY(append_template(
        r, begins ? "<|im_start|>user\n<tool_response>\n" : "\n<tool_response>\n", err));
    OC_TRY(append_parts(r, message, true, err));
    return append_template(r, ends ? "\n</tool_response><|im_end|>\n" : "\n</tool_response>", err);
}

static ocelli_status render_with_tools(renderer *r, const oc_chat_message *messages, size_t count,
                                       ocelli_error *err)
{
    const oc_chat_message *first = count > 0 && is_system(&messages[0]) ? &messages[0] : NULL;
    OC_TRY(append_system(r, first, err));
    for (size_t i = 0; i < count; i++) {
        const oc_chat_message *message = &messages[i];
        if (message->is_tool) {
            bool begins = i == 0 || !messages[i - 1].is_tool;
            bool ends = i + 1 == count || !messages[i + 1].is_tool;
            OC_TRY(append_tool(r, message, begins, ends, err));
        } else if (message->role == OCELLI_USER) {
            OC_TRY(append_user(r, message, err));
        } else if (message->role == OCELLI_ASSISTANT) {
            OC_TRY(append_assistant(r, message, err));
        }
    }
    return OCELLI_OK;
}

/* ---- Qwen2-VL, Qwen2.5-VL ------------------------------------------------------------------- */

/* NULL: a role that nobody has a name for. */
static const char *role_name(const oc_chat_message *message)
{
    if (message->is_tool) {
        return "tool";
    }
    switch (message->role) {
    case OCELLI_SYSTEM: return "system";
    case OCELLI_USER: return "user";
    case OCELLI_ASSISTANT: return "assistant";
    }
    return NULL;
}

static ocelli_status render_plain(renderer *r, const oc_chat_message *messages, size_t count,
                                  ocelli_error *err)
{
    if (count > 0 && !is_system(&messages[0])) {
        OC_TRY(append_template(r, "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n",
                               err));
    }
    for (size_t i = 0; i < count; i++) {
        const char *role = role_name(&messages[i]);
        if (role != NULL) {
            OC_TRY(append_template(r, "<|im_start|>", err));
            OC_TRY(append_template(r, role, err));
            OC_TRY(append_template(r, "\n", err));
            OC_TRY(append_parts(r, &messages[i], true, err));
            OC_TRY(append_template(r, "<|im_end|>\n", err));
        }
    }
    return OCELLI_OK;
}

/* ---- both ----------------------------------------------------------------------------------- */

static ocelli_status render(renderer *r, const oc_chat_message *messages, size_t count,
                            ocelli_error *err)
{
    OC_TRY(r->options->style == OC_CHAT_PLAIN ? render_plain(r, messages, count, err)
                                              : render_with_tools(r, messages, count, err));
    return r->options->add_generation_prompt ? append_template(r, "<|im_start|>assistant\n", err)
                                             : OCELLI_OK;
}

ocelli_status oc_chat_render(oc_chat_items *out, const oc_chat_message *messages, size_t count,
                             const oc_chat_options *options, ocelli_error *err)
{
    renderer r = {.out = out, .options = options};
    ocelli_status status = render(&r, messages, count, err);
    if (status != OCELLI_OK) {
        oc_chat_items_close(out);
    }
    return status;
}
