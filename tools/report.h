/* report.h - everything the program says on stderr.
 *
 * One line a message, control characters made visible, so that a file name cannot forge a line or
 * paint the terminal. The level of talk and whether stderr is a terminal are set once.
 */
#ifndef OCELLI_TOOLS_REPORT_H
#define OCELLI_TOOLS_REPORT_H

#include <ocelli.h>
#include <stdbool.h>
#include <stddef.h>

/* quiet: no notes. verbose: the library's own reports too. */
void report_setup(bool quiet, bool verbose);
bool report_is_quiet(void);

/* "ocelli: MESSAGE": always printed. */
void report_error(const char *format, ...);
/* "ocelli: warning: MESSAGE": something was left out or looks wrong; printed even when quiet. */
void report_warning(const char *format, ...);
/* "ocelli: MESSAGE": all is well, and worth knowing; not when quiet. */
void report_note(const char *format, ...);
/* MESSAGE alone, for --timings; always printed. */
void report_plain(const char *format, ...);
/* An ocelli_log_fn. */
void report_log(void *user, ocelli_level level, const char *line);

/* Prints a failure of the library and returns the exit code for it. */
int report_failure(const ocelli_error *err);

/* stderr is a terminal that can redraw a line. */
bool report_can_draw(void);
/* Draws text over the line drawn before; "" wipes it. Only when report_can_draw. */
void report_draw(const char *text);

#endif
