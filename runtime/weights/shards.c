/* shards.c - see shards.h. POSIX, for looking into a folder. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/shards.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/weights/tensor.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char index_name[] = "model.safetensors.index.json";
static const char single_name[] = "model.safetensors";

/* The longest file name of the usual file systems. */
enum { NAME_LIMIT = 255 };

/* More files than any checkpoint has: 235B has 118, and each is mapped and kept open. */
enum { SHARD_LIMIT = 4096 };

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text);
    size_t wanted = strlen(ending);
    return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

/* What a folder without weights holds instead; each the first such name met. */
typedef struct folder_view {
    char safetensors[NAME_LIMIT + 1], unfinished[NAME_LIMIT + 1], other[NAME_LIMIT + 1];
    bool numbered; /* safetensors is a shard: model-00001-of-00003.safetensors */
} folder_view;

static void keep_name(char *slot, const char *name)
{
    if (slot[0] == '\0') {
        snprintf(slot, NAME_LIMIT + 1, "%s", name);
    }
}

/* wanted: only what an unfinished download of it may be called counts as unfinished; NULL: any. */
static void view_folder(folder_view *view, const char *directory, const char *wanted)
{
    static const char *const unfinished[] = {".incomplete", ".part",  ".partial", ".tmp",
                                             ".crdownload", ".aria2", ".download"};
    *view = (folder_view){0};
    DIR *folder = opendir(directory);
    if (folder == NULL) {
        return;
    }
    for (struct dirent *item = readdir(folder); item != NULL; item = readdir(folder)) {
        const char *name = item->d_name;
        bool partial = false;
        for (size_t i = 0; i < sizeof unfinished / sizeof unfinished[0]; i++) {
            partial = partial || ends_with(name, unfinished[i]);
        }
        if (partial) {
            if (wanted == NULL || strncmp(name, wanted, strlen(wanted)) == 0) {
                keep_name(view->unfinished, name);
            }
        } else if (ends_with(name, ".safetensors")) {
            keep_name(view->safetensors, name);
            view->numbered = view->numbered || strstr(name, "-of-") != NULL;
        } else if (ends_with(name, ".gguf") || ends_with(name, ".bin") || ends_with(name, ".pth") ||
                   ends_with(name, ".pt")) {
            /* pytorch_model.bin says more than any other .bin beside it. */
            if (strncmp(name, "pytorch_model", 13) == 0) {
                view->other[0] = '\0';
            }
            keep_name(view->other, name);
        }
    }
    closedir(folder);
}

/* Neither the index nor the single file is there: say what is. */
static ocelli_status nothing_found(const char *directory, ocelli_error *err)
{
    folder_view view;
    view_folder(&view, directory, NULL);
    if (view.unfinished[0] != '\0') {
        return oc_fail(err, OCELLI_E_IO,
                       "%s: no %s or %s, only an unfinished download: %s; finish it or download "
                       "again",
                       directory, index_name, single_name, view.unfinished);
    }
    if (view.numbered) {
        return oc_fail(err, OCELLI_E_IO,
                       "%s: there are shards (%s) but no %s; download the index as well", directory,
                       view.safetensors, index_name);
    }
    if (view.safetensors[0] != '\0') {
        return oc_fail(err, OCELLI_E_IO, "%s: no %s or %s; there is a %s, which is not looked for",
                       directory, index_name, single_name, view.safetensors);
    }
    if (view.other[0] != '\0') {
        return oc_fail(err, OCELLI_E_IO,
                       "%s: no %s or %s, only %s; weights are read from safetensors: download that "
                       "form of the checkpoint",
                       directory, index_name, single_name, view.other);
    }
    return oc_fail(err, OCELLI_E_IO, "%s: no %s or %s in this folder", directory, index_name,
                   single_name);
}

static int compare_shards(const void *left, const void *right)
{
    const oc_shard_listing *a = left;
    const oc_shard_listing *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : strcmp(a->tensor, b->tensor);
}

/* A plain file name: no way out of the folder, and nothing but weights. */
static bool is_plain_name(const char *name)
{
    return strlen(name) <= NAME_LIMIT && strpbrk(name, "/\\") == NULL && name[0] != '.' &&
           ends_with(name, ".safetensors");
}

/* The listings of weight_map, sorted by shard. */
static ocelli_status read_map(oc_shards *shards, const char *path, ocelli_error *err)
{
    oc_json_object top = oc_json_top(&shards->index);
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(top.node, "weight_map");
    if (!cJSON_IsObject(map) || map->child == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: weight_map must be an object that gives each tensor's file", path);
    }
    size_t count = 0;
    for (const cJSON *item = map->child; item != NULL; item = item->next) {
        count++;
    }
    shards->listed = oc_alloc(count, sizeof *shards->listed);
    if (shards->listed == NULL) {
        return oc_fail_memory(err, path);
    }
    for (const cJSON *item = map->child; item != NULL; item = item->next) {
        char tensor[OC_LABEL_ROOM];
        char name[OC_LABEL_ROOM];
        if (!cJSON_IsString(item)) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: weight_map: the file of \"%s\" must be a string", path,
                           oc_name_label(item->string, tensor));
        }
        if (!is_plain_name(item->valuestring)) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: weight_map: \"%s\" (of \"%s\") is not the plain name of a "
                           ".safetensors file in this folder",
                           path, oc_name_label(item->valuestring, name),
                           oc_name_label(item->string, tensor));
        }
        shards->listed[shards->listed_count++] =
            (oc_shard_listing){.tensor = item->string, .name = item->valuestring};
    }
    qsort(shards->listed, count, sizeof *shards->listed, compare_shards);
    return OCELLI_OK;
}

static ocelli_status missing_shard(const char *path, const char *directory, const char *name,
                                   size_t missing, size_t count, ocelli_error *err)
{
    folder_view view;
    char more[64] = "";
    view_folder(&view, directory, name);
    if (missing > 1) {
        snprintf(more, sizeof more, " (and %zu more of the %zu files)", missing - 1, count);
    }
    if (view.unfinished[0] != '\0') {
        return oc_fail(err, OCELLI_E_IO,
                       "%s: missing%s, there is only an unfinished download (%s); finish it or "
                       "download it again",
                       path, more, view.unfinished);
    }
    return oc_fail(err, OCELLI_E_IO, "%s: missing%s, but the index %s names it; download it again",
                   path, more, index_name);
}

/* Different names in the sorted list. */
static size_t count_names(const oc_shards *shards)
{
    size_t count = 0;
    for (size_t i = 0; i < shards->listed_count; i++) {
        count += i == 0 || strcmp(shards->listed[i - 1].name, shards->listed[i].name) != 0;
    }
    return count;
}

/* One path per different name; all must exist. */
static ocelli_status list_paths(oc_shards *shards, const char *directory, ocelli_error *err)
{
    size_t names = count_names(shards);
    if (names > SHARD_LIMIT) {
        return oc_fail(err, OCELLI_E_LIMIT,
                       "%s: %s names %zu files, more than the %d that a checkpoint may have",
                       directory, index_name, names, SHARD_LIMIT);
    }
    shards->paths = oc_alloc(names, sizeof *shards->paths);
    if (shards->paths == NULL) {
        return oc_fail_memory(err, directory);
    }
    const char *lost = NULL;
    size_t lost_file = 0;
    size_t missing = 0;
    for (size_t i = 0; i < shards->listed_count; i++) {
        oc_shard_listing *listing = &shards->listed[i];
        if (i > 0 && strcmp(listing[-1].name, listing->name) == 0) {
            listing->file = listing[-1].file;
            continue;
        }
        listing->file = shards->count;
        shards->paths[shards->count] = oc_path_join(directory, listing->name);
        if (shards->paths[shards->count] == NULL) {
            return oc_fail_memory(err, directory);
        }
        if (!oc_file_exists(shards->paths[shards->count])) {
            if (lost == NULL) {
                lost = listing->name;
                lost_file = shards->count;
            }
            missing++;
        }
        shards->count++;
    }
    return lost == NULL ? OCELLI_OK
                        : missing_shard(shards->paths[lost_file], directory, lost, missing,
                                        shards->count, err);
}

/* cJSON ends a string at a NUL; then the name checked would not be the name written. */
static bool has_nul(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL || strstr(text, "\\u0000") != NULL;
}

static ocelli_status find_by_index(oc_shards *shards, const char *directory, const char *path,
                                   ocelli_error *err)
{
    char *text;
    size_t size;
    OC_TRY(oc_file_read(&text, &size, path, OC_JSON_LIMIT, err));
    ocelli_status status = has_nul(text, size)
                               ? oc_fail(err, OCELLI_E_FORMAT, "%s: a name holds a NUL", path)
                               : oc_json_parse(&shards->index, path, text, size, err);
    oc_free(text);
    OC_TRY(status);
    OC_TRY(read_map(shards, path, err));
    return list_paths(shards, directory, err);
}

static ocelli_status find_single(oc_shards *shards, const char *directory, ocelli_error *err)
{
    char *path = oc_path_join(directory, single_name);
    shards->paths = oc_alloc(1, sizeof *shards->paths);
    if (path == NULL || shards->paths == NULL) {
        oc_free(path);
        return oc_fail_memory(err, directory);
    }
    shards->paths[0] = path;
    shards->count = 1;
    return oc_file_exists(path) ? OCELLI_OK : nothing_found(directory, err);
}

ocelli_status oc_shards_look(const char *directory, bool *found, ocelli_error *err)
{
    const char *const names[] = {index_name, single_name};
    *found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !*found; i++) {
        char *path = oc_path_join(directory, names[i]);
        if (path == NULL) {
            return oc_fail_memory(err, directory);
        }
        *found = oc_file_exists(path);
        oc_free(path);
    }
    return OCELLI_OK;
}

ocelli_status oc_shards_find(oc_shards *out, const char *directory, ocelli_error *err)
{
    *out = (oc_shards){0};
    if (!oc_file_exists(directory)) {
        return oc_fail(err, OCELLI_E_IO, "%s: cannot open this folder: %s", directory,
                       strerror(errno));
    }
    if (!oc_file_is_directory(directory)) {
        return oc_fail(err, OCELLI_E_IO,
                       "%s: a file; give the folder of the checkpoint that holds it", directory);
    }
    char *path = oc_path_join(directory, index_name);
    if (path == NULL) {
        return oc_fail_memory(err, directory);
    }
    ocelli_status status = oc_file_exists(path) ? find_by_index(out, directory, path, err)
                                                : find_single(out, directory, err);
    oc_free(path);
    if (status != OCELLI_OK) {
        oc_shards_close(out);
    }
    return status;
}

void oc_shards_close(oc_shards *shards)
{
    for (size_t i = 0; i < shards->count; i++) {
        oc_free(shards->paths[i]);
    }
    oc_free(shards->paths);
    oc_free(shards->listed);
    oc_json_close(&shards->index);
    *shards = (oc_shards){0};
}
