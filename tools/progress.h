/* progress.h - how far long work has come, drawn on a terminal,
 * and the place where it is stopped. */
#ifndef OCELLI_TOOLS_PROGRESS_H
#define OCELLI_TOOLS_PROGRESS_H

#include <stdint.h>

/* An ocelli_progress_fn: draws at most ten times a second, nothing unless stderr is a terminal and
 * the program may talk. Nonzero once a signal is pending, which stops the work. */
int progress_show(void *user, const char *what, uint64_t done, uint64_t total);
/* Wipes the line. */
void progress_end(void);

/* The same for work made of such work: until progress_overall_end the parts draw nothing. */
int progress_overall(const char *what, uint64_t done, uint64_t total);
void progress_overall_end(void);

/* For what comes over a network: done of total bytes with their rate and the time left, which
 * follow from received, the bytes that have come in this run. progress_end wipes it. */
void progress_transfer(const char *what, uint64_t done, uint64_t total, uint64_t received);

/* For many pieces of work one after the other: done of total with their rate and the time left, which
 * follow from fresh, those done in this run, over seconds. Until progress_overall_end the parts draw
 * nothing. */
int progress_pieces(const char *what, uint64_t done, uint64_t total, uint64_t fresh,
                    double seconds);

/* Seconds of a clock that never goes back. */
double clock_seconds(void);

#endif
