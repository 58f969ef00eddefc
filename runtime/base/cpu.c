/* cpu.c - see cpu.h. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "runtime/base/cpu.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)

#include <cpuid.h>

/* VEX VNNI is leaf 7, subleaf 1, EAX bit 4; gcc 12 and clang 14 have no name for it. */
static int has_avx_vnni(void)
{
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & (1u << 4)) != 0;
}

uint32_t oc_cpu_features(void)
{
    uint32_t features = 0;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        unsigned eax, ebx, ecx = 0, edx;
        int f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & (1u << 29)) != 0;
        features |= f16c ? (uint32_t)OC_CPU_AVX2 : 0;
    }
    if ((features & OC_CPU_AVX2) != 0 && has_avx_vnni()) {
        features |= OC_CPU_AVX_VNNI;
    }
    if ((features & OC_CPU_AVX2) != 0 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        features |= OC_CPU_AVX512;
        if (__builtin_cpu_supports("avx512vnni")) {
            features |= OC_CPU_AVX512_VNNI;
        }
        if (__builtin_cpu_supports("avx512bf16")) {
            features |= OC_CPU_AVX512_BF16;
        }
    }
    return features;
}

#elif defined(__aarch64__) && defined(__linux__)

#include <sys/auxv.h>

uint32_t oc_cpu_features(void)
{
    unsigned long first = getauxval(AT_HWCAP);
    unsigned long second = getauxval(AT_HWCAP2);
    uint32_t features = OC_CPU_NEON;
    if ((first & (1ul << 20)) != 0) { /* HWCAP_ASIMDDP */
        features |= OC_CPU_DOTPROD;
    }
    if ((second & (1ul << 13)) != 0) { /* HWCAP2_I8MM */
        features |= OC_CPU_I8MM;
    }
    return features;
}

#else

uint32_t oc_cpu_features(void)
{
    return 0;
}

#endif

/* Whole CPUs that a quota allows, rounded up; 0: none known. */
static int whole_cpus(long long quota, long long period)
{
    if (quota <= 0 || period <= 0) {
        return 0;
    }
    double cpus = ceil((double)quota / (double)period);
    return cpus < 1e6 ? (int)cpus : 1000000;
}

/* cgroup v2 then v1; 0: no quota. A container limited to 1.5 CPUs gets 2 threads. */
static int cgroup_quota(void)
{
    char text[64] = "";
    long long quota = 0, period = 0;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (file != NULL) {
        int read_two = fgets(text, sizeof text, file) != NULL &&
                       sscanf(text, "%lld %lld", &quota, &period) == 2;
        fclose(file);
        return read_two ? whole_cpus(quota, period) : 0;
    }
    FILE *quota_file = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "r");
    FILE *period_file = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "r");
    int known = quota_file != NULL && period_file != NULL &&
                fscanf(quota_file, "%lld", &quota) == 1 &&
                fscanf(period_file, "%lld", &period) == 1;
    if (quota_file != NULL) {
        fclose(quota_file);
    }
    if (period_file != NULL) {
        fclose(period_file);
    }
    return known ? whole_cpus(quota, period) : 0;
}

int oc_cpu_count(void)
{
    int count = 0;
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
        count = CPU_COUNT(&mask);
    } else {
        count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    }
    int quota = cgroup_quota();
    if (quota > 0 && quota < count) {
        count = quota;
    }
    return count > 0 ? count : 1;
}
