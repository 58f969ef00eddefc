/* folder_watch.c - see folder_watch.h.
 *
 * Linux tells when a file is closed or renamed (inotify), but not of everything: another machine's
 * files on a network disk, and files that were there before. So the folder is looked at now and then
 * as well, and a file that nobody spoke for is whole when it stays as it is for a while. */
#define _POSIX_C_SOURCE 200809L

#include "tools/folder_watch.h"
#include "tools/cli_options.h"
#include "tools/frames_folder.h"
#include "tools/interrupt.h"
#include "tools/picture_files.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif

#define SETTLED_AFTER 0.5 /* seconds without a change */
#define CLOSED_AFTER                                                                               \
    10.0                /* the same, of a file whose closing should be told: a hard link has none */
#define LOOK_AGAIN 2.0  /* seconds between two looks at the whole folder, beside events */
#define LOOK_OFTEN 0.25 /* the same without events */
#define TICK 0.1        /* seconds between two looks at files that are being written */

static int no_memory(void)
{
    report_error("no memory");
    return EXIT_FAILED;
}

/* ---- the two lists ------------------------------------------------------------------------- */

/* The place of name in a list in natural order, whose i-th name name_at gives; *found: it is there. */
static size_t place_of(const char *name, const void *list, size_t count,
                       const char *(*name_at)(const void *list, size_t index), bool *found)
{
    size_t low = 0, high = count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = natural_compare(name, name_at(list, middle));
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static const char *known_name(const void *list, size_t index)
{
    return ((char *const *)list)[index];
}

static const char *file_name(const void *list, size_t index)
{
    return ((const watched_file *)list)[index].name;
}

/* Room for one element more of size bytes; NULL: no memory. */
static void *grown(void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room) {
        return list;
    }
    size_t more = *room == 0 ? 64 : *room * 2;
    void *larger = more <= SIZE_MAX / size ? realloc(list, more * size) : NULL;
    if (larger != NULL) {
        *room = more;
    }
    return larger;
}

/* Takes files[index] out of the list; its name is the caller's. */
static char *remove_file(folder_watch *w, size_t index)
{
    char *name = w->files[index].name;
    w->file_count--;
    memmove(&w->files[index], &w->files[index + 1], (w->file_count - index) * sizeof *w->files);
    return name;
}

/* files[index] has been dealt with. *name: valid as long as the watch. */
static bool make_known(folder_watch *w, size_t index, const char **name)
{
    bool found = false;
    char **larger = grown(w->known, w->known_count, &w->known_room, sizeof *w->known);
    if (larger == NULL) {
        return false;
    }
    w->known = larger;
    char *own = remove_file(w, index);
    size_t at = place_of(own, w->known, w->known_count, known_name, &found);
    memmove(&w->known[at + 1], &w->known[at], (w->known_count - at) * sizeof *w->known);
    w->known[at] = own;
    w->known_count++;
    *name = own;
    return true;
}

/* A file of this name was seen; whole, opened: it is known to be. */
static bool note_file(folder_watch *w, const char *name, bool whole, bool opened)
{
    bool found = false;
    if (name[0] == '.') {
        return true;
    }
    place_of(name, w->known, w->known_count, known_name, &found);
    if (found) {
        return true;
    }
    size_t at = place_of(name, w->files, w->file_count, file_name, &found);
    if (!found) {
        watched_file *larger = grown(w->files, w->file_count, &w->file_room, sizeof *w->files);
        char *copy = text_copy(name);
        w->files = larger != NULL ? larger : w->files;
        if (larger == NULL || copy == NULL) {
            free(copy);
            return false;
        }
        memmove(&w->files[at + 1], &w->files[at], (w->file_count - at) * sizeof *w->files);
        w->files[at] = (watched_file){.name = copy, .size = -1};
        w->file_count++;
    }
    w->files[at].whole = w->files[at].whole || whole;
    w->files[at].open = (w->files[at].open || opened) && !whole;
    return true;
}

/* ---- what is there ------------------------------------------------------------------------- */

typedef enum file_state { FILE_GONE, FILE_GROWING, FILE_WHOLE } file_state;

static file_state state_of(watched_file *file, int folder)
{
    struct stat about;
    if (fstatat(folder, file->name, &about, 0) != 0) {
        return FILE_GONE;
    }
    if (file->whole) {
        return FILE_WHOLE;
    }
    int64_t changed = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
    double now = clock_seconds();
    if ((int64_t)about.st_size != file->size || changed != file->changed) {
        file->size = (int64_t)about.st_size;
        file->changed = changed;
        file->since = now;
        return FILE_GROWING;
    }
    double patience = file->open ? CLOSED_AFTER : SETTLED_AFTER;
    return now - file->since >= patience ? FILE_WHOLE : FILE_GROWING;
}

static int look(folder_watch *w)
{
    DIR *entries = opendir(w->folder);
    struct dirent *entry;
    bool good = true;
    if (entries == NULL) {
        report_error("cannot open folder '%s': %s", w->folder, strerror(errno));
        return EXIT_FAILED;
    }
    while (good && (entry = readdir(entries)) != NULL) {
        good = note_file(w, entry->d_name, false, false);
    }
    /* From here on each of them settles, not only when it is its turn. */
    for (size_t i = 0; i < w->file_count; i++) {
        if (w->files[i].size < 0) {
            (void)state_of(&w->files[i], dirfd(entries));
        }
    }
    closedir(entries);
    w->looked = clock_seconds();
    w->stale = false;
    return good ? EXIT_DONE : no_memory();
}

#ifdef __linux__
static int begin_events(const char *folder)
{
    int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (events >= 0 && inotify_add_watch(events, folder,
                                         IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE_SELF |
                                             IN_MOVE_SELF | IN_ONLYDIR) < 0) {
        close(events);
        events = -1;
    }
    return events;
}

static int take_events(folder_watch *w)
{
    char bytes[16384];
    ssize_t got;
    while (w->events >= 0 && (got = read(w->events, bytes, sizeof bytes)) > 0) {
        struct inotify_event event;
        for (size_t at = 0; at + sizeof event <= (size_t)got; at += sizeof event + event.len) {
            memcpy(&event, bytes + at, sizeof event);
            w->gone = w->gone || (event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0;
            w->stale = w->stale || (event.mask & IN_Q_OVERFLOW) != 0;
            bool whole = (event.mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0;
            if (event.len > 0 && (event.mask & IN_ISDIR) == 0 &&
                !note_file(w, bytes + at + sizeof event, whole, (event.mask & IN_CREATE) != 0)) {
                return no_memory();
            }
        }
    }
    return EXIT_DONE;
}
#else
static int begin_events(const char *folder)
{
    (void)folder;
    return -1;
}

static int take_events(folder_watch *w)
{
    (void)w;
    return EXIT_DONE;
}
#endif

int folder_watch_open(folder_watch *w, const char *folder)
{
    struct stat about;
    memset(w, 0, sizeof *w);
    w->folder = folder;
    w->events = -1;
    w->stale = true;
    if (stat(folder, &about) != 0) {
        report_error("cannot open folder '%s': %s", folder, strerror(errno));
        return EXIT_FAILED;
    }
    if (!S_ISDIR(about.st_mode)) {
        report_error("--follow needs a folder of frames, and '%s' is a file", folder);
        return EXIT_FAILED;
    }
    w->events = begin_events(folder); /* before the first look, so that nothing falls between */
    return EXIT_DONE;
}

void folder_watch_close(folder_watch *w)
{
    for (size_t i = 0; i < w->known_count; i++) {
        free(w->known[i]);
    }
    for (size_t i = 0; i < w->file_count; i++) {
        free(w->files[i].name);
    }
    free(w->known);
    free(w->files);
    free(w->last);
    if (w->events >= 0) {
        close(w->events);
    }
    memset(w, 0, sizeof *w);
    w->events = -1;
}

/* ---- the next one -------------------------------------------------------------------------- */

/* Deals with the files up to the first picture that is whole; a picture that grows holds up those
 * after it. *name NULL: none yet. */
static int pick(folder_watch *w, int folder, const char **name)
{
    *name = NULL;
    for (size_t i = 0; i < w->file_count;) {
        file_state state = state_of(&w->files[i], folder);
        if (state == FILE_GONE) {
            free(remove_file(w, i));
            continue;
        }
        bool picture = picture_is_file(folder, w->files[i].name);
        if (state == FILE_GROWING) {
            if (picture) {
                return EXIT_DONE;
            }
            i++; /* it may become one, but a log that always grows must not hold up frames */
            continue;
        }
        const char *own = NULL;
        if (!make_known(w, i, &own)) {
            return no_memory();
        }
        if (!picture) {
            continue;
        }
        if (w->last != NULL && natural_compare(own, w->last) < 0) {
            report_warning("frame '%s' left out: it came after '%s'", own, w->last);
            continue;
        }
        char *copy = text_copy(own);
        if (copy == NULL) {
            return no_memory();
        }
        free(w->last);
        w->last = copy;
        *name = own;
        return EXIT_DONE;
    }
    return EXIT_DONE;
}

/* Looks where it is time to, and picks. */
static int try_next(folder_watch *w, const char **name)
{
    double patience = w->events >= 0 ? LOOK_AGAIN : LOOK_OFTEN;
    *name = NULL;
    int code = take_events(w);
    if (code == EXIT_DONE && (w->stale || clock_seconds() - w->looked >= patience)) {
        code = look(w);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    int folder = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        report_error("cannot open folder '%s': %s", w->folder, strerror(errno));
        return EXIT_FAILED;
    }
    code = pick(w, folder, name);
    close(folder);
    return code;
}

int folder_watch_next(folder_watch *w, double idle, const char **name)
{
    double began = clock_seconds();
    for (;;) {
        int code = try_next(w, name);
        if (code != EXIT_DONE || *name != NULL) {
            return code;
        }
        if (w->gone) {
            report_error("folder '%s' is gone", w->folder);
            return EXIT_FAILED;
        }
        double now = clock_seconds();
        double wait = w->file_count > 0 ? TICK : w->events >= 0 ? LOOK_AGAIN : LOOK_OFTEN;
        if (idle > 0 && now - began >= idle) {
            return EXIT_DONE;
        }
        if (idle > 0 && began + idle - now < wait) {
            wait = began + idle - now;
        }
        struct pollfd watched = {.fd = w->events, .events = POLLIN};
        if (interrupt_poll(&watched, 1, (int)(wait * 1000) + 1) < 0) {
            return EXIT_INTERRUPTED;
        }
    }
}
