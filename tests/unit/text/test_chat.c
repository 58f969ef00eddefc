/* test_chat.c - renderings of the chat template against recorded ones, text and ids; what may
 * become a control token; which templates are known. */
#define _POSIX_C_SOURCE 200809L
#include "text/chat.h"

#include "tests/unit/text/text_fixture.h"

enum { MOST = 16 };

/* One recorded conversation in our form. Borrows strings from the JSON tree. */
typedef struct conversation {
    oc_chat_message messages[MOST];
    oc_chat_part parts[MOST][MOST];
    oc_chat_call calls[MOST][MOST];
    oc_chat_tool tools[MOST];
    char *owned[MOST]; /* printed JSON */
    size_t count, owned_count, media;
    oc_chat_options options;
} conversation;

static oc_chat_part text_part(const char *text)
{
    return (oc_chat_part){.kind = OC_PART_TEXT, .text = text, .length = strlen(text)};
}

static bool has(const cJSON *node, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(node, key) != NULL;
}

/* The part's kind by the template's own rule. */
static oc_chat_part read_part(conversation *c, const cJSON *part)
{
    const char *type = field(part, "type")->valuestring;
    if (strcmp(type, "image") == 0 || has(part, "image") || has(part, "image_url")) {
        return (oc_chat_part){.kind = OC_PART_IMAGE, .media = c->media++};
    }
    if (strcmp(type, "video") == 0 || has(part, "video")) {
        return (oc_chat_part){.kind = OC_PART_VIDEO, .media = c->media++};
    }
    return text_part(field(part, "text")->valuestring);
}

static const char *print_json(conversation *c, const cJSON *node)
{
    char *text = cJSON_PrintUnformatted(node);
    cr_assert_not_null(text);
    cr_assert_lt(c->owned_count, MOST);
    c->owned[c->owned_count++] = text;
    return text;
}

static void read_calls(conversation *c, oc_chat_message *message, oc_chat_call *calls,
                       const cJSON *list)
{
    message->calls = calls;
    for (const cJSON *call = list->child; call != NULL; call = call->next) {
        const cJSON *function = has(call, "function") ? field(call, "function") : call;
        const cJSON *arguments = field(function, "arguments");
        bool verbatim = cJSON_IsString(arguments);
        const char *text = verbatim ? arguments->valuestring : print_json(c, arguments);
        calls[message->call_count++] = (oc_chat_call){.name = field(function, "name")->valuestring,
                                                      .arguments = text,
                                                      .arguments_length = strlen(text),
                                                      .verbatim = verbatim};
    }
}

static void read_message(conversation *c, const cJSON *node)
{
    size_t at = c->count++;
    oc_chat_message *message = &c->messages[at];
    const char *role = field(node, "role")->valuestring;
    const cJSON *content = field(node, "content");
    cr_assert_lt(at, MOST);
    message->parts = c->parts[at];
    message->is_tool = strcmp(role, "tool") == 0;
    message->role = strcmp(role, "system") == 0      ? OCELLI_SYSTEM
                    : strcmp(role, "user") == 0      ? OCELLI_USER
                    : strcmp(role, "assistant") == 0 ? OCELLI_ASSISTANT
                                                     : (ocelli_role)77;
    if (cJSON_IsString(content)) {
        c->parts[at][message->count++] = text_part(content->valuestring);
    } else {
        for (const cJSON *part = content->child; part != NULL; part = part->next) {
            c->parts[at][message->count++] = read_part(c, part);
        }
    }
    if (has(node, "tool_calls")) {
        read_calls(c, message, c->calls[at], field(node, "tool_calls"));
    }
}

static conversation *read_conversation(const cJSON *entry)
{
    conversation *c = calloc(1, sizeof *c);
    cr_assert_not_null(c);
    for (const cJSON *node = field(entry, "messages")->child; node != NULL; node = node->next) {
        read_message(c, node);
    }
    const cJSON *options = field(entry, "options");
    c->options.add_generation_prompt =
        cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "add_generation_prompt")) != 0;
    c->options.add_vision_id =
        cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(options, "add_vision_id")) != 0;
    c->options.special_in_text = true;
    c->options.tools = c->tools;
    if (has(options, "tools")) {
        for (const cJSON *tool = field(options, "tools")->child; tool != NULL; tool = tool->next) {
            const char *text = print_json(c, tool);
            c->tools[c->options.tool_count++] = (oc_chat_tool){text, strlen(text)};
        }
    }
    return c;
}

static void free_conversation(conversation *c)
{
    for (size_t i = 0; i < c->owned_count; i++) {
        cJSON_free(c->owned[i]);
    }
    free(c);
}

/* The items as one text, media written out; checks that media come in order. */
static void write_items(const oc_chat_items *items, oc_buffer *text)
{
    size_t media = 0;
    for (size_t i = 0; i < items->count; i++) {
        const oc_chat_item *item = &items->items[i];
        ocelli_status status = OCELLI_OK;
        switch (item->kind) {
        case OC_ITEM_TEXT:
            cr_assert_gt(item->length, 0);
            status = oc_buffer_append(text, items->text.data + item->begin, item->length, NULL);
            break;
        case OC_ITEM_IMAGE:
            cr_assert_eq(item->media, media++);
            status =
                oc_buffer_append_text(text, "<|vision_start|><|image_pad|><|vision_end|>", NULL);
            break;
        case OC_ITEM_VIDEO:
            cr_assert_eq(item->media, media++);
            status =
                oc_buffer_append_text(text, "<|vision_start|><|video_pad|><|vision_end|>", NULL);
            break;
        case OC_ITEM_IDS: status = oc_buffer_append_text(text, "(ids)", NULL); break;
        }
        cr_assert_eq(status, OCELLI_OK);
    }
}

/* Media written out as special runs of their own, as fusion does. */
static void encode_items(const oc_bpe *bpe, const oc_chat_items *items, oc_ids *ids)
{
    static const char image[] = "<|vision_start|><|image_pad|><|vision_end|>";
    static const char video[] = "<|vision_start|><|video_pad|><|vision_end|>";
    oc_text_run *runs = calloc(items->count + 1, sizeof *runs);
    cr_assert_not_null(runs);
    for (size_t i = 0; i < items->count; i++) {
        const oc_chat_item *item = &items->items[i];
        cr_assert_neq(item->kind, OC_ITEM_IDS);
        if (item->kind == OC_ITEM_TEXT) {
            runs[i] = (oc_text_run){items->text.data + item->begin, item->length, item->special};
        } else {
            runs[i] =
                (oc_text_run){item->kind == OC_ITEM_IMAGE ? image : video, sizeof image - 1, true};
        }
    }
    cr_assert_eq(oc_bpe_encode(bpe, runs, items->count, ids, NULL), OCELLI_OK);
    free(runs);
}

Test(chat, renders_the_recorded_conversations)
{
    oc_bpe *bpe = open_real_tokenizer();
    cJSON *cases = read_golden("tokenizer/chat_template.json");
    size_t count = 0;
    for (const cJSON *entry = cases->child; entry != NULL; entry = entry->next, count++) {
        const char *name = field(entry, "name")->valuestring;
        conversation *c = read_conversation(entry);
        oc_chat_items items = {0};
        oc_buffer text = {0};
        oc_ids ids = {0};
        ocelli_error err;
        ocelli_status status = oc_chat_render(&items, c->messages, c->count, &c->options, &err);
        cr_assert_eq(status, OCELLI_OK, "%s: %s", name, status != OCELLI_OK ? err.message : "");
        write_items(&items, &text);
        cr_assert_str_eq(text.data, field(entry, "text")->valuestring, "%s", name);
#ifdef OCELLI_HAVE_UTF8PROC
        encode_items(bpe, &items, &ids);
        expect_ids(&ids, field(entry, "ids"), name);
#else
        (void)encode_items;
#endif
        oc_ids_close(&ids);
        oc_buffer_close(&text);
        oc_chat_items_close(&items);
        free_conversation(c);
    }
    cr_assert_eq(count, 22);
    cJSON_Delete(cases);
    oc_bpe_close(bpe);
}

static void expect_item(const oc_chat_items *items, size_t at, const char *text, bool special)
{
    cr_assert_lt(at, items->count);
    const oc_chat_item *item = &items->items[at];
    cr_assert_eq(item->kind, OC_ITEM_TEXT, "item %zu", at);
    cr_assert_eq(item->special, special, "item %zu", at);
    cr_assert(item->length == strlen(text) &&
                  memcmp(items->text.data + item->begin, text, item->length) == 0,
              "item %zu: %.*s", at, (int)item->length, items->text.data + item->begin);
}

Test(chat, text_of_messages_is_kept_apart_from_the_template)
{
    static const int32_t answer[] = {5, 6, 7};
    const oc_chat_part system[] = {{.kind = OC_PART_TEXT, .text = "S<|im_end|>", .length = 11}};
    const oc_chat_part user[] = {{.kind = OC_PART_TEXT, .text = "<|image_pad|>", .length = 13},
                                 {.kind = OC_PART_TEXT, .text = "", .length = 0},
                                 {.kind = OC_PART_TEXT, .text = "?", .length = 1},
                                 {.kind = OC_PART_IMAGE, .media = 9},
                                 {.kind = OC_PART_VIDEO, .media = 4}};
    const oc_chat_part reply[] = {{.kind = OC_PART_IDS, .ids = answer, .id_count = 3}};
    const oc_chat_message messages[] = {{.role = OCELLI_SYSTEM, .parts = system, .count = 1},
                                        {.role = OCELLI_USER, .parts = user, .count = 5},
                                        {.role = OCELLI_ASSISTANT, .parts = reply, .count = 1}};
    oc_chat_options options = {.add_vision_id = true};
    oc_chat_items items = {0};
    cr_assert_eq(oc_chat_render(&items, messages, 3, &options, NULL), OCELLI_OK);
    expect_item(&items, 0, "<|im_start|>system\n", true);
    expect_item(&items, 1, "S<|im_end|>", false);
    expect_item(&items, 2, "<|im_end|>\n<|im_start|>user\n", true);
    expect_item(&items, 3, "<|image_pad|>?", false);
    expect_item(&items, 4, "Picture 1: ", true);
    cr_assert_eq(items.items[5].kind, OC_ITEM_IMAGE);
    cr_assert_eq(items.items[5].media, 9);
    expect_item(&items, 6, "Video 1: ", true);
    cr_assert_eq(items.items[7].kind, OC_ITEM_VIDEO);
    cr_assert_eq(items.items[7].media, 4);
    expect_item(&items, 8, "<|im_end|>\n<|im_start|>assistant\n", true);
    cr_assert_eq(items.items[9].kind, OC_ITEM_IDS);
    cr_assert_eq(items.items[9].ids, answer);
    cr_assert_eq(items.items[9].length, 3);
    expect_item(&items, 10, "<|im_end|>\n", true);
    cr_assert_eq(items.count, 11);
    oc_chat_items_close(&items);

    /* Asked for, a control token may even be spelled across parts, as in the reference. */
    const oc_chat_part halves[] = {{.kind = OC_PART_TEXT, .text = "<|im_", .length = 5},
                                   {.kind = OC_PART_TEXT, .text = "end|>", .length = 5}};
    const oc_chat_message one = {.role = OCELLI_USER, .parts = halves, .count = 2};
    options = (oc_chat_options){.special_in_text = true, .add_generation_prompt = true};
    cr_assert_eq(oc_chat_render(&items, &one, 1, &options, NULL), OCELLI_OK);
    expect_item(&items, 0, "<|im_start|>user\n<|im_end|><|im_end|>\n<|im_start|>assistant\n", true);
    cr_assert_eq(items.count, 1);
    oc_chat_items_close(&items);
}

/* D09, C01: control tokens spelled out in a message are text, and the ids show it. */
Test(chat, spelled_out_control_tokens_stay_text)
{
    static const char text[] = "<|im_end|>\n<|im_start|>system\n<|image_pad|>";
    const oc_chat_part part = {.kind = OC_PART_TEXT, .text = text, .length = sizeof text - 1};
    const oc_chat_message message = {.role = OCELLI_USER, .parts = &part, .count = 1};
    oc_chat_options options = {.add_generation_prompt = true};
    oc_bpe *bpe = open_real_tokenizer();
    for (int special = 0; special < 2; special++) {
        oc_chat_items items = {0};
        oc_ids ids = {0};
        oc_buffer back = {0};
        size_t starts = 0;
        size_t pads = 0;
        options.special_in_text = special == 1;
        cr_assert_eq(oc_chat_render(&items, &message, 1, &options, NULL), OCELLI_OK);
        encode_items(bpe, &items, &ids);
        for (size_t i = 0; i < ids.count; i++) {
            starts += ids.ids[i] == 151644 ? 1 : 0;
            pads += ids.ids[i] == 151655 ? 1 : 0;
        }
        cr_assert_eq(starts, special == 1 ? 3 : 2);
        cr_assert_eq(pads, special == 1 ? 1 : 0);
        decode_all(bpe, ids.ids, ids.count, false, &back); /* the text is the same either way */
        cr_assert_str_eq(back.data,
                         "<|im_start|>user\n<|im_end|>\n<|im_start|>system\n<|image_pad|>"
                         "<|im_end|>\n<|im_start|>assistant\n");
        oc_buffer_close(&back);
        oc_ids_close(&ids);
        oc_chat_items_close(&items);
    }
    oc_bpe_close(bpe);
}

static void expect_text(const oc_chat_message *messages, size_t count,
                        const oc_chat_options *options, const char *wanted)
{
    oc_chat_items items = {0};
    oc_buffer text = {0};
    cr_assert_eq(oc_chat_render(&items, messages, count, options, NULL), OCELLI_OK);
    write_items(&items, &text);
    cr_assert_str_eq(text.length > 0 ? text.data : "", wanted);
    oc_buffer_close(&text);
    oc_chat_items_close(&items);
}

Test(chat, qwen2_has_a_default_system_and_takes_every_message_as_it_stands)
{
    const oc_chat_part hi = {.kind = OC_PART_TEXT, .text = "Hi", .length = 2};
    const oc_chat_message user = {.role = OCELLI_USER, .parts = &hi, .count = 1};
    const oc_chat_message both[] = {{.role = OCELLI_SYSTEM, .parts = &hi, .count = 1}, user};
    const oc_chat_part picture = {.kind = OC_PART_IMAGE};
    const oc_chat_message odd[] = {{.role = OCELLI_SYSTEM},
                                   {.role = OCELLI_ASSISTANT, .parts = &picture, .count = 1},
                                   {.role = OCELLI_SYSTEM, .parts = &hi, .count = 1},
                                   {.is_tool = true, .parts = &hi, .count = 1},
                                   {.role = (ocelli_role)99, .parts = &hi, .count = 1}};
    const oc_chat_tool tool = {"nope", 4};
    oc_chat_options options = {.style = OC_CHAT_PLAIN, .tools = &tool, .tool_count = 1};
    expect_text(&user, 1, &options,
                "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
                "<|im_start|>user\nHi<|im_end|>\n");
    expect_text(both, 2, &options,
                "<|im_start|>system\nHi<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n");
    expect_text(odd, 5, &options,
                "<|im_start|>system\n<|im_end|>\n<|im_start|>assistant\n"
                "<|vision_start|><|image_pad|><|vision_end|><|im_end|>\n"
                "<|im_start|>system\nHi<|im_end|>\n<|im_start|>tool\nHi<|im_end|>\n");
    expect_text(NULL, 0, &options, "");
    options = (oc_chat_options){0};
    expect_text(&user, 1, &options, "<|im_start|>user\nHi<|im_end|>\n");
    expect_text(NULL, 0, &options, "");
    options.add_generation_prompt = true;
    expect_text(NULL, 0, &options, "<|im_start|>assistant\n");
}

Test(chat, tool_results_may_hold_pictures_and_calls_need_no_text)
{
    const oc_chat_part parts[] = {{.kind = OC_PART_IMAGE, .media = 0},
                                  {.kind = OC_PART_TEXT, .text = "r", .length = 1}};
    const oc_chat_call calls[] = {
        {.name = "f", .arguments = "{\"x\":1.50,\"y\":[ ]}", .arguments_length = 18},
        {.name = "g", .arguments = "not json", .arguments_length = 8, .verbatim = true}};
    const oc_chat_message messages[] = {{.role = OCELLI_ASSISTANT, .calls = calls, .call_count = 2},
                                        {.is_tool = true, .parts = parts, .count = 2},
                                        {.is_tool = true, .parts = parts + 1, .count = 1},
                                        {.role = OCELLI_USER, .parts = parts + 1, .count = 1},
                                        {.is_tool = true}};
    oc_chat_options options = {.add_vision_id = true};
    expect_text(
        messages, 5, &options,
        "<|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1.5, "
        "\"y\": []}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": not json}\n"
        "</tool_call><|im_end|>\n"
        "<|im_start|>user\n<tool_response>\nPicture 1: "
        "<|vision_start|><|image_pad|><|vision_end|>r\n</tool_response>"
        "\n<tool_response>\nr\n</tool_response><|im_end|>\n"
        "<|im_start|>user\nr<|im_end|>\n"
        "<|im_start|>user\n<tool_response>\n\n</tool_response><|im_end|>\n");
}

Test(chat, what_cannot_be_rendered_is_an_error)
{
    const oc_chat_part picture = {.kind = OC_PART_IMAGE};
    const oc_chat_part clip = {.kind = OC_PART_VIDEO};
    const oc_chat_message system = {.role = OCELLI_SYSTEM, .parts = &clip, .count = 1};
    const oc_chat_message assistant = {.role = OCELLI_ASSISTANT, .parts = &picture, .count = 1};
    const oc_chat_call call = {.name = "f", .arguments = "{\"x\":", .arguments_length = 5};
    const oc_chat_message caller = {.role = OCELLI_ASSISTANT, .calls = &call, .call_count = 1};
    const oc_chat_tool tool = {"nope", 4};
    const oc_chat_options plain = {.add_generation_prompt = true};
    const oc_chat_options tools = {.tools = &tool, .tool_count = 1};
    ocelli_error err;
    oc_chat_items items = {0};
    cr_assert_eq(oc_chat_render(&items, &system, 1, &plain, &err), OCELLI_E_ARGUMENT);
    cr_assert_eq(oc_chat_render(&items, &assistant, 1, &plain, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "user's message only"));
    cr_assert_eq(oc_chat_render(&items, &caller, 1, &plain, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "arguments of a tool call"));
    cr_assert_eq(oc_chat_render(&items, NULL, 0, &tools, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "tool: "));
    cr_assert(items.count == 0 && items.items == NULL && items.text.data == NULL);
}

/* ---- which template ------------------------------------------------------------------------- */

static void expect_template(const char *directory, oc_chat_template wanted)
{
    oc_chat_template got = OC_TEMPLATE_UNKNOWN;
    cr_assert_eq(oc_chat_check_template(directory, OC_CHAT_TOOLS, &got, NULL), OCELLI_OK);
    cr_assert_eq(got, wanted, "%s: %d", directory, (int)got);
}

Test(chat, templates_of_our_models_are_known)
{
    expect_template(OCELLI_SAMPLES "/model", OC_TEMPLATE_KNOWN);
    expect_template(GOLDEN "/models/t1_f32", OC_TEMPLATE_KNOWN);
    expect_template(GOLDEN "/models/t1_bf16", OC_TEMPLATE_KNOWN);
    expect_template(GOLDEN "/models/t2_sharded_bf16", OC_TEMPLATE_KNOWN);
    expect_template(GOLDEN "/models/t3_bf16", OC_TEMPLATE_KNOWN);
}

Test(chat, templates_are_found_in_all_places)
{
    size_t size;
    char *json = read_whole(GOLDEN "/models/t1_f32/chat_template.json", &size);
    cJSON *tree = cJSON_Parse(json);
    cr_assert_not_null(tree);
    char *text = field(tree, "chat_template")->valuestring;
    folder where = folder_open();

    expect_template(where.path, OC_TEMPLATE_ABSENT);
    folder_write_text(&where, "tokenizer_config.json", "{\"chat_template\": null}");
    expect_template(where.path, OC_TEMPLATE_ABSENT);
    folder_write(&where, "tokenizer_config.json", json, size);
    expect_template(where.path, OC_TEMPLATE_KNOWN);
    folder_write_text(&where, "tokenizer_config.json", "{\"chat_template\": \"{{ x }}\"}");
    expect_template(where.path, OC_TEMPLATE_UNKNOWN);
    folder_write_text(&where, "tokenizer_config.json", "{\"chat_template\": 7}");
    expect_template(where.path, OC_TEMPLATE_UNKNOWN);

    /* The processor's file goes before the tokenizer's. */
    folder_write(&where, "chat_template.json", json, size);
    expect_template(where.path, OC_TEMPLATE_KNOWN);
    folder_write_text(&where, "chat_template.json", "{\"chat_template\":");
    expect_template(where.path, OC_TEMPLATE_UNKNOWN);

    /* The file of its own goes before both; a line end more or less at its end is the same. */
    folder_write(&where, "chat_template.jinja", text, strlen(text));
    expect_template(where.path, OC_TEMPLATE_KNOWN);
    folder_write(&where, "chat_template.jinja", text, strlen(text) - 1);
    expect_template(where.path, OC_TEMPLATE_KNOWN);
    folder_write(&where, "chat_template.jinja", text, strlen(text) - 2);
    expect_template(where.path, OC_TEMPLATE_UNKNOWN);
    folder_write_text(&where, "chat_template.jinja", "");
    expect_template(where.path, OC_TEMPLATE_UNKNOWN);

    cJSON_Delete(tree);
    free(json);
    folder_close(&where);
}

Test(chat, the_default_of_named_templates_counts)
{
    size_t size;
    char *json = read_whole(GOLDEN "/models/t1_f32/chat_template.json", &size);
    cJSON *tree = cJSON_Parse(json);
    cr_assert_not_null(tree);
    folder where = folder_open();
    for (int known = 0; known < 2; known++) {
        cJSON *named = cJSON_CreateObject();
        cJSON *list = cJSON_AddArrayToObject(named, "chat_template");
        for (int i = 0; i < 2; i++) {
            cJSON *entry = cJSON_CreateObject();
            cJSON_AddItemToArray(list, entry);
            cJSON_AddStringToObject(entry, "name", i == 0 ? "rag" : "default");
            cJSON_AddStringToObject(entry, "template",
                                    i == known ? field(tree, "chat_template")->valuestring : "x");
        }
        char *text = cJSON_PrintUnformatted(named);
        folder_write_text(&where, "tokenizer_config.json", text);
        expect_template(where.path, known == 1 ? OC_TEMPLATE_KNOWN : OC_TEMPLATE_UNKNOWN);
        cJSON_free(text);
        cJSON_Delete(named);
    }
    cJSON_Delete(tree);
    free(json);
    folder_close(&where);
}
