/* generate.c - answers: the straight line from messages to text, for one session or for several that
 * decode together. Read `answer` first. */
#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/options.h"
#include "runtime/repetition.h"
#include "runtime/session.h"
#include "runtime/voice.h"
#include "text/sampler.h"

#include <string.h>

enum {
    ANSWER_RESERVE =
        1024, /* cache room taken at once, so that decoding allocates nothing for so long */
    MOST_TOGETHER = 4096
};

/* One session's answer on its way. */
typedef struct turn {
    ocelli_session *session;
    const ocelli_generate_options *options;
    oc_sampler *sampler;
    oc_voice voice;
    size_t prompt; /* tokens before the answer */
    bool done;
    ocelli_result result;
} turn;

/* ---- before: the prompt behind the cache --------------------------------------------------- */

static ocelli_status prepare_scratch(ocelli_session *session, ocelli_error *err)
{
    const oc_decoder_config *config = &session->model->config.decoder;
    if (session->logits != NULL) {
        return OCELLI_OK;
    }
    if (!oc_model_decoder_scratch(session->model, session->prefill_rows, &session->scratch)) {
        return oc_fail(err, OCELLI_E_LIMIT, "a prefill chunk of %zu rows is too large",
                       session->prefill_rows);
    }
    oc_free(session->inputs);
    oc_free(session->rows);
    session->inputs = oc_alloc_raw(session->prefill_rows, config->hidden * sizeof *session->inputs);
    session->rows = oc_alloc(session->prefill_rows, sizeof *session->rows);
    session->logits = oc_alloc(config->vocab, sizeof *session->logits);
    return session->inputs == NULL || session->rows == NULL || session->logits == NULL
               ? oc_fail_memory(err, "the decoder's scratch")
               : OCELLI_OK;
}

/* Puts the new prompt behind the cache, keeping what it shares with the old one. */
static ocelli_status adopt(turn *t, ocelli_error *err)
{
    ocelli_session *session = t->session;
    oc_fused fused;
    size_t reused = 0;
    OC_TRY(oc_session_fuse(&fused, &reused, session, err));
    if (fused.count + 1 > session->context) {
        ocelli_status status = oc_fail(
            err, OCELLI_E_CONTEXT,
            "the prompt needs %zu tokens and room for an answer, but the context has %zu; use "
            "smaller or fewer pictures, or a shorter text",
            fused.count, session->context);
        oc_fused_close(&fused);
        return status;
    }
    oc_fused_close(&session->held);
    session->held = fused;
    session->kept = reused;
    t->prompt = fused.count;
    t->result.prompt_tokens = fused.count;
    t->result.reused_tokens = reused;
    size_t room = t->options->max_tokens < ANSWER_RESERVE ? t->options->max_tokens : ANSWER_RESERVE;
    room = fused.count + room < session->context ? fused.count + room : session->context;
    OC_TRY(oc_kv_reserve(&session->cache, room, err));
    oc_sampler_saw_prompt(t->sampler, fused.ids.ids, fused.count);
    return prepare_scratch(session, err);
}

/* ---- running rows -------------------------------------------------------------------------- */

/* Fills row for token i of the session, whose input row is at input. */
static void fill_row(oc_row *row, ocelli_session *session, size_t i, const float *input)
{
    *row = (oc_row){.cache = &session->cache, .slot = i, .input = input};
    memcpy(row->position, session->held.positions[i], sizeof row->position);
    row->taps = oc_fused_taps(&session->held, i, &row->tap_stride);
}

static ocelli_status forward(ocelli_model *model, size_t scratch, const oc_row *rows, size_t count,
                             size_t taps, ocelli_error *err)
{
    OC_TRY(oc_model_begin(model, scratch, "the decoder's scratch", err));
    ocelli_status status = oc_decoder_forward(model->decoder, &model->compute, &model->scratch,
                                              rows, count, taps, NULL, err);
    oc_model_end(model);
    return status;
}

/* Runs the held tokens that the cache lacks, prefill_rows at a time; the last one's logits are kept. */
static ocelli_status prefill(turn *t, ocelli_error *err)
{
    ocelli_session *session = t->session;
    const ocelli_generate_options *options = t->options;
    size_t hidden = session->model->config.decoder.hidden;
    size_t total = session->held.count;
    while (session->kept < total) {
        size_t begin = session->kept;
        size_t end = total - begin < session->prefill_rows ? total : begin + session->prefill_rows;
        if (options->progress != NULL &&
            options->progress(options->progress_user, "reading", begin, total) != 0) {
            return oc_fail(err, OCELLI_E_CANCELLED, "stopped while reading the prompt");
        }
        OC_TRY(
            oc_fused_rows(session->inputs, &session->held, session->model->table, begin, end, err));
        for (size_t i = begin; i < end; i++) {
            fill_row(&session->rows[i - begin], session, i, session->inputs + (i - begin) * hidden);
        }
        session->rows[end - begin - 1].logits = end == total ? session->logits : NULL;
        OC_TRY(forward(session->model, session->scratch, session->rows, end - begin,
                       oc_fused_tap_count(&session->held), err));
        session->kept = end;
    }
    return OCELLI_OK;
}

/* ---- one token after another --------------------------------------------------------------- */

static bool is_stop(const ocelli_model *model, int32_t id)
{
    for (size_t i = 0; i < model->config.eos_count; i++) {
        if (model->config.eos[i] == id) {
            return true;
        }
    }
    return false;
}

static void finish(turn *t, ocelli_stop stop)
{
    t->result.stop = stop;
    t->done = true;
}

/* The caller's choice, else the sampler's. */
static ocelli_status choose(const turn *t, int32_t *id, ocelli_error *err)
{
    float *logits = t->session->logits;
    size_t vocab = t->session->model->config.decoder.vocab;
    *id = t->options->choose != NULL ? t->options->choose(t->options->choose_user, logits, vocab)
                                     : -1;
    if (*id >= 0 && (size_t)*id >= vocab) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "choose: token id %ld is outside %zu", (long)*id,
                       vocab);
    }
    if (*id < 0) {
        *id = oc_sampler_pick(t->sampler, logits);
    }
    return *id >= 0 ? OCELLI_OK
                    : oc_fail(err, OCELLI_E_INTERNAL, "the model's logits are not numbers");
}

/* Picks a token from the logits, says it, and leaves it held but not yet run; or ends the turn. */
static ocelli_status pick(turn *t, ocelli_error *err)
{
    ocelli_session *session = t->session;
    if (t->result.new_tokens == t->options->max_tokens) {
        finish(t, OCELLI_STOP_LENGTH);
        return OCELLI_OK;
    }
    int32_t id;
    OC_TRY(choose(t, &id, err));
    if (!t->options->ignore_stop && is_stop(session->model, id)) {
        finish(t, OCELLI_STOP_END);
        return OCELLI_OK;
    }
    oc_sampler_saw_answer(t->sampler, id);
    OC_TRY(oc_fused_push(&session->held, id, err));
    t->result.new_tokens++;
    OC_TRY(oc_voice_say(&t->voice, id, err));
    if (t->voice.stopped) {
        finish(t, OCELLI_STOP_CALLBACK);
    } else if (t->options->stop_repetition &&
               oc_repetition_found(session->held.ids.ids + t->prompt, t->result.new_tokens)) {
        finish(t, OCELLI_STOP_REPETITION);
    } else if (t->result.new_tokens == t->options->max_tokens) {
        finish(t, OCELLI_STOP_LENGTH); /* the last token need not be run */
    } else if (session->held.count > session->context) {
        finish(t, OCELLI_STOP_CONTEXT);
    }
    return OCELLI_OK;
}

/* Runs the last held token of every turn that goes on, in one forward: weights are read once. */
static ocelli_status step(turn *turns, size_t count, size_t scratch, oc_row *rows,
                          ocelli_error *err)
{
    ocelli_model *model = turns[0].session->model;
    size_t going = 0;
    for (size_t i = 0; i < count; i++) {
        ocelli_session *session = turns[i].session;
        if (turns[i].done) {
            continue;
        }
        size_t last = session->held.count - 1;
        OC_TRY(oc_kv_reserve(&session->cache, last + 1, err));
        OC_TRY(oc_fused_rows(session->inputs, &session->held, model->table, last, last + 1, err));
        fill_row(&rows[going], session, last, session->inputs);
        rows[going++].logits = session->logits;
    }
    OC_TRY(forward(model, scratch, rows, going, 0, err));
    for (size_t i = 0; i < count; i++) {
        if (!turns[i].done) {
            turns[i].session->kept = turns[i].session->held.count;
        }
    }
    return OCELLI_OK;
}

static ocelli_status decode(turn *turns, size_t count, size_t scratch, oc_row *rows,
                            ocelli_error *err)
{
    for (;;) {
        size_t going = 0;
        for (size_t i = 0; i < count; i++) {
            if (!turns[i].done) {
                OC_TRY(pick(&turns[i], err));
                going += !turns[i].done;
            }
        }
        if (going == 0) {
            return OCELLI_OK;
        }
        OC_TRY(step(turns, count, scratch, rows, err));
    }
}

/* ---- the straight line --------------------------------------------------------------------- */

static ocelli_status answer(turn *turns, size_t count, oc_row *rows, ocelli_error *err)
{
    /* fusion: where every token sits and which rows pictures replace; all prompts must fit */
    ocelli_model *model = turns[0].session->model;
    size_t scratch;
    if (!oc_decoder_scratch(model->decoder, &model->compute, count, count, &scratch)) {
        return oc_fail(err, OCELLI_E_LIMIT, "%zu sessions are too many", count);
    }
    for (size_t i = 0; i < count; i++) {
        oc_buffer_clear(&turns[i].session->answer);
        OC_TRY(adopt(&turns[i], err));
    }
    /* text: run what the caches do not hold yet */
    for (size_t i = 0; i < count; i++) {
        double begin = oc_clock_seconds();
        OC_TRY(prefill(&turns[i], err));
        turns[i].result.prefill_seconds = oc_clock_seconds() - begin;
    }
    /* then one token at a time */
    double begin = oc_clock_seconds();
    OC_TRY(decode(turns, count, scratch, rows, err));
    for (size_t i = 0; i < count; i++) {
        turn *t = &turns[i];
        t->result.decode_seconds = oc_clock_seconds() - begin;
        OC_TRY(oc_conversation_add_answer(&t->session->talk, t->session->held.ids.ids + t->prompt,
                                          t->session->held.count - t->prompt, err));
    }
    return OCELLI_OK;
}

static ocelli_status open_turn(turn *t, ocelli_session *session,
                               const ocelli_generate_options *options, ocelli_piece_fn on_piece,
                               void *user, ocelli_error *err)
{
    *t = (turn){.session = session,
                .options = options,
                .voice = {.bpe = session->model->bpe,
                          .answer = &session->answer,
                          .on_piece = on_piece,
                          .user = user},
                .result = {.struct_size = sizeof t->result}};
    return oc_sampler_open(&t->sampler,
                           &(oc_sampler_options){.temperature = options->temperature,
                                                 .top_k = options->top_k,
                                                 .top_p = options->top_p,
                                                 .min_p = options->min_p,
                                                 .repetition_penalty = options->repetition_penalty,
                                                 .presence_penalty = options->presence_penalty,
                                                 .seed = options->seed},
                           session->model->config.decoder.vocab, err);
}

static void close_turn(turn *t)
{
    oc_voice_close(&t->voice);
    oc_sampler_close(t->sampler);
}

ocelli_status ocelli_session_generate(ocelli_session *session, const ocelli_generate_options *given,
                                      ocelli_piece_fn on_piece, void *user, ocelli_result *result,
                                      ocelli_error *err)
{
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    turn t;
    oc_row row;
    if (session == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_session_generate: session is needed");
    }
    oc_options_read(&options, sizeof options, given);
    OC_TRY(oc_model_check_computes(session->model, "answering", err));
    OC_TRY(open_turn(&t, session, &options, on_piece, user, err));
    ocelli_status status = answer(&t, 1, &row, err);
    oc_result_write(result, &t.result, sizeof t.result);
    close_turn(&t);
    return status;
}

/* The sessions must be different ones of one model. */
static ocelli_status check_group(ocelli_session *const *sessions, size_t count, ocelli_error *err)
{
    if (sessions == NULL || count == 0 || count > MOST_TOGETHER) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_generate_together: 1 to %d sessions are needed", MOST_TOGETHER);
    }
    for (size_t i = 0; i < count; i++) {
        if (sessions[i] == NULL || sessions[i]->model != sessions[0]->model) {
            return oc_fail(err, OCELLI_E_ARGUMENT, "session %zu is of another model, or NULL", i);
        }
        for (size_t j = 0; j < i; j++) {
            if (sessions[i] == sessions[j]) {
                return oc_fail(err, OCELLI_E_ARGUMENT, "sessions %zu and %zu are one", j, i);
            }
        }
    }
    return OCELLI_OK;
}

ocelli_status ocelli_generate_together(ocelli_session *const *sessions, size_t count,
                                       const ocelli_generate_options *given,
                                       ocelli_piece_fn on_piece, void *const *users,
                                       ocelli_result *results, ocelli_error *err)
{
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    oc_options_read(&options, sizeof options, given);
    OC_TRY(check_group(sessions, count, err));
    ocelli_model *model = sessions[0]->model;
    OC_TRY(oc_model_check_computes(model, "answering", err));
    size_t opened = 0;
    turn *turns = oc_alloc(count, sizeof *turns);
    oc_row *rows = oc_alloc(count, sizeof *rows);
    ocelli_status status = OCELLI_OK;
    if (turns == NULL || rows == NULL) {
        status = oc_fail_memory(err, "the sessions");
    }
    while (status == OCELLI_OK && opened < count) {
        status = open_turn(&turns[opened], sessions[opened], &options, on_piece,
                           users != NULL ? users[opened] : NULL, err);
        opened += status == OCELLI_OK;
    }
    if (status == OCELLI_OK) {
        status = answer(turns, count, rows, err);
    }
    for (size_t i = 0; i < opened; i++) {
        if (results != NULL) {
            oc_result_write(&results[i], &turns[i].result, sizeof turns[i].result);
        }
        close_turn(&turns[i]);
    }
    oc_free(rows);
    oc_free(turns);
    return status;
}
