/* batch.c - many answers at once: every step is one forward over rows of all sessions.
 *
 * An answer has rows waiting: those of its prompt at first, then its last token. A step takes the single
 * rows of the answers that decode, and beside them as many rows of prompts as a prefill step holds, of
 * one prompt or of several; so weights are read once for all of them, and an answer that joins does
 * not hold up those on their way for longer than one step. What a row computes does not depend on
 * the rows beside it. Read ocelli_batch_step first. */
#include "runtime/batch.h"

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/options.h"

#include <string.h>

/* ---- a batch's life ------------------------------------------------------------------------ */

ocelli_status ocelli_batch_open(ocelli_batch **out, ocelli_model *model, size_t most,
                                ocelli_error *err)
{
    if (out == NULL || model == NULL || most == 0 || most > OC_BATCH_MOST) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_batch_open: out and model are needed, and room for 1 to %d answers",
                       OC_BATCH_MOST);
    }
    *out = NULL;
    OC_TRY(oc_model_check_computes(model, "answering", err));
    ocelli_batch *batch = oc_alloc(1, sizeof *batch);
    if (batch == NULL) {
        return oc_fail_memory(err, "a batch");
    }
    batch->model = oc_model_retain(model);
    batch->most = most;
    batch->answers = oc_alloc(most, sizeof *batch->answers);
    batch->shares = oc_alloc(most, sizeof *batch->shares);
    batch->is_prompt = oc_alloc(most, sizeof *batch->is_prompt);
    if (batch->answers == NULL || batch->shares == NULL || batch->is_prompt == NULL) {
        ocelli_batch_close(batch);
        return oc_fail_memory(err, "a batch");
    }
    *out = batch;
    return OCELLI_OK;
}

void ocelli_batch_close(ocelli_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    for (size_t i = 0; i < batch->count; i++) {
        oc_answer_close(&batch->answers[i]);
    }
    oc_free(batch->answers);
    oc_free(batch->shares);
    oc_free(batch->is_prompt);
    oc_free(batch->rows);
    oc_free(batch->inputs);
    ocelli_model_close(batch->model);
    oc_free(batch);
}

ocelli_status ocelli_batch_add(ocelli_batch *batch, ocelli_session *session,
                               const ocelli_generate_options *given, ocelli_piece_fn on_piece,
                               void *user, ocelli_error *err)
{
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    if (batch == NULL || session == NULL || session->model != batch->model) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_batch_add: batch and session are needed, of one model");
    }
    if (batch->count == batch->most) {
        return oc_fail(err, OCELLI_E_STATE, "the batch has its %zu answers already", batch->most);
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->answers[i].session == session) {
            return oc_fail(err, OCELLI_E_STATE, "the session is in the batch already");
        }
    }
    oc_options_read(&options, sizeof options, given);
    OC_TRY(oc_answer_open(&batch->answers[batch->count], session, &options, on_piece, user, err));
    batch->count++;
    return OCELLI_OK;
}

int ocelli_batch_take(ocelli_batch *batch, ocelli_session **session, void **user,
                      ocelli_result *result)
{
    *session = NULL;
    for (size_t i = 0; i < batch->count; i++) {
        oc_answer *t = &batch->answers[i];
        if (!t->done) {
            continue;
        }
        *session = t->session;
        if (user != NULL) {
            *user = t->user;
        }
        oc_result_write(result, &t->result, sizeof t->result);
        oc_answer_close(t);
        batch->count--;
        memmove(t, t + 1, (batch->count - i) * sizeof *t);
        return 1;
    }
    return 0;
}

size_t ocelli_batch_count(const ocelli_batch *batch)
{
    return batch->count;
}

/* ---- which rows a step runs ---------------------------------------------------------------- */

static bool reads_prompt(const oc_answer *t)
{
    return t->session->kept < t->prompt;
}

/* Gives every answer its share of the step. Prompts fill up, in their order, what the largest prefill
 * step among them holds. Returns all rows. */
static size_t share_rows(ocelli_batch *batch)
{
    size_t rows = 0, budget = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const oc_answer *t = &batch->answers[i];
        batch->is_prompt[i] = !t->done && reads_prompt(t);
        batch->shares[i] = batch->is_prompt[i] ? 0 : oc_answer_waiting(t);
        rows += batch->shares[i];
        if (batch->is_prompt[i] && t->session->prefill_rows > budget) {
            budget = t->session->prefill_rows;
        }
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->is_prompt[i]) {
            size_t share = oc_answer_waiting(&batch->answers[i]);
            size_t step = batch->answers[i].session->prefill_rows;
            share = share < step ? share : step;
            batch->shares[i] = share < budget ? share : budget;
            budget -= batch->shares[i];
            rows += batch->shares[i];
        }
    }
    return rows;
}

static ocelli_status make_room(ocelli_batch *batch, size_t rows, ocelli_error *err)
{
    if (rows <= batch->room) {
        return OCELLI_OK;
    }
    oc_free(batch->rows);
    oc_free(batch->inputs);
    batch->room = 0;
    batch->inputs = oc_alloc_raw(rows, batch->model->config.decoder.hidden * sizeof(float));
    batch->rows = oc_alloc(rows, sizeof *batch->rows);
    if (batch->inputs == NULL || batch->rows == NULL) {
        return oc_fail_memory(err, "the decoder's rows");
    }
    batch->room = rows;
    return OCELLI_OK;
}

static ocelli_status size_scratch(ocelli_batch *batch, size_t rows, size_t heads, ocelli_error *err)
{
    if (rows == batch->sized_rows && heads == batch->sized_heads) {
        return OCELLI_OK;
    }
    if (!oc_decoder_scratch(batch->model->decoder, &batch->model->compute, rows, heads,
                            &batch->scratch)) {
        batch->sized_rows = 0;
        return oc_fail(err, OCELLI_E_LIMIT, "a step of %zu rows is too large", rows);
    }
    batch->sized_rows = rows;
    batch->sized_heads = heads;
    return OCELLI_OK;
}

/* Asks whoever waits for the prompt whether to go on. */
static ocelli_status tell_progress(const oc_answer *t, ocelli_error *err)
{
    if (t->options.progress != NULL && t->options.progress(t->options.progress_user, "reading",
                                                           t->session->kept, t->prompt) != 0) {
        return oc_fail(err, OCELLI_E_CANCELLED, "stopped while reading the prompt");
    }
    return OCELLI_OK;
}

/* Fills count rows of the answer, the next ones that wait; the last token's logits are wanted. */
static ocelli_status fill_rows(oc_answer *t, oc_row *rows, float *inputs, size_t count,
                               ocelli_error *err)
{
    ocelli_session *session = t->session;
    size_t hidden = session->model->config.decoder.hidden;
    size_t begin = session->kept, end = begin + count;
    OC_TRY(oc_kv_reserve(&session->cache, end, err));
    OC_TRY(oc_fused_rows(inputs, &session->held, session->model->table, begin, end, err));
    for (size_t i = begin; i < end; i++) {
        oc_row *row = &rows[i - begin];
        *row =
            (oc_row){.cache = &session->cache, .slot = i, .input = inputs + (i - begin) * hidden};
        memcpy(row->position, session->held.positions[i], sizeof row->position);
        row->taps = oc_fused_taps(&session->held, i, &row->tap_stride);
    }
    if (end == session->held.count) {
        rows[count - 1].logits = session->logits;
    }
    return OCELLI_OK;
}

/* ---- the step ------------------------------------------------------------------------------ */

/* Fills the step's rows, runs them, and moves every answer on. */
static ocelli_status run_rows(ocelli_batch *batch, size_t rows, ocelli_error *err)
{
    ocelli_model *model = batch->model;
    size_t at = 0, heads = 0, taps = 0;
    OC_TRY(make_room(batch, rows, err));
    for (size_t i = 0; i < batch->count; i++) {
        oc_answer *t = &batch->answers[i];
        size_t count = batch->shares[i];
        if (count == 0) {
            continue;
        }
        if (batch->is_prompt[i]) {
            size_t carried = oc_fused_tap_count(&t->session->held);
            taps = carried > taps ? carried : taps;
            OC_TRY(tell_progress(t, err));
        }
        OC_TRY(fill_rows(t, batch->rows + at, batch->inputs + at * model->config.decoder.hidden,
                         count, err));
        at += count;
        heads += count == oc_answer_waiting(t);
    }
    OC_TRY(size_scratch(batch, rows, heads, err));
    OC_TRY(oc_model_begin(model, batch->scratch, "the decoder's scratch", err));
    ocelli_status status = oc_decoder_forward(model->decoder, &model->compute, &model->scratch,
                                              batch->rows, rows, taps, NULL, err);
    oc_model_end(model);
    if (status == OCELLI_OK) {
        for (size_t i = 0; i < batch->count; i++) {
            batch->answers[i].session->kept += batch->shares[i];
        }
    }
    return status;
}

/* The step's time, divided among the answers by their rows. */
static void share_seconds(ocelli_batch *batch, size_t rows, double seconds)
{
    for (size_t i = 0; i < batch->count; i++) {
        ocelli_result *result = &batch->answers[i].result;
        double share = seconds * (double)batch->shares[i] / (double)rows;
        if (batch->is_prompt[i]) {
            result->prefill_seconds += share;
        } else {
            result->decode_seconds += share;
        }
    }
}

ocelli_status ocelli_batch_step(ocelli_batch *batch, ocelli_error *err)
{
    if (batch == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_batch_step: batch is needed");
    }
    double began = oc_clock_seconds();
    size_t rows = share_rows(batch);
    if (rows == 0) {
        return OCELLI_OK;
    }
    OC_TRY(run_rows(batch, rows, err));
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->shares[i] > 0 && oc_answer_waiting(&batch->answers[i]) == 0) {
            OC_TRY(oc_answer_pick(&batch->answers[i], err));
        }
    }
    share_seconds(batch, rows, oc_clock_seconds() - began);
    return OCELLI_OK;
}
