/* synth_tensors.c - see synth_tensors.h. Names and shapes are those of
 * the published checkpoints. */
#include "tools/synth_tensors.h"
#include "tools/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of files hold five digits. */
enum { MOST_SHARDS = 99999 };

/* A thousand times the largest published model; sums of bytes stay far inside 64 bits. */
static const uint64_t MOST_VALUES = (uint64_t)1 << 48;

static void add(synth_tensors *list, double mean, double deviation, int rank, const uint64_t *shape,
                const char *format, va_list arguments)
{
    if (list->count == list->room && !list->failed) {
        size_t room = list->room == 0 ? 512 : list->room * 2;
        synth_tensor *larger = realloc(list->items, room * sizeof *larger);
        list->failed = larger == NULL;
        if (larger != NULL) {
            list->items = larger;
            list->room = room;
        }
    }
    if (list->failed) {
        return;
    }
    synth_tensor *tensor = &list->items[list->count++];
    memset(tensor, 0, sizeof *tensor);
    vsnprintf(tensor->name, sizeof tensor->name, format, arguments);
    tensor->rank = rank;
    tensor->mean = mean;
    tensor->deviation = deviation;
    tensor->count = 1;
    for (int i = 0; i < rank; i++) {
        tensor->shape[i] = shape[i];
        tensor->count *= shape[i];
    }
}

/* [rows, columns] */
static void add_matrix(synth_tensors *list, double gain, uint64_t rows, uint64_t columns,
                       const char *format, ...)
{
    const uint64_t shape[2] = {rows, columns};
    va_list arguments;
    va_start(arguments, format);
    add(list, 0, gain / sqrt((double)columns), 2, shape, format, arguments);
    va_end(arguments);
}

/* [experts, columns, rows] */
static void add_experts(synth_tensors *list, double gain, uint64_t experts, uint64_t columns,
                        uint64_t rows, const char *format, ...)
{
    const uint64_t shape[3] = {experts, columns, rows};
    va_list arguments;
    va_start(arguments, format);
    add(list, 0, gain / sqrt((double)columns), 3, shape, format, arguments);
    va_end(arguments);
}

/* [rows, columns], looked up by row */
static void add_table(synth_tensors *list, double deviation, uint64_t rows, uint64_t columns,
                      const char *format, ...)
{
    const uint64_t shape[2] = {rows, columns};
    va_list arguments;
    va_start(arguments, format);
    add(list, 0, deviation, 2, shape, format, arguments);
    va_end(arguments);
}

static void add_norm(synth_tensors *list, uint64_t width, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(list, 1.0, 0.05, 1, &width, format, arguments);
    va_end(arguments);
}

static void add_bias(synth_tensors *list, uint64_t width, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(list, 0.0, 0.02, 1, &width, format, arguments);
    va_end(arguments);
}

/* ---- the decoder --------------------------------------------------------------------------- */

/* Names begin so; those of older models shorter. */
static const char MODEL[] = "model.language_model.", OLDER_MODEL[] = "model.";

#define LAYER "%slayers.%u."

static void list_layer(synth_tensors *list, const model_shape *s, unsigned i)
{
    double into_residual = 1.0 / sqrt(2.0 * (double)s->layers);
    uint64_t q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim;
    const char *model = s->older ? OLDER_MODEL : MODEL;
    add_norm(list, s->hidden, LAYER "input_layernorm.weight", model, i);
    add_matrix(list, 1, q, s->hidden, LAYER "self_attn.q_proj.weight", model, i);
    add_matrix(list, 1, kv, s->hidden, LAYER "self_attn.k_proj.weight", model, i);
    add_matrix(list, 1, kv, s->hidden, LAYER "self_attn.v_proj.weight", model, i);
    add_matrix(list, into_residual, s->hidden, q, LAYER "self_attn.o_proj.weight", model, i);
    if (s->attention_bias) {
        add_bias(list, q, LAYER "self_attn.q_proj.bias", model, i);
        add_bias(list, kv, LAYER "self_attn.k_proj.bias", model, i);
        add_bias(list, kv, LAYER "self_attn.v_proj.bias", model, i);
    }
    if (s->attention_bias && !s->older) {
        add_bias(list, s->hidden, LAYER "self_attn.o_proj.bias", model, i);
    }
    if (!s->older) {
        add_norm(list, s->head_dim, LAYER "self_attn.q_norm.weight", model, i);
        add_norm(list, s->head_dim, LAYER "self_attn.k_norm.weight", model, i);
    }
    add_norm(list, s->hidden, LAYER "post_attention_layernorm.weight", model, i);
    if (s->sparse[i]) {
        add_matrix(list, 1, s->experts, s->hidden, LAYER "mlp.gate.weight", model, i);
        add_experts(list, 1, s->experts, s->hidden, 2 * s->expert_intermediate,
                    LAYER "mlp.experts.gate_up_proj", model, i);
        add_experts(list, into_residual, s->experts, s->expert_intermediate, s->hidden,
                    LAYER "mlp.experts.down_proj", model, i);
    } else {
        add_matrix(list, 1, s->intermediate, s->hidden, LAYER "mlp.gate_proj.weight", model, i);
        add_matrix(list, 1, s->intermediate, s->hidden, LAYER "mlp.up_proj.weight", model, i);
        add_matrix(list, into_residual, s->hidden, s->intermediate, LAYER "mlp.down_proj.weight",
                   model, i);
    }
}

static void list_decoder(synth_tensors *list, const model_shape *s)
{
    const char *model = s->older ? OLDER_MODEL : MODEL;
    add_table(list, 0.01, s->vocab, s->hidden, "%sembed_tokens.weight", model);
    for (unsigned i = 0; i < s->layers; i++) {
        list_layer(list, s, i);
    }
    add_norm(list, s->hidden, "%snorm.weight", model);
    if (!s->tied) {
        add_table(list, 0.01, s->vocab, s->hidden, "lm_head.weight");
    }
}

/* ---- the vision tower ---------------------------------------------------------------------- */

static const char TOWER[] = "model.visual.", OLDER_TOWER[] = "visual.";

static const char *tower_name(const model_shape *s)
{
    return s->older ? OLDER_TOWER : TOWER;
}

#define BLOCK "%sblocks.%u."

/* Names of the matrices. */
typedef struct synth_mlp {
    const char *gate, *first, *second; /* gate NULL: none */
} synth_mlp;

static const synth_mlp MLPS[] = {[SHAPE_MLP_TANH] = {NULL, "linear_fc1", "linear_fc2"},
                                 [SHAPE_MLP_QUICK] = {NULL, "fc1", "fc2"},
                                 [SHAPE_MLP_GATED] = {"gate_proj", "up_proj", "down_proj"}};

/* A matrix of a block, and its bias. */
static void add_linear(synth_tensors *list, double gain, uint64_t rows, uint64_t columns,
                       const char *tower, unsigned block, const char *name)
{
    add_matrix(list, gain, rows, columns, BLOCK "%s.weight", tower, block, name);
    add_bias(list, rows, BLOCK "%s.bias", tower, block, name);
}

static void list_block(synth_tensors *list, const model_shape *s, unsigned i)
{
    double into_residual = 1.0 / sqrt(2.0 * (double)s->vision_layers);
    uint64_t width = s->vision_hidden, wide = s->vision_intermediate;
    const char *tower = tower_name(s);
    const synth_mlp *mlp = &MLPS[s->mlp];
    bool centred = s->mlp != SHAPE_MLP_GATED;
    add_norm(list, width, BLOCK "norm1.weight", tower, i);
    if (centred) {
        add_bias(list, width, BLOCK "norm1.bias", tower, i);
    }
    add_linear(list, 1, 3 * width, width, tower, i, "attn.qkv");
    add_linear(list, into_residual, width, width, tower, i, "attn.proj");
    add_norm(list, width, BLOCK "norm2.weight", tower, i);
    if (centred) {
        add_bias(list, width, BLOCK "norm2.bias", tower, i);
    }
    char name[32];
    if (mlp->gate != NULL) {
        snprintf(name, sizeof name, "mlp.%s", mlp->gate);
        add_linear(list, 1, wide, width, tower, i, name);
    }
    snprintf(name, sizeof name, "mlp.%s", mlp->first);
    add_linear(list, 1, wide, width, tower, i, name);
    snprintf(name, sizeof name, "mlp.%s", mlp->second);
    add_linear(list, into_residual, width, wide, tower, i, name);
}

/* prefix ends with a dot; the main merger normalises rows before four become one,
 * the others after. */
static void list_merger(synth_tensors *list, const model_shape *s, const char *prefix,
                        uint64_t norm_width)
{
    uint64_t merged = s->vision_hidden * s->merge * s->merge;
    const char *norm = s->older ? "ln_q" : "norm";
    const char *first = s->older ? "mlp.0" : "linear_fc1",
               *second = s->older ? "mlp.2" : "linear_fc2";
    add_norm(list, norm_width, "%s%s.weight", prefix, norm);
    if (s->mlp != SHAPE_MLP_GATED) {
        add_bias(list, norm_width, "%s%s.bias", prefix, norm);
    }
    add_matrix(list, 1, merged, merged, "%s%s.weight", prefix, first);
    add_bias(list, merged, "%s%s.bias", prefix, first);
    add_matrix(list, 0.5, s->hidden, merged, "%s%s.weight", prefix, second);
    add_bias(list, s->hidden, "%s%s.bias", prefix, second);
}

static void add_patches(synth_tensors *list, const model_shape *s, const char *format, ...)
{
    const uint64_t shape[5] = {s->vision_hidden, s->channels, s->temporal, s->patch, s->patch};
    double columns = (double)(s->channels * s->temporal * s->patch * s->patch);
    va_list arguments;
    va_start(arguments, format);
    add(list, 0, 1.0 / sqrt(columns), 5, shape, format, arguments);
    va_end(arguments);
}

static void list_tower(synth_tensors *list, const model_shape *s)
{
    char prefix[64];
    add_patches(list, s, "%spatch_embed.proj.weight", tower_name(s));
    if (!s->older) {
        add_bias(list, s->vision_hidden, "%spatch_embed.proj.bias", TOWER);
        add_table(list, 0.05, s->positions, s->vision_hidden, "%spos_embed.weight", TOWER);
    }
    for (unsigned i = 0; i < s->vision_layers; i++) {
        list_block(list, s, i);
    }
    snprintf(prefix, sizeof prefix, "%smerger.", tower_name(s));
    list_merger(list, s, prefix, s->vision_hidden);
    for (unsigned i = 0; i < s->taps; i++) {
        snprintf(prefix, sizeof prefix, "%sdeepstack_merger_list.%u.", TOWER, i);
        list_merger(list, s, prefix, s->vision_hidden * s->merge * s->merge);
    }
}

/* ---- all ----------------------------------------------------------------------------------- */

static bool place(synth_tensors *list, uint64_t shard_bytes)
{
    uint64_t used = 0;
    size_t shard = 0;
    for (size_t i = 0; i < list->count; i++) {
        synth_tensor *tensor = &list->items[i];
        uint64_t bytes = 2 * tensor->count;
        if (used > 0 && (used >= shard_bytes || bytes > shard_bytes - used)) {
            shard++;
            used = 0;
        }
        tensor->shard = shard;
        tensor->offset = used;
        used += bytes;
    }
    list->shards = shard + 1;
    if (list->shards > MOST_SHARDS) {
        report_error("--shard-size: that makes %zu files; %d are the most", list->shards,
                     MOST_SHARDS);
        return false;
    }
    return true;
}

bool synth_tensors_open(synth_tensors *out, const model_shape *shape, uint64_t shard_bytes)
{
    memset(out, 0, sizeof *out);
    list_decoder(out, shape);
    size_t decoder = out->count;
    list_tower(out, shape);
    if (out->failed) {
        report_error("no memory");
        return false;
    }
    for (size_t i = 0; i < out->count; i++) {
        *(i < decoder ? &out->text_values : &out->vision_values) += out->items[i].count;
        if (out->text_values + out->vision_values > MOST_VALUES) {
            report_error("a model of these sizes would have more than %llu parameters",
                         (unsigned long long)MOST_VALUES);
            return false;
        }
    }
    return place(out, shard_bytes);
}

void synth_tensors_close(synth_tensors *tensors)
{
    free(tensors->items);
    memset(tensors, 0, sizeof *tensors);
}
