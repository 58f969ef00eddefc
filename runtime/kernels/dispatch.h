/* dispatch.h - chooses the kernels for this CPU. */
#ifndef OC_KERNELS_DISPATCH_H
#define OC_KERNELS_DISPATCH_H

#include "runtime/base/status.h"
#include "runtime/kernels/kernels.h"

/* Fills table with the best tier that the CPU has and that is not above cap (NULL: the
 * environment's OCELLI_CPU, else no cap). An unknown or unavailable cap is OCELLI_E_ARGUMENT and
 * the message lists the names. Tiers: scalar, avx2, avxvnni, avx512, avx512_bf16 (x86-64);
 * scalar, neon, dotprod, i8mm (64-bit Arm). */
ocelli_status oc_kernels_choose(oc_kernels *table, const char *cap, ocelli_error *err);

/* The i-th tier of this CPU, weakest first; NULL past the last. For the kernel checker. */
const char *oc_kernels_tier(int index);

#endif
