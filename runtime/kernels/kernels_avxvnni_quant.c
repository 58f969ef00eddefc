/* kernels_avxvnni_quant.c - the packed kernels of AVX-VNNI: the int8 dot product (VPDPBUSD) in 256 bits, for
 * CPUs that have it and not AVX-512. Everything else of the tier is AVX2's. */
#include "runtime/kernels/kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

/* The compilers' own name for 8 int32: kept in __m256i, gcc 12 copies every sum at every step. */
typedef __v8si sums8;

static inline sums8 start_sum(int32_t correction)
{
    return (sums8)_mm256_set1_epi32(correction);
}

static inline sums8 add_products(sums8 sum, __m256i weights, __m256i x)
{
    return (sums8)_mm256_dpbusd_avx_epi32((__m256i)sum, weights, x);
}

#define add_products_alone add_products

/* Six rows by one tile: 12 sums, two half lines of codes and one step of a row in 16 registers. */
enum { CODE_FLIP = 0 };
#define HALVES(rows) ((rows) <= 6 ? 2 : 1)
#define OC_AVX_QUANT

#include "runtime/kernels/kernels_avx_quant.h"

static void product_q8(const oc_quant_product *job)
{
    multiply_q8(job, job->rows, false);
}

static void product_q4(const oc_quant_product *job)
{
    multiply_q4(job, job->rows);
}

void oc_kernels_init_avxvnni(oc_kernels *table)
{
    table->tier = "avxvnni";
    table->quant_rows = 6;
    table->product_q8 = product_q8;
    table->product_q4 = product_q4;
    table->few_q8 = few_q8;
    table->few_q4 = few_q4;
}

#endif
