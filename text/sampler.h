/* sampler.h - from logits to the next id. One order of operations:
 * penalties, temperature, top-k, top-p, min-p, draw.
 *
 * top-k keeps exactly k, of equal logits the lower ids. top-p keeps the fewest of what is left whose
 * probabilities reach it, the one that crosses included. min-p keeps what is at least min_p times as
 * likely as the likeliest. At least one id always stays. */
#ifndef OC_TEXT_SAMPLER_H
#define OC_TEXT_SAMPLER_H

#include "runtime/base/status.h"

#include <stdint.h>

typedef struct oc_sampler oc_sampler;

typedef struct oc_sampler_options {
    float temperature; /* 0: the largest logit, the lowest id on a tie */
    int top_k;         /* 0: off */
    float top_p;       /* 1: off */
    float min_p;       /* 0: off */
    float
        repetition_penalty; /* 1: off; applies to ids of prompt and answer, as the reference does */
    float presence_penalty; /* 0: off; applies to ids of the answer */
    uint64_t seed;
} oc_sampler_options;

/* vocab: logits per row. OCELLI_E_ARGUMENT names the field that is out of range (temperature < 0 or
 * not finite, top_p outside (0, 1], ...). */
ocelli_status oc_sampler_open(oc_sampler **out, const oc_sampler_options *options, size_t vocab,
                              ocelli_error *err);
void oc_sampler_close(oc_sampler *sampler);
/* Tells of ids that the penalties count. Ids out of [0, vocab) are ignored. */
void oc_sampler_saw_prompt(oc_sampler *sampler, const int32_t *ids, size_t count);
void oc_sampler_saw_answer(oc_sampler *sampler, int32_t id);
/* Picks an id; logits [vocab] are changed in place. Allocates nothing. NaN logits never win; if
 * all are NaN, returns -1. The draw uses a documented generator (splitmix64-seeded xoshiro256**). */
int32_t oc_sampler_pick(oc_sampler *sampler, float *logits);

#endif
