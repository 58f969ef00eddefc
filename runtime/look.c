/* look.c - where in a picture an answer looked: the answer's rows run again over the cache that they
 * were made with, and the attention of every layer to the picture's rows noted.
 *
 * Which rows: a token of the answer is chosen by the row before it, the first one by the prompt's
 * last row; what such a row attends to is what the token was chosen by. All of them are in the cache,
 * so nothing is written to it (oc_row.filled).
 *
 * In large models a few patches, mostly of an even background, draw attention under any question
 * ("attention sinks"). For these a map can be taken relative to that of a row that asks nothing: the
 * one behind the picture, which has seen the picture and no question. */
#include "runtime/session.h"

#include "runtime/base/memory.h"
#include "runtime/options.h"
#include "text/attention_weights.h"

#include <math.h>
#include <string.h>

enum { MOST_ROWS = 64 }; /* run at a time */

typedef struct look {
    ocelli_session *session;
    const ocelli_look_options *options;
    oc_attention_shape shape;
    size_t first_layer, end_layer;
    size_t tokens;  /* of the visual */
    size_t *slots;  /* [slot_count]: where its rows stand in the prompt, */
    size_t *places; /* [slot_count]: and which of its rows they are */
    size_t slot_count;
    size_t rows;    /* being run */
    double *maps;   /* [MOST_ROWS, tokens]: of these, the sum over layers */
    float *weights; /* [held.count]: of one row over all slots */
    float *scratch;
    uint64_t done, total; /* layers, for progress */
    bool stopped;
} look;

/* ---- what is looked at ---------------------------------------------------------------------- */

/* The ids of the answer that the session ends with; 0: none. */
static size_t answer_length(const ocelli_session *session)
{
    const oc_conversation *talk = &session->talk;
    const oc_message *last = talk->count > 0 ? &talk->messages[talk->count - 1] : NULL;
    if (last == NULL || last->role != OCELLI_ASSISTANT || last->count != 1) {
        return 0;
    }
    const oc_ids *ids = &last->parts[0].ids;
    size_t held = session->held.count;
    bool is_held = ids->count < held && memcmp(session->held.ids.ids + held - ids->count, ids->ids,
                                               ids->count * sizeof *ids->ids) == 0;
    return is_held ? ids->count : 0;
}

/* Where the visual's rows are; a picture that was shown twice counts twice. */
static ocelli_status find_slots(look *l, const ocelli_visual *visual, ocelli_error *err)
{
    const oc_fused *held = &l->session->held;
    l->slots = oc_alloc(held->count, sizeof *l->slots);
    l->places = oc_alloc(held->count, sizeof *l->places);
    if (l->slots == NULL || l->places == NULL) {
        return oc_fail_memory(err, "the places of a picture");
    }
    for (size_t i = 0; i < held->count; i++) {
        int32_t m = held->medium[i];
        if (m >= 0 && memcmp(&held->media[m].identity, &visual->medium.identity,
                             sizeof visual->medium.identity) == 0) {
            l->slots[l->slot_count] = i;
            l->places[l->slot_count++] = (size_t)held->row[i];
        }
    }
    if (l->slot_count == 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_session_look: the visual is not in the conversation");
    }
    return OCELLI_OK;
}

static ocelli_status choose_layers(look *l, ocelli_error *err)
{
    size_t layers = l->session->model->config.decoder.layers;
    uint64_t first = l->options->first_layer, count = l->options->layers;
    if (first == 0 && count == 0) {
        first = layers / 3;
    }
    if (first >= layers || count > layers - first) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "layers %llu to %llu are not there; the decoder has %zu",
                       (unsigned long long)first, (unsigned long long)(first + count), layers);
    }
    l->first_layer = (size_t)first;
    l->end_layer = count == 0 ? layers : (size_t)(first + count);
    return OCELLI_OK;
}

/* ---- looking --------------------------------------------------------------------------------- */

static void note_attention(void *user, size_t layer, const oc_attention_row *rows, size_t count)
{
    look *l = user;
    l->done++;
    if (l->options->progress != NULL && !l->stopped) {
        l->stopped = l->options->progress(l->options->progress_user, "tracing the answer", l->done,
                                          l->total) != 0;
    }
    if (layer < l->first_layer || layer >= l->end_layer || l->stopped) {
        return;
    }
    for (size_t r = 0; r < count; r++) {
        oc_attention_weights(&l->session->model->compute, &l->shape, &rows[r], l->scratch,
                             l->weights);
        for (size_t i = 0; i < l->slot_count && l->slots[i] < rows[r].length; i++) {
            l->maps[r * l->tokens + l->places[i]] += l->weights[l->slots[i]];
        }
    }
}

/* Runs the rows of slots [begin, begin + count), which are text, and leaves their maps, each divided
 * by the layers: what is in one sums to the share of attention that went to the visual. */
static ocelli_status run_rows(look *l, size_t begin, size_t count, ocelli_error *err)
{
    ocelli_session *session = l->session;
    ocelli_model *model = session->model;
    size_t hidden = model->config.decoder.hidden, scratch;
    oc_row rows[MOST_ROWS];
    if (!oc_decoder_scratch(model->decoder, &model->compute, count, 0, &scratch)) {
        return oc_fail(err, OCELLI_E_LIMIT, "a step of %zu rows is too large", count);
    }
    float *inputs = oc_alloc_raw(count, hidden * sizeof *inputs);
    if (inputs == NULL) {
        return oc_fail_memory(err, "the decoder's rows");
    }
    memset(l->maps, 0, count * l->tokens * sizeof *l->maps);
    ocelli_status status =
        oc_fused_rows(inputs, &session->held, model->table, begin, begin + count, err);
    for (size_t i = 0; i < count; i++) {
        rows[i] = (oc_row){.cache = &session->cache,
                           .slot = begin + i,
                           .input = inputs + i * hidden,
                           .filled = true};
        memcpy(rows[i].position, session->held.positions[begin + i], sizeof rows[i].position);
    }
    if (status == OCELLI_OK) {
        status = oc_model_begin(model, scratch, "the decoder's scratch", err);
    }
    if (status == OCELLI_OK) {
        const oc_decoder_trace trace = {.user = l, .attention = note_attention};
        status = oc_decoder_forward(model->decoder, &model->compute, &model->scratch, rows, count,
                                    0, &trace, err);
        oc_model_end(model);
    }
    oc_free(inputs);
    if (status == OCELLI_OK && l->stopped) {
        return oc_fail(err, OCELLI_E_CANCELLED, "stopped while tracing the answer");
    }
    for (size_t i = 0; i < count * l->tokens; i++) {
        l->maps[i] /= (double)(l->end_layer - l->first_layer);
    }
    return status;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static double sum_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum;
}

/* out [tokens], summing to 1: map, relative to neutral if there is one. */
static void finish_map(float *out, const double *map, const double *neutral, size_t tokens)
{
    /* With the mean beside it a patch that nobody looks at is no division by nothing. */
    double total = 0, usual = neutral != NULL ? sum_of(neutral, tokens) / (double)tokens : 0;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < tokens; i++) {
            double value = usual > 0 ? map[i] / (neutral[i] + usual) : map[i];
            if (pass == 0) {
                total += value;
            } else {
                out[i] = (float)(total > 0 ? value / total : 1.0 / (double)tokens);
            }
        }
    }
}

static ocelli_status tell_token(look *l, size_t row, int32_t id, const double *neutral, float *map,
                                ocelli_error *err)
{
    size_t length;
    const char *text = oc_bpe_bytes(l->session->model->bpe, id, &length);
    const double *own = l->maps + row * l->tokens;
    finish_map(map, own, neutral, l->tokens);
    if (l->options->on_token(l->options->user, text, length, map, sum_of(own, l->tokens)) != 0) {
        return oc_fail(err, OCELLI_E_CANCELLED, "stopped while tracing the answer");
    }
    return OCELLI_OK;
}

/* The answer's rows, a number at a time; sum [tokens] is added to. */
static ocelli_status trace_answer(look *l, size_t length, const double *neutral, double *sum,
                                  float *map, ocelli_error *err)
{
    size_t begin = l->session->held.count - length - 1;
    for (size_t at = 0; at < length; at += MOST_ROWS) {
        size_t count = length - at < MOST_ROWS ? length - at : MOST_ROWS;
        OC_TRY(run_rows(l, begin + at, count, err));
        for (size_t r = 0; r < count; r++) {
            for (size_t i = 0; i < l->tokens; i++) {
                sum[i] += l->maps[r * l->tokens + i];
            }
            if (l->options->on_token != NULL) {
                int32_t id = l->session->held.ids.ids[begin + at + r + 1];
                OC_TRY(tell_token(l, r, id, neutral, map, err));
            }
        }
    }
    return OCELLI_OK;
}

/* neutral [tokens]: of the row behind the last of the visual's. */
static ocelli_status trace_neutral(look *l, double *neutral, ocelli_error *err)
{
    OC_TRY(run_rows(l, l->slots[l->slot_count - 1] + 1, 1, err));
    memcpy(neutral, l->maps, l->tokens * sizeof *neutral);
    return OCELLI_OK;
}

static ocelli_status trace(look *l, size_t length, float *map, ocelli_error *err)
{
    size_t floats, held = l->session->held.count;
    size_t layers = l->session->model->config.decoder.layers;
    size_t steps = (length + MOST_ROWS - 1) / MOST_ROWS + (l->options->relative != 0);
    if (!oc_attention_weights_scratch(&l->shape, held, &floats)) {
        return oc_fail(err, OCELLI_E_LIMIT, "a context of %zu tokens is too long", held);
    }
    l->total = (uint64_t)steps * layers;
    l->maps = oc_alloc_raw(l->tokens, MOST_ROWS * sizeof *l->maps);
    l->weights = oc_alloc_raw(held, sizeof *l->weights);
    l->scratch = oc_alloc_raw(floats, sizeof *l->scratch);
    double *sums = oc_alloc(l->tokens, 2 * sizeof *sums);
    double *neutral = l->options->relative && sums != NULL ? sums + l->tokens : NULL;
    ocelli_status status = OCELLI_OK;
    if (l->maps == NULL || l->weights == NULL || l->scratch == NULL || sums == NULL) {
        status = oc_fail_memory(err, "tracing an answer");
    }
    if (status == OCELLI_OK && neutral != NULL) {
        status = trace_neutral(l, neutral, err);
    }
    if (status == OCELLI_OK) {
        status = trace_answer(l, length, neutral, sums, map, err);
    }
    if (status == OCELLI_OK) {
        finish_map(map, sums, neutral, l->tokens);
    } else {
        memset(map, 0, l->tokens * sizeof *map);
    }
    oc_free(sums);
    return status;
}

ocelli_status ocelli_session_look(ocelli_session *session, const ocelli_visual *visual,
                                  const ocelli_look_options *given, float *map, ocelli_error *err)
{
    if (session == NULL || visual == NULL || map == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_session_look: session, visual and map are needed");
    }
    memset(map, 0, visual->tokens * sizeof *map);
    ocelli_look_options options = OCELLI_LOOK_OPTIONS_INIT;
    oc_options_read(&options, sizeof options, given);
    const oc_decoder_config *config = &session->model->config.decoder;
    size_t length = answer_length(session);
    if (length == 0 || session->kept + 1 < session->held.count) {
        return oc_fail(err, OCELLI_E_STATE,
                       "ocelli_session_look: there is no answer to look at; generate one first");
    }
    look l = {.session = session,
              .options = &options,
              .shape = {.heads = config->heads,
                        .kv_heads = config->kv_heads,
                        .head_dim = config->head_dim,
                        .scale = 1.0f / sqrtf((float)config->head_dim)},
              .tokens = visual->tokens};
    ocelli_status status = choose_layers(&l, err);
    if (status == OCELLI_OK) {
        status = find_slots(&l, visual, err);
    }
    if (status == OCELLI_OK) {
        status = trace(&l, length, map, err);
    }
    oc_free(l.slots);
    oc_free(l.places);
    oc_free(l.maps);
    oc_free(l.weights);
    oc_free(l.scratch);
    return status;
}
