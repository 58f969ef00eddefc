/* session.c - a session's life: opened, told messages, asked what it would take. batch.c
 * answers. */
#include "runtime/session.h"

#include "runtime/base/memory.h"
#include "runtime/estimate.h"
#include "runtime/options.h"

#include <string.h>

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
    session->chat = (oc_chat_options){.style = model->config.family->chat,
                                      .add_generation_prompt = true,
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
    oc_buffer_close(&session->answer);
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
    return oc_conversation_add(&session->talk, session->chat.style, role, parts, count, err);
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

ocelli_status oc_session_fuse(oc_fused *fused, size_t *reused, const ocelli_session *session,
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
    OC_TRY(oc_session_fuse(&fused, &reused, session, err));
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
