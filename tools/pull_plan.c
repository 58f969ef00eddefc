/* pull_plan.c - see pull_plan.h. */
#define _DEFAULT_SOURCE /* flock */

#include "tools/pull_plan.h"
#include "tools/cli_options.h"
#include "tools/model_folder.h"
#include "tools/model_shape.h"
#include "tools/output.h"
#include "tools/pull_fetch.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* For the record, folders, and the file system's own needs. */
#define SPARE_BYTES ((uint64_t)1 << 20)

void pull_plan_free(pull_plan *plan)
{
    free(plan->missing);
    memset(plan, 0, sizeof *plan);
}

/* Looks at one wanted file: time is "" where it is to be fetched. */
static int look_at(const char *folder, const remote_file *file, const download_record *record,
                   char time[DOWNLOAD_TIME_SIZE])
{
    const recorded_file *recorded = download_record_find(record, file->path);
    struct stat about;
    bool same = false;
    time[0] = '\0';
    char *path = path_join(folder, file->path);
    if (path == NULL) {
        return EXIT_FAILED;
    }
    bool there = lstat(path, &about) == 0;
    if (recorded != NULL && recorded->bytes == file->bytes &&
        strcmp(recorded->hash, file->hash) == 0 && download_file_is_whole(folder, recorded)) {
        memcpy(time, recorded->time, DOWNLOAD_TIME_SIZE);
        free(path);
        return EXIT_DONE;
    }
    int code = there ? pull_compare(folder, file, &same, time) : EXIT_DONE;
    if (code == EXIT_DONE && there && !same) {
        time[0] = '\0';
        if (recorded == NULL) {
            report_error(
                "'%s' is there and is not the repository's; move it away, or choose another "
                "folder",
                path);
            code = EXIT_FAILED;
        } else if (recorded->time[0] != '\0' && strcmp(recorded->hash, file->hash) == 0) {
            report_warning("'%s' has been changed since it was fetched; it is fetched anew", path);
        }
    }
    free(path);
    return code;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), size = strlen(end);
    return length > size && strcasecmp(text + length - size, end) == 0;
}

/* The order of fetching. Weights are last, of GGUF those of the decoder: without them nothing opens
 * a folder that is half there. */
static int rank_of(const remote_file *file)
{
    if (ends_with(file->path, ".gguf")) {
        return gguf_is_tower(file->path) ? 1 : 2;
    }
    return ends_with(file->path, ".safetensors") ? 2 : 0;
}

static int compare_missing(const void *a, const void *b)
{
    const remote_file *first = *(const remote_file *const *)a;
    const remote_file *second = *(const remote_file *const *)b;
    int order = rank_of(first) - rank_of(second);
    return order != 0 ? order : strcmp(first->path, second->path);
}

/* What the old record vouches for and is in the list still, though not asked for this time. */
static bool keep_others(const remote_list *list, const char *folder, const download_record *old,
                        download_record *fresh)
{
    for (size_t i = 0; i < old->count; i++) {
        const recorded_file *recorded = &old->files[i];
        const remote_file *file = pull_list_find(list, recorded->path);
        if (file != NULL && file->wanted) {
            continue;
        }
        if (!download_file_is_whole(folder, recorded)) {
            continue;
        }
        if (file == NULL || strcmp(file->hash, recorded->hash) != 0) {
            report_warning("'%s/%s' is of an earlier revision and no longer needed", folder,
                           recorded->path);
        } else if (!download_record_add(fresh, recorded->path, recorded->bytes, recorded->hash,
                                        recorded->time)) {
            return false;
        }
    }
    return true;
}

static bool same_records(const download_record *old, const download_record *fresh)
{
    bool same = old->count == fresh->count && old->revision != NULL &&
                strcmp(old->revision, fresh->revision) == 0;
    for (size_t i = 0; same && i < fresh->count; i++) {
        const recorded_file *before = download_record_find(old, fresh->files[i].path);
        same = before != NULL && strcmp(before->hash, fresh->files[i].hash) == 0 &&
               strcmp(before->time, fresh->files[i].time) == 0;
    }
    return same;
}

int pull_plan_make(const pull_hub *hub, const remote_list *list, const char *folder,
                   download_record *record, pull_plan *out)
{
    download_record fresh = {text_copy(hub->repository), text_copy(hub->revision), NULL, 0};
    int code = EXIT_DONE;
    out->missing = calloc(list->count + 1, sizeof *out->missing);
    if (out->missing == NULL || fresh.repository == NULL || fresh.revision == NULL) {
        report_error("no memory");
        code = EXIT_FAILED;
    }
    for (size_t i = 0; code == EXIT_DONE && i < list->count; i++) {
        const remote_file *file = &list->files[i];
        char time[DOWNLOAD_TIME_SIZE];
        if (!file->wanted) {
            continue;
        }
        code = look_at(folder, file, record, time);
        if (code == EXIT_DONE &&
            !download_record_add(&fresh, file->path, file->bytes, file->hash, time)) {
            code = EXIT_FAILED;
        }
        if (code == EXIT_DONE && time[0] == '\0') {
            out->missing[out->count++] = file;
            out->bytes += file->bytes;
            out->left_over += pull_left_over(folder, file);
        }
    }
    if (code == EXIT_DONE && !keep_others(list, folder, record, &fresh)) {
        code = EXIT_FAILED;
    }
    if (code != EXIT_DONE) {
        download_record_free(&fresh);
        return code;
    }
    if (out->count > 1) {
        qsort(out->missing, out->count, sizeof *out->missing, compare_missing);
    }
    out->record_changed = !same_records(record, &fresh);
    download_record_free(record);
    *record = fresh;
    return EXIT_DONE;
}

/* The nearest folder above path that is there; path is cut to it. */
static bool disk_of(char *path, struct statvfs *disk)
{
    while (statvfs(path, disk) != 0) {
        char *slash = strrchr(path, '/');
        if (slash == NULL) {
            return statvfs(".", disk) == 0;
        }
        slash[slash == path] = '\0'; /* "/" stays */
        if (slash == path && statvfs(path, disk) != 0) {
            return false;
        }
    }
    return true;
}

bool pull_plan_has_room(const pull_plan *plan, const char *folder)
{
    struct statvfs disk;
    char needs[32], has[32];
    char *path = text_copy(folder);
    uint64_t bytes = plan->bytes - plan->left_over;
    bool known = path != NULL && disk_of(path, &disk);
    free(path);
    if (!known || bytes == 0) {
        return true; /* writing will tell */
    }
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (room >= bytes + SPARE_BYTES) {
        return true;
    }
    format_bytes(needs, sizeof needs, bytes);
    format_bytes(has, sizeof has, room);
    report_error("'%s' needs %s more, but %s are free there; nothing was fetched", folder, needs,
                 has);
    return false;
}

int pull_folder_open(const char *folder)
{
    char *path = text_copy(folder);
    int descriptor = -1;
    for (char *at = path; path != NULL; at++) {
        char here = *at;
        if ((here == '/' && at > path) || here == '\0') {
            *at = '\0';
            if (mkdir(path, 0777) != 0 && errno != EEXIST) {
                report_error("cannot make '%s': %s", path, strerror(errno));
                free(path);
                return -1;
            }
            *at = here;
        }
        if (here == '\0') {
            break;
        }
    }
    free(path);
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) {
        report_error("cannot open '%s': %s", folder, strerror(errno));
        return -1;
    }
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        report_error("'%s' is in use: another pull writes there", folder);
        close(descriptor);
        return -1;
    }
    return descriptor;
}
