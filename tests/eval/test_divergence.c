/* test_divergence.c - divergences computed by hand, and what is made of many of them. */
#include "tools/divergence.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define NEAR(a, b) cr_assert_leq(fabs((a) - (b)), 1e-6, "%.9f where %.9f is right", (a), (b))

/* P = (1/2, 1/4, 1/4), Q = (1/4, 1/4, 1/2): KL = 1/2 ln 2 + 0 - 1/4 ln 2 = 1/4 ln 2. */
Test(divergence, by_hand)
{
    const float half = logf(0.5f), quarter = logf(0.25f);
    const float p[] = {half, quarter, quarter}, q[] = {quarter, quarter, half};
    NEAR(logits_divergence(p, q, 3), 0.25 * log(2));
    NEAR(logits_divergence(q, p, 3), 0.25 * log(2));
    /* One certain, the other even: ln 4. It is not symmetric: the way back has no bound. */
    const float sure[] = {0, -INFINITY, -INFINITY, -INFINITY}, even[] = {7, 7, 7, 7};
    NEAR(logits_divergence(sure, even, 4), log(4));
    cr_assert(isinf(logits_divergence(even, sure, 4)));
    /* A common shift of the logits changes nothing, however large. */
    const float high[] = {10000 + half, 10000 + quarter, 10000 + quarter};
    cr_assert_leq(logits_divergence(high, p, 3), 1e-6);
    cr_assert_eq(logits_divergence(p, p, 3), 0);
    cr_assert_eq(logits_divergence(sure, sure, 4), 0);
}

Test(divergence, not_numbers)
{
    const float p[] = {1, 2}, q[] = {1, NAN}, none[] = {NAN, NAN};
    cr_assert(isinf(logits_divergence(p, q, 2)));
    cr_assert(isinf(logits_divergence(q, p, 2)));
    cr_assert(isinf(logits_divergence(p, none, 2)));
    cr_assert_eq(logits_best(q, 2), 0);
    cr_assert_eq(logits_best(none, 2), -1);
    cr_assert_eq(logits_best((const float[]){3, 5, 5}, 3), 1);
}

Test(divergence, mean_quantile_and_agreement)
{
    divergences d = {0};
    const float sure[] = {0, -INFINITY}, even[] = {1, 1}, other[] = {1, 2};
    cr_assert_eq(divergences_mean(&d), 0);
    cr_assert_eq(divergences_quantile(&d, 0.99), 0);
    for (int i = 0; i < 2000; i++) { /* more than the first room */
        bool far = i % 100 == 50;    /* one in a hundred */
        cr_assert(divergences_add(&d, sure, far ? other : i % 2 == 0 ? even : sure, 2));
    }
    cr_assert_eq(d.count, 2000);
    cr_assert_eq(d.agreeing, 1980);
    double far = log(1 + exp(1)); /* -ln of what `other` gives the first */
    NEAR(divergences_mean(&d), (980 * log(2) + 20 * far) / 2000);
    NEAR(divergences_quantile(&d, 1), far);
    NEAR(divergences_quantile(&d, 0.99), log(2));
    NEAR(divergences_quantile(&d, 0.9901), far);
    NEAR(divergences_quantile(&d, 0.5), 0.0);
    divergences_free(&d);
    cr_assert_eq(d.count, 0);
}
