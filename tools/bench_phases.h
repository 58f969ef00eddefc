/* bench_phases.h - the phases of a benchmark: each runs the model and adds its rows.
 *
 * All return an exit code and have said why unless it is EXIT_DONE or EXIT_INTERRUPTED.
 */
#ifndef OCELLI_TOOLS_BENCH_PHASES_H
#define OCELLI_TOOLS_BENCH_PHASES_H

#include "tools/bench_work.h"
#include "tools/cli_options.h"

/* The machine as it was at one time: what a noisy neighbour leaves of it changes by the minute. */
typedef struct bench_look {
    double when; /* by clock_seconds */
    ocelli_machine machine;
} bench_look;

enum { BENCH_MOST_LOOKS = 32 };

typedef struct bench {
    const cli_options *options;
    const char *path; /* of the model */
    ocelli_model_options model_options;
    ocelli_model *model; /* open after bench_load */
    bench_model shape;
    ocelli_machine machine; /* the best of all looks */
    bench_look looks[BENCH_MOST_LOOKS];
    size_t look_count;
    bench_rows rows;
    bool wanted[BENCH_GROUPS];
    size_t runs;
    bool quick;
} bench;

/* Opens the model, measuring that where it is wanted; it stays open. */
int bench_load(bench *b);
/* Runs everything once and measures nothing: memory is mapped, pages are there. */
int bench_warm_up(bench *b);
int bench_encode(bench *b);
/* Prompts of several lengths, and decoding after the shortest and the longest. */
int bench_text(bench *b);
/* Several sessions decoding together. */
int bench_together(bench *b);
/* A caption from the picture to its last token. */
int bench_caption(bench *b);
/* Pictures an hour, one at a time and several together (bench_folder.c). */
int bench_folder(bench *b);
/* Cost over size (bench_scale.c). */
int bench_scale(bench *b);
/* The embedding table: what a row costs, and what stays in memory (bench_embed.c). Opens models of
 * its own and starts processes: to be called before anything else has threads. */
int bench_embed(bench *b);
/* What one caption takes. */
int bench_memory(bench *b);

#endif
