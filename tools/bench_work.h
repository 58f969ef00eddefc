/* bench_work.h - the least that each phase has to compute and to read, and how long that takes on a
 * machine that does nothing else.
 *
 * Only what cannot be avoided is counted: matrices, queries with keys, weights with values; weights
 * and cache read once. Norms, activations, rotations and copies are not: a program that hides them
 * reaches the limit. A phase takes the longer of computing and reading, which a good program does at
 * once. Matrices held in eight bits or fewer are computed at the int8 peak, others of 16 bits at the
 * best of bf16 and f32, those of 32 at f32; attention at the best of bf16 and f32.
 */
#ifndef OCELLI_TOOLS_BENCH_WORK_H
#define OCELLI_TOOLS_BENCH_WORK_H

#include "tools/bench_rows.h"
#include "tools/model_shape.h"

#include <ocelli.h>

typedef struct bench_sizes {
    ocelli_model_info info;
    model_shape shape;
    double cache_bytes; /* of one token, all layers */
} bench_sizes;

/* The tower on one picture of grid_h x grid_w patches. */
bench_work bench_work_encode(const bench_sizes *sizes, double grid_h, double grid_w);
/* A prompt of so many tokens from an empty cache, and the logits of its last. */
bench_work bench_work_prefill(const bench_sizes *sizes, double tokens);
/* One token for each of so many sessions, whose contexts have so many tokens. */
bench_work bench_work_decode(const bench_sizes *sizes, double sessions, double context);

/* a += times x b */
void bench_work_add(bench_work *a, const bench_work *b, double times);

/* Fills limit and share of every row that has one. */
void bench_limits_apply(bench_rows *rows, const bench_sizes *sizes, const ocelli_machine *machine);

#endif
