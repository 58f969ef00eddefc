/* source_folder.c - see source_folder.h. POSIX, for looking into a folder. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/source_folder.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/gguf_config.h"
#include "runtime/weights/shards.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

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

/* Keeps path in its place, or says that another one is there. */
static ocelli_status keep(char **place, const char *path, const char *directory, const char *what,
                          const char *flag, ocelli_error *err)
{
    if (*place != NULL) {
        const char *first = strrchr(*place, '/'), *second = strrchr(path, '/');
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "%s: holds several %ss (%s, %s); name the one to use with %s", directory,
                       what, first != NULL ? first + 1 : *place, second != NULL ? second + 1 : path,
                       flag);
    }
    *place = oc_strdup(path);
    return *place != NULL ? OCELLI_OK : oc_fail_memory(err, directory);
}

static ocelli_status add_file(oc_source_folder *out, const char *directory, const char *path,
                              bool wants_vision, ocelli_error *err)
{
    oc_gguf *file;
    bool vision = false;
    OC_TRY(oc_gguf_open(&file, path, err));
    ocelli_status status = oc_gguf_is_vision(file, &vision, err);
    oc_gguf_close(file);
    OC_TRY(status);
    if (!vision) {
        return keep(&out->text, path, directory, "text model", "-m FILE", err);
    }
    return wants_vision ? keep(&out->vision, path, directory, "vision file", "--mmproj FILE", err)
                        : OCELLI_OK;
}

static ocelli_status add_files(oc_source_folder *out, DIR *folder, const char *directory,
                               bool wants_vision, ocelli_error *err)
{
    for (struct dirent *item = readdir(folder); item != NULL; item = readdir(folder)) {
        if (!oc_source_is_gguf_name(item->d_name)) {
            continue;
        }
        char *path = oc_path_join(directory, item->d_name);
        if (path == NULL) {
            return oc_fail_memory(err, directory);
        }
        ocelli_status status = add_file(out, directory, path, wants_vision, err);
        oc_free(path);
        OC_TRY(status);
    }
    if (out->text == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "%s: holds a vision file (mmproj), but no text model; the text model's GGUF "
                       "file is needed too",
                       directory);
    }
    return OCELLI_OK;
}

ocelli_status oc_source_folder_open(oc_source_folder *out, const char *directory, bool wants_vision,
                                    ocelli_error *err)
{
    *out = (oc_source_folder){0};
    DIR *folder = opendir(directory);
    if (folder == NULL) {
        return oc_fail(err, OCELLI_E_IO, "%s: %s", directory, strerror(errno));
    }
    ocelli_status status = add_files(out, folder, directory, wants_vision, err);
    closedir(folder);
    if (status != OCELLI_OK) {
        oc_source_folder_close(out);
    }
    return status;
}

void oc_source_folder_close(oc_source_folder *folder)
{
    oc_free(folder->text);
    oc_free(folder->vision);
    *folder = (oc_source_folder){0};
}
