/* batch_names.c - see batch_names.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/batch_names.h"
#include "tools/frames_folder.h"
#include "tools/picture_files.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static int no_memory(void)
{
    report_error("no memory for the names of captions");
    return EXIT_FAILED;
}

/* ---- paths --------------------------------------------------------------------------------- */

/* Copies the components of path; up: ".." among them too. */
static char *components(const char *path, bool rooted, bool up)
{
    char *out = malloc(strlen(path) + 2);
    size_t used = 0;
    if (out == NULL) {
        return NULL;
    }
    if (rooted && *path == '/') {
        out[used++] = '/';
    }
    while (*path != '\0') {
        size_t length = strcspn(path, "/");
        bool dot = length == 1 && path[0] == '.';
        bool dots = length == 2 && path[0] == '.' && path[1] == '.';
        if (length > 0 && !dot && (up || !dots)) {
            if (used > 0 && out[used - 1] != '/') {
                out[used++] = '/';
            }
            memcpy(out + used, path, length);
            used += length;
        }
        path += length + (path[length] == '/');
    }
    if (used == 0) {
        out[used++] = '.';
    }
    out[used] = '\0';
    return out;
}

char *path_clean(const char *path)
{
    return components(path, true, true);
}

size_t name_stem(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name);
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

char *path_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *out = text_copy(slash == NULL ? "." : slash == path ? "/" : path);
    if (out != NULL && slash != NULL && slash != path) {
        out[slash - path] = '\0';
    }
    return out;
}

/* ---- once each ----------------------------------------------------------------------------- */

typedef struct place {
    char *path;   /* cleaned; owned */
    size_t index; /* of the item */
} place;

/* By folder, then by name, then by index: a folder's pictures stand together. */
static int compare_places(const void *a, const void *b)
{
    const place *one = a;
    const place *two = b;
    size_t one_folder = (size_t)(path_name(one->path) - one->path);
    size_t two_folder = (size_t)(path_name(two->path) - two->path);
    size_t least = one_folder < two_folder ? one_folder : two_folder;
    int order = memcmp(one->path, two->path, least);
    if (order == 0 && one_folder != two_folder) {
        order = one_folder < two_folder ? -1 : 1;
    }
    if (order == 0) {
        order = strcmp(one->path + one_folder, two->path + two_folder);
    }
    return order != 0 ? order : one->index < two->index ? -1 : one->index > two->index;
}

static void free_places(place *places, size_t count)
{
    for (size_t i = 0; places != NULL && i < count; i++) {
        free(places[i].path);
    }
    free(places);
}

/* Cleaned paths in order; names [count] or NULL for the items' own. NULL: no memory. */
static place *sort_places(const batch_list *list, char *const *names, size_t *count)
{
    place *places = calloc(list->count + 1, sizeof *places);
    *count = 0;
    for (size_t i = 0; places != NULL && i < list->count; i++) {
        const char *path = names != NULL ? names[i] : list->items[i].path;
        if (path == NULL) {
            continue;
        }
        places[*count] = (place){path_clean(path), i};
        if (places[*count].path == NULL) {
            free_places(places, *count);
            return NULL;
        }
        ++*count;
    }
    if (places != NULL && *count > 1) {
        qsort(places, *count, sizeof *places, compare_places);
    }
    return places;
}

int batch_names_unique(batch_list *list)
{
    size_t count = 0;
    place *places = sort_places(list, NULL, &count);
    bool *again = calloc(list->count + 1, sizeof *again);
    if (places == NULL || again == NULL) {
        free_places(places, count);
        free(again);
        return no_memory();
    }
    for (size_t i = 1; i < count; i++) {
        again[places[i].index] = strcmp(places[i].path, places[i - 1].path) == 0;
    }
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (again[i]) {
            free(list->items[i].path);
            free(list->items[i].relative);
            free(list->items[i].problem);
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
    free_places(places, count);
    free(again);
    return EXIT_DONE;
}

/* ---- the pictures of a folder -------------------------------------------------------------- */

typedef struct folder {
    int descriptor; /* -1: it cannot be read, and is taken as empty */
    char **names;   /* [count] all but hidden ones, by stem without regard to case */
    size_t count, room;
} folder;

static int compare_stems(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = strncasecmp(a, b, a_length < b_length ? a_length : b_length);
    return order != 0 ? order : a_length < b_length ? -1 : a_length > b_length;
}

static int compare_entries(const void *a, const void *b)
{
    const char *one = *(char *const *)a;
    const char *two = *(char *const *)b;
    return compare_stems(one, name_stem(one), two, name_stem(two));
}

static void folder_close(folder *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->names[i]);
    }
    free(f->names);
    if (f->descriptor >= 0) {
        close(f->descriptor);
    }
    memset(f, 0, sizeof *f);
    f->descriptor = -1;
}

/* False: no memory. */
static bool folder_open(folder *f, const char *path)
{
    memset(f, 0, sizeof *f);
    f->descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int copy = f->descriptor >= 0 ? dup(f->descriptor) : -1;
    DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
    if (entries == NULL) {
        if (copy >= 0) {
            close(copy);
        }
        return true;
    }
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (f->count == f->room) {
            size_t more = f->room == 0 ? 128 : f->room * 2;
            char **larger =
                more <= SIZE_MAX / sizeof *larger ? realloc(f->names, more * sizeof *larger) : NULL;
            if (larger == NULL) {
                closedir(entries);
                return false;
            }
            f->names = larger;
            f->room = more;
        }
        f->names[f->count] = text_copy(entry->d_name);
        if (f->names[f->count] == NULL) {
            closedir(entries);
            return false;
        }
        f->count++;
    }
    closedir(entries);
    if (f->count > 1) {
        qsort(f->names, f->count, sizeof f->names[0], compare_entries);
    }
    return true;
}

/* The first entry whose stem is stem [length]; f->count if there is none. */
static size_t find_stem(const folder *f, const char *stem, size_t length)
{
    size_t low = 0, high = f->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *name = f->names[middle];
        if (compare_stems(name, name_stem(name), stem, length) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A picture other than not (may be NULL) whose stem is stem [length]; whole: whose whole name is. */
static bool has_picture(const folder *f, const char *stem, size_t length, bool whole,
                        const char *not_this)
{
    char *text = text_copy(stem);
    if (text == NULL) {
        return true; /* the longer name is never wrong */
    }
    text[length] = '\0';
    size_t searched = whole ? name_stem(text) : length;
    bool found = false;
    for (size_t i = find_stem(f, text, searched); !found && i < f->count; i++) {
        const char *name = f->names[i];
        if (compare_stems(name, name_stem(name), text, searched) != 0) {
            break;
        }
        found = (!whole || strcasecmp(name, text) == 0) &&
                (not_this == NULL || strcmp(name, not_this) != 0) &&
                picture_is_file(f->descriptor, name);
    }
    free(text);
    return found;
}

/* ---- sidecars ------------------------------------------------------------------------------ */

static char *join3(const char *a, size_t a_length, const char *b, const char *c)
{
    size_t b_length = strlen(b), c_size = strlen(c) + 1;
    char *out = malloc(a_length + b_length + c_size);
    if (out != NULL) {
        memcpy(out, a, a_length);
        memcpy(out + a_length, b, b_length);
        memcpy(out + a_length + b_length, c, c_size);
    }
    return out;
}

/* The name of the caption of the picture name; NULL: no memory. */
static char *choose_name(const folder *f, const char *name, const char *ext, bool *whole)
{
    size_t stem = name_stem(name);
    char *brief = join3(name, stem, "", ext);
    *whole = stem == strlen(name) ? false : has_picture(f, name, stem, false, name);
    *whole = *whole || (brief != NULL && (has_picture(f, name, stem, true, name) ||
                                          has_picture(f, brief, strlen(brief), true, NULL)));
    if (brief == NULL || !*whole) {
        return brief;
    }
    free(brief);
    return join3(name, strlen(name), "", ext);
}

/* The folder of the picture's caption, a new string. */
static char *choose_folder(const batch_item *item, const char *out_dir)
{
    if (out_dir == NULL) {
        return path_folder(item->path);
    }
    char *before = path_folder(item->relative);
    char *inside = before != NULL ? components(before, false, false) : NULL;
    char *out = inside == NULL             ? NULL
                : strcmp(inside, ".") == 0 ? text_copy(out_dir)
                                           : folder_path(out_dir, inside);
    free(before);
    free(inside);
    return out;
}

/* False: no memory. */
static bool name_one(batch_item *item, const folder *f, const cli_options *options, char **sidecar,
                     size_t *doubled)
{
    static const char problem[] = "its caption would have the name of a picture; choose another "
                                  "--ext";
    const char *name = path_name(item->path);
    bool whole = false;
    char *chosen = choose_name(f, name, options->ext, &whole);
    char *inside = choose_folder(item, options->out_dir);
    bool replaces = chosen != NULL && has_picture(f, chosen, strlen(chosen), true, NULL);
    if (chosen != NULL && inside != NULL && replaces) {
        item->problem = text_copy(problem);
    } else if (chosen != NULL && inside != NULL) {
        *sidecar = strcmp(inside, ".") == 0 && strchr(item->path, '/') == NULL && !options->out_dir
                       ? text_copy(chosen)
                       : folder_path(inside, chosen);
        *doubled += whole;
    }
    free(chosen);
    free(inside);
    return *sidecar != NULL || item->problem != NULL;
}

/* Two captions in one place: only --out-dir can bring them there. */
static int check_places(const batch_list *list, char *const *sidecars)
{
    size_t count = 0;
    int code = EXIT_DONE;
    place *places = sort_places(list, sidecars, &count);
    if (places == NULL) {
        return no_memory();
    }
    for (size_t i = 1; code == EXIT_DONE && i < count; i++) {
        if (strcmp(places[i].path, places[i - 1].path) == 0) {
            report_error("the captions of '%.300s' and '%.300s' would both be '%.300s'; caption "
                         "them one after the other, each with an --out-dir of its own",
                         list->items[places[i - 1].index].path, list->items[places[i].index].path,
                         places[i].path);
            code = EXIT_FAILED;
        }
    }
    free_places(places, count);
    return code;
}

int batch_names_sidecars(batch_list *list, const cli_options *options, char **sidecars,
                         size_t *doubled)
{
    size_t count = 0;
    folder f = {.descriptor = -1};
    char *open_folder = NULL;
    bool good = true;
    *doubled = 0;
    place *places = sort_places(list, NULL, &count);
    if (places == NULL) {
        return no_memory();
    }
    for (size_t i = 0; good && i < count; i++) {
        batch_item *item = &list->items[places[i].index];
        if (item->problem != NULL) {
            continue;
        }
        char *here = path_folder(places[i].path);
        good = here != NULL;
        if (good && (open_folder == NULL || strcmp(open_folder, here) != 0)) {
            folder_close(&f);
            good = folder_open(&f, here);
            free(open_folder);
            open_folder = here;
        } else {
            free(here);
        }
        good = good && name_one(item, &f, options, &sidecars[places[i].index], doubled);
    }
    folder_close(&f);
    free(open_folder);
    free_places(places, count);
    return good ? check_places(list, sidecars) : no_memory();
}
