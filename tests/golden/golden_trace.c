/* golden_trace.c - see golden_trace.h. */
#include "tests/golden/golden_trace.h"

#include "runtime/base/memory.h"

#include <stdio.h>
#include <string.h>

static golden_trace *find_trace(golden_traces *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->list[i].name, name) == 0) {
            return &all->list[i];
        }
    }
    golden_trace *list = oc_grow(all->list, all->count, all->count + 1, sizeof *list);
    if (list == NULL) {
        return NULL;
    }
    all->list = list;
    golden_trace *trace = &all->list[all->count++];
    snprintf(trace->name, sizeof trace->name, "%s", name);
    return trace;
}

void golden_traces_keep(void *user, const char *name, const float *rows, size_t count, size_t width)
{
    golden_traces *all = user;
    golden_trace *trace = find_trace(all, name);
    float *grown = trace == NULL ? NULL
                                 : oc_grow(trace->rows, trace->count, trace->count + count * width,
                                           sizeof *grown);
    if (grown == NULL) {
        all->failed = true;
        return;
    }
    memcpy(grown + trace->count, rows, count * width * sizeof *grown);
    trace->rows = grown;
    trace->count += count * width;
}

void golden_traces_close(golden_traces *traces)
{
    for (size_t i = 0; i < traces->count; i++) {
        oc_free(traces->list[i].rows);
    }
    oc_free(traces->list);
    *traces = (golden_traces){0};
}
