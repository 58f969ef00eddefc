/* golden_report.c - see golden_report.h. */
#include "tests/golden/golden_report.h"

#include "runtime/base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool report_begin(report *r, const char *section, const char *name)
{
    snprintf(r->name, sizeof r->name, "%s/%s", section, name);
    r->count = 0;
    return r->only == NULL || regexec(r->only, r->name, 0, NULL, 0) == 0;
}

/* The array of that name in the open case, made if need be. */
static report_array *find_array(report *r, const char *name, double tolerance)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->arrays[i].name, name) == 0) {
            return &r->arrays[i];
        }
    }
    if (r->count == r->capacity) {
        size_t capacity = r->capacity * 2 + 16;
        report_array *arrays = oc_grow(r->arrays, r->count, capacity, sizeof *arrays);
        if (arrays == NULL) {
            fputs("golden: out of memory\n", stderr);
            exit(2);
        }
        r->arrays = arrays;
        r->capacity = capacity;
    }
    report_array *array = &r->arrays[r->count++];
    memset(array, 0, sizeof *array);
    snprintf(array->name, sizeof array->name, "%s", name);
    array->tolerance = tolerance;
    return array;
}

void report_wrong(report *r, const char *name, const char *format, ...)
{
    report_array *array = find_array(r, name, 0);
    if (array->wrong[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(array->wrong, sizeof array->wrong, format, arguments);
        va_end(arguments);
    }
}

static bool same_count(report *r, const char *name, size_t got, size_t want)
{
    if (got != want) {
        report_wrong(r, name, "%zu values, recorded are %zu", got, want);
    }
    return got == want;
}

static void note(report_array *array, double difference)
{
    array->compared++;
    array->different += difference != 0;
    if (difference > array->most) {
        array->most = difference;
    }
}

void report_floats(report *r, const char *name, const float *got, size_t got_count,
                   const float *want, size_t want_count, double tolerance)
{
    report_array *array = find_array(r, name, tolerance);
    if (!same_count(r, name, got_count, want_count)) {
        return;
    }
    for (size_t i = 0; i < want_count; i++) {
        if (!isfinite(got[i])) {
            array->not_finite++;
        } else {
            note(array, fabs((double)got[i] - (double)want[i]));
        }
    }
}

void report_integers_within(report *r, const char *name, const int64_t *got, size_t got_count,
                            const int64_t *want, size_t want_count, double tolerance)
{
    report_array *array = find_array(r, name, tolerance);
    if (!same_count(r, name, got_count, want_count)) {
        return;
    }
    for (size_t i = 0; i < want_count; i++) {
        note(array, fabs((double)got[i] - (double)want[i]));
        if (tolerance == 0 && got[i] != want[i]) {
            report_wrong(r, name, "value %zu is %" PRId64 ", recorded is %" PRId64, i, got[i],
                         want[i]);
        }
    }
}

void report_integers(report *r, const char *name, const int64_t *got, size_t got_count,
                     const int64_t *want, size_t want_count)
{
    report_integers_within(r, name, got, got_count, want, want_count, 0);
}

void report_bytes(report *r, const char *name, const void *got, size_t got_count, const void *want,
                  size_t want_count)
{
    const unsigned char *left = got;
    const unsigned char *right = want;
    report_array *array = find_array(r, name, 0);
    if (!same_count(r, name, got_count, want_count)) {
        return;
    }
    for (size_t i = 0; i < want_count; i++) {
        note(array, abs(left[i] - right[i]));
        if (left[i] != right[i]) {
            report_wrong(r, name, "byte %zu is 0x%02x, recorded is 0x%02x", i, left[i], right[i]);
        }
    }
}

bool report_knows(const report *r, const char *array)
{
    for (size_t i = 0; i < r->count; i++) {
        if (strcmp(r->arrays[i].name, array) == 0) {
            return true;
        }
    }
    return false;
}

void report_note(const report *r, const char *format, ...)
{
    va_list arguments;
    printf("NOTE  %s: ", r->name);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static bool array_passes(const report_array *array)
{
    return array->wrong[0] == '\0' && array->not_finite == 0 && array->most <= array->tolerance;
}

void report_end(report *r)
{
    bool pass = r->count > 0;
    for (size_t i = 0; i < r->count; i++) {
        pass = pass && array_passes(&r->arrays[i]);
    }
    printf("%s  %s%s\n", pass ? "PASS" : "FAIL", r->name,
           r->count == 0 ? ": nothing to check" : "");
    for (size_t i = 0; i < r->count; i++) {
        const report_array *array = &r->arrays[i];
        bool good = array_passes(array);
        printf("  %s %-28s largest difference %-10.3g of %g allowed, %zu values",
               good ? "  " : "!!", array->name, array->most, array->tolerance, array->compared);
        if (r->verbose || !good) {
            printf(", %zu differ, %zu not finite", array->different, array->not_finite);
        }
        printf("%s%s\n", array->wrong[0] != '\0' ? ": " : "", array->wrong);
    }
    r->passed += pass;
    r->failed += !pass;
}

void report_skip(report *r, const char *format, ...)
{
    va_list arguments;
    printf("SKIP  %s: ", r->name);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    r->skipped++;
}

bool report_close(report *r, size_t least)
{
    bool good = r->failed == 0 && r->passed >= least;
    printf("%zu passed, %zu failed, %zu skipped\n", r->passed, r->failed, r->skipped);
    if (r->failed == 0 && r->passed < least) {
        printf("only %zu cases ran, expected at least %zu\n", r->passed, least);
    }
    oc_free(r->arrays);
    r->arrays = NULL;
    return good;
}
