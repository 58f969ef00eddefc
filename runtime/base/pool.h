/* pool.h - the thread pool: rows are split, sums never.
 *
 * Chunks have a fixed size given by the caller, never derived from the number of threads, so the
 * bits of a result do not depend on it. Each thread begins with a run of neighbouring chunks and then
 * helps with the others': a worker that the system has put to sleep delays nothing but what it has claimed,
 * at most a quarter of what its run had left. */
#ifndef OC_BASE_POOL_H
#define OC_BASE_POOL_H

#include "runtime/base/status.h"

typedef struct oc_pool oc_pool;

/* Handles rows [begin, end) of job. worker: 0..threads-1, for per-worker scratch. */
typedef void (*oc_range_fn)(void *job, size_t begin, size_t end, int worker);

/* threads includes the calling one; 0: oc_cpu_count(). Fewer threads than asked for, if the
 * system gives no more, is not an error. */
ocelli_status oc_pool_open(oc_pool **out, int threads, ocelli_error *err);
void oc_pool_close(oc_pool *pool);
int oc_pool_threads(const oc_pool *pool);

/* Runs fn over [0, count) in chunks of chunk (the last may be shorter) and waits for all. One
 * parallel region at a time; calls from several threads wait for one another. pool NULL: serial. */
void oc_pool_run(oc_pool *pool, size_t count, size_t chunk, oc_range_fn fn, void *job);

#endif
