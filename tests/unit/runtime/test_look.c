/* Where an answer looked: maps that add up, of the visual that was asked about, and a session that
 * does not notice. */
#include "runtime/base/memory.h"
#include "runtime/session.h"
#include "tests/unit/runtime/talk.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define MODELS OCELLI_TEST_DATA "/golden/qwen3vl/models/"
#define MEDIA OCELLI_TEST_DATA "/golden/qwen3vl/media/"

enum { MOST = 400 };

static size_t tokens_of(const ocelli_visual *visual)
{
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_visual_describe(visual, &info);
    cr_assert_leq(info.tokens, MOST);
    return (size_t)info.tokens;
}

static void expect_sum(const float *map, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        cr_assert(map[i] >= 0);
        sum += map[i];
    }
    cr_assert_lt(fabs(sum - 1), 1e-5, "%g", sum);
}

/* What on_token has told. */
typedef struct told {
    size_t tokens, count;
    double shares[MOST];
    double sum[MOST]; /* of share * map */
    char text[2000];
} told;

static int on_token(void *user, const char *text, size_t length, const float *map, double share)
{
    told *t = user;
    expect_sum(map, t->tokens);
    cr_assert(share > 0 && share < 1);
    for (size_t i = 0; i < t->tokens; i++) {
        t->sum[i] += share * map[i];
    }
    strncat(t->text, text, length);
    t->shares[t->count++] = share;
    return 0;
}

static void look(ocelli_session *session, const ocelli_visual *visual,
                 const ocelli_look_options *options, float *map)
{
    ocelli_error err;
    cr_assert_eq(ocelli_session_look(session, visual, options, map, &err), OCELLI_OK, "%s",
                 err.message);
}

Test(look, maps_add_up)
{
    /* More tokens than are run at a time. */
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q8);
    ocelli_visual *visual = see(model, MEDIA "square96.png");
    ocelli_session *session = open_session(model, 0);
    static told t;
    float map[MOST], relative[MOST];
    t.tokens = tokens_of(visual);
    say(session, visual, "what");
    size_t length = (size_t)run(session, 70).new_tokens;
    ocelli_look_options options = OCELLI_LOOK_OPTIONS_INIT;
    options.on_token = on_token;
    options.user = &t;
    look(session, visual, &options, map);
    expect_sum(map, t.tokens);
    cr_assert_eq(t.count, length);
    double total = 0;
    for (size_t i = 0; i < length; i++) {
        total += t.shares[i];
    }
    for (size_t i = 0; i < t.tokens; i++) {
        cr_assert_lt(fabs(t.sum[i] / total - map[i]), 1e-6);
    }
    options.on_token = NULL;
    options.relative = 1;
    look(session, visual, &options, relative);
    expect_sum(relative, t.tokens);
    cr_assert_neq(memcmp(map, relative, t.tokens * sizeof *map), 0);
    ocelli_session_close(session);
    ocelli_visual_free(visual);
    ocelli_model_close(model);
}

/* The mean of the layers is that of each alone. */
Test(look, layers)
{
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_F32);
    ocelli_visual *visual = see(model, MEDIA "square96.png");
    ocelli_session *session = open_session(model, 0);
    static told t;
    double alone[MOST] = {0}, all = 0;
    float map[MOST];
    t.tokens = tokens_of(visual);
    say(session, visual, "what");
    run(session, 1);
    ocelli_look_options options = OCELLI_LOOK_OPTIONS_INIT;
    options.on_token = on_token;
    options.user = &t;
    for (uint64_t layer = 1; layer < 4; layer++) {
        options.first_layer = layer;
        options.layers = 1;
        look(session, visual, &options, map);
        for (size_t i = 0; i < t.tokens; i++) {
            alone[i] += t.shares[t.count - 1] * map[i];
        }
        all += t.shares[t.count - 1];
    }
    options.first_layer = 1;
    options.layers = 0; /* to the last */
    look(session, visual, &options, map);
    cr_assert_lt(fabs(t.shares[t.count - 1] - all / 3), 1e-6);
    for (size_t i = 0; i < t.tokens; i++) {
        cr_assert_lt(fabs(map[i] - alone[i] / all), 1e-6);
    }
    ocelli_error err;
    options.first_layer = 4;
    cr_assert_eq(ocelli_session_look(session, visual, &options, map, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "the decoder has 4"));
    options.first_layer = 2;
    options.layers = UINT64_MAX;
    cr_assert_eq(ocelli_session_look(session, visual, &options, map, &err), OCELLI_E_ARGUMENT);
    ocelli_session_close(session);
    ocelli_visual_free(visual);
    ocelli_model_close(model);
}

Test(look, the_session_goes_on_as_if_nothing_had_been_asked)
{
    ocelli_model *model = open_model(OCELLI_SAMPLES "/model", OCELLI_QUANT_Q8);
    ocelli_visual *visual = see(model, OCELLI_SAMPLES "/pictures/picture01.png");
    ocelli_session *one = open_session(model, 0), *other = open_session(model, 0);
    float map[MOST];
    ocelli_look_options options = OCELLI_LOOK_OPTIONS_INIT;
    options.relative = 1; /* a row in the middle of the prompt is run, too */
    size_t vocab = model->config.decoder.vocab;
    for (int turn = 0; turn < 2; turn++) {
        const char *question = turn == 0 ? "What is it?" : "Where is it?";
        say(one, turn == 0 ? visual : NULL, question);
        say(other, turn == 0 ? visual : NULL, question);
        run(one, 100);
        run(other, 100);
        cr_assert_str_eq(ocelli_session_answer(one), ocelli_session_answer(other));
        cr_assert_arr_eq(one->logits, other->logits, vocab * sizeof(float));
        cr_assert_eq(one->kept, other->kept);
        look(one, visual, &options, map);
        cr_assert_eq(one->kept, other->kept);
        cr_assert_arr_eq(one->logits, other->logits, vocab * sizeof(float));
    }
    ocelli_session_close(one);
    ocelli_session_close(other);
    ocelli_visual_free(visual);
    ocelli_model_close(model);
}

/* Of two pictures each has its own map, and both together no more than all attention. */
Test(look, two_pictures)
{
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q8);
    ocelli_visual *first = see(model, MEDIA "square96.png");
    ocelli_visual *second = see(model, OCELLI_SAMPLES "/pictures/picture01.png");
    ocelli_session *session = open_session(model, 0);
    ocelli_error err;
    const ocelli_part parts[] = {{.visual = first}, {.visual = second}, {.text = "what"}};
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, parts, 3, &err), OCELLI_OK);
    run(session, 3);
    static told a, b;
    float map[MOST];
    ocelli_look_options options = OCELLI_LOOK_OPTIONS_INIT;
    options.on_token = on_token;
    options.user = &a;
    a.tokens = tokens_of(first);
    look(session, first, &options, map);
    options.user = &b;
    b.tokens = tokens_of(second);
    look(session, second, &options, map);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_lt(a.shares[i] + b.shares[i], 1);
    }
    ocelli_session_close(session);
    ocelli_visual_free(first);
    ocelli_visual_free(second);
    ocelli_model_close(model);
}

static int refuse_token(void *user, const char *text, size_t length, const float *map, double share)
{
    (void)text;
    (void)length;
    (void)map;
    (void)share;
    return ++*(int *)user;
}

static int refuse_progress(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)what;
    cr_assert_leq(done, total);
    return ++*(int *)user;
}

Test(look, what_is_refused)
{
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q8);
    ocelli_visual *visual = see(model, MEDIA "square96.png");
    ocelli_visual *other = see(model, OCELLI_SAMPLES "/pictures/picture01.png");
    ocelli_session *session = open_session(model, 0);
    ocelli_error err;
    float map[MOST];
    cr_assert_eq(ocelli_session_look(session, visual, NULL, map, &err), OCELLI_E_STATE);
    cr_assert_eq(ocelli_session_look(NULL, visual, NULL, map, &err), OCELLI_E_ARGUMENT);
    say(session, visual, "what");
    cr_assert_eq(ocelli_session_look(session, visual, NULL, map, &err), OCELLI_E_STATE);
    run(session, 4);
    cr_assert_eq(ocelli_session_look(session, other, NULL, map, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "not in the conversation"));
    ocelli_look_options options = OCELLI_LOOK_OPTIONS_INIT;
    int asked = 0;
    options.on_token = refuse_token;
    options.user = &asked;
    cr_assert_eq(ocelli_session_look(session, visual, &options, map, &err), OCELLI_E_CANCELLED);
    cr_assert_eq(asked, 1);
    cr_assert_eq(map[0], 0);
    asked = 0;
    options.on_token = NULL;
    options.progress = refuse_progress;
    options.progress_user = &asked;
    cr_assert_eq(ocelli_session_look(session, visual, &options, map, &err), OCELLI_E_CANCELLED);
    cr_assert_eq(asked, 1);
    look(session, visual, NULL, map);
    say(session, NULL, "and");
    cr_assert_eq(ocelli_session_look(session, visual, NULL, map, &err), OCELLI_E_STATE);
    ocelli_session_close(session);
    ocelli_visual_free(visual);
    ocelli_visual_free(other);
    ocelli_model_close(model);
}

Test(look, deepstack_rows_are_the_taps)
{
    ocelli_model *model = open_model(MODELS "t1_f32", OCELLI_QUANT_Q8);
    ocelli_visual *visual = see(model, MEDIA "square96.png");
    size_t tokens = 0, width = 0;
    for (size_t tap = 0; tap < 3; tap++) {
        const float *rows = ocelli_visual_deepstack(visual, tap, &tokens, &width);
        cr_assert_eq(rows, visual->medium.taps + tap * visual->medium.tap_stride);
        cr_assert_eq(tokens, tokens_of(visual));
        cr_assert_eq(width, visual->medium.width);
    }
    cr_assert_null(ocelli_visual_deepstack(visual, 3, &tokens, NULL));
    cr_assert_eq(tokens, 0);
    ocelli_visual_free(visual);
    ocelli_model_close(model);
}
