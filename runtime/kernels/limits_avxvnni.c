/* limits_avxvnni.c - the peak loop of AVX-VNNI: VPDPBUSD in 256 bits. In a file of its own: a compiler that
 * may use these instructions makes them of AVX2's loop too. See limits.h. */
#include "runtime/kernels/limits.h"

#if defined(__x86_64__)

#include <immintrin.h>

/* 12 sums, two operands: 14 of the 16 registers. */
enum { SUMS = 12, BYTES = 32 };
#define EACH(step)                                                                                 \
    step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10)       \
        step(11)

static inline __m256i load(const void *place)
{
    return _mm256_loadu_si256((const __m256i *)place);
}

static void run_int8(void *values, size_t rounds)
{
    char *place = (char *)values + OC_LIMIT_OPERANDS;
    const __m256i a = load(values);
    const __m256i b = load((const char *)values + BYTES);
#define BEGIN(n) __m256i sum##n = load(place + BYTES * (n));
#define STEP(n) sum##n = _mm256_dpbusd_avx_epi32(sum##n, a, b);
#define END(n) _mm256_storeu_si256((__m256i *)(void *)(place + BYTES * (n)), sum##n);
    EACH(BEGIN)
    for (size_t i = 0; i < rounds; i++) {
        EACH(STEP)
    }
    EACH(END)
#undef BEGIN
#undef STEP
#undef END
}

void oc_limit_loops_avxvnni(oc_limit_loops *loops)
{
    loops->int8 = (oc_limit_loop){run_int8, 2.0 * 32 * SUMS};
}

#endif
