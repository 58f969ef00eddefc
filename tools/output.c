/* output.c - see output.h. */
#include "tools/output.h"
#include "tools/cli_options.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* stdout belongs to the process, and so does its first error. */
static int first_error;

static void note_error(void)
{
    if (first_error == 0) {
        first_error = errno != 0 ? errno : EIO;
    }
}

bool output_failed(void)
{
    return first_error != 0;
}

bool output_write(const char *text, size_t length)
{
    if (first_error != 0) {
        return false;
    }
    errno = 0;
    if (fwrite(text, 1, length, stdout) != length || fflush(stdout) != 0) {
        note_error();
    }
    return first_error == 0;
}

void output_format(const char *format, ...)
{
    va_list arguments;
    if (first_error != 0) {
        return;
    }
    errno = 0;
    va_start(arguments, format);
    if (vfprintf(stdout, format, arguments) < 0) {
        note_error();
    }
    va_end(arguments);
}

bool output_json(cJSON *object)
{
    char *text = object != NULL ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    if (text == NULL) {
        errno = ENOMEM;
        note_error();
        return false;
    }
    bool good = output_write(text, strlen(text)) && output_write("\n", 1);
    cJSON_free(text);
    return good;
}

int output_close(int code)
{
    errno = 0;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        note_error();
    }
    errno = 0;
    if (fclose(stdout) != 0) {
        note_error();
    }
    if (first_error == 0) {
        return code;
    }
    if (first_error != EPIPE && code != EXIT_INTERRUPTED) {
        report_error("cannot write to stdout: %s", strerror(first_error));
    }
    return code == EXIT_DONE ? EXIT_FAILED : code;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

void json_text(cJSON *object, const char *key, const char *text)
{
    char *valid = text_valid(text);
    cJSON_AddStringToObject(object, key, valid != NULL ? valid : "");
    free(valid);
}

void json_count(cJSON *object, const char *key, uint64_t value)
{
    char digits[24];
    if (value <= UINT64_C(1) << 53) {
        cJSON_AddNumberToObject(object, key, (double)value);
    } else { /* a double would round it */
        snprintf(digits, sizeof digits, "%" PRIu64, value);
        cJSON_AddRawToObject(object, key, digits);
    }
}

void json_seconds(cJSON *object, const char *key, double seconds)
{
    cJSON_AddNumberToObject(object, key, rint(seconds * 1e6) / 1e6);
}

void format_bytes(char *out, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes / 1024.0;
    size_t unit = 0;
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024.0;
        unit++;
    }
    snprintf(out, size, "%.1f %s", value, units[unit]);
}
