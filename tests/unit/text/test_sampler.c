/* test_sampler.c - support sets and frequencies of hand-computed distributions; the generator's
 * exact sequence. */
#include "text/sampler.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const oc_sampler_options off = {
    .temperature = 1.0f, .top_p = 1.0f, .repetition_penalty = 1.0f};

enum { DRAWS = 20000, MOST = 16 };

static oc_sampler *open_sampler(oc_sampler_options options, size_t vocab)
{
    oc_sampler *sampler;
    ocelli_error err;
    ocelli_status status = oc_sampler_open(&sampler, &options, vocab, &err);
    cr_assert_eq(status, OCELLI_OK, "%s", status != OCELLI_OK ? err.message : "");
    return sampler;
}

static int32_t pick(oc_sampler *sampler, const float *logits, size_t vocab)
{
    float copy[MOST];
    cr_assert_leq(vocab, MOST);
    memcpy(copy, logits, vocab * sizeof *copy);
    return oc_sampler_pick(sampler, copy);
}

/* Draws many times; every share must be within five standard deviations, and a share of exactly 0
 * must never come. */
static void expect_shares(oc_sampler_options options, const float *logits, const double *shares,
                          size_t vocab)
{
    oc_sampler *sampler = open_sampler(options, vocab);
    size_t counts[MOST] = {0};
    for (size_t i = 0; i < DRAWS; i++) {
        int32_t id = pick(sampler, logits, vocab);
        cr_assert(id >= 0 && (size_t)id < vocab);
        counts[id]++;
    }
    for (size_t id = 0; id < vocab; id++) {
        double wanted = shares[id] * DRAWS;
        double bound = 5 * sqrt(wanted * (1 - shares[id]));
        cr_assert(fabs((double)counts[id] - wanted) <= bound, "id %zu: %zu times, not %g", id,
                  counts[id], wanted);
    }
    oc_sampler_close(sampler);
}

/* Logits of the probabilities 1/2, 1/4, 1/8, 1/16, 1/16, out of order. */
static const float halves[5] = {-2.0794415f, -0.6931472f, -2.7725887f, -1.3862944f, -2.7725887f};

/* Computed by an independent implementation of splitmix64 and xoshiro256**: with 64 equal logits an
 * id is the six highest bits of a draw. */
Test(sampler, draws_the_documented_sequence)
{
    static const struct {
        uint64_t seed;
        int32_t ids[12];
    } known[] = {
        {0, {38, 47, 6, 26, 46, 63, 27, 34, 54, 58, 7, 4}},
        {42, {5, 24, 43, 59, 63, 49, 46, 54, 48, 37, 43, 18}},
        {UINT64_MAX, {35, 49, 32, 47, 36, 46, 23, 49, 40, 39, 16, 2}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        oc_sampler_options options = off;
        options.seed = known[i].seed;
        oc_sampler *sampler = open_sampler(options, 64);
        for (size_t j = 0; j < 12; j++) {
            float logits[64] = {0};
            cr_assert_eq(oc_sampler_pick(sampler, logits), known[i].ids[j], "seed %zu draw %zu", i,
                         j);
        }
        oc_sampler_close(sampler);
    }
}

Test(sampler, plain_draws_follow_softmax)
{
    expect_shares(off, halves, (const double[]){0.125, 0.5, 0.0625, 0.25, 0.0625}, 5);
}

Test(sampler, temperature_sharpens_and_flattens)
{
    oc_sampler_options options = off;
    options.temperature = 0.5f; /* squares: 64, 16, 4, 1, 1 of 86 */
    expect_shares(options, halves,
                  (const double[]){4 / 86.0, 64 / 86.0, 1 / 86.0, 16 / 86.0, 1 / 86.0}, 5);
    options.temperature = 1e6f; /* all alike */
    expect_shares(options, halves, (const double[]){0.2, 0.2, 0.2, 0.2, 0.2}, 5);
}

Test(sampler, top_k_keeps_exactly_k)
{
    oc_sampler_options options = off;
    options.top_k = 2;
    expect_shares(options, halves, (const double[]){0, 2 / 3.0, 0, 1 / 3.0, 0}, 5);
    options.top_k = 4; /* ids 2 and 4 tie for the last place: the lower one has it */
    expect_shares(options, halves, (const double[]){2 / 15.0, 8 / 15.0, 1 / 15.0, 4 / 15.0, 0}, 5);
    options.top_k = 1;
    expect_shares(options, halves, (const double[]){0, 1, 0, 0, 0}, 5);
    options.top_k = 5;
    expect_shares(options, halves, (const double[]){0.125, 0.5, 0.0625, 0.25, 0.0625}, 5);
    options.top_k = 1000; /* more than there are: off */
    expect_shares(options, halves, (const double[]){0.125, 0.5, 0.0625, 0.25, 0.0625}, 5);
}

Test(sampler, top_p_includes_the_one_that_crosses)
{
    oc_sampler_options options = off;
    options.top_p = 0.7f; /* 1/2 is not enough, 3/4 is */
    expect_shares(options, halves, (const double[]){0, 2 / 3.0, 0, 1 / 3.0, 0}, 5);
    options.top_p = 0.8f; /* 7/8 */
    expect_shares(options, halves, (const double[]){1 / 7.0, 4 / 7.0, 0, 2 / 7.0, 0}, 5);
    options.top_p = 0.9f; /* 15/16: the tie goes to the lower id */
    expect_shares(options, halves, (const double[]){2 / 15.0, 8 / 15.0, 1 / 15.0, 4 / 15.0, 0}, 5);
    options.top_p = 0.49f; /* one is always kept */
    expect_shares(options, halves, (const double[]){0, 1, 0, 0, 0}, 5);
    options.top_p = FLT_MIN;
    expect_shares(options, halves, (const double[]){0, 1, 0, 0, 0}, 5);
}

Test(sampler, top_p_counts_what_top_k_left)
{
    oc_sampler_options options = off;
    options.top_k = 3;    /* 4, 2, 1 of 7 */
    options.top_p = 0.8f; /* 6/7; without top-k it would take a third */
    expect_shares(options, halves, (const double[]){0, 2 / 3.0, 0, 1 / 3.0, 0}, 5);
}

Test(sampler, min_p_is_relative_to_the_best)
{
    oc_sampler_options options = off;
    options.min_p = 0.2f; /* 1/4 of the best stays, 1/8 goes */
    expect_shares(options, halves, (const double[]){1 / 7.0, 4 / 7.0, 0, 2 / 7.0, 0}, 5);
    options.min_p = 1.0f;
    expect_shares(options, halves, (const double[]){0, 1, 0, 0, 0}, 5);
    options.min_p = 0.2f; /* after the temperature: 1/4 and 1/16 of the best */
    options.temperature = 0.5f;
    expect_shares(options, halves, (const double[]){0, 0.8, 0, 0.2, 0}, 5);
}

Test(sampler, greedy_takes_the_lowest_id_of_the_best)
{
    oc_sampler_options options = off;
    options.temperature = 0.0f;
    options.top_k = 3;
    oc_sampler *sampler = open_sampler(options, 5);
    cr_assert_eq(pick(sampler, (const float[]){1, 3, 3, 2, 3}, 5), 1);
    cr_assert_eq(pick(sampler, (const float[]){-INFINITY, -INFINITY, -5, -INFINITY, -6}, 5), 2);
    cr_assert_eq(pick(sampler, (const float[]){NAN, 1, NAN, 2, NAN}, 5), 3);
    cr_assert_eq(pick(sampler, (const float[]){NAN, -INFINITY, NAN, NAN, NAN}, 5), 1);
    cr_assert_eq(pick(sampler, (const float[]){NAN, NAN, NAN, NAN, NAN}, 5), -1);
    oc_sampler_close(sampler);
}

Test(sampler, tiny_temperature_equals_greedy)
{
    oc_sampler_options options = off;
    for (int i = 0; i < 4; i++) {
        options.temperature = i < 2 ? 1e-30f : FLT_TRUE_MIN;
        options.top_p = i % 2 == 0 ? 1.0f : 0.9f;
        oc_sampler *sampler = open_sampler(options, 5);
        for (int j = 0; j < 200; j++) {
            cr_assert_eq(pick(sampler, (const float[]){7.0f, 7.5f, -3e38f, 7.499999f, 3e38f}, 5),
                         4);
            cr_assert_eq(pick(sampler, halves, 5), 1);
        }
        oc_sampler_close(sampler);
    }
}

Test(sampler, not_a_number_never_wins)
{
    static const float logits[4] = {NAN, 0.0f, NAN, 0.0f};
    static const double shares[4] = {0, 0.5, 0, 0.5};
    oc_sampler_options options = off;
    expect_shares(options, logits, shares, 4);
    options.top_k = 2;
    expect_shares(options, logits, shares, 4);
    options.top_k = 3;
    options.top_p = 0.9f;
    options.min_p = 0.1f;
    expect_shares(options, logits, shares, 4);
    oc_sampler *sampler = open_sampler(options, 4);
    cr_assert_eq(pick(sampler, (const float[]){NAN, NAN, NAN, NAN}, 4), -1);
    oc_sampler_close(sampler);
}

Test(sampler, infinities_are_certain_or_impossible)
{
    oc_sampler_options options = off;
    expect_shares(options, (const float[]){-INFINITY, 0, -INFINITY, 0},
                  (const double[]){0, 0.5, 0, 0.5}, 4);
    expect_shares(options, (const float[]){5, INFINITY, 7, INFINITY},
                  (const double[]){0, 0.5, 0, 0.5}, 4);
    options.top_k = 3; /* one of the impossible is among the three */
    options.top_p = 0.99f;
    expect_shares(options, (const float[]){-INFINITY, 0, -INFINITY, 0},
                  (const double[]){0, 0.5, 0, 0.5}, 4);
}

/* As in the reference: a positive logit is divided, a negative one multiplied, however often the id
 * was seen. */
Test(sampler, repetition_penalty_counts_prompt_and_answer_once)
{
    oc_sampler_options options = off;
    options.temperature = 0.0f;
    options.repetition_penalty = 2.0f;
    oc_sampler *sampler = open_sampler(options, 6);
    oc_sampler_saw_prompt(sampler, (const int32_t[]){0, 0, 1, -1, 6, INT32_MAX, INT32_MIN}, 7);
    oc_sampler_saw_answer(sampler, 2);
    oc_sampler_saw_answer(sampler, 0);
    oc_sampler_saw_answer(sampler, 99);
    float logits[6] = {4, -3, 1, 2, -1, 0};
    cr_assert_eq(oc_sampler_pick(sampler, logits), 0); /* 2 and 2: the lower id */
    static const float wanted[6] = {2, -6, 0.5f, 2, -1, 0};
    for (size_t i = 0; i < 6; i++) {
        cr_assert_eq(logits[i], wanted[i], "id %zu is %g", i, (double)logits[i]);
    }
    oc_sampler_close(sampler);
}

Test(sampler, presence_penalty_counts_the_answer_only)
{
    oc_sampler_options options = off;
    options.temperature = 0.0f;
    options.presence_penalty = 1.5f;
    oc_sampler *sampler = open_sampler(options, 4);
    oc_sampler_saw_prompt(sampler, (const int32_t[]){0, 1}, 2);
    oc_sampler_saw_answer(sampler, 1);
    oc_sampler_saw_answer(sampler, 1);
    oc_sampler_saw_answer(sampler, 2);
    float logits[4] = {1, 2, -1, NAN};
    cr_assert_eq(oc_sampler_pick(sampler, logits), 0);
    cr_assert_eq(logits[0], 1.0f);
    cr_assert_eq(logits[1], 0.5f);
    cr_assert_eq(logits[2], -2.5f);
    cr_assert(isnan(logits[3]));
    oc_sampler_close(sampler);
}

Test(sampler, penalties_come_before_the_temperature)
{
    oc_sampler_options options = off;
    options.temperature = 0.5f;
    options.repetition_penalty = 2.0f;
    options.presence_penalty = 0.25f;
    oc_sampler *sampler = open_sampler(options, 2);
    oc_sampler_saw_answer(sampler, 0);
    size_t first = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        float logits[2] = {1.5f, 0.5f}; /* 1.5 / 2 - 0.25 = 0.5: even */
        first += oc_sampler_pick(sampler, logits) == 0 ? 1 : 0;
    }
    cr_assert(fabs((double)first - DRAWS / 2.0) < 5 * sqrt(DRAWS * 0.25), "%zu", first);
    oc_sampler_close(sampler);
}

/* A vocabulary of real size: the k best by a plain scan, and never another. */
Test(sampler, top_k_of_a_large_vocabulary)
{
    enum { VOCAB = 151936, K = 20 };
    static float logits[VOCAB];
    static float copy[VOCAB];
    static bool kept[VOCAB];
    uint32_t state = 1;
    for (size_t i = 0; i < VOCAB; i++) { /* steps of 1/64, so that there are many ties */
        state = state * 1664525U + 1013904223U;
        logits[i] = (float)(state >> 22) / 64.0f;
    }
    for (size_t k = 0; k < K; k++) {
        size_t best = VOCAB;
        for (size_t i = 0; i < VOCAB; i++) {
            if (!kept[i] && (best == VOCAB || logits[i] > logits[best])) {
                best = i;
            }
        }
        kept[best] = true;
    }
    oc_sampler_options options = off;
    options.top_k = K;
    options.top_p = 0.95f;
    options.seed = 7;
    oc_sampler *sampler = open_sampler(options, VOCAB);
    for (size_t i = 0; i < 200; i++) {
        memcpy(copy, logits, sizeof copy);
        int32_t id = oc_sampler_pick(sampler, copy);
        cr_assert(id >= 0 && kept[id], "id %d", (int)id);
    }
    oc_sampler_close(sampler);
}

Test(sampler, refuses_options_out_of_range)
{
    static const struct {
        const char *field;
        oc_sampler_options options;
    } wrong[] = {
        {"temperature", {-0.1f, 0, 1, 0, 1, 0, 0}},
        {"temperature", {NAN, 0, 1, 0, 1, 0, 0}},
        {"temperature", {INFINITY, 0, 1, 0, 1, 0, 0}},
        {"top_k", {1, -1, 1, 0, 1, 0, 0}},
        {"top_p", {1, 0, 0, 0, 1, 0, 0}},
        {"top_p", {1, 0, 1.01f, 0, 1, 0, 0}},
        {"top_p", {1, 0, NAN, 0, 1, 0, 0}},
        {"min_p", {1, 0, 1, -0.1f, 1, 0, 0}},
        {"min_p", {1, 0, 1, 1.5f, 1, 0, 0}},
        {"min_p", {1, 0, 1, NAN, 1, 0, 0}},
        {"repetition_penalty", {1, 0, 1, 0, 0, 0, 0}},
        {"repetition_penalty", {1, 0, 1, 0, NAN, 0, 0}},
        {"presence_penalty", {1, 0, 1, 0, 1, INFINITY, 0}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ocelli_error err;
        oc_sampler *sampler = (oc_sampler *)&err;
        cr_assert_eq(oc_sampler_open(&sampler, &wrong[i].options, 4, &err), OCELLI_E_ARGUMENT,
                     "case %zu", i);
        cr_assert_null(sampler);
        cr_assert_eq(strncmp(err.message, wrong[i].field, strlen(wrong[i].field)), 0,
                     "case %zu: %s", i, err.message);
    }
    ocelli_error err;
    oc_sampler *sampler;
    cr_assert_eq(oc_sampler_open(&sampler, &off, 0, &err), OCELLI_E_ARGUMENT);
    cr_assert_null(sampler);
    oc_sampler_close(NULL);
}
