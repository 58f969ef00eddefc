/* golden_gguf.c - runs of llama.cpp's files and their blocks: runs/<id>.json, blocks/index.json.
 *
 * A run is a prompt with raw pictures, whose size needs no resizing, on a text model and its vision
 * file (or on a checkpoint of the same form). The target is what weights widened exactly to float32
 * give, everything computed in float32: two rows of logits and the greedy tokens. */
#include "tests/golden/golden_gguf.h"

#include "fusion/fuse.h"
#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/visual.h"
#include "tests/golden/golden_data.h"
#include "tests/golden/npy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_IMAGES = 4 };

/* ---- models ---------------------------------------------------------------------------------- */

/* The model of the last run, kept open for the next. */
typedef struct kept {
    char name[512];
    ocelli_model *model;
} kept;

static ocelli_status open_model(kept *k, const char *directory, const cJSON *json,
                                ocelli_quant quant, ocelli_error *err)
{
    const char *text = golden_string(json, "text_model"), *vision = golden_string(json, "mmproj");
    const char *model = text != NULL ? text : golden_string(json, "hf_model");
    char name[512], path[GOLDEN_PATH], mmproj[GOLDEN_PATH];
    snprintf(name, sizeof name, "%s %s", model, vision != NULL ? vision : "");
    if (k->model != NULL && strcmp(k->name, name) == 0) {
        return OCELLI_OK;
    }
    ocelli_model_close(k->model);
    *k = (kept){0};
    if (!golden_path(path, directory, model) ||
        (vision != NULL && !golden_path(mmproj, directory, vision))) {
        return oc_fail(err, OCELLI_E_IO, "%s: the path is too long", model);
    }
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.quant = quant;
    options.mmproj = vision != NULL ? mmproj : NULL;
    OC_TRY(ocelli_model_open(&k->model, path, &options, err));
    memcpy(k->name, name, sizeof name);
    return OCELLI_OK;
}

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct running {
    report *r;
    ocelli_model *model;
    const cJSON *json;
    const char *directory;
    ocelli_visual *visuals[MOST_IMAGES];
    size_t count;
    oc_chat_items items;
    oc_fused fused;
    bool judged;
} running;

static ocelli_status encode_one(running *c, const cJSON *entry, ocelli_error *err)
{
    char path[GOLDEN_PATH];
    char *bytes;
    size_t size;
    const char *file = golden_string(entry, "file");
    int width = (int)golden_number(entry, "width", 0);
    int height = (int)golden_number(entry, "height", 0);
    if (file == NULL || c->count == MOST_IMAGES || !golden_path(path, c->directory, file)) {
        return oc_fail(err, OCELLI_E_FORMAT, "a picture without a file, or one too many");
    }
    OC_TRY(oc_file_read(&bytes, &size, path, (size_t)1 << 24, err));
    ocelli_image *image = NULL;
    ocelli_status status =
        size == (size_t)width * (size_t)height * 3
            ? ocelli_image_from_rgb(&image, (const uint8_t *)bytes, width, height,
                                    (size_t)width * 3, err)
            : oc_fail(err, OCELLI_E_FORMAT, "%s: %zu bytes for %d x %d", path, size, width, height);
    if (status == OCELLI_OK) {
        ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
        options.min_pixels = 1; /* as it is */
        status = ocelli_encode_image(&c->visuals[c->count], c->model, image, &options, err);
    }
    c->count += status == OCELLI_OK;
    ocelli_image_free(image);
    oc_free(bytes);
    return status;
}

/* The prompt's text, a picture where its marks stand. */
static ocelli_status split_prompt(running *c, ocelli_error *err)
{
    static const char marks[] = "<|vision_start|><|image_pad|><|vision_end|>";
    const char *at = golden_string(c->json, "prompt");
    size_t media = 0;
    if (at == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT, "the run has no prompt");
    }
    for (const char *mark; (mark = strstr(at, marks)) != NULL; at = mark + sizeof marks - 1) {
        OC_TRY(oc_chat_items_text(&c->items, at, (size_t)(mark - at), true, err));
        OC_TRY(oc_chat_items_media(&c->items, false, media++, err));
    }
    return oc_chat_items_text(&c->items, at, strlen(at), true, err);
}

static ocelli_status fuse(running *c, ocelli_error *err)
{
    oc_medium media[MOST_IMAGES];
    for (size_t i = 0; i < c->count; i++) {
        media[i] = c->visuals[i]->medium;
    }
    OC_TRY(
        oc_fuse(&c->fused, c->model->bpe, &c->items, &c->model->config.pads, media, c->count, err));
    size_t want_count;
    int64_t *want = golden_integers(golden_get(c->json, "token_ids"), &want_count);
    int64_t *ours = oc_alloc(c->fused.count, sizeof *ours);
    for (size_t i = 0; ours != NULL && i < c->fused.count; i++) {
        ours[i] = c->fused.ids.ids[i];
    }
    report_integers(c->r, "token_ids", ours, ours != NULL ? c->fused.count : 0, want, want_count);
    int64_t next = c->fused.next_position;
    int64_t want_next = (int64_t)golden_number(c->json, "next_position", -1);
    report_integers(c->r, "next_position", &next, 1, &want_next, 1);
    oc_free(ours);
    oc_free(want);
    return OCELLI_OK;
}

/* Runs rows through the decoder with fresh scratch. */
static ocelli_status forward(const running *c, const oc_row *rows, size_t count, size_t taps,
                             ocelli_error *err)
{
    oc_arena arena = {0};
    size_t bytes;
    if (!oc_decoder_scratch(c->model->decoder, &c->model->compute, count, 1, &bytes)) {
        return oc_fail_memory(err, "the decoder");
    }
    OC_TRY(oc_arena_reserve(&arena, bytes, "the decoder", err));
    ocelli_status status = oc_decoder_forward(c->model->decoder, &c->model->compute, &arena, rows,
                                              count, taps, NULL, err);
    oc_arena_close(&arena);
    return status;
}

/* Tokens [begin, end) of the prompt and what was pushed onto it; logits [vocab] of the last. */
static ocelli_status compute(running *c, oc_kv_cache *cache, size_t begin, float *logits,
                             ocelli_error *err)
{
    size_t count = c->fused.count - begin, hidden = c->model->config.decoder.hidden;
    oc_row *rows = oc_alloc(count, sizeof *rows);
    float *inputs = oc_alloc(count * hidden, sizeof *inputs);
    ocelli_status status =
        rows == NULL || inputs == NULL
            ? oc_fail_memory(err, "rows")
            : oc_fused_rows(inputs, &c->fused, c->model->table, begin, c->fused.count, err);
    for (size_t i = 0; i < count && status == OCELLI_OK; i++) {
        rows[i] = (oc_row){.cache = cache, .slot = begin + i, .input = inputs + i * hidden};
        memcpy(rows[i].position, c->fused.positions[begin + i], sizeof rows[i].position);
        rows[i].taps = oc_fused_taps(&c->fused, begin + i, &rows[i].tap_stride);
        rows[i].logits = i + 1 == count ? logits : NULL;
    }
    if (status == OCELLI_OK) {
        status = forward(c, rows, count, begin == 0 ? oc_fused_tap_count(&c->fused) : 0, err);
    }
    oc_free(inputs);
    oc_free(rows);
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

/* Our own greedy tokens, one after another. */
static ocelli_status decode(running *c, const cJSON *reference, ocelli_error *err)
{
    size_t vocab = c->model->config.decoder.vocab, steps;
    int64_t *want = golden_integers(golden_get(reference, "greedy"), &steps);
    const oc_kv_shape shape = oc_model_kv_shape(c->model);
    oc_kv_cache cache;
    oc_kv_open(&cache, &shape);
    float *logits = oc_alloc(steps + 1, vocab * sizeof *logits);
    int64_t *greedy = oc_alloc(steps + 1, sizeof *greedy);
    ocelli_status status = logits == NULL || greedy == NULL
                               ? oc_fail_memory(err, "logits")
                               : oc_kv_reserve(&cache, c->fused.count + steps, err);
    for (size_t i = 0, begin = 0; i < steps && status == OCELLI_OK; i++) {
        size_t end = c->fused.count;
        status = compute(c, &cache, begin, logits + i * vocab, err);
        greedy[i] = largest(logits + i * vocab, vocab);
        begin = end;
        if (status == OCELLI_OK) {
            status = oc_fused_push(&c->fused, (int32_t)greedy[i], err);
        }
    }
    if (status == OCELLI_OK) {
        char path[GOLDEN_PATH];
        npy recorded = {0};
        const char *file = golden_string(reference, "logits");
        status = file != NULL && golden_path(path, c->directory, file)
                     ? npy_read(&recorded, path, err)
                     : oc_fail(err, OCELLI_E_FORMAT, "no logits are recorded");
        if (status == OCELLI_OK) {
            report_floats(c->r, "logits", logits, 2 * vocab, recorded.floats, recorded.count,
                          c->judged ? TOLERANCE_GGUF_LOGITS : INFINITY);
        }
        if (c->judged) {
            report_integers(c->r, "greedy", greedy, steps, want, steps);
        }
        npy_close(&recorded);
    }
    oc_kv_close(&cache);
    oc_free(greedy);
    oc_free(logits);
    oc_free(want);
    return status;
}

static ocelli_status run_one(running *c, ocelli_error *err)
{
    const cJSON *reference = golden_get(c->json, "float32_reference");
    const cJSON *image = golden_get(c->json, "images");
    for (image = image != NULL ? image->child : NULL; image != NULL; image = image->next) {
        OC_TRY(encode_one(c, image, err));
    }
    OC_TRY(split_prompt(c, err));
    OC_TRY(fuse(c, err));
    return decode(c, reference, err);
}

/* ---- tokenisations --------------------------------------------------------------------------- */

static void compare_ids(report *r, const oc_bpe *bpe, const cJSON *entry, size_t index)
{
    char name[64];
    oc_ids ids = {0};
    ocelli_error err = {0};
    size_t length, count;
    char *text = golden_text(golden_get(entry, "text"), &length);
    int64_t *want = golden_integers(golden_get(entry, "reference"), &count);
    const oc_text_run run = {.text = text, .length = length, .special = true};
    snprintf(name, sizeof name, "text %zu", index);
    if (oc_bpe_encode(bpe, &run, 1, &ids, &err) != OCELLI_OK) {
        report_wrong(r, name, "%s", err.message);
    } else {
        int64_t *ours = oc_alloc(ids.count, sizeof *ours);
        for (size_t i = 0; ours != NULL && i < ids.count; i++) {
            ours[i] = ids.ids[i];
        }
        report_integers(r, name, ours, ours != NULL ? ids.count : 0, want, count);
        oc_free(ours);
    }
    oc_ids_close(&ids);
    oc_free(want);
    oc_free(text);
}

static void run_tokenisation(report *r, const char *directory, const cJSON *json)
{
    char path[GOLDEN_PATH];
    ocelli_error err = {0};
    ocelli_model *model = NULL;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.plan_only = 1;
    if (!golden_path(path, directory, golden_string(json, "gguf")) ||
        ocelli_model_open(&model, path, &options, &err) != OCELLI_OK) {
        report_wrong(r, "model", "%s", err.message);
        return;
    }
    size_t index = 0;
    const cJSON *entry = golden_get(json, "cases");
    for (entry = entry != NULL ? entry->child : NULL; entry != NULL; entry = entry->next) {
        compare_ids(r, model->bpe, entry, index++);
    }
    if (index == 0) {
        report_wrong(r, "cases", "there are none");
    }
    ocelli_model_close(model);
}

/* ---- the sections ---------------------------------------------------------------------------- */

static void run_file(report *r, kept *k, const char *directory, const char *path,
                     ocelli_quant quant)
{
    cJSON *json = NULL;
    ocelli_error err = {0};
    if (golden_json(&json, path, &err) != OCELLI_OK) {
        report_skip(r, "cannot be read: %s", err.message);
        return;
    }
    if (golden_string(json, "gguf") != NULL) {
        run_tokenisation(r, directory, json);
        report_end(r);
    } else if (golden_get(json, "float32_reference") == NULL) {
        report_skip(r, "not a kind of run that is known");
    } else {
        ocelli_status status = open_model(k, directory, json, quant, &err);
        if (status == OCELLI_OK) {
            running c = {.r = r,
                         .model = k->model,
                         .json = json,
                         .directory = directory,
                         .judged = quant == OCELLI_QUANT_F32};
            status = run_one(&c, &err);
            oc_fused_close(&c.fused);
            oc_chat_items_close(&c.items);
            for (size_t i = 0; i < c.count; i++) {
                ocelli_visual_free(c.visuals[i]);
            }
        }
        if (status != OCELLI_OK) {
            report_wrong(r, "run", "%s", err.message);
        }
        report_end(r);
    }
    cJSON_Delete(json);
}

void golden_run_gguf(report *r, const char *directory, ocelli_quant quant)
{
    char folder[GOLDEN_PATH], path[GOLDEN_PATH];
    golden_names names = {0};
    kept k = {0};
    if (!golden_path(folder, directory, "runs") || golden_list(&names, folder, NULL) != OCELLI_OK) {
        return;
    }
    for (size_t i = 0; i < names.count; i++) {
        size_t length = strlen(names.names[i]);
        /* list.json names the others. */
        if (length <= 5 || strcmp(names.names[i] + length - 5, ".json") != 0 ||
            strcmp(names.names[i], "list.json") == 0 ||
            !golden_path(path, folder, names.names[i])) {
            continue;
        }
        names.names[i][length - 5] = '\0';
        if (report_begin(r, "runs", names.names[i])) {
            run_file(r, &k, directory, path, quant);
        }
    }
    ocelli_model_close(k.model);
    golden_names_close(&names);
}

static const struct {
    const char *name;
    oc_dtype dtype;
} block_types[] = {
    {"f32", OC_F32},   {"f16", OC_F16},       {"bf16", OC_BF16},     {"q8_0", OC_Q8_0},
    {"q4_0", OC_Q4_0}, {"q4_1", OC_Q4_1},     {"q5_0", OC_Q5_0},     {"q5_1", OC_Q5_1},
    {"q2_K", OC_Q2_K}, {"q3_K", OC_Q3_K},     {"q4_K", OC_Q4_K},     {"q5_K", OC_Q5_K},
    {"q6_K", OC_Q6_K}, {"iq4_nl", OC_IQ4_NL}, {"iq4_xs", OC_IQ4_XS},
};

/* Of a NaN only that it is one is told by its bits. */
static void unify_nans(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = isnan(values[i]) ? NAN : values[i];
    }
}

/* The file of codes against the file of floats, as one row and once more in odd pieces. */
static void compare_blocks(report *r, const char *folder, const char *codes, const char *floats,
                           oc_dtype dtype)
{
    char codes_path[GOLDEN_PATH], floats_path[GOLDEN_PATH];
    ocelli_error err = {0};
    char *bytes = NULL, *want = NULL;
    size_t size, want_size, expected;
    if (!golden_path(codes_path, folder, codes) || !golden_path(floats_path, folder, floats) ||
        oc_file_read(&bytes, &size, codes_path, (size_t)1 << 24, &err) != OCELLI_OK ||
        oc_file_read(&want, &want_size, floats_path, (size_t)1 << 24, &err) != OCELLI_OK) {
        report_wrong(r, codes, "%s", err.message);
        oc_free(bytes);
        return;
    }
    size_t count = want_size / sizeof(float);
    float *values = oc_alloc(2 * count, sizeof *values); /* what was recorded, then ours */
    if (!oc_dtype_bytes(dtype, count, &expected) || expected != size || count == 0 ||
        values == NULL) {
        report_wrong(r, codes, "%zu bytes for %zu values", size, count);
    } else {
        const oc_tensor tensor = {.data = bytes, .bytes = size, .dtype = dtype};
        float *ours = values + count;
        memcpy(values, want, count * sizeof *values);
        unify_nans(values, count);
        oc_tensor_widen(&tensor, 0, count, ours);
        unify_nans(ours, count);
        report_bytes(r, codes, ours, count * sizeof *ours, values, count * sizeof *ours);
        memset(ours, 0, count * sizeof *ours);
        for (size_t at = 0, piece = 1; at < count; at += piece, piece = piece * 3 % 257) {
            piece = piece < count - at ? piece : count - at;
            oc_tensor_widen(&tensor, at, piece, ours + at);
        }
        unify_nans(ours, count);
        report_bytes(r, codes, ours, count * sizeof *ours, values, count * sizeof *ours);
    }
    oc_free(values);
    oc_free(want);
    oc_free(bytes);
}

static void run_type(report *r, const char *folder, const cJSON *type)
{
    const char *codes = golden_string(type, "random_codes");
    for (size_t i = 0; i < sizeof block_types / sizeof *block_types; i++) {
        oc_dtype dtype = block_types[i].dtype;
        if (strcmp(block_types[i].name, type->string) != 0) {
            continue;
        }
        if (oc_dtype_size(dtype) != (size_t)golden_number(type, "block_bytes", 0) ||
            oc_dtype_block(dtype) != (size_t)golden_number(type, "block_values", 0)) {
            report_wrong(r, "block", "its size is another");
        }
        compare_blocks(r, folder, golden_string(type, "quantised"),
                       golden_string(type, "dequantised"), dtype);
        if (codes != NULL) {
            compare_blocks(r, folder, codes, golden_string(type, "random_codes_dequantised"),
                           dtype);
        }
        return;
    }
    report_wrong(r, "type", "is not one that is read");
}

void golden_run_blocks(report *r, const char *directory)
{
    char folder[GOLDEN_PATH], path[GOLDEN_PATH];
    cJSON *json = NULL;
    if (!golden_path(folder, directory, "blocks") || !golden_path(path, folder, "index.json") ||
        golden_json(&json, path, NULL) != OCELLI_OK) {
        return;
    }
    const cJSON *type = golden_get(json, "types");
    for (type = type != NULL ? type->child : NULL; type != NULL; type = type->next) {
        if (report_begin(r, "blocks", type->string)) {
            run_type(r, folder, type);
            report_end(r);
        }
    }
    const cJSON *codes = golden_get(json, "codes16");
    if (codes != NULL && report_begin(r, "blocks", "codes16")) {
        compare_blocks(r, folder, "codes16.bin", "codes16_as_f16.f32", OC_F16);
        compare_blocks(r, folder, "codes16.bin", "codes16_as_bf16.f32", OC_BF16);
        report_end(r);
    }
    cJSON_Delete(json);
}
