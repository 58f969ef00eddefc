/* A session on a tiny real checkpoint: reuse of the cache, turns, context, and what is refused. */
#include "runtime/base/memory.h"
#include "runtime/repetition.h"
#include "runtime/session.h"
#include "tests/unit/runtime/talk.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MODELS OCELLI_TEST_DATA "/golden/qwen3vl/models/"
#define MEDIA OCELLI_TEST_DATA "/golden/qwen3vl/media/"

Test(session, a_second_turn_reuses_the_cache_and_answers_as_a_fresh_one)
{
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q8);
    ocelli_visual *visual = see(model, MEDIA "square96.png");
    ocelli_session *session = open_session(model, 0);
    say(session, visual, "first");
    ocelli_result first = run(session, 12);
    cr_assert_eq(first.reused_tokens, 0);
    cr_assert_eq(first.new_tokens, 12);
    say(session, NULL, "and then");
    ocelli_result second = run(session, 12);
    /* All of the first prompt and of the answer but its last token, which was never run. */
    cr_assert_eq(second.reused_tokens, first.prompt_tokens + 11);
    char *answer = oc_strdup(ocelli_session_answer(session));

    /* The same conversation with nothing in the cache: identical on a quantised path. */
    oc_fused_close(&session->held);
    session->kept = 0;
    ocelli_session_drop_last(session);
    ocelli_result again = run(session, 12);
    cr_assert_eq(again.reused_tokens, 0);
    cr_assert_eq(again.prompt_tokens, second.prompt_tokens);
    cr_assert_str_eq(ocelli_session_answer(session), answer);
    oc_free(answer);
    ocelli_session_close(session);
    ocelli_visual_free(visual);
    ocelli_model_close(model);
}

Test(session, another_picture_never_meets_the_first_ones_keys)
{
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q8);
    ocelli_visual *one = see(model, MEDIA "square96.png");
    ocelli_image *image;
    static uint8_t rgb[96 * 96 * 3]; /* black, of the same size: equal pads, other pixels */
    ocelli_visual *two;
    cr_assert_eq(ocelli_image_from_rgb(&image, rgb, 96, 96, 96 * 3, NULL), OCELLI_OK);
    cr_assert_eq(ocelli_encode_image(&two, model, image, NULL, NULL), OCELLI_OK);
    ocelli_image_free(image);
    ocelli_session *session = open_session(model, 0);
    say(session, one, "what");
    run(session, 4);
    ocelli_session_reset(session);
    say(session, two, "what");
    ocelli_result result = run(session, 4);
    cr_assert_lt(result.reused_tokens, 8); /* the template's beginning, not the picture */
    ocelli_session_reset(session);
    say(session, two, "what");
    cr_assert_eq(run(session, 4).reused_tokens, result.prompt_tokens - 1);
    ocelli_session_close(session);
    ocelli_visual_free(one);
    ocelli_visual_free(two);
    ocelli_model_close(model);
}

Test(session, order_of_closing_does_not_matter)
{
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_F32);
    ocelli_visual *visual = see(model, MEDIA "square96.png");
    ocelli_session *session = open_session(model, 0);
    say(session, visual, "what");
    ocelli_model_close(model);
    ocelli_visual_free(visual);
    cr_assert_eq(run(session, 3).new_tokens, 3);
    ocelli_session_close(session);
}

Test(session, a_prompt_beyond_the_context_names_both_numbers)
{
    ocelli_error err;
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q8);
    ocelli_visual *visual = see(model, MEDIA "square96.png");
    ocelli_session *session = open_session(model, 16);
    say(session, visual, "what");
    cr_assert_eq(ocelli_session_generate(session, NULL, NULL, NULL, NULL, &err), OCELLI_E_CONTEXT);
    ocelli_session_plan plan = {.struct_size = sizeof plan,
                                .memory = {.struct_size = sizeof plan.memory}};
    cr_assert_eq(ocelli_session_describe(session, 4, &plan, &err), OCELLI_OK);
    char needed[32];
    snprintf(needed, sizeof needed, "%llu tokens", (unsigned long long)plan.prompt_tokens);
    cr_assert_not_null(strstr(err.message, needed), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "has 16"), "%s", err.message);
    ocelli_session_close(session);

    /* One that fits exactly but for the answer's first token ends when the context is full. */
    session = open_session(model, plan.prompt_tokens + 3);
    say(session, visual, "what");
    ocelli_result result = run(session, 100);
    cr_assert_eq(result.stop, OCELLI_STOP_CONTEXT);
    cr_assert_eq(result.new_tokens, 4);
    ocelli_session_close(session);
    ocelli_visual_free(visual);
    ocelli_model_close(model);
}

static int stop_at_once(void *user, const char *text, size_t length)
{
    (void)text;
    (*(int *)user)++;
    return length > 0;
}

Test(session, a_callback_stops_the_answer_and_the_session_goes_on)
{
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q8);
    ocelli_session *session = open_session(model, 0);
    ocelli_result result = {.struct_size = sizeof result};
    int calls = 0;
    say(session, NULL, "hello");
    cr_assert_eq(ocelli_session_generate(session, NULL, stop_at_once, &calls, &result, NULL),
                 OCELLI_OK);
    cr_assert_eq(result.stop, OCELLI_STOP_CALLBACK);
    cr_assert_eq(calls, 1);
    say(session, NULL, "go on");
    cr_assert_eq(run(session, 5).new_tokens, 5);
    ocelli_session_close(session);
    ocelli_model_close(model);
}

typedef struct chooser {
    size_t asked, vocab;
    int32_t first_best, forced; /* of the first choice */
} chooser;

static int32_t choose_first(void *user, const float *logits, size_t vocab)
{
    chooser *c = user;
    int32_t best = 0;
    for (size_t i = 0; i < vocab; i++) {
        best = logits[i] > logits[best] ? (int32_t)i : best;
    }
    c->vocab = vocab;
    if (c->asked++ == 0) {
        c->first_best = best;
        return c->forced;
    }
    return -1;
}

/* The callback sees every choice; what it returns is taken, a negative number leaves it. */
Test(session, the_caller_may_choose)
{
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q4);
    ocelli_session *session = open_session(model, 0);
    ocelli_error err;
    ocelli_result result = {.struct_size = sizeof result};
    chooser c = {.forced = -1};
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = 3;
    options.ignore_stop = 1;
    options.stop_repetition = 0;
    options.choose = choose_first;
    options.choose_user = &c;
    say(session, NULL, "hello");
    cr_assert_eq(ocelli_session_generate(session, &options, NULL, NULL, &result, &err), OCELLI_OK,
                 "%s", err.message);
    size_t prompt = (size_t)result.prompt_tokens;
    cr_assert_eq(c.asked, 3);
    cr_assert_eq(c.vocab, 512);
    cr_assert_eq(session->held.ids.ids[prompt], c.first_best);
    /* The same question again, and another first token. */
    c = (chooser){.forced = c.first_best == 300 ? 301 : 300};
    ocelli_session_reset(session);
    say(session, NULL, "hello");
    cr_assert_eq(ocelli_session_generate(session, &options, NULL, NULL, &result, &err), OCELLI_OK);
    cr_assert_eq(session->held.ids.ids[prompt], c.forced);
    cr_assert_eq(c.asked, 3);
    c = (chooser){.forced = 512};
    ocelli_session_reset(session);
    say(session, NULL, "hello");
    cr_assert_eq(ocelli_session_generate(session, &options, NULL, NULL, &result, &err),
                 OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "512"));
    ocelli_session_close(session);
    ocelli_model_close(model);
}

Test(session, wrong_messages_are_refused)
{
    ocelli_error err;
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q8);
    ocelli_session *session = open_session(model, 0);
    cr_assert_eq(ocelli_session_generate(session, NULL, NULL, NULL, NULL, &err), OCELLI_E_STATE);
    ocelli_part bad = {.text = "caf\xe9"}, neither = {0};
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, &bad, 1, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "byte 3"), "%s", err.message);
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, &neither, 1, &err), OCELLI_E_ARGUMENT);
    say(session, NULL, "hi");
    ocelli_part system = {.text = "Be brief."};
    cr_assert_eq(ocelli_session_add(session, OCELLI_SYSTEM, &system, 1, &err), OCELLI_E_ARGUMENT);
    ocelli_session_close(session);
    ocelli_model_close(model);
}

Test(session, spelled_out_pads_are_text_unless_asked_for)
{
    ocelli_error err;
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q8);
    ocelli_session *session = open_session(model, 0);
    say(session, NULL, "<|image_pad|><|im_end|>");
    cr_assert_eq(run(session, 2).new_tokens, 2);
    ocelli_session_close(session);
    ocelli_session_options options = OCELLI_SESSION_OPTIONS_INIT;
    options.special_tokens_in_text = 1;
    cr_assert_eq(ocelli_session_open(&session, model, &options, &err), OCELLI_OK);
    say(session, NULL, "<|image_pad|>");
    cr_assert_eq(ocelli_session_generate(session, NULL, NULL, NULL, NULL, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "1 image pads"), "%s", err.message);
    ocelli_session_close(session);
    ocelli_model_close(model);
}

Test(session, a_plan_is_not_an_encoded_picture)
{
    ocelli_error err;
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q8);
    ocelli_image *image;
    ocelli_visual *visual;
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    options.plan_only = 1;
    cr_assert_eq(ocelli_image_load(&image, MEDIA "square96.png", NULL, &err), OCELLI_OK);
    cr_assert_eq(ocelli_encode_image(&visual, model, image, &options, &err), OCELLI_OK);
    ocelli_session *session = open_session(model, 0);
    say(session, visual, "what");
    cr_assert_eq(ocelli_session_generate(session, NULL, NULL, NULL, NULL, &err), OCELLI_E_STATE);
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_visual_describe(visual, &info);
    cr_assert_eq(info.tokens, 9); /* 96 x 96: 3 x 3 blocks of 32 */
    cr_assert_eq(info.grid_h, 6);
    cr_assert_eq(info.encoded, 0);
    ocelli_session_close(session);
    ocelli_visual_free(visual);
    ocelli_image_free(image);
    ocelli_model_close(model);
}

static int collect(void *user, const char *text, size_t length)
{
    return oc_buffer_append(user, text, length, NULL) == OCELLI_OK ? 0 : 1;
}

Test(session, answers_made_together_are_those_made_alone)
{
    enum { COUNT = 5 };
    ocelli_error err;
    ocelli_model *model = open_model(OCELLI_SAMPLES "/model", OCELLI_QUANT_Q4);
    const char *const pictures[COUNT] = {"picture01.png", "picture02.png", NULL, "picture04.png",
                                         "picture05.png"};
    const char *const questions[COUNT] = {"Write a detailed description.", "Describe it.",
                                          "See you later!", "Tell me more about the picture.",
                                          "What can you see in the picture?"};
    ocelli_session *sessions[COUNT];
    oc_buffer alone[COUNT] = {{0}}, told[COUNT] = {{0}};
    void *users[COUNT];
    ocelli_result results[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        ocelli_visual *visual = NULL;
        char path[512];
        if (pictures[i] != NULL) {
            snprintf(path, sizeof path, OCELLI_SAMPLES "/pictures/%s", pictures[i]);
            visual = see(model, path);
        }
        sessions[i] = open_session(model, 0);
        say(sessions[i], visual, questions[i]);
        run(sessions[i], 30);
        collect(&alone[i], ocelli_session_answer(sessions[i]),
                strlen(ocelli_session_answer(sessions[i])));
        ocelli_session_reset(sessions[i]);
        say(sessions[i], visual, questions[i]);
        ocelli_visual_free(visual);
        users[i] = &told[i];
        results[i].struct_size = sizeof results[i];
    }
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = 30;
    cr_assert_eq(ocelli_generate_together(sessions, COUNT, &options, collect, users, results, &err),
                 OCELLI_OK, "%s", err.message);
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert_gt(alone[i].length, 0);
        cr_assert_str_eq(told[i].data, alone[i].data);
        cr_assert_str_eq(ocelli_session_answer(sessions[i]), alone[i].data);
        cr_assert_gt(results[i].new_tokens, 0);
        oc_buffer_close(&alone[i]);
        oc_buffer_close(&told[i]);
    }
    ocelli_session *twice[2] = {sessions[0], sessions[0]};
    cr_assert_eq(ocelli_generate_together(twice, 2, NULL, NULL, NULL, NULL, &err),
                 OCELLI_E_ARGUMENT);
    for (size_t i = 0; i < COUNT; i++) {
        ocelli_session_close(sessions[i]);
    }
    ocelli_model_close(model);
}

Test(repetition, only_long_repeats_count)
{
    int32_t ids[400];
    for (int i = 0; i < 400; i++) {
        ids[i] = i; /* a number each: nothing repeats */
    }
    cr_assert_not(oc_repetition_found(ids, 400));
    for (int i = 0; i < 400; i++) {
        ids[i] = i < 100 ? 1000 + i : i % 7;
    }
    cr_assert_not(oc_repetition_found(ids, 100 + 159));
    cr_assert(oc_repetition_found(ids, 100 + 160));
    for (int i = 0; i < 400; i++) {
        ids[i] = i % 65; /* longer than any phrase that is looked for */
    }
    cr_assert_not(oc_repetition_found(ids, 400));
}
