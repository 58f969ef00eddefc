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
        oc_limit_loops_avx2(&loops);
        cr_assert_eq(loops.read(bytes, sizeof bytes), expected);
    }
    if ((features & OC_CPU_AVX512) != 0) {
        oc_limit_loops_avx512(&loops, features);
        cr_assert_eq(loops.read(bytes, sizeof bytes), expected);
    }
#endif
}

/* The operands, then the sums, each of its own value: a compiler that computed one sum for all would
 * show in the others. */
typedef struct buffer {
    float operands[OC_LIMIT_OPERANDS / sizeof(float)];
    float sums[OC_LIMIT_SUMS / sizeof(float)];
} buffer;

/* Every sum was multiplied by a half and had a half added, as often as there were rounds. */
static void check_f32(const oc_limit_loop *loop)
{
    buffer b;
    size_t used = (size_t)(loop->operations / 2);
    for (size_t i = 0; i < sizeof b.operands / sizeof *b.operands; i++) {
        b.operands[i] = 0.5f;
    }
    for (size_t i = 0; i < sizeof b.sums / sizeof *b.sums; i++) {
        b.sums[i] = (float)i;
    }
    loop->run(&b, 3);
    cr_assert(used > 0 && used <= sizeof b.sums / sizeof *b.sums);
    for (size_t i = 0; i < sizeof b.sums / sizeof *b.sums; i++) {
        float expected = i < used ? (float)i / 8 + 0.875f : (float)i;
        cr_assert_float_eq(b.sums[i], expected, 1e-4f, "sum %zu: %g", i, (double)b.sums[i]);
    }
}

/* What a loop leaves behind follows from its rounds: each was run, for each sum. */
Test(limits, peak_loops_compute)
{
    oc_limit_loops loops;
    oc_limit_loops_scalar(&loops);
    check_f32(&loops.f32);
#if defined(__x86_64__)
    uint32_t features = oc_cpu_features();
    if ((features & OC_CPU_AVX2) != 0) {
        oc_limit_loops_avx2(&loops);
        check_f32(&loops.f32);
    }
    if ((features & OC_CPU_AVX512) != 0) {
        oc_limit_loops_avx512(&loops, features);
        check_f32(&loops.f32);
    }
#endif
}

#if defined(__x86_64__)
/* Four products of 1 and 1 in each of the 32-bit sums. */
static void check_int8(const oc_limit_loop *loop)
{
    struct {
        uint8_t operands[OC_LIMIT_OPERANDS];
        int32_t sums[OC_LIMIT_SUMS / sizeof(int32_t)];
    } b;
    size_t used = (size_t)(loop->operations / 8);
    memset(b.operands, 1, sizeof b.operands);
    for (size_t i = 0; i < sizeof b.sums / sizeof *b.sums; i++) {
        b.sums[i] = (int32_t)i * 3;
    }
    loop->run(&b, 10);
    for (size_t i = 0; i < sizeof b.sums / sizeof *b.sums; i++) {
        cr_assert_eq(b.sums[i], (int32_t)i * 3 + (i < used ? 40 : 0), "sum %zu: %d", i, b.sums[i]);
    }
}

Test(limits, dot_products_compute)
{
    oc_limit_loops loops;
    uint32_t features = oc_cpu_features();
    oc_limit_loops_scalar(&loops);
    if ((features & OC_CPU_AVX_VNNI) != 0) {
        oc_limit_loops_avxvnni(&loops);
        check_int8(&loops.int8);
    }
    if ((features & OC_CPU_AVX512_VNNI) != 0) {
        oc_limit_loops_avx512(&loops, features);
        check_int8(&loops.int8);
    }
    if ((features & OC_CPU_AVX512_BF16) != 0) {
        buffer b;
        oc_limit_loops_avx512(&loops, features);
        for (size_t i = 0; i < sizeof b.operands / sizeof *b.operands; i++) {
            b.operands[i] = 2.0f; /* the bf16 pair of 0 and 2 */
        }
        for (size_t i = 0; i < sizeof b.sums / sizeof *b.sums; i++) {
            b.sums[i] = (float)i;
        }
        loops.bf16.run(&b, 10);
        for (size_t i = 0; i < sizeof b.sums / sizeof *b.sums; i++) {
            cr_assert_float_eq(b.sums[i], (float)i + 40.0f, 1e-3f);
        }
    }
}
#endif

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
