/* cmd_bench.c - ocelli bench: how fast a model runs here, and how fast it could at most. */
#include "tools/bench_report.h"
#include "tools/bench_run.h"
#include "tools/commands.h"
#include "tools/flags.h"
#include "tools/model_choice.h"
#include "tools/output.h"
#include "tools/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Without --runs. */
enum { USUAL_RUNS = 3, QUICK_RUNS = 1 };

/* Marks the groups of a list such as "encode,decode"; without one all but the folder and the sizes,
 * which take long, and the table. */
static int choose_groups(bench *b, const char *list)
{
    if (list == NULL) {
        for (size_t g = 0; g < BENCH_GROUPS; g++) {
            b->wanted[g] = g != BENCH_FOLDER && g != BENCH_SIZES && g != BENCH_EMBED;
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
                                "--only knows load, encode, prefill, decode, together, caption, "
                                "folder, sizes, embed and memory, not '%.*s'",
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
    if (!model_options(options, &b->model_options)) {
        return EXIT_FAILED;
    }
    b->model_options.log = NULL; /* the same lines for every opening that is timed */
    b->model_options.progress = NULL;
    b->model_options.needs_vision = 1;
    return EXIT_DONE;
}

static size_t nearest_look(const bench *b, double when)
{
    size_t nearest = 0;
    for (size_t i = 1; i < b->look_count; i++) {
        if (fabs(b->looks[i].when - when) < fabs(b->looks[nearest].when - when)) {
            nearest = i;
        }
    }
    return nearest;
}

static void apply_limits(bench *b)
{
    for (size_t i = 0; i < b->rows.count; i++) {
        bench_row *row = &b->rows.items[i];
        if (row->limited) {
            row->look = nearest_look(b, row->when);
            bench_limit_apply(row, &b->shape, &b->looks[row->look].machine);
        }
    }
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
        {b->wanted[BENCH_FOLDER], bench_folder},
        {b->wanted[BENCH_SIZES], bench_scale},
    };
    bool runs = false;
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        runs = runs || phases[i].wanted;
    }
    int code = b->wanted[BENCH_EMBED] ? bench_embed(b) : EXIT_DONE;
    if (code == EXIT_DONE) {
        code = bench_load(b);
    }
    if (code == EXIT_DONE && runs) {
        code = bench_warm_up(b);
    }
    if (code == EXIT_DONE) {
        code = bench_look_at_machine(b);
    }
    for (size_t i = 0; i < sizeof phases / sizeof *phases && code == EXIT_DONE; i++) {
        if (phases[i].wanted) {
            bench_rows_begin(&b->rows);
            code = phases[i].run(b);
            code = code == EXIT_DONE ? bench_look_at_machine(b) : code;
        }
    }
    if (code == EXIT_DONE && b->wanted[BENCH_MEMORY]) {
        code = bench_memory(b);
    }
    return code;
}

static int run(bench *b)
{
    int code = measure_model(b);
    if (code != EXIT_DONE) {
        return code;
    }
    bench_rows_sort(&b->rows);
    apply_limits(b);
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
    if (code == EXIT_DONE) {
        code = run(b);
    }
    ocelli_model_close(b->model);
    free(b);
    free(path);
    return code;
}
