/* interrupt.h - SIGINT, SIGTERM and SIGHUP as a flag that work in progress looks at.
 *
 * The first signal raises the flag; callbacks of the library see it and stop the work. Between two of
 * them may be more than a second (a block of the vision tower over a very large picture), so a timer
 * ends the program if it has not ended by itself. The second signal ends it at once.
 */
#ifndef OCELLI_TOOLS_INTERRUPT_H
#define OCELLI_TOOLS_INTERRUPT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* Installs the handlers; SIGPIPE and SIGXFSZ become errors of write. */
void interrupt_setup(void);

/* Seconds from the first signal to the end by force; 0: never. At the start 1. */
void interrupt_patience(unsigned seconds);

bool interrupt_pending(void);
/* The pending signal asks the program to end, not only what it is doing (SIGTERM, SIGHUP). */
bool interrupt_is_final(void);
/* Forgets the signal: a conversation goes on. */
void interrupt_clear(void);

/* Waits until descriptor has something to read, or has ended. False once a signal is pending, however
 * shortly before the call it came and whichever thread it came to. */
bool interrupt_wait(int descriptor);

/* The same for several descriptors, at most INTERRUPT_MOST_WATCHED, as poll(2) has them: how many
 * are ready; 0 after so many milliseconds (-1: never); -1 once a signal is pending. */
#define INTERRUPT_MOST_WATCHED 3
int interrupt_poll(struct pollfd *watched, size_t count, int milliseconds);

/* Tells that stdout is in the middle of a line, which a forced end then finishes. */
void interrupt_line_open(bool is_open);

#endif
