/* check.h - what the files of the kernel checker share. */
#ifndef OC_TEST_KERNEL_CHECK_H
#define OC_TEST_KERNEL_CHECK_H

#include "runtime/kernels/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct checker {
    const oc_kernels *kernels; /* the tier under test */
    const oc_kernels *scalar;
    bool fused; /* the tier fuses multiply and add; scalar does not */
    uint64_t random;
    int failures;
} checker;

/* An array between guards. Inputs end where the allocation ends, so that a sanitizer sees a read too
 * far; outputs have guard bytes on both sides. It begins at an odd multiple of the element size. */
typedef struct array {
    unsigned char *block;
    size_t bytes, front, back;
    void *data;
} array;

uint64_t check_random(checker *c);
/* 0..limit - 1 */
size_t check_below(checker *c, size_t limit);
/* Roughly normal, variance 1. */
float check_normal(checker *c);

array check_input(checker *c, size_t count, size_t size);
array check_output(checker *c, size_t count, size_t size);
/* Input of normal numbers times scale. */
array check_floats(checker *c, size_t count, float scale);
/* Frees; an output's guards must be as they were. */
void check_free(checker *c, array *a, const char *kernel);

/* Counts a failure and says so (the first few of each kernel). */
void check_fail(checker *c, const char *kernel, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* |got - expected| <= bound; NaN only where NaN is expected. */
void check_near(checker *c, const char *kernel, size_t at, float got, double expected,
                double bound);

void check_float_kernels(checker *c);
void check_bf16_kernels(checker *c);
void check_quant_kernels(checker *c);
void check_cached_kernels(checker *c);
int bench_all(const char *only_tier, int threads);

#endif
