/* decoder_weights.c - names, shapes and places of the decoder's tensors. */
#include "text/decoder_weights.h"

#include "runtime/base/memory.h"
#include "runtime/weights/bind.h"
#include "text/tensor_names.h"

#include <stdio.h>
#include <string.h>

#define FIELD(name) offsetof(oc_decoder_layer, name)

static ocelli_status fetch_experts(oc_loader *loader, oc_decoder_layer *layer, size_t index,
                                   const oc_decoder_config *config, ocelli_error *err)
{
    char gate_up[160], down[160], router[160];
    layer->experts = oc_alloc(config->experts, sizeof *layer->experts);
    if (layer->experts == NULL) {
        return oc_fail_memory(err, "the experts of a layer");
    }
    /* A flipped expert changes an answer more than any rounding of weights:
     * the router stays exact. */
    snprintf(router, sizeof router, OC_LAYER_PREFIX "%zu.mlp.gate.weight", index);
    OC_TRY(oc_loader_matrix_as(loader, router, config->experts, config->hidden, OC_FORMAT_F32,
                               &layer->router, err));
    snprintf(gate_up, sizeof gate_up, OC_LAYER_PREFIX "%zu.mlp.experts.gate_up_proj", index);
    snprintf(down, sizeof down, OC_LAYER_PREFIX "%zu.mlp.experts.down_proj", index);
    for (size_t i = 0; i < config->experts; i++) {
        OC_TRY(oc_loader_expert(loader, gate_up, down, i, config->experts, config->hidden,
                                config->expert_intermediate, &layer->experts[i], err));
    }
    return OCELLI_OK;
}

/* Keys and values are read again by every later token, each of them for several query heads: of all
 * matrices theirs are the most sensitive and, with few heads, the smallest. Q8 for these two alone
 * adds 6 % to a Q4 decoder of 2 B weights and took away two fifths of the divergence from float32;
 * the same bytes spent on any other matrix took away less (measured on the sample model, with
 * `ocelli eval --reference`). */
static oc_format keyed_format(oc_format format)
{
    return format == OC_FORMAT_Q4 ? OC_FORMAT_Q8 : format;
}

static ocelli_status fetch_layer(oc_loader *loader, oc_decoder_layer *layer, size_t index,
                                 const oc_decoder_config *config, ocelli_error *err)
{
    size_t hidden = config->hidden, wide = config->intermediate;
    size_t queries = config->heads * config->head_dim, keys = config->kv_heads * config->head_dim;
    bool bias = config->attention_bias, normed = !config->plain_heads;
    bool dense = config->sparse == NULL || !config->sparse[index];
    const oc_binding keyed[] = {
        {"self_attn.k_proj.weight", FIELD(key), keys, hidden, true},
        {"self_attn.v_proj.weight", FIELD(value), keys, hidden, true},
    };
    const oc_binding list[] = {
        {"input_layernorm.weight", FIELD(input_norm), 0, hidden, true},
        {"self_attn.q_proj.weight", FIELD(query), queries, hidden, true},
        {"self_attn.q_proj.bias", FIELD(query_bias), 0, queries, bias},
        {"self_attn.k_proj.bias", FIELD(key_bias), 0, keys, bias},
        {"self_attn.v_proj.bias", FIELD(value_bias), 0, keys, bias},
        {"self_attn.q_norm.weight", FIELD(query_norm), 0, config->head_dim, normed},
        {"self_attn.k_norm.weight", FIELD(key_norm), 0, config->head_dim, normed},
        {"self_attn.o_proj.weight", FIELD(output), hidden, queries, true},
        {"self_attn.o_proj.bias", FIELD(output_bias), 0, hidden, bias && !config->plain_output},
        {"post_attention_layernorm.weight", FIELD(post_norm), 0, hidden, true},
        {"mlp.gate_proj.weight", FIELD(gate), wide, hidden, dense},
        {"mlp.up_proj.weight", FIELD(up), wide, hidden, dense},
        {"mlp.down_proj.weight", FIELD(down), hidden, wide, dense},
    };
    char prefix[64];
    snprintf(prefix, sizeof prefix, OC_LAYER_PREFIX "%zu.", index);
    OC_TRY(oc_bind_as(loader, layer, prefix, keyed, OC_BINDINGS(keyed),
                      keyed_format(oc_loader_format(loader)), err));
    OC_TRY(oc_bind(loader, layer, prefix, list, OC_BINDINGS(list), err));
    return dense ? OCELLI_OK : fetch_experts(loader, layer, index, config, err);
}

static ocelli_status fetch_all(oc_decoder *decoder, oc_loader *loader, bool has_head,
                               ocelli_error *err)
{
    const oc_decoder_config *config = &decoder->config;
    for (size_t i = 0; i < config->layers; i++) {
        OC_TRY(fetch_layer(loader, &decoder->layers[i], i, config, err));
    }
    oc_head *head = &decoder->head;
    head->norm_eps = config->rms_norm_eps;
    OC_TRY(oc_loader_vector(loader, OC_FINAL_NORM, config->hidden, &head->norm, err));
    return oc_loader_matrix_as(
        loader, has_head ? OC_LM_HEAD : OC_EMBED_TOKENS, config->vocab, config->hidden,
        oc_head_format(oc_loader_format(loader), config->tied), &head->matrix, err);
}

static ocelli_status copy_config(oc_decoder *decoder, const oc_decoder_config *config,
                                 ocelli_error *err)
{
    decoder->config = *config;
    decoder->config.sparse = NULL;
    if (config->sparse != NULL) {
        decoder->config.sparse = oc_alloc(config->layers, sizeof *config->sparse);
        if (decoder->config.sparse == NULL) {
            return oc_fail_memory(err, "the decoder");
        }
        memcpy(decoder->config.sparse, config->sparse, config->layers * sizeof *config->sparse);
    }
    decoder->layers = oc_alloc(config->layers, sizeof *decoder->layers);
    decoder->inverse = oc_alloc(config->head_dim / 2, sizeof *decoder->inverse);
    decoder->axis = oc_alloc(config->head_dim / 2, sizeof *decoder->axis);
    if (decoder->layers == NULL || decoder->inverse == NULL || decoder->axis == NULL) {
        return oc_fail_memory(err, "the decoder");
    }
    return OCELLI_OK;
}

ocelli_status oc_decoder_load(oc_decoder **out, const oc_decoder_config *config, oc_loader *loader,
                              bool has_head, ocelli_error *err)
{
    *out = NULL;
    oc_decoder *decoder = oc_alloc(1, sizeof *decoder);
    if (decoder == NULL) {
        return oc_fail_memory(err, "the decoder");
    }
    ocelli_status status = copy_config(decoder, config, err);
    if (status == OCELLI_OK) {
        status = fetch_all(decoder, loader, has_head, err);
    }
    if (status != OCELLI_OK) {
        oc_decoder_close(decoder);
        return status;
    }
    oc_mrope_plan(&config->mrope, decoder->inverse, decoder->axis);
    *out = decoder;
    return OCELLI_OK;
}

void oc_decoder_close(oc_decoder *decoder)
{
    if (decoder == NULL) {
        return;
    }
    for (size_t i = 0; decoder->layers != NULL && i < decoder->config.layers; i++) {
        oc_free(decoder->layers[i].experts);
    }
    oc_free(decoder->layers);
    oc_free(decoder->config.sparse);
    oc_free(decoder->inverse);
    oc_free(decoder->axis);
    oc_free(decoder);
}

const oc_decoder_config *oc_decoder_get_config(const oc_decoder *decoder)
{
    return &decoder->config;
}

const oc_matrix *oc_decoder_head(const oc_decoder *decoder)
{
    return &decoder->head.matrix;
}

void oc_decoder_settle(oc_decoder *decoder, const oc_embed_table *table)
{
    decoder->head.table = table;
}

uint64_t oc_decoder_elements(const oc_decoder_config *config)
{
    uint64_t total = (uint64_t)config->vocab * config->hidden;
    uint64_t attention = (uint64_t)config->hidden * config->head_dim *
                         (2 * (uint64_t)config->heads + 2 * (uint64_t)config->kv_heads);
    for (size_t i = 0; i < config->layers; i++) {
        bool dense = config->sparse == NULL || !config->sparse[i];
        total += attention;
        total += dense
                     ? 3 * (uint64_t)config->hidden * config->intermediate
                     : 3 * (uint64_t)config->experts * config->hidden * config->expert_intermediate;
    }
    return total;
}
