/* check.c - the kernel checker: every kernel of every tier this CPU has, against scalar or against
 * arithmetic written out here, with random sizes, tails, unaligned pointers and guard bytes.
 *
 *     kernel_check [--seed N] [--tier NAME]
 *     kernel_check --bench [--threads N] [--tier NAME]
 *
 * Bounds are derived, not tuned: u = 2^-24 is the rounding of one float32 operation. Integers, packing
 * and the order of float sums that kernels.h promises are compared bit by bit. */
#include "tests/kernels/check.h"

#include "runtime/kernels/dispatch.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, GUARD_BYTE = 0xa5, ROUNDS = 400, MOST_REPORTS = 20 };

uint64_t check_random(checker *c)
{
    c->random ^= c->random >> 12;
    c->random ^= c->random << 25;
    c->random ^= c->random >> 27;
    return c->random * 0x2545f4914f6cdd1dull;
}

size_t check_below(checker *c, size_t limit)
{
    return (size_t)((check_random(c) >> 11) % limit);
}

float check_normal(checker *c)
{
    double sum = 0.0;
    for (int i = 0; i < 6; i++) {
        sum += (double)(check_random(c) >> 40) / 16777216.0 - 0.5;
    }
    return (float)(sum * 1.4142135623730951);
}

static array take(checker *c, size_t count, size_t size, size_t back)
{
    array a = {.bytes = count * size, .back = back};
    a.front = GUARD + size * (1 + 2 * check_below(c, 4));
    a.block = malloc(a.front + a.bytes + a.back);
    if (a.block == NULL) {
        fputs("kernel_check: out of memory\n", stderr);
        exit(2);
    }
    memset(a.block, GUARD_BYTE, a.front + a.bytes + a.back);
    a.data = a.block + a.front;
    return a;
}

array check_input(checker *c, size_t count, size_t size)
{
    return take(c, count, size, 0);
}

array check_output(checker *c, size_t count, size_t size)
{
    return take(c, count, size, GUARD);
}

array check_floats(checker *c, size_t count, float scale)
{
    array a = check_input(c, count, sizeof(float));
    for (size_t i = 0; i < count; i++) {
        ((float *)a.data)[i] = check_normal(c) * scale;
    }
    return a;
}

void check_free(checker *c, array *a, const char *kernel)
{
    for (size_t i = 0; i < a->front + a->back; i++) {
        size_t at = i < a->front ? i : i + a->bytes;
        if (a->block[at] != GUARD_BYTE) {
            check_fail(c, kernel, "wrote %zd bytes from the end of %zu",
                       (ptrdiff_t)at - (ptrdiff_t)(a->front + a->bytes), a->bytes);
            break;
        }
    }
    free(a->block);
    a->block = NULL;
}

void check_fail(checker *c, const char *kernel, const char *format, ...)
{
    c->failures++;
    if (c->failures <= MOST_REPORTS) {
        va_list arguments;
        va_start(arguments, format);
        printf("FAIL %s %s: ", c->kernels->tier, kernel);
        vprintf(format, arguments);
        putchar('\n');
        va_end(arguments);
    }
}

void check_near(checker *c, const char *kernel, size_t at, float got, double expected, double bound)
{
    bool fine = isnan(expected) ? isnan(got) : fabs((double)got - expected) <= bound;
    if (!fine && !((double)got == expected)) {
        check_fail(c, kernel, "element %zu is %.9g, expected %.9g within %.3g", at, (double)got,
                   expected, bound);
    }
}

static int check_tier(const char *name, uint64_t seed, long rounds)
{
    oc_kernels kernels, scalar;
    ocelli_error error;
    if (oc_kernels_choose(&kernels, name, &error) != OCELLI_OK ||
        oc_kernels_choose(&scalar, "scalar", &error) != OCELLI_OK) {
        printf("kernel_check: %s\n", error.message);
        return 1;
    }
    checker c = {.kernels = &kernels, .scalar = &scalar, .random = seed};
    c.fused = strcmp(name, "scalar") != 0;
    for (long round = 0; round < rounds; round++) {
        check_float_kernels(&c);
        check_bf16_kernels(&c);
        check_quant_kernels(&c);
        check_cached_kernels(&c);
    }
    printf("%s: %d failures\n", name, c.failures);
    return c.failures;
}

int main(int count, char **arguments)
{
    uint64_t seed = 20240917;
    const char *tier = NULL;
    int threads = 1;
    long rounds = ROUNDS;
    bool bench = false;
    for (int i = 1; i < count; i++) {
        const char *value = i + 1 < count ? arguments[i + 1] : NULL;
        if (strcmp(arguments[i], "--bench") == 0) {
            bench = true;
        } else if (strcmp(arguments[i], "--seed") == 0 && value != NULL) {
            seed = strtoull(value, NULL, 10);
            i++;
        } else if (strcmp(arguments[i], "--rounds") == 0 && value != NULL) {
            rounds = strtol(value, NULL, 10);
            i++;
        } else if (strcmp(arguments[i], "--tier") == 0 && value != NULL) {
            tier = value;
            i++;
        } else if (strcmp(arguments[i], "--threads") == 0 && value != NULL) {
            threads = (int)strtol(value, NULL, 10);
            i++;
        } else {
            fputs("usage: kernel_check [--seed N] [--rounds N] [--tier NAME] [--bench [--threads "
                  "N]]\n",
                  stderr);
            return 2;
        }
    }
    if (bench) {
        return bench_all(tier, threads);
    }
    int failures = 0;
    printf("seed %llu\n", (unsigned long long)seed);
    seed = seed * 2 + 1; /* xorshift needs a state that is not zero */
    for (int i = 0; oc_kernels_tier(i) != NULL; i++) {
        if (tier == NULL || strcmp(tier, oc_kernels_tier(i)) == 0) {
            failures += check_tier(oc_kernels_tier(i), seed, rounds);
        }
    }
    return failures == 0 ? 0 : 1;
}
