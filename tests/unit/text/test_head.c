/* test_head.c - the two stages of a Q4 head: what is settled is exact, what is not is screened. */
#define _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "text/head.h"

#include "runtime/base/memory.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/linear.h"
#include "tests/unit/weights/scratch.h"
#include "text/candidates.h"

#include <math.h>

enum { VOCAB = 1000, HIDDEN = 96, ROWS = OC_HEAD_ROWS };

typedef struct fixture {
    scratch folder;
    oc_kernels kernels;
    oc_compute compute;
    float *table_rows;  /* [VOCAB, HIDDEN] */
    float norm[HIDDEN]; /* not all alike */
    float *x;           /* [ROWS, HIDDEN] */
    float *normed;      /* the same after the norm, in double */
    void *packed[2];
    oc_embed_table *table;
    oc_head q8, q4; /* q4 settles */
    oc_arena arena;
} fixture;

/* About normal: the sum of four uniform numbers. */
static float draw(uint32_t *seed)
{
    float sum = -2.0f;
    for (int i = 0; i < 4; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        sum += (float)(*seed >> 8) / (float)(1 << 24);
    }
    return sum;
}

static oc_head head_of(fixture *f, oc_format format, void **packed)
{
    size_t bytes;
    cr_assert(oc_matrix_bytes(format, VOCAB, HIDDEN, &bytes));
    *packed = oc_alloc(bytes, 1);
    oc_matrix_pack(format, *packed, VOCAB, HIDDEN, 0, VOCAB, f->table_rows);
    return (oc_head){
        .norm = f->norm, .norm_eps = 1e-6f, .matrix = {*packed, VOCAB, HIDDEN, format}};
}

static void open_fixture(fixture *f, int threads)
{
    uint32_t seed = 5;
    char path[SCRATCH_PATH];
    ocelli_error err = {0};
    memset(f, 0, sizeof *f);
    f->folder = scratch_open();
    cr_assert_eq(oc_kernels_choose(&f->kernels, NULL, &err), OCELLI_OK);
    f->compute.kernels = &f->kernels;
    if (threads > 0) {
        cr_assert_eq(oc_pool_open(&f->compute.pool, threads, &err), OCELLI_OK);
    }
    f->table_rows = oc_alloc((size_t)VOCAB * HIDDEN, sizeof(float));
    f->x = oc_alloc((size_t)ROWS * HIDDEN, sizeof(float));
    f->normed = oc_alloc((size_t)ROWS * HIDDEN, sizeof(float));
    for (size_t i = 0; i < (size_t)VOCAB * HIDDEN; i++) {
        f->table_rows[i] = 0.02f * draw(&seed);
    }
    for (size_t i = 0; i < HIDDEN; i++) {
        f->norm[i] = 1.0f + 0.5f * draw(&seed);
    }
    for (size_t r = 0; r < ROWS; r++) {
        double sum = 0;
        for (size_t i = 0; i < HIDDEN; i++) {
            float x = 3.0f * draw(&seed);
            f->x[r * HIDDEN + i] = x;
            sum += (double)x * (double)x;
        }
        for (size_t i = 0; i < HIDDEN; i++) {
            f->normed[r * HIDDEN + i] = (float)((double)f->x[r * HIDDEN + i] /
                                                sqrt(sum / HIDDEN + 1e-6) * (double)f->norm[i]);
        }
    }
    scratch_write(&f->folder, "embed_tokens.bin", f->table_rows,
                  (size_t)VOCAB * HIDDEN * sizeof(float));
    cr_assert_eq(oc_embed_table_acquire(&f->table,
                                        scratch_path(&f->folder, "embed_tokens.bin", path), 0,
                                        OC_F32, VOCAB, HIDDEN, true, 0, &err),
                 OCELLI_OK, "%s", err.message);
    f->q8 = head_of(f, OC_FORMAT_Q8, &f->packed[0]);
    f->q4 = head_of(f, OC_FORMAT_Q4, &f->packed[1]);
    f->q4.table = f->table;
    cr_assert_eq(oc_arena_reserve(&f->arena, (size_t)4 << 20, "test", &err), OCELLI_OK);
}

static void close_fixture(fixture *f)
{
    oc_arena_close(&f->arena);
    oc_embed_table_release(f->table);
    oc_free(f->packed[0]);
    oc_free(f->packed[1]);
    oc_free(f->normed);
    oc_free(f->x);
    oc_free(f->table_rows);
    oc_pool_close(f->compute.pool);
    scratch_close(&f->folder);
}

/* Rows [first, first + count) of x; logits [ROWS, VOCAB]. */
static void run(fixture *f, const oc_head *head, size_t first, size_t count, float *logits)
{
    const float *x[ROWS];
    float *to[ROWS];
    for (size_t i = 0; i < count; i++) {
        x[i] = f->x + (first + i) * HIDDEN;
        to[i] = logits + (first + i) * VOCAB;
    }
    oc_head_run(head, &f->compute, &f->arena, x, to, count);
    cr_assert_not(f->arena.overflow);
    cr_assert_eq(f->arena.used, 0);
}

static double exact(const fixture *f, size_t row, size_t id)
{
    double sum = 0;
    for (size_t i = 0; i < HIDDEN; i++) {
        sum += (double)f->normed[row * HIDDEN + i] * (double)f->table_rows[id * HIDDEN + i];
    }
    return sum;
}

Test(head, format_of_the_head)
{
    cr_assert_eq(oc_head_format(OC_FORMAT_Q4, true), OC_FORMAT_Q4);
    cr_assert_eq(oc_head_format(OC_FORMAT_Q4, false), OC_FORMAT_Q8);
    cr_assert_eq(oc_head_format(OC_FORMAT_Q8, true), OC_FORMAT_Q8);
    cr_assert_eq(oc_head_format(OC_FORMAT_F32, false), OC_FORMAT_F32);
}

/* The best of the screened logits have the table's own products; the rest are the matrix's. */
Test(head, settles_the_best)
{
    fixture f;
    open_fixture(&f, 2);
    static float plain[ROWS * VOCAB], settled[ROWS * VOCAB];
    oc_head screen = f.q4;
    screen.table = NULL;
    run(&f, &screen, 0, ROWS, plain);
    run(&f, &f.q4, 0, ROWS, settled);
    double most_plain = 0;
    for (size_t r = 0; r < ROWS; r++) {
        oc_candidate best[OC_HEAD_SETTLED];
        bool is_best[VOCAB] = {false};
        cr_assert_eq(oc_candidates_gather(best, OC_HEAD_SETTLED, plain + r * VOCAB, VOCAB),
                     OC_HEAD_SETTLED);
        for (size_t i = 0; i < OC_HEAD_SETTLED; i++) {
            is_best[best[i].id] = true;
        }
        size_t truly = 0, said = 0;
        for (size_t id = 0; id < VOCAB; id++) {
            float value = settled[r * VOCAB + id];
            double right = exact(&f, r, id);
            truly = right > exact(&f, r, truly) ? id : truly;
            said = value > settled[r * VOCAB + said] ? id : said;
            if (is_best[id]) {
                cr_assert_leq(fabs((double)value - right), 2e-6, "row %zu id %zu", r, id);
                most_plain = fmax(most_plain, fabs((double)plain[r * VOCAB + id] - right));
            } else {
                cr_assert_eq(value, plain[r * VOCAB + id]);
            }
        }
        cr_assert_eq(said, truly, "row %zu", r);
    }
    cr_assert_geq(most_plain, 0.005); /* there was something to settle */
    close_fixture(&f);
}

/* Bit for bit the same alone and among others, with any number of threads. */
Test(head, rows_do_not_depend_on_each_other)
{
    static float together[ROWS * VOCAB], alone[ROWS * VOCAB];
    fixture f;
    open_fixture(&f, 0);
    run(&f, &f.q4, 0, ROWS, together);
    for (int threads = 1; threads <= 3; threads++) {
        close_fixture(&f);
        open_fixture(&f, threads);
        for (size_t r = 0; r < ROWS; r++) {
            run(&f, &f.q4, r, 1, alone);
        }
        cr_assert_eq(memcmp(together, alone, sizeof alone), 0, "%d threads", threads);
        memset(alone, 0, sizeof alone);
        run(&f, &f.q4, 0, 5, alone);
        run(&f, &f.q4, 5, ROWS - 5, alone);
        cr_assert_eq(memcmp(together, alone, sizeof alone), 0, "%d threads", threads);
    }
    close_fixture(&f);
}

/* Other formats are not settled, with a table or without. */
Test(head, q8_stands)
{
    static float with[ROWS * VOCAB], without[ROWS * VOCAB];
    fixture f;
    open_fixture(&f, 2);
    run(&f, &f.q8, 0, ROWS, without);
    f.q8.table = f.table;
    run(&f, &f.q8, 0, ROWS, with);
    cr_assert_eq(memcmp(with, without, sizeof with), 0);
    for (size_t i = 0; i < (size_t)ROWS * VOCAB; i += 7) {
        cr_assert_leq(fabs((double)with[i] - exact(&f, i / VOCAB, i % VOCAB)), 0.01);
    }
    close_fixture(&f);
}

/* A dry run counts what a real one takes. */
Test(head, scratch_is_counted)
{
    static float logits[ROWS * VOCAB];
    for (size_t count = 1; count <= ROWS; count += 5) {
        fixture f;
        open_fixture(&f, 2);
        oc_arena dry = oc_arena_dry();
        oc_head_run(&f.q4, &f.compute, &dry, NULL, NULL, count);
        run(&f, &f.q4, 0, count, logits);
        cr_assert_eq(dry.peak, f.arena.peak);
        cr_assert_gt(dry.peak, count * VOCAB * sizeof(float));
        close_fixture(&f);
    }
}

/* Logits that are not numbers are not settled into some. */
Test(head, not_numbers_stay_so)
{
    static float logits[ROWS * VOCAB];
    fixture f;
    open_fixture(&f, 2);
    f.x[3] = NAN;
    run(&f, &f.q4, 0, 2, logits);
    for (size_t id = 0; id < VOCAB; id++) {
        cr_assert(isnan(logits[id]));
        cr_assert_not(isnan(logits[VOCAB + id])); /* the row beside it is sound */
    }
    close_fixture(&f);
}
