/* memory.c - see memory.h. */
#define _DEFAULT_SOURCE /* madvise, _SC_PHYS_PAGES */
#include "runtime/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t LARGE_PAGE = (size_t)2 << 20;

bool oc_size_mul(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b) {
        return false;
    }
    *out = a * b;
    return true;
}

bool oc_size_add(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b) {
        return false;
    }
    *out = a + b;
    return true;
}

/* count x size, at least 1, rounded up to whole alignments; false: larger than any object may be. */
static bool block_bytes(size_t count, size_t size, size_t alignment, size_t *out)
{
    size_t bytes;
    if (!oc_size_mul(count, size, &bytes) ||
        !oc_size_add(bytes > 0 ? bytes : 1, alignment - 1, &bytes) || bytes > PTRDIFF_MAX) {
        return false;
    }
    *out = bytes & ~(alignment - 1);
    return true;
}

void *oc_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (!block_bytes(count, size, OC_ALIGNMENT, &bytes)) {
        return NULL;
    }
    void *block = aligned_alloc(OC_ALIGNMENT, bytes);
    if (block != NULL) {
        memset(block, 0, bytes);
    }
    return block;
}

void *oc_alloc_raw(size_t count, size_t size)
{
    size_t bytes;
    if (!block_bytes(count, size, OC_ALIGNMENT, &bytes)) {
        return NULL;
    }
    if (bytes < 2 * LARGE_PAGE || !block_bytes(bytes, 1, LARGE_PAGE, &bytes)) {
        return aligned_alloc(OC_ALIGNMENT, bytes);
    }
    void *block = aligned_alloc(LARGE_PAGE, bytes);
#ifdef MADV_HUGEPAGE
    if (block != NULL) {
        (void)madvise(block, bytes, MADV_HUGEPAGE); /* only a hint */
    }
#endif
    return block;
}

void *oc_grow(void *old, size_t old_count, size_t new_count, size_t size)
{
    void *block = oc_alloc(new_count, size);
    if (block != NULL && old != NULL) {
        memcpy(block, old, (old_count < new_count ? old_count : new_count) * size);
        oc_free(old);
    }
    return block;
}

void oc_free(void *block)
{
    free(block);
}

char *oc_strndup(const char *text, size_t length)
{
    if (length == SIZE_MAX) {
        return NULL;
    }
    char *copy = oc_alloc(length + 1, 1);
    if (copy != NULL && length > 0) {
        memcpy(copy, text, length);
    }
    return copy;
}

char *oc_strdup(const char *text)
{
    return oc_strndup(text, strlen(text));
}

uint64_t oc_memory_limit_of(const char *path, uint64_t bytes)
{
    char text[32] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return bytes;
    }
    uint64_t limit;
    bool known = fgets(text, sizeof text, file) != NULL && sscanf(text, "%19" SCNu64, &limit) == 1;
    fclose(file);
    return known && limit < bytes ? limit : bytes;
}

uint64_t oc_memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    bytes = oc_memory_limit_of("/sys/fs/cgroup/memory.max", bytes);                  /* v2 */
    return oc_memory_limit_of("/sys/fs/cgroup/memory/memory.limit_in_bytes", bytes); /* v1 */
}

const char *oc_bytes_label(uint64_t bytes, char label[OC_BYTES_ROOM])
{
    bool large = bytes >= (uint64_t)1 << 30;
    snprintf(label, OC_BYTES_ROOM, "%.1f %s", (double)bytes / (large ? 1 << 30 : 1 << 20),
             large ? "GiB" : "MiB");
    return label;
}
