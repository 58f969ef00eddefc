/* kernels_avx512.c - the float32 kernels for AVX-512 F, BW, VL and DQ: 16 lanes. The packed formats
 * are in kernels_avx512_quant.c. */
#include "runtime/kernels/kernels.h"

#if defined(__x86_64__)

#define OC_GEMM_TILE_ROWS 8
#define OC_GEMM_VECTORS 2
#include "runtime/kernels/kernels_avx512_vectors.h"

#include "runtime/kernels/kernels_cached.h"
#include "runtime/kernels/kernels_gemm.h"
#include "runtime/kernels/kernels_loops.h"

void oc_kernels_init_avx512(oc_kernels *table)
{
    table->tier = "avx512";
    loop_fill_table(table);
    cached_fill_table(table);
    gemm_fill_table(table);
    oc_kernels_init_avx512_quant(table);
}

#endif
