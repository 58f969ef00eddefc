/* embed_table.c - see embed_table.h. POSIX. */
#define _POSIX_C_SOURCE 200809L
#include "text/embed_table.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a first touch of a row may map besides it: Linux maps the neighbours that are in the page
 * cache too, up to an aligned block of 64 KiB at either end. */
enum { FAULT_AROUND = 64 << 10 };

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
    oc_map map;
    int descriptor;           /* of the same file; -1: the mapping must do */
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

/* The mapped file once more, to read from; -1 if path now leads elsewhere. */
static int open_again(const char *path, const table_key *key)
{
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0 &&
        (fstat(descriptor, &status) != 0 || (uint64_t)status.st_dev != key->file.device ||
         (uint64_t)status.st_ino != key->file.inode)) {
        close(descriptor);
        return -1;
    }
    if (descriptor >= 0) {
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM); /* only a hint */
    }
    return descriptor;
}

static void free_table(oc_embed_table *table)
{
    if (table->descriptor >= 0) {
        close(table->descriptor);
    }
    oc_map_close(&table->map);
    oc_free(table);
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
    fresh->descriptor = -1;
    fresh->key = (table_key){.offset = offset, .vocab = vocab, .hidden = hidden, .dtype = dtype};
    ocelli_status status = oc_map_open(&fresh->map, path, &fresh->key.file, err);
    if (status == OCELLI_OK) {
        status = check_size(path, &fresh->key, bytes, exact_file, err);
    }
    if (status != OCELLI_OK) {
        free_table(fresh);
        return status;
    }
    fresh->descriptor = open_again(path, &fresh->key);
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
        free_table(fresh);
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
        free_table(table);
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

/* bytes [size] of the file from offset on; false: not all could be read. */
static bool read_at(int descriptor, void *bytes, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(descriptor, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got <= 0) {
            return false; /* an interrupted read too: the mapping has the bytes */
        }
        done += (size_t)got;
    }
    return true;
}

static bool read_row(const oc_embed_table *table, size_t row, float *out)
{
    size_t size = oc_dtype_size(table->key.dtype);
    size_t hidden = table->key.hidden;
    uint64_t offset = table->key.offset + (uint64_t)row * hidden * size;
    if (table->descriptor < 0) {
        return false;
    }
    if (table->key.dtype == OC_F32) {
        return read_at(table->descriptor, out, hidden * size, offset);
    }
    unsigned char piece[READ_PIECE];
    size_t most = sizeof piece / size;
    for (size_t first = 0; first < hidden; first += most) {
        size_t count = hidden - first < most ? hidden - first : most;
        oc_tensor narrow = {.data = piece, .bytes = count * size, .dtype = table->key.dtype};
        if (!read_at(table->descriptor, piece, count * size, offset + first * size)) {
            return false;
        }
        oc_tensor_widen(&narrow, 0, count, out + first);
    }
    return true;
}

void oc_embed_table_read(const oc_embed_table *table, size_t row, float *out)
{
    if (!read_row(table, row, out)) {
        oc_embed_table_row(table, row, out);
        count_resident(table);
    }
}

void oc_embed_table_expect(const oc_embed_table *table, size_t row)
{
    uint64_t bytes = (uint64_t)table->key.hidden * oc_dtype_size(table->key.dtype);
    if (table->descriptor >= 0) {
        posix_fadvise(table->descriptor, (off_t)(table->key.offset + row * bytes), (off_t)bytes,
                      POSIX_FADV_WILLNEED); /* only a hint */
    }
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
