/* bench_rows.c - see bench_rows.h. */
#include "tools/bench_rows.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_group_names[BENCH_GROUPS] = {"load",     "encode",  "prefill", "decode",
                                                     "together", "caption", "folder",  "sizes",
                                                     "embed",    "memory"};

void bench_rows_begin(bench_rows *rows)
{
    rows->began = clock_seconds();
}

void bench_runs_add(bench_runs *runs, double value)
{
    if (runs->count < BENCH_MOST_RUNS) {
        runs->values[runs->count++] = value;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void bench_format(char *out, size_t size, bench_unit unit, double value)
{
    if (unit == BENCH_BYTES) {
        format_bytes(out, size, (uint64_t)value);
    } else if (unit == BENCH_RATE) {
        snprintf(out, size, value < 1000 ? "%.2f tok/s" : "%.0f tok/s", value);
    } else if (unit == BENCH_HOURLY) {
        snprintf(out, size, "%.0f/h", value);
    } else if (value < 1e-4) {
        snprintf(out, size, "%.0f ns", value * 1e9);
    } else if (value < 1) {
        snprintf(out, size, "%.2f ms", value * 1e3);
    } else {
        snprintf(out, size, "%.3f s", value);
    }
}

bench_row *bench_rows_add(bench_rows *rows, bench_group group, bench_unit unit,
                          const bench_runs *runs, const char *name)
{
    double sorted[BENCH_MOST_RUNS];
    char text[32];
    size_t n = runs->count;
    if (n == 0 || rows->count == BENCH_MOST_ROWS) {
        return NULL;
    }
    memcpy(sorted, runs->values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    bench_row *row = &rows->items[rows->count++];
    memset(row, 0, sizeof *row);
    row->group = group;
    row->unit = unit;
    row->runs = n;
    row->median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    row->low = sorted[0];
    row->high = sorted[n - 1];
    row->when = (rows->began + clock_seconds()) / 2;
    bench_rows_begin(rows);
    snprintf(row->name, sizeof row->name, "%s", name);
    bench_format(text, sizeof text, unit, row->median);
    progress_end();
    report_note("%s %s: %s", bench_group_names[group], name, text);
    return row;
}

void bench_rows_sort(bench_rows *rows)
{
    for (size_t i = 1; i < rows->count; i++) {
        bench_row row = rows->items[i];
        size_t at = i;
        for (; at > 0 && rows->items[at - 1].group > row.group; at--) {
            rows->items[at] = rows->items[at - 1];
        }
        rows->items[at] = row;
    }
}
