/* limits_avx2.c - the peak loops of AVX2: FMA, and int8 products, for which it has no instruction. An
 * exact product of signed bytes takes four for 32 products, whichever way: bytes widened to 16 bits, two
 * VPMADDWD and two VPADDD; or VPSIGNB, VPMADDUBSW, VPMADDWD, VPADDD. The former is the faster (211 and
 * 188 GOP/s on Zen 5). Without VPSIGNB it would be three (228), but not of signed bytes: VPMADDUBSW
 * takes one of its operands unsigned, and saturates where that has eight bits. See limits.h. */
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

static inline void store(void *place, __m256i value)
{
    _mm256_storeu_si256((__m256i *)place, value);
}

static void run_f32(void *values, size_t rounds)
{
    char *place = (char *)values + OC_LIMIT_OPERANDS;
    const __m256 a = _mm256_castsi256_ps(load(values));
    const __m256 b = _mm256_castsi256_ps(load((const char *)values + BYTES));
#define BEGIN(n) __m256 sum##n = _mm256_castsi256_ps(load(place + BYTES * (n)));
#define STEP(n) sum##n = _mm256_fmadd_ps(sum##n, a, b);
#define END(n) store(place + BYTES * (n), _mm256_castps_si256(sum##n));
    EACH(BEGIN)
    for (size_t i = 0; i < rounds; i++) {
        EACH(STEP)
    }
    EACH(END)
#undef BEGIN
#undef STEP
#undef END
}

static void run_int8_words(void *values, size_t rounds)
{
    char *place = (char *)values + OC_LIMIT_OPERANDS;
    const __m256i a = load(values);
    const __m256i b = load((const char *)values + BYTES);
#define BEGIN(n) __m256i sum##n = load(place + BYTES * (n));
/* The product takes the sum as an operand: else it would be the same every time. */
#define STEP(n)                                                                                    \
    sum##n = _mm256_add_epi32(sum##n, _mm256_madd_epi16(a, sum##n));                               \
    sum##n = _mm256_add_epi32(sum##n, _mm256_madd_epi16(b, sum##n));
#define END(n) store(place + BYTES * (n), sum##n);
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
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (size_t at = 0; at < size; at += 4 * BYTES) {
        a = _mm256_add_epi64(a, load(bytes + at));
        b = _mm256_add_epi64(b, load(bytes + at + BYTES));
        c = _mm256_add_epi64(c, load(bytes + at + 2 * BYTES));
        d = _mm256_add_epi64(d, load(bytes + at + 3 * BYTES));
    }
    uint64_t four[4];
    store(four, _mm256_add_epi64(_mm256_add_epi64(a, b), _mm256_add_epi64(c, d)));
    return four[0] + four[1] + four[2] + four[3];
}

void oc_limit_loops_avx2(oc_limit_loops *loops)
{
    loops->read = run_read;
    loops->f32 = (oc_limit_loop){run_f32, 2.0 * 8 * SUMS};
    loops->int8 = (oc_limit_loop){run_int8_words, 2.0 * 32 * SUMS};
}

#endif
