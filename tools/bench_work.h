/* bench_work.h - the least that each phase has to compute and to read, and how long that takes on a
 * machine that does nothing else.
 *
 * Only what cannot be avoided is counted: matrices, queries with keys, weights with values; weights
 * and cache read once. Norms, activations, rotations and copies are not: a program that hides them
 * reaches the limit. A phase takes the longer of computing and reading, which a good program does at
 * once. The decoder's matrices held as q8 or q4 are computed at the int8 peak, and so are the tower's
 * held as q8; as f16 and bf16, and attention in any case, at the best of bf16 and f32; where the form
 * is f32, all at the f32 peak.
 */
#ifndef OCELLI_TOOLS_BENCH_WORK_H
#define OCELLI_TOOLS_BENCH_WORK_H

#include "tools/bench_rows.h"

#include <ocelli.h>

/* What of a model the limits are made of. */
typedef struct bench_model {
    ocelli_model_info info;
    double cache_bytes; /* of one token, all layers */
} bench_model;

/* The tower on one picture of grid_h x grid_w patches. */
bench_work bench_work_encode(const bench_model *model, double grid_h, double grid_w);
/* A prompt of so many tokens from an empty cache, and the logits of its last. */
bench_work bench_work_prefill(const bench_model *model, double tokens);
/* One token for each of so many sessions, whose contexts have so many tokens. */
bench_work bench_work_decode(const bench_model *model, double sessions, double context);

/* An answer of new_tokens after a prompt: all but its first, whose logits the prompt gives. */
bench_work bench_work_answer(const bench_model *model, double sessions, double prompt,
                             double new_tokens);

/* a += times x b */
void bench_work_add(bench_work *a, const bench_work *b, double times);

/* The least time for the three, one after another. */
double bench_limit_seconds(const bench_model *model, const ocelli_machine *machine,
                           const bench_work *vision, const bench_work *prompt,
                           const bench_work *answer);
/* Fills limit and share of a row. */
void bench_limit_apply(bench_row *row, const bench_model *model, const ocelli_machine *machine);

#endif
