/* A forked session answers as the one it was made from, bit for bit, and neither disturbs the other. */
#include "runtime/session.h"
#include "tests/unit/runtime/talk.h"

#include <stdio.h>
#include <string.h>

static const char CHECKPOINT[] = OCELLI_TEST_DATA "/golden/qwen3vl/models/t1_bf16";
static const char PICTURE[] = OCELLI_SAMPLES "/pictures/picture01.png";
static const char SYSTEM[] = "You describe pictures of fruit, in few words, and never guess. "
                             "Colours are told first, then what lies on them, then what does not.";

static ocelli_session *fork_session(const ocelli_session *session)
{
    ocelli_error err;
    ocelli_session *copy;
    cr_assert_eq(ocelli_session_fork(&copy, session, &err), OCELLI_OK, "%s", err.message);
    return copy;
}

static void add_system(ocelli_session *session)
{
    ocelli_error err;
    const ocelli_part part = {.text = SYSTEM};
    cr_assert_eq(ocelli_session_add(session, OCELLI_SYSTEM, &part, 1, &err), OCELLI_OK);
}

/* The same text and the same logits behind it. */
static void expect_equal(const ocelli_session *a, const ocelli_session *b)
{
    cr_assert_str_eq(ocelli_session_answer(a), ocelli_session_answer(b));
    cr_assert_gt(strlen(ocelli_session_answer(a)), 0);
    cr_assert_arr_eq(a->logits, b->logits, a->model->config.decoder.vocab * sizeof *a->logits);
}

/* In the middle of a conversation about a picture: both go on, each its own way. On the quantised
 * paths, whose bits depend on nothing else. */
Test(fork, goes_on_as_the_first)
{
    static const ocelli_quant forms[] = {OCELLI_QUANT_Q8, OCELLI_QUANT_Q4};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        ocelli_model *model = open_model(CHECKPOINT, forms[i]);
        ocelli_visual *visual = see(model, PICTURE);
        ocelli_session *first = open_session(model, 0), *alone = open_session(model, 0);
        add_system(first);
        say(first, visual, "What is it?");
        run(first, 9);
        ocelli_session *second = fork_session(first);
        cr_assert_str_eq(ocelli_session_answer(second), ocelli_session_answer(first));
        /* The fork asks something else, and the first does not see it. */
        say(second, NULL, "Name the colours.");
        ocelli_result other = run(second, 12);
        ocelli_session *third = fork_session(first);
        say(first, NULL, "And now?");
        ocelli_result own = run(first, 12);
        say(third, NULL, "And now?");
        ocelli_result same = run(third, 12);
        cr_assert_eq(other.reused_tokens, own.reused_tokens);
        cr_assert_eq(same.reused_tokens, own.reused_tokens);
        cr_assert_gt(own.reused_tokens, 100);
        expect_equal(third, first);
        /* Nothing was forked: the same turns by themselves. */
        add_system(alone);
        say(alone, visual, "What is it?");
        run(alone, 9);
        say(alone, NULL, "Name the colours.");
        run(alone, 12);
        expect_equal(second, alone);
        /* What a fork holds outlives what it was made from. */
        ocelli_session_close(first);
        ocelli_session_close(third);
        ocelli_visual_free(visual);
        ocelli_model_close(model);
        say(second, NULL, "Once more.");
        say(alone, NULL, "Once more.");
        run(second, 5);
        run(alone, 5);
        expect_equal(second, alone);
        ocelli_session_close(second);
        ocelli_session_close(alone);
    }
}

/* The system message is read once for all. */
Test(fork, shares_a_system_message)
{
    ocelli_model *model = open_model(CHECKPOINT, OCELLI_QUANT_Q8);
    ocelli_visual *visual = see(model, PICTURE);
    ocelli_session *root = open_session(model, 0);
    add_system(root);
    ocelli_result read = run(root, 0);
    cr_assert_eq(read.new_tokens, 0);
    ocelli_session_drop_last(root);
    for (size_t i = 0; i < 3; i++) {
        char question[32];
        ocelli_session *fork = fork_session(root), *alone = open_session(model, 0);
        snprintf(question, sizeof question, "Question %zu?", i);
        say(fork, i == 1 ? NULL : visual, question);
        add_system(alone);
        say(alone, i == 1 ? NULL : visual, question);
        ocelli_result forked = run(fork, 10), plain = run(alone, 10);
        cr_assert_eq(plain.reused_tokens, 0);
        cr_assert_eq(forked.prompt_tokens, plain.prompt_tokens);
        /* All but "assistant" and a line's end, in a vocabulary of little more than bytes. */
        cr_assert_geq(forked.reused_tokens + sizeof "assistant", read.prompt_tokens);
        expect_equal(fork, alone);
        ocelli_session_close(fork);
        ocelli_session_close(alone);
    }
    ocelli_session_close(root);
    ocelli_visual_free(visual);
    ocelli_model_close(model);
}

Test(fork, of_nothing)
{
    ocelli_error err;
    ocelli_model *model = open_model(CHECKPOINT, OCELLI_QUANT_Q8);
    ocelli_session *session = open_session(model, 0), *copy = fork_session(session), *none;
    cr_assert_str_eq(ocelli_session_answer(copy), "");
    say(session, NULL, "Hello.");
    say(copy, NULL, "Hello.");
    run(session, 6);
    run(copy, 6);
    expect_equal(copy, session);
    cr_assert_eq(ocelli_session_fork(&none, NULL, &err), OCELLI_E_ARGUMENT);
    cr_assert_eq(ocelli_session_fork(NULL, session, &err), OCELLI_E_ARGUMENT);
    ocelli_session_close(copy);
    ocelli_session_close(session);
    ocelli_model_close(model);
}
