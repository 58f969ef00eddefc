/* vit_weights.c - names, shapes and places of the tower's tensors. */
#include "vision/vit_weights.h"

#include "runtime/base/memory.h"

#include <stdio.h>

/* Hugging Face names, after the prefix. */
#define PREFIX "model.visual."

typedef struct request {
    const char *name; /* after the prefix of its group */
    size_t offset;    /* in the struct being filled: of an oc_matrix, or of a const float * */
    size_t rows;      /* 0: a vector of cols values */
    size_t cols;
} request;

static ocelli_status fetch(oc_loader *loader, void *into, const char *group, const request *list,
                           size_t count, ocelli_error *err)
{
    for (size_t i = 0; i < count; i++) {
        char name[160];
        unsigned char *place = (unsigned char *)into + list[i].offset;
        snprintf(name, sizeof name, PREFIX "%s%s", group, list[i].name);
        if (list[i].rows != 0) {
            OC_TRY(oc_loader_matrix(loader, name, list[i].rows, list[i].cols,
                                    (oc_matrix *)(void *)place, err));
        } else {
            OC_TRY(
                oc_loader_vector(loader, name, list[i].cols, (const float **)(void *)place, err));
        }
    }
    return OCELLI_OK;
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

static ocelli_status fetch_merger(oc_loader *loader, oc_vit_merger *merger, const char *group,
                                  size_t norm_width, size_t wide, size_t out_hidden,
                                  ocelli_error *err)
{
    const request list[] = {
        {"norm.weight", offsetof(oc_vit_merger, norm_weight), 0, norm_width},
        {"norm.bias", offsetof(oc_vit_merger, norm_bias), 0, norm_width},
        {"linear_fc1.weight", offsetof(oc_vit_merger, fc1), wide, wide},
        {"linear_fc1.bias", offsetof(oc_vit_merger, fc1_bias), 0, wide},
        {"linear_fc2.weight", offsetof(oc_vit_merger, fc2), out_hidden, wide},
        {"linear_fc2.bias", offsetof(oc_vit_merger, fc2_bias), 0, out_hidden},
    };
    return fetch(loader, merger, group, list, COUNT(list), err);
}

static ocelli_status fetch_block(oc_loader *loader, oc_vit_block *block, size_t index,
                                 const oc_vit_config *config, ocelli_error *err)
{
    size_t hidden = config->hidden, wide = config->intermediate;
    const request list[] = {
        {"norm1.weight", offsetof(oc_vit_block, norm1_weight), 0, hidden},
        {"norm1.bias", offsetof(oc_vit_block, norm1_bias), 0, hidden},
        {"attn.qkv.weight", offsetof(oc_vit_block, qkv), 3 * hidden, hidden},
        {"attn.qkv.bias", offsetof(oc_vit_block, qkv_bias), 0, 3 * hidden},
        {"attn.proj.weight", offsetof(oc_vit_block, projection), hidden, hidden},
        {"attn.proj.bias", offsetof(oc_vit_block, projection_bias), 0, hidden},
        {"norm2.weight", offsetof(oc_vit_block, norm2_weight), 0, hidden},
        {"norm2.bias", offsetof(oc_vit_block, norm2_bias), 0, hidden},
        {"mlp.linear_fc1.weight", offsetof(oc_vit_block, fc1), wide, hidden},
        {"mlp.linear_fc1.bias", offsetof(oc_vit_block, fc1_bias), 0, wide},
        {"mlp.linear_fc2.weight", offsetof(oc_vit_block, fc2), hidden, wide},
        {"mlp.linear_fc2.bias", offsetof(oc_vit_block, fc2_bias), 0, hidden},
    };
    char group[48];
    snprintf(group, sizeof group, "blocks.%zu.", index);
    return fetch(loader, block, group, list, COUNT(list), err);
}

static ocelli_status fetch_all(oc_vit *vit, oc_loader *loader, ocelli_error *err)
{
    const oc_vit_config *config = &vit->config;
    size_t merge = (size_t)config->patch.merge_size;
    size_t wide = config->hidden * merge * merge;
    const request head[] = {
        {"patch_embed.proj.weight", offsetof(oc_vit, patch_embed), config->hidden,
         oc_vit_patch_values(config)},
        {"patch_embed.proj.bias", offsetof(oc_vit, patch_bias), 0, config->hidden},
    };
    OC_TRY(fetch(loader, vit, "", head, COUNT(head), err));
    /* Read by value, not multiplied: always float32. */
    OC_TRY(oc_loader_matrix_as(loader, PREFIX "pos_embed.weight",
                               config->position_side * config->position_side, config->hidden,
                               OC_FORMAT_F32, &vit->positions, err));
    for (size_t i = 0; i < config->layers; i++) {
        OC_TRY(fetch_block(loader, &vit->blocks[i], i, config, err));
    }
    OC_TRY(fetch_merger(loader, &vit->merger, "merger.", config->hidden, wide, config->out_hidden,
                        err));
    for (size_t i = 0; i < config->tap_count; i++) {
        char group[48];
        snprintf(group, sizeof group, "deepstack_merger_list.%zu.", i);
        OC_TRY(
            fetch_merger(loader, &vit->tap_mergers[i], group, wide, wide, config->out_hidden, err));
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
