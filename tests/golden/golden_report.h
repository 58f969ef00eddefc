/* golden_report.h - what a golden case is compared at, and how the outcome is told.
 *
 * A case is begun, told of arrays, and ended; every array keeps its largest difference from what was
 * recorded. A case fails if any array is beyond its tolerance, has another size, or is not finite. */
#ifndef OC_TESTS_GOLDEN_REPORT_H
#define OC_TESTS_GOLDEN_REPORT_H

#include "runtime/base/status.h"

#include <regex.h>
#include <stdbool.h>

/* The tolerances of README.md, all in one place. Largest absolute difference, float32. */
#define TOLERANCE_PIXELS 1e-6
/* A JPEG decoder with another inverse transform is a level or two of 255 off (0.0157 after normalising
 * to [-1, 1]); ours may be so in all samples but one of a thousand, and never by more than six. */
#define TOLERANCE_PIXELS_JPEG 0.0157
#define TOLERANCE_PIXELS_JPEG_WORST 0.0471
#define TOLERANCE_VISION 1e-4 /* patch embedding, positions, blocks, merged and tap rows */
#define TOLERANCE_FUSED 1e-4
#define TOLERANCE_TRACE_LAYER 5e-4
#define TOLERANCE_LOGITS 5e-4
#define TOLERANCE_LOGITS_JPEG 0.1
#define TOLERANCE_VISION_JPEG 0.1 /* follows the pixels: told, and kept from being nonsense */
#define TOLERANCE_TABLES 1e-5     /* interpolated positions, rotary angles, cosines, sines */

typedef struct report_array {
    char name[64];
    double most, tolerance;
    size_t compared, different, not_finite;
    char wrong[256]; /* "": none; else the first thing that is wrong beside a difference */
} report_array;

typedef struct report {
    const regex_t *only; /* NULL: every case */
    bool verbose;
    size_t passed, failed, skipped; /* cases */
    char name[256];                 /* of the case that is open */
    report_array *arrays;           /* [count], owned */
    size_t count, capacity;
} report;

/* False: not wanted (--only), nothing is open. */
bool report_begin(report *r, const char *section, const char *name);
/* Compares; a got count other than the wanted is a failure, and nothing is compared then. */
void report_floats(report *r, const char *array, const float *got, size_t got_count,
                   const float *want, size_t want_count, double tolerance);
void report_integers(report *r, const char *array, const int64_t *got, size_t got_count,
                     const int64_t *want, size_t want_count);
void report_integers_within(report *r, const char *array, const int64_t *got, size_t got_count,
                            const int64_t *want, size_t want_count, double tolerance);
void report_bytes(report *r, const char *array, const void *got, size_t got_count, const void *want,
                  size_t want_count);
/* A failure that is no difference of numbers. */
void report_wrong(report *r, const char *array, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* True if the open case was told of an array of that name. */
bool report_knows(const report *r, const char *array);
/* A remark about the open case; it neither passes nor fails for it. */
void report_note(const report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_end(report *r);
/* Ends the open case as skipped. */
void report_skip(report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints totals. True: nothing failed, and at least `least` cases passed. */
bool report_close(report *r, size_t least);

#endif
