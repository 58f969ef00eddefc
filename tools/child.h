/* child.h - another program as a child process whose output is read over pipes: started without a
 * shell, read in a way that a signal can end at any moment, and never left behind.
 *
 * A child's stdin is empty. It is in a process group of its own, so that Ctrl-C reaches it through us
 * alone, and the kernel kills it should we be killed (where there is prctl; elsewhere it ends when it
 * writes to the pipe that is gone).
 */
#ifndef OCELLI_TOOLS_CHILD_H
#define OCELLI_TOOLS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Start from zeros: child_end on it does nothing. */
typedef struct child {
    bool running;
    pid_t pid;
    int out, err; /* reading ends of its stdout and stderr; -1 past their end */
} child;

/* There is a program of this name in PATH. */
bool child_is_installed(const char *program);

/* Starts argv[0], looked for in PATH; argv ends with NULL. Returns an exit code, with a message
 * unless EXIT_DONE. */
int child_start(child *c, char *const *argv);

/* Waits until there is something to read, and reads as much as is there: of stdout into bytes, of
 * stderr into text. *got and *said are the numbers of bytes; both 0: both have ended. Where room is 0
 * stdout is not read. Returns EXIT_DONE, EXIT_INTERRUPTED, or EXIT_FAILED after a message. */
int child_read(child *c, void *bytes, size_t room, size_t *got, char *text, size_t text_room,
               size_t *said);

/* Kills the child if it is still there, and waits for it. True: it had ended by itself, with exit
 * code 0. */
bool child_end(child *c);

#endif
