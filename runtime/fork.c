/* fork.c - a second session that begins where another is: what was said, and the keys and values
 * behind it, so that a long beginning that several share is read once. */
#include "runtime/session.h"

#include "runtime/base/memory.h"

static ocelli_status copy_answer(oc_buffer *out, const oc_buffer *answer, ocelli_error *err)
{
    return answer->length > 0 ? oc_buffer_append(out, answer->data, answer->length, err)
                              : OCELLI_OK;
}

static ocelli_status copy_session(ocelli_session *copy, const ocelli_session *session,
                                  ocelli_error *err)
{
    OC_TRY(oc_conversation_copy(&copy->talk, &session->talk, err));
    OC_TRY(oc_fused_copy(&copy->held, &session->held, session->kept, err));
    OC_TRY(oc_kv_copy(&copy->cache, &session->cache, session->kept, err));
    copy->kept = session->kept; /* only now: what is kept is there */
    return copy_answer(&copy->answer, &session->answer, err);
}

ocelli_status ocelli_session_fork(ocelli_session **out, const ocelli_session *session,
                                  ocelli_error *err)
{
    if (out == NULL || session == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_session_fork: out and session are needed");
    }
    *out = NULL;
    ocelli_session *copy = oc_alloc(1, sizeof *copy);
    if (copy == NULL) {
        return oc_fail_memory(err, "a session");
    }
    copy->model = oc_model_retain(session->model);
    copy->chat = session->chat;
    copy->context = session->context;
    copy->prefill_rows = session->prefill_rows;
    oc_kv_open(&copy->cache, &session->cache.shape);
    ocelli_status status = copy_session(copy, session, err);
    if (status != OCELLI_OK) {
        ocelli_session_close(copy);
        return status;
    }
    *out = copy;
    return OCELLI_OK;
}
