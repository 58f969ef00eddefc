/* bench_phases.c - see bench_phases.h. */
#include "tools/bench_phases.h"
#include "tools/bench_prompt.h"
#include "tools/bench_run.h"
#include "tools/bench_system.h"
#include "tools/progress.h"
#include "tools/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lengths in tokens. */
enum { SHORT_PROMPT = 32, LONG_PROMPT = 2048, CAPTION_TOKENS = 64, MOST_SESSIONS = 8 };

/* ---- loading ------------------------------------------------------------------------------- */

/* From nothing in memory to the first token of a caption: what loading puts off is paid here. */
static ocelli_status cold_start(bench *b, double *seconds, ocelli_error *err)
{
    ocelli_visual *visual;
    ocelli_result result;
    double part, began = clock_seconds();
    ocelli_status status = bench_open(b, &part, err);
    if (status == OCELLI_OK) {
        status =
            bench_encode_picture(b, BENCH_CAPTION_WIDTH, BENCH_CAPTION_HEIGHT, &visual, &part, err);
    }
    if (status == OCELLI_OK) {
        status = bench_generate(b, visual, "Describe this image.", 1, &result, err);
        ocelli_visual_free(visual);
    }
    *seconds = clock_seconds() - began;
    return status;
}

static int time_loads(bench *b)
{
    bench_runs cold = {.count = 0}, warm = {.count = 0}, start = {.count = 0};
    ocelli_error err;
    double seconds, stays = 0;
    ocelli_status status = OCELLI_OK;
    for (size_t run = 0; run < b->runs && status == OCELLI_OK; run++) {
        stays = system_drop_files(b->path);
        status = bench_open(b, &seconds, &err);
        bench_runs_add(&cold, seconds);
        ocelli_model_close(b->model);
        b->model = NULL;
        if (status == OCELLI_OK) {
            status = bench_open(b, &seconds, &err);
            bench_runs_add(&warm, seconds);
            ocelli_model_close(b->model);
            b->model = NULL;
        }
    }
    if (status == OCELLI_OK && !b->quick) {
        system_drop_files(b->path);
        status = cold_start(b, &seconds, &err);
        bench_runs_add(&start, seconds);
        ocelli_model_close(b->model);
        b->model = NULL;
    }
    int code = bench_code(status, &err);
    if (code != EXIT_DONE) {
        return code;
    }
    if (stays > 0.1) {
        report_warning("%.0f %% of the model's files stay in the page cache, in use by another "
                       "process: 'cold' is not",
                       stays * 100);
    }
    bench_rows_add(&b->rows, BENCH_LOAD, BENCH_SECONDS, &cold, "cold");
    bench_rows_add(&b->rows, BENCH_LOAD, BENCH_SECONDS, &warm, "warm");
    bench_rows_add(&b->rows, BENCH_LOAD, BENCH_SECONDS, &start, "cold, to the first token");
    return EXIT_DONE;
}

/* What the limits are made of. */
static ocelli_status read_sizes(bench *b, ocelli_error *err)
{
    ocelli_memory few = {.struct_size = sizeof few}, many = {.struct_size = sizeof many};
    b->shape.info.struct_size = sizeof b->shape.info;
    ocelli_model_describe(b->model, &b->shape.info);
    ocelli_status status = ocelli_memory_estimate(b->model, 1024, 0, &few, err);
    if (status == OCELLI_OK) {
        status = ocelli_memory_estimate(b->model, 2048, 0, &many, err);
    }
    b->shape.cache_bytes = (double)(many.kv_cache - few.kv_cache) / 1024;
    return status;
}

int bench_load(bench *b)
{
    ocelli_error err;
    double seconds;
    int code = b->wanted[BENCH_LOAD] ? time_loads(b) : EXIT_DONE;
    if (code != EXIT_DONE) {
        return code;
    }
    b->model_options.log = report_log;
    b->model_options.progress = progress_show;
    ocelli_status status = bench_open(b, &seconds, &err);
    if (status == OCELLI_OK) {
        status = read_sizes(b, &err);
    }
    return bench_code(status, &err);
}

int bench_warm_up(bench *b)
{
    ocelli_visual *visual = NULL;
    ocelli_result result;
    ocelli_error err;
    double seconds;
    ocelli_status status = bench_encode_picture(b, 256, 256, &visual, &seconds, &err);
    if (status == OCELLI_OK) {
        status = bench_generate(b, visual, "Describe this image.", 2, &result, &err);
    }
    ocelli_visual_free(visual);
    return bench_code(status, &err);
}

/* ---- encoding ------------------------------------------------------------------------------ */

int bench_encode(bench *b)
{
    static const int sizes[][2] = {{448, 448}, {640, 480}, {1024, 1024}};
    size_t count = b->quick ? 1 : sizeof sizes / sizeof *sizes;
    for (size_t i = 0; i < count; i++) {
        bench_runs runs = {.count = 0};
        ocelli_visual_info info = {.struct_size = sizeof info};
        char name[32];
        for (size_t run = 0; run < b->runs; run++) {
            ocelli_visual *visual;
            ocelli_error err;
            double seconds = 0;
            int code = bench_code(
                bench_encode_picture(b, sizes[i][0], sizes[i][1], &visual, &seconds, &err), &err);
            if (code != EXIT_DONE) {
                return code;
            }
            bench_runs_add(&runs, seconds);
            ocelli_visual_describe(visual, &info);
            ocelli_visual_free(visual);
        }
        snprintf(name, sizeof name, "%dx%d", sizes[i][0], sizes[i][1]);
        bench_row *row = bench_rows_add(&b->rows, BENCH_ENCODE, BENCH_SECONDS, &runs, name);
        if (row != NULL) {
            row->limited = true;
            row->vision = bench_work_encode(&b->shape, (double)info.grid_h, (double)info.grid_w);
            snprintf(row->detail, sizeof row->detail, "%" PRIu64 " tokens", info.tokens);
        }
    }
    return EXIT_DONE;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* A prompt of about so many tokens, and an answer of new_tokens; rows for what is asked. */
static int time_text(bench *b, uint64_t tokens, size_t new_tokens, bool prefill, bool decode)
{
    bench_runs prefills = {.count = 0}, decodes = {.count = 0};
    ocelli_error err;
    ocelli_result result = {0};
    char name[40];
    int code = EXIT_DONE;
    char *text = bench_prompt_text(b->model, tokens, 1, &err);
    if (text == NULL) {
        return bench_code(err.status, &err);
    }
    for (size_t run = 0; run < b->runs && code == EXIT_DONE; run++) {
        code = bench_code(bench_generate(b, NULL, text, new_tokens, &result, &err), &err);
        if (code == EXIT_DONE) {
            bench_runs_add(&prefills, (double)result.prompt_tokens / result.prefill_seconds);
            bench_runs_add(&decodes, (double)(result.new_tokens - 1) / result.decode_seconds);
        }
    }
    free(text);
    if (code == EXIT_DONE && prefill) {
        snprintf(name, sizeof name, "%" PRIu64 " tokens", result.prompt_tokens);
        bench_add_prefill(b, BENCH_PREFILL, name, &prefills, result.prompt_tokens);
    }
    if (code == EXIT_DONE && decode) {
        snprintf(name, sizeof name, "after %" PRIu64 " tokens", result.prompt_tokens);
        bench_add_decode(b, BENCH_DECODE, name, &decodes, result.prompt_tokens,
                         (size_t)result.new_tokens);
    }
    return code;
}

int bench_text(bench *b)
{
    bool prefill = b->wanted[BENCH_PREFILL], decode = b->wanted[BENCH_DECODE];
    static const uint64_t prompts[] = {128, 512};
    size_t count = b->quick ? 1 : sizeof prompts / sizeof *prompts;
    int code = EXIT_DONE;
    for (size_t i = 0; i < count && prefill && code == EXIT_DONE; i++) {
        if (bench_has_context(b, prompts[i] + 1, "a longer prompt")) {
            code = time_text(b, prompts[i], 1, true, false);
        }
    }
    if (code == EXIT_DONE && decode) {
        code = time_text(b, SHORT_PROMPT, b->quick ? 16 : 64, false, true);
    }
    if (code == EXIT_DONE && !b->quick &&
        bench_has_context(b, LONG_PROMPT + 33, "a prompt of 2048 tokens")) {
        code = time_text(b, LONG_PROMPT, decode ? 33 : 1, prefill, decode);
    }
    return code;
}

/* ---- several sessions ---------------------------------------------------------------------- */

typedef struct group {
    ocelli_session *sessions[MOST_SESSIONS];
    size_t count;
} group;

static void close_group(group *g)
{
    for (size_t i = 0; i < g->count; i++) {
        ocelli_session_close(g->sessions[i]);
    }
    g->count = 0;
}

/* Each session has a prompt of its own. */
static ocelli_status open_group(bench *b, group *g, size_t count, char *const *texts,
                                ocelli_error *err)
{
    ocelli_status status = OCELLI_OK;
    for (g->count = 0; g->count < count && status == OCELLI_OK;) {
        const ocelli_part part = {.text = texts[g->count]};
        status = ocelli_session_open(&g->sessions[g->count], b->model, NULL, err);
        if (status == OCELLI_OK) {
            status = ocelli_session_add(g->sessions[g->count++], OCELLI_USER, &part, 1, err);
        }
    }
    return status;
}

static int time_group(bench *b, size_t count, char *const *texts, size_t new_tokens)
{
    bench_runs runs = {.count = 0};
    double prompt = 0, made = 0;
    char name[32];
    for (size_t run = 0; run < b->runs; run++) {
        group g;
        ocelli_error err;
        ocelli_result results[MOST_SESSIONS];
        const ocelli_generate_options options = bench_generate_options(new_tokens);
        ocelli_status status = open_group(b, &g, count, texts, &err);
        for (size_t i = 0; i < count; i++) {
            results[i].struct_size = sizeof results[i];
        }
        if (status == OCELLI_OK) {
            status = ocelli_generate_together(g.sessions, count, &options, bench_stop_on_signal,
                                              NULL, results, &err);
        }
        close_group(&g);
        int code = bench_code(status, &err);
        if (code != EXIT_DONE) {
            return code;
        }
        double seconds = 0; /* each session's share of them */
        prompt = made = 0;
        for (size_t i = 0; i < count; i++) {
            seconds += results[i].decode_seconds;
            made += (double)(results[i].new_tokens - 1);
            prompt += (double)results[i].prompt_tokens / (double)count;
        }
        bench_runs_add(&runs, made / seconds);
    }
    snprintf(name, sizeof name, "%zu session%s", count, count > 1 ? "s" : "");
    bench_row *row = bench_rows_add(&b->rows, BENCH_TOGETHER, BENCH_RATE, &runs, name);
    if (row != NULL) {
        row->limited = true;
        row->answer = bench_work_answer(&b->shape, (double)count, prompt, (double)new_tokens);
        row->amount = made;
        snprintf(row->detail, sizeof row->detail, "after %.0f tokens", prompt);
    }
    return EXIT_DONE;
}

int bench_together(bench *b)
{
    static const size_t counts[] = {1, 2, 4, MOST_SESSIONS};
    char *texts[MOST_SESSIONS] = {NULL};
    size_t sizes = b->quick ? 2 : sizeof counts / sizeof *counts;
    size_t new_tokens = b->quick ? 8 : 33;
    ocelli_error err;
    int code = EXIT_DONE;
    for (size_t i = 0; i < counts[sizes - 1] && code == EXIT_DONE; i++) {
        texts[i] = bench_prompt_text(b->model, SHORT_PROMPT, (unsigned)i + 1, &err);
        code = texts[i] != NULL ? EXIT_DONE : bench_code(err.status, &err);
    }
    for (size_t i = 0; i < sizes && code == EXIT_DONE; i++) {
        code = time_group(b, counts[i], texts, new_tokens);
    }
    for (size_t i = 0; i < MOST_SESSIONS; i++) {
        free(texts[i]);
    }
    return code;
}

/* ---- a caption ----------------------------------------------------------------------------- */

/* One caption: seconds to the first token, and to the last. */
static ocelli_status caption(bench *b, size_t new_tokens, ocelli_visual_info *info,
                             ocelli_result *result, double *first, double *total, ocelli_error *err)
{
    ocelli_visual *visual;
    double seconds, began;
    ocelli_status status =
        bench_encode_picture(b, BENCH_CAPTION_WIDTH, BENCH_CAPTION_HEIGHT, &visual, &seconds, err);
    if (status != OCELLI_OK) {
        return status;
    }
    began = clock_seconds();
    info->struct_size = sizeof *info;
    ocelli_visual_describe(visual, info);
    status = bench_generate(b, visual, "Describe this image.", new_tokens, result, err);
    *total = seconds + clock_seconds() - began;
    *first = *total - result->decode_seconds;
    ocelli_visual_free(visual);
    return status;
}

int bench_caption(bench *b)
{
    bench_runs firsts = {.count = 0}, totals = {.count = 0};
    ocelli_visual_info info = {0};
    ocelli_result result = {0};
    size_t new_tokens = b->quick ? 16 : CAPTION_TOKENS;
    char name[40];
    for (size_t run = 0; run < b->runs; run++) {
        ocelli_error err;
        double first = 0, total = 0;
        int code = bench_code(caption(b, new_tokens, &info, &result, &first, &total, &err), &err);
        if (code != EXIT_DONE) {
            return code;
        }
        bench_runs_add(&firsts, first);
        bench_runs_add(&totals, total);
    }
    for (int whole = 0; whole < 2; whole++) {
        snprintf(name, sizeof name, "%zu tokens", new_tokens);
        bench_row *row = bench_rows_add(&b->rows, BENCH_CAPTION, BENCH_SECONDS,
                                        whole ? &totals : &firsts, whole ? name : "first token");
        if (row == NULL) {
            continue;
        }
        row->limited = true;
        row->vision = bench_work_encode(&b->shape, (double)info.grid_h, (double)info.grid_w);
        row->prompt = bench_work_prefill(&b->shape, (double)result.prompt_tokens);
        if (whole) {
            row->answer = bench_work_answer(&b->shape, 1, (double)result.prompt_tokens,
                                            (double)result.new_tokens);
        }
        snprintf(row->detail, sizeof row->detail, "%dx%d, prompt %" PRIu64, BENCH_CAPTION_WIDTH,
                 BENCH_CAPTION_HEIGHT, result.prompt_tokens);
    }
    return EXIT_DONE;
}

/* ---- memory -------------------------------------------------------------------------------- */

/* What one caption takes, as the program makes it: in a model opened for it, whose tower gives its
 * pages back once it has seen the picture. */
static ocelli_status caption_alone(bench *b, ocelli_error *err)
{
    ocelli_visual *visual;
    ocelli_result result;
    double seconds;
    bool packaged = strcmp(b->shape.info.form, "package") == 0;
    ocelli_status status = OCELLI_OK;
    if (packaged) { /* nothing of it is resident then; a checkpoint would be quantised again */
        ocelli_model_close(b->model);
        b->model = NULL;
    }
    system_reset_peak();
    if (packaged) {
        status = bench_open(b, &seconds, err);
    }
    if (status == OCELLI_OK) {
        status = bench_encode_picture(b, BENCH_CAPTION_WIDTH, BENCH_CAPTION_HEIGHT, &visual,
                                      &seconds, err);
    }
    if (status == OCELLI_OK) {
        ocelli_model_release_vision(b->model);
        status = bench_generate(b, visual, "Describe this image.", b->quick ? 2 : CAPTION_TOKENS,
                                &result, err);
        ocelli_visual_free(visual);
    }
    return status;
}

int bench_memory(bench *b)
{
    uint64_t bytes;
    bench_runs peak = {.count = 0}, pss = {.count = 0}, files = {.count = 0}, large = {.count = 0};
    ocelli_error err;
    int code = bench_code(caption_alone(b, &err), &err);
    if (code != EXIT_DONE) {
        return code;
    }
    if (system_peak_rss(&bytes)) {
        bench_runs_add(&peak, (double)bytes);
    }
    if (system_pss(&bytes)) {
        bench_runs_add(&pss, (double)bytes);
    }
    bench_rows_add(&b->rows, BENCH_MEMORY, BENCH_BYTES, &peak, "peak RSS of a caption");
    if (system_rss_files(&bytes)) {
        bench_runs_add(&files, (double)bytes);
    }
    if (system_large_files(&bytes)) {
        bench_runs_add(&large, (double)bytes);
    }
    bench_rows_add(&b->rows, BENCH_MEMORY, BENCH_BYTES, &pss, "PSS after it");
    bench_rows_add(&b->rows, BENCH_MEMORY, BENCH_BYTES, &files, "mapped files in memory");
    bench_rows_add(&b->rows, BENCH_MEMORY, BENCH_BYTES, &large, "of them in large pages");
    return EXIT_DONE;
}
