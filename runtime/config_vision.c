/* config_vision.c - vision_config and the two processor files. */
#include "runtime/config_parts.h"

enum { MOST_WIDTH = 1 << 18, MOST_HEADS = 4096, MOST_PATCH = 256, MOST_MERGE = 16 };

/* 2^40 pixels: beyond any picture; sums of a few of them stay inside 64 bits. */
static const int64_t MOST_PIXELS = INT64_C(1) << 40;

static ocelli_status get(oc_json_object object, const char *key, int64_t least, int64_t most,
                         size_t *out, ocelli_error *err)
{
    int64_t value;
    OC_TRY(oc_json_int(object, key, least, most, &value, err));
    *out = (size_t)value;
    return OCELLI_OK;
}

static ocelli_status get_or(oc_json_object object, const char *key, int64_t least, int64_t most,
                            int64_t fallback, int *out, ocelli_error *err)
{
    int64_t value;
    OC_TRY(oc_json_int_or(object, key, least, most, fallback, &value, err));
    *out = (int)value;
    return OCELLI_OK;
}

static size_t square_root(size_t square)
{
    size_t root = 0;
    while ((root + 1) * (root + 1) <= square) {
        root++;
    }
    return root;
}

static ocelli_status read_taps(oc_vit_config *out, oc_json_object vision, ocelli_error *err)
{
    int64_t taps[OC_VIT_MOST_TAPS] = {8, 16, 24}; /* the reference's default */
    size_t count = 3;
    if (oc_json_has(vision, "deepstack_visual_indexes")) {
        OC_TRY(oc_json_ints(vision, "deepstack_visual_indexes", 0, (int64_t)out->layers - 1, taps,
                            OC_VIT_MOST_TAPS, &count, err));
    }
    for (size_t i = 0; i < count; i++) {
        if ((size_t)taps[i] >= out->layers) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: deepstack_visual_indexes holds %lld, but there are %zu blocks",
                           vision.file, (long long)taps[i], out->layers);
        }
        out->taps[i] = (size_t)taps[i];
    }
    out->tap_count = count;
    return OCELLI_OK;
}

ocelli_status oc_config_read_vision(oc_config *config, oc_json_object top, ocelli_error *err)
{
    oc_vit_config *out = &config->vit;
    oc_json_object vision;
    size_t positions;
    OC_TRY(oc_json_child(top, "vision_config", &vision, err));
    if (vision.node == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: no vision_config object; this is not a vision-language model",
                       top.file);
    }
    OC_TRY(get(vision, "depth", 1, OC_VIT_MOST_LAYERS, &out->layers, err));
    OC_TRY(get(vision, "hidden_size", 4, MOST_WIDTH, &out->hidden, err));
    OC_TRY(get(vision, "num_heads", 1, MOST_HEADS, &out->heads, err));
    OC_TRY(get(vision, "intermediate_size", 1, MOST_WIDTH, &out->intermediate, err));
    OC_TRY(get(vision, "out_hidden_size", 1, MOST_WIDTH, &out->out_hidden, err));
    OC_TRY(get(vision, "num_position_embeddings", 1, 1 << 24, &positions, err));
    OC_TRY(oc_config_require_text(vision, "hidden_act", "gelu_pytorch_tanh", err));
    OC_TRY(get_or(vision, "patch_size", 1, MOST_PATCH, 16, &out->patch.patch_size, err));
    OC_TRY(get_or(vision, "temporal_patch_size", 1, 16, 2, &out->patch.temporal_patch_size, err));
    OC_TRY(get_or(vision, "spatial_merge_size", 1, MOST_MERGE, 2, &out->patch.merge_size, err));
    OC_TRY(get_or(vision, "in_channels", 3, 3, 3, &out->patch.channels, err));
    out->position_side = square_root(positions);
    if (out->position_side * out->position_side != positions) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: num_position_embeddings %zu is not a square",
                       top.file, positions);
    }
    out->head_dim = out->hidden / out->heads;
    if (out->head_dim * out->heads != out->hidden || out->head_dim % 4 != 0) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: vision hidden_size %zu over %zu heads is not a whole multiple of 4",
                       top.file, out->hidden, out->heads);
    }
    if (out->out_hidden != config->decoder.hidden) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: the vision tower gives rows of %zu but the decoder takes rows of %zu; "
                       "they are of different models",
                       top.file, out->out_hidden, config->decoder.hidden);
    }
    return read_taps(out, vision, err);
}

/* size.shortest_edge and longest_edge are areas, whatever their names; the legacy min_pixels and
 * max_pixels override them. */
static ocelli_status read_size(oc_size_rule *rule, const oc_vit_config *vit, oc_json_object top,
                               int64_t least, int64_t most, ocelli_error *err)
{
    oc_json_object size;
    int64_t low, high;
    OC_TRY(oc_json_child(top, "size", &size, err));
    OC_TRY(oc_json_int_or(size, "shortest_edge", 1, MOST_PIXELS, least, &low, err));
    OC_TRY(oc_json_int_or(size, "longest_edge", 1, MOST_PIXELS, most, &high, err));
    OC_TRY(oc_json_int_or(top, "min_pixels", 1, MOST_PIXELS, low, &low, err));
    OC_TRY(oc_json_int_or(top, "max_pixels", 1, MOST_PIXELS, high, &high, err));
    if (low > high) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: size: shortest_edge %lld is above longest_edge %lld", top.file,
                       (long long)low, (long long)high);
    }
    *rule = (oc_size_rule){.factor = vit->patch.patch_size * vit->patch.merge_size,
                           .temporal = vit->patch.temporal_patch_size,
                           .min_pixels = (uint64_t)low,
                           .max_pixels = (uint64_t)high};
    return OCELLI_OK;
}

/* The processor's patch must be the tower's. */
static ocelli_status check_patch(const oc_vit_config *vit, oc_json_object top, ocelli_error *err)
{
    int patch, temporal, merge;
    OC_TRY(get_or(top, "patch_size", 1, MOST_PATCH, vit->patch.patch_size, &patch, err));
    OC_TRY(
        get_or(top, "temporal_patch_size", 1, 16, vit->patch.temporal_patch_size, &temporal, err));
    OC_TRY(get_or(top, "merge_size", 1, MOST_MERGE, vit->patch.merge_size, &merge, err));
    if (patch != vit->patch.patch_size || temporal != vit->patch.temporal_patch_size ||
        merge != vit->patch.merge_size) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: patch_size %d, temporal_patch_size %d, merge_size %d do not fit "
                       "config.json's %d, %d, %d",
                       top.file, patch, temporal, merge, vit->patch.patch_size,
                       vit->patch.temporal_patch_size, vit->patch.merge_size);
    }
    return OCELLI_OK;
}

static ocelli_status read_triple(oc_json_object top, const char *key, float out[3],
                                 ocelli_error *err)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(top.node, key);
    out[0] = out[1] = out[2] = 0.5f; /* the reference's default */
    if (list == NULL) {
        return OCELLI_OK;
    }
    const cJSON *item = cJSON_IsArray(list) ? list->child : NULL;
    for (int i = 0; i < 3; i++, item = item != NULL ? item->next : NULL) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble > -1e3 && item->valuedouble < 1e3)) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: %s: expected three numbers", top.file, key);
        }
        out[i] = (float)item->valuedouble;
    }
    return OCELLI_OK;
}

ocelli_status oc_config_read_images(oc_config *config, oc_json_object top, ocelli_error *err)
{
    oc_patch_rule *patch = &config->vit.patch;
    OC_TRY(check_patch(&config->vit, top, err));
    OC_TRY(read_triple(top, "image_mean", patch->mean, err));
    OC_TRY(read_triple(top, "image_std", patch->deviation, err));
    for (int i = 0; i < 3; i++) {
        if (!(patch->deviation[i] > 0.0f)) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: image_std: must be above 0", top.file);
        }
    }
    return read_size(&config->image_size, &config->vit, top, 65536, 16777216, err);
}

ocelli_status oc_config_read_videos(oc_config *config, oc_json_object top, ocelli_error *err)
{
    int64_t least, most;
    OC_TRY(check_patch(&config->vit, top, err));
    OC_TRY(read_size(&config->video_size, &config->vit, top, 128 * 1024, 768 * 1024, err));
    OC_TRY(oc_json_double_or(top, "fps", 1e-6, 1e6, 2.0, &config->video_fps, err));
    OC_TRY(oc_json_int_or(top, "min_frames", 1, 1 << 24, 4, &least, err));
    OC_TRY(oc_json_int_or(top, "max_frames", 1, 1 << 24, 768, &most, err));
    if (least > most) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: min_frames %lld is above max_frames %lld",
                       top.file, (long long)least, (long long)most);
    }
    config->min_frames = (uint64_t)least;
    config->max_frames = (uint64_t)most;
    return OCELLI_OK;
}
