/* generate.c - answers in one call: of one session, or of several together. batch.c makes them. */
#include "runtime/batch.h"

#include "runtime/options.h"

/* Adds the sessions, then steps until every answer has ended. Results are those of the sessions in
 * their order, also of answers that a failure left unfinished. */
static ocelli_status answer_all(ocelli_batch *batch, ocelli_session *const *sessions, size_t count,
                                const ocelli_generate_options *options, ocelli_piece_fn on_piece,
                                void *const *users, ocelli_result *results, ocelli_error *err)
{
    ocelli_status status = OCELLI_OK;
    const ocelli_result none = {.struct_size = sizeof none};
    size_t going = count;
    for (size_t i = 0; i < count && results != NULL; i++) {
        oc_result_write(&results[i], &none, sizeof none);
    }
    for (size_t i = 0; i < count && status == OCELLI_OK; i++) {
        status = ocelli_batch_add(batch, sessions[i], options, on_piece,
                                  users != NULL ? users[i] : NULL, err);
    }
    while (status == OCELLI_OK && going > 0) {
        status = ocelli_batch_step(batch, err);
        going = 0;
        for (size_t i = 0; i < batch->count; i++) {
            going += !batch->answers[i].done;
        }
    }
    for (size_t i = 0; i < batch->count && results != NULL; i++) {
        oc_result_write(&results[i], &batch->answers[i].result, sizeof batch->answers[i].result);
    }
    return status;
}

ocelli_status ocelli_session_generate(ocelli_session *session,
                                      const ocelli_generate_options *options,
                                      ocelli_piece_fn on_piece, void *user, ocelli_result *result,
                                      ocelli_error *err)
{
    ocelli_batch *batch;
    if (session == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_session_generate: session is needed");
    }
    OC_TRY(ocelli_batch_open(&batch, session->model, 1, err));
    ocelli_status status = answer_all(batch, &session, 1, options, on_piece, &user, result, err);
    ocelli_batch_close(batch);
    return status;
}

/* The sessions must be different ones of one model. */
static ocelli_status check_group(ocelli_session *const *sessions, size_t count, ocelli_error *err)
{
    if (sessions == NULL || count == 0 || count > OC_BATCH_MOST) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_generate_together: 1 to %d sessions are needed", OC_BATCH_MOST);
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
                                       const ocelli_generate_options *options,
                                       ocelli_piece_fn on_piece, void *const *users,
                                       ocelli_result *results, ocelli_error *err)
{
    ocelli_batch *batch;
    OC_TRY(check_group(sessions, count, err));
    OC_TRY(ocelli_batch_open(&batch, sessions[0]->model, count, err));
    ocelli_status status =
        answer_all(batch, sessions, count, options, on_piece, users, results, err);
    ocelli_batch_close(batch);
    return status;
}
