/* bench_report.h - a benchmark's figures as a table, as JSON and as a chart. */
#ifndef OCELLI_TOOLS_BENCH_REPORT_H
#define OCELLI_TOOLS_BENCH_REPORT_H

#include "tools/bench_phases.h"

/* To stdout. */
void bench_print_table(const bench *b);
void bench_print_json(const bench *b);

/* An SVG: a bar for each figure with a limit, the share of it that is reached. False after a
 * message. */
bool bench_write_chart(const bench *b, const char *path);

/* "36.5 GB/s read, 234 f32, 469 bf16, 929 int8 GOP/s" */
void bench_machine_line(const bench *b, char *out, size_t size);

#endif
