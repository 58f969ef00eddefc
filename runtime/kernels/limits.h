/* limits.h - what this machine reaches at most: the figure that a measured one is held against.
 *
 * Peak loops do nothing but multiply and add in registers; the read loop does nothing but read. No
 * program is faster than these on this machine, whatever it computes, so a share of them says how
 * much is left to win. They are loops of the same tiers as the kernels, and touch no kernel. */
#ifndef OC_KERNELS_LIMITS_H
#define OC_KERNELS_LIMITS_H

#include "runtime/base/pool.h"
#include "runtime/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct oc_limits {
    double read_bytes;      /* a second, all threads together, from memory */
    double f32, bf16, int8; /* operations a second (a multiply-add is two); 0: the tier or the
                                  * CPU has no such instruction */
} oc_limits;

/* Measures with the pool's threads (NULL: the calling one) and the loops of a tier, as
 * oc_kernels_choose names it. Takes about a second and 512 MiB meanwhile. OCELLI_E_MEMORY. */
ocelli_status oc_limits_measure(oc_limits *out, const char *tier, oc_pool *pool, ocelli_error *err);

/* ---- the loops of one tier, for limits.c --------------------------------------------------- */

enum { OC_LIMIT_OPERANDS = 128, OC_LIMIT_SUMS = 1024, OC_LIMIT_READ = 1024 };

/* values holds OC_LIMIT_OPERANDS bytes to multiply with, then OC_LIMIT_SUMS bytes of sums on the way
 * in and out. They come from memory and go back to it, all of them different: a compiler leaves out
 * what nobody reads, and computes once what is the same. */
typedef struct oc_limit_loop {
    void (*run)(void *values, size_t rounds); /* NULL: no such instruction */
    double operations;                        /* of one round */
} oc_limit_loop;

typedef struct oc_limit_loops {
    uint64_t (*read)(const uint8_t *bytes, size_t size); /* size: a multiple of OC_LIMIT_READ */
    oc_limit_loop f32, bf16, int8;
} oc_limit_loops;

/* features: oc_cpu_features, for instructions that not every CPU of a tier has. */
void oc_limit_loops_scalar(oc_limit_loops *loops);
#if defined(__x86_64__)
void oc_limit_loops_avx2(oc_limit_loops *loops);
void oc_limit_loops_avxvnni(oc_limit_loops *loops); /* int8 alone; the rest stays */
void oc_limit_loops_avx512(oc_limit_loops *loops, uint32_t features);
#endif

#endif
