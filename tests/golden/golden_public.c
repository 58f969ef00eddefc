/* golden_public.c - see golden_public.h. */
#include "tests/golden/golden_public.h"

#include "runtime/base/memory.h"
#include "tests/golden/golden_data.h"
#include "text/unicode.h"

#include <string.h>

static ocelli_status encode(ocelli_visual **out, ocelli_model *model, const golden_medium *medium,
                            ocelli_error *err)
{
    if (!medium->video) {
        return ocelli_encode_image(out, model, medium->frames[0], NULL, err);
    }
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    options.frames_per_second = medium->rate;
    return ocelli_encode_video(out, model, (const ocelli_image *const *)medium->frames,
                               medium->seconds, medium->count, &options, err);
}

static ocelli_status add_message(ocelli_session *session, const oc_chat_message *message,
                                 ocelli_visual *const *visuals, ocelli_error *err)
{
    ocelli_part *parts = oc_alloc(message->count, sizeof *parts);
    if (parts == NULL) {
        return oc_fail_memory(err, "parts");
    }
    for (size_t i = 0; i < message->count; i++) {
        const oc_chat_part *part = &message->parts[i];
        parts[i] = part->kind == OC_PART_TEXT ? (ocelli_part){.text = part->text}
                                              : (ocelli_part){.visual = visuals[part->media]};
    }
    ocelli_status status = ocelli_session_add(session, message->role, parts, message->count, err);
    oc_free(parts);
    return status;
}

/* Appends the well-formed characters of bytes: an answer never holds anything else. */
static ocelli_status append_characters(oc_buffer *out, const oc_buffer *bytes, ocelli_error *err)
{
    OC_TRY(oc_buffer_append(out, "", 0, err));
    for (size_t i = 0; i < bytes->length;) {
        size_t length = oc_utf8_length(bytes->data + i, bytes->length - i);
        OC_TRY(oc_buffer_append(out, bytes->data + i, length, err));
        i += length > 0 ? length : 1;
    }
    return OCELLI_OK;
}

/* What the answer must read: the recorded tokens up to the first that ends it. */
static ocelli_status expected_answer(oc_buffer *out, const ocelli_model *model, const cJSON *json,
                                     ocelli_error *err)
{
    size_t count;
    oc_buffer bytes = {0};
    int64_t *tokens = golden_integers(golden_get(json, "greedy_tokens"), &count);
    double eos = golden_number(json, "first_eos_index", (double)count);
    size_t end = eos < (double)count ? (size_t)eos : count;
    ocelli_status status = golden_decode(&bytes, model->bpe, tokens, end, true, err);
    if (status == OCELLI_OK) {
        status = append_characters(out, &bytes, err);
    }
    oc_buffer_close(&bytes);
    oc_free(tokens);
    return status;
}

static ocelli_status generate(report *r, ocelli_session *session, const ocelli_model *model,
                              const cJSON *json, ocelli_error *err)
{
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    ocelli_result result = {.struct_size = sizeof result};
    oc_buffer want = {0};
    options.max_tokens = (size_t)cJSON_GetArraySize(golden_get(json, "greedy_tokens"));
    options.stop_repetition = 0;
    OC_TRY(ocelli_session_generate(session, &options, NULL, NULL, &result, err));
    ocelli_status status = expected_answer(&want, model, json, err);
    if (status == OCELLI_OK) {
        const char *answer = ocelli_session_answer(session);
        report_bytes(r, "public answer", answer, strlen(answer), want.data, want.length);
        int64_t ours = (int64_t)result.prompt_tokens;
        int64_t recorded = cJSON_GetArraySize(golden_get(json, "input_ids"));
        report_integers(r, "public prompt_tokens", &ours, 1, &recorded, 1);
    }
    oc_buffer_close(&want);
    return status;
}

/* Rows of the public encode against those of the stages, which were compared with the recorded. */
static void compare_rows(report *r, const ocelli_visual *visual, const oc_medium *stages)
{
    size_t tokens, width;
    const float *rows = ocelli_visual_rows(visual, &tokens, &width);
    if (rows == NULL) {
        report_wrong(r, "public rows", "there are none");
        return;
    }
    report_floats(r, "public rows", rows, tokens * width, stages->rows,
                  oc_medium_tokens(stages) * stages->width, TOLERANCE_VISION);
}

ocelli_status golden_public_compare(report *r, ocelli_model *model, const cJSON *json,
                                    const golden_chat *chat, const golden_media *media,
                                    ocelli_error *err)
{
    ocelli_session *session = NULL;
    ocelli_session_options options = OCELLI_SESSION_OPTIONS_INIT;
    ocelli_visual **visuals = oc_alloc(media->count, sizeof(ocelli_visual *));
    ocelli_status status = visuals != NULL ? OCELLI_OK : oc_fail_memory(err, "visuals");
    options.special_tokens_in_text = 1;
    for (size_t i = 0; i < media->count && status == OCELLI_OK; i++) {
        status = encode(&visuals[i], model, &media->media[i], err);
        if (status == OCELLI_OK) {
            compare_rows(r, visuals[i], &media->views[i]);
        }
    }
    if (status == OCELLI_OK) {
        status = ocelli_session_open(&session, model, &options, err);
    }
    for (size_t i = 0; i < chat->count && status == OCELLI_OK; i++) {
        status = add_message(session, &chat->messages[i], visuals, err);
    }
    if (status == OCELLI_OK) {
        status = generate(r, session, model, json, err);
    }
    ocelli_session_close(session);
    for (size_t i = 0; visuals != NULL && i < media->count; i++) {
        ocelli_visual_free(visuals[i]);
    }
    oc_free(visuals);
    return status;
}
