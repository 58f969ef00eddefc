/* failing_malloc.h - a malloc that fails on purpose, for the whole program: also for the libraries it
 * is linked to. Of glibc only. */
#ifndef OC_TEST_FAILING_MALLOC_H
#define OC_TEST_FAILING_MALLOC_H

#include <stdbool.h>

/* From now on the nth allocation (1: the next) fails; sticky: and all after it. 0: none fails. */
void failing_malloc_arm(long nth, bool sticky);
/* Ends that; returns how many allocations were asked for since arm. */
long failing_malloc_disarm(void);
/* Blocks that are allocated now. */
long failing_malloc_blocks(void);

#endif
