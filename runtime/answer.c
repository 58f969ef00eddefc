/* answer.c - see answer.h. */
#include "runtime/answer.h"

#include "runtime/base/memory.h"
#include "runtime/repetition.h"

enum {
    ANSWER_RESERVE = 1024 /* cache room taken at once: decoding allocates nothing for so long */
};

/* ---- before: the prompt behind the cache --------------------------------------------------- */

/* Puts the new prompt behind the cache, keeping what it shares with the old one. */
static ocelli_status adopt(oc_answer *t, ocelli_error *err)
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
    size_t room = t->options.max_tokens < ANSWER_RESERVE ? t->options.max_tokens : ANSWER_RESERVE;
    room = fused.count + room < session->context ? fused.count + room : session->context;
    OC_TRY(oc_kv_reserve(&session->cache, room, err));
    oc_sampler_saw_prompt(t->sampler, fused.ids.ids, fused.count);
    if (session->logits == NULL) {
        session->logits = oc_alloc(session->model->config.decoder.vocab, sizeof *session->logits);
    }
    return session->logits == NULL ? oc_fail_memory(err, "the logits") : OCELLI_OK;
}

ocelli_status oc_answer_open(oc_answer *answer, ocelli_session *session,
                             const ocelli_generate_options *options, ocelli_piece_fn on_piece,
                             void *user, ocelli_error *err)
{
    *answer = (oc_answer){.session = session,
                          .options = *options,
                          .voice = {.bpe = session->model->bpe,
                                    .answer = &session->answer,
                                    .on_piece = on_piece,
                                    .user = user},
                          .user = user,
                          .result = {.struct_size = sizeof answer->result}};
    const oc_sampler_options sampler = {.temperature = options->temperature,
                                        .top_k = options->top_k,
                                        .top_p = options->top_p,
                                        .min_p = options->min_p,
                                        .repetition_penalty = options->repetition_penalty,
                                        .presence_penalty = options->presence_penalty,
                                        .seed = options->seed};
    OC_TRY(oc_sampler_open(&answer->sampler, &sampler, session->model->config.decoder.vocab, err));
    oc_buffer_clear(&session->answer);
    ocelli_status status = adopt(answer, err);
    if (status != OCELLI_OK) {
        oc_answer_close(answer);
    }
    return status;
}

void oc_answer_close(oc_answer *answer)
{
    oc_voice_close(&answer->voice);
    oc_sampler_close(answer->sampler);
    answer->sampler = NULL;
}

size_t oc_answer_waiting(const oc_answer *answer)
{
    return answer->done ? 0 : answer->session->held.count - answer->session->kept;
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

static ocelli_status finish(oc_answer *t, ocelli_stop stop, ocelli_error *err)
{
    t->result.stop = stop;
    t->done = true;
    return oc_conversation_add_answer(&t->session->talk, t->session->held.ids.ids + t->prompt,
                                      t->session->held.count - t->prompt, err);
}

/* The caller's choice, else the sampler's. */
static ocelli_status choose(const oc_answer *t, int32_t *id, ocelli_error *err)
{
    float *logits = t->session->logits;
    size_t vocab = t->session->model->config.decoder.vocab;
    *id = t->options.choose != NULL ? t->options.choose(t->options.choose_user, logits, vocab) : -1;
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

ocelli_status oc_answer_pick(oc_answer *t, ocelli_error *err)
{
    ocelli_session *session = t->session;
    if (t->result.new_tokens == t->options.max_tokens) {
        return finish(t, OCELLI_STOP_LENGTH, err);
    }
    int32_t id;
    OC_TRY(choose(t, &id, err));
    if (!t->options.ignore_stop && is_stop(session->model, id)) {
        return finish(t, OCELLI_STOP_END, err);
    }
    oc_sampler_saw_answer(t->sampler, id);
    OC_TRY(oc_fused_push(&session->held, id, err));
    t->result.new_tokens++;
    OC_TRY(oc_voice_say(&t->voice, id, err));
    if (t->voice.stopped) {
        return finish(t, OCELLI_STOP_CALLBACK, err);
    }
    if (t->options.stop_repetition &&
        oc_repetition_found(session->held.ids.ids + t->prompt, t->result.new_tokens)) {
        return finish(t, OCELLI_STOP_REPETITION, err);
    }
    if (t->result.new_tokens == t->options.max_tokens) {
        return finish(t, OCELLI_STOP_LENGTH, err); /* the last token need not be run */
    }
    return session->held.count > session->context ? finish(t, OCELLI_STOP_CONTEXT, err) : OCELLI_OK;
}
