/* kernel_fixture.h - what the kernel tests share: numbers from a seed, a compute for each tier and
 * number of threads, and an arena sized by a dry run. */
#ifndef OC_TEST_KERNEL_FIXTURE_H
#define OC_TEST_KERNEL_FIXTURE_H

#include "runtime/base/arena.h"
#include "runtime/base/memory.h"
#include "runtime/kernels/compute.h"
#include "runtime/kernels/dispatch.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

/* xorshift64*: the same numbers everywhere. */
static inline uint64_t test_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

/* Roughly normal, variance 1. */
static inline float test_normal(uint64_t *state)
{
    double sum = 0.0;
    for (int i = 0; i < 6; i++) {
        sum += (double)(test_random(state) >> 40) / 16777216.0 - 0.5;
    }
    return (float)(sum * 1.4142135623730951);
}

static inline float *test_floats(size_t count, uint64_t *state)
{
    float *numbers = oc_alloc(count, sizeof *numbers);
    cr_assert_not_null(numbers);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = test_normal(state);
    }
    return numbers;
}

typedef struct test_compute {
    oc_compute compute;
    oc_kernels kernels;
} test_compute;

/* tier NULL: the best of this CPU. threads 0: no pool. */
static inline void test_compute_open(test_compute *t, const char *tier, int threads)
{
    ocelli_error error;
    cr_assert_eq(oc_kernels_choose(&t->kernels, tier, &error), OCELLI_OK);
    t->compute = (oc_compute){.kernels = &t->kernels};
    if (threads > 0) {
        cr_assert_eq(oc_pool_open(&t->compute.pool, threads, &error), OCELLI_OK);
    }
}

static inline void test_compute_close(test_compute *t)
{
    oc_pool_close(t->compute.pool);
}

#endif
