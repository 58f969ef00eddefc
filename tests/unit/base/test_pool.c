/* test_pool.c - the thread pool: all rows, once, in whole chunks, whatever the sizes. */
#include "tests/unit/base/pool_check.h"

#include <criterion/criterion.h>
#include <threads.h>

Test(pool, every_row_once_for_many_sizes, .timeout = 300)
{
    for (int threads = 1; threads <= 5; threads++) {
        const char *wrong = check_sizes(threads);
        cr_assert_null(wrong, "%d threads: %s", threads, wrong);
    }
}

Test(pool, without_a_pool_it_is_serial)
{
    const char *wrong = check_rows(NULL, 1000, 7);
    cr_assert_null(wrong, "%s", wrong);
    cr_assert_eq(oc_pool_threads(NULL), 1);
    oc_pool_close(NULL);
}

Test(pool, a_chunk_larger_than_any_count)
{
    oc_pool *pool;
    cr_assert_eq(oc_pool_open(&pool, 3, NULL), OCELLI_OK);
    const char *wrong = check_rows(pool, 10, SIZE_MAX);
    cr_assert_null(wrong, "%s", wrong);
    cr_assert_null(check_rows(NULL, 10, SIZE_MAX));
    oc_pool_close(pool);
}

static void count_rows(void *job, size_t begin, size_t end, int worker)
{
    (void)worker;
    atomic_fetch_add((atomic_size_t *)job, end - begin);
}

Test(pool, a_chunk_of_zero_means_one)
{
    oc_pool *pool;
    atomic_size_t rows;
    atomic_init(&rows, 0);
    cr_assert_eq(oc_pool_open(&pool, 2, NULL), OCELLI_OK);
    oc_pool_run(pool, 9, 0, count_rows, &rows);
    cr_assert_eq(atomic_load(&rows), 9);
    oc_pool_close(pool);
}

Test(pool, two_callers_and_many_short_regions, .timeout = 300)
{
    for (int threads = 1; threads <= 4; threads++) {
        const char *wrong = check_hammer(threads, 4000);
        cr_assert_null(wrong, "%d threads: %s", threads, wrong);
    }
}

/* Regions far apart: the workers have gone to sleep in between and must be woken. */
Test(pool, wakes_workers_that_have_parked)
{
    oc_pool *pool;
    cr_assert_eq(oc_pool_open(&pool, 4, NULL), OCELLI_OK);
    for (int region = 0; region < 5; region++) {
        struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
        thrd_sleep(&pause, NULL);
        const char *wrong = check_rows(pool, 100, 1);
        cr_assert_null(wrong, "%s", wrong);
    }
    oc_pool_close(pool);
}

Test(pool, opens_with_as_many_threads_as_asked)
{
    oc_pool *pool;
    ocelli_error err = {0};
    for (int threads = 1; threads < 9; threads += 3) {
        cr_assert_eq(oc_pool_open(&pool, threads, &err), OCELLI_OK);
        cr_assert_eq(oc_pool_threads(pool), threads);
        oc_pool_close(pool);
    }
    cr_assert_eq(oc_pool_open(&pool, 0, &err), OCELLI_OK);
    cr_assert_geq(oc_pool_threads(pool), 1);
    oc_pool_close(pool);
    static const int wrong[] = {-1, 1025, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_eq(oc_pool_open(&pool, wrong[i], &err), OCELLI_E_ARGUMENT);
        cr_assert_null(pool);
        cr_assert_not_null(strstr(err.message, "threads: "));
        cr_assert_not_null(strstr(err.message, "from 0 to 1024"));
    }
}
