/* bench_run.c - see bench_run.h. */
#include "tools/bench_run.h"
#include "tools/bench_prompt.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/report.h"

#include <inttypes.h>
#include <stdio.h>

ocelli_generate_options bench_generate_options(size_t tokens)
{
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = tokens;
    options.stop_repetition = 0;
    options.ignore_stop = 1;
    options.progress = progress_show;
    return options;
}

int bench_stop_on_signal(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
    return interrupt_pending();
}

int bench_code(ocelli_status status, const ocelli_error *err)
{
    progress_end();
    if (interrupt_pending()) {
        return EXIT_INTERRUPTED;
    }
    return status == OCELLI_OK ? EXIT_DONE : report_failure(err);
}

bool bench_has_context(const bench *b, uint64_t tokens, const char *what)
{
    if (b->shape.info.context_tokens >= tokens) {
        return true;
    }
    report_note("%s: left out, since the model's context is %" PRIu64 " tokens", what,
                b->shape.info.context_tokens);
    return false;
}

ocelli_status bench_encode_picture(bench *b, int width, int height, ocelli_visual **out,
                                   double *seconds, ocelli_error *err)
{
    ocelli_image *image;
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    ocelli_status status = bench_picture(&image, width, height, 0, err);
    if (status != OCELLI_OK) {
        return status;
    }
    options.max_pixels = (uint64_t)width * (uint64_t)height;
    if (options.max_pixels < b->shape.info.image_max_pixels) {
        options.max_pixels = 0;
    }
    double began = clock_seconds();
    status = ocelli_encode_image(out, b->model, image, &options, err);
    *seconds = clock_seconds() - began;
    ocelli_image_free(image);
    return status;
}

ocelli_status bench_generate(bench *b, const ocelli_visual *visual, const char *text,
                             size_t new_tokens, ocelli_result *result, ocelli_error *err)
{
    ocelli_session *session;
    const ocelli_part parts[2] = {{.visual = visual}, {.text = text}};
    const ocelli_generate_options options = bench_generate_options(new_tokens);
    result->struct_size = sizeof *result;
    ocelli_status status = ocelli_session_open(&session, b->model, NULL, err);
    if (status != OCELLI_OK) {
        return status;
    }
    status = visual != NULL ? ocelli_session_add(session, OCELLI_USER, parts, 2, err)
                            : ocelli_session_add(session, OCELLI_USER, parts + 1, 1, err);
    if (status == OCELLI_OK) {
        status =
            ocelli_session_generate(session, &options, bench_stop_on_signal, NULL, result, err);
    }
    ocelli_session_close(session);
    return status;
}

ocelli_status bench_open(bench *b, double *seconds, ocelli_error *err)
{
    double began = clock_seconds();
    ocelli_status status = ocelli_model_open(&b->model, b->path, &b->model_options, err);
    *seconds = clock_seconds() - began;
    return status;
}

void bench_add_prefill(bench *b, bench_group group, const char *name, const bench_runs *runs,
                       uint64_t tokens)
{
    bench_row *row = bench_rows_add(&b->rows, group, BENCH_RATE, runs, name);
    if (row != NULL) {
        row->limited = true;
        row->prompt = bench_work_prefill(&b->shape, (double)tokens);
        row->amount = (double)tokens;
    }
}

void bench_add_decode(bench *b, bench_group group, const char *name, const bench_runs *runs,
                      uint64_t prompt, size_t new_tokens)
{
    bench_row *row = bench_rows_add(&b->rows, group, BENCH_RATE, runs, name);
    if (row != NULL) {
        row->limited = true;
        row->answer = bench_work_answer(&b->shape, 1, (double)prompt, (double)new_tokens);
        row->amount = (double)(new_tokens - 1);
        snprintf(row->detail, sizeof row->detail, "%zu tokens", new_tokens - 1);
    }
}

int bench_look_at_machine(bench *b)
{
    ocelli_machine now = {.struct_size = sizeof now};
    ocelli_error err;
    ocelli_machine *best = &b->machine;
    double began = clock_seconds();
    if (b->look_count == BENCH_MOST_LOOKS) {
        return EXIT_DONE;
    }
    if (ocelli_machine_measure((int)b->options->threads, b->options->cpu, &now, &err) !=
        OCELLI_OK) {
        return report_failure(&err);
    }
    b->looks[b->look_count++] = (bench_look){(began + clock_seconds()) / 2, now};
    const double *from[] = {&now.read_bytes_per_second, &now.f32_operations_per_second,
                            &now.bf16_operations_per_second, &now.int8_operations_per_second};
    double *to[] = {&best->read_bytes_per_second, &best->f32_operations_per_second,
                    &best->bf16_operations_per_second, &best->int8_operations_per_second};
    best->cpu_tier = now.cpu_tier;
    best->threads = now.threads;
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
        *to[i] = *from[i] > *to[i] ? *from[i] : *to[i];
    }
    return interrupt_pending() ? EXIT_INTERRUPTED : EXIT_DONE;
}
