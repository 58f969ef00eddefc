/* visual_cache.c - see visual_cache.h: the part in memory, and the order in which parts are asked.
 *
 * Rows in memory are shared with the visuals that show them, so a picture that is both shown and
 * cached is held once. One lock guards the list; nothing is read, written or computed under it. */
#include "runtime/visual_cache.h"

#include "runtime/base/memory.h"
#include "runtime/options.h"
#include "runtime/visual_disk.h"

#include <string.h>

enum { BUCKETS = 1024 };

typedef struct entry {
    oc_visual_key key;
    oc_visual_rows *rows;
    struct entry *newer, *older;  /* by use */
    struct entry *next_in_bucket; /* of one hash */
} entry;

struct ocelli_visual_cache {
    pthread_mutex_t lock; /* of what follows, but the disk */
    entry *buckets[BUCKETS];
    entry *newest, *oldest;
    uint64_t most; /* bytes in memory */
    ocelli_visual_cache_info told;
    oc_visual_disk disk;
};

/* ---- rows ---------------------------------------------------------------------------------- */

oc_visual_rows *oc_visual_rows_new(size_t bytes)
{
    oc_visual_rows *rows = oc_alloc(1, sizeof *rows);
    if (rows == NULL) {
        return NULL;
    }
    atomic_init(&rows->references, 1);
    rows->bytes = bytes;
    rows->values = oc_alloc_raw(bytes, 1);
    if (rows->values == NULL) {
        oc_free(rows);
        return NULL;
    }
    return rows;
}

oc_visual_rows *oc_visual_rows_retain(oc_visual_rows *rows)
{
    atomic_fetch_add(&rows->references, 1);
    return rows;
}

void oc_visual_rows_release(oc_visual_rows *rows)
{
    if (rows != NULL && atomic_fetch_sub(&rows->references, 1) == 1) {
        oc_free(rows->values);
        oc_free(rows);
    }
}

/* ---- the list in memory, under the lock ---------------------------------------------------- */

static size_t entry_bytes(const oc_visual_rows *rows)
{
    return rows->bytes + sizeof(entry) + sizeof *rows;
}

static entry **bucket_of(ocelli_visual_cache *cache, const oc_visual_key *key)
{
    return &cache->buckets[oc_hash_bytes(key, sizeof *key).low % BUCKETS];
}

static void take_out(ocelli_visual_cache *cache, entry *e)
{
    *(e->newer != NULL ? &e->newer->older : &cache->newest) = e->older;
    *(e->older != NULL ? &e->older->newer : &cache->oldest) = e->newer;
    e->newer = e->older = NULL;
}

static void put_first(ocelli_visual_cache *cache, entry *e)
{
    e->older = cache->newest;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = e;
    cache->newest = e;
}

static void forget(ocelli_visual_cache *cache, entry *e)
{
    entry **at = bucket_of(cache, &e->key);
    while (*at != e) {
        at = &(*at)->next_in_bucket;
    }
    *at = e->next_in_bucket;
    take_out(cache, e);
    cache->told.memory_bytes -= entry_bytes(e->rows);
    cache->told.memory_entries--;
    oc_visual_rows_release(e->rows);
    oc_free(e);
}

static entry *look_up(ocelli_visual_cache *cache, const oc_visual_key *key)
{
    entry *e = *bucket_of(cache, key);
    while (e != NULL && !oc_visual_key_equal(&e->key, key)) {
        e = e->next_in_bucket;
    }
    return e;
}

static oc_visual_rows *find_in_memory(ocelli_visual_cache *cache, const oc_visual_key *key)
{
    oc_visual_rows *rows = NULL;
    pthread_mutex_lock(&cache->lock);
    entry *e = look_up(cache, key);
    if (e != NULL) {
        rows = oc_visual_rows_retain(e->rows);
        take_out(cache, e);
        put_first(cache, e);
        cache->told.memory_hits++;
    }
    pthread_mutex_unlock(&cache->lock);
    return rows;
}

static void keep_in_memory(ocelli_visual_cache *cache, const oc_visual_key *key,
                           oc_visual_rows *rows)
{
    entry *e = entry_bytes(rows) <= cache->most ? oc_alloc(1, sizeof *e) : NULL;
    if (e == NULL) {
        return;
    }
    e->key = *key;
    e->rows = oc_visual_rows_retain(rows);
    pthread_mutex_lock(&cache->lock);
    entry *before = look_up(cache, key); /* another thread had the same picture */
    if (before != NULL) {
        forget(cache, before);
    }
    while (cache->oldest != NULL && cache->told.memory_bytes > cache->most - entry_bytes(rows)) {
        forget(cache, cache->oldest);
    }
    entry **bucket = bucket_of(cache, key);
    e->next_in_bucket = *bucket;
    *bucket = e;
    put_first(cache, e);
    cache->told.memory_bytes += entry_bytes(rows);
    cache->told.memory_entries++;
    pthread_mutex_unlock(&cache->lock);
}

/* ---- memory, then disk --------------------------------------------------------------------- */

bool oc_visual_cache_is_lasting(const ocelli_visual_cache *cache)
{
    return cache->disk.path != NULL;
}

static void count(ocelli_visual_cache *cache, uint64_t *what, uint64_t more)
{
    pthread_mutex_lock(&cache->lock);
    *what += more;
    pthread_mutex_unlock(&cache->lock);
}

oc_visual_rows *oc_visual_cache_find(ocelli_visual_cache *cache, const oc_visual_key *key,
                                     ocelli_visual_hit *hit)
{
    oc_visual_rows *rows = find_in_memory(cache, key);
    *hit = rows != NULL ? OCELLI_HIT_MEMORY : OCELLI_HIT_NONE;
    if (rows == NULL && oc_visual_cache_is_lasting(cache)) {
        bool damaged;
        rows = oc_visual_disk_read(&cache->disk, key, &damaged);
        count(cache, &cache->told.disk_damaged, damaged);
        if (rows != NULL) {
            *hit = OCELLI_HIT_DISK;
            count(cache, &cache->told.disk_hits, 1);
            keep_in_memory(cache, key, rows);
        }
    }
    if (rows == NULL) {
        count(cache, &cache->told.misses, 1);
    }
    return rows;
}

void oc_visual_cache_keep(ocelli_visual_cache *cache, const oc_visual_key *key,
                          oc_visual_rows *rows)
{
    keep_in_memory(cache, key, rows);
    if (oc_visual_cache_is_lasting(cache) && oc_visual_disk_write(&cache->disk, key, rows)) {
        count(cache, &cache->told.disk_writes, 1);
    }
}

/* ---- a cache's life ------------------------------------------------------------------------ */

ocelli_status ocelli_visual_cache_open(ocelli_visual_cache **out,
                                       const ocelli_visual_cache_options *given, ocelli_error *err)
{
    if (out == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_visual_cache_open: out is needed");
    }
    *out = NULL;
    ocelli_visual_cache_options options = OCELLI_VISUAL_CACHE_OPTIONS_INIT;
    oc_options_read(&options, sizeof options, given);
    ocelli_visual_cache *cache = oc_alloc(1, sizeof *cache);
    if (cache == NULL) {
        return oc_fail_memory(err, "the cache");
    }
    pthread_mutex_init(&cache->lock, NULL);
    cache->most = options.memory_bytes;
    if (options.directory != NULL) {
        const oc_log log = {.write = options.log, .user = options.log_user};
        ocelli_status status =
            oc_visual_disk_open(&cache->disk, options.directory, options.disk_bytes, &log, err);
        if (status != OCELLI_OK) {
            ocelli_visual_cache_close(cache);
            return status;
        }
    }
    *out = cache;
    return OCELLI_OK;
}

void ocelli_visual_cache_close(ocelli_visual_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    while (cache->oldest != NULL) {
        forget(cache, cache->oldest);
    }
    oc_visual_disk_close(&cache->disk);
    pthread_mutex_destroy(&cache->lock);
    oc_free(cache);
}

void ocelli_visual_cache_describe(ocelli_visual_cache *cache, ocelli_visual_cache_info *info)
{
    pthread_mutex_lock(&cache->lock);
    const ocelli_visual_cache_info own = cache->told;
    pthread_mutex_unlock(&cache->lock);
    oc_result_write(info, &own, sizeof own);
}

const char *ocelli_visual_hit_name(ocelli_visual_hit hit)
{
    switch (hit) {
    case OCELLI_HIT_NONE: return "none";
    case OCELLI_HIT_MEMORY: return "memory";
    case OCELLI_HIT_DISK: return "disk";
    }
    return "unknown";
}
