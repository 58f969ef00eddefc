/* test_memory.c - sizes that overflow, blocks that grow, what a machine has, and the arena that only
 * counts. */
#define _DEFAULT_SOURCE /* mkstemp */
#include "runtime/base/arena.h"
#include "runtime/base/memory.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(memory, products_and_sums_of_sizes)
{
    size_t out = 7;
    cr_assert(oc_size_mul(6, 7, &out));
    cr_assert_eq(out, 42);
    cr_assert(oc_size_mul(SIZE_MAX, 1, &out));
    cr_assert_eq(out, SIZE_MAX);
    cr_assert(oc_size_mul(SIZE_MAX, 0, &out));
    cr_assert_eq(out, 0);
    out = 7;
    cr_assert_not(oc_size_mul(SIZE_MAX / 2 + 1, 2, &out));
    cr_assert_not(oc_size_mul((size_t)1 << 32, (size_t)1 << 32, &out));
    cr_assert_eq(out, 7, "a refused product must leave out alone");
    cr_assert(oc_size_add(SIZE_MAX - 5, 5, &out));
    cr_assert_eq(out, SIZE_MAX);
    out = 7;
    cr_assert_not(oc_size_add(SIZE_MAX, 1, &out));
    cr_assert_eq(out, 7);
}

Test(memory, blocks_are_aligned_and_zero)
{
    for (size_t size = 0; size < 300; size += 13) {
        unsigned char *block = oc_alloc(size, 1);
        cr_assert_not_null(block);
        cr_assert_eq((uintptr_t)block % OC_ALIGNMENT, 0);
        for (size_t i = 0; i < size; i++) {
            cr_assert_eq(block[i], 0);
        }
        memset(block, 0xff, size);
        oc_free(block);
    }
    oc_free(NULL);
}

/* Small and large blocks, the latter of which may stand in large pages: every byte is ours. */
Test(memory, raw_blocks_are_aligned_and_whole)
{
    static const size_t sizes[] = {0, 1, 64, 65, 4096, (4 << 20) - 1, 4 << 20, (4 << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *block = oc_alloc_raw(sizes[i], 1);
        cr_assert_not_null(block);
        cr_assert_eq((uintptr_t)block % OC_ALIGNMENT, 0);
        memset(block, 0xff, sizes[i]);
        oc_free(block);
    }
    cr_assert_null(oc_alloc_raw(SIZE_MAX, 1));
    cr_assert_null(oc_alloc_raw(SIZE_MAX - 100, 1));
    cr_assert_null(oc_alloc_raw((size_t)1 << 33, (size_t)1 << 33));
}

Test(memory, sizes_that_do_not_fit_are_refused)
{
    cr_assert_null(oc_alloc(SIZE_MAX, 1));
    cr_assert_null(oc_alloc(SIZE_MAX / 2, 3));
    cr_assert_null(oc_alloc((size_t)1 << 33, (size_t)1 << 33));
    cr_assert_null(oc_strndup("x", SIZE_MAX));
}

Test(memory, growing_keeps_and_clears)
{
    int *items = oc_grow(NULL, 0, 3, sizeof *items);
    cr_assert_not_null(items);
    items[0] = 1;
    items[1] = 2;
    items[2] = 3;
    int *more = oc_grow(items, 3, 1000, sizeof *more);
    cr_assert_not_null(more);
    cr_assert_eq(more[0], 1);
    cr_assert_eq(more[2], 3);
    for (size_t i = 3; i < 1000; i++) {
        cr_assert_eq(more[i], 0);
    }
    cr_assert_null(oc_grow(more, 1000, SIZE_MAX / 2, sizeof *more));
    cr_assert_eq(more[1], 2, "a refused growth must leave the block alone");
    oc_free(more);
}

Test(memory, copies_of_strings)
{
    char *all = oc_strdup("picture");
    char *part = oc_strndup("picture", 4);
    char *none = oc_strndup("picture", 0);
    cr_assert_str_eq(all, "picture");
    cr_assert_str_eq(part, "pict");
    cr_assert_str_eq(none, "");
    oc_free(all);
    oc_free(part);
    oc_free(none);
}

/* A forward pass in small: takes, nested marks, a loop that gives back. */
static void take_pattern(oc_arena *arena, unsigned char *taken[8])
{
    memset(taken, 0, 8 * sizeof *taken);
    taken[0] = oc_arena_take(arena, 100, 4);
    taken[1] = oc_arena_take(arena, 1, 1);
    size_t mark = oc_arena_mark(arena);
    for (size_t i = 0; i < 3; i++) {
        taken[2 + i] = oc_arena_take(arena, 63 + i, 3);
        size_t inner = oc_arena_mark(arena);
        taken[5] = oc_arena_take(arena, 1000 >> i, 8);
        oc_arena_release(arena, inner);
    }
    oc_arena_release(arena, mark);
    taken[6] = oc_arena_take(arena, 0, 4);
    taken[7] = oc_arena_take(arena, 64, 1);
}

Test(arena, a_dry_run_says_what_the_real_one_takes)
{
    unsigned char *taken[8];
    oc_arena dry = oc_arena_dry();
    take_pattern(&dry, taken);
    for (size_t i = 0; i < 8; i++) {
        cr_assert_null(taken[i]);
    }
    cr_assert_not(dry.overflow);

    ocelli_error err = {0};
    oc_arena real = {0};
    cr_assert_eq(oc_arena_reserve(&real, dry.peak, "scratch", &err), OCELLI_OK);
    take_pattern(&real, taken);
    cr_assert_not(real.overflow, "the dry run's peak must be enough");
    cr_assert_eq(real.peak, dry.peak);
    cr_assert_eq(real.used, dry.used);
    for (size_t i = 0; i < 8; i++) {
        cr_assert_not_null(taken[i]);
        cr_assert_eq((uintptr_t)taken[i] % OC_ALIGNMENT, 0);
    }
    cr_assert_geq(taken[1], taken[0] + 400);
    /* One byte less is one too few, and says so. */
    oc_arena_close(&real);
    cr_assert_eq(oc_arena_reserve(&real, dry.peak - 1, "scratch", &err), OCELLI_OK);
    take_pattern(&real, taken);
    cr_assert(real.overflow);
    oc_arena_close(&real);
}

Test(arena, overflow_sticks_and_an_empty_arena_gives_nothing)
{
    oc_arena arena = {0};
    cr_assert_null(oc_arena_take(&arena, 0, 8));
    cr_assert_not(arena.overflow);
    cr_assert_null(oc_arena_take(&arena, 1, 1));
    cr_assert(arena.overflow);

    ocelli_error err = {0};
    cr_assert_eq(oc_arena_reserve(&arena, 256, "scratch", &err), OCELLI_OK);
    cr_assert_not(arena.overflow, "a reserve begins anew");
    cr_assert_not_null(oc_arena_take(&arena, 200, 1));
    cr_assert_null(oc_arena_take(&arena, SIZE_MAX, 2));
    cr_assert_null(oc_arena_take(&arena, 1, 1), "every later take must fail too");
    oc_arena_close(&arena);

    cr_assert_eq(oc_arena_reserve(&arena, SIZE_MAX - 100, "the moon", &err), OCELLI_E_MEMORY);
    cr_assert_not_null(strstr(err.message, "the moon"));
    cr_assert_null(arena.base);

    oc_arena dry = oc_arena_dry();
    cr_assert_null(oc_arena_take(&dry, SIZE_MAX / 2, 4));
    cr_assert(dry.overflow, "a dry arena notices sizes that do not fit");
}

Test(memory, the_limit_is_within_the_machine)
{
    uint64_t kibibytes = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "r");
    cr_assert_not_null(file);
    while (kibibytes == 0 && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "MemTotal: %" SCNu64, &kibibytes);
    }
    fclose(file);
    cr_assert_gt(kibibytes, 0);
    cr_assert_gt(oc_memory_limit(), (uint64_t)1 << 20);
    cr_assert_leq(oc_memory_limit(), kibibytes * 1024);
}

static uint64_t limit_of(const char *text, uint64_t bytes)
{
    char path[] = "/tmp/ocelli-limit-XXXXXX";
    int descriptor = mkstemp(path);
    cr_assert_geq(descriptor, 0);
    cr_assert_eq(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
    close(descriptor);
    uint64_t limit = oc_memory_limit_of(path, bytes);
    unlink(path);
    return limit;
}

Test(memory, the_limit_of_a_control_group)
{
    cr_assert_eq(limit_of("1073741824\n", 5000000000), 1073741824);
    cr_assert_eq(limit_of("6000000000\n", 5000000000), 5000000000);
    cr_assert_eq(limit_of("9223372036854771712\n", 5000000000), 5000000000);
    cr_assert_eq(limit_of("max\n", 5000000000), 5000000000);
    cr_assert_eq(limit_of("", 5000000000), 5000000000);
    cr_assert_eq(oc_memory_limit_of("/nowhere/memory.max", 5000000000), 5000000000);
}

Test(memory, bytes_for_messages)
{
    char label[OC_BYTES_ROOM];
    cr_assert_str_eq(oc_bytes_label(0, label), "0.0 MiB");
    cr_assert_str_eq(oc_bytes_label(12 * 1048576 + 524288, label), "12.5 MiB");
    cr_assert_str_eq(oc_bytes_label((uint64_t)226 << 30, label), "226.0 GiB");
    cr_assert_str_eq(oc_bytes_label(UINT64_MAX, label), "17179869184.0 GiB");
}
