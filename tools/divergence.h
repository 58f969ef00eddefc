/* divergence.h - how far one next-token distribution lies from another, over many of them. Arithmetic
 * only. */
#ifndef OCELLI_TOOLS_DIVERGENCE_H
#define OCELLI_TOOLS_DIVERGENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest of logits [count], the first of equal ones; -1: none is a number. */
int32_t logits_best(const float *logits, size_t count);

/* KL(P || Q) in nats of the distributions that logits p and q [count] stand for: the sum of
 * P ln(P / Q). Never negative; infinity where Q rules out what P does not, or is no distribution. */
double logits_divergence(const float *p, const float *q, size_t count);

typedef struct divergences {
    double *values; /* [count] */
    size_t count, room;
    uint64_t agreeing; /* of them, with the same likeliest token */
} divergences;

/* Adds one pair of logits; false: no memory. */
bool divergences_add(divergences *d, const float *p, const float *q, size_t count);
double divergences_mean(const divergences *d);
/* The least value that a share of all (0 < share <= 1) do not exceed; sorts the values. 0 if none. */
double divergences_quantile(divergences *d, double share);
void divergences_free(divergences *d);

#endif
