/* candidates.c - see candidates.h. */
#include "text/candidates.h"

#include <math.h>

bool oc_candidate_is_better(oc_candidate a, oc_candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

void oc_candidates_sift_down(oc_candidate *heap, size_t count, size_t at, bool best_on_top)
{
    oc_candidate moving = heap[at];
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count &&
            oc_candidate_is_better(heap[child + 1], heap[child]) == best_on_top) {
            child++;
        }
        if (oc_candidate_is_better(heap[child], moving) != best_on_top) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

void oc_candidates_heapify(oc_candidate *heap, size_t count, bool best_on_top)
{
    for (size_t at = count / 2; at-- > 0;) {
        oc_candidates_sift_down(heap, count, at, best_on_top);
    }
}

size_t oc_candidates_gather(oc_candidate *candidates, size_t most, const float *logits,
                            size_t vocab)
{
    size_t count = 0, id = 0;
    for (; id < vocab && count < most; id++) {
        if (!isnan(logits[id])) {
            candidates[count++] = (oc_candidate){.logit = logits[id], .id = (int32_t)id};
        }
    }
    if (count == 0 || id == vocab) {
        return count;
    }
    oc_candidates_heapify(candidates, count, false);
    for (; id < vocab; id++) {
        /* Not true of NaN, nor of the worst's equal, whose id is the lower. */
        if (logits[id] > candidates[0].logit) {
            candidates[0] = (oc_candidate){.logit = logits[id], .id = (int32_t)id};
            oc_candidates_sift_down(candidates, count, 0, false);
        }
    }
    return count;
}
