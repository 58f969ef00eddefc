/* config.c - see config.h: the order of the files, and the decoder's part of config.json. */
#include "runtime/config.h"

#include "fusion/positions.h"
#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/config_parts.h"

#include <stdio.h>
#include <string.h>

/* Larger than any published model by a factor of some twenty; small enough that products of three
 * of them stay far inside 64 bits. */
enum { MOST_WIDTH = 1 << 18, MOST_HEADS = 4096, MOST_HEAD_DIM = 1024, MOST_VOCAB = 1 << 24 };

#define GET(object, key, least, most, field)                                                       \
    do {                                                                                           \
        int64_t get_value;                                                                         \
        OC_TRY(oc_json_int(object, key, least, most, &get_value, err));                            \
        (field) = (size_t)get_value;                                                               \
    } while (0)

ocelli_status oc_config_require_text(oc_json_object object, const char *key, const char *wanted,
                                     ocelli_error *err)
{
    const char *found;
    if (!oc_json_has(object, key)) {
        return OCELLI_OK;
    }
    OC_TRY(oc_json_string(object, key, &found, err));
    if (strcmp(found, wanted) != 0) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED, "%s: %s is \"%.60s\"; this version knows \"%s\"",
                       object.file, key, found, wanted);
    }
    return OCELLI_OK;
}

ocelli_status oc_config_size(oc_json_object object, const char *key, int64_t least, int64_t most,
                             int64_t fallback, size_t *out, ocelli_error *err)
{
    int64_t value;
    OC_TRY(fallback == 0 ? oc_json_int(object, key, least, most, &value, err)
                         : oc_json_int_or(object, key, least, most, fallback, &value, err));
    *out = (size_t)value;
    return OCELLI_OK;
}

/* A number that must be there if fallback is 0, and else need not. */
static ocelli_status number(oc_json_object object, const char *key, double least, double most,
                            double fallback, double *out, ocelli_error *err)
{
    return fallback > 0 ? oc_json_double_or(object, key, least, most, fallback, out, err)
                        : oc_json_double(object, key, least, most, out, err);
}

/* "mrope", which some files say, means plain frequencies too. */
static ocelli_status check_rope_type(oc_json_object rope, const oc_text_rules *rules,
                                     ocelli_error *err)
{
    const char *key = oc_json_has(rope, "rope_type") ? "rope_type" : "type", *found;
    if (rules->chunked && oc_json_has(rope, key)) {
        OC_TRY(oc_json_string(rope, key, &found, err));
        if (strcmp(found, "mrope") == 0) {
            return OCELLI_OK;
        }
    }
    return oc_config_require_text(rope, key, "default", err);
}

/* Chunked sections are a partition of the frequencies; interleaved ones need not be. */
static ocelli_status check_sections(const oc_mrope_config *mrope, const char *file,
                                    ocelli_error *err)
{
    const int64_t *of = mrope->sections;
    if (!mrope->interleaved && of[0] + of[1] + of[2] != (int64_t)(mrope->head_dim / 2)) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: mrope_section %lld, %lld, %lld does not add up to half of head_dim %zu",
                       file, (long long)of[0], (long long)of[1], (long long)of[2], mrope->head_dim);
    }
    return OCELLI_OK;
}

/* transformers 4 writes rope_theta and rope_scaling, transformers 5 rope_parameters. */
static ocelli_status read_rope(oc_decoder_config *out, oc_json_object text,
                               const oc_text_rules *rules, ocelli_error *err)
{
    oc_json_object rope;
    OC_TRY(oc_json_child(text, "rope_parameters", &rope, err));
    if (rope.node == NULL) {
        OC_TRY(oc_json_child(text, "rope_scaling", &rope, err));
    }
    int64_t sections[3] = {rules->mrope_section[0], rules->mrope_section[1],
                           rules->mrope_section[2]};
    size_t count = 0;
    double theta;
    OC_TRY(check_rope_type(rope, rules, err));
    oc_json_object holder = oc_json_has(rope, "rope_theta") ? rope : text;
    OC_TRY(number(holder, "rope_theta", 1.0, 1e15, rules->rope_theta, &theta, err));
    OC_TRY(oc_json_ints(rope, "mrope_section", 0, MOST_HEAD_DIM, sections, 3, &count, err));
    if (count != 0 && count != 3) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: mrope_section: expected 3 numbers, found %zu",
                       rope.file, count);
    }
    out->mrope = (oc_mrope_config){.theta = theta,
                                   .head_dim = out->head_dim,
                                   .sections = {sections[0], sections[1], sections[2]}};
    OC_TRY(
        oc_json_bool_or(rope, "mrope_interleaved", !rules->chunked, &out->mrope.interleaved, err));
    return check_sections(&out->mrope, text.file, err);
}

static ocelli_status read_experts(oc_decoder_config *out, oc_json_object text, ocelli_error *err)
{
    int64_t step, dense_layers[OC_DECODER_MOST_LAYERS];
    size_t dense_count;
    GET(text, "num_experts", 1, OC_DECODER_MOST_EXPERTS, out->experts);
    GET(text, "num_experts_per_tok", 1, (int64_t)out->experts, out->experts_per_token);
    GET(text, "moe_intermediate_size", 1, MOST_WIDTH, out->expert_intermediate);
    OC_TRY(oc_json_int_or(text, "decoder_sparse_step", 1, OC_DECODER_MOST_LAYERS, 1, &step, err));
    OC_TRY(oc_json_ints(text, "mlp_only_layers", 0, OC_DECODER_MOST_LAYERS, dense_layers,
                        OC_DECODER_MOST_LAYERS, &dense_count, err));
    out->sparse = oc_alloc(out->layers, sizeof *out->sparse);
    if (out->sparse == NULL) {
        return oc_fail_memory(err, "the config");
    }
    for (size_t i = 0; i < out->layers; i++) {
        out->sparse[i] = (i + 1) % (size_t)step == 0;
    }
    for (size_t i = 0; i < dense_count; i++) {
        if ((size_t)dense_layers[i] < out->layers) {
            out->sparse[dense_layers[i]] = false;
        }
    }
    return OCELLI_OK;
}

/* text_config, or the top where a family's files are flat. */
static ocelli_status find_text(const oc_config *config, oc_json_object top, oc_json_object *out,
                               ocelli_error *err)
{
    OC_TRY(oc_json_child(top, "text_config", out, err));
    if (out->node != NULL) {
        return OCELLI_OK;
    }
    *out = top;
    return config->family->text->flat
               ? OCELLI_OK
               : oc_fail(err, OCELLI_E_FORMAT, "%s: no text_config object", top.file);
}

/* Which attention it is, beside its sizes. */
static ocelli_status read_attention(oc_decoder_config *out, oc_json_object text,
                                    const oc_text_rules *rules, ocelli_error *err)
{
    bool slides;
    OC_TRY(oc_json_bool_or(text, "use_sliding_window", false, &slides, err));
    if (slides) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: use_sliding_window is true; this version attends to all that came "
                       "before",
                       text.file);
    }
    out->plain_heads = rules->plain_heads;
    out->plain_output = rules->query_key_value_bias;
    OC_TRY(oc_json_bool_or(text, "attention_bias", false, &out->attention_bias, err));
    out->attention_bias = out->attention_bias || rules->query_key_value_bias;
    return OCELLI_OK;
}

static ocelli_status read_decoder(oc_config *config, oc_json_object top, ocelli_error *err)
{
    const oc_text_rules *rules = config->family->text;
    oc_decoder_config *out = &config->decoder;
    oc_json_object text;
    OC_TRY(find_text(config, top, &text, err));
    double eps;
    GET(text, "num_hidden_layers", 1, OC_DECODER_MOST_LAYERS, out->layers);
    GET(text, "hidden_size", 1, MOST_WIDTH, out->hidden);
    GET(text, "num_attention_heads", 1, MOST_HEADS, out->heads);
    GET(text, "num_key_value_heads", 1, MOST_HEADS, out->kv_heads);
    GET(text, "vocab_size", 1, MOST_VOCAB, out->vocab);
    int64_t head_dim, context;
    /* Of Qwen3-VL never hidden / heads: 2560 / 32 is 80, and the head is 128. */
    int64_t share =
        rules->head_dim_is_share ? (int64_t)(out->hidden / out->heads) : rules->head_dim;
    OC_TRY(oc_json_int_or(text, "head_dim", 2, MOST_HEAD_DIM, share, &head_dim, err));
    out->head_dim = (size_t)head_dim;
    OC_TRY(
        oc_json_int_or(text, "max_position_embeddings", 1, INT32_MAX / 2, 128000, &context, err));
    out->context = (size_t)context;
    OC_TRY(number(text, "rms_norm_eps", 0.0, 1.0, rules->rms_norm_eps, &eps, err));
    out->rms_norm_eps = (float)eps;
    OC_TRY(read_attention(out, text, rules, err));
    OC_TRY(oc_config_require_text(text, "hidden_act", "silu", err));
    if (out->heads % out->kv_heads != 0 || out->head_dim % 2 != 0 || out->head_dim < 2 ||
        out->head_dim > MOST_HEAD_DIM) {
        return oc_fail(
            err, OCELLI_E_FORMAT,
            "%s: num_attention_heads %zu is not a multiple of num_key_value_heads %zu, or "
            "head_dim %zu is odd or out of range",
            top.file, out->heads, out->kv_heads, out->head_dim);
    }
    /* A model whose layers are all sparse may leave the dense width out. */
    int64_t wide;
    bool sparse = config->family->experts && oc_json_has(text, "num_experts");
    if (sparse) {
        OC_TRY(oc_json_int_or(text, "intermediate_size", 0, MOST_WIDTH, 0, &wide, err));
    } else {
        OC_TRY(oc_json_int(text, "intermediate_size", 1, MOST_WIDTH, &wide, err));
    }
    out->intermediate = (size_t)wide;
    OC_TRY(read_rope(out, text, rules, err));
    bool tied;
    out->tie_is_said =
        oc_json_has(top, "tie_word_embeddings") || oc_json_has(text, "tie_word_embeddings");
    OC_TRY(oc_json_bool_or(text, "tie_word_embeddings", false, &tied, err));
    OC_TRY(oc_json_bool_or(top, "tie_word_embeddings", tied, &out->tied, err));
    return sparse ? read_experts(out, text, err) : OCELLI_OK;
}

static ocelli_status read_token_ids(oc_config *config, oc_json_object top, ocelli_error *err)
{
    int64_t image, video;
    int64_t last = (int64_t)config->decoder.vocab - 1;
    OC_TRY(oc_json_int_or(top, "image_token_id", 0, last, 151655, &image, err));
    OC_TRY(oc_json_int_or(top, "video_token_id", 0, last, 151656, &video, err));
    if (image == video) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: image_token_id and video_token_id are both %lld",
                       top.file, (long long)image);
    }
    config->pads = (oc_pad_ids){.image = (int32_t)image, .video = (int32_t)video};
    oc_json_object text;
    OC_TRY(find_text(config, top, &text, err));
    return oc_config_add_eos(config, text, err);
}

ocelli_status oc_config_add_eos(oc_config *config, oc_json_object object, ocelli_error *err)
{
    int64_t ids[OC_MOST_EOS];
    size_t count;
    OC_TRY(oc_json_ints_or_one(object, "eos_token_id", 0, (int64_t)config->decoder.vocab - 1, ids,
                               OC_MOST_EOS, &count, err));
    for (size_t i = 0; i < count; i++) {
        size_t seen = 0;
        while (seen < config->eos_count && config->eos[seen] != ids[i]) {
            seen++;
        }
        if (seen == config->eos_count && seen < OC_MOST_EOS) {
            config->eos[config->eos_count++] = (int32_t)ids[i];
        }
    }
    return OCELLI_OK;
}

static ocelli_status read_family(oc_config *config, oc_json_object top, ocelli_error *err)
{
    const char *type;
    OC_TRY(oc_json_string(top, "model_type", &type, err));
    config->family = oc_family_find(type);
    if (config->family == NULL) {
        char known[128] = "";
        size_t used = 0;
        for (int i = 0; oc_family_at(i) != NULL && used < sizeof known; i++) {
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                                     oc_family_at(i)->model_type);
        }
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: model_type \"%.60s\" is not known; this version runs %s", top.file,
                       type, known);
    }
    return OCELLI_OK;
}

static ocelli_status read_main(oc_config *config, oc_json_object top, ocelli_error *err)
{
    OC_TRY(read_family(config, top, err));
    OC_TRY(read_decoder(config, top, err));
    if (!config->text_only) {
        OC_TRY(oc_config_read_vision(config, top, err));
    }
    return read_token_ids(config, top, err);
}

typedef ocelli_status (*part_reader)(oc_config *config, oc_json_object top, ocelli_error *err);

/* Opens directory/name and hands it to read; a missing optional file is an empty object. */
static ocelli_status read_file(oc_config *config, const char *directory, const char *name,
                               bool required, part_reader read, ocelli_error *err)
{
    char *path = oc_path_join(directory, name);
    if (path == NULL) {
        return oc_fail_memory(err, name);
    }
    ocelli_status status;
    if (!oc_file_exists(path)) {
        status = required ? oc_fail(err, OCELLI_E_IO,
                                    "%s: missing; a checkpoint folder holds it beside its "
                                    ".safetensors files: download it again",
                                    path)
                          : read(config, (oc_json_object){.file = path, .where = ""}, err);
        oc_free(path);
        return status;
    }
    oc_json json;
    status = oc_json_open(&json, path, err);
    if (status == OCELLI_OK) {
        status = read(config, oc_json_top(&json), err);
        oc_json_close(&json);
    }
    oc_free(path);
    return status;
}

ocelli_status oc_config_read(oc_config *out, const char *directory, ocelli_error *err)
{
    *out = (oc_config){0};
    if (!oc_file_is_directory(directory)) {
        return oc_fail(err, OCELLI_E_IO, "%s: %s; a model is a folder with config.json and weights",
                       directory, oc_file_exists(directory) ? "not a folder" : "no such folder");
    }
    ocelli_status status = read_file(out, directory, "config.json", true, read_main, err);
    if (status == OCELLI_OK) {
        status =
            read_file(out, directory, "preprocessor_config.json", true, oc_config_read_images, err);
    }
    if (status == OCELLI_OK) {
        status = read_file(out, directory, "video_preprocessor_config.json", false,
                           oc_config_read_videos, err);
    }
    if (status == OCELLI_OK) {
        status = read_file(out, directory, "generation_config.json", false, oc_config_add_eos, err);
    }
    if (status == OCELLI_OK && out->eos_count == 0) {
        status = oc_fail(err, OCELLI_E_FORMAT,
                         "%s: neither config.json nor generation_config.json has an eos_token_id",
                         directory);
    }
    if (status != OCELLI_OK) {
        oc_config_close(out);
    }
    return status;
}

ocelli_status oc_config_clip_times(int32_t **times, const oc_config *config, size_t pairs,
                                   double seconds, ocelli_error *err)
{
    *times = NULL;
    if (config->family->clip == OC_CLIP_PAIRS) {
        return OCELLI_OK;
    }
    int32_t *out = oc_alloc(pairs, sizeof *out);
    if (out == NULL) {
        return oc_fail_memory(err, "a clip");
    }
    ocelli_status status = oc_positions_times(out, pairs, seconds, config->tokens_per_second, err);
    if (status != OCELLI_OK) {
        oc_free(out);
        return status;
    }
    *times = out;
    return OCELLI_OK;
}

static ocelli_status read_text(oc_config *config, const oc_config_texts *texts, const char *text,
                               part_reader read, ocelli_error *err)
{
    oc_json json;
    OC_TRY(oc_json_parse(&json, texts->name, text, strlen(text), err));
    ocelli_status status = read(config, oc_json_top(&json), err);
    oc_json_close(&json);
    return status;
}

ocelli_status oc_config_read_texts(oc_config *out, const oc_config_texts *texts, ocelli_error *err)
{
    *out = (oc_config){.text_only = texts->preprocessor == NULL};
    ocelli_status status = read_text(out, texts, texts->config, read_main, err);
    if (status == OCELLI_OK && !out->text_only) {
        status = read_text(out, texts, texts->preprocessor, oc_config_read_images, err);
    }
    if (status == OCELLI_OK && !out->text_only) {
        status = read_text(out, texts, texts->video, oc_config_read_videos, err);
    }
    if (status == OCELLI_OK) {
        status = read_text(out, texts, texts->generation, oc_config_add_eos, err);
    }
    if (status != OCELLI_OK) {
        oc_config_close(out);
    }
    return status;
}

void oc_config_close(oc_config *config)
{
    oc_free(config->decoder.sparse);
    *config = (oc_config){0};
}
