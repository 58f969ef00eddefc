/* golden_tokenizer.c - tokenizer/<kind>.json: texts to ids and back, and renderings of the chat
 * template, for a whole tokenizer.json (packed with gzip or not). */
#include "tests/golden/golden_chat.h"
#include "tests/golden/golden_data.h"
#include "tests/golden/golden_sections.h"
#include "tests/golden/golden_vocabulary.h"

#include "runtime/base/memory.h"
#include "runtime/config.h"
#include "text/unicode.h"

#include <string.h>

#define ENCODE_OF "encode_"

static void check_ids(report *r, const char *array, const oc_ids *ids, const cJSON *recorded)
{
    size_t count;
    int64_t *want = golden_integers(recorded, &count);
    int64_t *ours = oc_alloc(ids->count, sizeof *ours);
    for (size_t i = 0; i < ids->count && ours != NULL; i++) {
        ours[i] = ids->ids[i];
    }
    report_integers(r, array, ours, ids->count, want, count);
    oc_free(ours);
    oc_free(want);
}

/* ids -> bytes against a string of hex digits. */
static void check_decoded(report *r, const char *array, const oc_bpe *bpe, const cJSON *ids,
                          const cJSON *hex, bool skip_special)
{
    size_t count, length;
    oc_buffer bytes = {0};
    ocelli_error err = {0};
    int64_t *list = golden_integers(ids, &count);
    unsigned char *want = golden_hex(hex, &length);
    if (golden_decode(&bytes, bpe, list, count, skip_special, &err) != OCELLI_OK) {
        report_wrong(r, array, "%s", err.message);
    } else {
        report_bytes(r, array, bytes.data, bytes.length, want, length);
    }
    oc_buffer_close(&bytes);
    oc_free(want);
    oc_free(list);
}

static void run_encode(report *r, const oc_bpe *bpe, const cJSON *entry)
{
    size_t length;
    char *text = golden_text(golden_get(entry, "text"), &length);
    oc_ids ids = {0};
    ocelli_error err = {0};
    const oc_text_run run = {.text = text, .length = length, .special = true};
    if (oc_bpe_encode(bpe, &run, 1, &ids, &err) != OCELLI_OK) {
        report_wrong(r, "ids", "%s", err.message);
    } else {
        check_ids(r, "ids", &ids, golden_get(entry, "ids"));
    }
    check_decoded(r, "decoded", bpe, golden_get(entry, "ids"),
                  golden_get(entry, "decoded_utf8_hex"), false);
    check_decoded(r, "decoded, without special", bpe, golden_get(entry, "ids"),
                  golden_get(entry, "decoded_skip_special_utf8_hex"), true);
    oc_ids_close(&ids);
    oc_free(text);
}

static void run_decode_ids(report *r, const oc_bpe *bpe, const cJSON *entry)
{
    size_t count, length;
    oc_buffer bytes = {0}, lossy = {0};
    ocelli_error err = {0};
    check_decoded(r, "bytes", bpe, golden_get(entry, "ids"), golden_get(entry, "bytes_hex"), false);
    int64_t *ids = golden_integers(golden_get(entry, "ids"), &count);
    char *want = golden_text(golden_get(entry, "lossy_text"), &length);
    if (golden_decode(&bytes, bpe, ids, count, false, &err) != OCELLI_OK ||
        oc_utf8_append_lossy(&lossy, bytes.data, bytes.length, &err) != OCELLI_OK) {
        report_wrong(r, "lossy text", "%s", err.message);
    } else {
        report_bytes(r, "lossy text", lossy.data, lossy.length, want, length);
    }
    oc_free(want);
    oc_free(ids);
    oc_buffer_close(&lossy);
    oc_buffer_close(&bytes);
}

/* A rendering is a case of its own. */
static void run_rendering(report *r, const oc_bpe *bpe, oc_chat_style style, const cJSON *entry)
{
    const cJSON *options = golden_get(entry, "options");
    golden_chat chat;
    const char *beyond = golden_chat_read(&chat, golden_get(entry, "messages"));
    if (beyond != NULL) {
        report_skip(r, "%s", beyond);
        return;
    }
    oc_chat_items items = {0};
    oc_buffer text = {0};
    oc_ids ids = {0};
    ocelli_error err = {0};
    size_t length;
    char *want = golden_text(golden_get(entry, "text"), &length);
    if (golden_chat_render(&items, &chat, style, options, &err) != OCELLI_OK ||
        golden_chat_text(&text, &items, &err) != OCELLI_OK ||
        golden_chat_ids(&ids, bpe, &items, &err) != OCELLI_OK) {
        report_wrong(r, "text", "%s", err.message);
    } else {
        report_bytes(r, "text", text.data, text.length, want, length);
        check_ids(r, "ids", &ids, golden_get(entry, "ids"));
    }
    report_end(r);
    oc_free(want);
    oc_ids_close(&ids);
    oc_buffer_close(&text);
    oc_chat_items_close(&items);
    golden_chat_close(&chat);
}

static void run_renderings(report *r, const oc_bpe *bpe, oc_chat_style style, const cJSON *json)
{
    const cJSON *entry;
    cJSON_ArrayForEach(entry, json)
    {
        const char *name = golden_string(entry, "name");
        if (report_begin(r, "tokenizer/chat_template", name != NULL ? name : "unnamed")) {
            run_rendering(r, bpe, style, entry);
        }
    }
}

static void run_entries(report *r, const oc_bpe *bpe, const cJSON *json, const char *kind,
                        void (*run)(report *r, const oc_bpe *bpe, const cJSON *entry))
{
    const cJSON *entry;
    if (report_begin(r, "tokenizer", kind)) {
        cJSON_ArrayForEach(entry, json) run(r, bpe, entry);
        report_end(r);
    }
}

/* "encode_<family>": with that family's added tokens. */
static void run_encode_of(report *r, const char *folder, const char *kind, const cJSON *json)
{
    oc_bpe *bpe;
    ocelli_error err = {0};
    if (golden_vocabulary_open(&bpe, folder, kind + strlen(ENCODE_OF), &err) == OCELLI_OK) {
        run_entries(r, bpe, json, kind, run_encode);
        oc_bpe_close(bpe);
    } else if (report_begin(r, "tokenizer", kind)) {
        report_wrong(r, "tokenizer.json", "%s", err.message);
        report_end(r);
    }
}

static bool is_encode_of(const char *folder, const char *kind)
{
    return strncmp(kind, ENCODE_OF, strlen(ENCODE_OF)) == 0 &&
           golden_vocabulary_knows(folder, kind + strlen(ENCODE_OF));
}

static void run_file(report *r, const oc_bpe *bpe, oc_chat_style style, const char *folder,
                     const char *kind, const char *path)
{
    cJSON *json;
    ocelli_error err = {0};
    if (golden_json(&json, path, &err) != OCELLI_OK) {
        report_begin(r, "tokenizer", kind);
        report_wrong(r, "file", "%s", err.message);
        report_end(r);
        return;
    }
    if (strcmp(kind, "encode") == 0) {
        run_entries(r, bpe, json, kind, run_encode);
    } else if (strcmp(kind, "decode_ids") == 0) {
        run_entries(r, bpe, json, kind, run_decode_ids);
    } else if (strcmp(kind, "chat_template") == 0) {
        run_renderings(r, bpe, style, json);
    } else if (is_encode_of(folder, kind)) {
        run_encode_of(r, folder, kind, json);
    } else if (report_begin(r, "tokenizer", kind)) {
        report_skip(r, "no such kind of tokenizer case is known");
    }
    cJSON_Delete(json);
}

static void run_files(report *r, const oc_bpe *bpe, oc_chat_style style, const char *folder,
                      const golden_names *names)
{
    char path[GOLDEN_PATH];
    for (size_t i = 0; i < names->count; i++) {
        size_t length = strlen(names->names[i]);
        if (length > 5 && strcmp(names->names[i] + length - 5, ".json") == 0 &&
            strncmp(names->names[i], "tokenizer", 9) != 0 &&
            strcmp(names->names[i], "added_tokens.json") != 0 &&
            golden_path(path, folder, names->names[i])) {
            names->names[i][length - 5] = '\0';
            run_file(r, bpe, style, folder, names->names[i], path);
        }
    }
}

/* The style of the first model beside it that this version knows. */
static oc_chat_style style_of(const char *directory)
{
    char models[GOLDEN_PATH], path[GOLDEN_PATH];
    golden_names names = {0};
    oc_chat_style style = OC_CHAT_TOOLS;
    bool known =
        !golden_path(models, directory, "models") || golden_list(&names, models, NULL) != OCELLI_OK;
    for (size_t i = 0; i < names.count && !known; i++) {
        oc_config config;
        known = golden_path(path, models, names.names[i]) &&
                oc_config_read(&config, path, NULL) == OCELLI_OK;
        if (known) {
            style = config.family->chat;
            oc_config_close(&config);
        }
    }
    golden_names_close(&names);
    return style;
}

void golden_run_tokenizer(report *r, const char *directory)
{
    char folder[GOLDEN_PATH];
    golden_names names = {0};
    ocelli_error err = {0};
    oc_bpe *bpe = NULL;
    if (!golden_path(folder, directory, "tokenizer") ||
        golden_list(&names, folder, &err) != OCELLI_OK || names.count == 0) {
        return;
    }
    if (golden_vocabulary_open(&bpe, folder, NULL, &err) == OCELLI_OK) {
        run_files(r, bpe, style_of(directory), folder, &names);
    } else if (report_begin(r, "tokenizer", "open")) {
        report_wrong(r, "tokenizer.json", "%s", err.message);
        report_end(r);
    }
    oc_bpe_close(bpe);
    golden_names_close(&names);
}
