/* A batch: sessions that join and leave between steps answer as they would alone, bit for bit. */
#include "runtime/batch.h"
#include "tests/unit/runtime/talk.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 7, ROOM = 3, MOST_TEXT = 512 };

/* One that wants an answer. */
typedef struct asker {
    ocelli_session *session;
    ocelli_generate_options options;
    char alone[MOST_TEXT], told[MOST_TEXT];
    ocelli_result alone_result, result;
} asker;

static int collect(void *user, const char *text, size_t length)
{
    asker *a = user;
    size_t used = strlen(a->told);
    if (length >= MOST_TEXT - used) {
        return 1;
    }
    memcpy(a->told + used, text, length);
    a->told[used + length] = '\0';
    return 0;
}

static ocelli_session *open_cut(ocelli_model *model, size_t prefill_chunk)
{
    ocelli_error err;
    ocelli_session *session;
    ocelli_session_options options = OCELLI_SESSION_OPTIONS_INIT;
    options.prefill_chunk = prefill_chunk;
    cr_assert_eq(ocelli_session_open(&session, model, &options, &err), OCELLI_OK, "%s",
                 err.message);
    return session;
}

static void ask_alone(asker *a)
{
    ocelli_error err;
    a->alone_result.struct_size = a->result.struct_size = sizeof a->result;
    cr_assert_eq(
        ocelli_session_generate(a->session, &a->options, NULL, NULL, &a->alone_result, &err),
        OCELLI_OK, "%s", err.message);
    snprintf(a->alone, sizeof a->alone, "%s", ocelli_session_answer(a->session));
}

/* Prompts of several lengths, read in steps of several sizes, some greedy and some drawn. */
static void prepare(asker askers[COUNT], ocelli_model *model)
{
    static const char *const questions[COUNT] = {"Write a detailed description.",
                                                 "Describe it.",
                                                 "See you later!",
                                                 "What is it?",
                                                 "What can you see?",
                                                 "Tell me more about it.",
                                                 "Name the colours."};
    static const size_t chunks[COUNT] = {0, 7, 3, 0, 16, 1, 0};
    for (size_t i = 0; i < COUNT; i++) {
        char path[512];
        ocelli_visual *visual = NULL;
        asker *a = &askers[i];
        memset(a, 0, sizeof *a);
        a->options = (ocelli_generate_options)OCELLI_GENERATE_OPTIONS_INIT;
        a->options.max_tokens = 5 + 4 * i;
        a->options.temperature = i % 3 == 2 ? 0.8f : 0;
        a->options.seed = i;
        if (i != 2) {
            snprintf(path, sizeof path, OCELLI_SAMPLES "/pictures/picture0%d.png",
                     i % 2 == 0 ? 1 : 5);
            visual = see(model, path);
        }
        a->session = open_cut(model, chunks[i]);
        say(a->session, visual, questions[i]);
        ask_alone(a);
        ocelli_session_close(a->session);
        a->session = open_cut(model, chunks[i]);
        say(a->session, visual, questions[i]);
        ocelli_visual_free(visual);
    }
}

static void take_all(ocelli_batch *batch, asker askers[COUNT], size_t *left)
{
    ocelli_session *session;
    void *user;
    ocelli_result result = {.struct_size = sizeof result};
    while (ocelli_batch_take(batch, &session, &user, &result)) {
        asker *a = user;
        cr_assert(a >= askers && a < askers + COUNT);
        cr_assert_eq(a->session, session);
        a->result = result;
        (*left)--;
    }
    cr_assert_null(session);
}

Test(batch, answers_that_join_and_leave_are_those_made_alone)
{
    ocelli_error err;
    ocelli_batch *batch;
    asker askers[COUNT];
    ocelli_model *model = open_model(OCELLI_SAMPLES "/model", OCELLI_QUANT_Q4);
    prepare(askers, model);
    cr_assert_eq(ocelli_batch_open(&batch, model, ROOM, &err), OCELLI_OK, "%s", err.message);
    size_t next = 0, left = COUNT, steps = 0;
    while (left > 0) {
        /* One at the start, then whenever there is room, though not at every step. */
        if (next < COUNT && ocelli_batch_count(batch) < ROOM && steps % 3 == 0) {
            cr_assert_eq(ocelli_batch_add(batch, askers[next].session, &askers[next].options,
                                          collect, &askers[next], &err),
                         OCELLI_OK, "%s", err.message);
            next++;
        }
        cr_assert_leq(ocelli_batch_count(batch), ROOM);
        cr_assert_eq(ocelli_batch_step(batch, &err), OCELLI_OK, "%s", err.message);
        cr_assert_lt(++steps, 4000);
        take_all(batch, askers, &left);
    }
    cr_assert_eq(ocelli_batch_count(batch), 0);
    cr_assert_eq(ocelli_batch_step(batch, &err), OCELLI_OK); /* nothing to do */
    for (size_t i = 0; i < COUNT; i++) {
        const asker *a = &askers[i];
        cr_assert_gt(strlen(a->alone), 0);
        cr_assert_str_eq(a->told, a->alone, "answer %zu", i);
        cr_assert_str_eq(ocelli_session_answer(a->session), a->alone);
        cr_assert_eq(a->result.stop, a->alone_result.stop);
        cr_assert_eq(a->result.new_tokens, a->alone_result.new_tokens);
        cr_assert_eq(a->result.prompt_tokens, a->alone_result.prompt_tokens);
        cr_assert_gt(a->result.prefill_seconds, 0);
    }
    /* The answer is part of the conversation, whose next turn reuses it. */
    ocelli_result second = {.struct_size = sizeof second};
    say(askers[0].session, NULL, "And then?");
    cr_assert_eq(
        ocelli_session_generate(askers[0].session, &askers[0].options, NULL, NULL, &second, &err),
        OCELLI_OK);
    cr_assert_geq(second.reused_tokens, askers[0].result.prompt_tokens);
    ocelli_batch_close(batch);
    for (size_t i = 0; i < COUNT; i++) {
        ocelli_session_close(askers[i].session);
    }
    ocelli_model_close(model);
}

Test(batch, refuses_what_it_cannot_take_and_goes_on)
{
    ocelli_error err;
    ocelli_batch *batch;
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = 4;
    ocelli_model *model = open_model(OCELLI_SAMPLES "/model", OCELLI_QUANT_Q8);
    ocelli_model *other = open_model(OCELLI_SAMPLES "/model", OCELLI_QUANT_Q8);
    cr_assert_eq(ocelli_batch_open(&batch, model, 0, &err), OCELLI_E_ARGUMENT);
    cr_assert_eq(ocelli_batch_open(&batch, model, OC_BATCH_MOST + 1, &err), OCELLI_E_ARGUMENT);
    cr_assert_eq(ocelli_batch_open(&batch, model, 2, &err), OCELLI_OK);

    ocelli_session *sessions[3], *foreign = open_cut(other, 0), *narrow;
    ocelli_session_options small = OCELLI_SESSION_OPTIONS_INIT;
    small.context_tokens = 8;
    cr_assert_eq(ocelli_session_open(&narrow, model, &small, &err), OCELLI_OK);
    for (size_t i = 0; i < 3; i++) {
        sessions[i] = open_cut(model, 0);
        say(sessions[i], NULL, "See you later!");
    }
    say(foreign, NULL, "Hello");
    say(narrow, NULL, "A question that is longer than eight tokens of context can hold.");

    cr_assert_eq(ocelli_batch_add(batch, foreign, &options, NULL, NULL, &err), OCELLI_E_ARGUMENT);
    cr_assert_eq(ocelli_batch_add(batch, sessions[0], &options, NULL, NULL, &err), OCELLI_OK);
    cr_assert_eq(ocelli_batch_add(batch, sessions[0], &options, NULL, NULL, &err), OCELLI_E_STATE);
    cr_assert_eq(ocelli_batch_add(batch, narrow, &options, NULL, NULL, &err), OCELLI_E_CONTEXT);
    cr_assert(strstr(err.message, "but the context has 8") != NULL, "%s", err.message);
    cr_assert_eq(ocelli_batch_count(batch), 1);
    cr_assert_eq(ocelli_batch_add(batch, sessions[1], &options, NULL, NULL, &err), OCELLI_OK);
    cr_assert_eq(ocelli_batch_add(batch, sessions[2], &options, NULL, NULL, &err), OCELLI_E_STATE);

    size_t taken = 0;
    ocelli_session *done;
    for (size_t i = 0; i < 50 && taken < 2; i++) {
        cr_assert_eq(ocelli_batch_step(batch, &err), OCELLI_OK, "%s", err.message);
        while (ocelli_batch_take(batch, &done, NULL, NULL)) {
            cr_assert(done == sessions[0] || done == sessions[1]);
            taken++;
        }
    }
    cr_assert_eq(taken, 2);
    cr_assert_str_eq(ocelli_session_answer(sessions[0]), ocelli_session_answer(sessions[1]));

    /* Closed on its way: the session stays sound. */
    cr_assert_eq(ocelli_batch_add(batch, sessions[2], &options, NULL, NULL, &err), OCELLI_OK);
    cr_assert_eq(ocelli_batch_step(batch, &err), OCELLI_OK);
    ocelli_batch_close(batch);
    ocelli_result result = {.struct_size = sizeof result};
    cr_assert_eq(ocelli_session_generate(sessions[2], &options, NULL, NULL, &result, &err),
                 OCELLI_OK);
    cr_assert_str_eq(ocelli_session_answer(sessions[2]), ocelli_session_answer(sessions[0]));
    for (size_t i = 0; i < 3; i++) {
        ocelli_session_close(sessions[i]);
    }
    ocelli_session_close(foreign);
    ocelli_session_close(narrow);
    ocelli_model_close(model);
    ocelli_model_close(other);
}
