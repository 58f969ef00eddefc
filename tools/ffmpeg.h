/* ffmpeg.h - the programs ffprobe and ffmpeg as child processes: what both runs share.
 *
 * ocelli decodes no video itself. Files are named as "file:NAME" in an argument of its own, so that
 * no name is an option or an address; only local files are opened, and only as one of the listed
 * containers, because playlists and scripts would open other files.
 */
#ifndef OCELLI_TOOLS_FFMPEG_H
#define OCELLI_TOOLS_FFMPEG_H

#include "tools/child.h"

/* Told of every line of stderr but errors, without its newline and without "[info] ". */
typedef void (*ffmpeg_line_fn)(void *user, const char *line);

/* Start from zeros. */
typedef struct ffmpeg_process {
    child c;
    char line[2000]; /* of stderr, what has come of the present line */
    size_t line_used;
    char said[400]; /* the last error it told; "" if none */
    ffmpeg_line_fn on_line;
    void *user;
} ffmpeg_process;

/* Both programs are there; else a message that says how to do without, and EXIT_FAILED. */
int ffmpeg_check(const char *path);

/* "file:PATH", a new string; NULL: no memory. */
char *ffmpeg_file(const char *path);

/* text as execv wants it, which does not write to it. */
char *ffmpeg_argument(const char *text);

/* The containers that are opened, and the protocols, as ffmpeg has them. */
extern const char ffmpeg_formats[];
extern const char ffmpeg_protocols[];

/* argv ends with NULL and asks for "-loglevel level+info" or less. Returns an exit code. */
int ffmpeg_start(ffmpeg_process *p, char *const *argv, ffmpeg_line_fn on_line, void *user);

/* Bytes of its stdout, at most room, as they come; *got 0: it has ended. Lines of stderr that came
 * before them have been seen. Returns an exit code. */
int ffmpeg_read(ffmpeg_process *p, void *bytes, size_t room, size_t *got);

/* Sees the lines that have come and waits for none. */
int ffmpeg_hear(ffmpeg_process *p);

/* Ends it, by force if need be. True: it ended by itself and says that all went well. */
bool ffmpeg_end(ffmpeg_process *p);

#endif
