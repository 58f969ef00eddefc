/* bench_scale.c - cost over size: pictures and prompts from small to the largest, each with the memory
 * that it took beside what was told beforehand. */
#include "tools/bench_prompt.h"
#include "tools/bench_run.h"
#include "tools/bench_system.h"
#include "tools/progress.h"
#include "tools/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tokens of an answer after a long prompt; the first is the prompt's own. */
enum { ANSWER_TOKENS = 17 };
/* What takes longer at least is said beforehand. */
enum { LONG_SECONDS = 30 };

static void warn_if_long(const bench *b, const char *what, const bench_work *vision,
                         const bench_work *prompt)
{
    static const bench_work none = {0, 0, 0};
    double seconds = bench_limit_seconds(&b->shape, &b->looks[b->look_count - 1].machine,
                                         vision != NULL ? vision : &none,
                                         prompt != NULL ? prompt : &none, &none);
    if (seconds > LONG_SECONDS) {
        report_note("%s: %.0f s at least, by the machine's limit", what, seconds);
    }
}

static size_t runs_of(const bench *b)
{
    return b->options->runs > 0 ? b->runs : 1;
}

/* The peak since the last reset, in the row that was added last. */
static void note_memory(bench *b, uint64_t told)
{
    bench_row *row = b->rows.count > 0 ? &b->rows.items[b->rows.count - 1] : NULL;
    if (row != NULL) {
        row->told_bytes = told;
        if (!system_peak_rss(&row->peak_bytes)) {
            row->peak_bytes = 0;
        }
    }
}

/* What --dry-run says of a picture or a text and an answer of so many tokens. */
static ocelli_status tell_memory(bench *b, const ocelli_visual *visual, const char *text,
                                 size_t new_tokens, uint64_t *told, ocelli_error *err)
{
    ocelli_session *session;
    const ocelli_part parts[2] = {{.visual = visual}, {.text = text}};
    ocelli_session_plan plan = {.struct_size = sizeof plan,
                                .memory = {.struct_size = sizeof plan.memory}};
    ocelli_status status = ocelli_session_open(&session, b->model, NULL, err);
    if (status != OCELLI_OK) {
        return status;
    }
    status = visual != NULL ? ocelli_session_add(session, OCELLI_USER, parts, 2, err)
                            : ocelli_session_add(session, OCELLI_USER, parts + 1, 1, err);
    if (status == OCELLI_OK) {
        status = ocelli_session_describe(session, new_tokens, &plan, err);
    }
    ocelli_session_close(session);
    *told = plan.memory.total;
    return status;
}

/* ---- pictures ------------------------------------------------------------------------------ */

/* As any caller's picture: shrunk where the model's bounds say so. */
static ocelli_status look_at(bench *b, const ocelli_image *image, bool plan_only,
                             ocelli_visual **out, ocelli_error *err)
{
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    options.plan_only = plan_only;
    return ocelli_encode_image(out, b->model, image, &options, err);
}

static ocelli_status time_picture(bench *b, const ocelli_image *image, const char *name,
                                  bench_runs *runs, ocelli_visual_info *info, uint64_t *told,
                                  ocelli_error *err)
{
    ocelli_visual *visual;
    ocelli_status status = look_at(b, image, true, &visual, err);
    if (status != OCELLI_OK) {
        return status;
    }
    ocelli_visual_describe(visual, info);
    status = tell_memory(b, visual, "What is it?", 1, told, err);
    ocelli_visual_free(visual);
    bench_work work = bench_work_encode(&b->shape, (double)info->grid_h, (double)info->grid_w);
    warn_if_long(b, name, &work, NULL);
    system_reset_peak();
    bench_rows_begin(&b->rows);
    for (size_t run = 0; run < runs_of(b) && status == OCELLI_OK; run++) {
        double began = clock_seconds();
        status = look_at(b, image, false, &visual, err);
        bench_runs_add(runs, clock_seconds() - began);
        if (status == OCELLI_OK) {
            ocelli_visual_free(visual);
        }
    }
    return status;
}

static int scale_picture(bench *b, int side)
{
    bench_runs runs = {.count = 0};
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_image *image;
    ocelli_error err;
    uint64_t told = 0;
    char name[40];
    snprintf(name, sizeof name, "encode %dx%d", side, side);
    ocelli_status status = bench_picture(&image, side, side, 0, &err);
    if (status == OCELLI_OK) {
        status = time_picture(b, image, name, &runs, &info, &told, &err);
        ocelli_image_free(image);
    }
    int code = bench_code(status, &err);
    bench_row *row = code == EXIT_DONE
                         ? bench_rows_add(&b->rows, BENCH_SIZES, BENCH_SECONDS, &runs, name)
                         : NULL;
    if (row == NULL) {
        return code;
    }
    row->limited = true;
    row->vision = bench_work_encode(&b->shape, (double)info.grid_h, (double)info.grid_w);
    int used = snprintf(row->detail, sizeof row->detail, "%" PRIu64 " tokens", info.tokens);
    if (info.width != side || info.height != side) {
        snprintf(row->detail + used, sizeof row->detail - (size_t)used, ", resized to %dx%d",
                 info.width, info.height);
    }
    note_memory(b, told);
    return code;
}

/* ---- prompts ------------------------------------------------------------------------------- */

static int time_prompt(bench *b, const char *text, uint64_t tokens, size_t new_tokens)
{
    bench_runs prefills = {.count = 0}, decodes = {.count = 0};
    ocelli_result result = {0};
    ocelli_error err;
    uint64_t told = 0;
    char name[40];
    bench_work work = bench_work_prefill(&b->shape, (double)tokens);
    snprintf(name, sizeof name, "prefill %" PRIu64 " tokens", tokens);
    warn_if_long(b, name, NULL, &work);
    ocelli_status status = tell_memory(b, NULL, text, new_tokens, &told, &err);
    system_reset_peak();
    bench_rows_begin(&b->rows);
    for (size_t run = 0; run < runs_of(b) && status == OCELLI_OK; run++) {
        status = bench_generate(b, NULL, text, new_tokens, &result, &err);
        bench_runs_add(&prefills, (double)result.prompt_tokens / result.prefill_seconds);
        bench_runs_add(&decodes, (double)(result.new_tokens - 1) / result.decode_seconds);
    }
    int code = bench_code(status, &err);
    if (code != EXIT_DONE) {
        return code;
    }
    snprintf(name, sizeof name, "prefill %" PRIu64 " tokens", result.prompt_tokens);
    bench_add_prefill(b, BENCH_SIZES, name, &prefills, result.prompt_tokens);
    note_memory(b, told);
    if (new_tokens > 1) {
        snprintf(name, sizeof name, "decode after %" PRIu64, result.prompt_tokens);
        bench_add_decode(b, BENCH_SIZES, name, &decodes, result.prompt_tokens,
                         (size_t)result.new_tokens);
        note_memory(b, told);
    }
    return code;
}

static int scale_prompt(bench *b, uint64_t tokens, size_t new_tokens)
{
    ocelli_error err;
    char what[48];
    snprintf(what, sizeof what, "a prompt of %" PRIu64 " tokens", tokens);
    if (!bench_has_context(b, tokens + new_tokens, what)) {
        return EXIT_DONE;
    }
    char *text = bench_prompt_text(b->model, tokens, 1, &err);
    int code =
        text != NULL ? time_prompt(b, text, tokens, new_tokens) : bench_code(err.status, &err);
    free(text);
    return code;
}

int bench_scale(bench *b)
{
    static const int sides[] = {256, 512, 1024, 2048, 4096};
    static const uint64_t prompts[] = {512, 2048, 8192, 32768};
    int code = EXIT_DONE;
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts && code == EXIT_DONE; i++) {
        code = scale_prompt(b, prompts[i], i == 0 ? 1 : ANSWER_TOKENS);
        code = code == EXIT_DONE ? bench_look_at_machine(b) : code;
    }
    for (size_t i = 0; i < sizeof sides / sizeof *sides && code == EXIT_DONE; i++) {
        code = scale_picture(b, sides[i]);
        code = code == EXIT_DONE ? bench_look_at_machine(b) : code;
    }
    return code;
}
