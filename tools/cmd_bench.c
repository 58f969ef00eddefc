/* cmd_bench.c - ocelli bench: how fast a model runs here, and how fast it could at most. */
#include "tools/bench_report.h"
#include "tools/bench_system.h"
#include "tools/commands.h"
#include "tools/flags.h"
#include "tools/interrupt.h"
#include "tools/model_choice.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/report.h"

#include <stdlib.h>
#include <string.h>

/* Without --runs. */
enum { USUAL_RUNS = 3, QUICK_RUNS = 1 };

/* Marks the groups of a list such as "encode,decode"; all without one. */
static int choose_groups(bench *b, const char *list)
{
    if (list == NULL) {
        for (size_t g = 0; g < BENCH_GROUPS; g++) {
            b->wanted[g] = true;
        }
        return EXIT_DONE;
    }
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        size_t g = 0;
        while (g < BENCH_GROUPS && (strlen(bench_group_names[g]) != length ||
                                    strncmp(bench_group_names[g], list, length) != 0)) {
            g++;
        }
        if (g == BENCH_GROUPS) {
            return flags_misuse(b->options->command,
                                "--only knows load, encode, prefill, decode, together, caption and "
                                "memory, not '%.*s'",
                                (int)(length < 40 ? length : 40), list);
        }
        b->wanted[g] = true;
        list += length;
        list += *list == ',';
    }
    return EXIT_DONE;
}

static int set_up(bench *b)
{
    const cli_options *options = b->options;
    b->quick = options->quick;
    b->runs = options->runs > 0 ? (size_t)options->runs : b->quick ? QUICK_RUNS : USUAL_RUNS;
    b->model_options = (ocelli_model_options)OCELLI_MODEL_OPTIONS_INIT;
    b->model_options.threads = (int)options->threads;
    b->model_options.cpu = options->cpu;
    if (options->quant != NULL &&
        ocelli_quant_from_name(options->quant, &b->model_options.quant) != 0) {
        report_error("this build does not know --quant %s", options->quant);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* Measures the machine and keeps the best of what it has shown so far: whatever else runs can only
 * hide a part of it. */
static int measure_machine(bench *b)
{
    ocelli_machine now = {.struct_size = sizeof now};
    ocelli_error err;
    ocelli_machine *best = &b->machine;
    if (ocelli_machine_measure((int)b->options->threads, b->options->cpu, &now, &err) !=
        OCELLI_OK) {
        return report_failure(&err);
    }
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

static int measure_model(bench *b)
{
    const struct {
        bool wanted;
        int (*run)(bench *b);
    } phases[] = {
        {b->wanted[BENCH_ENCODE], bench_encode},
        {b->wanted[BENCH_PREFILL] || b->wanted[BENCH_DECODE], bench_text},
        {b->wanted[BENCH_TOGETHER], bench_together},
        {b->wanted[BENCH_CAPTION], bench_caption},
    };
    bool runs = false;
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        runs = runs || phases[i].wanted;
    }
    int code = bench_load(b);
    if (code == EXIT_DONE && runs) {
        code = bench_warm_up(b);
    }
    for (size_t i = 0; i < sizeof phases / sizeof *phases && code == EXIT_DONE; i++) {
        code = phases[i].wanted ? phases[i].run(b) : EXIT_DONE;
    }
    if (code == EXIT_DONE && b->wanted[BENCH_MEMORY]) {
        code = bench_memory(b);
    }
    return code;
}

static int run(bench *b)
{
    int code = measure_machine(b);
    if (code != EXIT_DONE) {
        return code;
    }
    system_reset_peak(); /* what measuring the machine took is not the model's */
    code = measure_model(b);
    if (code == EXIT_DONE) {
        code = measure_machine(b);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    bench_rows_sort(&b->rows);
    bench_limits_apply(&b->rows, &b->sizes, &b->machine);
    if (b->options->json) {
        bench_print_json(b);
    } else {
        bench_print_table(b);
    }
    if (b->options->plot != NULL && !bench_write_chart(b, b->options->plot)) {
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

int cmd_bench(const cli_options *options)
{
    char *path = NULL;
    bench *b = calloc(1, sizeof *b);
    if (b == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    b->options = options;
    int code = choose_groups(b, options->only);
    if (code == EXIT_DONE) {
        code = set_up(b);
    }
    if (code == EXIT_DONE) {
        code = model_choose(options->model, &path);
        b->path = path;
    }
    if (code == EXIT_DONE && !model_shape_load(&b->sizes.shape, path)) {
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE) {
        code = run(b);
    }
    ocelli_model_close(b->model);
    free(b);
    free(path);
    return code;
}
