#if defined(__x86_64__)
#include "runtime/kernels/kernels.h"
void oc_kernels_init_avx512(oc_kernels *table)
{
    table->tier = "avx512";
}
#else
extern int oc_kernels_no_avx512;
#endif
