/* bench_embed.c - the embedding table: what gathering a row costs, warm and from the disk, and what
 * of the table stays in memory, of one process and of several, within the budget and without one.
 *
 * Ids are random, all equally likely, which is the worst that a table can meet. Models are opened
 * to plan only: nothing but the table is read. */
#define _POSIX_C_SOURCE 200809L

#include "tools/bench_run.h"
#include "tools/bench_system.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ids of a long gather, ids of all, and processes. */
enum { BATCH = 512, IDS = 100000, QUICK_IDS = 20000, PROCESSES = 4 };
/* Batches of ids that are timed together. */
enum { TIMED_BATCHES = 20 };

typedef struct reader {
    ocelli_model *model;
    ocelli_model_info info;
    uint64_t seed;
    int32_t ids[BATCH];
    float *rows; /* [BATCH, hidden] */
} reader;

/* What a process has of the table. */
typedef struct footprint {
    uint64_t rss, pss;
} footprint;

static void draw_ids(reader *r, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        r->seed = r->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        r->ids[i] = (int32_t)((r->seed >> 33) % r->info.vocab_size);
    }
}

static void reader_close(reader *r)
{
    ocelli_model_close(r->model);
    free(r->rows);
    memset(r, 0, sizeof *r);
}

static ocelli_status reader_open(reader *r, const bench *b, uint64_t budget, uint64_t seed,
                                 ocelli_error *err)
{
    ocelli_model_options options = b->model_options;
    memset(r, 0, sizeof *r);
    options.plan_only = 1;
    options.embed_budget = budget;
    options.threads = 1;
    ocelli_status status = ocelli_model_open(&r->model, b->path, &options, err);
    if (status != OCELLI_OK) {
        return status;
    }
    r->info.struct_size = sizeof r->info;
    ocelli_model_describe(r->model, &r->info);
    r->seed = seed;
    r->rows = calloc((size_t)r->info.hidden_size * BATCH, sizeof *r->rows);
    if (r->rows == NULL) {
        reader_close(r);
        *err = (ocelli_error){OCELLI_E_MEMORY, "no memory"};
        return OCELLI_E_MEMORY;
    }
    return OCELLI_OK;
}

/* The rows of ids [count], so many at a time. */
static ocelli_status gather(reader *r, size_t count, size_t at_a_time, ocelli_error *err)
{
    ocelli_status status = OCELLI_OK;
    for (size_t i = 0; i < count && status == OCELLI_OK; i += at_a_time) {
        status = ocelli_model_embed(r->model, r->ids + i, at_a_time, r->rows, err);
    }
    return status;
}

static size_t ids_of(const bench *b)
{
    return b->quick ? QUICK_IDS : IDS;
}

/* ---- time ---------------------------------------------------------------------------------- */

/* The whole table, in order: into the page cache. */
static ocelli_status read_all(reader *r, ocelli_error *err)
{
    ocelli_status status = OCELLI_OK;
    for (uint64_t first = 0; first < r->info.vocab_size && status == OCELLI_OK; first += BATCH) {
        size_t count = 0;
        for (; count < BATCH && first + count < r->info.vocab_size; count++) {
            r->ids[count] = (int32_t)(first + count);
        }
        status = gather(r, count, count, err);
    }
    return status;
}

/* Adds the seconds of one row. */
static ocelli_status time_gathers(reader *r, size_t at_a_time, bench_runs *runs, ocelli_error *err)
{
    ocelli_status status = OCELLI_OK;
    double seconds = 0;
    for (size_t i = 0; i < TIMED_BATCHES && status == OCELLI_OK; i++) {
        draw_ids(r, BATCH);
        double began = clock_seconds();
        status = gather(r, BATCH, at_a_time, err);
        seconds += clock_seconds() - began;
    }
    bench_runs_add(runs, seconds / (TIMED_BATCHES * BATCH));
    return status;
}

/* The limit of a row's time is that of reading its bytes once. */
static void add_time(bench *b, const bench_runs *runs, const char *name, const reader *r)
{
    bench_row *row = bench_rows_add(&b->rows, BENCH_EMBED, BENCH_SECONDS, runs, name);
    if (row != NULL) {
        row->limited = true;
        row->answer.bytes = (double)r->info.embed_bytes / (double)r->info.vocab_size;
        snprintf(row->detail, sizeof row->detail, "a row of %.0f bytes, %s", row->answer.bytes,
                 r->info.embed_dtype);
    }
}

static ocelli_status time_warm(bench *b, ocelli_error *err)
{
    bench_runs one = {.count = 0}, many = {.count = 0};
    reader r;
    ocelli_status status = reader_open(&r, b, b->model_options.embed_budget, 1, err);
    if (status != OCELLI_OK) {
        return status;
    }
    status = read_all(&r, err);
    for (size_t run = 0; run < b->runs && status == OCELLI_OK; run++) {
        status = time_gathers(&r, 1, &one, err);
        if (status == OCELLI_OK) {
            status = time_gathers(&r, BATCH, &many, err);
        }
    }
    if (status == OCELLI_OK) {
        add_time(b, &one, "a row, 1 at a time", &r);
        add_time(b, &many, "a row, 512 at a time", &r);
    }
    reader_close(&r);
    return status;
}

/* The first gather of a process that has nothing of the table in the page cache. */
static ocelli_status time_cold(bench *b, size_t count, const char *name, ocelli_error *err)
{
    bench_runs runs = {.count = 0};
    ocelli_status status = OCELLI_OK;
    double stays = 0;
    for (size_t run = 0; run < b->runs && status == OCELLI_OK; run++) {
        reader r;
        double dropped = system_drop_files(b->path);
        stays = dropped > stays ? dropped : stays;
        status = reader_open(&r, b, b->model_options.embed_budget, 77 + run, err);
        if (status == OCELLI_OK) {
            draw_ids(&r, count);
            double began = clock_seconds();
            status = gather(&r, count, count, err);
            bench_runs_add(&runs, clock_seconds() - began);
            reader_close(&r);
        }
    }
    if (stays > 0.1) {
        report_warning("%.0f %% of the model's files stay in the page cache, in use by another "
                       "process: 'cold' is not",
                       stays * 100);
    }
    if (status == OCELLI_OK) {
        bench_rows_add(&b->rows, BENCH_EMBED, BENCH_SECONDS, &runs, name);
    }
    return status;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* What the parent lets the processes do, by closing its end of a pipe: look at their memory when
 * all have read, and leave when all have looked. */
typedef struct gates {
    int look[2], leave[2];
} gates;

static bool wait_for(int gate)
{
    char byte;
    return read(gate, &byte, 1) == 0;
}

/* In a process of its own: gathers, says so, and tells what it has. */
static bool be_reader(const bench *b, uint64_t budget, uint64_t seed, int said, const gates *g)
{
    reader r;
    ocelli_error err;
    footprint before = {0, 0}, after = {0, 0}, most = {0, 0};
    char byte = 1;
    bool sound = reader_open(&r, b, budget, seed, &err) == OCELLI_OK;
    (void)system_rss_files(&before.rss);
    (void)system_pss_files(&before.pss);
    for (size_t done = 0; sound && done < ids_of(b); done += BATCH) {
        draw_ids(&r, BATCH);
        sound = gather(&r, BATCH, BATCH, &err) == OCELLI_OK && !interrupt_pending();
        if (system_rss_files(&after.rss) && after.rss > most.rss) {
            most.rss = after.rss;
        }
    }
    sound = sound && write(said, &byte, 1) == 1 && wait_for(g->look[0]);
    (void)system_pss_files(&after.pss);
    most.rss = most.rss > before.rss ? most.rss - before.rss : 0;
    most.pss = after.pss > before.pss ? after.pss - before.pss : 0;
    return sound && write(said, &most, sizeof most) == (ssize_t)sizeof most &&
           wait_for(g->leave[0]);
}

typedef struct child {
    pid_t process;
    int said; /* by it, to read */
} child;

static bool start_reader(const bench *b, uint64_t budget, size_t index, const gates *g,
                         child *children)
{
    int said[2];
    if (pipe(said) != 0) {
        return false;
    }
    pid_t process = fork();
    if (process == 0) {
        close(g->look[1]);
        close(g->leave[1]);
        close(said[0]);
        for (size_t i = 0; i < index; i++) {
            close(children[i].said);
        }
        _exit(be_reader(b, budget, 1000 + index, said[1], g) ? 0 : 1);
    }
    close(said[1]);
    if (process < 0) {
        close(said[0]);
        return false;
    }
    children[index] = (child){process, said[0]};
    return true;
}

/* So many processes at once; the median of what each has. False: not all came through. */
static bool measure_processes(const bench *b, uint64_t budget, size_t count, bench_runs *rss,
                              bench_runs *pss)
{
    child children[PROCESSES];
    gates g;
    size_t started = 0;
    char byte;
    if (pipe(g.look) != 0) {
        return false;
    }
    if (pipe(g.leave) != 0) {
        close(g.look[0]);
        close(g.look[1]);
        return false;
    }
    while (started < count && start_reader(b, budget, started, &g, children)) {
        started++;
    }
    bool sound = started == count;
    for (size_t i = 0; i < started; i++) {
        sound = read(children[i].said, &byte, 1) == 1 && sound;
    }
    close(g.look[0]);
    close(g.look[1]);
    for (size_t i = 0; i < started; i++) {
        footprint found;
        if (read(children[i].said, &found, sizeof found) == (ssize_t)sizeof found) {
            bench_runs_add(rss, (double)found.rss);
            bench_runs_add(pss, (double)found.pss);
        }
    }
    close(g.leave[0]);
    close(g.leave[1]);
    for (size_t i = 0; i < started; i++) {
        int status;
        close(children[i].said);
        sound =
            waitpid(children[i].process, &status, 0) == children[i].process && status == 0 && sound;
    }
    return sound;
}

static int measure_memory(bench *b)
{
    const struct {
        uint64_t budget;
        size_t processes;
        const char *rss, *pss;
    } cases[] = {
        {b->model_options.embed_budget, 1, "RSS", "PSS"},
        {b->model_options.embed_budget, PROCESSES, "RSS of each of 4", "PSS of each of 4"},
        {UINT64_MAX, 1, "RSS, no budget", "PSS, no budget"},
        {UINT64_MAX, PROCESSES, "RSS of each of 4, no budget", "PSS of each of 4, no budget"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench_runs rss = {.count = 0}, pss = {.count = 0};
        bool sound = measure_processes(b, cases[i].budget, cases[i].processes, &rss, &pss);
        if (interrupt_pending()) {
            return EXIT_INTERRUPTED;
        }
        if (!sound) {
            report_error("embed: a process that reads the table came to nothing");
            return EXIT_FAILED;
        }
        bench_row *row = bench_rows_add(&b->rows, BENCH_EMBED, BENCH_BYTES, &rss, cases[i].rss);
        if (row != NULL) {
            snprintf(row->detail, sizeof row->detail, "most over %zu random ids", ids_of(b));
        }
        bench_rows_add(&b->rows, BENCH_EMBED, BENCH_BYTES, &pss, cases[i].pss);
    }
    return EXIT_DONE;
}

int bench_embed(bench *b)
{
    ocelli_error err;
    int code = bench_code(time_warm(b, &err), &err);
    if (code == EXIT_DONE) {
        code = measure_memory(b);
    }
    bench_rows_begin(&b->rows);
    if (code == EXIT_DONE) {
        code = bench_code(time_cold(b, 1, "from the disk, 1 row", &err), &err);
    }
    if (code == EXIT_DONE) {
        code = bench_code(time_cold(b, BATCH, "from the disk, 512 rows", &err), &err);
    }
    return code;
}
