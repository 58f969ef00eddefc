/* golden_case.c - cases/<id>/case.json: a conversation from media files to greedy tokens, every
 * recorded stage compared with ours. Nothing recorded is fed back in, with one exception: a case
 * with JPEG files is run once more from the recorded pixels, since decoders differ by a level. */
#include "tests/golden/golden_case.h"
#include "tests/golden/golden_data.h"
#include "tests/golden/golden_public.h"
#include "tests/golden/golden_sections.h"
#include "tests/golden/golden_trace.h"

#include "runtime/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void name_array(char name[64], const golden_running *c, const char *array)
{
    snprintf(name, 64, "%s%s", c->prefix, array);
}

bool golden_read_recorded(const golden_running *c, const char *array, npy *out)
{
    char file[128], path[GOLDEN_PATH];
    ocelli_error err = {0};
    snprintf(file, sizeof file, "%s.npy", array);
    *out = (npy){0};
    if (!golden_path(path, c->folder, file)) {
        return false;
    }
    ocelli_status status = npy_read(out, path, &err);
    if (status != OCELLI_OK && golden_get(golden_get(c->json, "files"), file) != NULL) {
        report_wrong(c->r, array, "%s", err.message);
    }
    return status == OCELLI_OK;
}

void golden_compare(const golden_running *c, const char *array, const float *ours, size_t count,
                    double tolerance)
{
    npy want;
    char name[64];
    if (golden_read_recorded(c, array, &want)) {
        name_array(name, c, array);
        report_floats(c->r, name, ours, count, want.floats, want.count, tolerance);
        npy_close(&want);
    }
}

void golden_compare_integers(const golden_running *c, const char *array, const int64_t *ours,
                             size_t count)
{
    npy want;
    if (golden_read_recorded(c, array, &want)) {
        report_integers(c->r, array, ours, count, want.integers, want.count);
        npy_close(&want);
    }
}

/* Against a list of case.json, or a lone number of it. */
static void compare_list(const golden_running *c, const char *key, const int64_t *ours,
                         size_t count)
{
    const cJSON *recorded = golden_get(c->json, key);
    if (cJSON_IsNumber(recorded)) {
        int64_t want = (int64_t)recorded->valuedouble;
        report_integers(c->r, key, ours, count, &want, 1);
    } else if (cJSON_IsArray(recorded)) {
        size_t want_count;
        int64_t *want = golden_integers(recorded, &want_count);
        report_integers(c->r, key, ours, count, want, want_count);
        oc_free(want);
    }
}

double golden_vision_tolerance(const golden_running *c, double exact)
{
    return c->jpeg ? TOLERANCE_VISION_JPEG : exact;
}

/* What the decoder computes is told, not judged, when its weights are not float32. */
static double decoder_tolerance(const golden_running *c, double exact, double jpeg)
{
    return !c->judged ? INFINITY : c->jpeg ? jpeg : exact;
}

/* ---- traces ---------------------------------------------------------------------------------- */

static void compare_traces(const golden_running *c, golden_traces *all, double tolerance)
{
    for (size_t i = 0; i < all->count; i++) {
        char array[64];
        snprintf(array, sizeof array, "trace_%s", all->list[i].name);
        golden_compare(c, array, all->list[i].rows, all->list[i].count, tolerance);
    }
    if (all->failed) {
        report_wrong(c->r, "trace", "more stages or memory than expected");
    }
    golden_traces_close(all);
}

/* ---- media ----------------------------------------------------------------------------------- */

static ocelli_status encode_media(golden_running *c, const npy *const recorded[2],
                                  ocelli_error *err)
{
    golden_traces all = {0};
    const oc_trace trace = {.fn = golden_traces_keep, .user = &all};
    ocelli_status status = golden_media_encode(&c->media, c->model, recorded, &trace, err);
    compare_traces(c, &all, golden_vision_tolerance(c, TOLERANCE_VISION));
    if (status == OCELLI_OK) {
        golden_compare_vision(c);
    }
    return status;
}

/* ---- prompt ---------------------------------------------------------------------------------- */

static ocelli_status render(golden_running *c, ocelli_error *err)
{
    oc_buffer text = {0};
    size_t length;
    const cJSON *recorded = golden_get(c->json, "prompt");
    OC_TRY(golden_chat_render(&c->items, &c->chat, c->model->config.family->chat, NULL, err));
    OC_TRY(golden_chat_text(&text, &c->items, err));
    if (recorded != NULL) {
        char *want = golden_text(recorded, &length);
        report_bytes(c->r, "prompt", text.data, text.length, want, length);
        oc_free(want);
    }
    oc_buffer_close(&text);
    return OCELLI_OK;
}

static ocelli_status compare_prompt(golden_running *c, ocelli_error *err)
{
    const oc_fused *fused = &c->fused;
    size_t n = fused->count;
    int64_t *list = oc_alloc(n, 3 * sizeof *list);
    if (list == NULL) {
        return oc_fail_memory(err, "ids");
    }
    for (size_t i = 0; i < n; i++) {
        list[i] = fused->ids.ids[i];
    }
    compare_list(c, "input_ids", list, n);
    for (size_t i = 0; i < n; i++) {
        list[i] = fused->medium[i] < 0 ? 0 : fused->media[fused->medium[i]].video ? 2 : 1;
    }
    compare_list(c, "mm_token_type_ids", list, n);
    for (size_t i = 0; i < 3 * n; i++) {
        list[i] = fused->positions[i % n][i / n];
    }
    golden_compare_integers(c, "position_ids", list, 3 * n);
    list[0] = fused->next_position - (int64_t)n;
    compare_list(c, "rope_delta", list, 1);
    oc_free(list);
    return OCELLI_OK;
}

static ocelli_status compare_embeds(golden_running *c, float *fused_rows, ocelli_error *err)
{
    size_t n = c->fused.count, hidden = c->model->config.decoder.hidden;
    float *rows = oc_alloc(n * hidden, sizeof *rows);
    if (rows == NULL) {
        return oc_fail_memory(err, "rows");
    }
    ocelli_status status = oc_embed_table_gather(c->model->table, c->fused.ids.ids, n, rows, err);
    if (status == OCELLI_OK) {
        golden_compare(c, "embeds_text", rows, n * hidden, 0);
        golden_compare(c, "embeds_fused", fused_rows, n * hidden,
                       golden_vision_tolerance(c, TOLERANCE_FUSED));
    }
    oc_free(rows);
    return status;
}

/* ---- decoder --------------------------------------------------------------------------------- */

/* Runs rows through the decoder with fresh scratch. */
static ocelli_status forward(const golden_running *c, const oc_row *rows, size_t count, size_t taps,
                             const oc_decoder_trace *trace, ocelli_error *err)
{
    oc_arena arena = {0};
    size_t bytes;
    if (!oc_decoder_scratch(c->model->decoder, &c->model->compute, count, 1, &bytes)) {
        return oc_fail_memory(err, "the decoder");
    }
    OC_TRY(oc_arena_reserve(&arena, bytes, "the decoder", err));
    ocelli_status status = oc_decoder_forward(c->model->decoder, &c->model->compute, &arena, rows,
                                              count, taps, trace, err);
    oc_arena_close(&arena);
    return status;
}

static ocelli_status prefill(golden_running *c, oc_kv_cache *cache, float *logits,
                             ocelli_error *err)
{
    size_t n = c->fused.count, hidden = c->model->config.decoder.hidden;
    golden_traces all = {0};
    const oc_decoder_trace trace = {.fn = golden_traces_keep, .user = &all};
    oc_row *rows = oc_alloc(n, sizeof *rows);
    float *inputs = oc_alloc(n * hidden, sizeof *inputs);
    ocelli_status status = OCELLI_OK;
    if (rows == NULL || inputs == NULL) {
        status = oc_fail_memory(err, "rows");
    }
    if (status == OCELLI_OK) {
        status = oc_fused_rows(inputs, &c->fused, c->model->table, 0, n, err);
    }
    if (status == OCELLI_OK) {
        status = compare_embeds(c, inputs, err);
    }
    for (size_t i = 0; i < n && status == OCELLI_OK; i++) {
        rows[i] = (oc_row){.cache = cache, .slot = i, .input = inputs + i * hidden};
        memcpy(rows[i].position, c->fused.positions[i], sizeof rows[i].position);
        rows[i].taps = oc_fused_taps(&c->fused, i, &rows[i].tap_stride);
        rows[i].logits = i + 1 == n ? logits : NULL;
    }
    if (status == OCELLI_OK) {
        status = forward(c, rows, n, oc_fused_tap_count(&c->fused), &trace, err);
    }
    compare_traces(c, &all, decoder_tolerance(c, TOLERANCE_TRACE_LAYER, TOLERANCE_LOGITS_JPEG));
    oc_free(inputs);
    oc_free(rows);
    return status;
}

static ocelli_status step(golden_running *c, oc_kv_cache *cache, int32_t id, size_t index,
                          float *logits, ocelli_error *err)
{
    float *input = oc_alloc(c->model->config.decoder.hidden, sizeof *input);
    if (input == NULL) {
        return oc_fail_memory(err, "a row");
    }
    int32_t position = c->fused.next_position + (int32_t)index;
    const oc_row row = {.cache = cache,
                        .slot = c->fused.count + index,
                        .position = {position, position, position},
                        .input = input,
                        .logits = logits};
    ocelli_status status = oc_embed_table_gather(c->model->table, &id, 1, input, err);
    if (status == OCELLI_OK) {
        status = forward(c, &row, 1, 0, NULL, err);
    }
    oc_free(input);
    return status;
}

static int64_t largest(const float *logits, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return (int64_t)best;
}

static void compare_top(const golden_running *c, const float *logits, size_t vocab)
{
    size_t count;
    int64_t *ids = golden_integers(golden_get(c->json, "top5_ids"), &count);
    const cJSON *values = golden_get(c->json, "top5_logits");
    double tolerance = decoder_tolerance(c, TOLERANCE_LOGITS, TOLERANCE_LOGITS_JPEG);
    char name[64];
    name_array(name, c, "top5_logits");
    for (size_t i = 0; i < count; i++) {
        float want = (float)cJSON_GetNumberValue(cJSON_GetArrayItem(values, (int)i));
        if (ids[i] < 0 || (size_t)ids[i] >= vocab) {
            report_wrong(c->r, name, "id %d is not in the vocabulary", (int)ids[i]);
        } else {
            report_floats(c->r, name, &logits[ids[i]], 1, &want, 1, tolerance);
        }
    }
    oc_free(ids);
}

/* The bytes of our greedy tokens, and where a run that stops would stop. */
static void compare_greedy(const golden_running *c, const int64_t *greedy, size_t count)
{
    static const char *const keys[] = {"greedy_bytes_hex", "greedy_bytes_hex_skip_special"};
    compare_list(c, "greedy_tokens", greedy, count);
    for (size_t i = 0; i < 2; i++) {
        oc_buffer bytes = {0};
        ocelli_error err = {0};
        size_t length;
        if (golden_get(c->json, keys[i]) == NULL) {
            continue;
        }
        unsigned char *want = golden_hex(golden_get(c->json, keys[i]), &length);
        if (golden_decode(&bytes, c->model->bpe, greedy, count, i == 1, &err) != OCELLI_OK) {
            report_wrong(c->r, keys[i], "%s", err.message);
        } else {
            report_bytes(c->r, keys[i], bytes.data, bytes.length, want, length);
        }
        oc_free(want);
        oc_buffer_close(&bytes);
    }
    if (cJSON_HasObjectItem(c->json, "first_eos_index")) {
        int64_t want = (int64_t)golden_number(c->json, "first_eos_index", -1), ours = -1;
        for (size_t i = 0; i < count && ours < 0; i++) {
            for (size_t j = 0; j < c->model->config.eos_count; j++) {
                ours = greedy[i] == c->model->config.eos[j] ? (int64_t)i : ours;
            }
        }
        report_integers(c->r, "first_eos_index", &ours, 1, &want, 1);
    }
}

/* Prefill, then one step per recorded token, each fed the recorded token before it. */
static ocelli_status decode(golden_running *c, ocelli_error *err)
{
    size_t vocab = c->model->config.decoder.vocab, steps;
    int64_t *tokens = golden_integers(golden_get(c->json, "greedy_tokens"), &steps);
    size_t rows = steps > 0 ? steps : 1;
    const oc_kv_shape shape = oc_model_kv_shape(c->model);
    oc_kv_cache cache;
    oc_kv_open(&cache, &shape);
    float *logits = oc_alloc(rows * vocab, sizeof *logits);
    int64_t *greedy = oc_alloc(rows, sizeof *greedy);
    ocelli_status status = logits == NULL || greedy == NULL
                               ? oc_fail_memory(err, "logits")
                               : oc_kv_reserve(&cache, c->fused.count + rows, err);
    if (status == OCELLI_OK) {
        status = prefill(c, &cache, logits, err);
    }
    for (size_t i = 1; i < steps && status == OCELLI_OK; i++) {
        status = step(c, &cache, (int32_t)tokens[i - 1], i - 1, logits + i * vocab, err);
    }
    if (status == OCELLI_OK) {
        double tolerance = decoder_tolerance(c, TOLERANCE_LOGITS, TOLERANCE_LOGITS_JPEG);
        golden_compare(c, "logits_last", logits, vocab, tolerance);
        golden_compare(c, "step_logits", logits, steps * vocab, tolerance);
        compare_top(c, logits, vocab);
        for (size_t i = 0; i < steps; i++) {
            greedy[i] = largest(logits + i * vocab, vocab);
        }
        if (c->judged && steps > 0) {
            compare_greedy(c, greedy, steps);
        }
    }
    oc_kv_close(&cache);
    oc_free(greedy);
    oc_free(logits);
    oc_free(tokens);
    return status;
}

/* ---- one case -------------------------------------------------------------------------------- */

static ocelli_status fuse_and_decode(golden_running *c, ocelli_error *err)
{
    OC_TRY(oc_fuse(&c->fused, c->model->bpe, &c->items, &c->model->config.pads, c->media.views,
                   c->media.count, err));
    OC_TRY(compare_prompt(c, err));
    return decode(c, err);
}

/* From the recorded pixels on, at the tolerances of lossless files. */
static ocelli_status run_from_recorded_pixels(golden_running *c, ocelli_error *err)
{
    npy images, videos;
    bool has_images = golden_read_recorded(c, "pixel_values", &images);
    bool has_videos = golden_read_recorded(c, "pixel_values_videos", &videos);
    const npy *const recorded[2] = {has_images ? &images : NULL, has_videos ? &videos : NULL};
    oc_fused_close(&c->fused);
    c->jpeg = false;
    c->prefix = "fed: ";
    ocelli_status status = encode_media(c, recorded, err);
    if (status == OCELLI_OK) {
        status = fuse_and_decode(c, err);
    }
    npy_close(&images);
    npy_close(&videos);
    return status;
}

static ocelli_status run_stages(golden_running *c, const char *directory, ocelli_error *err)
{
    static const npy *const nothing_recorded[2];
    OC_TRY(
        golden_media_load(&c->media, c->model, c->chat.media, c->chat.media_count, directory, err));
    c->jpeg = c->media.jpeg;
    golden_compare_media(c);
    OC_TRY(encode_media(c, nothing_recorded, err));
    OC_TRY(render(c, err));
    OC_TRY(fuse_and_decode(c, err));
    if (c->judged) {
        OC_TRY(golden_public_compare(c->r, c->model, c->json, &c->chat, &c->media, err));
    }
    return c->media.jpeg ? run_from_recorded_pixels(c, err) : OCELLI_OK;
}

/* A recorded stage that nobody compared would pass by being forgotten. */
static void find_forgotten(const golden_running *c)
{
    golden_names names = {0};
    if (golden_list(&names, c->folder, NULL) != OCELLI_OK) {
        return;
    }
    for (size_t i = 0; i < names.count; i++) {
        char *name = names.names[i];
        size_t length = strlen(name);
        if (length < 5 || strcmp(name + length - 4, ".npy") != 0) {
            continue;
        }
        name[length - 4] = '\0';
        if (report_knows(c->r, name)) {
            continue;
        }
        if (strncmp(name, "trace_", 6) == 0) {
            report_wrong(c->r, name, "recorded, but no stage of ours has this name");
        } else {
            report_note(c->r, "%s is recorded, but not a kind that is known", name);
        }
    }
    golden_names_close(&names);
}

static void run_case(golden_running *c, const char *directory)
{
    ocelli_error err = {0};
    const char *beyond = golden_chat_read(&c->chat, golden_get(c->json, "messages"));
    if (beyond != NULL) {
        report_skip(c->r, "%s: not a kind of case that is known", beyond);
        return;
    }
    if (run_stages(c, directory, &err) != OCELLI_OK) {
        report_wrong(c->r, "run", "%s", err.message);
    }
    find_forgotten(c);
    report_end(c->r);
    oc_fused_close(&c->fused);
    oc_chat_items_close(&c->items);
    golden_media_close(&c->media);
    golden_chat_close(&c->chat);
}

/* ---- the section ----------------------------------------------------------------------------- */

/* The model of the last case, kept open for the next. */
typedef struct kept_model {
    char name[256];
    ocelli_model *model;
} kept_model;

static ocelli_status open_model(kept_model *kept, const char *directory, const char *name,
                                ocelli_quant quant, ocelli_error *err)
{
    char models[GOLDEN_PATH], path[GOLDEN_PATH];
    if (kept->model != NULL && strcmp(kept->name, name) == 0) {
        return OCELLI_OK;
    }
    ocelli_model_close(kept->model);
    *kept = (kept_model){0};
    if (!golden_path(models, directory, "models") || !golden_path(path, models, name)) {
        return oc_fail(err, OCELLI_E_IO, "%s: the path is too long", name);
    }
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.quant = quant;
    OC_TRY(ocelli_model_open(&kept->model, path, &options, err));
    snprintf(kept->name, sizeof kept->name, "%s", name);
    return OCELLI_OK;
}

static void run_folder(report *r, kept_model *kept, const char *directory, const char *folder,
                       ocelli_quant quant)
{
    char path[GOLDEN_PATH];
    cJSON *json = NULL;
    ocelli_error err = {0};
    if (!golden_path(path, folder, "case.json") || golden_json(&json, path, &err) != OCELLI_OK) {
        report_skip(r, "no case.json that can be read: %s", err.message);
        return;
    }
    const char *model = golden_string(json, "model");
    if (model == NULL) {
        report_skip(r, "names no model: not a kind of case that is known");
    } else {
        ocelli_status status = open_model(kept, directory, model, quant, &err);
        if (status == OCELLI_E_UNSUPPORTED) {
            report_skip(r, "%s", err.message);
        } else if (status != OCELLI_OK) {
            report_wrong(r, "model", "%s", err.message);
            report_end(r);
        } else {
            golden_running c = {.r = r,
                                .model = kept->model,
                                .json = json,
                                .folder = folder,
                                .judged = quant == OCELLI_QUANT_F32,
                                .prefix = ""};
            run_case(&c, directory);
        }
    }
    cJSON_Delete(json);
}

void golden_run_cases(report *r, const char *directory, ocelli_quant quant)
{
    char cases[GOLDEN_PATH], folder[GOLDEN_PATH];
    golden_names names = {0};
    kept_model kept = {0};
    if (!golden_path(cases, directory, "cases") || golden_list(&names, cases, NULL) != OCELLI_OK) {
        return;
    }
    for (size_t i = 0; i < names.count; i++) {
        if (golden_path(folder, cases, names.names[i]) &&
            report_begin(r, "cases", names.names[i])) {
            run_folder(r, &kept, directory, folder, quant);
        }
    }
    ocelli_model_close(kept.model);
    golden_names_close(&names);
}
