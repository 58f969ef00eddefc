/* visual_cache.h - what was encoded before, in memory and on disk. Its public face is in ocelli.h;
 * visual_encode.c is the only one who asks it. */
#ifndef OC_VISUAL_CACHE_H
#define OC_VISUAL_CACHE_H

#include "runtime/visual_key.h"

/* Whether keys must mean the same in other processes. */
bool oc_visual_cache_is_lasting(const ocelli_visual_cache *cache);

/* The rows of key, the caller's to release, and where they were; NULL: nowhere. Rows from the disk
 * are kept in memory from then on. */
oc_visual_rows *oc_visual_cache_find(ocelli_visual_cache *cache, const oc_visual_key *key,
                                     ocelli_visual_hit *hit);
/* Keeps rows that were just made, in memory and on disk. Want of room is no error. */
void oc_visual_cache_keep(ocelli_visual_cache *cache, const oc_visual_key *key,
                          oc_visual_rows *rows);

#endif
