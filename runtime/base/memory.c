/* memory.c - see memory.h. */
#include "runtime/base/memory.h"

#include <stdlib.h>
#include <string.h>

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

void *oc_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (!oc_size_mul(count, size, &bytes) || !oc_size_add(bytes, OC_ALIGNMENT - 1, &bytes)) {
        return NULL;
    }
    bytes &= ~(size_t)(OC_ALIGNMENT - 1);
    if (bytes == 0) {
        bytes = OC_ALIGNMENT;
    }
    void *block = aligned_alloc(OC_ALIGNMENT, bytes);
    if (block != NULL) {
        memset(block, 0, bytes);
    }
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
