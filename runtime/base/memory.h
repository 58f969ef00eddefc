/* memory.h - every allocation of the library, and every product of sizes. */
#ifndef OC_BASE_MEMORY_H
#define OC_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64 bytes: a cache line, and the widest vector load of any kernel tier. */
enum { OC_ALIGNMENT = 64 };

/* False (and *out untouched) when the result does not fit size_t. */
bool oc_size_mul(size_t a, size_t b, size_t *out);
bool oc_size_add(size_t a, size_t b, size_t *out);
/* value up to a multiple of multiple; for sizes far from the end of size_t. */
static inline size_t oc_round_up(size_t value, size_t multiple)
{
    size_t more = value + multiple - 1;
    return more - more % multiple;
}

/* count x size bytes, zeroed, OC_ALIGNMENT aligned. NULL: overflow or no memory.
 * count or size 0 gives a valid pointer. Give back with oc_free. */
void *oc_alloc(size_t count, size_t size);

/* As oc_alloc, but NOT zeroed, for what is written before it is read: zeroing is a pass over memory
 * that costs as much as some products do. A block of some MiB stands in large pages where the system
 * has them, which spares the faults and the TLB. Give back with oc_free. */
void *oc_alloc_raw(size_t count, size_t size);

/* Grows an oc_alloc block from old_count to new_count items, new ones zeroed.
 * NULL leaves the old block as it was. old may be NULL. */
void *oc_grow(void *old, size_t old_count, size_t new_count, size_t size);

/* Accepts NULL. */
void oc_free(void *block);

/* The memory that this process can have, in bytes: the machine's, or what the control group it runs
 * in allows, if that is less. UINT64_MAX: not known. */
uint64_t oc_memory_limit(void);
/* What the file of a control group at path allows, if that is less than bytes; else bytes (no such
 * file, "max", or no number). */
uint64_t oc_memory_limit_of(const char *path, uint64_t bytes);

/* "226.4 GiB", or "12.5 MiB" of less than one GiB: for messages. */
enum { OC_BYTES_ROOM = 32 };
const char *oc_bytes_label(uint64_t bytes, char label[OC_BYTES_ROOM]);

/* Copies a string of length bytes and ends it with NUL. NULL: no memory. */
char *oc_strndup(const char *text, size_t length);
char *oc_strdup(const char *text);

#endif
