/* failing_malloc.c - see failing_malloc.h. Definitions in the program come before glibc's for every
 * library; glibc keeps its own under other names. */
#include "tests/oom/failing_malloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GLIBC__)
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);
int posix_memalign(void **out, size_t alignment, size_t size);
void free(void *block);

static atomic_long asked, blocks, failing; /* failing: the number of the one that fails; 0: none */
static atomic_bool failing_on;             /* and all after it */

static bool fails(void)
{
    long number = atomic_fetch_add(&asked, 1) + 1, first = atomic_load(&failing);
    if (first == 0 || number < first || (number > first && !atomic_load(&failing_on))) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

static void *counted(void *block)
{
    if (block != NULL) {
        atomic_fetch_add(&blocks, 1);
    }
    return block;
}

void *malloc(size_t size)
{
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (block == NULL) {
        return malloc(size);
    }
    if (size == 0) {
        free(block);
        return NULL;
    }
    return fails() ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : counted(__libc_memalign(alignment, size));
}

void *memalign(size_t alignment, size_t size)
{
    return aligned_alloc(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *block = aligned_alloc(alignment, size);
    if (block == NULL) {
        return ENOMEM;
    }
    *out = block;
    return 0;
}

void free(void *block)
{
    if (block != NULL) {
        atomic_fetch_sub(&blocks, 1);
    }
    __libc_free(block);
}

void failing_malloc_arm(long nth, bool sticky)
{
    atomic_store(&asked, 0);
    atomic_store(&failing_on, sticky);
    atomic_store(&failing, nth);
}

long failing_malloc_disarm(void)
{
    atomic_store(&failing, 0);
    return atomic_load(&asked);
}

long failing_malloc_blocks(void)
{
    return atomic_load(&blocks);
}
#else
void failing_malloc_arm(long nth, bool sticky)
{
    (void)nth;
    (void)sticky;
}

long failing_malloc_disarm(void)
{
    return 0;
}

long failing_malloc_blocks(void)
{
    return 0;
}
#endif
