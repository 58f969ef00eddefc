/* kernels_avx512_quant.c */
#include "runtime/kernels/kernels.h"
#if defined(__x86_64__)
void oc_kernels_init_avx512_quant(oc_kernels *table)
{
    (void)table;
}
#endif
