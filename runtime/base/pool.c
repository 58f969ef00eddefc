/* pool.c - see pool.h.
 *
 * A region is published by raising `generation`. Every thread has a share of the chunks, one run of
 * them, so that what it reads is one stream; a thread whose share is done helps with the others'. A
 * claim takes a part of what a share has left: each one waits for every load that is under way, which
 * costs a thread that streams from memory a twentieth of its time when it claims chunk by chunk. The
 * caller works too, then waits until every chunk is done and no worker is still inside the region, so
 * that the job may leave the caller's stack.
 *
 * Workers spin a little (a region inside a layer follows the last within microseconds), then park
 * on a condition variable: long spinning steals the CPU from the thread we wait for when the
 * machine is shared. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/base/pool.h"

#include "runtime/base/cpu.h"
#include "runtime/base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

enum { SPINS_BEFORE_PARKING = 4000, MOST_THREADS = 1024 };

/* A claim is such a part of what its share has left, so that the last ones are single chunks. */
enum { CLAIM_PART = 4 };

/* `next` of every share between regions. A worker that comes late finds this or counts up from it, and so
 * claims nothing, whatever the region's fields hold at that moment. */
static const size_t CLOSED = SIZE_MAX / 2;

/* A thread's run of chunks; alone in its cache lines, for every claim writes it. */
typedef struct oc_share {
    _Alignas(OC_ALIGNMENT) atomic_size_t next;
    size_t end; /* written before next leaves CLOSED */
} oc_share;

struct oc_pool {
    pthread_mutex_t region_lock; /* one region at a time */
    pthread_mutex_t lock;        /* guards parking */
    pthread_cond_t wake;
    atomic_uint generation;
    atomic_int inside; /* workers between seeing a generation and leaving it */
    atomic_int parked;
    atomic_bool stop;
    /* The region; written before generation is raised. */
    oc_range_fn fn;
    void *job;
    size_t count, chunk, chunks;
    atomic_size_t finished;
    oc_share *shares; /* [threads] */
    int threads;      /* workers + caller */
    struct oc_worker {
        pthread_t thread;
        oc_pool *pool;
        int index;
    } * workers; /* [threads - 1] */
};

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void run_chunk(oc_pool *pool, size_t chunk, int worker)
{
    size_t begin = chunk * pool->chunk;
    size_t end = pool->count - begin < pool->chunk ? pool->count : begin + pool->chunk;
    pool->fn(pool->job, begin, end, worker);
}

static void claim_share(oc_pool *pool, oc_share *share, int worker, size_t *done)
{
    for (;;) {
        /* How many is a guess; which ones are this thread's alone is what the addition says. */
        size_t next = atomic_load_explicit(&share->next, memory_order_acquire);
        if (next >= CLOSED || next >= share->end) {
            return;
        }
        size_t count = (share->end - next) / CLAIM_PART + 1;
        size_t chunk = atomic_fetch_add_explicit(&share->next, count, memory_order_acq_rel);
        if (chunk >= CLOSED || chunk >= share->end) {
            return;
        }
        size_t end = share->end - chunk < count ? share->end : chunk + count;
        *done += end - chunk;
        for (; chunk < end; chunk++) {
            run_chunk(pool, chunk, worker);
        }
    }
}

static void claim_chunks(oc_pool *pool, int worker)
{
    size_t done = 0;
    for (int i = 0; i < pool->threads; i++) {
        claim_share(pool, &pool->shares[(worker + i) % pool->threads], worker, &done);
    }
    if (done > 0) {
        atomic_fetch_add_explicit(&pool->finished, done, memory_order_release);
    }
}

static void wait_for_generation(oc_pool *pool, unsigned seen)
{
    for (int spin = 0; spin < SPINS_BEFORE_PARKING; spin++) {
        if (atomic_load_explicit(&pool->generation, memory_order_acquire) != seen ||
            atomic_load_explicit(&pool->stop, memory_order_relaxed)) {
            return;
        }
        relax();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->parked, 1);
    while (atomic_load(&pool->generation) == seen && !atomic_load(&pool->stop)) {
        pthread_cond_wait(&pool->wake, &pool->lock);
    }
    atomic_fetch_sub(&pool->parked, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *argument)
{
    struct oc_worker *self = argument;
    oc_pool *pool = self->pool;
    unsigned seen = 0;
    for (;;) {
        wait_for_generation(pool, seen);
        if (atomic_load(&pool->stop)) {
            return NULL;
        }
        /* Enter first, look again after: the caller closes the counter, then waits for inside == 0,
         * and only then changes the region, so a chunk claimed here belongs to a whole one. */
        atomic_fetch_add(&pool->inside, 1);
        seen = atomic_load(&pool->generation);
        claim_chunks(pool, self->index);
        atomic_fetch_sub(&pool->inside, 1);
    }
}

ocelli_status oc_pool_open(oc_pool **out, int threads, ocelli_error *err)
{
    *out = NULL;
    if (threads < 0 || threads > MOST_THREADS) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "threads: %d is not from 0 to %d", threads,
                       MOST_THREADS);
    }
    if (threads == 0) {
        threads = oc_cpu_count();
    }
    oc_pool *pool = oc_alloc(1, sizeof *pool);
    if (pool == NULL) {
        return oc_fail_memory(err, "threads");
    }
    pool->workers = oc_alloc((size_t)threads, sizeof *pool->workers);
    pool->shares = oc_alloc((size_t)threads, sizeof *pool->shares);
    if (pool->workers == NULL || pool->shares == NULL) {
        oc_free(pool->workers);
        oc_free(pool->shares);
        oc_free(pool);
        return oc_fail_memory(err, "threads");
    }
    pthread_mutex_init(&pool->region_lock, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    atomic_init(&pool->generation, 0);
    atomic_init(&pool->inside, 0);
    atomic_init(&pool->parked, 0);
    atomic_init(&pool->stop, false);
    for (int i = 0; i < threads; i++) {
        atomic_init(&pool->shares[i].next, CLOSED);
    }
    atomic_init(&pool->finished, 0);
    pool->threads = 1;
    for (int i = 1; i < threads; i++) {
        struct oc_worker *worker = &pool->workers[i - 1];
        *worker = (struct oc_worker){.pool = pool, .index = i};
        if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
            break;
        }
        pool->threads = i + 1;
    }
    *out = pool;
    return OCELLI_OK;
}

void oc_pool_close(oc_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 1; i < pool->threads; i++) {
        pthread_join(pool->workers[i - 1].thread, NULL);
    }
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->region_lock);
    oc_free(pool->workers);
    oc_free(pool->shares);
    oc_free(pool);
}

int oc_pool_threads(const oc_pool *pool)
{
    return pool != NULL ? pool->threads : 1;
}

static void run_serial(size_t count, size_t chunk, oc_range_fn fn, void *job)
{
    for (size_t begin = 0; begin < count; begin += chunk) {
        size_t end = count - begin < chunk ? count : begin + chunk;
        fn(job, begin, end, 0);
        if (count - begin <= chunk) {
            return; /* begin + chunk may wrap */
        }
    }
}

static void pause_or_yield(int spin)
{
    if (spin < SPINS_BEFORE_PARKING) {
        relax();
    } else {
        sched_yield(); /* the worker we wait for may need this CPU */
    }
}

static void wait_while_below(atomic_size_t *counter, size_t goal)
{
    for (int spin = 0; atomic_load_explicit(counter, memory_order_acquire) < goal; spin++) {
        pause_or_yield(spin);
    }
}

/* Every share's end is written before the first leaves CLOSED: a worker that is early sees a whole
 * region or none. */
static void open_shares(oc_pool *pool)
{
    size_t threads = (size_t)pool->threads, each = pool->chunks / threads;
    size_t extra = pool->chunks % threads; /* the first so many shares have one more */
    for (size_t i = 0; i < threads; i++) {
        pool->shares[i].end = each * (i + 1) + (i + 1 < extra ? i + 1 : extra);
    }
    for (size_t i = 0; i < threads; i++) {
        atomic_store(&pool->shares[i].next, i > 0 ? pool->shares[i - 1].end : 0);
    }
}

static void close_shares(oc_pool *pool)
{
    for (int i = 0; i < pool->threads; i++) {
        atomic_store(&pool->shares[i].next, CLOSED);
    }
}

void oc_pool_run(oc_pool *pool, size_t count, size_t chunk, oc_range_fn fn, void *job)
{
    if (count == 0) {
        return;
    }
    if (chunk == 0) {
        chunk = 1;
    }
    if (pool == NULL) {
        run_serial(count, chunk, fn, job);
        return;
    }
    pthread_mutex_lock(&pool->region_lock);
    if (pool->threads == 1 || count <= chunk) {
        run_serial(count, chunk, fn, job);
        pthread_mutex_unlock(&pool->region_lock);
        return;
    }
    pool->fn = fn;
    pool->job = job;
    pool->count = count;
    pool->chunk = chunk;
    pool->chunks = count / chunk + (count % chunk != 0);
    atomic_store(&pool->finished, 0);
    open_shares(pool);
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->parked) > 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
    claim_chunks(pool, 0);
    wait_while_below(&pool->finished, pool->chunks);
    close_shares(pool);
    for (int spin = 0; atomic_load(&pool->inside) > 0; spin++) {
        pause_or_yield(spin);
    }
    pthread_mutex_unlock(&pool->region_lock);
}
