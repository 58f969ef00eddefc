/* download_record.c - see download_record.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/download_record.h"
#include "tools/model_shape.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No record of ours comes near. */
#define MOST_BYTES 0x1p53

void download_record_free(download_record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        free(record->files[i].path);
    }
    free(record->files);
    free(record->repository);
    free(record->revision);
    *record = (download_record){NULL, NULL, NULL, 0};
}

recorded_file *download_record_find(const download_record *record, const char *path)
{
    for (size_t i = 0; i < record->count; i++) {
        if (strcmp(record->files[i].path, path) == 0) {
            return &record->files[i];
        }
    }
    return NULL;
}

bool download_record_add(download_record *record, const char *path, uint64_t bytes,
                         const char *hash, const char *time)
{
    recorded_file *larger = realloc(record->files, (record->count + 1) * sizeof *larger);
    char *copy = text_copy(path);
    if (larger != NULL) {
        record->files = larger;
    }
    if (larger == NULL || copy == NULL) {
        free(copy);
        report_error("no memory");
        return false;
    }
    recorded_file *file = &larger[record->count++];
    memset(file, 0, sizeof *file);
    file->path = copy;
    file->bytes = bytes;
    snprintf(file->hash, sizeof file->hash, "%s", hash);
    snprintf(file->time, sizeof file->time, "%s", time);
    return true;
}

static const char *member(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text != NULL ? text : "";
}

static bool read_tree(const cJSON *tree, download_record *out)
{
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(tree, "files");
    const cJSON *file = NULL;
    out->repository = text_copy(member(tree, "repository"));
    out->revision = text_copy(member(tree, "revision"));
    if (out->repository == NULL || out->revision == NULL || *out->repository == '\0' ||
        !cJSON_IsArray(files)) {
        return false;
    }
    cJSON_ArrayForEach(file, files)
    {
        const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(file, "bytes");
        const char *path = member(file, "path");
        if (*path == '\0' || !cJSON_IsNumber(bytes) || !(bytes->valuedouble >= 0) ||
            bytes->valuedouble > MOST_BYTES ||
            !download_record_add(out, path, (uint64_t)bytes->valuedouble, member(file, "hash"),
                                 member(file, "time"))) {
            return false;
        }
    }
    return true;
}

bool download_record_read(const char *folder, download_record *out)
{
    *out = (download_record){NULL, NULL, NULL, 0};
    char *path = path_join(folder, DOWNLOAD_RECORD);
    struct stat about;
    if (path == NULL || stat(path, &about) != 0 || !S_ISREG(about.st_mode)) {
        free(path);
        return false;
    }
    cJSON *tree = json_file_read(path);
    free(path);
    bool good = tree != NULL && read_tree(tree, out);
    cJSON_Delete(tree);
    if (!good) {
        download_record_free(out);
    }
    return good;
}

/* The record as text, for cJSON_free; NULL: no memory. */
static char *print_record(const download_record *record)
{
    cJSON *tree = cJSON_CreateObject();
    json_text(tree, "repository", record->repository);
    json_text(tree, "revision", record->revision);
    cJSON *files = cJSON_AddArrayToObject(tree, "files");
    for (size_t i = 0; i < record->count; i++) {
        cJSON *file = cJSON_CreateObject();
        json_text(file, "path", record->files[i].path);
        json_count(file, "bytes", record->files[i].bytes);
        json_text(file, "hash", record->files[i].hash);
        json_text(file, "time", record->files[i].time);
        cJSON_AddItemToArray(files, file);
    }
    char *text = cJSON_Print(tree);
    cJSON_Delete(tree);
    return text;
}

/* Anew, for writing; a link that stands there is somebody's file, and is not written through. */
static FILE *open_fresh(const char *path)
{
    int descriptor =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (file == NULL && descriptor >= 0) {
        close(descriptor);
    }
    return file;
}

bool download_record_write(const char *folder, const download_record *record)
{
    char *path = path_join(folder, DOWNLOAD_RECORD);
    char *fresh = path_join(folder, DOWNLOAD_RECORD DOWNLOAD_PARTIAL);
    char *text = print_record(record);
    /* Not synced: a record lost with the machine costs a rerun the reading of the files,
     * no more. */
    FILE *file = fresh != NULL ? open_fresh(fresh) : NULL;
    bool good = path != NULL && text != NULL && file != NULL;
    good = good && fputs(text, file) >= 0 && fflush(file) == 0;
    int reason = errno;
    if (file != NULL && fclose(file) != 0) {
        good = false;
    }
    if (good && rename(fresh, path) != 0) {
        reason = errno;
        good = false;
    }
    if (!good) {
        report_error("cannot write '%s/%s': %s", folder, DOWNLOAD_RECORD, strerror(reason));
    }
    cJSON_free(text);
    free(fresh);
    free(path);
    return good;
}

void download_time_format(const struct stat *about, char out[DOWNLOAD_TIME_SIZE])
{
    snprintf(out, DOWNLOAD_TIME_SIZE, "%" PRId64 ".%09ld", (int64_t)about->st_mtim.tv_sec,
             (long)about->st_mtim.tv_nsec);
}

bool download_file_is_whole(const char *folder, const recorded_file *file)
{
    char *path = path_join(folder, file->path);
    char time[DOWNLOAD_TIME_SIZE];
    struct stat about;
    bool whole = path != NULL && file->time[0] != '\0' && stat(path, &about) == 0 &&
                 S_ISREG(about.st_mode) && (uint64_t)about.st_size == file->bytes;
    if (whole) {
        download_time_format(&about, time);
        whole = strcmp(time, file->time) == 0;
    }
    free(path);
    return whole;
}

/* Bytes of what has come of the file so far. */
static uint64_t partial_bytes(const char *folder, const recorded_file *file)
{
    char *path = path_join(folder, file->path);
    size_t size = path != NULL ? strlen(path) + sizeof DOWNLOAD_PARTIAL : 0;
    char *partial = size > 0 ? malloc(size) : NULL;
    struct stat about;
    uint64_t bytes = 0;
    if (partial != NULL) {
        snprintf(partial, size, "%s%s", path, DOWNLOAD_PARTIAL);
        if (stat(partial, &about) == 0 && S_ISREG(about.st_mode)) {
            bytes = (uint64_t)about.st_size < file->bytes ? (uint64_t)about.st_size : file->bytes;
        }
    }
    free(partial);
    free(path);
    return bytes;
}

bool download_is_complete(const char *folder, const download_record *record, uint64_t *there,
                          uint64_t *needed)
{
    bool complete = true;
    *there = 0;
    *needed = 0;
    for (size_t i = 0; i < record->count; i++) {
        const recorded_file *file = &record->files[i];
        bool whole = file->time[0] != '\0';
        complete = complete && whole;
        *there += whole ? file->bytes : partial_bytes(folder, file);
        *needed += file->bytes;
    }
    return complete;
}
