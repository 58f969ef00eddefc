/* bench.c - the kernel checker's --bench: what the operations reach on shapes of a 2B model, in
 * GOP/s (a multiply-add is two) and GB/s of weights or cache read. Beside them what the machine can
 * do at best (limits.h): bytes read, and multiply-adds from registers, for 1 s. Never a gate. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/base/arena.h"
#include "runtime/base/memory.h"
#include "runtime/kernels/attention.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/limits.h"
#include "runtime/kernels/linear.h"
#include "runtime/kernels/operations.h"
#include "tests/kernels/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct bench {
    oc_compute compute;
    oc_arena arena;
    checker numbers;
} bench;

/* One thread: its own CPU time, so that other work on the machine matters less. */
static double seconds(const bench *b)
{
    struct timespec now;
    bool alone = oc_pool_threads(b->compute.pool) == 1;
    clock_gettime(alone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *need(void *block)
{
    if (block == NULL) {
        fputs("kernel_check: out of memory\n", stderr);
        exit(2);
    }
    return block;
}

static float *floats(bench *b, size_t count)
{
    float *x = need(oc_alloc(count, sizeof *x));
    for (size_t i = 0; i < count; i++) {
        x[i] = check_normal(&b->numbers);
    }
    return x;
}

typedef void (*timed_fn)(bench *b, void *job);

/* Best of several runs within about a third of a second. */
static double time_best(bench *b, timed_fn fn, void *job)
{
    double best = 1e9, begin = seconds(b);
    fn(b, job); /* warm */
    for (int i = 0; i < 3 || (seconds(b) - begin < 0.3 && i < 200); i++) {
        double start = seconds(b);
        fn(b, job);
        double took = seconds(b) - start;
        best = took < best ? took : best;
    }
    return best;
}

static void report(const bench *b, const char *what, double took, double operations, double bytes)
{
    printf("%-7s %-34s %9.3f ms %9.1f GOP/s %8.1f GB/s\n", b->compute.kernels->tier, what,
           took * 1e3, operations / took * 1e-9, bytes / took * 1e-9);
    fflush(stdout);
}

/* ---- linear ---------------------------------------------------------------------------------- */

/* Several copies of the weights, walked in turn, so that one row finds none of them in a cache. */
typedef struct linear_case {
    oc_matrix weight[16];
    size_t copies, rows, next;
    float *x, *y;
} linear_case;

static void run_linear(bench *b, void *argument)
{
    linear_case *job = argument;
    const oc_matrix *w = &job->weight[job->next++ % job->copies];
    oc_activations a;
    oc_arena_release(&b->arena, 0);
    oc_activations_prepare(&a, &b->compute, &b->arena, w->format, job->x, job->rows, w->cols,
                           w->cols);
    oc_linear(&b->compute, &b->arena, w, NULL, &a, job->y, w->rows);
}

static void bench_linear(bench *b, oc_format format, size_t rows, size_t outputs, size_t cols)
{
    linear_case job = {.rows = rows};
    size_t bytes;
    char what[64];
    oc_matrix_bytes(format, outputs, cols, &bytes);
    float *source = floats(b, outputs * cols);
    job.copies = rows < 16 ? 16 : 1;
    for (size_t i = 0; i < job.copies; i++) {
        void *data = need(oc_alloc(bytes, 1));
        if (i == 0) {
            oc_matrix_pack(format, data, outputs, cols, 0, outputs, source);
        } else {
            memcpy(data, job.weight[0].data, bytes);
        }
        job.weight[i] = (oc_matrix){data, outputs, cols, format};
    }
    job.x = floats(b, rows * cols);
    job.y = need(oc_alloc(rows * outputs, sizeof *job.y));
    double took = time_best(b, run_linear, &job);
    snprintf(what, sizeof what, "linear %s %zu x %zu x %zu", oc_format_name(format), rows, outputs,
             cols);
    report(b, what, took, 2.0 * (double)rows * (double)outputs * (double)cols, (double)bytes);
    for (size_t i = 0; i < job.copies; i++) {
        oc_free((void *)job.weight[i].data);
    }
    oc_free(source);
    oc_free(job.x);
    oc_free(job.y);
}

/* ---- attention ------------------------------------------------------------------------------- */

static void run_full(bench *b, void *argument)
{
    oc_arena_release(&b->arena, 0);
    oc_attention_full(&b->compute, &b->arena, argument);
}

static void bench_full(bench *b, size_t rows, size_t heads, size_t head_dim)
{
    size_t width = heads * head_dim;
    float *qkv = floats(b, rows * 3 * width), *out = need(oc_alloc(rows * width, sizeof *out));
    oc_attention_full_job job = {.query = qkv,
                                 .key = qkv + width,
                                 .value = qkv + 2 * width,
                                 .out = out,
                                 .stride = 3 * width,
                                 .out_stride = width,
                                 .rows = rows,
                                 .heads = heads,
                                 .head_dim = head_dim,
                                 .scale = 0.125f};
    char what[64];
    double took = time_best(b, run_full, &job);
    snprintf(what, sizeof what, "full attention %zu x %zu x %zu", rows, heads, head_dim);
    report(b, what, took, 4.0 * (double)rows * (double)rows * (double)width, 0.0);
    oc_free(qkv);
    oc_free(out);
}

static void run_full_bf16(bench *b, void *argument)
{
    oc_arena_release(&b->arena, 0);
    oc_attention_full_bf16(&b->compute, &b->arena, argument);
}

static void bench_full_bf16(bench *b, size_t rows, size_t heads, size_t head_dim)
{
    size_t width = heads * head_dim;
    float *wide = floats(b, rows * 3 * width);
    uint16_t *qkv = need(oc_alloc(rows * 3 * width, sizeof *qkv));
    uint16_t *out = need(oc_alloc(rows * width, sizeof *out));
    b->compute.kernels->narrow_bf16(qkv, wide, rows * 3 * width);
    oc_attention_bf16_job job = {.query = qkv,
                                 .key = qkv + width,
                                 .value = qkv + 2 * width,
                                 .out = out,
                                 .stride = 3 * width,
                                 .out_stride = width,
                                 .rows = rows,
                                 .heads = heads,
                                 .head_dim = head_dim,
                                 .scale = 0.125f};
    char what[64];
    double took = time_best(b, run_full_bf16, &job);
    snprintf(what, sizeof what, "full attention bf16 %zu x %zu x %zu", rows, heads, head_dim);
    report(b, what, took, 4.0 * (double)rows * (double)rows * (double)width, 0.0);
    oc_free(wide);
    oc_free(qkv);
    oc_free(out);
}

typedef struct cached_case {
    const oc_attention_row *rows;
    size_t count, heads, kv_heads, head_dim;
} cached_case;

static void run_cached(bench *b, void *argument)
{
    const cached_case *job = argument;
    oc_arena_release(&b->arena, 0);
    oc_attention_cached(&b->compute, &b->arena, job->rows, job->count, job->heads, job->kv_heads,
                        job->head_dim, 0.088f);
}

/* count rows at the end of a context of `length` slots. */
static void bench_cached(bench *b, oc_format format, size_t count, size_t length)
{
    enum { HEADS = 16, KV_HEADS = 8, DIM = 128, WIDTH = HEADS * DIM, KV_WIDTH = KV_HEADS * DIM };
    size_t element = format == OC_FORMAT_F32 ? 4 : 2, pages = length / OC_KV_PAGE_SLOTS + 1;
    size_t side = (size_t)KV_WIDTH * OC_KV_PAGE_SLOTS * element;
    unsigned char **page = need(oc_alloc(pages, sizeof *page));
    for (size_t i = 0; i < pages; i++) {
        page[i] = need(oc_alloc(2 * side, 1));
    }
    oc_kv_layer layer = {page, 0, side / KV_HEADS, 2 * side / KV_HEADS, format};
    float *key = floats(b, KV_WIDTH), *query = floats(b, count * WIDTH);
    float *out = need(oc_alloc(count * WIDTH, sizeof *out));
    for (size_t slot = 0; slot < length; slot++) {
        key[slot % KV_WIDTH] += 0.1f;
        oc_kv_store(&b->compute, &layer, slot, KV_HEADS, DIM, key, key);
    }
    oc_attention_row *rows = need(oc_alloc(count, sizeof *rows));
    double keys = 0.0;
    for (size_t i = 0; i < count; i++) {
        rows[i] =
            (oc_attention_row){query + i * WIDTH, out + i * WIDTH, layer, length - count + i + 1};
        keys += (double)rows[i].length;
    }
    cached_case job = {rows, count, HEADS, KV_HEADS, DIM};
    char what[64];
    double took = time_best(b, run_cached, &job);
    snprintf(what, sizeof what, "cached attention %s %zu of %zu", oc_format_name(format), count,
             length);
    report(b, what, took, 4.0 * keys * WIDTH, 2.0 * (double)length * KV_WIDTH * (double)element);
    for (size_t i = 0; i < pages; i++) {
        oc_free(page[i]);
    }
    oc_free(page);
    oc_free(key);
    oc_free(query);
    oc_free(out);
    oc_free(rows);
}

/* ---- row-wise -------------------------------------------------------------------------------- */

typedef struct pointwise_case {
    float *y, *x, *w;
    size_t rows, cols;
    int which;
} pointwise_case;

static void run_pointwise(bench *b, void *argument)
{
    pointwise_case *p = argument;
    size_t count = p->rows * p->cols;
    switch (p->which) {
    case 0: oc_rms_norm(&b->compute, p->y, p->x, p->w, p->rows, p->cols, p->cols, 1e-6f); return;
    case 1: oc_layer_norm(&b->compute, p->y, p->x, p->w, p->w, p->rows, p->cols, 1e-6f); return;
    case 2: oc_silu_mul(&b->compute, p->y, p->x, p->x, count); return;
    case 3: oc_gelu_tanh(&b->compute, p->y, p->x, count); return;
    case 4: oc_gelu_erf(&b->compute, p->y, p->x, count); return;
    case 5: oc_add(&b->compute, p->y, p->x, count); return;
    case 6: oc_rope(&b->compute, p->y, p->rows, p->cols, p->cols / 128, 64, p->w, p->w); return;
    default: oc_softmax(&b->compute, p->y, count); return;
    }
}

static void bench_pointwise(bench *b)
{
    static const char *const names[] = {"rms_norm", "layer_norm", "silu_mul", "gelu_tanh",
                                        "gelu_erf", "add",        "rope",     "softmax"};
    enum { ROWS = 512, COLS = 2048 };
    pointwise_case job = {.rows = ROWS, .cols = COLS};
    job.x = floats(b, ROWS * COLS);
    job.w = floats(b, ROWS * COLS);
    for (job.which = 0; job.which < 8; job.which++) {
        char what[64];
        job.y = floats(b, ROWS * COLS);
        double took = time_best(b, run_pointwise, &job);
        snprintf(what, sizeof what, "%s %d x %d (Gelement/s)", names[job.which], ROWS, COLS);
        report(b, what, took, (double)ROWS * COLS, 8.0 * ROWS * COLS);
        oc_free(job.y);
    }
    oc_free(job.x);
    oc_free(job.w);
}

/* ---- what the machine can do ----------------------------------------------------------------- */

/* One tile of packed weights in a level-1 cache, many times: the product kernel's own ceiling. */
static void run_product(bench *b, void *argument)
{
    const oc_quant_product *job = argument;
    for (int i = 0; i < 2000; i++) {
        b->compute.kernels->product_q8(job);
    }
}

static void bench_limits(bench *b)
{
    const oc_kernels *k = b->compute.kernels;
    oc_limits limits;
    ocelli_error error;
    if (oc_limits_measure(&limits, k->tier, b->compute.pool, &error) != OCELLI_OK) {
        printf("kernel_check: %s\n", error.message);
        return;
    }
    report(b, "read memory", 1.0, 0.0, limits.read_bytes);
    report(b, "peak float32", 1.0, limits.f32, 0.0);
    report(b, "peak bfloat16", 1.0, limits.bf16, 0.0);
    report(b, "peak int8", 1.0, limits.int8, 0.0);
    enum { GROUPS = 8, BYTES = GROUPS / 2 * OC_Q8_BLOCK_BYTES };
    oc_quant_product job = {.rows = k->quant_rows, .tiles = 2, .groups = GROUPS};
    job.packed = need(oc_alloc(2, BYTES));
    job.packed_stride = BYTES;
    job.x = need(oc_alloc(job.rows * GROUPS * 64, 1));
    job.x_groups = need(oc_alloc(job.rows * GROUPS, sizeof *job.x_groups));
    job.y = need(oc_alloc(job.rows * 32, sizeof *job.y));
    job.y_stride = 32;
    report(b, "product_q8, one thread, in cache", time_best(b, run_product, &job),
           2000.0 * 2.0 * (double)job.rows * 32.0 * GROUPS * 64.0, 0.0);
    oc_free((void *)(uintptr_t)job.packed);
    oc_free((void *)(uintptr_t)job.x);
    oc_free((void *)(uintptr_t)job.x_groups);
    oc_free(job.y);
}

static int bench_tier(const char *tier, int threads)
{
    oc_kernels kernels;
    ocelli_error error;
    bench b = {.compute.kernels = &kernels, .numbers.random = 7};
    if (oc_kernels_choose(&kernels, tier, &error) != OCELLI_OK ||
        oc_pool_open(&b.compute.pool, threads, &error) != OCELLI_OK ||
        oc_arena_reserve(&b.arena, (size_t)256 << 20, "bench", &error) != OCELLI_OK) {
        printf("kernel_check: %s\n", error.message);
        return 1;
    }
    bool slow = strcmp(tier, "scalar") == 0;
    size_t many = slow ? 16 : 512;
    if (!slow) {
        bench_limits(&b);
    }
    for (int f = 0; f < OC_FORMATS; f++) {
        bench_linear(&b, (oc_format)f, 1, 2048, 2048);
        bench_linear(&b, (oc_format)f, 1, 6144, 2048);
    }
    bench_linear(&b, OC_FORMAT_Q8, 4, 6144, 2048);
    bench_linear(&b, OC_FORMAT_Q4, 4, 6144, 2048);
    for (int f = 0; f < OC_FORMATS; f++) {
        bench_linear(&b, (oc_format)f, many, 6144, 2048);
        bench_linear(&b, (oc_format)f, many, 2048, 6144);
    }
    for (size_t rows = 512; rows <= 1200 && kernels.bf16_products; rows += 1200 - 512) {
        bench_linear(&b, OC_FORMAT_BF16, rows, 4096, 1024); /* the tower's */
        bench_linear(&b, OC_FORMAT_BF16, rows, 1024, 4096);
        bench_linear(&b, OC_FORMAT_BF16, rows, 3072, 1024);
    }
    if (kernels.bf16_products) {
        bench_full_bf16(&b, 1200, 16, 64);
        bench_full_bf16(&b, 4096, 16, 64);
        bench_full_bf16(&b, 16384, 4, 64);
    }
    bench_full(&b, slow ? 128 : 1200, 16, 64);
    bench_full(&b, slow ? 128 : 1200, 16, 72);
    bench_cached(&b, OC_FORMAT_F16, 1, 2048);
    bench_cached(&b, OC_FORMAT_F32, 1, 2048);
    bench_cached(&b, OC_FORMAT_F16, slow ? 8 : 512, 1024);
    bench_pointwise(&b);
    oc_pool_close(b.compute.pool);
    oc_arena_close(&b.arena);
    return 0;
}

int bench_all(const char *only_tier, int threads)
{
    int failed = 0;
    printf("%d threads (0: all)\n", threads);
    for (int i = 0; oc_kernels_tier(i) != NULL; i++) {
        if (only_tier == NULL || strcmp(only_tier, oc_kernels_tier(i)) == 0) {
            failed |= bench_tier(oc_kernels_tier(i), threads);
        }
    }
    return failed;
}
