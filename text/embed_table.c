/* embed_table.c - see embed_table.h. POSIX. */
#define _POSIX_C_SOURCE 200809L
#include "text/embed_table.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"

#include <pthread.h>
#include <stdatomic.h>

/* Bytes of a row that are read from the file at a time, when they have to be widened. */
enum { READ_PIECE = 8192 };

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
    char *path; /* for messages */
    oc_map map;
    oc_tensor rows;       /* [vocab, hidden] */
    atomic_bool by_reads; /* it is larger than a holder's budget: no row through the mapping */
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

static void free_table(oc_embed_table *table)
{
    oc_map_close(&table->map);
    oc_free(table->path);
    oc_free(table);
}

/* The least of the holders' budgets holds; what is resident by now is given back. */
static void lower_budget(oc_embed_table *table, uint64_t budget)
{
    if (budget < table->rows.bytes && !atomic_exchange(&table->by_reads, true)) {
        oc_map_release_pages(&table->map, table->map.bytes, table->map.size);
    }
}

/* Maps the file and looks at its size. */
static ocelli_status open_table(oc_embed_table *fresh, const char *path, size_t bytes,
                                bool exact_file, ocelli_error *err)
{
    fresh->path = oc_strdup(path);
    if (fresh->path == NULL) {
        return oc_fail_memory(err, path);
    }
    OC_TRY(oc_map_open(&fresh->map, path, &fresh->key.file, err));
    OC_TRY(check_size(path, &fresh->key, bytes, exact_file, err));
    fresh->rows = (oc_tensor){
        .data = fresh->map.bytes + fresh->key.offset,
        .bytes = bytes,
        .dtype = fresh->key.dtype,
        .rank = 2,
        .shape = {(int64_t)fresh->key.vocab, (int64_t)fresh->key.hidden, 1, 1, 1, 1, 1, 1}};
    /* Rows are read in no order: reading ahead would fetch what nobody asked for. */
    oc_map_expect_random(&fresh->map);
    atomic_init(&fresh->by_reads, false);
    return OCELLI_OK;
}

ocelli_status oc_embed_table_acquire(oc_embed_table **out, const char *path, uint64_t offset,
                                     oc_dtype dtype, size_t vocab, size_t hidden, bool exact_file,
                                     uint64_t budget, ocelli_error *err)
{
    *out = NULL;
    if (vocab == 0 || hidden == 0 || vocab > INT32_MAX || !oc_dtype_is_weight(dtype)) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "%s: no table of %zu x %zu %s can be read", path,
                       vocab, hidden, oc_dtype_label(dtype));
    }
    size_t row_bytes;
    size_t bytes;
    if (!oc_dtype_bytes(dtype, hidden, &row_bytes) || !oc_size_mul(vocab, row_bytes, &bytes)) {
        return oc_fail(err, OCELLI_E_LIMIT, "%s: a table of %zu x %zu is beyond any file", path,
                       vocab, hidden);
    }
    oc_embed_table *fresh = oc_alloc(1, sizeof *fresh);
    if (fresh == NULL) {
        return oc_fail_memory(err, path);
    }
    fresh->key = (table_key){.offset = offset, .vocab = vocab, .hidden = hidden, .dtype = dtype};
    ocelli_status status = open_table(fresh, path, bytes, exact_file, err);
    if (status != OCELLI_OK) {
        free_table(fresh);
        return status;
    }
    fresh->holders = 1;

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
        free_table(fresh);
    }
    *out = found != NULL ? found : fresh;
    lower_budget(*out, budget);
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
        free_table(table);
    }
}

/* ---- rows ---------------------------------------------------------------------------------- */

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
    OC_TRY(oc_embed_table_check(table, err));
    bool by_reads = atomic_load(&table->by_reads);
    size_t hidden = table->key.hidden;
    for (size_t i = 0; count > 1 && i < count; i++) {
        oc_embed_table_expect(table, (size_t)ids[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (by_reads) {
            OC_TRY(oc_embed_table_read(table, (size_t)ids[i], out + i * hidden, err));
        } else {
            oc_tensor_widen(&table->rows, (size_t)ids[i] * hidden, hidden, out + i * hidden);
        }
    }
    return OCELLI_OK;
}

ocelli_status oc_embed_table_check(const oc_embed_table *table, ocelli_error *err)
{
    return oc_map_check(&table->map, table->path, err);
}

ocelli_status oc_embed_table_read(const oc_embed_table *table, size_t row, float *out,
                                  ocelli_error *err)
{
    const oc_tensor *rows = &table->rows;
    size_t size = oc_dtype_size(table->key.dtype);
    size_t hidden = table->key.hidden;
    uint64_t offset = table->key.offset + oc_tensor_offset(rows, row * hidden);
    if (table->key.dtype == OC_F32) {
        return oc_map_read(&table->map, table->path, offset, out, hidden * size, err);
    }
    unsigned char piece[READ_PIECE];
    size_t most = sizeof piece / size * oc_dtype_block(table->key.dtype); /* whole blocks */
    for (size_t first = 0; first < hidden; first += most) {
        size_t count = hidden - first < most ? hidden - first : most;
        size_t bytes = oc_tensor_offset(rows, count);
        oc_tensor narrow = {.data = piece, .bytes = bytes, .dtype = table->key.dtype};
        OC_TRY(oc_map_read(&table->map, table->path, offset + oc_tensor_offset(rows, first), piece,
                           bytes, err));
        oc_tensor_widen(&narrow, 0, count, out + first);
    }
    return OCELLI_OK;
}

void oc_embed_table_expect(const oc_embed_table *table, size_t row)
{
    size_t bytes = oc_tensor_offset(&table->rows, table->key.hidden);
    oc_map_expect_read(&table->map, table->key.offset + (uint64_t)row * bytes, bytes);
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

uint64_t oc_embed_table_resident_most(const oc_embed_table *table)
{
    return atomic_load(&table->by_reads) ? 0 : table->rows.bytes;
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
