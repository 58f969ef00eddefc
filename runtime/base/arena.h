/* arena.h - scratch memory of a forward pass: taken in order, given back at once.
 *
 * A dry arena hands out NULL and only counts, so the code that takes scratch
 * also tells how much it will take: the estimate and the use cannot drift. */
#ifndef OC_BASE_ARENA_H
#define OC_BASE_ARENA_H

#include "runtime/base/status.h"

#include <stdbool.h>

typedef struct oc_arena {
    unsigned char *base; /* NULL in a dry arena */
    size_t capacity;     /* bytes behind base */
    size_t used;         /* bytes taken now */
    size_t peak;         /* most bytes ever taken */
    bool dry;
    bool overflow; /* a take did not fit; every later take is NULL too */
} oc_arena;

/* A counting arena: peak is the answer. */
oc_arena oc_arena_dry(void);

/* Makes the arena hold at least bytes; contents are lost. Keeps a larger block. On failure it holds
 * nothing. */
ocelli_status oc_arena_reserve(oc_arena *arena, size_t bytes, const char *what, ocelli_error *err);
void oc_arena_close(oc_arena *arena);

/* count x size bytes, OC_ALIGNMENT aligned, NOT zeroed. NULL when dry or when
 * it does not fit (then arena->overflow is set). */
void *oc_arena_take(oc_arena *arena, size_t count, size_t size);

/* mark and release give back everything taken in between. */
size_t oc_arena_mark(const oc_arena *arena);
void oc_arena_release(oc_arena *arena, size_t mark);

#endif
