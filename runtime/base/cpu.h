/* cpu.h - what this machine's processor can do, and how many of them we may use. */
#ifndef OC_BASE_CPU_H
#define OC_BASE_CPU_H

#include <stdint.h>

/* Bits of oc_cpu_features. Each is set only if the operating system saves the registers too. */
enum {
    OC_CPU_AVX2 = 1u << 0,        /* AVX2, FMA and F16C */
    OC_CPU_AVX_VNNI = 1u << 1,    /* VEX-coded int8 dot products */
    OC_CPU_AVX512 = 1u << 2,      /* F, BW, VL, DQ */
    OC_CPU_AVX512_VNNI = 1u << 3, /* int8 dot products */
    OC_CPU_AVX512_BF16 = 1u << 4, /* bf16 dot products */
    OC_CPU_NEON = 1u << 8,
    OC_CPU_DOTPROD = 1u << 9,
    OC_CPU_I8MM = 1u << 10
};

uint32_t oc_cpu_features(void);

/* CPUs this process may use: the affinity mask, lowered by the cgroup's quota. At least 1. */
int oc_cpu_count(void);

#endif
