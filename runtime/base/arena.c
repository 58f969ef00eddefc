/* arena.c - see arena.h. */
#include "runtime/base/arena.h"

#include "runtime/base/memory.h"

#include <string.h>

oc_arena oc_arena_dry(void)
{
    return (oc_arena){.dry = true};
}

ocelli_status oc_arena_reserve(oc_arena *arena, size_t bytes, const char *what, ocelli_error *err)
{
    if (bytes > arena->capacity) {
        oc_arena_close(arena); /* first: both at once would be the peak of all memory */
        arena->base = oc_alloc_raw(bytes, 1);
        if (arena->base == NULL) {
            return oc_fail(err, OCELLI_E_MEMORY, "not enough memory for %s: %zu bytes", what,
                           bytes);
        }
        arena->capacity = bytes;
    }
    arena->used = 0;
    arena->overflow = false;
    return OCELLI_OK;
}

void oc_arena_close(oc_arena *arena)
{
    oc_free(arena->base);
    memset(arena, 0, sizeof *arena);
}

void *oc_arena_take(oc_arena *arena, size_t count, size_t size)
{
    size_t bytes, end;
    if (arena->overflow || !oc_size_mul(count, size, &bytes) ||
        !oc_size_add(bytes, OC_ALIGNMENT - 1, &bytes)) {
        arena->overflow = true;
        return NULL;
    }
    bytes &= ~(size_t)(OC_ALIGNMENT - 1);
    if (!oc_size_add(arena->used, bytes, &end) || (!arena->dry && end > arena->capacity)) {
        arena->overflow = true;
        return NULL;
    }
    void *block = arena->base != NULL ? arena->base + arena->used : NULL;
    arena->used = end;
    if (end > arena->peak) {
        arena->peak = end;
    }
    return block;
}

size_t oc_arena_mark(const oc_arena *arena)
{
    return arena->used;
}

void oc_arena_release(oc_arena *arena, size_t mark)
{
    arena->used = mark;
}
