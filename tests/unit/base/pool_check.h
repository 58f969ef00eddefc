/* pool_check.h - checks of the thread pool that need no test framework, so that the same code runs
 * under Criterion (test_pool.c) and as a plain program under ThreadSanitizer (pool_tsan.c).
 * Each returns NULL, or a sentence saying what is wrong. */
#ifndef OC_TESTS_POOL_CHECK_H
#define OC_TESTS_POOL_CHECK_H

#include "runtime/base/memory.h"
#include "runtime/base/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Every row must be handled exactly once, in chunks that begin at multiples of chunk. */
typedef struct rows_job {
    unsigned char *touched; /* [count], plain bytes: a row handled twice at once is a data race */
    size_t count, chunk;
    int threads;
    atomic_bool wrong_chunk, wrong_worker;
} rows_job;

static void touch_rows(void *argument, size_t begin, size_t end, int worker)
{
    rows_job *job = argument;
    if (begin % job->chunk != 0 || begin >= end || end > job->count ||
        (end - begin != job->chunk && end != job->count)) {
        atomic_store(&job->wrong_chunk, true);
    }
    if (worker < 0 || worker >= job->threads) {
        atomic_store(&job->wrong_worker, true);
    }
    for (size_t row = begin; row < end; row++) {
        job->touched[row]++;
    }
}

static inline const char *check_rows(oc_pool *pool, size_t count, size_t chunk)
{
    rows_job job = {.touched = oc_alloc(count, 1),
                    .count = count,
                    .chunk = chunk,
                    .threads = oc_pool_threads(pool)};
    atomic_init(&job.wrong_chunk, false);
    atomic_init(&job.wrong_worker, false);
    oc_pool_run(pool, count, chunk, touch_rows, &job);
    const char *wrong = atomic_load(&job.wrong_chunk)    ? "a chunk has wrong borders"
                        : atomic_load(&job.wrong_worker) ? "a worker's number is out of range"
                                                         : NULL;
    for (size_t row = 0; row < count && wrong == NULL; row++) {
        wrong = job.touched[row] != 1 ? "a row was not handled exactly once" : NULL;
    }
    oc_free(job.touched);
    return wrong;
}

static inline const char *check_sizes(int threads)
{
    static const size_t counts[] = {0, 1, 2, 3, 7, 8, 63, 64, 65, 1000, 4099};
    static const size_t chunks[] = {1, 2, 3, 16, 64, 5000};
    oc_pool *pool = NULL;
    if (oc_pool_open(&pool, threads, NULL) != OCELLI_OK) {
        return "the pool did not open";
    }
    const char *wrong = NULL;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && wrong == NULL; i++) {
        for (size_t j = 0; j < sizeof chunks / sizeof chunks[0] && wrong == NULL; j++) {
            wrong = check_rows(pool, counts[i], chunks[j]);
        }
    }
    oc_pool_close(pool);
    return wrong;
}

/* ---- two callers of one pool: regions must never overlap ------------------------------------ */

typedef struct caller {
    oc_pool *pool;
    atomic_int *running; /* [2] chunks of each caller's regions that run now */
    atomic_bool *overlap;
    int self; /* 0 or 1 */
    int regions;
    const char *wrong;
    uint64_t sums[8]; /* [worker]: plain, each worker its own */
} caller;

static void sum_rows(void *argument, size_t begin, size_t end, int worker)
{
    caller *job = argument;
    atomic_fetch_add(&job->running[job->self], 1);
    if (atomic_load(&job->running[1 - job->self]) != 0) {
        atomic_store(job->overlap, true);
    }
    for (size_t row = begin; row < end; row++) {
        job->sums[worker] += row;
    }
    atomic_fetch_sub(&job->running[job->self], 1);
}

static void *hammer(void *argument)
{
    caller *self = argument;
    for (int region = 0; region < self->regions && self->wrong == NULL; region++) {
        size_t count = (size_t)(region % 37) + 2;
        memset(self->sums, 0, sizeof self->sums);
        oc_pool_run(self->pool, count, (size_t)(region % 3) + 1, sum_rows, self);
        uint64_t sum = 0;
        for (size_t i = 0; i < 8; i++) {
            sum += self->sums[i];
        }
        if (sum != (uint64_t)count * (count - 1) / 2) {
            self->wrong = "a region returned before all of its rows were done";
        }
    }
    return NULL;
}

/* Many short regions from two threads: the caller's job is on its stack, so a worker that is late
 * by one region writes where it must not. */
static inline const char *check_hammer(int threads, int regions)
{
    oc_pool *pool = NULL;
    if (threads > 8 || oc_pool_open(&pool, threads, NULL) != OCELLI_OK) {
        return "the pool did not open";
    }
    atomic_int running[2];
    atomic_bool overlap;
    atomic_init(&running[0], 0);
    atomic_init(&running[1], 0);
    atomic_init(&overlap, false);
    caller callers[2];
    pthread_t other;
    for (int i = 0; i < 2; i++) {
        callers[i] = (caller){
            .pool = pool, .running = running, .overlap = &overlap, .self = i, .regions = regions};
    }
    if (pthread_create(&other, NULL, hammer, &callers[1]) != 0) {
        oc_pool_close(pool);
        return "no second thread";
    }
    hammer(&callers[0]);
    pthread_join(other, NULL);
    oc_pool_close(pool);
    return callers[0].wrong != NULL   ? callers[0].wrong
           : callers[1].wrong != NULL ? callers[1].wrong
           : atomic_load(&overlap)    ? "regions of two callers ran at the same time"
                                      : NULL;
}

#endif
