/* vit_weights.c - names, shapes and places of the tower's tensors. */
#include "vision/vit_weights.h"

#include "runtime/base/memory.h"
#include "runtime/weights/bind.h"

#include <stdio.h>

static ocelli_status fetch_merger(oc_loader *loader, oc_vit_merger *merger, const char *group,
                                  size_t norm_width, const oc_vit_config *config, ocelli_error *err)
{
    size_t merge = (size_t)config->patch.merge_size, wide = config->hidden * merge * merge;
    size_t out = config->out_hidden;
    bool numbered = config->numbered_merger, named = !numbered;
    bool centred = config->norm == OC_VIT_LAYER_NORM;
    const oc_binding list[] = {
        {"norm.weight", offsetof(oc_vit_merger, norm_weight), 0, norm_width, named},
        {"norm.bias", offsetof(oc_vit_merger, norm_bias), 0, norm_width, named && centred},
        {"linear_fc1.weight", offsetof(oc_vit_merger, fc1), wide, wide, named},
        {"linear_fc1.bias", offsetof(oc_vit_merger, fc1_bias), 0, wide, named},
        {"linear_fc2.weight", offsetof(oc_vit_merger, fc2), out, wide, named},
        {"linear_fc2.bias", offsetof(oc_vit_merger, fc2_bias), 0, out, named},
        {"ln_q.weight", offsetof(oc_vit_merger, norm_weight), 0, norm_width, numbered},
        {"ln_q.bias", offsetof(oc_vit_merger, norm_bias), 0, norm_width, numbered && centred},
        {"mlp.0.weight", offsetof(oc_vit_merger, fc1), wide, wide, numbered},
        {"mlp.0.bias", offsetof(oc_vit_merger, fc1_bias), 0, wide, numbered},
        {"mlp.2.weight", offsetof(oc_vit_merger, fc2), out, wide, numbered},
        {"mlp.2.bias", offsetof(oc_vit_merger, fc2_bias), 0, out, numbered},
    };
    return oc_bind(loader, merger, group, list, OC_BINDINGS(list), err);
}

static ocelli_status fetch_block(oc_loader *loader, oc_vit_block *block, size_t index,
                                 const oc_vit_config *config, ocelli_error *err)
{
    size_t hidden = config->hidden, wide = config->intermediate;
    bool centred = config->norm == OC_VIT_LAYER_NORM, gated = config->mlp == OC_VIT_SWIGLU;
    bool tanh = config->mlp == OC_VIT_GELU_TANH, quick = config->mlp == OC_VIT_GELU_QUICK;
    const oc_binding list[] = {
        {"norm1.weight", offsetof(oc_vit_block, norm1_weight), 0, hidden, true},
        {"norm1.bias", offsetof(oc_vit_block, norm1_bias), 0, hidden, centred},
        {"attn.qkv.weight", offsetof(oc_vit_block, qkv), 3 * hidden, hidden, true},
        {"attn.qkv.bias", offsetof(oc_vit_block, qkv_bias), 0, 3 * hidden, true},
        {"attn.proj.weight", offsetof(oc_vit_block, projection), hidden, hidden, true},
        {"attn.proj.bias", offsetof(oc_vit_block, projection_bias), 0, hidden, true},
        {"norm2.weight", offsetof(oc_vit_block, norm2_weight), 0, hidden, true},
        {"norm2.bias", offsetof(oc_vit_block, norm2_bias), 0, hidden, centred},
        {"mlp.linear_fc1.weight", offsetof(oc_vit_block, fc1), wide, hidden, tanh},
        {"mlp.linear_fc1.bias", offsetof(oc_vit_block, fc1_bias), 0, wide, tanh},
        {"mlp.linear_fc2.weight", offsetof(oc_vit_block, fc2), hidden, wide, tanh},
        {"mlp.linear_fc2.bias", offsetof(oc_vit_block, fc2_bias), 0, hidden, tanh},
        {"mlp.fc1.weight", offsetof(oc_vit_block, fc1), wide, hidden, quick},
        {"mlp.fc1.bias", offsetof(oc_vit_block, fc1_bias), 0, wide, quick},
        {"mlp.fc2.weight", offsetof(oc_vit_block, fc2), hidden, wide, quick},
        {"mlp.fc2.bias", offsetof(oc_vit_block, fc2_bias), 0, hidden, quick},
        {"mlp.gate_proj.weight", offsetof(oc_vit_block, gate), wide, hidden, gated},
        {"mlp.gate_proj.bias", offsetof(oc_vit_block, gate_bias), 0, wide, gated},
        {"mlp.up_proj.weight", offsetof(oc_vit_block, fc1), wide, hidden, gated},
        {"mlp.up_proj.bias", offsetof(oc_vit_block, fc1_bias), 0, wide, gated},
        {"mlp.down_proj.weight", offsetof(oc_vit_block, fc2), hidden, wide, gated},
        {"mlp.down_proj.bias", offsetof(oc_vit_block, fc2_bias), 0, hidden, gated},
    };
    char group[64];
    snprintf(group, sizeof group, OC_VIT_PREFIX "blocks.%zu.", index);
    return oc_bind(loader, block, group, list, OC_BINDINGS(list), err);
}

/* The learned table. Read by value, not multiplied: always float32. */
static ocelli_status fetch_positions(oc_vit *vit, oc_loader *loader, ocelli_error *err)
{
    size_t side = vit->config.position_side;
    OC_TRY(oc_loader_matrix_as(loader, OC_VIT_PREFIX "pos_embed.weight", side * side,
                               vit->config.hidden, OC_FORMAT_F32, &vit->positions, err));
    if (vit->positions.format != OC_FORMAT_F32) { /* a package holds what it likes */
        return oc_fail(err, OCELLI_E_FORMAT,
                       "tensor \"" OC_VIT_PREFIX
                       "pos_embed.weight\" is held as %s and must be f32; "
                       "pack the model again",
                       oc_format_name(vit->positions.format));
    }
    return OCELLI_OK;
}

static ocelli_status fetch_all(oc_vit *vit, oc_loader *loader, ocelli_error *err)
{
    const oc_vit_config *config = &vit->config;
    size_t merge = (size_t)config->patch.merge_size;
    size_t wide = config->hidden * merge * merge;
    /* The pixels' own product, 1 % of the tower: an error in it would be in all that follows. */
    oc_format format = oc_loader_format(loader);
    OC_TRY(oc_loader_matrix_as(loader, OC_VIT_PREFIX "patch_embed.proj.weight", config->hidden,
                               oc_vit_patch_values(config),
                               format == OC_FORMAT_Q8 ? OC_FORMAT_BF16 : format, &vit->patch_embed,
                               err));
    if (!config->plain_patches) {
        OC_TRY(oc_loader_vector(loader, OC_VIT_PREFIX "patch_embed.proj.bias", config->hidden,
                                &vit->patch_bias, err));
    }
    if (config->position_side > 0) {
        OC_TRY(fetch_positions(vit, loader, err));
    }
    for (size_t i = 0; i < config->layers; i++) {
        OC_TRY(fetch_block(loader, &vit->blocks[i], i, config, err));
    }
    OC_TRY(
        fetch_merger(loader, &vit->merger, OC_VIT_PREFIX "merger.", config->hidden, config, err));
    for (size_t i = 0; i < config->tap_count; i++) {
        char group[64];
        snprintf(group, sizeof group, OC_VIT_PREFIX "deepstack_merger_list.%zu.", i);
        OC_TRY(fetch_merger(loader, &vit->tap_mergers[i], group, wide, config, err));
    }
    return OCELLI_OK;
}

ocelli_status oc_vit_load(oc_vit **out, const oc_vit_config *config, oc_loader *loader,
                          ocelli_error *err)
{
    *out = NULL;
    oc_vit *vit = oc_alloc(1, sizeof *vit);
    if (vit == NULL) {
        return oc_fail_memory(err, "the vision tower");
    }
    vit->config = *config;
    vit->blocks = oc_alloc(config->layers, sizeof *vit->blocks);
    vit->tap_mergers = oc_alloc(config->tap_count, sizeof *vit->tap_mergers);
    ocelli_status status = vit->blocks == NULL || vit->tap_mergers == NULL
                               ? oc_fail_memory(err, "the vision tower")
                               : fetch_all(vit, loader, err);
    if (status != OCELLI_OK) {
        oc_vit_close(vit);
        return status;
    }
    *out = vit;
    return OCELLI_OK;
}

void oc_vit_close(oc_vit *vit)
{
    if (vit != NULL) {
        oc_free(vit->blocks);
        oc_free(vit->tap_mergers);
        oc_free(vit);
    }
}

const oc_vit_config *oc_vit_get_config(const oc_vit *vit)
{
    return &vit->config;
}

size_t oc_vit_patch_values(const oc_vit_config *config)
{
    size_t side = (size_t)config->patch.patch_size;
    return (size_t)config->patch.channels * (size_t)config->patch.temporal_patch_size * side * side;
}

size_t oc_vit_widest_row(const oc_vit_config *config)
{
    size_t widest = 16 * config->hidden;
    size_t patch = oc_vit_patch_values(config);
    widest = patch > widest ? patch : widest;
    widest = config->intermediate > widest ? config->intermediate : widest;
    return (config->out_hidden > widest ? config->out_hidden : widest) * sizeof(float) * 4;
}
