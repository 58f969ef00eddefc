/* conversation.c - see conversation.h. */
#include "runtime/conversation.h"

#include "runtime/base/memory.h"
#include "text/unicode.h"

#include <string.h>

static void close_message(oc_message *message)
{
    for (size_t i = 0; message->parts != NULL && i < message->count; i++) {
        oc_free(message->parts[i].text);
        ocelli_visual_free(message->parts[i].visual);
        oc_ids_close(&message->parts[i].ids);
    }
    oc_free(message->parts);
    *message = (oc_message){0};
}

void oc_conversation_close(oc_conversation *talk)
{
    while (talk->count > 0) {
        oc_conversation_drop_last(talk);
    }
    oc_free(talk->messages);
    *talk = (oc_conversation){0};
}

void oc_conversation_drop_last(oc_conversation *talk)
{
    if (talk->count > 0) {
        close_message(&talk->messages[--talk->count]);
    }
}

/* A new last message with room for count parts; its count is what was filled. */
static ocelli_status begin_message(oc_message **out, oc_conversation *talk, ocelli_role role,
                                   size_t count, ocelli_error *err)
{
    if (talk->count == talk->capacity) {
        size_t capacity = talk->capacity * 2 + 4;
        oc_message *messages = oc_grow(talk->messages, talk->count, capacity, sizeof *messages);
        if (messages == NULL) {
            return oc_fail_memory(err, "a message");
        }
        talk->messages = messages;
        talk->capacity = capacity;
    }
    oc_message *message = &talk->messages[talk->count];
    *message = (oc_message){.role = role, .parts = oc_alloc(count, sizeof *message->parts)};
    if (message->parts == NULL) {
        return oc_fail_memory(err, "a message");
    }
    talk->count++;
    *out = message;
    return OCELLI_OK;
}

static ocelli_status check_part(const ocelli_part *part, size_t index, ocelli_error *err)
{
    if ((part->text == NULL) == (part->visual == NULL)) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "part %zu must be text or a picture, one of the two",
                       index);
    }
    if (part->text != NULL) {
        size_t length = strlen(part->text);
        size_t valid = oc_utf8_valid_prefix(part->text, length);
        if (valid != length) {
            return oc_fail(err, OCELLI_E_ARGUMENT, "part %zu: the text is not UTF-8 at byte %zu",
                           index, valid);
        }
    }
    return OCELLI_OK;
}

ocelli_status oc_conversation_add(oc_conversation *talk, oc_chat_style style, ocelli_role role,
                                  const ocelli_part *parts, size_t count, ocelli_error *err)
{
    bool strict = style == OC_CHAT_TOOLS;
    oc_message *message;
    if (role != OCELLI_SYSTEM && role != OCELLI_USER && role != OCELLI_ASSISTANT) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "role %d is not known", (int)role);
    }
    if (strict && role == OCELLI_SYSTEM && talk->count > 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "a system message must be the first");
    }
    for (size_t i = 0; i < count; i++) {
        OC_TRY(check_part(&parts[i], i, err));
        if (strict && parts[i].visual != NULL && role != OCELLI_USER) {
            return oc_fail(err, OCELLI_E_ARGUMENT, "only user messages hold pictures");
        }
    }
    OC_TRY(begin_message(&message, talk, role, count, err));
    for (size_t i = 0; i < count; i++) {
        oc_said *said = &message->parts[message->count++];
        if (parts[i].visual != NULL) {
            said->visual = oc_visual_retain(parts[i].visual);
            continue;
        }
        said->length = strlen(parts[i].text);
        said->text = oc_strndup(parts[i].text, said->length);
        if (said->text == NULL) {
            oc_conversation_drop_last(talk);
            return oc_fail_memory(err, "a message");
        }
    }
    return OCELLI_OK;
}

ocelli_status oc_conversation_add_answer(oc_conversation *talk, const int32_t *ids, size_t count,
                                         ocelli_error *err)
{
    oc_message *message;
    OC_TRY(begin_message(&message, talk, OCELLI_ASSISTANT, 1, err));
    message->count = 1;
    for (size_t i = 0; i < count; i++) {
        ocelli_status status = oc_ids_push(&message->parts[0].ids, ids[i], err);
        if (status != OCELLI_OK) {
            oc_conversation_drop_last(talk);
            return status;
        }
    }
    return OCELLI_OK;
}

static ocelli_status copy_said(oc_said *out, const oc_said *said, ocelli_error *err)
{
    if (said->visual != NULL) {
        out->visual = oc_visual_retain(said->visual);
    }
    if (said->text != NULL) {
        out->length = said->length;
        out->text = oc_strndup(said->text, said->length);
        if (out->text == NULL) {
            return oc_fail_memory(err, "a message");
        }
    }
    for (size_t i = 0; i < said->ids.count; i++) {
        OC_TRY(oc_ids_push(&out->ids, said->ids.ids[i], err));
    }
    return OCELLI_OK;
}

ocelli_status oc_conversation_copy(oc_conversation *out, const oc_conversation *talk,
                                   ocelli_error *err)
{
    for (size_t i = 0; i < talk->count; i++) {
        const oc_message *message = &talk->messages[i];
        oc_message *copy;
        OC_TRY(begin_message(&copy, out, message->role, message->count, err));
        copy->count = message->count; /* zeroed: what is not yet filled can be closed */
        for (size_t k = 0; k < message->count; k++) {
            OC_TRY(copy_said(&copy->parts[k], &message->parts[k], err));
        }
    }
    return OCELLI_OK;
}

/* What the chat template and the fusion take, flat; views of the conversation. */
typedef struct flat {
    oc_chat_message *messages; /* [talk->count] */
    oc_chat_part *parts;       /* all parts of all messages */
    oc_medium *media;
    size_t media_count;
} flat;

static ocelli_status flatten(flat *out, const oc_conversation *talk, ocelli_error *err)
{
    size_t total = 0, next = 0;
    for (size_t i = 0; i < talk->count; i++) {
        total += talk->messages[i].count;
    }
    out->messages = oc_alloc(talk->count, sizeof *out->messages);
    out->parts = oc_alloc(total, sizeof *out->parts);
    out->media = oc_alloc(total, sizeof *out->media);
    if (out->messages == NULL || out->parts == NULL || out->media == NULL) {
        return oc_fail_memory(err, "the prompt");
    }
    for (size_t i = 0; i < talk->count; i++) {
        const oc_message *message = &talk->messages[i];
        out->messages[i] = (oc_chat_message){
            .role = message->role, .parts = out->parts + next, .count = message->count};
        for (size_t j = 0; j < message->count; j++) {
            const oc_said *said = &message->parts[j];
            oc_chat_part *part = &out->parts[next++];
            if (said->visual != NULL) {
                bool video = said->visual->medium.video;
                *part = (oc_chat_part){.kind = video ? OC_PART_VIDEO : OC_PART_IMAGE,
                                       .media = out->media_count};
                out->media[out->media_count++] = said->visual->medium;
            } else if (said->text != NULL) {
                *part = (oc_chat_part){
                    .kind = OC_PART_TEXT, .text = said->text, .length = said->length};
            } else {
                *part = (oc_chat_part){
                    .kind = OC_PART_IDS, .ids = said->ids.ids, .id_count = said->ids.count};
            }
        }
    }
    return OCELLI_OK;
}

ocelli_status oc_conversation_fuse(oc_fused *out, const oc_conversation *talk,
                                   const ocelli_model *model, const oc_chat_options *options,
                                   ocelli_error *err)
{
    flat view = {0};
    oc_chat_items items = {0};
    *out = (oc_fused){0};
    ocelli_status status = flatten(&view, talk, err);
    if (status == OCELLI_OK) {
        status = oc_chat_render(&items, view.messages, talk->count, options, err);
    }
    if (status == OCELLI_OK) {
        status = oc_fuse(out, model->bpe, &items, &model->config.pads, view.media, view.media_count,
                         err);
    }
    oc_chat_items_close(&items);
    oc_free(view.messages);
    oc_free(view.parts);
    oc_free(view.media);
    return status;
}
