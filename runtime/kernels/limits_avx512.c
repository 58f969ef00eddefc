/* limits_avx512.c - the peak loops of AVX-512: FMA, VDPBF16PS, VPDPBUSD. See limits.h. */
#include "runtime/kernels/limits.h"

#if defined(__x86_64__)

#include "runtime/base/cpu.h"

#include <immintrin.h>

/* More sums than latency times throughput, and with the operands no more than there are registers;
 * named one by one, so that no compiler keeps them in memory. */
enum { SUMS = 16, BYTES = 64 };
#define EACH(step)                                                                                 \
    step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10)       \
        step(11) step(12) step(13) step(14) step(15)

static void run_f32(void *values, size_t rounds)
{
    char *place = (char *)values + OC_LIMIT_OPERANDS;
    const __m512 a = _mm512_loadu_ps(values);
    const __m512 b = _mm512_loadu_ps((const char *)values + BYTES);
#define BEGIN(n) __m512 sum##n = _mm512_loadu_ps(place + BYTES * (n));
#define STEP(n) sum##n = _mm512_fmadd_ps(sum##n, a, b);
#define END(n) _mm512_storeu_ps(place + BYTES * (n), sum##n);
    EACH(BEGIN)
    for (size_t i = 0; i < rounds; i++) {
        EACH(STEP)
    }
    EACH(END)
#undef BEGIN
#undef STEP
#undef END
}

static void run_bf16(void *values, size_t rounds)
{
    char *place = (char *)values + OC_LIMIT_OPERANDS;
    const __m512bh a = (__m512bh)_mm512_loadu_si512(values);
    const __m512bh b = (__m512bh)_mm512_loadu_si512((const char *)values + BYTES);
#define BEGIN(n) __m512 sum##n = _mm512_loadu_ps(place + BYTES * (n));
#define STEP(n) sum##n = _mm512_dpbf16_ps(sum##n, a, b);
#define END(n) _mm512_storeu_ps(place + BYTES * (n), sum##n);
    EACH(BEGIN)
    for (size_t i = 0; i < rounds; i++) {
        EACH(STEP)
    }
    EACH(END)
#undef BEGIN
#undef STEP
#undef END
}

static void run_int8(void *values, size_t rounds)
{
    char *place = (char *)values + OC_LIMIT_OPERANDS;
    const __m512i a = _mm512_loadu_si512(values);
    const __m512i b = _mm512_loadu_si512((const char *)values + BYTES);
#define BEGIN(n) __m512i sum##n = _mm512_loadu_si512(place + BYTES * (n));
#define STEP(n) sum##n = _mm512_dpbusd_epi32(sum##n, a, b);
#define END(n) _mm512_storeu_si512(place + BYTES * (n), sum##n);
    EACH(BEGIN)
    for (size_t i = 0; i < rounds; i++) {
        EACH(STEP)
    }
    EACH(END)
#undef BEGIN
#undef STEP
#undef END
}

static uint64_t run_read(const uint8_t *bytes, size_t size)
{
#define BEGIN(n) __m512i sum##n = _mm512_setzero_si512();
#define STEP(n) sum##n = _mm512_add_epi64(sum##n, _mm512_loadu_si512(bytes + at + BYTES * (n)));
#define END(n) total = _mm512_add_epi64(total, sum##n);
    EACH(BEGIN)
    for (size_t at = 0; at < size; at += OC_LIMIT_READ) {
        EACH(STEP)
    }
    __m512i total = _mm512_setzero_si512();
    EACH(END)
    uint64_t lanes[8], sum = 0; /* unsigned: the sum of arbitrary bytes may wrap */
    _mm512_storeu_si512(lanes, total);
    for (int i = 0; i < 8; i++) {
        sum += lanes[i];
    }
    return sum;
#undef BEGIN
#undef STEP
#undef END
}

void oc_limit_loops_avx512(oc_limit_loops *loops, uint32_t features)
{
    loops->read = run_read;
    loops->f32 = (oc_limit_loop){run_f32, 2.0 * 16 * SUMS};
    loops->int8 =
        (oc_limit_loop){(features & OC_CPU_AVX512_VNNI) != 0 ? run_int8 : NULL, 2.0 * 64 * SUMS};
    loops->bf16 =
        (oc_limit_loop){(features & OC_CPU_AVX512_BF16) != 0 ? run_bf16 : NULL, 2.0 * 32 * SUMS};
}

#endif
