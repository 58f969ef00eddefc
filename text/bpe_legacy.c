/* bpe_legacy.c - the older form of the same tokenizer: vocab.json, merges.txt, and the added tokens
 * of tokenizer_config.json. It says nothing of the pipeline, so the class that names it must be
 * Qwen2Tokenizer, whose pipeline is ours. */
#include "runtime/base/file.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/memory.h"
#include "text/bpe_scan.h"
#include "text/bpe_tables.h"

#include <stdlib.h>
#include <string.h>

/* What is read, all of it alive until the tables are built. */
typedef struct legacy {
    oc_bpe_scan vocabulary;
    oc_json config;
    char *config_text; /* [config_size] */
    size_t config_size;
    char *merges; /* [merges_size], NUL-ended */
    size_t merges_size;
    char *merges_path;
} legacy;

static ocelli_status open_vocabulary(oc_bpe_scan *out, const char *directory, ocelli_error *err)
{
    char *path = oc_path_join(directory, "vocab.json");
    if (path == NULL) {
        return oc_fail_memory(err, "vocab.json");
    }
    ocelli_status status = oc_bpe_scan_open(out, path, err);
    oc_free(path);
    return status == OCELLI_OK ? oc_bpe_scan_vocabulary(out, err) : status;
}

static ocelli_status open_config(legacy *files, const char *directory, ocelli_error *err)
{
    char *path = oc_path_join(directory, "tokenizer_config.json");
    if (path == NULL) {
        return oc_fail_memory(err, "tokenizer_config.json");
    }
    ocelli_status status =
        oc_file_read(&files->config_text, &files->config_size, path, OC_JSON_LIMIT, err);
    if (status == OCELLI_OK) {
        status = oc_json_parse(&files->config, path, files->config_text, files->config_size, err);
    }
    oc_free(path);
    return status;
}

static ocelli_status read_files(legacy *files, const char *directory, ocelli_error *err)
{
    OC_TRY(open_vocabulary(&files->vocabulary, directory, err));
    OC_TRY(open_config(files, directory, err));
    files->merges_path = oc_path_join(directory, "merges.txt");
    if (files->merges_path == NULL) {
        return oc_fail_memory(err, "merges.txt");
    }
    OC_TRY(
        oc_file_read(&files->merges, &files->merges_size, files->merges_path, OC_JSON_LIMIT, err));
    const char *impostor = oc_file_impostor(files->merges, files->merges_size);
    if (impostor != NULL) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: is %s", files->merges_path, impostor);
    }
    const char *class;
    OC_TRY(oc_json_string(oc_json_top(&files->config), "tokenizer_class", &class, err));
    if (strcmp(class, "Qwen2Tokenizer") != 0 && strcmp(class, "Qwen2TokenizerFast") != 0) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: tokenizer_class is %.60s; without a tokenizer.json only Qwen2Tokenizer "
                       "is known",
                       files->config.name, class);
    }
    return OCELLI_OK;
}

/* One line after another: begin and length without the line end. False at the end. */
static bool next_line(const legacy *files, size_t *at, const char **line, size_t *length)
{
    if (*at >= files->merges_size) {
        return false;
    }
    const char *begin = files->merges + *at;
    const char *end = memchr(begin, '\n', files->merges_size - *at);
    *length = end != NULL ? (size_t)(end - begin) : files->merges_size - *at;
    *at += *length + (end != NULL ? 1 : 0);
    *length -= *length > 0 && begin[*length - 1] == '\r' ? 1 : 0;
    *line = begin;
    return true;
}

static ocelli_status read_merges(oc_bpe_builder *builder, const legacy *files, ocelli_error *err)
{
    static const char heading[] = "#version";
    const char *line;
    size_t length;
    size_t at = 0;
    bool first = true;
    while (next_line(files, &at, &line, &length)) {
        bool is_heading =
            first && length >= sizeof heading - 1 && memcmp(line, heading, sizeof heading - 1) == 0;
        first = false;
        if (length > 0 && !is_heading) {
            OC_TRY(oc_bpe_builder_merge_line(builder, line, length, err));
        }
    }
    return OCELLI_OK;
}

static ocelli_status read_added(oc_bpe_builder *builder, const cJSON *tokens, ocelli_error *err)
{
    for (const cJSON *token = tokens->child; token != NULL; token = token->next) {
        char *end = NULL;
        const char *key = token->string != NULL ? token->string : "";
        long long id = strtoll(key, &end, 10);
        if (key[0] < '0' || key[0] > '9' || *end != '\0') {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: added token id \"%.40s\" is not a number",
                           builder->file, key);
        }
        OC_TRY(oc_bpe_load_added(builder, cJSON_IsObject(token) ? token : NULL, id, err));
    }
    return OCELLI_OK;
}

static ocelli_status fill(oc_bpe_builder *builder, legacy *files, const cJSON *added,
                          ocelli_error *err)
{
    OC_TRY(oc_bpe_scan_words(&files->vocabulary, builder, err));
    builder->file = files->merges_path;
    OC_TRY(read_merges(builder, files, err));
    builder->file = files->config.name;
    OC_TRY(read_added(builder, added, err));
    builder->file = files->vocabulary.name;
    return OCELLI_OK;
}

static ocelli_status hash_files(oc_hash *out, const legacy *files, ocelli_error *err)
{
    oc_hasher *hasher = oc_hasher_open();
    if (hasher == NULL) {
        return oc_fail_memory(err, "a hash");
    }
    oc_hasher_update(hasher, files->vocabulary.map.bytes, files->vocabulary.map.size);
    oc_hasher_update(hasher, files->merges, files->merges_size);
    oc_hasher_update(hasher, files->config_text, files->config_size);
    *out = oc_hasher_digest(hasher);
    oc_hasher_close(hasher);
    return OCELLI_OK;
}

static ocelli_status build(oc_bpe **out, legacy *files, size_t id_limit, ocelli_error *err)
{
    const cJSON *added =
        cJSON_GetObjectItemCaseSensitive(files->config.tree, "added_tokens_decoder");
    if (!cJSON_IsObject(added)) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: has no added_tokens_decoder, and there is no tokenizer.json",
                       files->config.name);
    }
    size_t merges = 1;
    size_t tokens = 0;
    for (const cJSON *token = added->child; token != NULL; token = token->next) {
        tokens++;
    }
    for (size_t i = 0; i < files->merges_size; i++) {
        merges += files->merges[i] == '\n' ? 1 : 0;
    }
    oc_hash source;
    OC_TRY(hash_files(&source, files, err));
    oc_bpe_builder builder;
    OC_TRY(oc_bpe_builder_open(&builder, files->vocabulary.name, id_limit,
                               files->vocabulary.vocabulary.count, merges, tokens, err));
    builder.source = source;
    ocelli_status status = fill(&builder, files, added, err);
    if (status == OCELLI_OK) {
        status = oc_bpe_builder_finish(&builder, out, err);
    }
    oc_bpe_builder_close(&builder);
    return status;
}

ocelli_status oc_bpe_load_legacy(oc_bpe **out, const char *directory, size_t id_limit,
                                 ocelli_error *err)
{
    legacy files = {0};
    ocelli_status status = read_files(&files, directory, err);
    if (status == OCELLI_OK) {
        status = build(out, &files, id_limit, err);
    }
    oc_bpe_scan_close(&files.vocabulary);
    oc_json_close(&files.config);
    oc_free(files.config_text);
    oc_free(files.merges);
    oc_free(files.merges_path);
    return status;
}
