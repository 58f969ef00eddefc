/* interrupt.h - SIGINT, SIGTERM and SIGHUP as a flag that work in progress looks at.
 *
 * The first signal raises the flag; callbacks of the library see it and stop the work. Some work has
 * no callback (the vision tower), so a timer ends the program if it has not ended by itself. The
 * second signal ends it at once.
 */
#ifndef OCELLI_TOOLS_INTERRUPT_H
#define OCELLI_TOOLS_INTERRUPT_H

#include <stdbool.h>

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

/* Tells that stdout is in the middle of a line, which a forced end then finishes. */
void interrupt_line_open(bool is_open);

#endif
