/* bench_rows.h - what a benchmark found: a list of figures, each the median of its runs. */
#ifndef OCELLI_TOOLS_BENCH_ROWS_H
#define OCELLI_TOOLS_BENCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MOST_ROWS = 64, BENCH_MOST_RUNS = 100 };

/* Groups of figures, as --only names them. */
typedef enum bench_group {
    BENCH_LOAD,
    BENCH_ENCODE,
    BENCH_PREFILL,
    BENCH_DECODE,
    BENCH_TOGETHER,
    BENCH_CAPTION,
    BENCH_FOLDER, /* only where it is named */
    BENCH_SIZES,  /* likewise */
    BENCH_EMBED,  /* likewise */
    BENCH_MEMORY,
    BENCH_GROUPS
} bench_group;

extern const char *const bench_group_names[BENCH_GROUPS];

typedef enum bench_unit {
    BENCH_SECONDS,
    BENCH_RATE, /* tokens a second */
    BENCH_BYTES,
    BENCH_HOURLY /* pictures an hour */
} bench_unit;

/* What has to be done at least: the limit follows from it and from the machine. */
typedef struct bench_work {
    double linear;    /* operations of matrices; a multiply-add is two */
    double attention; /* operations of queries, keys and values */
    double bytes;     /* that must come from memory */
} bench_work;

typedef struct bench_row {
    bench_group group;
    char name[40];   /* "448x448" */
    char detail[40]; /* "196 tokens"; "" */
    bench_unit unit;
    size_t runs;
    double median, low, high; /* in unit */
    bool limited;             /* it has a limit: of these three, one after another */
    bench_work vision, prompt, answer;
    double amount; /* of tokens that the work is for, where the unit is a rate */
    double limit;  /* in unit; bench_limit_apply fills it */
    double share;  /* of the limit that is reached: 1 is all */
    double when;   /* the middle of its runs, by clock_seconds */
    size_t look;   /* which measurement of the machine it is held against */
    uint64_t peak_bytes,
        told_bytes; /* resident at most, and as was told beforehand; 0: not known */
} bench_row;

typedef struct bench_rows {
    bench_row items[BENCH_MOST_ROWS];
    size_t count;
    double began; /* the runs of the row that is added next */
} bench_rows;

/* Runs of one figure. */
typedef struct bench_runs {
    double values[BENCH_MOST_RUNS];
    size_t count;
} bench_runs;

/* From here on the next row's runs are made; adding one begins those of another. */
void bench_rows_begin(bench_rows *rows);

void bench_runs_add(bench_runs *runs, double value);

/* Adds a row: the runs' median, least and most, said on stderr too. The row stays for more to be
 * filled in; NULL without a run. */
bench_row *bench_rows_add(bench_rows *rows, bench_group group, bench_unit unit,
                          const bench_runs *runs, const char *name);

/* Puts them in the order of their groups, and inside a group as they were added. */
void bench_rows_sort(bench_rows *rows);

/* "3.75 s", "31.4 tok/s", "1.9 GiB", "1714/h" */
void bench_format(char *out, size_t size, bench_unit unit, double value);

#endif
