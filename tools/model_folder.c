/* model_folder.c - see model_folder.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/model_folder.h"
#include "tools/cli_options.h"
#include "tools/download_record.h"
#include "tools/model_shape.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where a name could be anything, a listing ends here. */
#define MOST_ENTRIES ((size_t)10000)

char *model_folder_path(void)
{
    const char *named = getenv("OCELLI_HOME");
    if (named != NULL && *named != '\0') {
        char *copy = text_copy(named);
        if (copy == NULL) {
            report_error("no memory");
        }
        return copy;
    }
    /* A relative path in XDG_DATA_HOME is to be ignored, says its specification. */
    const char *data = getenv("XDG_DATA_HOME");
    if (data != NULL && *data == '/') {
        return path_join(data, "ocelli/models");
    }
    const char *home = getenv("HOME");
    if (home == NULL || *home == '\0') {
        report_error("no model folder: neither OCELLI_HOME nor HOME is set");
        return NULL;
    }
    return path_join(home, ".local/share/ocelli/models");
}

/* ---- listing ------------------------------------------------------------------------------- */

/* Takes both strings over, whatever comes of it. */
static bool add_entry(model_folder_list *list, char *name, char *path)
{
    model_folder_entry *larger = NULL;
    if (name != NULL && path != NULL && list->count < MOST_ENTRIES) {
        larger = realloc(list->entries, (list->count + 1) * sizeof *larger);
    }
    if (larger == NULL) {
        report_error("no memory for the list of models");
        free(name);
        free(path);
        return false;
    }
    list->entries = larger;
    larger[list->count++] = (model_folder_entry){name, path};
    return true;
}

static bool has_file(const char *folder, const char *name)
{
    char *path = path_join(folder, name);
    struct stat about;
    bool there = path != NULL && stat(path, &about) == 0 && S_ISREG(about.st_mode);
    free(path);
    return there;
}

bool gguf_is_tower(const char *path)
{
    const char *slash = strrchr(path, '/');
    for (const char *at = slash != NULL ? slash + 1 : path; *at != '\0'; at++) {
        if (strncasecmp(at, "mmproj", 6) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_text_gguf(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcasecmp(name + length - 5, ".gguf") == 0 && *name != '.' &&
           !gguf_is_tower(name);
}

/* Adds each text GGUF of the folder to *list. */
static bool add_gguf_files(const char *folder, const char *name, model_folder_list *list)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    bool good = true;
    while (good && entries != NULL && (entry = readdir(entries)) != NULL) {
        if (is_text_gguf(entry->d_name)) {
            good =
                add_entry(list, path_join(name, entry->d_name), path_join(folder, entry->d_name));
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return good;
}

bool folder_holds_no_model(const char *folder)
{
    static const char *const ends[] = {"config.json", "manifest.json", ".safetensors",
                                       ".index.json", ".gguf",         ".partial",
                                       ".bin",        DOWNLOAD_RECORD};
    DIR *entries = opendir(folder);
    struct dirent *entry;
    bool none = entries != NULL;
    while (none && (entry = readdir(entries)) != NULL) {
        size_t length = strlen(entry->d_name);
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
            size_t end = strlen(ends[i]);
            none = none && (length < end || strcasecmp(entry->d_name + length - end, ends[i]) != 0);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return none;
}

/* Adds the folder if it is a model. False on failure; *is_model tells. */
static bool add_if_model(const char *folder, const char *name, model_folder_list *list,
                         bool *is_model)
{
    size_t before = list->count;
    *is_model = has_file(folder, "config.json") || has_file(folder, "manifest.json");
    if (!*is_model) {
        if (!add_gguf_files(folder, name, list)) {
            return false;
        }
        if (list->count > before + 1) { /* a choice: each is a model by its file */
            *is_model = true;
            return true;
        }
        *is_model = list->count > before || has_file(folder, DOWNLOAD_RECORD);
        while (list->count > before) {
            list->count--;
            free(list->entries[list->count].name);
            free(list->entries[list->count].path);
        }
    }
    return !*is_model || add_entry(list, text_copy(name), text_copy(folder));
}

/* below is the part of the name that leads to folder, "" at the top. */
static bool read_level(const char *folder, const char *below, model_folder_list *list)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    bool good = true;
    if (entries == NULL) {
        if (*below == '\0' && errno != ENOENT) {
            report_error("cannot read the model folder '%s': %s", folder, strerror(errno));
            return false;
        }
        return true;
    }
    while (good && (entry = readdir(entries)) != NULL) {
        struct stat about;
        if (entry->d_name[0] == '.') {
            continue;
        }
        char *path = path_join(folder, entry->d_name);
        char *name = *below != '\0' ? path_join(below, entry->d_name) : text_copy(entry->d_name);
        good = path != NULL && name != NULL;
        if (good && stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
            bool is_model = false;
            good = add_if_model(path, name, list, &is_model);
            if (good && !is_model && *below == '\0') {
                good = read_level(path, name, list); /* once: there below is not empty */
            }
        }
        free(name);
        free(path);
    }
    closedir(entries);
    return good;
}

static int compare_entries(const void *a, const void *b)
{
    const model_folder_entry *first = a;
    const model_folder_entry *second = b;
    return strcmp(first->name, second->name);
}

bool model_folder_read(const char *folder, model_folder_list *out)
{
    if (!read_level(folder, "", out)) {
        return false;
    }
    if (out->count > 1) {
        qsort(out->entries, out->count, sizeof *out->entries, compare_entries);
    }
    return true;
}

void model_folder_free(model_folder_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->entries[i].name);
        free(list->entries[i].path);
    }
    free(list->entries);
    *list = (model_folder_list){NULL, 0};
}

/* ---- finding ------------------------------------------------------------------------------- */

bool model_folder_is_name(const char *name)
{
    if (*name == '/' || *name == '.' || *name == '\0') {
        return false;
    }
    return strstr(name, "/.") == NULL;
}

/* whole: of an entry; name: its last part. */
static bool is_called(const char *whole, const char *name)
{
    const char *slash = strrchr(whole, '/');
    return slash != NULL && strcmp(slash + 1, name) == 0;
}

/* The entry is one GGUF file among several of the folder called name, with or without its owner. */
static bool is_file_of(const char *whole, const char *name)
{
    size_t length = strlen(name);
    const char *slash = strrchr(whole, '/');
    if (slash == NULL || !is_text_gguf(slash + 1) || (size_t)(slash - whole) < length) {
        return false;
    }
    const char *start = slash - length;
    return strncmp(start, name, length) == 0 && (start == whole || start[-1] == '/');
}

static int report_several(const char *name, const model_folder_list *list)
{
    char names[600];
    size_t used = 0;
    for (size_t i = 0; i < list->count && used < sizeof names; i++) {
        if (is_called(list->entries[i].name, name) || is_file_of(list->entries[i].name, name)) {
            int length = snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "",
                                  list->entries[i].name);
            used += length > 0 ? (size_t)length : 0;
        }
    }
    report_error("several models are called '%.200s': %s; give one of these", name, names);
    return EXIT_FAILED;
}

int model_folder_find(const char *name, char **path)
{
    model_folder_list list = {NULL, 0};
    const model_folder_entry *found = NULL;
    size_t matches = 0, files = 0;
    int code = EXIT_DONE;
    *path = NULL;
    if (!model_folder_is_name(name)) {
        return EXIT_DONE;
    }
    char *folder = model_folder_path();
    char *direct = folder != NULL ? path_join(folder, name) : NULL;
    if (direct == NULL) {
        free(folder);
        return EXIT_FAILED;
    }
    if (access(direct, F_OK) == 0 &&
        (strchr(name, '/') != NULL || has_file(direct, "config.json"))) {
        free(folder);
        *path = direct;
        return EXIT_DONE;
    }
    free(direct);
    if (!model_folder_read(folder, &list)) {
        code = EXIT_FAILED;
    }
    for (size_t i = 0; code == EXIT_DONE && i < list.count; i++) {
        if (strcmp(list.entries[i].name, name) == 0) {
            found = &list.entries[i];
            matches = 1;
            files = 0;
            break;
        }
        if (is_called(list.entries[i].name, name)) {
            found = &list.entries[i];
            matches++;
        }
        files += is_file_of(list.entries[i].name, name);
    }
    if (code == EXIT_DONE && (matches > 1 || files > 0)) {
        code = report_several(name, &list);
    } else if (code == EXIT_DONE && found != NULL) {
        *path = text_copy(found->path);
        if (*path == NULL) {
            report_error("no memory");
            code = EXIT_FAILED;
        }
    }
    model_folder_free(&list);
    free(folder);
    return code;
}
