/* head.h - the last hidden rows to logits.
 *
 * The head of a Q4 model whose lm_head is the embedding table (a tied one) works in two stages. The
 * Q4 matrix screens the whole vocabulary; its best OC_HEAD_SETTLED are then settled: multiplied
 * again in float32 with the rows of the table itself, which is mapped anyway. So a quarter of the
 * bytes a token reads are nearly halved, and the logits that can win carry no error of the head's
 * weights at all, as they would with Q8. The others keep their screened values: an error of some
 * per cent of the logits' spread, far from the top. */
#ifndef OC_TEXT_HEAD_H
#define OC_TEXT_HEAD_H

#include "runtime/base/arena.h"
#include "runtime/kernels/compute.h"
#include "runtime/kernels/matrix.h"
#include "text/embed_table.h"

enum {
    OC_HEAD_ROWS = 16,   /* rows of one call at most */
    OC_HEAD_SETTLED = 64 /* of each row's logits */
};

typedef struct oc_head {
    const float *norm; /* [hidden] */
    float norm_eps;
    oc_matrix matrix;            /* [vocab, hidden] */
    const oc_embed_table *table; /* what matrix is the quantised form of; NULL: it has none, or the
                                  * matrix's own products stand */
} oc_head;

/* The format that a head is held in when the body's matrices have this one. */
oc_format oc_head_format(oc_format body, bool tied);

/* logits[i] [vocab] of the row x[i] [hidden], before the final norm, for i < count <= OC_HEAD_ROWS.
 * A row's bits depend on that row alone. On a dry arena nothing is read or written; x and logits
 * may be NULL. */
void oc_head_run(const oc_head *head, const oc_compute *compute, oc_arena *arena,
                 const float *const *x, float *const *logits, size_t count);

#endif
