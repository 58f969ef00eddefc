/* pull_choice.c - see pull_choice.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/pull_choice.h"
#include "tools/cli_options.h"
#include "tools/model_folder.h"
#include "tools/model_shape.h"
#include "tools/output.h"
#include "tools/report.h"

#include <cjson/cJSON.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INDEX_NAME "model.safetensors.index.json"
#define SINGLE_NAME "model.safetensors"
/* Of 235B: some 12 MB. */
#define MOST_INDEX_BYTES ((size_t)64 << 20)

static bool begins_with(const char *text, const char *start)
{
    return strncasecmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), size = strlen(end);
    return length >= size && strcasecmp(text + length - size, end) == 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* What tells whose the model is. */
static bool is_notice(const char *path)
{
    return begins_with(path, "LICENSE") || begins_with(path, "NOTICE") ||
           strcasecmp(path, "README.md") == 0;
}

/* Configuration and tokenizer, at the top of the repository;
 * other indices lead to other weights. */
static bool is_part_of_checkpoint(const char *path)
{
    if (strchr(path, '/') != NULL) {
        return false;
    }
    if (ends_with(path, ".index.json")) {
        return strcmp(path, INDEX_NAME) == 0;
    }
    return ends_with(path, ".json") || ends_with(path, ".jinja") ||
           strcmp(path, "merges.txt") == 0 || strcmp(path, "vocab.txt") == 0 ||
           begins_with(path, "tokenizer");
}

/* patterns: with commas between; a pattern may match the path or the name alone. */
static bool is_included(const char *patterns, const char *path)
{
    char pattern[256];
    while (*patterns != '\0') {
        size_t length = strcspn(patterns, ",");
        if (length > 0 && length < sizeof pattern) {
            memcpy(pattern, patterns, length);
            pattern[length] = '\0';
            if (fnmatch(pattern, path, 0) == 0 || fnmatch(pattern, base_name(path), 0) == 0) {
                return true;
            }
        }
        patterns += length;
        patterns += *patterns == ',';
    }
    return false;
}

/* ---- safetensors --------------------------------------------------------------------------- */

static int want_shards(const pull_hub *hub, remote_list *list, const cJSON *index)
{
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(index, "weight_map");
    const cJSON *shard = NULL;
    const char *last = "";
    size_t found = 0;
    cJSON_ArrayForEach(shard, map)
    {
        const char *name = cJSON_GetStringValue(shard);
        if (name != NULL && strcmp(name, last) == 0) {
            continue; /* tensors of one shard mostly stand together */
        }
        remote_file *file = name != NULL ? pull_list_find(list, name) : NULL;
        if (file == NULL) {
            report_error("%s: %s names the shard '%.200s', which the repository has not",
                         hub->repository, INDEX_NAME, name != NULL ? name : "");
            return EXIT_FAILED;
        }
        file->wanted = true;
        last = name;
        found++;
    }
    if (found == 0) {
        report_error("%s: %s has no weight_map", hub->repository, INDEX_NAME);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* The index's tree, for the caller to delete. */
static int read_index(pull_hub *hub, const remote_file *file, const char *folder,
                      const download_record *record, cJSON **out)
{
    const recorded_file *recorded = download_record_find(record, INDEX_NAME);
    char *text = NULL;
    size_t length = 0;
    if (recorded != NULL && strcmp(recorded->hash, file->hash) == 0 &&
        download_file_is_whole(folder, recorded)) {
        char *path = path_join(folder, INDEX_NAME);
        *out = path != NULL ? json_file_read(path) : NULL;
        free(path);
        return *out != NULL ? EXIT_DONE : EXIT_FAILED;
    }
    char *url = pull_hub_file_url(hub, INDEX_NAME);
    int code = url != NULL
                   ? pull_hub_text(hub, url, INDEX_NAME, MOST_INDEX_BYTES, &text, &length, NULL)
                   : EXIT_FAILED;
    free(url);
    if (code == EXIT_DONE) {
        code = pull_hub_tree(hub, text, length, INDEX_NAME, out);
    }
    if (code == EXIT_DONE && *out == NULL) {
        report_error("%s: %s is no JSON", hub->repository, INDEX_NAME);
        code = EXIT_FAILED;
    }
    free(text);
    return code;
}

/* *found: whether the repository has safetensors at its top. */
static int want_safetensors(pull_hub *hub, remote_list *list, const char *folder,
                            const download_record *record, bool *found)
{
    remote_file *index = pull_list_find(list, INDEX_NAME);
    remote_file *single = pull_list_find(list, SINGLE_NAME);
    *found = true;
    if (index != NULL) {
        cJSON *tree = NULL;
        int code = read_index(hub, index, folder, record, &tree);
        if (code == EXIT_DONE) {
            code = want_shards(hub, list, tree);
        }
        cJSON_Delete(tree);
        return code;
    }
    if (single != NULL) {
        single->wanted = true;
        return EXIT_DONE;
    }
    *found = false;
    for (size_t i = 0; i < list->count; i++) {
        remote_file *file = &list->files[i];
        if (strchr(file->path, '/') == NULL && ends_with(file->path, ".safetensors")) {
            file->wanted = true;
            *found = true;
        }
    }
    return EXIT_DONE;
}

/* ---- GGUF ---------------------------------------------------------------------------------- */

/* "a.gguf (1.2 GiB), b.gguf (2.3 GiB)" */
static void list_weights(const remote_list *list, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < list->count && used < size; i++) {
        const remote_file *file = &list->files[i];
        if ((ends_with(file->path, ".gguf") && !gguf_is_tower(file->path)) ||
            ends_with(file->path, ".safetensors")) {
            char bytes[32];
            format_bytes(bytes, sizeof bytes, file->bytes);
            int length = snprintf(out + used, size - used, "%s%s (%s)", used > 0 ? ", " : "",
                                  file->path, bytes);
            used += length > 0 ? (size_t)length : 0;
        }
    }
}

/* The tower loses most by few bits and is small: the finest of the usual ones is taken. */
static remote_file *best_tower(const remote_list *list)
{
    static const char *const kinds[] = {"bf16", "f16", "f32", "q8_0", ""};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t i = 0; i < list->count; i++) {
            remote_file *file = &list->files[i];
            if (!ends_with(file->path, ".gguf") || !gguf_is_tower(file->path)) {
                continue;
            }
            for (const char *at = base_name(file->path); *at != '\0'; at++) {
                if (begins_with(at, kinds[k])) {
                    return file;
                }
            }
        }
    }
    return NULL;
}

/* Adds a tower to the text GGUF files chosen. */
static int want_tower(const pull_hub *hub, remote_list *list)
{
    bool has_text = false, has_tower = false;
    for (size_t i = 0; i < list->count; i++) {
        const remote_file *file = &list->files[i];
        if (file->wanted && ends_with(file->path, ".gguf")) {
            has_tower = has_tower || gguf_is_tower(file->path);
            has_text = has_text || !gguf_is_tower(file->path);
        }
    }
    if (!has_text || has_tower) {
        return EXIT_DONE;
    }
    remote_file *tower = best_tower(list);
    if (tower == NULL) {
        report_warning("%s has no vision tower (mmproj): these files alone cannot see",
                       hub->repository);
        return EXIT_DONE;
    }
    tower->wanted = true;
    return EXIT_DONE;
}

static int want_gguf(const pull_hub *hub, remote_list *list)
{
    remote_file *only = NULL;
    size_t count = 0;
    char names[1200];
    for (size_t i = 0; i < list->count; i++) {
        if (ends_with(list->files[i].path, ".gguf") && !gguf_is_tower(list->files[i].path)) {
            only = &list->files[i];
            count++;
        }
    }
    if (count == 0) {
        report_error("%s holds no model that ocelli reads: no safetensors and no GGUF files",
                     hub->repository);
        return EXIT_FAILED;
    }
    if (count > 1) {
        list_weights(list, names, sizeof names);
        report_error("%s holds several models; choose with --include PATTERN among: %s",
                     hub->repository, names);
        return EXIT_FAILED;
    }
    only->wanted = true;
    return want_tower(hub, list);
}

static int want_included(const pull_hub *hub, remote_list *list, const char *include)
{
    size_t count = 0;
    char names[1200];
    for (size_t i = 0; i < list->count; i++) {
        remote_file *file = &list->files[i];
        if ((ends_with(file->path, ".gguf") || ends_with(file->path, ".safetensors")) &&
            is_included(include, file->path)) {
            file->wanted = true;
            count++;
        }
    }
    if (count == 0) {
        list_weights(list, names, sizeof names);
        report_error("%s: --include %.200s matches no weights; there are: %s", hub->repository,
                     include, *names != '\0' ? names : "none");
        return EXIT_FAILED;
    }
    return want_tower(hub, list);
}

/* ---- all ----------------------------------------------------------------------------------- */

int pull_choose(pull_hub *hub, remote_list *list, const char *include, const char *folder,
                const download_record *record, pull_choice *out)
{
    bool safetensors = false;
    int code;
    *out = (pull_choice){0};
    if (include != NULL) {
        code = want_included(hub, list, include);
        for (size_t i = 0; i < list->count; i++) {
            safetensors = safetensors ||
                          (list->files[i].wanted && ends_with(list->files[i].path, ".safetensors"));
        }
    } else {
        code = want_safetensors(hub, list, folder, record, &safetensors);
        if (code == EXIT_DONE && !safetensors) {
            code = want_gguf(hub, list);
        }
    }
    if (code != EXIT_DONE) {
        return code;
    }
    if (safetensors && pull_list_find(list, "config.json") == NULL) {
        report_error("%s has safetensors but no config.json: it holds no whole model",
                     hub->repository);
        return EXIT_FAILED;
    }
    out->is_gguf = !safetensors;
    for (size_t i = 0; i < list->count; i++) {
        remote_file *file = &list->files[i];
        if (is_notice(file->path) || (safetensors && is_part_of_checkpoint(file->path))) {
            file->wanted = true;
        }
        if (file->wanted && ends_with(file->path, ".gguf")) {
            const char **first = gguf_is_tower(file->path) ? &out->tower : &out->text;
            *first = *first != NULL ? *first : file->path;
            out->texts += first == &out->text;
        }
        if (file->wanted) {
            out->count++;
            out->bytes += file->bytes;
        }
    }
    return EXIT_DONE;
}
