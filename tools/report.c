/* report.c - messages on stderr. See report.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/report.h"
#include "tools/interrupt.h"
#include "tools/cli_options.h"
#include "tools/text_bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* stderr belongs to the process, and so does this. */
static struct {
    bool quiet, verbose;
    bool drawn;   /* a progress line is on the terminal */
    int can_draw; /* -1: not asked yet */
} state = {false, false, false, -1};

void report_setup(bool quiet, bool verbose)
{
    state.quiet = quiet;
    state.verbose = verbose;
}

bool report_is_quiet(void)
{
    return state.quiet;
}

bool report_can_draw(void)
{
    if (state.can_draw < 0) {
        const char *terminal = getenv("TERM");
        state.can_draw = isatty(STDERR_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
    }
    return state.can_draw != 0;
}

void report_draw(const char *text)
{
    if (!report_can_draw() || (*text == '\0' && !state.drawn)) {
        return;
    }
    fprintf(stderr, "\r\033[K%s", text);
    fflush(stderr);
    state.drawn = *text != '\0';
}

/* Red for errors, on a terminal whose owner has not said no (no-color.org). */
static bool has_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");
    return report_can_draw() && (no_colour == NULL || *no_colour == '\0');
}

static void print_line(const char *before, bool is_error, const char *format, va_list arguments)
{
    char raw[1600];
    char line[4 * sizeof raw];
    vsnprintf(raw, sizeof raw, format, arguments);
    text_visible(line, sizeof line, raw);
    report_draw("");
    bool colour = is_error && has_colour();
    fprintf(stderr, "%s%s%s%s\n", colour ? "\033[31m" : "", before, colour ? "\033[0m" : "", line);
    fflush(stderr);
}

void report_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("ocelli: ", true, format, arguments);
    va_end(arguments);
}

void report_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("ocelli: warning: ", true, format, arguments);
    va_end(arguments);
}

void report_note(const char *format, ...)
{
    if (state.quiet) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    print_line("ocelli: ", false, format, arguments);
    va_end(arguments);
}

void report_plain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("", false, format, arguments);
    va_end(arguments);
}

void report_log(void *user, ocelli_level level, const char *line)
{
    (void)user;
    if (level <= OCELLI_LOG_WARN) {
        report_warning("%s", line);
    } else if (state.verbose) {
        report_note("%s", line);
    }
}

int report_failure(const ocelli_error *err)
{
    if (err->status == OCELLI_E_CANCELLED && interrupt_pending()) {
        return EXIT_INTERRUPTED;
    }
    report_error("%s", err->message[0] != '\0' ? err->message : ocelli_status_name(err->status));
    return EXIT_FAILED;
}
