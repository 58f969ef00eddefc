/* embed_table.c - see embed_table.h. POSIX. */
#define _POSIX_C_SOURCE 200809L
#include "text/embed_table.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What a first touch of a row may map besides it: Linux maps the neighbours that are in the page
 * cache too, up to an aligned block of 64 KiB at either end. */
enum { FAULT_AROUND = 64 << 10 };

typedef struct table_key {
    oc_file_identity file;
    uint64_t offset;
    size_t vocab, hidden;
    oc_dtype dtype;
} table_key;

struct oc_embed_table {
    oc_embed_table *next;
    size_t holders; /* under cache_lock */
    table_key key;
    oc_map map;
    oc_tensor rows;           /* [vocab, hidden] */
    size_t row_cost;          /* bytes that reading one row may make resident */
    atomic_size_t *resident;  /* bytes that may be resident by now; NULL: a small table */
    atomic_size_t resident_0; /* what resident points to: gather has a const table */
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static oc_embed_table *cache; /* under cache_lock */

static bool same_key(const table_key *a, const table_key *b)
{
    return a->file.device == b->file.device && a->file.inode == b->file.inode &&
           a->file.size == b->file.size && a->file.modified_seconds == b->file.modified_seconds &&
           a->file.modified_nanoseconds == b->file.modified_nanoseconds && a->offset == b->offset &&
           a->vocab == b->vocab && a->hidden == b->hidden && a->dtype == b->dtype;
}

/* The size of the file against what the table wants of it. */
static ocelli_status check_size(const char *path, const table_key *key, size_t bytes,
                                bool exact_file, ocelli_error *err)
{
    if (exact_file && key->file.size != bytes) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: %llu bytes, but a table of %zu x %zu %s has %zu; %s", path,
                       (unsigned long long)key->file.size, key->vocab, key->hidden,
                       oc_dtype_label(key->dtype), bytes,
                       key->file.size < bytes ? "the file is truncated, copy it again"
                                              : "the file is not of this model");
    }
    if (key->offset > key->file.size || key->file.size - key->offset < bytes) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: %llu bytes, but a table of %zu x %zu %s from byte %llu needs %zu more; "
                       "the file is truncated, copy it again",
                       path, (unsigned long long)key->file.size, key->vocab, key->hidden,
                       oc_dtype_label(key->dtype), (unsigned long long)key->offset, bytes);
    }
    return OCELLI_OK;
}

/* Rows are read in no order: reading ahead would fetch what nobody asked for. */
static void advise_random(const oc_tensor *rows)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)rows->data & ~(page - 1);
    uintptr_t end = (uintptr_t)rows->data + rows->bytes;
    posix_madvise((void *)begin, end - begin, POSIX_MADV_RANDOM); /* only a hint */
}

ocelli_status oc_embed_table_acquire(oc_embed_table **out, const char *path, uint64_t offset,
                                     oc_dtype dtype, size_t vocab, size_t hidden, bool exact_file,
                                     ocelli_error *err)
{
    *out = NULL;
    if (vocab == 0 || hidden == 0 || vocab > INT32_MAX || !oc_dtype_is_weight(dtype)) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "%s: no table of %zu x %zu %s can be read", path,
                       vocab, hidden, oc_dtype_label(dtype));
    }
    size_t row_bytes;
    size_t bytes;
    if (!oc_size_mul(hidden, oc_dtype_size(dtype), &row_bytes) ||
        !oc_size_mul(vocab, row_bytes, &bytes)) {
        return oc_fail(err, OCELLI_E_LIMIT, "%s: a table of %zu x %zu is beyond any file", path,
                       vocab, hidden);
    }
    oc_embed_table *fresh = oc_alloc(1, sizeof *fresh);
    if (fresh == NULL) {
        return oc_fail_memory(err, path);
    }
    fresh->key = (table_key){.offset = offset, .vocab = vocab, .hidden = hidden, .dtype = dtype};
    ocelli_status status = oc_map_open(&fresh->map, path, &fresh->key.file, err);
    if (status == OCELLI_OK) {
        status = check_size(path, &fresh->key, bytes, exact_file, err);
    }
    if (status != OCELLI_OK) {
        oc_map_close(&fresh->map);
        oc_free(fresh);
        return status;
    }
    fresh->holders = 1;
    fresh->rows = (oc_tensor){.data = fresh->map.bytes + offset,
                              .bytes = bytes,
                              .dtype = dtype,
                              .rank = 2,
                              .shape = {(int64_t)vocab, (int64_t)hidden, 1, 1, 1, 1, 1, 1}};
    fresh->row_cost = row_bytes + 2 * FAULT_AROUND; /* no overflow: rows lie in a mapping */
    atomic_init(&fresh->resident_0, 0);
    fresh->resident = bytes > OC_EMBED_RESIDENT_BUDGET ? &fresh->resident_0 : NULL;
    advise_random(&fresh->rows);

    pthread_mutex_lock(&cache_lock);
    oc_embed_table *found = cache;
    while (found != NULL && !same_key(&found->key, &fresh->key)) {
        found = found->next;
    }
    if (found != NULL) {
        found->holders++;
    } else {
        fresh->next = cache;
        cache = fresh;
    }
    pthread_mutex_unlock(&cache_lock);
    if (found != NULL) {
        oc_map_close(&fresh->map);
        oc_free(fresh);
    }
    *out = found != NULL ? found : fresh;
    return OCELLI_OK;
}

void oc_embed_table_release(oc_embed_table *table)
{
    if (table == NULL) {
        return;
    }
    pthread_mutex_lock(&cache_lock);
    bool last = --table->holders == 0;
    if (last) {
        oc_embed_table **link = &cache;
        while (*link != table) {
            link = &(*link)->next;
        }
        *link = table->next;
    }
    pthread_mutex_unlock(&cache_lock);
    if (last) {
        oc_map_close(&table->map);
        oc_free(table);
    }
}

/* Counts a row as resident; past the budget the whole table is given back. Another thread may be
 * reading it: its rows fault in again with the same bytes. */
static void count_resident(const oc_embed_table *table)
{
    if (table->resident == NULL) {
        return;
    }
    size_t before = atomic_fetch_add(table->resident, table->row_cost);
    if (before + table->row_cost > OC_EMBED_RESIDENT_BUDGET) {
        atomic_store(table->resident, 0);
        oc_map_release_pages(&table->map, table->rows.data, table->rows.bytes);
    }
}

ocelli_status oc_embed_table_gather(const oc_embed_table *table, const int32_t *ids, size_t count,
                                    float *out, ocelli_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= table->key.vocab) {
            return oc_fail(err, OCELLI_E_ARGUMENT,
                           "token id %ld at index %zu is outside the embedding table of %zu rows",
                           (long)ids[i], i, table->key.vocab);
        }
    }
    for (size_t i = 0; i < count; i++) {
        oc_embed_table_row(table, (size_t)ids[i], out + i * table->key.hidden);
        count_resident(table);
    }
    return OCELLI_OK;
}

void oc_embed_table_row(const oc_embed_table *table, size_t row, float *out)
{
    oc_tensor_widen(&table->rows, row * table->key.hidden, table->key.hidden, out);
}

size_t oc_embed_table_vocab(const oc_embed_table *table)
{
    return table->key.vocab;
}

size_t oc_embed_table_hidden(const oc_embed_table *table)
{
    return table->key.hidden;
}

oc_dtype oc_embed_table_dtype(const oc_embed_table *table)
{
    return table->key.dtype;
}

uint64_t oc_embed_table_bytes(const oc_embed_table *table)
{
    return table->rows.bytes;
}

const void *oc_embed_table_data(const oc_embed_table *table)
{
    return table->rows.data;
}

size_t oc_embed_table_shared(const oc_embed_table *table)
{
    pthread_mutex_lock(&cache_lock);
    size_t holders = table->holders;
    pthread_mutex_unlock(&cache_lock);
    return holders;
}
