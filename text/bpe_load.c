/* bpe_load.c - reads tokenizer.json; refuses every option that encoding does not stand for.
 *
 * The file describes a pipeline (normalizer, pre_tokenizer, model, post_processor, decoder). Here
 * the pipeline is fixed, so each stage is checked to be the one we have: a tokenizer that is nearly
 * the same gives ids that are nearly right, which nobody notices. The two large tables are read by
 * bpe_scan.c. */
#include "runtime/base/json.h"
#include "text/bpe_scan.h"
#include "text/bpe_tables.h"

#include <string.h>

/* For messages: the value of key "type", or what else is there. */
static const char *type_of(const cJSON *node)
{
    const cJSON *type =
        cJSON_IsObject(node) ? cJSON_GetObjectItemCaseSensitive(node, "type") : NULL;
    if (cJSON_IsString(type)) {
        return type->valuestring;
    }
    return node == NULL || cJSON_IsNull(node) ? "nothing" : "a stage without a type";
}

static bool is_type(const cJSON *node, const char *type)
{
    return strcmp(type_of(node), type) == 0;
}

static bool is_true(const cJSON *node, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(node, key));
}

/* A list under key, or NULL. */
static const cJSON *list_of(const cJSON *node, const char *key)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(node, key);
    return cJSON_IsArray(list) ? list : NULL;
}

static size_t count_children(const cJSON *node)
{
    size_t count = 0;
    for (const cJSON *child = node != NULL ? node->child : NULL; child != NULL;
         child = child->next) {
        count++;
    }
    return count;
}

static ocelli_status check_normalizer(const char *file, const cJSON *stage, ocelli_error *err)
{
    const cJSON *list = is_type(stage, "Sequence") ? list_of(stage, "normalizers") : NULL;
    if (count_children(list) == 1) {
        stage = list->child;
    }
    if (!is_type(stage, "NFC")) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: normalizer is %.40s; only NFC, that of Qwen tokenizers, is known", file,
                       type_of(stage));
    }
    return OCELLI_OK;
}

static ocelli_status check_split(const char *file, const cJSON *stage, ocelli_error *err)
{
    const cJSON *pattern = cJSON_GetObjectItemCaseSensitive(stage, "pattern");
    const cJSON *regex =
        cJSON_IsObject(pattern) ? cJSON_GetObjectItemCaseSensitive(pattern, "Regex") : NULL;
    const cJSON *behavior = cJSON_GetObjectItemCaseSensitive(stage, "behavior");
    if (!cJSON_IsString(regex) || strcmp(regex->valuestring, OC_BPE_PATTERN) != 0) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: pre_tokenizer splits by \"%.200s\", not by the pattern of Qwen2 and "
                       "Qwen3",
                       file, cJSON_IsString(regex) ? regex->valuestring : "something else");
    }
    if (!cJSON_IsString(behavior) || strcmp(behavior->valuestring, "Isolated") != 0 ||
        is_true(stage, "invert")) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: pre_tokenizer's Split is not Isolated or is inverted", file);
    }
    return OCELLI_OK;
}

static ocelli_status check_pre_tokenizer(const char *file, const cJSON *stage, ocelli_error *err)
{
    const cJSON *list = is_type(stage, "Sequence") ? list_of(stage, "pretokenizers") : NULL;
    const cJSON *first = list != NULL ? list->child : NULL;
    const cJSON *second = first != NULL ? first->next : NULL;
    if (count_children(list) != 2 || !is_type(first, "Split") || !is_type(second, "ByteLevel")) {
        return oc_fail(
            err, OCELLI_E_UNSUPPORTED,
            "%s: pre_tokenizer is %.40s (%.40s, %.40s); expected a Sequence of Split and "
            "ByteLevel",
            file, type_of(stage), type_of(first), type_of(second));
    }
    OC_TRY(check_split(file, first, err));
    if (is_true(second, "add_prefix_space") ||
        !cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(second, "use_regex"))) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: pre_tokenizer's ByteLevel has add_prefix_space or use_regex on", file);
    }
    return OCELLI_OK;
}

/* A post-processor that is not ByteLevel adds ids (such as a begin mark) that we would not. */
static ocelli_status check_ends(const char *file, const cJSON *top, ocelli_error *err)
{
    const cJSON *after = cJSON_GetObjectItemCaseSensitive(top, "post_processor");
    const cJSON *decoder = cJSON_GetObjectItemCaseSensitive(top, "decoder");
    if (after != NULL && !cJSON_IsNull(after) && !is_type(after, "ByteLevel")) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: post_processor is %.40s; only ByteLevel is known", file,
                       type_of(after));
    }
    if (decoder != NULL && !cJSON_IsNull(decoder) && !is_type(decoder, "ByteLevel")) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED, "%s: decoder is %.40s; only ByteLevel is known",
                       file, type_of(decoder));
    }
    return OCELLI_OK;
}

/* unk_token and fuse_unk are not looked at: with a token for every byte nothing is ever unknown. */
static ocelli_status check_model(const char *file, const cJSON *model, ocelli_error *err)
{
    if (!cJSON_IsObject(model)) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: has no \"model\"", file);
    }
    /* The first files of this kind did not write the type. */
    if (cJSON_GetObjectItemCaseSensitive(model, "type") != NULL && !is_type(model, "BPE")) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED, "%s: model.type is %.40s; only BPE is known",
                       file, type_of(model));
    }
    static const char *const off[] = {"ignore_merges", "byte_fallback", "dropout",
                                      "continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(model, off[i]);
        bool is_off = value == NULL || cJSON_IsNull(value) || cJSON_IsFalse(value) ||
                      (cJSON_IsNumber(value) && value->valuedouble == 0.0) ||
                      (cJSON_IsString(value) && value->valuestring[0] == '\0');
        if (!is_off) {
            return oc_fail(err, OCELLI_E_UNSUPPORTED,
                           "%s: model.%s is set, which this tokenizer does not have", file, off[i]);
        }
    }
    return OCELLI_OK;
}

ocelli_status oc_bpe_load_added(oc_bpe_builder *builder, const cJSON *node, int64_t id,
                                ocelli_error *err)
{
    oc_json_object object = {.file = builder->file, .where = "added token", .node = node};
    const char *content;
    bool special;
    OC_TRY(oc_json_string(object, "content", &content, err));
    OC_TRY(oc_json_bool_or(object, "special", false, &special, err));
    if (is_true(node, "single_word") || is_true(node, "lstrip") || is_true(node, "rstrip")) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: added token \"%.60s\" has single_word, lstrip or rstrip, which are not "
                       "known",
                       builder->file, content);
    }
    return oc_bpe_builder_added(builder, id, content, special, err);
}

static ocelli_status fill(oc_bpe_builder *builder, oc_bpe_scan *scan, const cJSON *added,
                          ocelli_error *err)
{
    OC_TRY(oc_bpe_scan_words(scan, builder, err));
    OC_TRY(oc_bpe_scan_merges(scan, builder, err));
    for (const cJSON *token = added->child; token != NULL; token = token->next) {
        oc_json_object object = {.file = builder->file, .where = "added_tokens"};
        int64_t id;
        object.node = cJSON_IsObject(token) ? token : NULL;
        OC_TRY(oc_json_int(object, "id", 0, INT32_MAX, &id, err));
        OC_TRY(oc_bpe_load_added(builder, token, id, err));
    }
    return OCELLI_OK;
}

/* json is the file without the entries of the two large tables, which are in scan. */
static ocelli_status load(oc_bpe **out, const oc_json *json, oc_bpe_scan *scan, size_t id_limit,
                          ocelli_error *err)
{
    const char *file = json->name;
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(json->tree, "model");
    OC_TRY(check_model(file, model, err));
    OC_TRY(check_normalizer(file, cJSON_GetObjectItemCaseSensitive(json->tree, "normalizer"), err));
    OC_TRY(check_pre_tokenizer(file, cJSON_GetObjectItemCaseSensitive(json->tree, "pre_tokenizer"),
                               err));
    OC_TRY(check_ends(file, json->tree, err));
    const cJSON *vocabulary = cJSON_GetObjectItemCaseSensitive(model, "vocab");
    const cJSON *merges = list_of(model, "merges");
    const cJSON *added = list_of(json->tree, "added_tokens");
    if (!cJSON_IsObject(vocabulary) || merges == NULL || added == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: %s", file,
                       !cJSON_IsObject(vocabulary) ? "model.vocab is not an object"
                       : merges == NULL            ? "model.merges is not a list"
                                                   : "added_tokens is not a list");
    }
    oc_bpe_builder builder;
    OC_TRY(oc_bpe_builder_open(&builder, file, id_limit, scan->vocabulary.count, scan->merges.count,
                               count_children(added), err));
    builder.source = scan->hash;
    ocelli_status status = fill(&builder, scan, added, err);
    if (status == OCELLI_OK) {
        status = oc_bpe_builder_finish(&builder, out, err);
    }
    oc_bpe_builder_close(&builder);
    return status;
}

/* Closes the scan. */
static ocelli_status load_scan(oc_bpe **out, oc_bpe_scan *scan, size_t id_limit, ocelli_error *err)
{
    oc_json json;
    ocelli_status status = oc_bpe_scan_tokenizer(scan, &json, err);
    if (status == OCELLI_OK) {
        status = load(out, &json, scan, id_limit, err);
        oc_json_close(&json);
    }
    oc_bpe_scan_close(scan);
    return status;
}

ocelli_status oc_bpe_load_json(oc_bpe **out, const char *path, size_t id_limit, ocelli_error *err)
{
    oc_bpe_scan scan;
    OC_TRY(oc_bpe_scan_open(&scan, path, err));
    return load_scan(out, &scan, id_limit, err);
}

ocelli_status oc_bpe_open_text(oc_bpe **out, const char *name, const char *text, size_t size,
                               size_t id_limit, ocelli_error *err)
{
    oc_bpe_scan scan;
    *out = NULL;
    OC_TRY(oc_bpe_scan_use(&scan, name, text, size, err));
    return load_scan(out, &scan, id_limit, err);
}
