/* gguf_writer.h - writes a checkpoint as llama.cpp's converter does: a GGUF text model and its
 * vision file, float32. From the words of the format, so that a test of reading does not test
 * itself. Include after _POSIX_C_SOURCE is set. */
#ifndef OC_TESTS_GGUF_WRITER_H
#define OC_TESTS_GGUF_WRITER_H

#include "runtime/base/memory.h"
#include "runtime/config.h"
#include "runtime/weights/weights.h"
#include "tests/unit/weights/scratch.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

enum { WRITER_MOST_TENSORS = 256, WRITER_ALIGNMENT = 32 };

typedef struct gguf_writer {
    unsigned char *bytes; /* the keys, then the list of tensors */
    size_t length, room;
    uint64_t keys;
    struct {
        char name[96];
        int axes;
        uint64_t dims[4]; /* fastest first */
        float *values;    /* owned */
        size_t count;
    } tensors[WRITER_MOST_TENSORS];
    size_t tensor_count;
} gguf_writer;

static inline void writer_put(gguf_writer *w, const void *bytes, size_t size)
{
    while (w->length + size > w->room) {
        w->room = w->room * 2 + 4096;
        w->bytes = realloc(w->bytes, w->room);
        cr_assert_not_null(w->bytes);
    }
    memcpy(w->bytes + w->length, bytes, size);
    w->length += size;
}

/* Little-endian. */
static inline void writer_number(gguf_writer *w, uint64_t value, size_t size)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(value >> 8 * i);
    }
    writer_put(w, bytes, size);
}

static inline void writer_float(gguf_writer *w, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    writer_number(w, bits, 4);
}

static inline void writer_text(gguf_writer *w, const char *text)
{
    writer_number(w, strlen(text), 8);
    writer_put(w, text, strlen(text));
}

/* The key and the type of its value: 4 u32, 5 i32, 6 f32, 7 bool, 8 string. */
static inline void writer_key(gguf_writer *w, const char *prefix, const char *key, uint32_t type)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%s%s", prefix, key);
    writer_text(w, whole);
    writer_number(w, type, 4);
    w->keys++;
}

static inline void writer_u32(gguf_writer *w, const char *prefix, const char *key, uint64_t value)
{
    writer_key(w, prefix, key, 4);
    writer_number(w, value, 4);
}

static inline void writer_f32(gguf_writer *w, const char *prefix, const char *key, double value)
{
    writer_key(w, prefix, key, 6);
    writer_float(w, (float)value);
}

static inline void writer_string(gguf_writer *w, const char *key, const char *value)
{
    writer_key(w, "", key, 8);
    writer_text(w, value);
}

static inline void writer_array(gguf_writer *w, const char *prefix, const char *key,
                                uint32_t element, uint64_t count)
{
    writer_key(w, prefix, key, 9);
    writer_number(w, element, 4);
    writer_number(w, count, 8);
}

/* Room for the values of a tensor; shape is row-major. */
static inline float *writer_tensor(gguf_writer *w, const char *name, int axes, const int64_t *shape)
{
    size_t index = w->tensor_count++, count = 1;
    cr_assert_lt(index, (size_t)WRITER_MOST_TENSORS);
    snprintf(w->tensors[index].name, sizeof w->tensors[index].name, "%s", name);
    w->tensors[index].axes = axes;
    for (int i = 0; i < axes; i++) {
        w->tensors[index].dims[axes - 1 - i] = (uint64_t)shape[i];
        count *= (size_t)shape[i];
    }
    w->tensors[index].count = count;
    w->tensors[index].values = calloc(count, sizeof(float));
    cr_assert_not_null(w->tensors[index].values);
    return w->tensors[index].values;
}

/* Writes the file and empties the writer. hole: bytes left out before the first tensor. */
static inline void writer_close(gguf_writer *w, const char *path, uint64_t hole)
{
    gguf_writer head = {0};
    uint64_t offset = hole;
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    writer_put(&head, "GGUF", 4);
    writer_number(&head, 3, 4);
    writer_number(&head, w->tensor_count, 8);
    writer_number(&head, w->keys, 8);
    for (size_t i = 0; i < w->tensor_count; i++) {
        writer_text(w, w->tensors[i].name);
        writer_number(w, (uint64_t)w->tensors[i].axes, 4);
        for (int k = 0; k < w->tensors[i].axes; k++) {
            writer_number(w, w->tensors[i].dims[k], 8);
        }
        writer_number(w, 0, 4);
        writer_number(w, offset, 8);
        offset +=
            (w->tensors[i].count * 4 + WRITER_ALIGNMENT - 1) / WRITER_ALIGNMENT * WRITER_ALIGNMENT;
    }
    cr_assert_eq(fwrite(head.bytes, 1, head.length, file), head.length);
    cr_assert_eq(fwrite(w->bytes, 1, w->length, file), w->length);
    uint64_t at =
        (head.length + w->length + WRITER_ALIGNMENT - 1) / WRITER_ALIGNMENT * WRITER_ALIGNMENT +
        hole;
    for (size_t i = 0; i < w->tensor_count; i++) {
        size_t count = w->tensors[i].count;
        cr_assert_eq(fseeko(file, (off_t)at, SEEK_SET), 0);
        cr_assert_eq(fwrite(w->tensors[i].values, 4, count, file), count);
        at += (count * 4 + WRITER_ALIGNMENT - 1) / WRITER_ALIGNMENT * WRITER_ALIGNMENT;
        free(w->tensors[i].values);
    }
    cr_assert_eq(fclose(file), 0);
    free(head.bytes);
    free(w->bytes);
    memset(w, 0, sizeof *w);
}

/* ---- from a checkpoint ----------------------------------------------------------------------- */

/* The keys of the tokenizer, from tokenizer.json: ids without a token are [PAD<id>]. */
static inline void writer_tokenizer(gguf_writer *w, const char *checkpoint, size_t vocab,
                                    int64_t eos)
{
    char path[1024];
    char *text;
    size_t size;
    ocelli_error err;
    snprintf(path, sizeof path, "%s/tokenizer.json", checkpoint);
    cr_assert_eq(oc_file_read(&text, &size, path, (size_t)1 << 26, &err), OCELLI_OK);
    cJSON *tree = cJSON_ParseWithLength(text, size);
    cr_assert_not_null(tree);
    const char **tokens = calloc(vocab, sizeof *tokens);
    int *types = calloc(vocab, sizeof *types);
    const cJSON *model = cJSON_GetObjectItem(tree, "model"), *node;
    cJSON_ArrayForEach(node, cJSON_GetObjectItem(model, "vocab"))
    {
        tokens[(size_t)node->valuedouble] = node->string;
        types[(size_t)node->valuedouble] = 1;
    }
    cJSON_ArrayForEach(node, cJSON_GetObjectItem(tree, "added_tokens"))
    {
        size_t id = (size_t)cJSON_GetObjectItem(node, "id")->valuedouble;
        tokens[id] = cJSON_GetObjectItem(node, "content")->valuestring;
        types[id] = cJSON_IsTrue(cJSON_GetObjectItem(node, "special")) ? 3 : 4;
    }
    writer_string(w, "tokenizer.ggml.model", "gpt2");
    writer_string(w, "tokenizer.ggml.pre", "qwen2");
    writer_array(w, "tokenizer.ggml.", "tokens", 8, vocab);
    for (size_t i = 0; i < vocab; i++) {
        char unused[32];
        snprintf(unused, sizeof unused, "[PAD%zu]", i);
        writer_text(w, types[i] != 0 ? tokens[i] : unused);
    }
    writer_array(w, "tokenizer.ggml.", "token_type", 5, vocab);
    for (size_t i = 0; i < vocab; i++) {
        writer_number(w, (uint64_t)(types[i] != 0 ? types[i] : 5), 4);
    }
    const cJSON *merges = cJSON_GetObjectItem(model, "merges");
    writer_array(w, "tokenizer.ggml.", "merges", 8, (uint64_t)cJSON_GetArraySize(merges));
    cJSON_ArrayForEach(node, merges)
    {
        char line[2048];
        if (cJSON_IsArray(node)) {
            snprintf(line, sizeof line, "%s %s", cJSON_GetArrayItem(node, 0)->valuestring,
                     cJSON_GetArrayItem(node, 1)->valuestring);
        }
        writer_text(w, cJSON_IsArray(node) ? line : node->valuestring);
    }
    writer_u32(w, "tokenizer.ggml.", "eos_token_id", (uint64_t)eos);
    free(tokens);
    free(types);
    cJSON_Delete(tree);
    oc_free(text);
}

static inline void writer_text_keys(gguf_writer *w, const oc_config *config, const char *checkpoint)
{
    const oc_decoder_config *d = &config->decoder;
    char prefix[32];
    snprintf(prefix, sizeof prefix, "%s.", d->experts > 0 ? "qwen3vlmoe" : "qwen3vl");
    writer_string(w, "general.architecture", d->experts > 0 ? "qwen3vlmoe" : "qwen3vl");
    writer_string(w, "general.name", "a test");
    writer_u32(w, prefix, "block_count", d->layers);
    writer_u32(w, prefix, "context_length", d->context);
    writer_u32(w, prefix, "embedding_length", d->hidden);
    writer_u32(w, prefix, "feed_forward_length", d->intermediate);
    writer_u32(w, prefix, "attention.head_count", d->heads);
    writer_u32(w, prefix, "attention.head_count_kv", d->kv_heads);
    writer_u32(w, prefix, "attention.key_length", d->head_dim);
    writer_u32(w, prefix, "attention.value_length", d->head_dim);
    writer_f32(w, prefix, "attention.layer_norm_rms_epsilon", (double)d->rms_norm_eps);
    writer_f32(w, prefix, "rope.freq_base", d->mrope.theta);
    writer_array(w, prefix, "rope.dimension_sections", 5, 4);
    for (int i = 0; i < 4; i++) {
        writer_number(w, i < 3 ? (uint64_t)d->mrope.sections[i] : 0, 4);
    }
    writer_u32(w, prefix, "n_deepstack_layers", config->vit.tap_count);
    if (d->experts > 0) {
        writer_u32(w, prefix, "expert_count", d->experts);
        writer_u32(w, prefix, "expert_used_count", d->experts_per_token);
        writer_u32(w, prefix, "expert_feed_forward_length", d->expert_intermediate);
    }
    writer_tokenizer(w, checkpoint, d->vocab, config->eos[0]);
}

static inline void writer_vision_keys(gguf_writer *w, const oc_config *config)
{
    static const char prefix[] = "clip.vision.";
    const oc_vit_config *v = &config->vit;
    writer_string(w, "general.architecture", "clip");
    writer_string(w, "clip.projector_type", "qwen3vl_merger");
    writer_key(w, "clip.", "has_vision_encoder", 7);
    writer_number(w, 1, 1);
    writer_u32(w, prefix, "projection_dim", v->out_hidden);
    writer_u32(w, prefix, "embedding_length", v->hidden);
    writer_u32(w, prefix, "feed_forward_length", v->intermediate);
    writer_u32(w, prefix, "block_count", v->layers);
    writer_u32(w, prefix, "attention.head_count", v->heads);
    writer_f32(w, prefix, "attention.layer_norm_epsilon", 1e-6);
    writer_u32(w, prefix, "patch_size", (uint64_t)v->patch.patch_size);
    writer_u32(w, prefix, "spatial_merge_size", (uint64_t)v->patch.merge_size);
    writer_u32(w, prefix, "image_size", v->position_side * (size_t)v->patch.patch_size);
    writer_array(w, prefix, "image_mean", 6, 3);
    for (int i = 0; i < 3; i++) {
        writer_float(w, v->patch.mean[i]);
    }
    writer_array(w, prefix, "image_std", 6, 3);
    for (int i = 0; i < 3; i++) {
        writer_float(w, v->patch.deviation[i]);
    }
    writer_array(w, prefix, "is_deepstack_layers", 7, v->layers);
    for (size_t i = 0; i < v->layers; i++) {
        uint64_t tapped = 0;
        for (size_t k = 0; k < v->tap_count; k++) {
            tapped = v->taps[k] == i ? 1 : tapped;
        }
        writer_number(w, tapped, 1);
    }
}

/* A tensor of the checkpoint as it is; rows of an expert's input-major matrix are turned. */
static inline void writer_copy(gguf_writer *w, const oc_weights *weights, const char *from,
                               const char *to)
{
    oc_tensor tensor;
    cr_assert(oc_weights_find(weights, from, &tensor, NULL), "%s", from);
    float *values = writer_tensor(w, to, tensor.rank, tensor.shape);
    oc_tensor_widen(&tensor, 0, w->tensors[w->tensor_count - 1].count, values);
}

/* Columns [first, first + columns) of each expert's [inputs, all] become rows [columns, inputs]. */
static inline void writer_turned(gguf_writer *w, const oc_weights *weights, const char *from,
                                 size_t first, size_t columns, const char *to)
{
    oc_tensor tensor;
    cr_assert(oc_weights_find(weights, from, &tensor, NULL), "%s", from);
    size_t experts = (size_t)tensor.shape[0], inputs = (size_t)tensor.shape[1];
    size_t all = (size_t)tensor.shape[2];
    const int64_t shape[3] = {(int64_t)experts, (int64_t)columns, (int64_t)inputs};
    float *values = writer_tensor(w, to, 3, shape);
    for (size_t e = 0; e < experts; e++) {
        for (size_t i = 0; i < inputs; i++) {
            for (size_t c = 0; c < columns; c++) {
                oc_tensor_widen(&tensor, (e * inputs + i) * all + first + c, 1,
                                &values[(e * columns + c) * inputs + i]);
            }
        }
    }
}

static inline void writer_layer(gguf_writer *w, const oc_weights *weights, const oc_config *config,
                                size_t layer)
{
    static const char *const dense[][2] = {{"mlp.gate_proj.weight", "ffn_gate.weight"},
                                           {"mlp.up_proj.weight", "ffn_up.weight"},
                                           {"mlp.down_proj.weight", "ffn_down.weight"}};
    static const char *const common[][2] = {{"input_layernorm.weight", "attn_norm.weight"},
                                            {"post_attention_layernorm.weight", "ffn_norm.weight"},
                                            {"self_attn.q_proj.weight", "attn_q.weight"},
                                            {"self_attn.k_proj.weight", "attn_k.weight"},
                                            {"self_attn.v_proj.weight", "attn_v.weight"},
                                            {"self_attn.o_proj.weight", "attn_output.weight"},
                                            {"self_attn.q_norm.weight", "attn_q_norm.weight"},
                                            {"self_attn.k_norm.weight", "attn_k_norm.weight"}};
    char from[160], to[96];
    size_t inter = config->decoder.expert_intermediate;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        snprintf(from, sizeof from, "model.language_model.layers.%zu.%s", layer, common[i][0]);
        snprintf(to, sizeof to, "blk.%zu.%s", layer, common[i][1]);
        writer_copy(w, weights, from, to);
    }
    for (size_t i = 0; config->decoder.experts == 0 && i < 3; i++) {
        snprintf(from, sizeof from, "model.language_model.layers.%zu.%s", layer, dense[i][0]);
        snprintf(to, sizeof to, "blk.%zu.%s", layer, dense[i][1]);
        writer_copy(w, weights, from, to);
    }
    if (config->decoder.experts > 0) {
        snprintf(from, sizeof from, "model.language_model.layers.%zu.mlp.gate.weight", layer);
        snprintf(to, sizeof to, "blk.%zu.ffn_gate_inp.weight", layer);
        writer_copy(w, weights, from, to);
        snprintf(from, sizeof from, "model.language_model.layers.%zu.mlp.experts.gate_up_proj",
                 layer);
        snprintf(to, sizeof to, "blk.%zu.ffn_gate_exps.weight", layer);
        writer_turned(w, weights, from, 0, inter, to);
        snprintf(to, sizeof to, "blk.%zu.ffn_up_exps.weight", layer);
        writer_turned(w, weights, from, inter, inter, to);
        snprintf(from, sizeof from, "model.language_model.layers.%zu.mlp.experts.down_proj", layer);
        snprintf(to, sizeof to, "blk.%zu.ffn_down_exps.weight", layer);
        writer_turned(w, weights, from, 0, config->decoder.hidden, to);
    }
}

static inline void writer_both(gguf_writer *w, const oc_weights *weights, const char *from,
                               const char *to)
{
    char whole_from[160], whole_to[96];
    static const char *const endings[] = {"weight", "bias"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(whole_from, sizeof whole_from, "model.visual.%s.%s", from, endings[i]);
        snprintf(whole_to, sizeof whole_to, "%s.%s", to, endings[i]);
        writer_copy(w, weights, whole_from, whole_to);
    }
}

/* The kernel [width, 3, 2, patch, patch] as a tensor for each time slice. */
static inline void writer_slices(gguf_writer *w, const oc_weights *weights)
{
    oc_tensor tensor;
    cr_assert(oc_weights_find(weights, "model.visual.patch_embed.proj.weight", &tensor, NULL));
    const int64_t shape[4] = {tensor.shape[0], tensor.shape[1], tensor.shape[3], tensor.shape[4]};
    size_t plane = (size_t)(shape[2] * shape[3]), planes = (size_t)(shape[0] * shape[1]);
    for (size_t t = 0; t < 2; t++) {
        float *values =
            writer_tensor(w, t == 0 ? "v.patch_embd.weight" : "v.patch_embd.weight.1", 4, shape);
        for (size_t p = 0; p < planes; p++) {
            oc_tensor_widen(&tensor, (2 * p + t) * plane, plane, values + p * plane);
        }
    }
}

static inline void writer_tower(gguf_writer *w, const oc_weights *weights, const oc_config *config)
{
    static const char *const block[][2] = {{"norm1", "ln1"},
                                           {"norm2", "ln2"},
                                           {"attn.qkv", "attn_qkv"},
                                           {"attn.proj", "attn_out"},
                                           {"mlp.linear_fc1", "ffn_up"},
                                           {"mlp.linear_fc2", "ffn_down"}};
    static const char *const merger[][2] = {
        {"norm", "norm"}, {"linear_fc1", "fc1"}, {"linear_fc2", "fc2"}};
    char from[96], to[64];
    writer_slices(w, weights);
    writer_copy(w, weights, "model.visual.patch_embed.proj.bias", "v.patch_embd.bias");
    writer_copy(w, weights, "model.visual.pos_embed.weight", "v.position_embd.weight");
    writer_both(w, weights, "merger.norm", "v.post_ln");
    writer_both(w, weights, "merger.linear_fc1", "mm.0");
    writer_both(w, weights, "merger.linear_fc2", "mm.2");
    for (size_t i = 0; i < config->vit.layers; i++) {
        for (size_t k = 0; k < sizeof block / sizeof *block; k++) {
            snprintf(from, sizeof from, "blocks.%zu.%s", i, block[k][0]);
            snprintf(to, sizeof to, "v.blk.%zu.%s", i, block[k][1]);
            writer_both(w, weights, from, to);
        }
    }
    for (size_t i = 0; i < config->vit.tap_count; i++) {
        for (size_t k = 0; k < sizeof merger / sizeof *merger; k++) {
            snprintf(from, sizeof from, "deepstack_merger_list.%zu.%s", i, merger[k][0]);
            snprintf(to, sizeof to, "v.deepstack.%zu.%s", config->vit.taps[i], merger[k][1]);
            writer_both(w, weights, from, to);
        }
    }
}

/* Both files of a checkpoint. hole: see writer_close; in the text model. */
static inline void write_gguf_pair(const char *checkpoint, const char *text, const char *vision,
                                   uint64_t hole)
{
    ocelli_error err;
    oc_config config;
    oc_weights *weights;
    oc_tensor head;
    gguf_writer *w = calloc(1, sizeof *w);
    cr_assert_not_null(w);
    cr_assert_eq(oc_config_read(&config, checkpoint, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(oc_weights_open(&weights, checkpoint, &err), OCELLI_OK, "%s", err.message);
    writer_text_keys(w, &config, checkpoint);
    writer_copy(w, weights, "model.language_model.embed_tokens.weight", "token_embd.weight");
    writer_copy(w, weights, "model.language_model.norm.weight", "output_norm.weight");
    if (oc_weights_find(weights, "lm_head.weight", &head, NULL)) {
        writer_copy(w, weights, "lm_head.weight", "output.weight");
    }
    for (size_t i = 0; i < config.decoder.layers; i++) {
        writer_layer(w, weights, &config, i);
    }
    writer_close(w, text, hole);
    writer_vision_keys(w, &config);
    writer_tower(w, weights, &config);
    writer_close(w, vision, 0);
    free(w);
    oc_weights_close(weights);
    oc_config_close(&config);
}

#endif
