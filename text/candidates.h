/* candidates.h - the best of the logits, without sorting the vocabulary. */
#ifndef OC_TEXT_CANDIDATES_H
#define OC_TEXT_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct oc_candidate {
    float logit;
    int32_t id;
} oc_candidate;

/* The larger logit; of equal ones the lower id. */
bool oc_candidate_is_better(oc_candidate a, oc_candidate b);

/* A binary heap in an array, the best on top or the worst. heapify makes one of count candidates in
 * any order; sift_down mends one whose member `at` has become less fit for the top. */
void oc_candidates_heapify(oc_candidate *heap, size_t count, bool best_on_top);
void oc_candidates_sift_down(oc_candidate *heap, size_t count, size_t at, bool best_on_top);

/* Fills candidates [most] with the best `most` of logits [vocab] that are numbers; returns how many
 * those are. In order of id if all fit; else a heap with the worst on top. */
size_t oc_candidates_gather(oc_candidate *candidates, size_t most, const float *logits,
                            size_t vocab);

#endif
