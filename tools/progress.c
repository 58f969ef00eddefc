/* progress.c - see progress.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/progress.h"
#include "tools/interrupt.h"
#include "tools/report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BAR_WIDTH 30
#define SHOW_EVERY 0.1 /* seconds */
#define SHOW_AFTER 0.3 /* shorter work shows nothing */

static double last_shown; /* 0: the work is new */
static double began;
static bool overall; /* the line belongs to progress_overall */

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void draw(const char *what, uint64_t done, uint64_t total)
{
    if (report_is_quiet() || !report_can_draw()) {
        return;
    }
    double now = clock_seconds();
    if (began == 0) {
        began = now;
    }
    if (now - began < SHOW_AFTER || now - last_shown < SHOW_EVERY) {
        return;
    }
    last_shown = now;
    char line[160];
    if (total == 0) {
        snprintf(line, sizeof line, "%.60s %" PRIu64, what, done);
    } else {
        char bar[BAR_WIDTH + 1];
        double share = done < total ? (double)done / (double)total : 1.0;
        size_t full = (size_t)(share * BAR_WIDTH);
        memset(bar, ' ', BAR_WIDTH);
        memset(bar, '#', full);
        bar[BAR_WIDTH] = '\0';
        snprintf(line, sizeof line, "%.60s [%s] %3.0f %%", what, bar, share * 100.0);
    }
    report_draw(line);
}

int progress_show(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)user;
    if (interrupt_pending()) {
        progress_end();
        return 1;
    }
    if (!overall) {
        draw(what, done, total);
    }
    return 0;
}

void progress_end(void)
{
    if (!overall) {
        began = 0;
        report_draw("");
    }
}

int progress_overall(const char *what, uint64_t done, uint64_t total)
{
    overall = true;
    draw(what, done, total);
    return interrupt_pending();
}

void progress_overall_end(void)
{
    overall = false;
    progress_end();
}
