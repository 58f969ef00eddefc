/* dispatch.c - see dispatch.h. A table starts as scalar and every tier up to the chosen one writes
 * over the entries it has. */
#include "runtime/kernels/dispatch.h"

#include "runtime/base/cpu.h"
#include "runtime/kernels/gemm_blas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tier {
    const char *name;
    uint32_t needs; /* all of these bits of oc_cpu_features */
    void (*init)(oc_kernels *table);
} tier;

static const tier TIERS[] = {
    {"scalar", 0, oc_kernels_init_scalar},
#if defined(__x86_64__)
    {"avx2", OC_CPU_AVX2, oc_kernels_init_avx2},
    {"avxvnni", OC_CPU_AVX2 | OC_CPU_AVX_VNNI, oc_kernels_init_avxvnni},
    {"avx512", OC_CPU_AVX2 | OC_CPU_AVX512 | OC_CPU_AVX512_VNNI, oc_kernels_init_avx512},
    {"avx512_bf16", OC_CPU_AVX2 | OC_CPU_AVX512 | OC_CPU_AVX512_VNNI | OC_CPU_AVX512_BF16,
     oc_kernels_init_avx512_bf16},
#elif defined(__aarch64__)
    {"neon", OC_CPU_NEON, oc_kernels_init_neon},
    {"dotprod", OC_CPU_NEON | OC_CPU_DOTPROD, oc_kernels_init_dotprod},
    {"i8mm", OC_CPU_NEON | OC_CPU_DOTPROD | OC_CPU_I8MM, oc_kernels_init_i8mm},
#endif
};
enum { TIER_COUNT = sizeof TIERS / sizeof TIERS[0] };

/* Not every CPU with one tier has all those before it: some have AVX-512 and not AVX-VNNI. */
static bool has_tier(int i)
{
    return (oc_cpu_features() & TIERS[i].needs) == TIERS[i].needs;
}

const char *oc_kernels_tier(int index)
{
    for (int i = 0; i < TIER_COUNT; i++) {
        if (has_tier(i) && index-- == 0) {
            return TIERS[i].name;
        }
    }
    return NULL;
}

/* "scalar, avx2" */
static void list_tiers(char *text, size_t room)
{
    const char *name;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; (name = oc_kernels_tier(i)) != NULL && used < room; i++) {
        int wrote = snprintf(text + used, room - used, "%s%s", i > 0 ? ", " : "", name);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
}

ocelli_status oc_kernels_choose(oc_kernels *table, const char *cap, ocelli_error *err)
{
    const char *source = "cpu";
    int last = TIER_COUNT - 1;
    memset(table, 0, sizeof *table);
    if (cap == NULL || cap[0] == '\0') {
        cap = getenv("OCELLI_CPU");
        source = "OCELLI_CPU";
    }
    if (cap != NULL && cap[0] != '\0') {
        int i = 0;
        while (i < TIER_COUNT && (strcmp(TIERS[i].name, cap) != 0 || !has_tier(i))) {
            i++;
        }
        if (i == TIER_COUNT) {
            char names[64];
            list_tiers(names, sizeof names);
            return oc_fail(err, OCELLI_E_ARGUMENT, "%s: this machine has no \"%s\"; it has %s",
                           source, cap, names);
        }
        last = i;
    }
    for (int i = 0; i <= last; i++) {
        if (has_tier(i)) {
            TIERS[i].init(table);
        }
    }
    table->blas_sound = oc_gemm_blas_sound();
    return OCELLI_OK;
}
