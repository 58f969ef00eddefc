/* batch_list.c - see batch_list.h. The walk keeps its own stack, so that no depth of folders is too
 * deep for it. */
#define _POSIX_C_SOURCE 200809L

#include "tools/batch_list.h"
#include "tools/frames_folder.h"
#include "tools/inputs.h"
#include "tools/interrupt.h"
#include "tools/picture_files.h"
#include "tools/report.h"
#include "tools/stable_hash.h"
#include "tools/text_bytes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int no_memory(void)
{
    report_error("no memory for the list of pictures");
    return EXIT_FAILED;
}

/* ---- items --------------------------------------------------------------------------------- */

/* Takes path and relative, also when it fails; problem is copied. False: no memory. */
static bool add(batch_list *list, char *path, char *relative, const char *problem)
{
    char *copy = problem != NULL ? text_copy(problem) : NULL;
    if (list->count == list->room) {
        size_t more = list->room == 0 ? 256 : list->room * 2;
        batch_item *larger =
            more <= SIZE_MAX / sizeof *larger ? realloc(list->items, more * sizeof *larger) : NULL;
        if (larger != NULL) {
            list->items = larger;
            list->room = more;
        }
    }
    if (list->count == list->room || path == NULL || relative == NULL ||
        (problem != NULL && copy == NULL)) {
        free(path);
        free(relative);
        free(copy);
        return false;
    }
    list->items[list->count++] = (batch_item){path, relative, copy};
    return true;
}

void batch_list_free(batch_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].path);
        free(list->items[i].relative);
        free(list->items[i].problem);
    }
    free(list->items);
    memset(list, 0, sizeof *list);
}

/* ---- a growing list of names --------------------------------------------------------------- */

typedef struct names {
    char **items; /* [count], owned */
    size_t count, room;
} names;

/* Takes name. */
static bool names_add(names *list, char *name)
{
    if (name != NULL && list->count == list->room) {
        size_t more = list->room == 0 ? 64 : list->room * 2;
        char **larger =
            more <= SIZE_MAX / sizeof *larger ? realloc(list->items, more * sizeof *larger) : NULL;
        if (larger != NULL) {
            list->items = larger;
            list->room = more;
        }
    }
    if (name == NULL || list->count == list->room) {
        free(name);
        return false;
    }
    list->items[list->count++] = name;
    return true;
}

static void names_free(names *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i]);
    }
    free(list->items);
    memset(list, 0, sizeof *list);
}

static int compare_names(const void *a, const void *b)
{
    return natural_compare(*(char *const *)a, *(char *const *)b);
}

static void names_sort(names *list)
{
    if (list->count > 1) {
        qsort(list->items, list->count, sizeof list->items[0], compare_names);
    }
}

/* ---- folders that were met ----------------------------------------------------------------- */

typedef struct folder_id {
    bool used;
    dev_t device;
    ino_t inode;
} folder_id;

typedef struct folder_set {
    folder_id *slots; /* [room], room a power of two */
    size_t count, room;
} folder_set;

static folder_id *set_slot(const folder_set *set, dev_t device, ino_t inode)
{
    uint64_t hash = stable_mix((uint64_t)inode ^ stable_mix((uint64_t)device));
    size_t at = (size_t)hash & (set->room - 1);
    while (set->slots[at].used &&
           (set->slots[at].device != device || set->slots[at].inode != inode)) {
        at = (at + 1) & (set->room - 1);
    }
    return &set->slots[at];
}

/* *met: it was there before. False: no memory. */
static bool set_meet(folder_set *set, dev_t device, ino_t inode, bool *met)
{
    if (set->count * 2 >= set->room) {
        folder_set larger = {NULL, set->count, set->room == 0 ? 64 : set->room * 2};
        larger.slots = calloc(larger.room, sizeof *larger.slots);
        if (larger.slots == NULL) {
            return false;
        }
        for (size_t i = 0; i < set->room; i++) {
            if (set->slots[i].used) {
                *set_slot(&larger, set->slots[i].device, set->slots[i].inode) = set->slots[i];
            }
        }
        free(set->slots);
        *set = larger;
    }
    folder_id *slot = set_slot(set, device, inode);
    *met = slot->used;
    if (!slot->used) {
        *slot = (folder_id){true, device, inode};
        set->count++;
    }
    return true;
}

/* ---- the walk ------------------------------------------------------------------------------ */

/* "RELATIVE/NAME", or NAME where relative is empty. */
static char *below(const char *relative, const char *name)
{
    return *relative == '\0' ? text_copy(name) : folder_path(relative, name);
}

/* A caption, or what tells about one: nobody wonders that it is no picture. */
static bool is_text_of_ours(const batch_list *list, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < 2; i++) {
        size_t ending = list->endings[i] != NULL ? strlen(list->endings[i]) : 0;
        if (ending > 0 && length > ending &&
            strcmp(name + length - ending, list->endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Sorts the entries of the open folder into files and folders. False: no memory. An error of reading
 * is left in *error. */
static bool read_entries(batch_list *list, DIR *entries, names *files, names *folders, int *error)
{
    int folder = dirfd(entries);
    for (;;) {
        struct stat about;
        errno = 0;
        struct dirent *entry = readdir(entries);
        if (entry == NULL) {
            *error = errno;
            return true;
        }
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (fstatat(folder, entry->d_name, &about, 0) == 0 && S_ISDIR(about.st_mode)) {
            if (!names_add(folders, text_copy(entry->d_name))) {
                return false;
            }
        } else if (!picture_is_file(folder, entry->d_name)) {
            list->ignored += !is_text_of_ours(list, entry->d_name);
        } else if (!names_add(files, text_copy(entry->d_name))) {
            return false;
        }
    }
}

/* Adds the pictures of one folder, and its sub folders to those that wait. */
static bool walk_one(batch_list *list, const char *top, const char *relative, folder_set *met,
                     names *waiting)
{
    names files = {NULL, 0, 0};
    names folders = {NULL, 0, 0};
    struct stat about;
    int error = 0;
    bool again = false;
    bool good = true;
    char problem[400];
    char *path = *relative == '\0' ? text_copy(top) : folder_path(top, relative);
    DIR *entries = path != NULL ? opendir(path) : NULL;
    if (path == NULL) {
        return false;
    }
    if (entries == NULL || fstat(dirfd(entries), &about) != 0) {
        error = errno;
    } else {
        good = set_meet(met, about.st_dev, about.st_ino, &again);
        if (good && !again) {
            good = read_entries(list, entries, &files, &folders, &error);
        }
    }
    if (error != 0) {
        snprintf(problem, sizeof problem, "cannot read the folder: %s", strerror(error));
        good = good && add(list, text_copy(path), below(relative, ""), problem);
    }
    names_sort(&files);
    names_sort(&folders);
    for (size_t i = 0; good && i < files.count; i++) {
        good = add(list, folder_path(path, files.items[i]), below(relative, files.items[i]), NULL);
    }
    for (size_t i = folders.count; good && i > 0; i--) { /* the first shall be taken first */
        good = names_add(waiting, below(relative, folders.items[i - 1]));
    }
    if (entries != NULL) {
        closedir(entries);
    }
    names_free(&files);
    names_free(&folders);
    free(path);
    return good;
}

static bool walk(batch_list *list, const char *folder, folder_set *met)
{
    names waiting = {NULL, 0, 0}; /* relative paths; the last is the next */
    bool good = names_add(&waiting, text_copy(""));
    while (good && waiting.count > 0 && !interrupt_pending()) {
        char *relative = waiting.items[--waiting.count];
        good = walk_one(list, folder, relative, met, &waiting);
        free(relative);
    }
    names_free(&waiting);
    return good;
}

int batch_list_walk(batch_list *list, const char *folder)
{
    folder_set met = {NULL, 0, 0};
    bool good = walk(list, folder, &met);
    free(met.slots);
    return good ? EXIT_DONE : no_memory();
}

/* ---- operands and lists -------------------------------------------------------------------- */

bool batch_is_folder(const char *operand)
{
    struct stat about;
    return stat(operand, &about) == 0 && S_ISDIR(about.st_mode);
}

bool batch_is_pattern(const char *operand)
{
    struct stat about;
    return strpbrk(operand, "*?[") != NULL && lstat(operand, &about) != 0;
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* A folder or a picture; named: on the command line, not in a list. */
static bool add_path(batch_list *list, const char *path, bool named, folder_set *met)
{
    char problem[512];
    if (batch_is_folder(path)) {
        return walk(list, path, met);
    }
    bool wrong = input_refused(path, problem, sizeof problem);
    return add(list, text_copy(path), text_copy(named ? last_component(path) : path),
               wrong ? problem : NULL);
}

static int add_pattern(batch_list *list, const char *pattern, folder_set *met)
{
    names found = {NULL, 0, 0};
    glob_t matches;
    int code = EXIT_DONE;
    int error = glob(pattern, GLOB_NOSORT, NULL, &matches);
    if (error == GLOB_NOMATCH) {
        report_error("no file matches '%s'", pattern);
        return EXIT_FAILED;
    }
    if (error != 0) {
        report_error("cannot expand '%s': %s", pattern,
                     error == GLOB_NOSPACE ? "no memory" : "a folder cannot be read");
        return EXIT_FAILED;
    }
    for (size_t i = 0; code == EXIT_DONE && i < matches.gl_pathc; i++) {
        code = names_add(&found, text_copy(matches.gl_pathv[i])) ? EXIT_DONE : no_memory();
    }
    globfree(&matches);
    names_sort(&found);
    for (size_t i = 0; code == EXIT_DONE && i < found.count; i++) {
        /* 'photos/' + '*' finds the captions too; what was not named is asked what it is. */
        if (!batch_is_folder(found.items[i]) && !picture_is_file(AT_FDCWD, found.items[i])) {
            list->ignored += !is_text_of_ours(list, found.items[i]);
        } else if (!add_path(list, found.items[i], true, met)) {
            code = no_memory();
        }
    }
    names_free(&found);
    return code;
}

/* The paths of bytes [size], which end with end; empty ones are none. */
static int add_lines(batch_list *list, const cli_options *options, char *bytes, size_t size,
                     folder_set *met)
{
    char end = options->null_ends ? '\0' : '\n';
    for (size_t at = 0; at < size;) {
        char *stop = memchr(bytes + at, end, size - at);
        size_t length = stop != NULL ? (size_t)(stop - (bytes + at)) : size - at;
        if (memchr(bytes + at, '\0', length) != NULL) {
            report_error("'%s' holds NUL bytes; paths that end with NUL need --null",
                         options->files_from);
            return EXIT_FAILED;
        }
        bytes[at + length] = '\0'; /* there is one byte of room past size */
        if (length > 0 && !add_path(list, bytes + at, false, met)) {
            return no_memory();
        }
        at += length + 1;
    }
    return EXIT_DONE;
}

static int add_list(batch_list *list, const cli_options *options, folder_set *met)
{
    char *bytes = NULL;
    size_t size = 0;
    int code = input_read_file(options->files_from, "--files-from", &bytes, &size);
    if (code == EXIT_DONE) {
        code = add_lines(list, options, bytes, size, met);
    }
    free(bytes);
    return code;
}

int batch_list_make(batch_list *list, const cli_options *options)
{
    folder_set met = {NULL, 0, 0};
    int code = EXIT_DONE;
    memset(list, 0, sizeof *list);
    list->endings[0] = options->ext;
    list->endings[1] = options->tags_ext;
    for (size_t i = 0; code == EXIT_DONE && i < options->operand_count; i++) {
        const char *operand = options->operands[i];
        if (batch_is_pattern(operand)) {
            code = add_pattern(list, operand, &met);
        } else if (!add_path(list, operand, true, &met)) {
            code = no_memory();
        }
    }
    if (code == EXIT_DONE && options->files_from != NULL) {
        code = add_list(list, options, &met);
    }
    free(met.slots);
    return code == EXIT_DONE && interrupt_pending() ? EXIT_INTERRUPTED : code;
}
