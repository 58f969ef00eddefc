/* batch_run.c - see batch_run.h. The plan, the work and the record of a batch, put together; and what
 * a signal does to it.
 *
 * The tower takes longer over its pictures than somebody who has pressed Ctrl-C waits. So a thread
 * watches for the signal: if the work has not ended by itself soon after, it waits until nothing is
 * being written, says how far the work has come, and ends the process. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "tools/batch_run.h"
#include "tools/batch_names.h"
#include "tools/batch_plan.h"
#include "tools/batch_work.h"
#include "tools/interrupt.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/stable_hash.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Milliseconds that the work has to end by itself. */
#define GRACE 500

typedef struct batch {
    batch_plan plan;
    run run;
    batch_work work;
    pthread_t watcher;
    pthread_mutex_t writing; /* held while something is recorded */
    int ended[2];            /* a pipe: closed at one end when the work has ended */
    bool watched;
    double began;
} batch;

bool batch_is_asked(const cli_options *options)
{
    static const flag_id flags[] = {FLAG_FILES_FROM, FLAG_NULL,         FLAG_MODE,    FLAG_OUT_DIR,
                                    FLAG_EXT,        FLAG_JSONL,        FLAG_SIDECAR, FLAG_PREFIX,
                                    FLAG_BATCH,      FLAG_RETRY_LENGTH, FLAG_LIMIT,   FLAG_STRICT,
                                    FLAG_SHARD};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (options->given[flags[i]]) {
            return true;
        }
    }
    for (size_t i = 0; i < options->operand_count; i++) {
        if (batch_is_folder(options->operands[i]) || batch_is_pattern(options->operands[i])) {
            return true;
        }
    }
    return false;
}

/* ---- the summary --------------------------------------------------------------------------- */

static void say_rate(char *out, size_t size, const batch *b)
{
    double seconds = clock_seconds() - b->began;
    *out = '\0';
    if (b->plan.record.captioned > 0 && b->began > 0 && seconds > 0) {
        snprintf(out, size, ", %.0f pictures an hour",
                 (double)b->plan.record.captioned / seconds * 3600);
    }
}

static void say_end(const batch *b)
{
    char rate[64], left[64] = "", others[64] = "";
    const batch_record *record = &b->plan.record;
    say_rate(rate, sizeof rate, b);
    if (b->plan.left > 0) {
        snprintf(left, sizeof left, ", %zu left", b->plan.left);
    }
    if (b->plan.list.ignored > 0) {
        snprintf(others, sizeof others, "; %zu files are no pictures", b->plan.list.ignored);
    }
    report_note("%zu captioned, %zu skipped, %zu failed%s%s%s", record->captioned, record->skipped,
                record->failed, left, rate, others);
}

static void say_stopped(const batch *b)
{
    const batch_record *record = &b->plan.record;
    size_t done = record->captioned + record->skipped + record->failed;
    report_note(
        "stopped: %zu captioned, %zu skipped, %zu failed, %zu left; the same command goes on "
        "from here",
        record->captioned, record->skipped, record->failed,
        b->plan.count > done ? b->plan.count - done : 0);
}

static void say_times(const batch *b)
{
    const work_times *t = &b->work.times;
    report_plain("load     %10.3f s", b->run.load_seconds);
    report_plain("files    %10.3f s, read and decoded beside the rest", t->file);
    report_plain("encode   %10.3f s, %" PRIu64 " image tokens", t->encode, t->image_tokens);
    report_plain("prefill  %10.3f s, %" PRIu64 " tokens", t->prefill, t->prompt_tokens);
    report_plain("decode   %10.3f s, %" PRIu64 " tokens", t->decode, t->new_tokens);
    report_plain("all      %10.3f s", b->began > 0 ? clock_seconds() - b->began : 0);
}

/* ---- signals ------------------------------------------------------------------------------- */

static void *watch(void *user)
{
    batch *b = user;
    struct pollfd ended = {.fd = b->ended[0], .events = POLLIN};
    if (interrupt_wait(b->ended[0]) || poll(&ended, 1, GRACE) > 0) {
        return NULL;
    }
    pthread_mutex_lock(&b->writing);
    if (poll(&ended, 1, 0) > 0) {
        pthread_mutex_unlock(&b->writing);
        return NULL; /* it has just ended, and says so itself */
    }
    say_stopped(b);
    journal_close(&b->plan.journal, false);
    _exit(EXIT_INTERRUPTED);
}

static int watch_begin(batch *b)
{
    pthread_mutex_init(&b->writing, NULL);
    if (pipe(b->ended) != 0) {
        report_error("no pipe to be had");
        return EXIT_FAILED;
    }
    b->watched = pthread_create(&b->watcher, NULL, watch, b) == 0;
    if (b->watched) {
        interrupt_patience(3); /* the watcher is sooner, unless the disk hangs */
    }
    return EXIT_DONE;
}

static void watch_end(batch *b)
{
    close(b->ended[1]); /* the reading end has ended, which the watcher sees */
    if (b->watched) {
        pthread_join(b->watcher, NULL);
    }
    close(b->ended[0]);
    pthread_mutex_destroy(&b->writing);
}

/* ---- the work ------------------------------------------------------------------------------ */

static int record(void *user, size_t job)
{
    batch *b = user;
    pthread_mutex_lock(&b->writing);
    int code = batch_record_job(&b->plan.record, job);
    pthread_mutex_unlock(&b->writing);
    return code == EXIT_DONE && output_failed() ? EXIT_FAILED : code;
}

static int look(void *user)
{
    const batch *b = user;
    const batch_record *r = &b->plan.record;
    return progress_pieces("captioning", r->captioned + r->skipped + r->failed, b->plan.count,
                           r->captioned, clock_seconds() - b->began);
}

/* The model's folder's or file's name, and which weights it has. A new string; NULL: no memory. */
static char *model_name(const run *r)
{
    char *real = realpath(r->model_path, NULL);
    const char *name = path_name(real != NULL ? real : r->model_path);
    size_t size = strlen(name) + 1;
    char *out = malloc(size);
    if (out != NULL) {
        memcpy(out, name, size);
    }
    free(real);
    return out;
}

/* Which model this is, 32 hexadecimal digits: two hashes over rows of its embedding table, its sizes and
 * the types that its matrices are held in. A checkpoint and its package come to the same where they
 * are held alike. False: the table cannot be read, and a message was given. */
static bool model_fingerprint(const ocelli_model *model, const ocelli_model_info *info,
                              char out[33])
{
    enum { ROWS = 64 };
    int32_t ids[ROWS];
    ocelli_error err = {OCELLI_OK, ""};
    size_t width = (size_t)info->hidden_size;
    float *rows = calloc(ROWS, width * sizeof *rows);
    for (uint64_t i = 0; i < ROWS; i++) {
        ids[i] = (int32_t)(info->vocab_size * i / ROWS);
    }
    if (rows == NULL || ocelli_model_embed(model, ids, ROWS, rows, &err) != OCELLI_OK) {
        report_error("%s", rows == NULL ? "no memory" : err.message);
        free(rows);
        return false;
    }
    uint64_t a = STABLE_HASH_START;
    uint64_t b = info->layers ^ stable_mix(info->vision_layers) ^
                 stable_mix((uint64_t)info->quant << 8 | (uint64_t)info->vision);
    for (size_t i = 0; i < ROWS * width; i++) {
        uint32_t bits;
        memcpy(&bits, &rows[i], sizeof bits);
        a = stable_mix(a ^ bits);
        b = stable_mix(b + bits);
    }
    free(rows);
    snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, a, b);
    return true;
}

/* What needs no model: captions that only lack their file, and what cannot be read. With --jsonl each
 * waits for those before it. */
static int record_first(batch *b)
{
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < b->plan.count; i++) {
        job_state state = b->plan.jobs[i].state;
        if (state == JOB_FAILED || state == JOB_ANSWERED) {
            code = record(b, i);
        }
        if (b->plan.has_lines) {
            break;
        }
    }
    return code == EXIT_DONE && b->plan.has_lines && b->plan.count > 0 ? record(b, 0) : code;
}

static int work_through(batch *b, const cli_options *options)
{
    char *name = NULL;
    char fingerprint[33] = "";
    ocelli_model_info info = {.struct_size = sizeof info};
    int code = EXIT_DONE;
    b->plan.record.model_name = "";
    b->plan.record.fingerprint = "";
    if (b->plan.waiting > 0) {
        code = run_init(&b->run, options);
        code = code == EXIT_DONE ? run_open(&b->run) : code;
        if (code != EXIT_DONE) {
            return code;
        }
        ocelli_model_describe(b->run.model, &info);
        name = model_name(&b->run);
        b->plan.record.model_name = name != NULL ? name : "";
        b->plan.record.fingerprint = fingerprint;
        if (b->plan.has_lines && !model_fingerprint(b->run.model, &info, fingerprint)) {
            free(name);
            return EXIT_FAILED;
        }
    }
    b->began = clock_seconds();
    code = watch_begin(b);
    if (code == EXIT_DONE) {
        code = record_first(b);
        b->work = (batch_work){.run = &b->run,
                               .jobs = b->plan.jobs,
                               .count = b->plan.count,
                               .prompts = b->plan.prompts.count,
                               .prefix = options->prefix,
                               .done = record,
                               .look = look,
                               .user = b};
        if (code == EXIT_DONE && b->plan.waiting > 0) {
            code = batch_work_run(&b->work);
        }
        if (interrupt_pending() && code == EXIT_DONE) {
            code = EXIT_INTERRUPTED;
        }
        if (code == EXIT_DONE) {
            pthread_mutex_lock(&b->writing);
            code = batch_plan_finish(&b->plan);
            pthread_mutex_unlock(&b->writing);
        }
        watch_end(b);
    }
    progress_overall_end();
    b->plan.record.model_name = "";
    b->plan.record.fingerprint = "";
    free(name);
    return code;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static void say_before(const batch_plan *plan)
{
    if (plan->count == 0 && plan->elsewhere == 0) {
        report_warning(plan->list.ignored > 0 ? "no pictures found; %zu files are none"
                                              : "no pictures found",
                       plan->list.ignored);
    }
    if (plan->doubled > 0) {
        report_note("%zu pictures share their name with another (a.jpg and a.png): their captions "
                    "have the whole name, as in a.jpg%s",
                    plan->doubled, plan->options->ext);
    }
}

int batch_run(const cli_options *options)
{
    batch b;
    memset(&b, 0, sizeof b);
    int code = batch_plan_make(&b.plan, options);
    if (code == EXIT_DONE) {
        say_before(&b.plan);
    }
    if (code == EXIT_DONE && options->dry_run) {
        batch_plan_print(&b.plan);
    } else if (code == EXIT_DONE) {
        code = work_through(&b, options);
        if (code == EXIT_INTERRUPTED) {
            say_stopped(&b);
        } else if (b.began > 0) {
            say_end(&b);
        }
        if (code != EXIT_INTERRUPTED && options->timings && b.began > 0) {
            say_times(&b);
        }
        if (code == EXIT_DONE && b.plan.record.failed > 0) {
            code = EXIT_PARTIAL;
        }
    }
    run_close(&b.run);
    batch_plan_close(&b.plan);
    return code;
}
