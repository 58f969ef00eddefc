/* divergence.c - see divergence.h. */
#include "tools/divergence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int32_t logits_best(const float *logits, size_t count)
{
    int32_t best = -1;
    for (size_t i = 0; i < count; i++) {
        if (!isnan(logits[i]) && (best < 0 || logits[i] > logits[best])) {
            best = (int32_t)i;
        }
    }
    return best;
}

/* The logarithm of the sum of exponentials, in double: 150000 terms. */
static double log_sum(const float *logits, size_t count)
{
    int32_t best = logits_best(logits, count);
    if (best < 0) {
        return NAN;
    }
    double largest = (double)logits[best];
    double others = 0; /* the largest itself counts 1 */
    for (size_t i = 0; i < count; i++) {
        others += i == (size_t)best ? 0.0 : exp((double)logits[i] - largest);
    }
    return largest + log1p(others);
}

double logits_divergence(const float *p, const float *q, size_t count)
{
    double p_whole = log_sum(p, count);
    double q_whole = log_sum(q, count);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double p_log = (double)p[i] - p_whole;
        double q_log = (double)q[i] - q_whole;
        double share = exp(p_log);
        sum += share > 0 || isnan(share) ? share * (p_log - q_log) : 0; /* 0 ln 0 is 0 */
    }
    if (isnan(sum)) {
        return INFINITY;
    }
    return sum > 0 ? sum : 0; /* rounding may take it a little below */
}

bool divergences_add(divergences *d, const float *p, const float *q, size_t count)
{
    if (d->count == d->room) {
        size_t room = d->room == 0 ? 1024 : d->room * 2;
        double *grown = realloc(d->values, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        d->values = grown;
        d->room = room;
    }
    d->values[d->count++] = logits_divergence(p, q, count);
    d->agreeing += logits_best(p, count) == logits_best(q, count);
    return true;
}

double divergences_mean(const divergences *d)
{
    double sum = 0;
    for (size_t i = 0; i < d->count; i++) {
        sum += d->values[i];
    }
    return d->count > 0 ? sum / (double)d->count : 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double divergences_quantile(divergences *d, double share)
{
    if (d->count == 0) {
        return 0;
    }
    qsort(d->values, d->count, sizeof *d->values, compare);
    double rank = ceil(share * (double)d->count);
    size_t at = rank < 1 ? 0 : (size_t)rank - 1;
    return d->values[at < d->count ? at : d->count - 1];
}

void divergences_free(divergences *d)
{
    free(d->values);
    memset(d, 0, sizeof *d);
}
