/* folder_watch.h - the pictures of a folder that grows, one after another as they become whole. */
#ifndef OCELLI_TOOLS_FOLDER_WATCH_H
#define OCELLI_TOOLS_FOLDER_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that is there and has not been dealt with. */
typedef struct watched_file {
    char *name;
    int64_t size, changed; /* as last seen: bytes, nanoseconds of its last change */
    double since;          /* when they were first seen so, on the clock of clock_seconds */
    bool whole;            /* it has been closed after writing, or renamed into the folder */
    bool open;             /* it was seen to be made: that it is closed will be told */
} watched_file;

typedef struct folder_watch {
    const char *folder;
    int events;    /* of inotify; -1: there are none, and the folder is looked at often */
    bool gone;     /* the folder has been removed or renamed */
    bool stale;    /* events were lost: look at the whole folder */
    double looked; /* when the whole folder was looked at last */
    char **known;  /* [known_count] files that were dealt with, in natural order */
    size_t known_count, known_room;
    watched_file *files; /* [file_count] the others, in natural order */
    size_t file_count, file_room;
    char *last; /* the name given last; NULL: none */
} folder_watch;

/* folder must last as long as the watch. Returns an exit code, with a message unless EXIT_DONE. */
int folder_watch_open(folder_watch *w, const char *folder);

/* Waits for the next picture, in natural order, that is whole: closed by its writer, renamed into the
 * folder, or, where the system does not tell of that, unchanged for half a second since the folder was
 * looked at. One whose name comes before the one given last is reported and left out. *name is valid until the next call; NULL: nothing came for idle seconds (0: waits for
 * ever). Returns an exit code. */
int folder_watch_next(folder_watch *w, double idle, const char **name);

void folder_watch_close(folder_watch *w);

#endif
