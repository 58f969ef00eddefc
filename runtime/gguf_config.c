/* gguf_config.c - see gguf_config.h. */
#include "runtime/gguf_config.h"

#include "runtime/family.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

enum { KEY_ROOM = 96, PREFIX_ROOM = 24 };

static const char vision_architecture[] = "clip";

/* ---- from keys to members -------------------------------------------------------------------- */

typedef struct row {
    const char *key;    /* after the prefix */
    const char *member; /* NULL: it must be there, and that is all */
    oc_gguf_type kind;  /* OC_GGUF_I32: any integer, OC_GGUF_F32: any float */
} row;

static ocelli_status put_number(cJSON *object, const char *member, double number, ocelli_error *err)
{
    return cJSON_AddNumberToObject(object, member, number) != NULL
               ? OCELLI_OK
               : oc_fail_memory(err, "the configuration");
}

static ocelli_status put_text(cJSON *object, const char *member, const char *text,
                              ocelli_error *err)
{
    return cJSON_AddStringToObject(object, member, text) != NULL
               ? OCELLI_OK
               : oc_fail_memory(err, "the configuration");
}

/* list NULL: there was no memory for it. */
static ocelli_status put_item(cJSON *list, double number, ocelli_error *err)
{
    cJSON *item = list != NULL ? cJSON_CreateNumber(number) : NULL;
    return item != NULL && cJSON_AddItemToArray(list, item)
               ? OCELLI_OK
               : oc_fail_memory(err, "the configuration");
}

/* An object inside an object. */
static ocelli_status put_object(cJSON *object, const char *member, cJSON **out, ocelli_error *err)
{
    *out = cJSON_AddObjectToObject(object, member);
    return *out != NULL ? OCELLI_OK : oc_fail_memory(err, "the configuration");
}

static const char *join_key(char key[KEY_ROOM], const char *prefix, const char *rest)
{
    snprintf(key, KEY_ROOM, "%s%s", prefix, rest);
    return key;
}

static ocelli_status put_rows(cJSON *object, const oc_gguf *file, const char *prefix,
                              const row *rows, size_t count, ocelli_error *err)
{
    for (size_t i = 0; i < count; i++) {
        char key[KEY_ROOM];
        double number;
        int64_t whole;
        join_key(key, prefix, rows[i].key);
        if (rows[i].kind == OC_GGUF_F32) {
            OC_TRY(oc_gguf_float(file, key, &number, err));
        } else {
            OC_TRY(oc_gguf_integer(file, key, &whole, err));
            number = (double)whole; /* beyond 2^53 it is refused, rounded or not */
        }
        if (rows[i].member != NULL) {
            OC_TRY(put_number(object, rows[i].member, number, err));
        }
    }
    return OCELLI_OK;
}
#define PUT_ROWS(object, file, prefix, rows, err)                                                  \
    put_rows(object, file, prefix, rows, sizeof(rows) / sizeof *(rows), err)

/* The first count elements of a list of numbers, which must have them. */
static ocelli_status put_list(cJSON *object, const char *member, const oc_gguf *file,
                              const char *key, oc_gguf_type kind, size_t count, ocelli_error *err)
{
    const oc_gguf_value *list;
    OC_TRY(oc_gguf_array(file, key, kind, &list, err));
    if (list->count < count) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: key %s: expected %zu numbers, found %llu",
                       file->path, key, count, (unsigned long long)list->count);
    }
    cJSON *array = cJSON_AddArrayToObject(object, member);
    for (size_t i = 0; i < count; i++) {
        double number =
            kind == OC_GGUF_F32 ? oc_gguf_float_at(list, i) : (double)oc_gguf_integer_at(list, i);
        OC_TRY(put_item(array, number, err));
    }
    return OCELLI_OK;
}

/* The rows of a matrix, for what only its shape tells. */
static ocelli_status rows_of(const oc_gguf *file, const char *name, int64_t *out, ocelli_error *err)
{
    const oc_gguf_tensor *found = oc_gguf_find_tensor(file, name);
    if (found == NULL || found->tensor.rank != 2) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: %s tensor \"%s\"", file->path,
                       found == NULL ? "no" : "not a matrix:", name);
    }
    *out = found->tensor.shape[0];
    return OCELLI_OK;
}

/* ---- the text model -------------------------------------------------------------------------- */

/* Ids of tokens that have a task; -1: there is no such token. */
enum { IMAGE_PAD, VIDEO_PAD, VISION_START, VISION_END, TURN_END, TEXT_END, TASKS };
static const char *const task_texts[TASKS] = {
    [IMAGE_PAD] = "<|image_pad|>",       [VIDEO_PAD] = "<|video_pad|>",
    [VISION_START] = "<|vision_start|>", [VISION_END] = "<|vision_end|>",
    [TURN_END] = "<|im_end|>",           [TEXT_END] = "<|endoftext|>"};

static ocelli_status find_tokens(const oc_gguf *file, int64_t ids[TASKS], uint64_t *count,
                                 ocelli_error *err)
{
    const oc_gguf_value *tokens;
    const char *text;
    size_t length;
    OC_TRY(oc_gguf_array(file, "tokenizer.ggml.tokens", OC_GGUF_STRING, &tokens, err));
    oc_gguf_strings strings = oc_gguf_strings_of(file, tokens);
    for (int task = 0; task < TASKS; task++) {
        ids[task] = -1;
    }
    for (int64_t id = 0; oc_gguf_next_string(&strings, &text, &length); id++) {
        for (int task = 0; length > 4 && text[0] == '<' && task < TASKS; task++) {
            if (ids[task] < 0 && oc_gguf_text_is(text, length, task_texts[task])) {
                ids[task] = id;
            }
        }
    }
    *count = tokens->count;
    for (int task = IMAGE_PAD; task <= VISION_END; task++) {
        if (ids[task] < 0) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: its tokenizer has no %s; this is not a vision-language model",
                           file->path, task_texts[task]);
        }
    }
    return OCELLI_OK;
}

/* What llama.cpp's files leave to the architecture, in the form of config.json. */
static ocelli_status put_rope(cJSON *to, const oc_gguf *file, const char *prefix, ocelli_error *err)
{
    char key[KEY_ROOM];
    cJSON *rope;
    OC_TRY(put_object(to, "rope_scaling", &rope, err));
    OC_TRY(put_text(rope, "rope_type", "default", err));
    if (cJSON_AddTrueToObject(rope, "mrope_interleaved") == NULL) {
        return oc_fail_memory(err, "the configuration");
    }
    return put_list(rope, "mrope_section", file, join_key(key, prefix, "rope.dimension_sections"),
                    OC_GGUF_I32, 3, err);
}

static ocelli_status check_text(const oc_gguf *file, const char *prefix, ocelli_error *err)
{
    char key[KEY_ROOM];
    int64_t keys, values, layers, taps;
    OC_TRY(oc_gguf_integer(file, join_key(key, prefix, "attention.key_length"), &keys, err));
    OC_TRY(oc_gguf_integer(file, join_key(key, prefix, "attention.value_length"), &values, err));
    if (keys != values) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: keys of %lld and values of %lld numbers; this version knows equal ones",
                       file->path, (long long)keys, (long long)values);
    }
    OC_TRY(oc_gguf_integer(file, join_key(key, prefix, "block_count"), &layers, err));
    join_key(key, prefix, "n_deepstack_layers");
    if (oc_gguf_find(file, key) != NULL) {
        OC_TRY(oc_gguf_integer(file, key, &taps, err));
        if (taps < 0 || taps > layers) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: key %s is %lld, but there are %lld blocks",
                           file->path, key, (long long)taps, (long long)layers);
        }
    }
    return OCELLI_OK;
}

static ocelli_status put_decoder(cJSON *top, const oc_gguf *file, const oc_family *family,
                                 const char *prefix, uint64_t tokens, ocelli_error *err)
{
    static const row common[] = {
        {"block_count", "num_hidden_layers", OC_GGUF_I32},
        {"context_length", "max_position_embeddings", OC_GGUF_I32},
        {"embedding_length", "hidden_size", OC_GGUF_I32},
        {"feed_forward_length", "intermediate_size", OC_GGUF_I32},
        {"attention.head_count", "num_attention_heads", OC_GGUF_I32},
        {"attention.head_count_kv", "num_key_value_heads", OC_GGUF_I32},
        {"attention.key_length", "head_dim", OC_GGUF_I32},
        {"attention.layer_norm_rms_epsilon", "rms_norm_eps", OC_GGUF_F32},
        {"rope.freq_base", "rope_theta", OC_GGUF_F32},
    };
    static const row experts[] = {
        {"expert_count", "num_experts", OC_GGUF_I32},
        {"expert_used_count", "num_experts_per_tok", OC_GGUF_I32},
        {"expert_feed_forward_length", "moe_intermediate_size", OC_GGUF_I32},
    };
    cJSON *to;
    int64_t rows = 0;
    OC_TRY(put_object(top, "text_config", &to, err));
    OC_TRY(PUT_ROWS(to, file, prefix, common, err));
    if (family->experts) {
        OC_TRY(PUT_ROWS(to, file, prefix, experts, err));
    }
    OC_TRY(rows_of(file, "token_embd.weight", &rows, err));
    if ((uint64_t)rows != tokens) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: the embedding table has %lld rows, but the tokenizer has %llu tokens",
                       file->path, (long long)rows, (unsigned long long)tokens);
    }
    OC_TRY(put_number(to, "vocab_size", (double)rows, err));
    OC_TRY(put_text(to, "hidden_act", "silu", err));
    OC_TRY(check_text(file, prefix, err));
    return put_rope(to, file, prefix, err);
}

/* The end of a turn and the end of a text; a file names only one. */
static ocelli_status put_ends(cJSON *to, const oc_gguf *file, const int64_t ids[TASKS],
                              ocelli_error *err)
{
    static const char key[] = "tokenizer.ggml.eos_token_id";
    int64_t end = ids[TURN_END];
    if (oc_gguf_find(file, key) != NULL) {
        OC_TRY(oc_gguf_integer(file, key, &end, err));
    }
    if (end < 0) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: neither %s nor a token %s tells where a turn ends", file->path, key,
                       task_texts[TURN_END]);
    }
    cJSON *list = cJSON_AddArrayToObject(to, "eos_token_id");
    OC_TRY(put_item(list, (double)end, err));
    return ids[TEXT_END] >= 0 && ids[TEXT_END] != end ? put_item(list, (double)ids[TEXT_END], err)
                                                      : OCELLI_OK;
}

/* ---- the vision file ------------------------------------------------------------------------- */

static ocelli_status check_true(const oc_gguf *file, const char *key, ocelli_error *err)
{
    bool value = true;
    if (oc_gguf_find(file, key) != NULL) {
        OC_TRY(oc_gguf_bool(file, key, &value, err));
    }
    return value ? OCELLI_OK
                 : oc_fail(err, OCELLI_E_UNSUPPORTED, "%s: key %s is false", file->path, key);
}

static ocelli_status put_taps(cJSON *to, const oc_gguf *file, size_t *count, ocelli_error *err)
{
    static const char key[] = "clip.vision.is_deepstack_layers";
    const oc_gguf_value *marks;
    OC_TRY(oc_gguf_array(file, key, OC_GGUF_BOOL, &marks, err));
    if (marks->count > OC_VIT_MOST_LAYERS) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: key %s has %llu elements, more than there are blocks", file->path, key,
                       (unsigned long long)marks->count);
    }
    cJSON *list = cJSON_AddArrayToObject(to, "deepstack_visual_indexes");
    *count = 0;
    for (size_t i = 0; i < marks->count; i++) {
        if (oc_gguf_bool_at(marks, i)) {
            OC_TRY(put_item(list, (double)i, err));
            ++*count;
        }
    }
    return list != NULL ? OCELLI_OK : oc_fail_memory(err, "the configuration");
}

/* The two files must be of one model. */
static ocelli_status check_pair(const oc_gguf *text, const oc_gguf *vision, const char *prefix,
                                size_t taps, ocelli_error *err)
{
    char key[KEY_ROOM];
    int64_t width, rows, wanted = 0;
    OC_TRY(oc_gguf_integer(text, join_key(key, prefix, "embedding_length"), &width, err));
    OC_TRY(oc_gguf_integer(vision, "clip.vision.projection_dim", &rows, err));
    if (width != rows) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s gives visual rows of %lld, but %s takes rows of %lld: they are of "
                       "different models; take the mmproj of the same size",
                       vision->path, (long long)rows, text->path, (long long)width);
    }
    join_key(key, prefix, "n_deepstack_layers");
    if (oc_gguf_find(text, key) != NULL) {
        OC_TRY(oc_gguf_integer(text, key, &wanted, err));
    }
    if (wanted != (int64_t)taps) {
        return oc_fail(
            err, OCELLI_E_FORMAT,
            "%s has %zu deepstack taps, but %s takes %lld: they are of different models; "
            "take the mmproj of the same size",
            vision->path, taps, text->path, (long long)wanted);
    }
    return OCELLI_OK;
}

static ocelli_status check_projector(const oc_gguf *file, const oc_family *family,
                                     ocelli_error *err)
{
    const char *projector;
    size_t length;
    OC_TRY(oc_gguf_string(file, "clip.projector_type", &projector, &length, err));
    if (!oc_gguf_text_is(projector, length, family->projector)) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: projector \"%.*s\"; this text model needs one of %s", file->path,
                       (int)(length < 60 ? length : 60), projector, family->projector);
    }
    return OCELLI_OK;
}

/* image_size is the side of the position table in pixels, which the table itself tells too. */
static ocelli_status put_positions(cJSON *to, const oc_gguf *file, ocelli_error *err)
{
    static const char key[] = "clip.vision.image_size";
    int64_t rows = 0, side = 0, patch = 0;
    OC_TRY(rows_of(file, "v.position_embd.weight", &rows, err));
    OC_TRY(oc_gguf_integer(file, "clip.vision.patch_size", &patch, err));
    if (oc_gguf_find(file, key) != NULL) {
        OC_TRY(oc_gguf_integer(file, key, &side, err));
        int64_t patches = patch > 0 ? side / patch : 0;
        if (patches < 0 || patches > INT32_MAX || patches * patches != rows) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: key %s is %lld with patches of %lld, but the position table has "
                           "%lld rows",
                           file->path, key, (long long)side, (long long)patch, (long long)rows);
        }
    }
    return put_number(to, "num_position_embeddings", (double)rows, err);
}

static ocelli_status put_tower(cJSON *top, const oc_gguf *file, size_t *taps, ocelli_error *err)
{
    static const row rows[] = {
        {"block_count", "depth", OC_GGUF_I32},
        {"embedding_length", "hidden_size", OC_GGUF_I32},
        {"feed_forward_length", "intermediate_size", OC_GGUF_I32},
        {"attention.head_count", "num_heads", OC_GGUF_I32},
        {"patch_size", "patch_size", OC_GGUF_I32},
        {"spatial_merge_size", "spatial_merge_size", OC_GGUF_I32},
        {"projection_dim", "out_hidden_size", OC_GGUF_I32},
        /* The converter writes the text model's; the tower's is 1e-6 always. */
        {"attention.layer_norm_epsilon", NULL, OC_GGUF_F32},
    };
    cJSON *to;
    OC_TRY(check_true(file, "clip.has_vision_encoder", err));
    OC_TRY(check_true(file, "clip.use_gelu", err));
    OC_TRY(put_object(top, "vision_config", &to, err));
    OC_TRY(PUT_ROWS(to, file, "clip.vision.", rows, err));
    OC_TRY(put_number(to, "temporal_patch_size", 2, err));
    OC_TRY(put_number(to, "in_channels", 3, err));
    OC_TRY(put_text(to, "hidden_act", "gelu_pytorch_tanh", err));
    OC_TRY(put_positions(to, file, err));
    return put_taps(to, file, taps, err);
}

/* A processor's file, with the limits of the released models. */
static ocelli_status put_pixels(cJSON *to, const oc_gguf *file, int64_t least, int64_t most,
                                ocelli_error *err)
{
    static const row rows[] = {
        {"patch_size", "patch_size", OC_GGUF_I32},
        {"spatial_merge_size", "merge_size", OC_GGUF_I32},
    };
    cJSON *size;
    OC_TRY(PUT_ROWS(to, file, "clip.vision.", rows, err));
    OC_TRY(put_number(to, "temporal_patch_size", 2, err));
    OC_TRY(put_list(to, "image_mean", file, "clip.vision.image_mean", OC_GGUF_F32, 3, err));
    OC_TRY(put_list(to, "image_std", file, "clip.vision.image_std", OC_GGUF_F32, 3, err));
    OC_TRY(put_object(to, "size", &size, err));
    OC_TRY(put_number(size, "shortest_edge", (double)least, err));
    return put_number(size, "longest_edge", (double)most, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

ocelli_status oc_gguf_is_vision(const oc_gguf *file, bool *vision, ocelli_error *err)
{
    const char *found;
    size_t length;
    *vision = false;
    OC_TRY(oc_gguf_string(file, "general.architecture", &found, &length, err));
    if (oc_gguf_text_is(found, length, vision_architecture)) {
        *vision = true;
        return OCELLI_OK;
    }
    if (oc_family_find_gguf(found, length) != NULL) {
        return OCELLI_OK;
    }
    char known[128] = "";
    size_t used = 0;
    for (int i = 0; oc_family_at(i) != NULL && used < sizeof known; i++) {
        const char *name = oc_family_at(i)->gguf;
        if (name != NULL) {
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     used > 0 ? ", " : "", name);
        }
    }
    return oc_fail(err, OCELLI_E_UNSUPPORTED,
                   "%s: general.architecture \"%.*s\" is not known; this version runs %s",
                   file->path, (int)(length < 60 ? length : 60), found, known);
}

typedef struct trees {
    cJSON *config, *preprocessor, *video, *generation;
} trees;

static ocelli_status plant(trees *t, const oc_gguf *text, const oc_gguf *vision, ocelli_error *err)
{
    static const char *const members[] = {[IMAGE_PAD] = "image_token_id",
                                          [VIDEO_PAD] = "video_token_id",
                                          [VISION_START] = "vision_start_token_id",
                                          [VISION_END] = "vision_end_token_id"};
    char prefix[PREFIX_ROOM];
    const char *architecture;
    size_t length, taps = 0;
    int64_t ids[TASKS];
    uint64_t tokens;
    OC_TRY(oc_gguf_string(text, "general.architecture", &architecture, &length, err));
    const oc_family *family = oc_family_find_gguf(architecture, length);
    if (family == NULL || t->config == NULL || t->preprocessor == NULL || t->video == NULL ||
        t->generation == NULL) {
        return oc_fail_memory(err, "the configuration");
    }
    snprintf(prefix, sizeof prefix, "%s.", family->gguf);
    OC_TRY(put_text(t->config, "model_type", family->model_type, err));
    OC_TRY(find_tokens(text, ids, &tokens, err));
    for (int task = IMAGE_PAD; task <= VISION_END; task++) {
        OC_TRY(put_number(t->config, members[task], (double)ids[task], err));
    }
    bool tied = oc_gguf_find_tensor(text, "output.weight") == NULL;
    if (cJSON_AddBoolToObject(t->config, "tie_word_embeddings", tied) == NULL) {
        return oc_fail_memory(err, "the configuration");
    }
    OC_TRY(put_decoder(t->config, text, family, prefix, tokens, err));
    OC_TRY(put_ends(t->generation, text, ids, err));
    if (vision == NULL) {
        return OCELLI_OK;
    }
    OC_TRY(check_projector(vision, family, err));
    OC_TRY(put_tower(t->config, vision, &taps, err));
    OC_TRY(check_pair(text, vision, prefix, taps, err));
    const oc_vision_rules *rules = family->vision;
    OC_TRY(put_pixels(t->preprocessor, vision, rules->image_least, rules->image_most, err));
    return put_pixels(t->video, vision, rules->released_video_least, rules->released_video_most,
                      err);
}

ocelli_status oc_gguf_config_make(oc_gguf_config *out, const oc_gguf *text, const oc_gguf *vision,
                                  ocelli_error *err)
{
    trees t = {cJSON_CreateObject(), cJSON_CreateObject(), cJSON_CreateObject(),
               cJSON_CreateObject()};
    *out = (oc_gguf_config){0};
    ocelli_status status = plant(&t, text, vision, err);
    if (status == OCELLI_OK) {
        out->config = cJSON_Print(t.config);
        out->preprocessor = vision != NULL ? cJSON_Print(t.preprocessor) : NULL;
        out->video = vision != NULL ? cJSON_Print(t.video) : NULL;
        out->generation = cJSON_Print(t.generation);
        if (out->config == NULL || out->generation == NULL ||
            (vision != NULL && (out->preprocessor == NULL || out->video == NULL))) {
            status = oc_fail_memory(err, "the configuration");
            oc_gguf_config_close(out);
        }
    }
    cJSON_Delete(t.config);
    cJSON_Delete(t.preprocessor);
    cJSON_Delete(t.video);
    cJSON_Delete(t.generation);
    return status;
}

void oc_gguf_config_close(oc_gguf_config *texts)
{
    cJSON_free(texts->config);
    cJSON_free(texts->preprocessor);
    cJSON_free(texts->video);
    cJSON_free(texts->generation);
    *texts = (oc_gguf_config){0};
}
