/* source_folder.c - see source_folder.h. POSIX, for looking into a folder. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/source_folder.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/gguf_config.h"
#include "runtime/weights/shards.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What a message of several files holds. */
enum { MOST_NAMED = 16, NAMES_ROOM = 400 };

bool oc_source_is_gguf_name(const char *name)
{
    static const char ending[] = ".gguf";
    size_t length = strlen(name);
    return length >= sizeof ending - 1 &&
           strcasecmp(name + length - (sizeof ending - 1), ending) == 0;
}

ocelli_status oc_source_folder_look(const char *directory, bool *found, ocelli_error *err)
{
    bool checkpoint = false;
    *found = false;
    OC_TRY(oc_shards_look(directory, &checkpoint, err));
    DIR *folder = checkpoint ? NULL : opendir(directory);
    if (folder == NULL) {
        return OCELLI_OK;
    }
    for (struct dirent *item = readdir(folder); item != NULL && !*found; item = readdir(folder)) {
        *found = oc_source_is_gguf_name(item->d_name);
    }
    closedir(folder);
    return OCELLI_OK;
}

/* The files of one kind in a folder: the first, and the names of all for a message. */
typedef struct gguf_kind {
    char *path; /* owned */
    char *names[MOST_NAMED];
    size_t count;
} gguf_kind;

static void close_kind(gguf_kind *kind)
{
    for (size_t i = 0; i < kind->count && i < MOST_NAMED; i++) {
        oc_free(kind->names[i]);
    }
    oc_free(kind->path);
    *kind = (gguf_kind){0};
}

static ocelli_status keep(gguf_kind *kind, const char *path, const char *name, ocelli_error *err)
{
    if (kind->count < MOST_NAMED) {
        char *copy = oc_strdup(name);
        if (copy == NULL) {
            return oc_fail_memory(err, path);
        }
        kind->names[kind->count] = copy;
    }
    if (kind->count++ == 0) {
        kind->path = oc_strdup(path);
    }
    return kind->path != NULL ? OCELLI_OK : oc_fail_memory(err, path);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "a.gguf, b.gguf" into out: folders have no order. */
static void list_names(gguf_kind *kind, char *out, size_t size)
{
    size_t named = kind->count < MOST_NAMED ? kind->count : MOST_NAMED, used = 0;
    qsort(kind->names, named, sizeof *kind->names, compare_names);
    for (size_t i = 0; i < named && used < size; i++) {
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", kind->names[i]);
    }
}

/* Fails if there are several. what: "text model"; advice: before the names. */
static ocelli_status check_one(gguf_kind *kind, const char *directory, const char *what,
                               const char *advice, ocelli_error *err)
{
    char names[NAMES_ROOM];
    if (kind->count <= 1) {
        return OCELLI_OK;
    }
    list_names(kind, names, sizeof names);
    return oc_fail(err, OCELLI_E_ARGUMENT, "%s: holds several %ss; %s: %s", directory, what, advice,
                   names);
}

/* ---- a folder ------------------------------------------------------------------------------- */

typedef struct gguf_kinds {
    gguf_kind text, vision;
} gguf_kinds;

static ocelli_status add_file(gguf_kinds *kinds, const char *path, const char *name,
                              ocelli_error *err)
{
    oc_gguf *file;
    bool vision = false;
    OC_TRY(oc_gguf_open(&file, path, err));
    ocelli_status status = oc_gguf_is_vision(file, &vision, err);
    oc_gguf_close(file);
    OC_TRY(status);
    return keep(vision ? &kinds->vision : &kinds->text, path, name, err);
}

static ocelli_status add_files(gguf_kinds *kinds, DIR *folder, const char *directory,
                               ocelli_error *err)
{
    for (struct dirent *item = readdir(folder); item != NULL; item = readdir(folder)) {
        if (!oc_source_is_gguf_name(item->d_name)) {
            continue;
        }
        char *path = oc_path_join(directory, item->d_name);
        if (path == NULL) {
            return oc_fail_memory(err, directory);
        }
        ocelli_status status = add_file(kinds, path, item->d_name, err);
        oc_free(path);
        OC_TRY(status);
    }
    if (kinds->text.count == 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "%s: holds a vision file (mmproj), but no text model; the text model's GGUF "
                       "file is needed too",
                       directory);
    }
    return check_one(&kinds->text, directory, "text model", "give one of them by itself", err);
}

ocelli_status oc_source_folder_open(oc_source_folder *out, const char *directory, bool wants_vision,
                                    ocelli_error *err)
{
    *out = (oc_source_folder){0};
    gguf_kinds kinds = {0};
    DIR *folder = opendir(directory);
    if (folder == NULL) {
        return oc_fail(err, OCELLI_E_IO, "%s: %s", directory, strerror(errno));
    }
    ocelli_status status = add_files(&kinds, folder, directory, err);
    closedir(folder);
    if (status == OCELLI_OK && wants_vision) {
        status =
            check_one(&kinds.vision, directory, "vision file", "name one with --mmproj FILE", err);
    }
    if (status == OCELLI_OK) {
        *out = (oc_source_folder){kinds.text.path, wants_vision ? kinds.vision.path : NULL};
        kinds.text.path = NULL;
        kinds.vision.path = wants_vision ? NULL : kinds.vision.path;
    }
    close_kind(&kinds.text);
    close_kind(&kinds.vision);
    return status;
}

void oc_source_folder_close(oc_source_folder *folder)
{
    oc_free(folder->text);
    oc_free(folder->vision);
    *folder = (oc_source_folder){0};
}

/* ---- beside a file -------------------------------------------------------------------------- */

/* Whether it is a vision file of the text model; one that cannot be read is none. Fails for want of
 * memory. */
static ocelli_status check_fits(const oc_gguf *text, const char *path, bool *fits,
                                ocelli_error *err)
{
    oc_gguf *file;
    oc_gguf_config made = {0};
    *fits = false;
    ocelli_status status = oc_gguf_open(&file, path, NULL);
    if (status == OCELLI_OK) {
        status = oc_gguf_is_vision(file, fits, NULL);
    }
    if (status == OCELLI_OK && *fits) {
        status = oc_gguf_config_make(&made, text, file, NULL);
    }
    *fits = *fits && status == OCELLI_OK;
    oc_gguf_config_close(&made);
    oc_gguf_close(file);
    return status == OCELLI_E_MEMORY ? oc_fail_memory(err, path) : OCELLI_OK;
}

static ocelli_status add_beside(gguf_kind *found, DIR *folder, const char *directory,
                                const oc_gguf *text, ocelli_error *err)
{
    for (struct dirent *item = readdir(folder); item != NULL; item = readdir(folder)) {
        if (!oc_source_is_gguf_name(item->d_name)) {
            continue;
        }
        char *path = oc_path_join(directory, item->d_name);
        if (path == NULL) {
            return oc_fail_memory(err, directory);
        }
        bool fits;
        ocelli_status status = check_fits(text, path, &fits, err);
        if (status == OCELLI_OK && fits) {
            status = keep(found, path, item->d_name, err);
        }
        oc_free(path);
        OC_TRY(status);
    }
    return OCELLI_OK;
}

ocelli_status oc_source_beside(char **vision, char **choice, const oc_gguf *text, ocelli_error *err)
{
    gguf_kind found = {0};
    const char *slash = strrchr(text->path, '/');
    *vision = *choice = NULL;
    char *directory = slash == NULL         ? oc_strdup(".")
                      : slash == text->path ? oc_strdup("/")
                                            : oc_strndup(text->path, (size_t)(slash - text->path));
    if (directory == NULL) {
        return oc_fail_memory(err, text->path);
    }
    DIR *folder = opendir(directory);
    ocelli_status status =
        folder != NULL ? add_beside(&found, folder, directory, text, err) : OCELLI_OK;
    if (folder != NULL) {
        closedir(folder);
    }
    if (status == OCELLI_OK && found.count == 1) {
        *vision = found.path;
        found.path = NULL;
    } else if (status == OCELLI_OK && found.count > 1) {
        char names[NAMES_ROOM];
        list_names(&found, names, sizeof names);
        *choice = oc_strdup(names);
        status = *choice != NULL ? OCELLI_OK : oc_fail_memory(err, directory);
    }
    close_kind(&found);
    oc_free(directory);
    return status;
}
