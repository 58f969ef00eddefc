/* machine.c - ocelli_machine_measure: the machine's limits as a caller of the library meets them. */
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/limits.h"
#include "runtime/options.h"

ocelli_status ocelli_machine_measure(int threads, const char *cpu, ocelli_machine *out,
                                     ocelli_error *err)
{
    oc_kernels kernels;
    oc_limits limits;
    oc_pool *pool;
    if (out == NULL || threads < 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_machine_measure: out is needed, and threads of 0 or more");
    }
    OC_TRY(oc_kernels_choose(&kernels, cpu, err));
    OC_TRY(oc_pool_open(&pool, threads, err));
    int opened = oc_pool_threads(pool);
    ocelli_status status = oc_limits_measure(&limits, kernels.tier, pool, err);
    oc_pool_close(pool);
    if (status != OCELLI_OK) {
        return status;
    }
    ocelli_machine own = {.cpu_tier = kernels.tier,
                          .threads = opened,
                          .read_bytes_per_second = limits.read_bytes,
                          .f32_operations_per_second = limits.f32,
                          .bf16_operations_per_second = limits.bf16,
                          .int8_operations_per_second = limits.int8};
    oc_result_write(out, &own, sizeof own);
    return OCELLI_OK;
}
