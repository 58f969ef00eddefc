/* test_dispatch.c - which tier is chosen, and what a wrong name is told. */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include "tests/unit/kernels/kernel_fixture.h"

#include <stdlib.h>
#include <string.h>

Test(dispatch, tiers)
{
    oc_kernels table;
    ocelli_error error;
    cr_assert_str_eq(oc_kernels_tier(0), "scalar");
    cr_assert_null(oc_kernels_tier(-1));
    cr_assert_null(oc_kernels_tier(100));
    const char *best = NULL;
    for (int i = 0; oc_kernels_tier(i) != NULL; i++) {
        best = oc_kernels_tier(i);
        cr_assert_eq(oc_kernels_choose(&table, best, &error), OCELLI_OK);
        cr_assert_str_eq(table.tier, best);
        cr_assert(table.gemm_rows > 0 && table.gemm_rows <= OC_GEMM_ROWS_MAX);
        cr_assert(table.gemm_cols > 0 && table.gemm_cols <= OC_GEMM_COLS_MAX);
        cr_assert(table.quant_rows > 0 && table.quant_rows <= OC_QUANT_ROWS_MAX);
    }
    unsetenv("OCELLI_CPU");
    cr_assert_eq(oc_kernels_choose(&table, NULL, &error), OCELLI_OK);
    cr_assert_str_eq(table.tier, best);
    setenv("OCELLI_CPU", "scalar", 1);
    cr_assert_eq(oc_kernels_choose(&table, NULL, &error), OCELLI_OK);
    cr_assert_str_eq(table.tier, "scalar");
    cr_assert_eq(oc_kernels_choose(&table, best, &error), OCELLI_OK); /* the option goes first */
    cr_assert_str_eq(table.tier, best);
}

Test(dispatch, unknown)
{
    oc_kernels table;
    ocelli_error error;
    cr_assert_eq(oc_kernels_choose(&table, "avx9", &error), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "\"avx9\""));
    cr_assert_not_null(strstr(error.message, "scalar"));
    cr_assert_null(table.dot);
    setenv("OCELLI_CPU", "quick", 1);
    cr_assert_eq(oc_kernels_choose(&table, NULL, &error), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "OCELLI_CPU"));
}
