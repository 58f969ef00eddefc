/* chat_template.c - is the checkpoint's chat template one that chat_qwen.c stands for? Told by the
 * hash of its text: the templates are not interpreted. */
#include "text/chat.h"

#include "runtime/base/file.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/memory.h"

#include <string.h>

/* XXH3-128 of the texts, without line ends at the end. */
static const struct {
    oc_chat_style style;
    oc_hash hash;
} known[] = {
    /* Qwen3-VL Instruct (4B, October 2025), 5291 bytes */
    {OC_CHAT_TOOLS, {UINT64_C(0x02106194b02d7f3b), UINT64_C(0xa6c9c2c4e7ca9522)}},
    /* Qwen2-VL Instruct and Qwen2.5-VL Instruct, 1017 bytes */
    {OC_CHAT_PLAIN, {UINT64_C(0xe83000dd638f8c39), UINT64_C(0xd63c0ab8ac046a45)}},
};

/* 1 MiB: the longest template in use is a hundredth of it. */
static const size_t template_limit = (size_t)1 << 20;

oc_chat_template oc_chat_judge_template(const char *text, size_t length, oc_chat_style style)
{
    /* Jinja itself drops one line end there, and editors add one. */
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) {
        length--;
    }
    oc_hash hash = oc_hash_bytes(text, length);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].style == style && oc_hash_equal(hash, known[i].hash)) {
            return OC_TEMPLATE_KNOWN;
        }
    }
    return OC_TEMPLATE_UNKNOWN;
}

/* The value of "chat_template": a text, or a list of {"name", "template"} of which "default" is
 * meant. NULL: there is none. */
static const cJSON *find_template(const cJSON *tree)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(tree, "chat_template");
    if (!cJSON_IsArray(value)) {
        return cJSON_IsNull(value) ? NULL : value;
    }
    for (const cJSON *entry = value->child; entry != NULL; entry = entry->next) {
        const cJSON *name =
            cJSON_IsObject(entry) ? cJSON_GetObjectItemCaseSensitive(entry, "name") : NULL;
        if (cJSON_IsString(name) && strcmp(name->valuestring, "default") == 0) {
            return cJSON_GetObjectItemCaseSensitive(entry, "template");
        }
    }
    return value->child;
}

static ocelli_status check_jinja(const char *path, oc_chat_style style, oc_chat_template *out,
                                 ocelli_error *err)
{
    char *text;
    size_t length;
    ocelli_status status = oc_file_read(&text, &length, path, template_limit, err);
    if (status == OCELLI_OK) {
        *out = oc_chat_judge_template(text, length, style);
        oc_free(text);
    }
    return status;
}

static ocelli_status check_json(const char *path, oc_chat_style style, oc_chat_template *out,
                                ocelli_error *err)
{
    oc_json json;
    OC_TRY(oc_json_open(&json, path, err));
    const cJSON *text = find_template(json.tree);
    if (text != NULL) {
        *out = cJSON_IsString(text)
                   ? oc_chat_judge_template(text->valuestring, strlen(text->valuestring), style)
                   : OC_TEMPLATE_UNKNOWN;
    }
    oc_json_close(&json);
    return OCELLI_OK;
}

ocelli_status oc_chat_check_template(const char *directory, oc_chat_style style,
                                     oc_chat_template *out, ocelli_error *err)
{
    static const struct {
        const char *name;
        ocelli_status (*check)(const char *path, oc_chat_style style, oc_chat_template *out,
                               ocelli_error *err);
    } places[] = {{"chat_template.jinja", check_jinja},
                  {"chat_template.json", check_json},
                  {"tokenizer_config.json", check_json}};
    *out = OC_TEMPLATE_ABSENT;
    for (size_t i = 0; i < sizeof places / sizeof *places && *out == OC_TEMPLATE_ABSENT; i++) {
        char *path = oc_path_join(directory, places[i].name);
        if (path == NULL) {
            return oc_fail_memory(err, directory);
        }
        ocelli_error reason;
        ocelli_status status =
            oc_file_exists(path) ? places[i].check(path, style, out, &reason) : OCELLI_OK;
        oc_free(path);
        if (status == OCELLI_E_MEMORY) {
            return oc_fail_memory(err, directory);
        }
        if (status != OCELLI_OK) {
            *out = OC_TEMPLATE_UNKNOWN;
        }
    }
    return OCELLI_OK;
}
