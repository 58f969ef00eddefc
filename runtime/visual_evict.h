/* visual_evict.h - keeps a cache directory within its bound. */
#ifndef OC_VISUAL_EVICT_H
#define OC_VISUAL_EVICT_H

#include <stdbool.h>
#include <stdint.h>

/* Removes entries of the directory folder, the longest unused first, until all that stay, those that
 * are being written included, take at most `most` bytes. Parts that have not been written to for a
 * quarter of an hour are of processes that were killed, and go in any case. False, with errno: the
 * directory cannot be read, or no memory. Several may do this at once. */
bool oc_visual_evict(int folder, uint64_t most);

#endif
