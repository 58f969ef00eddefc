/* test_cpu.c - what the processor says of itself, and the clock. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "runtime/base/clock.h"
#include "runtime/base/cpu.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <unistd.h>

Test(cpu, counts_at_least_one_and_no_more_than_there_are)
{
    cr_assert_geq(oc_cpu_count(), 1);
    cr_assert_leq(oc_cpu_count(), (int)sysconf(_SC_NPROCESSORS_CONF));
}

Test(cpu, obeys_the_affinity_mask)
{
    cpu_set_t mask, one;
    cr_assert_eq(sched_getaffinity(0, sizeof mask, &mask), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &mask)) {
            CPU_SET(cpu, &one);
            break;
        }
    }
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    cr_assert_eq(oc_cpu_count(), 1);
}

Test(cpu, features_imply_their_base)
{
    uint32_t features = oc_cpu_features();
    cr_assert_eq(features, oc_cpu_features());
    if ((features & (OC_CPU_AVX512_VNNI | OC_CPU_AVX512_BF16)) != 0) {
        cr_assert_neq(features & OC_CPU_AVX512, 0);
    }
    if ((features & (OC_CPU_AVX512 | OC_CPU_AVX_VNNI)) != 0) {
        cr_assert_neq(features & OC_CPU_AVX2, 0);
    }
    if ((features & (OC_CPU_DOTPROD | OC_CPU_I8MM)) != 0) {
        cr_assert_neq(features & OC_CPU_NEON, 0);
    }
    cr_assert_not((features & OC_CPU_AVX2) != 0 && (features & OC_CPU_NEON) != 0);
}

Test(clock, never_goes_back)
{
    double last = oc_clock_seconds();
    for (int i = 0; i < 1000; i++) {
        double now = oc_clock_seconds();
        cr_assert_geq(now, last);
        last = now;
    }
}
