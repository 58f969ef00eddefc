/* head.c - see head.h. */
#include "text/head.h"

#include "runtime/kernels/linear.h"
#include "runtime/kernels/operations.h"
#include "text/candidates.h"

#include <string.h>

/* Candidates that one worker announces, and then settles, at a time: some microseconds of work. */
enum { EXPECT_CHUNK = 16, SETTLE_CHUNK = 4 };

oc_format oc_head_format(oc_format body, bool tied)
{
    /* The head decides every token, and no later layer averages its errors out: below Q8 it is
     * taken only where there is a table to settle with. */
    return body == OC_FORMAT_Q4 && !tied ? OC_FORMAT_Q8 : body;
}

typedef struct settling {
    const oc_head *head;
    const oc_compute *compute;
    const float *normed;  /* [rows, hidden] */
    float *logits;        /* [rows, vocab] */
    size_t most;          /* candidates of a row */
    oc_candidate *chosen; /* [rows, most]; id -1: fewer logits are numbers */
    float *scratch;       /* [threads, hidden] */
} settling;

static void choose_range(void *user, size_t begin, size_t end, int worker)
{
    settling *s = user;
    size_t vocab = s->head->matrix.rows;
    (void)worker;
    for (size_t r = begin; r < end; r++) {
        oc_candidate *chosen = s->chosen + r * s->most;
        size_t found = oc_candidates_gather(chosen, s->most, s->logits + r * vocab, vocab);
        for (; found < s->most; found++) {
            chosen[found].id = -1;
        }
    }
}

static void expect_range(void *user, size_t begin, size_t end, int worker)
{
    settling *s = user;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        if (s->chosen[i].id >= 0) {
            oc_embed_table_expect(s->head->table, (size_t)s->chosen[i].id);
        }
    }
}

static void settle_range(void *user, size_t begin, size_t end, int worker)
{
    settling *s = user;
    size_t vocab = s->head->matrix.rows, hidden = s->head->matrix.cols;
    float *weights = s->scratch + (size_t)worker * hidden;
    for (size_t i = begin; i < end; i++) {
        size_t row = i / s->most;
        int32_t id = s->chosen[i].id;
        if (id >= 0) {
            /* A row that cannot be read keeps its screened logit: before the next step the model
             * finds out that the file has become shorter (oc_embed_table_check). */
            if (oc_embed_table_read(s->head->table, (size_t)id, weights, NULL) == OCELLI_OK) {
                s->logits[row * vocab + (size_t)id] =
                    s->compute->kernels->dot(s->normed + row * hidden, weights, hidden);
            }
        }
    }
}

/* Puts the best logits of each row right. */
static void settle(const oc_head *head, const oc_compute *compute, oc_arena *arena,
                   const float *normed, float *logits, size_t rows)
{
    size_t vocab = head->matrix.rows, hidden = head->matrix.cols;
    size_t threads = compute->pool != NULL ? (size_t)oc_pool_threads(compute->pool) : 1;
    size_t most = vocab < OC_HEAD_SETTLED ? vocab : OC_HEAD_SETTLED;
    settling s = {.head = head,
                  .compute = compute,
                  .normed = normed,
                  .logits = logits,
                  .most = most,
                  .chosen = oc_arena_take(arena, rows * most, sizeof *s.chosen),
                  .scratch = oc_arena_take(arena, threads * hidden, sizeof *s.scratch)};
    if (arena->dry || arena->overflow) {
        return;
    }
    oc_pool_run(compute->pool, rows, 1, choose_range, &s);
    oc_pool_run(compute->pool, rows * most, EXPECT_CHUNK, expect_range, &s);
    oc_pool_run(compute->pool, rows * most, SETTLE_CHUNK, settle_range, &s);
}

void oc_head_run(const oc_head *head, const oc_compute *compute, oc_arena *arena,
                 const float *const *x, float *const *logits, size_t count)
{
    size_t vocab = head->matrix.rows, hidden = head->matrix.cols;
    size_t mark = oc_arena_mark(arena);
    float *normed = oc_arena_take(arena, count * hidden, sizeof *normed); /* [count, hidden] */
    float *made = oc_arena_take(arena, count * vocab, sizeof *made);      /* [count, vocab] */
    bool idle = arena->dry || arena->overflow;
    for (size_t i = 0; !idle && i < count; i++) {
        oc_rms_norm(compute, normed + i * hidden, x[i], head->norm, 1, hidden, hidden,
                    head->norm_eps);
    }
    oc_activations activations;
    size_t inner = oc_arena_mark(arena);
    oc_activations_prepare(&activations, compute, arena, head->matrix.format, normed, count, hidden,
                           hidden);
    oc_linear(compute, arena, &head->matrix, NULL, &activations, made, vocab);
    oc_arena_release(arena, inner);
    if (head->table != NULL && head->matrix.format == OC_FORMAT_Q4) {
        settle(head, compute, arena, normed, made, count);
    }
    idle = idle || arena->overflow;
    for (size_t i = 0; !idle && i < count; i++) {
        memcpy(logits[i], made + i * vocab, vocab * sizeof *made);
    }
    oc_arena_release(arena, mark);
}
