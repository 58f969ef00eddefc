/* bench_folder.c - pictures an hour, as 'caption' makes them of a folder: one at a time, and several
 * together, in the same run.
 *
 * One at a time is what a script around 'caption' would reach with a model that stays open: encode,
 * read the prompt, decode. Together, pictures of one size share a pass of the tower, prompts are read
 * beside each other and answers decoded in one batch. Answers have CAPTION_TOKENS tokens each. Nothing
 * here reads files: that costs what the disk and the pictures cost, beside the work. */
#include "tools/bench_prompt.h"
#include "tools/bench_run.h"
#include "tools/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPTION_TOKENS = 64, MOST_TOGETHER = 16 };

#define QUESTION "Describe this image."

/* Seconds of one picture, by phase. */
typedef struct phases {
    double encode, prefill, decode;
} phases;

static ocelli_status one_at_a_time(bench *b, int width, int height, size_t count, size_t tokens,
                                   phases *p, ocelli_error *err)
{
    ocelli_status status = OCELLI_OK;
    for (size_t i = 0; i < count && status == OCELLI_OK; i++) {
        ocelli_visual *visual;
        ocelli_result result;
        double seconds;
        status = bench_encode_picture(b, width, height, &visual, &seconds, err);
        if (status == OCELLI_OK) {
            status = bench_generate(b, visual, QUESTION, tokens, &result, err);
            ocelli_visual_free(visual);
        }
        if (status == OCELLI_OK) {
            p->encode += seconds / (double)count;
            p->prefill += result.prefill_seconds / (double)count;
            p->decode += result.decode_seconds / (double)count;
        }
    }
    return status;
}

/* The pictures of one group, and what they are asked in. */
typedef struct group {
    ocelli_image *images[MOST_TOGETHER];
    ocelli_visual *visuals[MOST_TOGETHER];
    ocelli_session *sessions[MOST_TOGETHER];
    size_t count;
} group;

static void close_group(group *g)
{
    for (size_t i = 0; i < g->count; i++) {
        ocelli_session_close(g->sessions[i]);
        ocelli_visual_free(g->visuals[i]);
        ocelli_image_free(g->images[i]);
    }
}

static ocelli_status encode_group(bench *b, group *g, int width, int height, double *seconds,
                                  ocelli_error *err)
{
    ocelli_status status = OCELLI_OK;
    for (size_t i = 0; i < g->count && status == OCELLI_OK; i++) {
        status = bench_picture(&g->images[i], width, height, (unsigned)i, err);
    }
    double began = clock_seconds();
    if (status == OCELLI_OK) {
        status = ocelli_encode_images(g->visuals, b->model, (const ocelli_image *const *)g->images,
                                      g->count, NULL, err);
    }
    *seconds = clock_seconds() - began;
    return status;
}

static ocelli_status together(bench *b, int width, int height, size_t count, size_t tokens,
                              phases *p, ocelli_error *err)
{
    group g = {.count = count};
    ocelli_result results[MOST_TOGETHER];
    const ocelli_generate_options options = bench_generate_options(tokens);
    double seconds;
    ocelli_status status = encode_group(b, &g, width, height, &seconds, err);
    p->encode += seconds / (double)count;
    for (size_t i = 0; i < count && status == OCELLI_OK; i++) {
        const ocelli_part parts[2] = {{.visual = g.visuals[i]}, {.text = QUESTION}};
        results[i].struct_size = sizeof results[i];
        status = ocelli_session_open(&g.sessions[i], b->model, NULL, err);
        if (status == OCELLI_OK) {
            status = ocelli_session_add(g.sessions[i], OCELLI_USER, parts, 2, err);
        }
    }
    if (status == OCELLI_OK) {
        status = ocelli_generate_together(g.sessions, count, &options, bench_stop_on_signal, NULL,
                                          results, err);
    }
    for (size_t i = 0; i < count && status == OCELLI_OK; i++) {
        p->prefill += results[i].prefill_seconds / (double)count;
        p->decode += results[i].decode_seconds / (double)count;
    }
    close_group(&g);
    return status;
}

static void add_row(bench *b, const bench_runs *runs, const char *name, const phases *p)
{
    bench_row *row = bench_rows_add(&b->rows, BENCH_FOLDER, BENCH_HOURLY, runs, name);
    if (row != NULL) {
        snprintf(row->detail, sizeof row->detail, "each %.2f + %.2f + %.2f s", p->encode,
                 p->prefill, p->decode);
    }
}

static int time_size(bench *b, int width, int height, size_t count, size_t tokens)
{
    bench_runs alone = {.count = 0}, shared = {.count = 0};
    phases p = {0, 0, 0}, q = {0, 0, 0};
    char name[40];
    for (size_t run = 0; run < b->runs; run++) {
        ocelli_error err;
        p = q = (phases){0, 0, 0};
        int code =
            bench_code(one_at_a_time(b, width, height, b->quick ? 1 : 4, tokens, &p, &err), &err);
        if (code == EXIT_DONE) {
            code = bench_code(together(b, width, height, count, tokens, &q, &err), &err);
        }
        if (code != EXIT_DONE) {
            return code;
        }
        bench_runs_add(&alone, 3600 / (p.encode + p.prefill + p.decode));
        bench_runs_add(&shared, 3600 / (q.encode + q.prefill + q.decode));
    }
    snprintf(name, sizeof name, "%dx%d, one at a time", width, height);
    add_row(b, &alone, name, &p);
    snprintf(name, sizeof name, "%dx%d, %zu together", width, height, count);
    add_row(b, &shared, name, &q);
    return EXIT_DONE;
}

int bench_folder(bench *b)
{
    static const int sizes[][2] = {{256, 256}, {640, 480}};
    size_t count = b->quick ? 4 : MOST_TOGETHER;
    size_t tokens = b->quick ? 8 : CAPTION_TOKENS;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int code = time_size(b, sizes[i][0], sizes[i][1], count, tokens);
        if (code != EXIT_DONE) {
            return code;
        }
    }
    return EXIT_DONE;
}
