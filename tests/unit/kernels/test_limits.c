/* test_limits.c - the machine's limits: figures that are possible, whatever the machine. No figure is
 * compared with a time: only with the others, where arithmetic leaves no choice. */
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/limits.h"
#include "runtime/base/cpu.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Every tier's reading loop sums all bytes, and nothing else. */
Test(limits, reading_reads_every_byte)
{
    static uint8_t bytes[4 * OC_LIMIT_READ];
    uint64_t expected = 0, word;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    }
    for (size_t i = 0; i < sizeof bytes; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        expected += word;
    }
    oc_limit_loops loops;
    oc_limit_loops_scalar(&loops);
    cr_assert_eq(loops.read(bytes, sizeof bytes), expected);
#if defined(__x86_64__)
    uint32_t features = oc_cpu_features();
    if ((features & OC_CPU_AVX2) != 0) {
        oc_limit_loops_avx2(&loops, features);
        cr_assert_eq(loops.read(bytes, sizeof bytes), expected);
    }
    if ((features & OC_CPU_AVX512) != 0) {
        oc_limit_loops_avx512(&loops, features);
        cr_assert_eq(loops.read(bytes, sizeof bytes), expected);
    }
#endif
}

/* What a loop leaves behind follows from its rounds: they were run. s = 0.5 s + 0.5 from 0.5. */
Test(limits, peak_loops_compute)
{
    float values[OC_LIMIT_OPERANDS / sizeof(float)];
    oc_limit_loops loops;
    oc_limit_loops_scalar(&loops);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        values[i] = 0.5f;
    }
    loops.f32.run(values, 3);
    cr_assert_float_eq(values[5], 0.875f, 1e-6f); /* from 0: 0.5, 0.75, 0.875 */
#if defined(__x86_64__)
    uint32_t features = oc_cpu_features();
    if ((features & OC_CPU_AVX2) != 0) {
        oc_limit_loops_avx2(&loops, features);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            values[i] = 0.5f;
        }
        loops.f32.run(values, 2);
        cr_assert_float_eq(values[5], 12 * 0.875f, 1e-5f); /* 12 sums: 0.5, 0.75, 0.875 */
    }
    if ((features & OC_CPU_AVX512_VNNI) != 0) {
        int32_t ones[OC_LIMIT_OPERANDS / sizeof(int32_t)];
        oc_limit_loops_avx512(&loops, features);
        for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
            ones[i] = 0x01010101;
        }
        loops.int8.run(ones, 10);
        cr_assert_eq(ones[3], 16 * (0x01010101 + 10 * 4)); /* 4 products a round */
    }
    if ((features & OC_CPU_AVX512_BF16) != 0) {
        oc_limit_loops_avx512(&loops, features);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            values[i] = 2.0f; /* a bf16 pair of 0 and 2 */
        }
        loops.bf16.run(values, 10);
        cr_assert_float_eq(values[3], 16 * 10 * 4.0f, 1e-3f);
    }
#endif
}

Test(limits, measured_figures_are_possible)
{
    for (int i = 0; oc_kernels_tier(i) != NULL; i++) {
        oc_limits limits;
        ocelli_error err;
        cr_assert_eq(oc_limits_measure(&limits, oc_kernels_tier(i), NULL, &err), OCELLI_OK);
        cr_assert(isfinite(limits.read_bytes) && limits.read_bytes > 1e6);
        cr_assert(isfinite(limits.f32) && limits.f32 > 1e6);
        cr_assert(isfinite(limits.bf16) && limits.bf16 >= 0);
        cr_assert(isfinite(limits.int8) && limits.int8 >= 0);
        if (strcmp(oc_kernels_tier(i), "scalar") == 0) {
            cr_assert_eq(limits.bf16, 0);
            cr_assert_eq(limits.int8, 0);
        }
    }
}

Test(limits, public_function_names_what_it_used)
{
    ocelli_machine machine = {.struct_size = sizeof machine};
    ocelli_error err;
    cr_assert_eq(ocelli_machine_measure(2, "scalar", &machine, &err), OCELLI_OK);
    cr_assert_str_eq(machine.cpu_tier, "scalar");
    cr_assert(machine.threads >= 1 && machine.threads <= 2);
    cr_assert_gt(machine.read_bytes_per_second, 0);
    cr_assert_gt(machine.f32_operations_per_second, 0);
    cr_assert_eq(machine.struct_size, sizeof machine);
    cr_assert_eq(ocelli_machine_measure(1, "abacus", &machine, &err), OCELLI_E_ARGUMENT);
    cr_assert(strstr(err.message, "abacus") != NULL);
    cr_assert_eq(ocelli_machine_measure(1, NULL, NULL, &err), OCELLI_E_ARGUMENT);
    cr_assert_eq(ocelli_machine_measure(-1, NULL, &machine, &err), OCELLI_E_ARGUMENT);
}
