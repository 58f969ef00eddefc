/* test_candidates.c - the best of the logits: values, ties, what is not a number. */
#include "text/candidates.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

Test(candidates, order)
{
    cr_assert(oc_candidate_is_better((oc_candidate){2, 7}, (oc_candidate){1, 0}));
    cr_assert_not(oc_candidate_is_better((oc_candidate){1, 0}, (oc_candidate){2, 7}));
    cr_assert(oc_candidate_is_better((oc_candidate){1, 3}, (oc_candidate){1, 4}));
    cr_assert_not(oc_candidate_is_better((oc_candidate){1, 4}, (oc_candidate){1, 4}));
}

static int by_rank(const void *a, const void *b)
{
    const oc_candidate *x = a;
    const oc_candidate *y = b;
    return oc_candidate_is_better(*y, *x) - oc_candidate_is_better(*x, *y);
}

/* Against a full sort, with many equal logits and every count. */
Test(candidates, gather_is_the_front_of_a_sort)
{
    enum { VOCAB = 300 };
    float logits[VOCAB];
    oc_candidate sorted[VOCAB];
    oc_candidate found[VOCAB];
    uint32_t seed = 1;
    for (int i = 0; i < VOCAB; i++) {
        seed = seed * 1664525u + 1013904223u;
        logits[i] = (float)(seed >> 26) - 20.0f; /* 64 values */
        sorted[i] = (oc_candidate){logits[i], i};
    }
    qsort(sorted, VOCAB, sizeof *sorted, by_rank);
    for (size_t most = 1; most <= VOCAB; most++) {
        cr_assert_eq(oc_candidates_gather(found, most, logits, VOCAB), most);
        qsort(found, most, sizeof *found, by_rank);
        for (size_t i = 0; i < most; i++) {
            cr_assert_eq(found[i].id, sorted[i].id, "%zu of %zu", i, most);
            cr_assert_eq(found[i].logit, sorted[i].logit);
        }
    }
    cr_assert_eq(oc_candidates_gather(found, 0, logits, VOCAB), 0);
    cr_assert_eq(oc_candidates_gather(found, 5, logits, 0), 0);
}

Test(candidates, not_numbers_are_left_out)
{
    const float logits[] = {NAN, 3, NAN, -INFINITY, 9, NAN, INFINITY};
    oc_candidate found[7];
    cr_assert_eq(oc_candidates_gather(found, 7, logits, 7), 4);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(found[i].id, ((const int32_t[]){1, 3, 4, 6})[i]); /* all fit: order of id */
    }
    cr_assert_eq(oc_candidates_gather(found, 2, logits, 7), 2);
    qsort(found, 2, sizeof *found, by_rank);
    cr_assert_eq(found[0].id, 6);
    cr_assert_eq(found[1].id, 4);
    cr_assert_eq(oc_candidates_gather(found, 2, (const float[]){NAN, NAN}, 2), 0);
}
