/* progress.c - see progress.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/progress.h"
#include "tools/interrupt.h"
#include "tools/output.h"
#include "tools/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BAR_WIDTH 30
#define TRANSFER_WIDTH 15 /* beside a rate and a time */
#define SHOW_EVERY 0.1    /* seconds */
#define SHOW_AFTER 0.3    /* shorter work shows nothing */

static double last_shown; /* 0: the work is new */
static double began;
static bool overall; /* the line belongs to progress_overall */

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* True where a line may be drawn now. */
static bool is_time(void)
{
    if (report_is_quiet() || !report_can_draw()) {
        return false;
    }
    double now = clock_seconds();
    if (began == 0) {
        began = now;
    }
    if (now - began < SHOW_AFTER || now - last_shown < SHOW_EVERY) {
        return false;
    }
    last_shown = now;
    return true;
}

/* "[####    ]" of width characters inside, and the NUL */
static void draw_bar(char *out, size_t width, double share)
{
    size_t full = (size_t)(share * (double)width);
    out[0] = '[';
    memset(out + 1, '#', full);
    memset(out + 1 + full, ' ', width - full);
    out[width + 1] = ']';
    out[width + 2] = '\0';
}

static void draw(const char *what, uint64_t done, uint64_t total)
{
    if (!is_time()) {
        return;
    }
    char line[160];
    if (total == 0) {
        snprintf(line, sizeof line, "%.60s %" PRIu64, what, done);
    } else {
        char bar[BAR_WIDTH + 3];
        double share = done < total ? (double)done / (double)total : 1.0;
        draw_bar(bar, BAR_WIDTH, share);
        snprintf(line, sizeof line, "%.60s %s %3.0f %%", what, bar, share * 100.0);
    }
    report_draw(line);
}

/* ", 1:05 left"; nothing above 100 hours, which nobody waits for. */
static void say_left(char *out, size_t size, double seconds)
{
    *out = '\0';
    if (seconds < 360000) {
        snprintf(out, size, ", %.0f:%02.0f left", floor(seconds / 60), fmod(floor(seconds), 60));
    }
}

void progress_transfer(const char *what, uint64_t done, uint64_t total, uint64_t received)
{
    if (!is_time() || total == 0) {
        return;
    }
    char line[160], bar[TRANSFER_WIDTH + 3], rate[32], left[32] = "";
    double share = done < total ? (double)done / (double)total : 1.0;
    double a_second = (double)received / (last_shown - began);
    draw_bar(bar, TRANSFER_WIDTH, share);
    format_bytes(rate, sizeof rate, (uint64_t)a_second);
    if (a_second >= 1) {
        say_left(left, sizeof left, (double)(total - (done < total ? done : total)) / a_second);
    }
    /* 80 columns: 28, the bar's 17 and 33 */
    snprintf(line, sizeof line, "%.27s %s %3.0f %%, %s/s%s", what, bar, share * 100.0, rate, left);
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

int progress_pieces(const char *what, uint64_t done, uint64_t total, uint64_t fresh, double seconds)
{
    overall = true;
    if (total > 0 && is_time()) {
        char line[160], bar[TRANSFER_WIDTH + 3], rate[40] = "", left[32] = "";
        double share = done < total ? (double)done / (double)total : 1.0;
        draw_bar(bar, TRANSFER_WIDTH, share);
        if (fresh > 0 && seconds > 0) {
            double each = seconds / (double)fresh;
            snprintf(rate, sizeof rate, ", %.0f an hour", 3600 / each);
            say_left(left, sizeof left, each * (double)(total - (done < total ? done : total)));
        }
        snprintf(line, sizeof line, "%.16s %s %" PRIu64 "/%" PRIu64 "%s%s", what, bar, done, total,
                 rate, left);
        report_draw(line);
    }
    return interrupt_pending();
}

void progress_overall_end(void)
{
    overall = false;
    progress_end();
}
