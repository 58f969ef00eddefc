/* test_embed_table.c - gathered rows, one mapping for all, and what of it is in memory. */
#define _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "text/embed_table.h"

#include "runtime/weights/weights.h"
#include "tests/unit/weights/scratch.h"
#include "tests/unit/weights/smaps.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define MODELS OCELLI_TEST_DATA "/golden/qwen3vl/models/"
#define TOKENS "model.language_model.embed_tokens.weight"

enum { BUDGET = 64 << 20 };

static oc_embed_table *acquire_within(uint64_t budget, const char *path, uint64_t offset,
                                      oc_dtype dtype, size_t vocab, size_t hidden, bool exact)
{
    oc_embed_table *table;
    ocelli_error err = {0};
    cr_assert_eq(
        oc_embed_table_acquire(&table, path, offset, dtype, vocab, hidden, exact, budget, &err),
        OCELLI_OK, "%s", err.message);
    return table;
}

static oc_embed_table *acquire(const char *path, uint64_t offset, oc_dtype dtype, size_t vocab,
                               size_t hidden, bool exact)
{
    return acquire_within(BUDGET, path, offset, dtype, vocab, hidden, exact);
}

/* One row; it must succeed. */
static void gather_one(const oc_embed_table *table, size_t row, float *out)
{
    int32_t id = (int32_t)row;
    ocelli_error err = {0};
    cr_assert_eq(oc_embed_table_gather(table, &id, 1, out, &err), OCELLI_OK, "%s", err.message);
}

static void read_one(const oc_embed_table *table, size_t row, float *out)
{
    ocelli_error err = {0};
    cr_assert_eq(oc_embed_table_read(table, row, out, &err), OCELLI_OK, "%s", err.message);
}

/* Rows out of the middle of a checkpoint, bf16 and f32 alike, against the tensor itself. */
Test(embed_table, gathers_from_a_checkpoint)
{
    static const char *const models[] = {MODELS "t1_bf16", MODELS "t1_f32"};
    static const int32_t ids[] = {511, 0, 7, 7, 256};
    float rows[2][5 * 64];
    for (int m = 0; m < 2; m++) {
        oc_weights *weights;
        ocelli_error err = {0};
        oc_tensor tensor;
        const char *path;
        uint64_t offset;
        cr_assert_eq(oc_weights_open(&weights, models[m], &err), OCELLI_OK, "%s", err.message);
        cr_assert(oc_weights_find(weights, TOKENS, &tensor, NULL));
        cr_assert(oc_weights_locate(weights, TOKENS, &path, &offset));
        oc_embed_table *table = acquire(path, offset, tensor.dtype, 512, 64, false);
        cr_assert_eq(oc_embed_table_vocab(table), 512);
        cr_assert_eq(oc_embed_table_hidden(table), 64);
        cr_assert_eq(oc_embed_table_dtype(table), tensor.dtype);
        cr_assert_eq(oc_embed_table_bytes(table), tensor.bytes);
        cr_assert_eq(oc_embed_table_gather(table, ids, 5, rows[m], &err), OCELLI_OK);
        for (size_t i = 0; i < 5; i++) {
            float expected[64];
            float row[64];
            oc_tensor_widen(&tensor, (size_t)ids[i] * 64, 64, expected);
            gather_one(table, (size_t)ids[i], row);
            cr_assert_eq(memcmp(rows[m] + i * 64, expected, sizeof expected), 0);
            cr_assert_eq(memcmp(row, expected, sizeof expected), 0);
        }
        oc_embed_table_release(table);
        oc_weights_close(weights);
    }
    cr_assert_eq(memcmp(rows[0], rows[1], sizeof rows[0]), 0); /* the same numbers */
}

Test(embed_table, ids_outside)
{
    static const int32_t wrong[] = {4, -1, INT32_MAX, INT32_MIN};
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    float table_rows[4 * 3];
    for (size_t i = 0; i < 12; i++) {
        table_rows[i] = (float)i;
    }
    scratch_write(&folder, "embed_tokens.bin", table_rows, sizeof table_rows);
    scratch_path(&folder, "embed_tokens.bin", path);
    oc_embed_table *table = acquire(path, 0, OC_F32, 4, 3, true);
    for (size_t i = 0; i < 4; i++) {
        int32_t ids[3] = {1, 3, wrong[i]};
        float out[9] = {-5, -5, -5, -5, -5, -5, -5, -5, -5};
        char words[96];
        ocelli_error err = {0};
        cr_assert_eq(oc_embed_table_gather(table, ids, 3, out, &err), OCELLI_E_ARGUMENT);
        snprintf(words, sizeof words,
                 "token id %ld at index 2 is outside the embedding table of 4 rows",
                 (long)wrong[i]);
        cr_assert_str_eq(err.message, words);
        for (size_t k = 0; k < 9; k++) {
            cr_assert_eq(out[k], -5); /* untouched */
        }
        cr_assert_eq(oc_embed_table_gather(table, ids, 2, out, &err), OCELLI_OK);
        cr_assert_eq(out[0], 3);
        cr_assert_eq(out[5], 11);
        cr_assert_eq(out[6], -5);
    }
    cr_assert_eq(oc_embed_table_gather(table, NULL, 0, NULL, NULL), OCELLI_OK);
    oc_embed_table_release(table);
    scratch_close(&folder);
}

static void expect_failure(const char *path, uint64_t offset, oc_dtype dtype, size_t vocab,
                           size_t hidden, bool exact, ocelli_status status, const char *words)
{
    oc_embed_table *table = (oc_embed_table *)&status;
    ocelli_error err = {0};
    cr_assert_eq(
        oc_embed_table_acquire(&table, path, offset, dtype, vocab, hidden, exact, BUDGET, &err),
        status, "%s", err.message);
    cr_assert_not_null(strstr(err.message, words), "\"%s\" does not say \"%s\"", err.message,
                       words);
    cr_assert_not_null(strstr(err.message, path));
    cr_assert_null(table);
}

Test(embed_table, sizes)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    char bytes[64] = {0};
    scratch_path(&folder, "embed_tokens.bin", path);
    scratch_write(&folder, "embed_tokens.bin", bytes, 47);
    expect_failure(path, 0, OC_F32, 4, 3, true, OCELLI_E_FORMAT,
                   "47 bytes, but a table of 4 x 3 f32 has 48; the file is truncated");
    scratch_write(&folder, "embed_tokens.bin", bytes, 49);
    expect_failure(path, 0, OC_F32, 4, 3, true, OCELLI_E_FORMAT,
                   "49 bytes, but a table of 4 x 3 f32 has 48; the file is not of this model");
    expect_failure(path, 2, OC_F32, 4, 3, false, OCELLI_E_FORMAT,
                   "49 bytes, but a table of 4 x 3 f32 from byte 2 needs 48 more");
    expect_failure(path, UINT64_MAX, OC_BF16, 1, 1, false, OCELLI_E_FORMAT, "truncated");
    expect_failure(path, 0, OC_I32, 4, 3, false, OCELLI_E_ARGUMENT, "no table of 4 x 3 i32");
    expect_failure(path, 0, OC_F32, 0, 3, false, OCELLI_E_ARGUMENT, "no table");
    expect_failure(path, 0, OC_F32, 4, 0, false, OCELLI_E_ARGUMENT, "no table");
    expect_failure(path, 0, OC_F32, INT32_MAX, SIZE_MAX / 4, false, OCELLI_E_LIMIT, "beyond any");
    scratch_write(&folder, "embed_tokens.bin", bytes, 0);
    expect_failure(path, 0, OC_F32, 4, 3, true, OCELLI_E_FORMAT, "0 bytes");
    expect_failure(folder.path, 0, OC_F32, 4, 3, true, OCELLI_E_IO, "a folder");
    expect_failure("/nonexistent/embed_tokens.bin", 0, OC_F32, 4, 3, true, OCELLI_E_IO,
                   "No such file");
    /* Unaligned rows are read as well: bf16 1 and 2 from byte 1. */
    memcpy(bytes + 1, "\x80\x3f\x00\x40", 4);
    scratch_write(&folder, "embed_tokens.bin", bytes, 49);
    oc_embed_table *table = acquire(path, 1, OC_BF16, 24, 1, false);
    float row;
    gather_one(table, 0, &row);
    cr_assert_eq(row, 1.0f);
    gather_one(table, 1, &row);
    cr_assert_eq(row, 2.0f);
    oc_embed_table_release(table);
    oc_embed_table_release(NULL);
    scratch_close(&folder);
}

Test(embed_table, is_shared)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    char other[SCRATCH_PATH];
    float rows[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    scratch_path(&folder, "a.bin", path);
    scratch_path(&folder, "b.bin", other);
    scratch_write(&folder, "a.bin", rows, sizeof rows);
    scratch_write(&folder, "b.bin", rows, sizeof rows);
    oc_embed_table *first = acquire(path, 0, OC_F32, 4, 2, true);
    oc_embed_table *second = acquire(path, 0, OC_F32, 4, 2, true);
    cr_assert_eq(oc_embed_table_data(first), oc_embed_table_data(second));
    cr_assert_eq(oc_embed_table_shared(first), 2);
    /* Another name of the same file is the same table. */
    char linked[SCRATCH_PATH];
    cr_assert_eq(symlink(path, scratch_path(&folder, "link.bin", linked)), 0);
    oc_embed_table *third = acquire(linked, 0, OC_F32, 4, 2, true);
    cr_assert_eq(third, first);
    cr_assert_eq(oc_embed_table_shared(first), 3);
    /* Another file, shape, offset or dtype is not. */
    oc_embed_table *others[] = {
        acquire(other, 0, OC_F32, 4, 2, true),  acquire(path, 0, OC_F32, 2, 4, true),
        acquire(path, 8, OC_F32, 3, 2, false),  acquire(path, 0, OC_F16, 4, 2, false),
        acquire(path, 0, OC_BF16, 4, 2, false),
    };
    for (size_t i = 0; i < 5; i++) {
        cr_assert_neq(oc_embed_table_data(others[i]), oc_embed_table_data(first));
        cr_assert_eq(oc_embed_table_shared(others[i]), 1);
        oc_embed_table_release(others[i]);
    }
    /* A file put in its place is another file; those who hold the old one keep it. */
    rows[0] = 100;
    scratch_write(&folder, "new.bin", rows, sizeof rows);
    char fresh[SCRATCH_PATH];
    cr_assert_eq(rename(scratch_path(&folder, "new.bin", fresh), path), 0);
    oc_embed_table *replaced = acquire(path, 0, OC_F32, 4, 2, true);
    cr_assert_neq(oc_embed_table_data(replaced), oc_embed_table_data(first));
    float row[2];
    gather_one(first, 0, row);
    cr_assert_eq(row[0], 1);
    gather_one(replaced, 0, row);
    cr_assert_eq(row[0], 100);
    oc_embed_table_release(replaced);
    /* In whichever order they go, the last one unmaps. */
    const void *data = oc_embed_table_data(first);
    smaps memory;
    bool have_smaps = smaps_read(row, &memory);
    oc_embed_table_release(first);
    cr_assert_eq(oc_embed_table_shared(second), 2);
    gather_one(second, 3, row);
    cr_assert_eq(row[1], 8);
    oc_embed_table_release(third);
    cr_assert_eq(have_smaps, smaps_read(data, &memory));
    oc_embed_table_release(second);
    cr_assert_not(smaps_read(data, &memory));
    scratch_close(&folder);
}

typedef struct table_contest {
    const char *paths[2];
    atomic_int wrong;
} table_contest;

static void *compete(void *user)
{
    table_contest *contest = user;
    static atomic_uint seeds;
    uint32_t seed = atomic_fetch_add(&seeds, 1);
    for (int i = 0; i < 300; i++) {
        oc_embed_table *table;
        float row[4];
        seed = seed * 1664525u + 1013904223u;
        unsigned which = seed >> 31;
        int32_t id = (int32_t)(seed >> 8) & 63;
        if (oc_embed_table_acquire(&table, contest->paths[which], 0, OC_F32, 64, 4, true, BUDGET,
                                   NULL) != OCELLI_OK ||
            oc_embed_table_gather(table, &id, 1, row, NULL) != OCELLI_OK ||
            row[3] != (float)(1000 * (int)which + id) || oc_embed_table_shared(table) < 1) {
            atomic_fetch_add(&contest->wrong, 1);
        }
        oc_embed_table_release(table);
    }
    return NULL;
}

Test(embed_table, eight_threads)
{
    scratch folder = scratch_open();
    char path[2][SCRATCH_PATH];
    static const char *const names[2] = {"a.bin", "b.bin"};
    table_contest contest = {.paths = {path[0], path[1]}};
    for (int which = 0; which < 2; which++) {
        float rows[64 * 4];
        for (int i = 0; i < 256; i++) {
            rows[i] = (float)(1000 * which + i / 4);
        }
        scratch_write(&folder, names[which], rows, sizeof rows);
        scratch_path(&folder, names[which], path[which]);
    }
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, compete, &contest), 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    cr_assert_eq(atomic_load(&contest.wrong), 0);
    oc_embed_table *table = acquire(path[0], 0, OC_F32, 64, 4, true);
    cr_assert_eq(oc_embed_table_shared(table), 1); /* nobody is left */
    oc_embed_table_release(table);
    scratch_close(&folder);
}

/* A sparse file of size bytes. */
static void make_sparse(const scratch *folder, const char *name, off_t size,
                        char path[SCRATCH_PATH])
{
    scratch_write(folder, name, "", 0);
    cr_assert_eq(truncate(scratch_path(folder, name, path), size), 0);
}

/* Two processes that read the same rows have the pages once: each is charged with half of them. */
Test(embed_table, two_processes)
{
    enum { ROWS = 64, HIDDEN = 4096 };
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    make_sparse(&folder, "embed_tokens.bin", (off_t)ROWS * HIDDEN * 4, path);
    static float row[HIDDEN];
    int ready[2];
    int done[2];
    cr_assert_eq(pipe(ready), 0);
    cr_assert_eq(pipe(done), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        /* A process of its own: it opens the file itself, nothing is inherited. */
        oc_embed_table *table;
        char byte = 1;
        bool sound = oc_embed_table_acquire(&table, path, 0, OC_F32, ROWS, HIDDEN, true, BUDGET,
                                            NULL) == OCELLI_OK;
        for (size_t i = 0; sound && i < ROWS; i++) {
            gather_one(table, i, row);
        }
        close(done[1]);
        sound = sound && write(ready[1], &byte, 1) == 1;
        sound = sound && read(done[0], &byte, 1) == 0;
        _exit(sound ? 0 : 1);
    }
    char byte;
    close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    oc_embed_table *table = acquire(path, 0, OC_F32, ROWS, HIDDEN, true);
    for (size_t i = 0; i < ROWS; i++) {
        gather_one(table, i, row);
    }
    smaps memory;
    bool have_smaps = smaps_read(oc_embed_table_data(table), &memory);
    close(done[1]);
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    if (have_smaps) {
        cr_assert_eq(memory.rss, (unsigned long)ROWS * HIDDEN * 4 / 1024);
        cr_assert_leq(memory.pss, memory.rss * 3 / 4, "%lu of %lu KiB", memory.pss, memory.rss);
    }
    oc_embed_table_release(table);
    scratch_close(&folder);
}

/* A table of 32 MiB, written as a download is, so that the page cache may hold it in large folios;
 * row i is i, i + 1, ... */
enum { LARGE_ROWS = 4096, LARGE_HIDDEN = 2048 };

static void make_large(const scratch *folder, char path[SCRATCH_PATH])
{
    float *rows = malloc((size_t)LARGE_ROWS * LARGE_HIDDEN * sizeof *rows);
    cr_assert_not_null(rows);
    for (size_t i = 0; i < (size_t)LARGE_ROWS * LARGE_HIDDEN; i++) {
        rows[i] = (float)(i / LARGE_HIDDEN + i % LARGE_HIDDEN);
    }
    scratch_write(folder, "embed_tokens.bin", rows,
                  (size_t)LARGE_ROWS * LARGE_HIDDEN * sizeof *rows);
    scratch_path(folder, "embed_tokens.bin", path);
    free(rows);
}

/* Gathers rows here and there, checks their values, and gives the most that was resident, in KiB; 0
 * where the system does not tell. */
static unsigned long gather_randomly(const oc_embed_table *table, size_t count)
{
    static float row[LARGE_HIDDEN];
    unsigned long most = 0;
    uint32_t seed = 3;
    smaps memory;
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        size_t id = (seed >> 8) % LARGE_ROWS;
        gather_one(table, id, row);
        cr_assert_eq(row[0], (float)id);
        cr_assert_eq(row[LARGE_HIDDEN - 1], (float)(id + LARGE_HIDDEN - 1));
        if (i % 10 == 0 && smaps_read(oc_embed_table_data(table), &memory) && memory.rss > most) {
            most = memory.rss;
        }
    }
    return most;
}

/* A table beyond its budget: whatever the page cache's folios are, nothing of it is resident, and
 * the values are right. */
Test(embed_table, budget_holds_under_random_ids)
{
    static const uint64_t budgets[] = {0, 1, 1 << 20, 8 << 20, (32 << 20) - 1};
    char path[SCRATCH_PATH];
    scratch folder = scratch_open();
    make_large(&folder, path);
    for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++) {
        oc_embed_table *table =
            acquire_within(budgets[b], path, 0, OC_F32, LARGE_ROWS, LARGE_HIDDEN, true);
        cr_assert_eq(gather_randomly(table, 2000), 0);
        cr_assert_eq(oc_embed_table_resident_most(table), 0);
        oc_embed_table_release(table);
    }
    oc_embed_table *table =
        acquire_within(32 << 20, path, 0, OC_F32, LARGE_ROWS, LARGE_HIDDEN, true);
    cr_assert_leq(gather_randomly(table, 2000), 32 << 10);
    cr_assert_eq(oc_embed_table_resident_most(table), 32 << 20);
    oc_embed_table_release(table);
    scratch_close(&folder);
}

/* A table within its budget stays; another holder with less has it given back at once. */
Test(embed_table, the_least_budget_holds)
{
    const uint64_t all = (uint64_t)LARGE_ROWS * LARGE_HIDDEN * 4;
    static float row[LARGE_HIDDEN];
    char path[SCRATCH_PATH];
    smaps memory = {0, 0};
    scratch folder = scratch_open();
    make_large(&folder, path);
    oc_embed_table *first =
        acquire_within(UINT64_MAX, path, 0, OC_F32, LARGE_ROWS, LARGE_HIDDEN, true);
    cr_assert_eq(oc_embed_table_resident_most(first), all);
    for (size_t i = 0; i < LARGE_ROWS; i++) {
        gather_one(first, i, row);
    }
    if (smaps_read(oc_embed_table_data(first), &memory)) {
        cr_assert_eq(memory.rss, all / 1024);
    }
    oc_embed_table *second =
        acquire_within(8 << 20, path, 0, OC_F32, LARGE_ROWS, LARGE_HIDDEN, true);
    cr_assert_eq(oc_embed_table_data(second), oc_embed_table_data(first));
    cr_assert_eq(oc_embed_table_resident_most(first), 0);
    if (smaps_read(oc_embed_table_data(first), &memory)) {
        cr_assert_eq(memory.rss, 0);
    }
    oc_embed_table_release(second);
    cr_assert_eq(gather_randomly(first, 1000), 0);
    oc_embed_table_release(first);
    scratch_close(&folder);
}

/* Few rows of a large table that may be resident: they and what surrounds them, at most what a page
 * table maps. */
Test(embed_table, memory_follows_the_rows)
{
    enum { ROWS = 20000, HIDDEN = 4096 }; /* 312 MiB */
    static float row[HIDDEN];
    char path[SCRATCH_PATH];
    smaps memory;
    scratch folder = scratch_open();
    make_sparse(&folder, "embed_tokens.bin", (off_t)ROWS * HIDDEN * 4, path);
    oc_embed_table *table = acquire_within(UINT64_MAX, path, 0, OC_F32, ROWS, HIDDEN, true);
    for (size_t id = 0; id < ROWS; id += 1000) {
        gather_one(table, id, row);
    }
    if (smaps_read(oc_embed_table_data(table), &memory)) {
        cr_assert_geq(memory.rss, 20 * 16);
        cr_assert_leq(memory.rss, 20 * (16 + 2048), "%lu KiB", memory.rss);
    }
    oc_embed_table_release(table);
    scratch_close(&folder);
}

/* A file that becomes shorter while it is mapped: a refusal, not the end of the process; and once
 * it is whole again the rows are there. */
Test(embed_table, a_file_that_shrinks)
{
    static float row[LARGE_HIDDEN];
    static const uint64_t budgets[] = {0, BUDGET};
    char path[SCRATCH_PATH];
    scratch folder = scratch_open();
    for (size_t b = 0; b < 2; b++) {
        ocelli_error err = {0};
        int32_t id = LARGE_ROWS - 1;
        make_large(&folder, path);
        oc_embed_table *table =
            acquire_within(budgets[b], path, 0, OC_F32, LARGE_ROWS, LARGE_HIDDEN, true);
        cr_assert_eq(truncate(path, 1 << 20), 0);
        cr_assert_eq(oc_embed_table_gather(table, &id, 1, row, &err), OCELLI_E_IO);
        cr_assert(strstr(err.message, path) != NULL && strstr(err.message, "shorter") != NULL &&
                      strstr(err.message, "1048576") != NULL,
                  "%s", err.message);
        cr_assert_eq(oc_embed_table_read(table, LARGE_ROWS - 1, row, &err), OCELLI_E_IO);
        cr_assert_not_null(strstr(err.message, "shorter"), "%s", err.message);
        cr_assert_eq(oc_embed_table_check(table, NULL), OCELLI_E_IO);
        read_one(table, 3, row); /* it still has these bytes */
        cr_assert_eq(row[1], 4);
        oc_embed_table_release(table);
    }
    scratch_close(&folder);
}

/* Sizes beyond 32 bits: the last rows of a table of 6 GB. */
Test(embed_table, beyond_four_gigabytes)
{
    enum { ROWS = 400000, HIDDEN = 4096 };
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    float mark = 42.0f;
    make_sparse(&folder, "embed_tokens.bin", (off_t)ROWS * HIDDEN * 4, path);
    int file = open(path, O_WRONLY);
    cr_assert_geq(file, 0);
    off_t last = ((off_t)ROWS - 1) * HIDDEN * 4;
    cr_assert_eq(pwrite(file, &mark, sizeof mark, last), (ssize_t)sizeof mark);
    close(file);
    oc_embed_table *table = acquire(path, 0, OC_F32, ROWS, HIDDEN, true);
    cr_assert_eq(oc_embed_table_bytes(table), 6553600000ull);
    static float row[HIDDEN];
    int32_t id = ROWS - 1;
    cr_assert_eq(oc_embed_table_gather(table, &id, 1, row, NULL), OCELLI_OK);
    cr_assert_eq(row[0], 42.0f);
    cr_assert_eq(row[1], 0.0f);
    oc_embed_table_release(table);
    scratch_close(&folder);
}

/* Rows read from the file are the rows of the mapping, whatever the dtype, the offset and the
 * width, and leave nothing of the table in memory. */
Test(embed_table, reads_of_the_file)
{
    enum { ROWS = 40, MOST = 9001 };
    static const oc_dtype dtypes[] = {OC_F32, OC_BF16, OC_F16};
    static const size_t widths[] = {1, 7, 64, MOST}; /* the last in pieces */
    static uint16_t halves[ROWS * MOST * 2 + 2];
    static float row[MOST], expected[MOST];
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        halves[i] = (uint16_t)(0x3c00 + i * 31 % 1021); /* small numbers in all three */
    }
    scratch_write(&folder, "t.bin", halves, sizeof halves);
    scratch_path(&folder, "t.bin", path);
    for (size_t d = 0; d < 3; d++) {
        for (size_t w = 0; w < 4; w++) {
            oc_embed_table *table = acquire(path, 3, dtypes[d], ROWS, widths[w], false);
            for (size_t i = 0; i < ROWS; i++) {
                size_t id = i * 7 % ROWS;
                oc_embed_table_expect(table, id);
                read_one(table, id, row);
                gather_one(table, id, expected);
                cr_assert_eq(memcmp(row, expected, widths[w] * sizeof *row), 0);
            }
            oc_embed_table_release(table);
        }
    }
    oc_embed_table *table = acquire(path, 0, OC_F32, ROWS, MOST, false);
    smaps before, after;
    bool have_smaps = smaps_read(oc_embed_table_data(table), &before);
    for (size_t i = 0; i < ROWS; i++) {
        read_one(table, i, row);
    }
    if (have_smaps) {
        cr_assert(smaps_read(oc_embed_table_data(table), &after));
        cr_assert_eq(after.rss, before.rss);
    }
    oc_embed_table_release(table);
    scratch_close(&folder);
}

/* A file that is removed while it is held. */
Test(embed_table, reads_of_a_removed_file)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    const float rows[4] = {1, 2, 3, 4};
    scratch_write(&folder, "t.bin", rows, sizeof rows);
    scratch_path(&folder, "t.bin", path);
    oc_embed_table *table = acquire(path, 0, OC_F32, 2, 2, true);
    unlink(path);
    float row[2];
    read_one(table, 1, row);
    cr_assert_eq(row[0], 3);
    cr_assert_eq(row[1], 4);
    oc_embed_table_release(table);
    scratch_close(&folder);
}
