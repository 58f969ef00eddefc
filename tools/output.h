/* output.h - stdout: answers, and nothing else.
 *
 * All writing goes through here, so that a full disk or a closed pipe is noticed once, stops the
 * work, and becomes the exit code.
 */
#ifndef OCELLI_TOOLS_OUTPUT_H
#define OCELLI_TOOLS_OUTPUT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes and flushes; false once anything could not be written. */
bool output_write(const char *text, size_t length);
/* Formats without flushing: for help, listings and tables. */
void output_format(const char *format, ...);
/* One object on one line, and frees it. NULL (no memory) is a failure. */
bool output_json(cJSON *object);
bool output_failed(void);

/* Flushes and closes stdout. Returns code, or EXIT_FAILED if code is EXIT_DONE and something could
 * not be written; says why, unless the reader has gone away. */
int output_close(int code);

/* Adds members; strings that are not UTF-8 are mended. Failures show when the object is printed. */
void json_text(cJSON *object, const char *key, const char *text);
void json_count(cJSON *object, const char *key, uint64_t value);
/* Rounded to six decimals: these are measurements. */
void json_seconds(cJSON *object, const char *key, double seconds);

/* "20.6 MiB" */
void format_bytes(char *out, size_t size, uint64_t bytes);

#endif
