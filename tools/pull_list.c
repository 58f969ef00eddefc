/* pull_list.c - see pull_list.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/pull_list.h"
#include "tools/cli_options.h"
#include "tools/interrupt.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* The hub gives 1000 files a page of some 300 KB; models have tens of files. */
#define MOST_PAGES 100
#define MOST_PAGE_BYTES ((size_t)16 << 20)
#define MOST_FILES ((size_t)20000)
/* 256 TiB: of a file; sums of MOST_FILES stay in 64 bits. */
#define MOST_FILE_BYTES 0x1p48
#define LONGEST_NAME ((size_t)1000)

void pull_list_free(remote_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->files[i].path);
    }
    free(list->files);
    *list = (remote_list){NULL, 0, 0};
}

static int compare_paths(const void *a, const void *b)
{
    const remote_file *first = a;
    const remote_file *second = b;
    return strcmp(first->path, second->path);
}

static int compare_to_path(const void *path, const void *file)
{
    return strcmp(path, ((const remote_file *)file)->path);
}

remote_file *pull_list_find(const remote_list *list, const char *path)
{
    return list->count > 0
               ? bsearch(path, list->files, list->count, sizeof *list->files, compare_to_path)
               : NULL;
}

/* ---- one entry ----------------------------------------------------------------------------- */

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t size = strlen(end);
    return length >= size && memcmp(text + length - size, end, size) == 0;
}

/* Whether text begins with a character that a terminal obeys rather than shows: the second set of
 * control characters (U+0080 to U+009F), and what turns the direction of writing (U+200E, U+200F,
 * U+202A to U+202E, U+2066 to U+2069). */
static bool begins_unseen(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] == 0xC2) {
        return at[1] < 0xA0;
    }
    if (at[0] != 0xE2 || (at[1] != 0x80 && at[1] != 0x81)) {
        return false;
    }
    return at[1] == 0x80 ? at[2] == 0x8E || at[2] == 0x8F || (at[2] >= 0xAA && at[2] <= 0xAE)
                         : at[2] >= 0xA6 && at[2] <= 0xA9;
}

/* Why the name may not become a path here; NULL: it may. */
static const char *wrong_with(const char *path)
{
    size_t bad = 0;
    size_t total = strlen(path);
    if (total == 0 || total > LONGEST_NAME || !text_is_utf8(path, total, &bad)) {
        return "is no file name";
    }
    if (*path == '/') {
        return "is absolute";
    }
    for (const char *at = path; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f || *at == '\\' || begins_unseen(at)) {
            return "has a character that no file name should have";
        }
    }
    for (const char *part = path;; part++) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && part[0] == '.') ||
            (length == 2 && part[0] == '.' && part[1] == '.')) {
            return "leads out of its folder";
        }
        if (length > 200) {
            return "is too long";
        }
        if (ends_with(part, length, DOWNLOAD_PARTIAL) ||
            strncmp(part, DOWNLOAD_RECORD, strlen(DOWNLOAD_RECORD)) == 0) {
            return "is one that ocelli uses itself";
        }
        part += length;
        if (*part == '\0') {
            return NULL;
        }
    }
}

static bool read_size(const cJSON *object, uint64_t *out)
{
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(object, "size");
    if (!cJSON_IsNumber(size) || !(size->valuedouble >= 0) || size->valuedouble > MOST_FILE_BYTES) {
        return false;
    }
    *out = (uint64_t)size->valuedouble;
    return (double)*out == size->valuedouble;
}

/* digits: how many hexadecimal digits it must have. */
static bool read_hash(const cJSON *object, size_t digits, char out[DOWNLOAD_HASH_SIZE])
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "oid"));
    if (text == NULL || strlen(text) != digits || strspn(text, "0123456789abcdef") != digits) {
        return false;
    }
    memcpy(out, text, digits + 1);
    return true;
}

static bool add_file(remote_list *list, const char *path)
{
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 64 : list->room * 2;
        remote_file *larger = realloc(list->files, room * sizeof *larger);
        if (larger == NULL) {
            return false;
        }
        list->files = larger;
        list->room = room;
    }
    remote_file *file = &list->files[list->count];
    memset(file, 0, sizeof *file);
    file->path = text_copy(path);
    list->count += file->path != NULL;
    return file->path != NULL;
}

static int read_entry(const pull_hub *hub, const cJSON *entry, remote_list *list)
{
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "type"));
    const char *path = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "path"));
    const cJSON *lfs = cJSON_GetObjectItemCaseSensitive(entry, "lfs");
    if (type == NULL || path == NULL) {
        report_error("%s: the list of files has an entry without a type or a path",
                     hub->repository);
        return EXIT_FAILED;
    }
    const char *wrong = wrong_with(path);
    if (wrong != NULL) {
        report_error("%s: the name '%.200s' in the list of files %s; nothing is taken from there",
                     hub->repository, path, wrong);
        return EXIT_FAILED;
    }
    if (strcmp(type, "file") != 0) {
        return EXIT_DONE; /* a folder, whose files are in the list too */
    }
    if (list->count >= MOST_FILES) {
        report_error("%s: the list of files has more than %zu entries", hub->repository,
                     MOST_FILES);
        return EXIT_FAILED;
    }
    if (!add_file(list, path)) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    remote_file *file = &list->files[list->count - 1];
    uint64_t lfs_bytes = 0;
    bool large = cJSON_IsObject(lfs);
    file->kind = large ? PULL_SHA256 : PULL_GIT_BLOB;
    bool good = read_size(entry, &file->bytes) &&
                read_hash(large ? lfs : entry, large ? 64 : 40, file->hash) &&
                (!large || (read_size(lfs, &lfs_bytes) && lfs_bytes == file->bytes));
    if (!good) {
        report_error("%s: the list of files has no usable size and hash for '%.200s'",
                     hub->repository, path);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* ---- pages --------------------------------------------------------------------------------- */

static int read_page(const pull_hub *hub, const char *text, size_t length, remote_list *list)
{
    cJSON *tree = NULL;
    const cJSON *entry = NULL;
    int code = pull_hub_tree(hub, text, length, NULL, &tree);
    if (code != EXIT_DONE) {
        return code;
    }
    if (!cJSON_IsArray(tree)) {
        report_error("%s: what %s gives as the list of files is no JSON array", hub->repository,
                     hub->endpoint);
        code = EXIT_FAILED;
    } else {
        cJSON_ArrayForEach(entry, tree)
        {
            code = read_entry(hub, entry, list);
            if (code != EXIT_DONE) {
                break;
            }
        }
    }
    cJSON_Delete(tree);
    return code;
}

/* Into the order that pull_list_find takes; a name must not be there twice. */
static int sort_list(const pull_hub *hub, remote_list *list)
{
    if (list->count > 1) {
        qsort(list->files, list->count, sizeof *list->files, compare_paths);
    }
    for (size_t i = 1; i < list->count; i++) {
        if (strcmp(list->files[i - 1].path, list->files[i].path) == 0) {
            report_error("%s: the list of files names '%.200s' twice", hub->repository,
                         list->files[i].path);
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

int pull_list_read(pull_hub *hub, remote_list *out)
{
    char *url = pull_hub_list_url(hub);
    int code = url != NULL ? EXIT_DONE : EXIT_FAILED;
    for (int page = 0; code == EXIT_DONE && url != NULL; page++) {
        char *text = NULL, *next = NULL;
        size_t length = 0;
        if (page == MOST_PAGES) {
            report_error("%s: the list of files has more than %d pages", hub->repository,
                         MOST_PAGES);
            code = EXIT_FAILED;
            break;
        }
        code = pull_hub_text(hub, url, NULL, MOST_PAGE_BYTES, &text, &length, &next);
        if (code == EXIT_DONE) {
            code = read_page(hub, text, length, out);
        }
        free(text);
        if (code == EXIT_DONE && next != NULL && strcmp(next, url) == 0) {
            report_error("%s: the pages of the list of files lead in a circle", hub->repository);
            code = EXIT_FAILED;
        }
        free(url);
        url = next;
    }
    free(url);
    if (code == EXIT_DONE && out->count == 0) {
        report_error("%s has no files", hub->repository);
        code = EXIT_FAILED;
    }
    return code == EXIT_DONE ? sort_list(hub, out) : code;
}
