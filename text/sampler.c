/* sampler.c - see sampler.h.
 *
 * The vocabulary is never sorted: top-k keeps its k best in a small heap while it passes over the
 * logits once, top-p takes the best off a heap until it has enough. Weights are exp((logit - best)
 * / temperature) in double, so a tiny temperature cannot overflow. Equal logits rank by id. */
#include "text/sampler.h"

#include "runtime/base/memory.h"
#include "text/candidates.h"

#include <math.h>
#include <stdbool.h>

enum { SEEN_PROMPT = 1, SEEN_ANSWER = 2 };

struct oc_sampler {
    oc_sampler_options options;
    size_t vocab;
    uint64_t state[4];        /* xoshiro256** */
    oc_candidate *candidates; /* [vocab]; NULL when greedy */
    uint8_t *seen;            /* [vocab] SEEN_ bits; NULL without penalties */
    int32_t *seen_ids;        /* [vocab] the ids with any bit, in order of appearance */
    size_t seen_count;
};

/* ---- options -------------------------------------------------------------------------------- */

static ocelli_status check_options(const oc_sampler_options *options, ocelli_error *err)
{
    const struct {
        const char *name;
        double value;
        bool right;
        const char *wanted;
    } rules[] = {
        {"temperature", (double)options->temperature,
         isfinite(options->temperature) && options->temperature >= 0.0f, "0 or more"},
        {"top_k", (double)options->top_k, options->top_k >= 0, "0 (off) or more"},
        {"top_p", (double)options->top_p, options->top_p > 0.0f && options->top_p <= 1.0f,
         "above 0 and at most 1 (off)"},
        {"min_p", (double)options->min_p, options->min_p >= 0.0f && options->min_p <= 1.0f,
         "from 0 (off) to 1"},
        {"repetition_penalty", (double)options->repetition_penalty,
         isfinite(options->repetition_penalty) && options->repetition_penalty > 0.0f,
         "above 0 (1: off)"},
        {"presence_penalty", (double)options->presence_penalty,
         isfinite(options->presence_penalty) != 0, "a number (0: off)"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].right) {
            return oc_fail(err, OCELLI_E_ARGUMENT, "%s is %g; it must be %s", rules[i].name,
                           rules[i].value, rules[i].wanted);
        }
    }
    return OCELLI_OK;
}

/* splitmix64, the seeding that the authors of xoshiro recommend. */
static uint64_t seed_next(uint64_t *seed)
{
    uint64_t value = *seed += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static uint64_t rotate_left(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

/* xoshiro256** 1.0 (Blackman and Vigna). */
static uint64_t random_next(uint64_t state[4])
{
    uint64_t result = rotate_left(state[1] * 5, 7) * 9;
    uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotate_left(state[3], 45);
    return result;
}

ocelli_status oc_sampler_open(oc_sampler **out, const oc_sampler_options *options, size_t vocab,
                              ocelli_error *err)
{
    *out = NULL;
    OC_TRY(check_options(options, err));
    if (vocab == 0 || vocab > INT32_MAX) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "a vocabulary of %zu ids cannot be sampled", vocab);
    }
    bool greedy = options->temperature == 0.0f;
    bool penalties = options->repetition_penalty != 1.0f || options->presence_penalty != 0.0f;
    oc_sampler *sampler = oc_alloc(1, sizeof *sampler);
    if (sampler == NULL) {
        return oc_fail_memory(err, "the sampler");
    }
    sampler->options = *options;
    sampler->vocab = vocab;
    if (!greedy) {
        sampler->candidates = oc_alloc(vocab, sizeof *sampler->candidates);
    }
    if (penalties) {
        sampler->seen = oc_alloc(vocab, sizeof *sampler->seen);
        sampler->seen_ids = oc_alloc(vocab, sizeof *sampler->seen_ids);
    }
    if ((!greedy && sampler->candidates == NULL) ||
        (penalties && (sampler->seen == NULL || sampler->seen_ids == NULL))) {
        oc_sampler_close(sampler);
        return oc_fail_memory(err, "the sampler");
    }
    uint64_t seed = options->seed;
    for (size_t i = 0; i < 4; i++) {
        sampler->state[i] = seed_next(&seed);
    }
    *out = sampler;
    return OCELLI_OK;
}

void oc_sampler_close(oc_sampler *sampler)
{
    if (sampler != NULL) {
        oc_free(sampler->candidates);
        oc_free(sampler->seen);
        oc_free(sampler->seen_ids);
        oc_free(sampler);
    }
}

/* ---- penalties ------------------------------------------------------------------------------ */

static void mark_seen(oc_sampler *sampler, int32_t id, uint8_t bit)
{
    if (sampler->seen == NULL || id < 0 || (size_t)id >= sampler->vocab) {
        return;
    }
    if (sampler->seen[id] == 0) {
        sampler->seen_ids[sampler->seen_count++] = id;
    }
    sampler->seen[id] |= bit;
}

void oc_sampler_saw_prompt(oc_sampler *sampler, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mark_seen(sampler, ids[i], SEEN_PROMPT);
    }
}

void oc_sampler_saw_answer(oc_sampler *sampler, int32_t id)
{
    mark_seen(sampler, id, SEEN_ANSWER);
}

static void apply_penalties(const oc_sampler *sampler, float *logits)
{
    float repetition = sampler->options.repetition_penalty;
    float presence = sampler->options.presence_penalty;
    for (size_t i = 0; i < sampler->seen_count; i++) {
        int32_t id = sampler->seen_ids[i];
        if (repetition != 1.0f) {
            logits[id] = logits[id] < 0.0f ? logits[id] * repetition : logits[id] / repetition;
        }
        if ((sampler->seen[id] & SEEN_ANSWER) != 0) {
            logits[id] -= presence;
        }
    }
}

/* ---- candidates ----------------------------------------------------------------------------- */

static oc_candidate best_of(const oc_candidate *candidates, size_t count)
{
    oc_candidate best = candidates[0];
    for (size_t i = 1; i < count; i++) {
        best = oc_candidate_is_better(candidates[i], best) ? candidates[i] : best;
    }
    return best;
}

/* Relative to the best one, whose weight is 1. */
static double weight_of(const oc_sampler *sampler, float logit, float best)
{
    if (logit == best) {
        return 1.0; /* also where the difference of infinities would not be a number */
    }
    return exp(((double)logit - (double)best) / (double)sampler->options.temperature);
}

/* Puts the smallest set of best candidates whose share of the total reaches top_p at the front, the
 * likeliest first; returns its size. */
static size_t keep_top_p(const oc_sampler *sampler, oc_candidate *candidates, size_t count,
                         float best)
{
    double total = 0.0;
    for (size_t i = 0; i < count; i++) {
        total += weight_of(sampler, candidates[i].logit, best);
    }
    double wanted = (double)sampler->options.top_p * total;
    double sum = 0.0;
    size_t heaped = count;
    oc_candidates_heapify(candidates, heaped, true);
    while (heaped > 0 && (sum < wanted || heaped == count)) {
        oc_candidate top = candidates[0];
        candidates[0] = candidates[--heaped];
        if (heaped > 0) {
            oc_candidates_sift_down(candidates, heaped, 0, true);
        }
        candidates[heaped] = top;
        sum += weight_of(sampler, top.logit, best);
    }
    for (size_t i = 0; i < (count - heaped) / 2; i++) { /* taken from the end: likeliest last */
        oc_candidate swapped = candidates[heaped + i];
        candidates[heaped + i] = candidates[count - 1 - i];
        candidates[count - 1 - i] = swapped;
    }
    for (size_t i = heaped; i < count; i++) {
        candidates[i - heaped] = candidates[i];
    }
    return count - heaped;
}

static size_t keep_min_p(const oc_sampler *sampler, oc_candidate *candidates, size_t count,
                         float best)
{
    double least = (double)sampler->options.min_p;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (weight_of(sampler, candidates[i].logit, best) >= least) {
            candidates[kept++] = candidates[i];
        }
    }
    return kept; /* the best one weighs 1: it stays */
}

static int32_t draw(oc_sampler *sampler, const oc_candidate *candidates, size_t count,
                    oc_candidate best)
{
    double total = 0.0;
    for (size_t i = 0; i < count; i++) {
        total += weight_of(sampler, candidates[i].logit, best.logit);
    }
    /* 53 bits: every double in [0, 1) of that grid, alike on all machines. */
    double left = (double)(random_next(sampler->state) >> 11) * 0x1p-53 * total;
    for (size_t i = 0; i < count; i++) {
        double weight = weight_of(sampler, candidates[i].logit, best.logit);
        if (left < weight) {
            return candidates[i].id;
        }
        left -= weight;
    }
    return best.id; /* rounding used up the last one */
}

/* ---- the order of operations ---------------------------------------------------------------- */

static int32_t pick_greedy(const float *logits, size_t vocab)
{
    int32_t best = -1;
    for (size_t id = 0; id < vocab; id++) {
        if (!isnan(logits[id]) && (best < 0 || logits[id] > logits[best])) {
            best = (int32_t)id;
        }
    }
    return best;
}

int32_t oc_sampler_pick(oc_sampler *sampler, float *logits)
{
    const oc_sampler_options *options = &sampler->options;
    apply_penalties(sampler, logits);
    if (options->temperature == 0.0f) {
        return pick_greedy(logits, sampler->vocab);
    }
    oc_candidate *candidates = sampler->candidates;
    size_t most = options->top_k > 0 && (size_t)options->top_k < sampler->vocab
                      ? (size_t)options->top_k
                      : sampler->vocab;
    size_t count = oc_candidates_gather(candidates, most, logits, sampler->vocab);
    if (count == 0) {
        return -1;
    }
    oc_candidate best = best_of(candidates, count);
    if (options->top_p < 1.0f) {
        count = keep_top_p(sampler, candidates, count, best.logit);
    }
    if (options->min_p > 0.0f) {
        count = keep_min_p(sampler, candidates, count, best.logit);
    }
    return draw(sampler, candidates, count, best);
}
