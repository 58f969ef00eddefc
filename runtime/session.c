/* session.c - messages in, answer out. ocelli_session_generate is the straight line: read it first. */
#include "runtime/session.h"

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/estimate.h"
#include "runtime/options.h"
#include "runtime/repetition.h"
#include "text/sampler.h"
#include "text/unicode.h"

#include <string.h>

/* Cache room taken at once for an answer, so that decoding allocates nothing for so long. */
enum { ANSWER_RESERVE = 1024 };

ocelli_status ocelli_session_open(ocelli_session **out, ocelli_model *model,
                                  const ocelli_session_options *given, ocelli_error *err)
{
    if (out == NULL || model == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_session_open: out and model are needed");
    }
    *out = NULL;
    ocelli_session_options options = OCELLI_SESSION_OPTIONS_INIT;
    oc_options_read(&options, sizeof options, given);
    const oc_decoder_config *config = &model->config.decoder;
    if (options.context_tokens > config->context) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "a context of %llu tokens is more than the model's %zu",
                       (unsigned long long)options.context_tokens, config->context);
    }
    ocelli_session *session = oc_alloc(1, sizeof *session);
    if (session == NULL) {
        return oc_fail_memory(err, "a session");
    }
    session->model = oc_model_retain(model);
    session->context =
        options.context_tokens != 0 ? (size_t)options.context_tokens : config->context;
    session->prefill_rows = options.prefill_chunk != 0 ? options.prefill_chunk : OC_PREFILL_ROWS;
    if (session->prefill_rows > session->context) {
        session->prefill_rows = session->context;
    }
    session->chat = (oc_chat_options){.add_generation_prompt = true,
                                      .add_vision_id = options.vision_ids != 0,
                                      .special_in_text = options.special_tokens_in_text != 0};
    oc_kv_shape shape = oc_model_kv_shape(model);
    oc_kv_open(&session->cache, &shape);
    *out = session;
    return OCELLI_OK;
}

void ocelli_session_close(ocelli_session *session)
{
    if (session == NULL) {
        return;
    }
    oc_conversation_close(&session->talk);
    oc_fused_close(&session->held);
    oc_kv_close(&session->cache);
    oc_arena_close(&session->arena);
    oc_buffer_close(&session->answer);
    oc_free(session->inputs);
    oc_free(session->rows);
    oc_free(session->logits);
    ocelli_model_close(session->model);
    oc_free(session);
}

ocelli_status ocelli_session_add(ocelli_session *session, ocelli_role role,
                                 const ocelli_part *parts, size_t count, ocelli_error *err)
{
    if (session == NULL || (parts == NULL && count > 0)) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_session_add: session and parts are needed");
    }
    return oc_conversation_add(&session->talk, role, parts, count, err);
}

void ocelli_session_reset(ocelli_session *session)
{
    while (session->talk.count > 0) {
        oc_conversation_drop_last(&session->talk);
    }
}

void ocelli_session_drop_last(ocelli_session *session)
{
    oc_conversation_drop_last(&session->talk);
}

const char *ocelli_session_answer(const ocelli_session *session)
{
    return session->answer.data != NULL ? session->answer.data : "";
}

/* ---- what there is to do ------------------------------------------------------------------- */

/* Fuses the messages; *reused: leading tokens that the cache holds. At least the last token is run
 * again, since its logits are wanted. */
static ocelli_status fuse_messages(oc_fused *fused, size_t *reused, const ocelli_session *session,
                                   ocelli_error *err)
{
    if (session->talk.count == 0) {
        return oc_fail(err, OCELLI_E_STATE, "there is no message to answer");
    }
    OC_TRY(oc_conversation_fuse(fused, &session->talk, session->model, &session->chat, err));
    *reused = oc_fused_common(fused, &session->held);
    if (*reused > session->kept) {
        *reused = session->kept;
    }
    if (*reused == fused->count && *reused > 0) {
        (*reused)--;
    }
    return OCELLI_OK;
}

static size_t count_visual_tokens(const oc_fused *fused)
{
    size_t count = 0;
    for (size_t i = 0; i < fused->media_count; i++) {
        count += oc_medium_tokens(&fused->media[i]);
    }
    return count;
}

ocelli_status ocelli_session_describe(ocelli_session *session, size_t max_tokens,
                                      ocelli_session_plan *plan, ocelli_error *err)
{
    oc_fused fused;
    size_t reused = 0;
    if (session == NULL || plan == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_session_describe: session and plan are needed");
    }
    OC_TRY(fuse_messages(&fused, &reused, session, err));
    ocelli_session_plan own = {.prompt_tokens = fused.count,
                               .visual_tokens = count_visual_tokens(&fused),
                               .reused_tokens = reused,
                               .context_tokens = session->context,
                               .memory = {.struct_size = sizeof own.memory}};
    size_t slots = fused.count + (max_tokens < session->context ? max_tokens : session->context);
    slots = slots < session->context ? slots : session->context;
    ocelli_status status = oc_estimate(&own.memory, session->model, slots, session->prefill_rows,
                                       fused.media, fused.media_count, err);
    oc_fused_close(&fused);
    if (status == OCELLI_OK) {
        oc_result_write(plan, &own, sizeof own);
    }
    return status;
}

/* ---- running ------------------------------------------------------------------------------- */

static ocelli_status prepare_scratch(ocelli_session *session, ocelli_error *err)
{
    const oc_decoder_config *config = &session->model->config.decoder;
    size_t bytes;
    if (session->logits != NULL) {
        session->arena.used = 0;
        session->arena.overflow = false;
        return OCELLI_OK;
    }
    if (!oc_model_decoder_scratch(session->model, session->prefill_rows, &bytes)) {
        return oc_fail(err, OCELLI_E_LIMIT, "a prefill chunk of %zu rows is too large",
                       session->prefill_rows);
    }
    OC_TRY(oc_arena_reserve(&session->arena, bytes, "the decoder's scratch", err));
    oc_free(session->inputs);
    oc_free(session->rows);
    session->inputs = oc_alloc(session->prefill_rows, config->hidden * sizeof *session->inputs);
    session->rows = oc_alloc(session->prefill_rows, sizeof *session->rows);
    session->logits = oc_alloc(config->vocab, sizeof *session->logits);
    return session->inputs == NULL || session->rows == NULL || session->logits == NULL
               ? oc_fail_memory(err, "the decoder's scratch")
               : OCELLI_OK;
}

/* Runs held tokens [begin, end), at most prefill_rows of them; the last row's logits are written if
 * they are wanted. */
static ocelli_status run_rows(ocelli_session *session, size_t begin, size_t end, bool wants_logits,
                              ocelli_error *err)
{
    ocelli_model *model = session->model;
    size_t hidden = model->config.decoder.hidden;
    oc_fused *fused = &session->held;
    OC_TRY(oc_kv_reserve(&session->cache, end, err));
    OC_TRY(oc_fused_rows(session->inputs, fused, model->table, begin, end, err));
    for (size_t i = begin; i < end; i++) {
        oc_row *row = &session->rows[i - begin];
        *row = (oc_row){
            .cache = &session->cache, .slot = i, .input = session->inputs + (i - begin) * hidden};
        memcpy(row->position, fused->positions[i], sizeof row->position);
        row->taps = oc_fused_taps(fused, i, &row->tap_stride);
    }
    session->rows[end - begin - 1].logits = wants_logits ? session->logits : NULL;
    pthread_mutex_lock(&model->compute_lock);
    ocelli_status status =
        oc_decoder_forward(model->decoder, &model->compute, &session->arena, session->rows,
                           end - begin, oc_fused_tap_count(fused), NULL, err);
    pthread_mutex_unlock(&model->compute_lock);
    if (status == OCELLI_OK) {
        session->kept = end;
    }
    return status;
}

static ocelli_status prefill(ocelli_session *session, const ocelli_generate_options *options,
                             ocelli_error *err)
{
    size_t total = session->held.count;
    while (session->kept < total) {
        size_t begin = session->kept;
        size_t end = total - begin < session->prefill_rows ? total : begin + session->prefill_rows;
        if (options->progress != NULL &&
            options->progress(options->progress_user, "reading", begin, total) != 0) {
            return oc_fail(err, OCELLI_E_CANCELLED, "stopped while reading the prompt");
        }
        OC_TRY(run_rows(session, begin, end, end == total, err));
    }
    return OCELLI_OK;
}

/* ---- the answer's text --------------------------------------------------------------------- */

/* Hands out the whole characters of what is not told yet; the tail waits for its rest. */
typedef struct speaker {
    ocelli_session *session;
    oc_buffer pending; /* bytes of tokens, not yet told */
    ocelli_piece_fn on_piece;
    void *user;
    bool stopped;
} speaker;

/* A small or damaged model writes bytes that no character has: they are left out, since what is told
 * is text. */
static ocelli_status append_characters(oc_buffer *out, const char *text, size_t size,
                                       ocelli_error *err)
{
    while (size > 0) {
        size_t valid = oc_utf8_valid_prefix(text, size);
        OC_TRY(oc_buffer_append(out, text, valid, err));
        size_t skip = valid < size ? valid + 1 : valid;
        text += skip;
        size -= skip;
    }
    return OCELLI_OK;
}

static ocelli_status speak(speaker *s, bool last, ocelli_error *err)
{
    size_t whole =
        last ? s->pending.length : oc_utf8_complete_prefix(s->pending.data, s->pending.length);
    if (whole == 0) {
        return OCELLI_OK;
    }
    oc_buffer *answer = &s->session->answer;
    size_t told = answer->length;
    OC_TRY(append_characters(answer, s->pending.data, whole, err));
    memmove(s->pending.data, s->pending.data + whole, s->pending.length - whole);
    s->pending.length -= whole;
    if (s->on_piece != NULL && answer->length > told &&
        s->on_piece(s->user, answer->data + told, answer->length - told) != 0) {
        s->stopped = true;
    }
    return OCELLI_OK;
}

static ocelli_status speak_token(speaker *s, int32_t id, ocelli_error *err)
{
    const oc_bpe *bpe = s->session->model->bpe;
    size_t length;
    const char *bytes = oc_bpe_bytes(bpe, id, &length);
    if (length == 0 || oc_bpe_is_special(bpe, id)) {
        return OCELLI_OK;
    }
    OC_TRY(oc_buffer_append(&s->pending, bytes, length, err));
    return speak(s, false, err);
}

static bool is_stop(const ocelli_model *model, int32_t id)
{
    for (size_t i = 0; i < model->config.eos_count; i++) {
        if (model->config.eos[i] == id) {
            return true;
        }
    }
    return false;
}

/* One token after another until something ends it. */
static ocelli_status decode(ocelli_session *session, oc_sampler *sampler, speaker *voice,
                            const ocelli_generate_options *options, ocelli_result *result,
                            ocelli_error *err)
{
    size_t prompt = session->held.count;
    for (;;) {
        size_t new_tokens = session->held.count - prompt;
        result->new_tokens = new_tokens;
        result->stop = OCELLI_STOP_LENGTH;
        if (new_tokens == options->max_tokens) {
            return OCELLI_OK;
        }
        int32_t id = oc_sampler_pick(sampler, session->logits);
        if (id < 0) {
            return oc_fail(err, OCELLI_E_INTERNAL, "the model's logits are not numbers");
        }
        if (is_stop(session->model, id)) {
            result->stop = OCELLI_STOP_END;
            return OCELLI_OK;
        }
        oc_sampler_saw_answer(sampler, id);
        OC_TRY(oc_fused_push(&session->held, id, err));
        result->new_tokens = new_tokens + 1;
        OC_TRY(speak_token(voice, id, err));
        if (voice->stopped) {
            result->stop = OCELLI_STOP_CALLBACK;
            return OCELLI_OK;
        }
        if (options->stop_repetition &&
            oc_repetition_found(session->held.ids.ids + prompt, new_tokens + 1)) {
            result->stop = OCELLI_STOP_REPETITION;
            return OCELLI_OK;
        }
        if (new_tokens + 1 < options->max_tokens) {
            if (session->held.count > session->context) {
                result->stop = OCELLI_STOP_CONTEXT;
                return OCELLI_OK;
            }
            OC_TRY(run_rows(session, session->held.count - 1, session->held.count, true, err));
        }
    }
}

static ocelli_status open_sampler(oc_sampler **out, const ocelli_session *session,
                                  const ocelli_generate_options *options, ocelli_error *err)
{
    OC_TRY(oc_sampler_open(out,
                           &(oc_sampler_options){.temperature = options->temperature,
                                                 .top_k = options->top_k,
                                                 .top_p = options->top_p,
                                                 .min_p = options->min_p,
                                                 .repetition_penalty = options->repetition_penalty,
                                                 .presence_penalty = options->presence_penalty,
                                                 .seed = options->seed},
                           session->model->config.decoder.vocab, err));
    return OCELLI_OK;
}

/* Puts the new prompt behind the cache, keeping what it shares with the old one. */
static ocelli_status adopt(ocelli_session *session, const ocelli_generate_options *options,
                           ocelli_result *result, ocelli_error *err)
{
    oc_fused fused;
    size_t reused = 0;
    OC_TRY(fuse_messages(&fused, &reused, session, err));
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
    result->prompt_tokens = fused.count;
    result->reused_tokens = reused;
    size_t room = options->max_tokens < ANSWER_RESERVE ? options->max_tokens : ANSWER_RESERVE;
    room = fused.count + room < session->context ? fused.count + room : session->context;
    OC_TRY(oc_kv_reserve(&session->cache, room, err));
    return prepare_scratch(session, err);
}

static ocelli_status answer(ocelli_session *session, oc_sampler *sampler, speaker *voice,
                            const ocelli_generate_options *options, ocelli_result *result,
                            ocelli_error *err)
{
    double begin = oc_clock_seconds();
    oc_buffer_clear(&session->answer);
    /* fusion: where every token sits and which rows pictures replace */
    OC_TRY(adopt(session, options, result, err));
    oc_sampler_saw_prompt(sampler, session->held.ids.ids, session->held.count);
    size_t prompt = session->held.count;
    /* text: run what the cache does not hold yet, then one token at a time */
    OC_TRY(prefill(session, options, err));
    double read = oc_clock_seconds();
    result->prefill_seconds = read - begin;
    OC_TRY(decode(session, sampler, voice, options, result, err));
    if (!voice->stopped) {
        OC_TRY(speak(voice, true, err));
    }
    result->decode_seconds = oc_clock_seconds() - read;
    return oc_conversation_add_answer(&session->talk, session->held.ids.ids + prompt,
                                      session->held.count - prompt, err);
}

ocelli_status ocelli_session_generate(ocelli_session *session, const ocelli_generate_options *given,
                                      ocelli_piece_fn on_piece, void *user, ocelli_result *result,
                                      ocelli_error *err)
{
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    ocelli_result own = {.stop = OCELLI_STOP_END};
    oc_sampler *sampler;
    if (session == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_session_generate: session is needed");
    }
    oc_options_read(&options, sizeof options, given);
    OC_TRY(open_sampler(&sampler, session, &options, err));
    speaker voice = {.session = session, .on_piece = on_piece, .user = user};
    ocelli_status status = answer(session, sampler, &voice, &options, &own, err);
    oc_buffer_close(&voice.pending);
    oc_sampler_close(sampler);
    oc_result_write(result, &own, sizeof own);
    return status;
}

const char *ocelli_stop_name(ocelli_stop stop)
{
    switch (stop) {
    case OCELLI_STOP_END: return "stop";
    case OCELLI_STOP_LENGTH: return "length";
    case OCELLI_STOP_CONTEXT: return "context";
    case OCELLI_STOP_CALLBACK: return "cancelled";
    case OCELLI_STOP_REPETITION: return "repetition";
    }
    return "unknown";
}
