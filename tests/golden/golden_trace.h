/* golden_trace.h - keeps the intermediate rows that the towers tell of, by the name of their stage. */
#ifndef OC_TESTS_GOLDEN_TRACE_H
#define OC_TESTS_GOLDEN_TRACE_H

#include <stdbool.h>
#include <stddef.h>

/* One stage: rows of group after group, one after another. */
typedef struct golden_trace {
    char name[48];
    float *rows; /* [count], owned */
    size_t count;
} golden_trace;

typedef struct golden_traces {
    golden_trace *list; /* [count], owned */
    size_t count;
    bool failed; /* no memory: something is missing */
} golden_traces;

/* What the towers' trace callbacks point to; user is a golden_traces. */
void golden_traces_keep(void *user, const char *name, const float *rows, size_t count,
                        size_t width);
void golden_traces_close(golden_traces *traces);

#endif
