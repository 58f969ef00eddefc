/* limits.c - see limits.h: times the loops of a tier, and has the loops of the scalar one.
 *
 * The best of several runs is taken. A peak is not an average: whatever else the machine does can
 * only make a run slower. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */

#include "runtime/kernels/limits.h"

#include "runtime/base/clock.h"
#include "runtime/base/cpu.h"

#include <string.h>
#include <sys/mman.h>

/* Larger than any cache by a factor, so that what is read comes from memory. */
static const size_t READ_BYTES = (size_t)512 << 20;
static const size_t READ_CHUNK = (size_t)256 << 10;

enum {
    READ_RUNS = 12,
    READ_PIECE = 32, /* chunks: 8 MiB, the size of a matrix */
    PEAK_RUNS = 20,
    /* Many short pieces: a thread that comes late takes fewer of them. */
    PEAK_PIECES = 8
};
static const double PIECE_SECONDS = 1e-3;

/* ---- the scalar tier ----------------------------------------------------------------------- */

enum { SCALAR_SUMS = 32 };

/* Plain C; the compiler makes of it what the baseline has. */
static void scalar_f32(void *values, size_t rounds)
{
    float sums[SCALAR_SUMS], pair[2];
    char *place = (char *)values + OC_LIMIT_OPERANDS;
    memcpy(pair, values, sizeof pair);
    memcpy(sums, place, sizeof sums);
    for (size_t i = 0; i < rounds; i++) {
        for (size_t j = 0; j < SCALAR_SUMS; j++) {
            sums[j] = sums[j] * pair[0] + pair[1];
        }
    }
    memcpy(place, sums, sizeof sums);
}

static uint64_t scalar_read(const uint8_t *bytes, size_t size)
{
    uint64_t sums[8] = {0}, words[8];
    for (size_t at = 0; at < size; at += sizeof words) {
        memcpy(words, bytes + at, sizeof words);
        for (size_t j = 0; j < 8; j++) {
            sums[j] += words[j];
        }
    }
    return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
}

void oc_limit_loops_scalar(oc_limit_loops *loops)
{
    *loops = (oc_limit_loops){.read = scalar_read, .f32 = {scalar_f32, 2.0 * SCALAR_SUMS}};
}

/* A tier that has no loops of its own uses those of the one below. */
static void choose_loops(oc_limit_loops *loops, const char *tier)
{
    oc_limit_loops_scalar(loops);
#if defined(__x86_64__)
    if (strcmp(tier, "scalar") != 0) {
        oc_limit_loops_avx2(loops);
    }
    if (strcmp(tier, "avxvnni") == 0) {
        oc_limit_loops_avxvnni(loops);
    }
    if (strncmp(tier, "avx512", strlen("avx512")) == 0) {
        oc_limit_loops_avx512(loops, oc_cpu_features());
    }
#else
    (void)tier;
#endif
}

/* ---- peaks --------------------------------------------------------------------------------- */

typedef struct peak_job {
    const oc_limit_loop *loop;
    size_t rounds; /* of one piece */
} peak_job;

static void run_pieces(void *user, size_t begin, size_t end, int worker)
{
    const peak_job *job = user;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        /* A half times the sum plus a half goes to one: sums stay finite and normal. */
        float values[(OC_LIMIT_OPERANDS + OC_LIMIT_SUMS) / sizeof(float)];
        for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
            values[j] = j < OC_LIMIT_OPERANDS / sizeof(float) ? 0.5f : 1.0f + (float)j / 1024;
        }
        job->loop->run(values, job->rounds);
    }
}

static double measure_peak(const oc_limit_loop *loop, oc_pool *pool)
{
    double best = 0;
    if (loop->run == NULL) {
        return 0;
    }
    /* Doubles until a piece is long enough for the clock. */
    peak_job job = {.loop = loop, .rounds = 1000};
    for (double seconds = 0; seconds < PIECE_SECONDS && job.rounds < (size_t)1 << 30;) {
        job.rounds *= 2;
        double begin = oc_clock_seconds();
        run_pieces(&job, 0, 1, 0);
        seconds = oc_clock_seconds() - begin;
    }
    size_t pieces = PEAK_PIECES * (pool != NULL ? (size_t)oc_pool_threads(pool) : 1);
    for (int i = 0; i < PEAK_RUNS; i++) {
        double begin = oc_clock_seconds();
        oc_pool_run(pool, pieces, 1, run_pieces, &job);
        double seconds = oc_clock_seconds() - begin;
        double rate = (double)pieces * (double)job.rounds * loop->operations / seconds;
        best = rate > best ? rate : best;
    }
    return best;
}

/* ---- reading ------------------------------------------------------------------------------- */

typedef struct read_job {
    const oc_limit_loops *loops;
    uint8_t *bytes;
    uint64_t *sums; /* [chunks] */
    size_t first;   /* of the chunks that are read now */
} read_job;

static void fill_chunks(void *user, size_t begin, size_t end, int worker)
{
    read_job *job = user;
    (void)worker;
    memset(job->bytes + begin * READ_CHUNK, 1, (end - begin) * READ_CHUNK);
}

static void read_chunks(void *user, size_t begin, size_t end, int worker)
{
    read_job *job = user;
    (void)worker;
    for (size_t i = job->first + begin; i < job->first + end; i++) {
        job->sums[i] = job->loops->read(job->bytes + i * READ_CHUNK, READ_CHUNK);
    }
}

static ocelli_status measure_read(double *best, const oc_limit_loops *loops, oc_pool *pool,
                                  ocelli_error *err)
{
    uint64_t sums[2048] = {0}; /* READ_BYTES / READ_CHUNK */
    size_t chunks = READ_BYTES / READ_CHUNK;
    void *bytes =
        mmap(NULL, READ_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        return oc_fail(err, OCELLI_E_MEMORY, "no memory for the %zu MiB that are read to measure",
                       READ_BYTES >> 20);
    }
#ifdef MADV_HUGEPAGE
    /* Small pages cost a tenth or more; the limit is what the machine can do. */
    (void)madvise(bytes, READ_BYTES, MADV_HUGEPAGE);
#endif
    read_job job = {.loops = loops, .bytes = bytes, .sums = sums};
    oc_pool_run(pool, chunks, 1, fill_chunks, &job);
    *best = 0;
    uint64_t total = 0;
    for (int i = 0; i < READ_RUNS; i++) {
        double begin = oc_clock_seconds();
        /* Threads far apart or close together: which is faster depends on the machine and the hour. */
        size_t piece = i % 2 == 0 ? chunks : READ_PIECE;
        for (job.first = 0; job.first < chunks; job.first += piece) {
            oc_pool_run(pool, piece, 1, read_chunks, &job);
        }
        double rate = (double)READ_BYTES / (oc_clock_seconds() - begin);
        *best = rate > *best ? rate : *best;
        for (size_t j = 0; j < chunks; j++) {
            total += sums[j];
        }
    }
    munmap(bytes, READ_BYTES);
    /* 8 bytes of 1 in every word: had the reading been left out, this would tell. */
    uint64_t expected = (uint64_t)(READ_BYTES / 8) * UINT64_C(0x0101010101010101) * READ_RUNS;
    return total == expected ? OCELLI_OK
                             : oc_fail(err, OCELLI_E_INTERNAL, "memory was not read as written");
}

ocelli_status oc_limits_measure(oc_limits *out, const char *tier, oc_pool *pool, ocelli_error *err)
{
    oc_limit_loops loops;
    *out = (oc_limits){0};
    choose_loops(&loops, tier);
    OC_TRY(measure_read(&out->read_bytes, &loops, pool, err));
    out->f32 = measure_peak(&loops.f32, pool);
    out->bf16 = measure_peak(&loops.bf16, pool);
    out->int8 = measure_peak(&loops.int8, pool);
    return OCELLI_OK;
}
