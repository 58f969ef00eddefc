/* bench_run.h - what the phases of a benchmark are made of: opening, encoding, answering, and rows. */
#ifndef OCELLI_TOOLS_BENCH_RUN_H
#define OCELLI_TOOLS_BENCH_RUN_H

#include "tools/bench_phases.h"

enum { BENCH_CAPTION_WIDTH = 640, BENCH_CAPTION_HEIGHT = 480 };

/* Answers of so many tokens that never stop by themselves: what is measured is the same for every
 * model. */
ocelli_generate_options bench_generate_options(size_t tokens);
/* An ocelli_piece_fn. */
int bench_stop_on_signal(void *user, const char *text, size_t length);

/* The exit code of a call of the library. */
int bench_code(ocelli_status status, const ocelli_error *err);

/* False after a note that what is left out. */
bool bench_has_context(const bench *b, uint64_t tokens, const char *what);

/* Measures the machine; each row will be held against the look nearest to it in time. The best of all
 * is kept beside. An exit code. */
int bench_look_at_machine(bench *b);

/* Opens b->model. */
ocelli_status bench_open(bench *b, double *seconds, ocelli_error *err);

/* A picture of that size, also where the model would shrink it. */
ocelli_status bench_encode_picture(bench *b, int width, int height, ocelli_visual **out,
                                   double *seconds, ocelli_error *err);

/* A conversation of its own about text and, where there is one, a picture. */
ocelli_status bench_generate(bench *b, const ocelli_visual *visual, const char *text,
                             size_t new_tokens, ocelli_result *result, ocelli_error *err);

/* Adds a row in tokens a second, with its limit. new_tokens: all that were made; the first comes from
 * the prompt's logits and is not counted. */
void bench_add_prefill(bench *b, bench_group group, const char *name, const bench_runs *runs,
                       uint64_t tokens);
void bench_add_decode(bench *b, bench_group group, const char *name, const bench_runs *runs,
                      uint64_t prompt, size_t new_tokens);

#endif
