/* test_attention.c - both attentions against sums in double over all scores, and the promise that a
 * row's bits depend on its query and keys alone. */
#include "runtime/kernels/attention.h"
#include "runtime/kernels/half.h"

#include "tests/unit/kernels/kernel_fixture.h"

#include <string.h>

/* softmax(q K scale) V of one query; key i at keys + i * stride. */
static void reference(double *out, const float *query, const float *keys, const float *values,
                      size_t stride, size_t count, size_t head_dim, double scale)
{
    double *scores = oc_alloc(count, sizeof *scores), largest = -1e300, total = 0.0;
    for (size_t i = 0; i < count; i++) {
        for (size_t d = 0; d < head_dim; d++) {
            scores[i] += (double)query[d] * (double)keys[i * stride + d];
        }
        scores[i] *= scale;
        largest = fmax(largest, scores[i]);
    }
    for (size_t d = 0; d < head_dim; d++) {
        out[d] = 0.0;
    }
    for (size_t i = 0; i < count; i++) {
        double weight = exp(scores[i] - largest);
        total += weight;
        for (size_t d = 0; d < head_dim; d++) {
            out[d] += weight * (double)values[i * stride + d];
        }
    }
    for (size_t d = 0; d < head_dim; d++) {
        out[d] /= total;
    }
    oc_free(scores);
}

static void run_full(const oc_compute *compute, const oc_attention_full_job *job)
{
    oc_arena dry = oc_arena_dry(), arena = {0};
    ocelli_error error;
    oc_attention_full(compute, &dry, job);
    cr_assert_eq(oc_arena_reserve(&arena, dry.peak, "test", &error), OCELLI_OK);
    oc_attention_full(compute, &arena, job);
    cr_assert(!arena.overflow && arena.used == 0);
    cr_assert_eq(arena.peak, dry.peak);
    oc_arena_close(&arena);
}

static void check_full(const oc_compute *compute, size_t rows, size_t heads, size_t head_dim,
                       float *out)
{
    size_t half = head_dim / 2;
    uint64_t seed = rows * 7 + head_dim;
    size_t width = heads * head_dim, stride = 3 * width, out_stride = width + 2;
    bool turned = head_dim % 8 == 0 && head_dim > 16;
    float *qkv = test_floats(rows * stride, &seed);
    float *cosine = test_floats(rows * half + 1, &seed),
          *sine = test_floats(rows * half + 1, &seed);
    oc_attention_full_job job = {.query = qkv,
                                 .key = qkv + width,
                                 .value = qkv + 2 * width,
                                 .out = out,
                                 .stride = stride,
                                 .out_stride = out_stride,
                                 .rows = rows,
                                 .heads = heads,
                                 .head_dim = head_dim,
                                 .scale = 1.3f / sqrtf((float)head_dim)};
    for (size_t i = 0; i < rows * out_stride; i++) {
        out[i] = 5.0f;
    }
    for (size_t i = 0; i < rows * half; i++) { /* a rotation */
        float angle = cosine[i];
        cosine[i] = cosf(angle);
        sine[i] = sinf(angle);
    }
    job.cosine = turned ? cosine : NULL;
    job.sine = turned ? sine : NULL;
    run_full(compute, &job);
    for (size_t i = 0; i < rows * 2 * heads && turned; i++) {
        size_t r = i / (2 * heads);
        compute->kernels->rope(qkv + r * stride + i % (2 * heads) * head_dim, cosine + r * half,
                               sine + r * half, half);
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t h = 0; h < heads; h++) {
            double expected[256];
            reference(expected, qkv + r * stride + h * head_dim, qkv + width + h * head_dim,
                      qkv + 2 * width + h * head_dim, stride, rows, head_dim, (double)job.scale);
            for (size_t d = 0; d < head_dim; d++) {
                double got = (double)out[r * out_stride + h * head_dim + d];
                cr_assert(fabs(got - expected[d]) < 3e-6, "%s rows %zu head_dim %zu: %g not %g",
                          compute->kernels->tier, rows, head_dim, got, expected[d]);
            }
        }
        cr_assert_eq(out[r * out_stride + width], 5.0f);
    }
    oc_free(qkv);
    oc_free(cosine);
    oc_free(sine);
}

Test(attention, full)
{
    static const size_t rows[] = {1, 5, 63, 64, 65, 200}, dims[] = {5, 16, 24, 64, 72};
    float *first = oc_alloc(200 * 200, sizeof *first), *again = oc_alloc(200 * 200, sizeof *again);
    for (int tier = 0; oc_kernels_tier(tier) != NULL; tier++) {
        for (size_t i = 0; i < 6; i++) {
            for (size_t j = 0; j < 5; j++) {
                for (int threads = 0; threads < 4; threads++) {
                    test_compute t;
                    test_compute_open(&t, oc_kernels_tier(tier), threads);
                    check_full(&t.compute, rows[i], 2, dims[j], threads == 0 ? first : again);
                    size_t bytes = rows[i] * (2 * dims[j] + 2) * sizeof *first;
                    cr_assert(threads == 0 || memcmp(first, again, bytes) == 0);
                    test_compute_close(&t);
                }
            }
        }
    }
    oc_free(first);
    oc_free(again);
}

/* ---- in bfloat16 ----------------------------------------------------------------------------- */

static void run_bf16(const oc_compute *compute, const oc_attention_bf16_job *job)
{
    oc_arena dry = oc_arena_dry(), arena = {0};
    ocelli_error error;
    oc_attention_full_bf16(compute, &dry, job);
    cr_assert_eq(oc_arena_reserve(&arena, dry.peak, "test", &error), OCELLI_OK);
    memset(arena.base, 0xff, arena.capacity); /* NaN: what is not written must not be read */
    oc_attention_full_bf16(compute, &arena, job);
    cr_assert(!arena.overflow && arena.used == 0);
    cr_assert_eq(arena.peak, dry.peak);
    oc_arena_close(&arena);
}

/* Against sums in double. A weight is cut to 8 bits (2^-7 of itself at most, and the sum of weights
 * with it); a score of about 1.3 standard deviations comes from queries rounded to 2^-8. Results
 * are means of normal numbers: 0.02 is generous for either, and a wrong key would be off by far
 * more. */
static void check_bf16(const oc_compute *compute, size_t rows, size_t heads, size_t head_dim,
                       bool turned, float *out)
{
    uint64_t seed = rows * 7 + head_dim;
    size_t width = heads * head_dim, stride = 3 * width + 1, out_stride = width + 3;
    size_t half = head_dim / 2;
    float *qkv = test_floats(rows * stride, &seed);
    float *cosine = test_floats(rows * half + 1, &seed),
          *sine = test_floats(rows * half + 1, &seed);
    uint16_t *halves = oc_alloc(rows * stride, sizeof *halves);
    uint16_t *narrow = oc_alloc(rows * out_stride, sizeof *narrow);
    for (size_t i = 0; i < rows * stride; i++) {
        halves[i] = oc_bf16_narrow(qkv[i]);
        qkv[i] = oc_bf16_widen(halves[i]);
    }
    for (size_t i = 0; i < rows * half; i++) { /* a rotation */
        float angle = cosine[i];
        cosine[i] = cosf(angle);
        sine[i] = sinf(angle);
    }
    oc_attention_bf16_job job = {.query = halves,
                                 .key = halves + width,
                                 .value = halves + 2 * width,
                                 .wide_out = out,
                                 .stride = stride,
                                 .out_stride = out_stride,
                                 .rows = rows,
                                 .heads = heads,
                                 .head_dim = head_dim,
                                 .scale = 1.3f / sqrtf((float)head_dim)};
    for (size_t i = 0; i < rows * out_stride; i++) {
        out[i] = 5.0f;
    }
    if (turned) {
        job.cosine = cosine;
        job.sine = sine;
        for (size_t i = 0; i < rows * 2 * heads; i++) {
            size_t r = i / (2 * heads);
            float *v = qkv + r * stride + i % (2 * heads) * head_dim;
            compute->kernels->rope(v, cosine + r * half, sine + r * half, half);
        }
    }
    run_bf16(compute, &job);
    for (size_t r = 0; r < rows; r++) {
        for (size_t h = 0; h < heads; h++) {
            double expected[256];
            reference(expected, qkv + r * stride + h * head_dim, qkv + width + h * head_dim,
                      qkv + 2 * width + h * head_dim, stride, rows, head_dim, (double)job.scale);
            for (size_t d = 0; d < head_dim; d++) {
                double got = (double)out[r * out_stride + h * head_dim + d];
                cr_assert(fabs(got - expected[d]) < 0.02, "%s rows %zu head_dim %zu: %g not %g",
                          compute->kernels->tier, rows, head_dim, got, expected[d]);
            }
        }
        cr_assert_eq(out[r * out_stride + width], 5.0f);
    }
    job.out = narrow; /* the same, rounded */
    memset(narrow, 0x11, rows * out_stride * sizeof *narrow);
    run_bf16(compute, &job);
    for (size_t i = 0; i < rows * out_stride; i++) {
        cr_assert_eq(narrow[i], i % out_stride < width ? oc_bf16_narrow(out[i]) : 0x1111);
    }
    oc_free(qkv);
    oc_free(cosine);
    oc_free(sine);
    oc_free(halves);
    oc_free(narrow);
}

Test(attention, full_bf16)
{
    static const size_t rows[] = {1, 16, 47, 49, 127, 128, 131, 300}, dims[] = {5, 16, 64, 72};
    float *first = oc_alloc(300 * 200, sizeof *first), *again = oc_alloc(300 * 200, sizeof *again);
    for (int tier = 0; oc_kernels_tier(tier) != NULL; tier++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            for (size_t j = 0; j < sizeof dims / sizeof dims[0]; j++) {
                for (int threads = 0; threads < 4; threads += 3) {
                    test_compute t;
                    test_compute_open(&t, oc_kernels_tier(tier), threads);
                    /* What is reference elsewhere is tried on fewer shapes: it is slow. */
                    if (t.kernels.bf16_products || rows[i] <= 131) {
                        check_bf16(&t.compute, rows[i], 2, dims[j], j != 1 && dims[j] % 2 == 0,
                                   threads == 0 ? first : again);
                        size_t bytes = rows[i] * (2 * dims[j] + 3) * sizeof *first;
                        cr_assert(threads == 0 || memcmp(first, again, bytes) == 0);
                    }
                    test_compute_close(&t);
                }
            }
        }
    }
    oc_free(first);
    oc_free(again);
}

/* So many rows that blocks of queries take turns over the keys; the last item has fewer of them. */
Test(attention, full_bf16_in_turns)
{
    enum { ROWS = 3301, DIM = 16 };
    float *first = oc_alloc(ROWS * (DIM + 3), sizeof *first);
    float *again = oc_alloc(ROWS * (DIM + 3), sizeof *again);
    for (int threads = 0; threads < 4; threads += 3) {
        test_compute t;
        test_compute_open(&t, NULL, threads);
        check_bf16(&t.compute, ROWS, 1, DIM, false, threads == 0 ? first : again);
        test_compute_close(&t);
    }
    cr_assert_eq(memcmp(first, again, ROWS * (DIM + 3) * sizeof *first), 0);
    oc_free(first);
    oc_free(again);
}

/* Scores far apart and rising: what has been summed is corrected, weights vanish,
 * nothing is NaN. */
Test(attention, full_bf16_with_large_scores)
{
    enum { ROWS = 200, DIM = 16 };
    uint64_t seed = 3;
    float out[ROWS * DIM], *values = test_floats(ROWS * DIM, &seed);
    uint16_t query[ROWS * DIM], key[ROWS * DIM], value[ROWS * DIM];
    test_compute t;
    test_compute_open(&t, NULL, 0);
    for (size_t i = 0; i < ROWS * DIM; i++) {
        query[i] = oc_bf16_narrow(i % DIM == 0 ? 1.0f : 0.0f);
        key[i] = oc_bf16_narrow((float)(i / DIM) * 4.0f); /* 0, 4 .. 796 */
        value[i] = oc_bf16_narrow(values[i]);
    }
    run_bf16(&t.compute, &(oc_attention_bf16_job){.query = query,
                                                  .key = key,
                                                  .value = value,
                                                  .wide_out = out,
                                                  .stride = DIM,
                                                  .out_stride = DIM,
                                                  .rows = ROWS,
                                                  .heads = 1,
                                                  .head_dim = DIM,
                                                  .scale = 10.0f});
    for (size_t i = 0; i < ROWS * DIM; i++) { /* all of the weight on the last key */
        cr_assert_float_eq(out[i], oc_bf16_widen(value[(ROWS - 1) * DIM + i % DIM]), 1e-6f);
    }
    oc_free(values);
    test_compute_close(&t);
}

/* ---- the cache ------------------------------------------------------------------------------- */

enum { SLOTS = 210, KV_HEADS = 2, PAGES = (SLOTS + OC_KV_PAGE_SLOTS - 1) / OC_KV_PAGE_SLOTS };

typedef struct session {
    unsigned char *pages[PAGES];
    oc_kv_layer layer;
    float *keys, *values; /* [SLOTS, KV_HEADS * head_dim], as stored */
} session;

static float as_stored(oc_format format, float value)
{
    switch (format) {
    case OC_FORMAT_F16: return oc_f16_widen(oc_f16_narrow(value));
    case OC_FORMAT_BF16: return oc_bf16_widen(oc_bf16_narrow(value));
    default: return value;
    }
}

static void session_open(session *s, const oc_compute *compute, oc_format format, size_t head_dim,
                         uint64_t *seed)
{
    size_t element = format == OC_FORMAT_F32 ? 4 : 2;
    size_t side = KV_HEADS * OC_KV_PAGE_SLOTS * head_dim * element, width = KV_HEADS * head_dim;
    for (int p = 0; p < PAGES; p++) {
        s->pages[p] = oc_alloc(64 + 2 * side, 1);
        memset(s->pages[p], 0xff, 64 + 2 * side); /* NaN: unwritten slots must not be read */
    }
    s->layer = (oc_kv_layer){s->pages, 64, 64 + side, side / KV_HEADS, format};
    s->keys = test_floats(SLOTS * width, seed);
    s->values = test_floats(SLOTS * width, seed);
    for (size_t i = 0; i < SLOTS; i++) {
        oc_kv_store(compute, &s->layer, i, KV_HEADS, head_dim, s->keys + i * width,
                    s->values + i * width);
    }
    for (size_t i = 0; i < SLOTS * width; i++) {
        s->keys[i] = as_stored(format, s->keys[i]);
        s->values[i] = as_stored(format, s->values[i]);
    }
}

static void session_close(session *s)
{
    for (int p = 0; p < PAGES; p++) {
        oc_free(s->pages[p]);
    }
    oc_free(s->keys);
    oc_free(s->values);
}

static void run_cached(const oc_compute *compute, const oc_attention_row *rows, size_t count,
                       size_t heads, size_t head_dim, float scale)
{
    oc_arena dry = oc_arena_dry(), arena = {0};
    ocelli_error error;
    oc_attention_cached(compute, &dry, NULL, count, heads, KV_HEADS, head_dim, scale);
    cr_assert_eq(oc_arena_reserve(&arena, dry.peak, "test", &error), OCELLI_OK);
    oc_attention_cached(compute, &arena, rows, count, heads, KV_HEADS, head_dim, scale);
    cr_assert(!arena.overflow && arena.used == 0);
    cr_assert_eq(arena.peak, dry.peak);
    oc_arena_close(&arena);
}

/* Every row of two sessions alone against the reference, then in chunks and mixtures: same bytes.
 * In bfloat16 queries are rounded as keys are; each weight is rounded by 2^-9 of itself at most,
 * and the result is a mean of normal numbers: off by 0.01 there, where a wrong slot would be off by
 * far more. */
static void check_cached(const char *tier, oc_format format, size_t heads, size_t head_dim)
{
    test_compute serial;
    uint64_t seed = 3 + head_dim;
    size_t width = heads * head_dim, kv_width = KV_HEADS * head_dim, count = 2 * SLOTS;
    session sessions[2];
    float scale = 1.0f / sqrtf((float)head_dim);
    oc_attention_row *rows = oc_alloc(count, sizeof *rows);
    float *query = test_floats(count * width, &seed);
    double bound = format == OC_FORMAT_BF16 ? 0.01 : 3e-6;
    for (size_t i = 0; i < count * width && format == OC_FORMAT_BF16; i++) {
        query[i] = as_stored(format, query[i]);
    }
    float *alone = oc_alloc(count * width, sizeof *alone),
          *out = oc_alloc(count * width, sizeof *out);
    test_compute_open(&serial, tier, 0);
    session_open(&sessions[0], &serial.compute, format, head_dim, &seed);
    session_open(&sessions[1], &serial.compute, format, head_dim, &seed);
    for (size_t i = 0; i < count; i++) {
        const session *s = &sessions[i / SLOTS];
        rows[i] = (oc_attention_row){query + i * width, alone + i * width, s->layer, i % SLOTS + 1};
        run_cached(&serial.compute, &rows[i], 1, heads, head_dim, scale);
        for (size_t h = 0; h < heads; h++) {
            double expected[256];
            size_t kv = h / (heads / KV_HEADS) * head_dim;
            reference(expected, query + i * width + h * head_dim, s->keys + kv, s->values + kv,
                      kv_width, rows[i].length, head_dim, (double)scale);
            for (size_t d = 0; d < head_dim; d++) {
                double got = (double)alone[i * width + h * head_dim + d];
                cr_assert(fabs(got - expected[d]) < bound, "%s row %zu: %g not %g", tier, i, got,
                          expected[d]);
            }
        }
        rows[i].out = out + i * width;
    }
    for (int threads = 1; threads < 4; threads++) {
        test_compute t;
        test_compute_open(&t, tier, threads);
        static const size_t chunks[] = {2, 7, 64, 2 * SLOTS};
        for (int c = 0; c < 4; c++) {
            memset(out, 0xff, count * width * sizeof *out);
            for (size_t i = 0; i < count; i += chunks[c]) {
                size_t n = count - i < chunks[c] ? count - i : chunks[c];
                run_cached(&t.compute, rows + i, n, heads, head_dim, scale);
            }
            cr_assert_eq(memcmp(out, alone, count * width * sizeof *out), 0, "%s chunk %zu", tier,
                         chunks[c]);
        }
        test_compute_close(&t);
    }
    session_close(&sessions[0]);
    session_close(&sessions[1]);
    oc_free(rows);
    oc_free(query);
    oc_free(alone);
    oc_free(out);
}

Test(attention, cached)
{
    for (int tier = 0; oc_kernels_tier(tier) != NULL; tier++) {
        check_cached(oc_kernels_tier(tier), OC_FORMAT_F32, 2, 20);
        check_cached(oc_kernels_tier(tier), OC_FORMAT_F32, 6, 16);
        check_cached(oc_kernels_tier(tier), OC_FORMAT_F16, 4, 32);
        check_cached(oc_kernels_tier(tier), OC_FORMAT_F16, 2, 5);
        check_cached(oc_kernels_tier(tier), OC_FORMAT_BF16, 4, 32);
        check_cached(oc_kernels_tier(tier), OC_FORMAT_BF16, 2, 80); /* a panel and a part of one */
    }
}

/* A row that sees nothing is zero. */
Test(attention, no_keys)
{
    float query[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {9, 9, 9, 9, 9, 9, 9, 9};
    oc_attention_row row = {.query = query, .out = out, .cache = {.format = OC_FORMAT_F32}};
    test_compute t;
    test_compute_open(&t, NULL, 0);
    run_cached(&t.compute, &row, 1, 2, 4, 1.0f);
    for (int i = 0; i < 8; i++) {
        cr_assert_eq(out[i], 0.0f);
    }
}
