/* golden_chat.c - see golden_chat.h. */
#include "tests/golden/golden_chat.h"

#include "runtime/base/memory.h"
#include "tests/golden/golden_data.h"

#include <string.h>

static const char IMAGE_TEXT[] = "<|vision_start|><|image_pad|><|vision_end|>";
static const char VIDEO_TEXT[] = "<|vision_start|><|video_pad|><|vision_end|>";

/* Roles that nobody knows stay outside the enum: dropping them is the template's work. */
static ocelli_role role_of(const char *role)
{
    static const char *const names[] = {"system", "user", "assistant"};
    static const ocelli_role roles[] = {OCELLI_SYSTEM, OCELLI_USER, OCELLI_ASSISTANT};
    for (size_t i = 0; i < 3 && role != NULL; i++) {
        if (strcmp(role, names[i]) == 0) {
            return roles[i];
        }
    }
    return (ocelli_role)99;
}

static bool is_type(const cJSON *part, const char *type)
{
    const char *found = golden_string(part, "type");
    return found != NULL && strcmp(found, type) == 0;
}

/* The template's own order of questions: image, then video, then text. */
static oc_chat_part read_part(golden_chat *chat, const cJSON *part)
{
    bool image = is_type(part, "image") || golden_get(part, "image") != NULL ||
                 golden_get(part, "image_url") != NULL;
    bool video = is_type(part, "video") || golden_get(part, "video") != NULL;
    if (image || video) {
        chat->media[chat->media_count] = part;
        return (oc_chat_part){.kind = image ? OC_PART_IMAGE : OC_PART_VIDEO,
                              .media = chat->media_count++};
    }
    const cJSON *text = cJSON_IsString(part) ? part : golden_get(part, "text");
    size_t length;
    char *copy = golden_text(text, &length);
    return (oc_chat_part){.kind = OC_PART_TEXT, .text = copy, .length = length};
}

/* Compact JSON in memory of ours. */
static char *print_json(const cJSON *value)
{
    char *printed = cJSON_PrintUnformatted(value);
    char *copy = printed != NULL ? oc_strdup(printed) : NULL;
    cJSON_free(printed);
    return copy;
}

static size_t count_parts(const cJSON *messages)
{
    size_t count = 1;
    const cJSON *message;
    cJSON_ArrayForEach(message, messages)
    {
        const cJSON *content = golden_get(message, "content");
        count += cJSON_IsArray(content) ? (size_t)cJSON_GetArraySize(content) : 1;
    }
    return count;
}

/* A call is {"function": {name, arguments}} or the inner object alone. */
static bool read_calls(oc_chat_message *message, const cJSON *list)
{
    const cJSON *item;
    oc_chat_call *calls = oc_alloc((size_t)cJSON_GetArraySize(list), sizeof *calls);
    if (calls == NULL) {
        return false;
    }
    message->calls = calls;
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *function = golden_get(item, "function");
        function = function != NULL ? function : item;
        const cJSON *arguments = golden_get(function, "arguments");
        oc_chat_call *call = &calls[message->call_count++];
        call->name = golden_string(function, "name");
        call->verbatim = cJSON_IsString(arguments);
        call->arguments =
            call->verbatim ? oc_strdup(arguments->valuestring) : print_json(arguments);
        if (call->name == NULL || call->arguments == NULL) {
            return false;
        }
        call->arguments_length = strlen(call->arguments);
    }
    return true;
}

static const char *read_message(golden_chat *chat, const cJSON *json)
{
    oc_chat_message *message = &chat->messages[chat->count++];
    const cJSON *content = golden_get(json, "content");
    const cJSON *calls = golden_get(json, "tool_calls");
    const char *role = golden_string(json, "role");
    message->role = role_of(role);
    message->is_tool = role != NULL && strcmp(role, "tool") == 0;
    bool list = cJSON_IsArray(content);
    oc_chat_part *parts = oc_alloc(list ? (size_t)cJSON_GetArraySize(content) : 1, sizeof *parts);
    if (parts == NULL) {
        return "messages larger than memory";
    }
    const cJSON *part;
    message->parts = parts;
    if (list) {
        cJSON_ArrayForEach(part, content) parts[message->count++] = read_part(chat, part);
    } else {
        parts[message->count++] = read_part(chat, content);
    }
    return calls != NULL && !read_calls(message, calls) ? "tool calls of another form" : NULL;
}

const char *golden_chat_read(golden_chat *out, const cJSON *messages)
{
    *out = (golden_chat){0};
    if (!cJSON_IsArray(messages)) {
        return "no messages";
    }
    out->messages = oc_alloc((size_t)cJSON_GetArraySize(messages) + 1, sizeof *out->messages);
    out->media = oc_alloc(count_parts(messages), sizeof *out->media);
    const char *wrong =
        out->messages == NULL || out->media == NULL ? "messages larger than memory" : NULL;
    const cJSON *message;
    cJSON_ArrayForEach(message, messages)
    {
        wrong = wrong == NULL ? read_message(out, message) : wrong;
    }
    if (wrong != NULL) {
        golden_chat_close(out);
    }
    return wrong;
}

void golden_chat_close(golden_chat *chat)
{
    for (size_t i = 0; i < chat->count; i++) {
        for (size_t j = 0; j < chat->messages[i].count; j++) {
            oc_free((void *)(uintptr_t)chat->messages[i].parts[j].text);
        }
        for (size_t j = 0; j < chat->messages[i].call_count; j++) {
            oc_free((void *)(uintptr_t)chat->messages[i].calls[j].arguments);
        }
        oc_free((void *)(uintptr_t)chat->messages[i].parts);
        oc_free((void *)(uintptr_t)chat->messages[i].calls);
    }
    oc_free(chat->messages);
    oc_free(chat->media);
    *chat = (golden_chat){0};
}

static void free_tools(oc_chat_tool *tools, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        oc_free((void *)(uintptr_t)tools[i].json);
    }
    oc_free(tools);
}

ocelli_status golden_chat_render(oc_chat_items *out, const golden_chat *chat, oc_chat_style style,
                                 const cJSON *options, ocelli_error *err)
{
    const cJSON *list = golden_get(options, "tools");
    size_t room = (size_t)cJSON_GetArraySize(list);
    oc_chat_tool *tools = oc_alloc(room, sizeof *tools);
    ocelli_status status = tools != NULL ? OCELLI_OK : oc_fail_memory(err, "tools");
    for (size_t i = 0; i < room && status == OCELLI_OK; i++) {
        tools[i].json = print_json(cJSON_GetArrayItem(list, (int)i));
        status = tools[i].json != NULL ? OCELLI_OK : oc_fail_memory(err, "tools");
        tools[i].length = status == OCELLI_OK ? strlen(tools[i].json) : 0;
    }
    const oc_chat_options ours = {
        .style = style,
        .add_generation_prompt = golden_flag(options, "add_generation_prompt", options == NULL),
        .add_vision_id = golden_flag(options, "add_vision_id", false),
        .special_in_text = true,
        .tools = tools,
        .tool_count = room};
    if (status == OCELLI_OK) {
        status = oc_chat_render(out, chat->messages, chat->count, &ours, err);
    }
    free_tools(tools, tools != NULL ? room : 0);
    return status;
}

ocelli_status golden_chat_text(oc_buffer *out, const oc_chat_items *items, ocelli_error *err)
{
    for (size_t i = 0; i < items->count; i++) {
        const oc_chat_item *item = &items->items[i];
        if (item->kind == OC_ITEM_TEXT) {
            OC_TRY(oc_buffer_append(out, items->text.data + item->begin, item->length, err));
        } else {
            OC_TRY(oc_buffer_append_text(out, item->kind == OC_ITEM_IMAGE ? IMAGE_TEXT : VIDEO_TEXT,
                                         err));
        }
    }
    return OCELLI_OK;
}

ocelli_status golden_chat_ids(oc_ids *out, const oc_bpe *bpe, const oc_chat_items *items,
                              ocelli_error *err)
{
    oc_text_run *runs = oc_alloc(items->count, sizeof *runs);
    if (runs == NULL) {
        return oc_fail_memory(err, "the runs");
    }
    for (size_t i = 0; i < items->count; i++) {
        const oc_chat_item *item = &items->items[i];
        const char *medium = item->kind == OC_ITEM_IMAGE ? IMAGE_TEXT : VIDEO_TEXT;
        runs[i] = item->kind == OC_ITEM_TEXT
                      ? (oc_text_run){items->text.data + item->begin, item->length, item->special}
                      : (oc_text_run){medium, strlen(medium), true};
    }
    ocelli_status status = oc_bpe_encode(bpe, runs, items->count, out, err);
    oc_free(runs);
    return status;
}

ocelli_status golden_decode(oc_buffer *out, const oc_bpe *bpe, const int64_t *ids, size_t count,
                            bool skip_special, ocelli_error *err)
{
    OC_TRY(oc_buffer_append(out, "", 0, err));
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *bytes = oc_bpe_bytes(bpe, (int32_t)ids[i], &length);
        if (length > 0 && !(skip_special && oc_bpe_is_special(bpe, (int32_t)ids[i]))) {
            OC_TRY(oc_buffer_append(out, bytes, length, err));
        }
    }
    return OCELLI_OK;
}
