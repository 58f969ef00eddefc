/* config_vision.c - vision_config and the two processor files. */
#include "runtime/config_parts.h"

#include <string.h>

enum {
    MOST_WIDTH = 1 << 18,
    MOST_HEADS = 4096,
    MOST_PATCH = 256,
    MOST_MERGE = 16,
    MOST_WINDOW = 1 << 20 /* pixels */
};

/* 2^40 pixels: beyond any picture; sums of a few of them stay inside 64 bits. */
static const int64_t MOST_PIXELS = INT64_C(1) << 40;

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

/* Block indices; each must be of a block that there is. */
static ocelli_status read_blocks(const oc_vit_config *vit, oc_json_object vision, const char *key,
                                 int64_t *out, size_t room, size_t *count, ocelli_error *err)
{
    if (oc_json_has(vision, key)) {
        OC_TRY(oc_json_ints(vision, key, 0, OC_VIT_MOST_LAYERS, out, room, count, err));
    }
    for (size_t i = 0; i < *count; i++) {
        if ((size_t)out[i] >= vit->layers) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: %s holds %lld, but there are %zu blocks",
                           vision.file, key, (long long)out[i], vit->layers);
        }
    }
    return OCELLI_OK;
}

/* What a tower with a learned table has: its size, and deepstack. */
static ocelli_status read_learned(oc_vit_config *out, oc_json_object vision, ocelli_error *err)
{
    int64_t taps[OC_VIT_MOST_TAPS] = {8, 16, 24}; /* the reference's default */
    size_t count = 3, positions;
    OC_TRY(oc_config_size(vision, "num_position_embeddings", 1, 1 << 24, 0, &positions, err));
    out->position_side = square_root(positions);
    if (out->position_side * out->position_side != positions) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: num_position_embeddings %zu is not a square",
                       vision.file, positions);
    }
    OC_TRY(
        read_blocks(out, vision, "deepstack_visual_indexes", taps, OC_VIT_MOST_TAPS, &count, err));
    for (size_t i = 0; i < count; i++) {
        out->taps[i] = (size_t)taps[i];
        if (i > 0 &&
            taps[i] <= taps[i - 1]) { /* the decoder takes them in the order of the blocks */
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: deepstack_visual_indexes must ascend, but %lld follows %lld",
                           vision.file, (long long)taps[i], (long long)taps[i - 1]);
        }
    }
    out->tap_count = count;
    return OCELLI_OK;
}

/* A window is so many pixels wide; what counts are its whole cells. */
static ocelli_status read_windows(oc_vit_config *out, oc_json_object vision,
                                  const oc_vision_rules *rules, ocelli_error *err)
{
    enum { DEFAULTS = sizeof rules->whole / sizeof *rules->whole };
    int64_t whole[OC_VIT_MOST_LAYERS];
    size_t count = 0, pixels;
    for (size_t i = 0; i < DEFAULTS; i++) { /* a tower that is less deep has fewer */
        if ((size_t)rules->whole[i] < out->layers) {
            whole[count++] = rules->whole[i];
        }
    }
    OC_TRY(oc_config_size(vision, "window_size", 1, MOST_WINDOW, rules->window_size, &pixels, err));
    out->window = pixels / (size_t)out->patch.merge_size / (size_t)out->patch.patch_size;
    if (out->window == 0) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: window_size %zu is less than one block of %d x %d patches of %d pixels",
                       vision.file, pixels, out->patch.merge_size, out->patch.merge_size,
                       out->patch.patch_size);
    }
    OC_TRY(
        read_blocks(out, vision, "fullatt_block_indexes", whole, OC_VIT_MOST_LAYERS, &count, err));
    for (size_t i = 0; i < count; i++) {
        out->whole[whole[i]] = true;
    }
    return OCELLI_OK;
}

/* The sizes of the tower itself. */
static ocelli_status read_widths(oc_vit_config *out, oc_json_object vision,
                                 const oc_vision_rules *rules, ocelli_error *err)
{
    OC_TRY(oc_config_size(vision, "depth", 1, OC_VIT_MOST_LAYERS, rules->depth, &out->layers, err));
    OC_TRY(
        oc_config_size(vision, rules->width_key, 4, MOST_WIDTH, rules->width, &out->hidden, err));
    OC_TRY(oc_config_size(vision, "num_heads", 1, MOST_HEADS, rules->heads, &out->heads, err));
    OC_TRY(
        oc_config_size(vision, rules->out_key, 1, MOST_WIDTH, rules->out, &out->out_hidden, err));
    if (rules->ratio_key != NULL) {
        double ratio;
        OC_TRY(oc_json_double_or(vision, rules->ratio_key, 1e-3, 1024, (double)rules->ratio, &ratio,
                                 err));
        out->intermediate = (size_t)((double)out->hidden * ratio);
        if (out->intermediate < 1 || out->intermediate > MOST_WIDTH) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: %s %g of %zu is no width", vision.file,
                           rules->ratio_key, ratio, out->hidden);
        }
    } else {
        OC_TRY(oc_config_size(vision, "intermediate_size", 1, MOST_WIDTH, rules->intermediate,
                              &out->intermediate, err));
    }
    out->head_dim = out->hidden / out->heads;
    if (out->head_dim * out->heads != out->hidden || out->head_dim % 4 != 0) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: vision %s %zu over %zu heads is not a whole multiple of 4", vision.file,
                       rules->width_key, out->hidden, out->heads);
    }
    return OCELLI_OK;
}

ocelli_status oc_config_read_vision(oc_config *config, oc_json_object top, ocelli_error *err)
{
    const oc_family *family = config->family;
    const oc_vision_rules *rules = family->vision;
    oc_vit_config *out = &config->vit;
    oc_json_object vision;
    OC_TRY(oc_json_child(top, "vision_config", &vision, err));
    if (vision.node == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: no vision_config object; this is not a vision-language model",
                       top.file);
    }
    out->plain_patches = rules->plain_patches;
    out->numbered_merger = rules->numbered_merger;
    out->norm = rules->norm;
    out->mlp = rules->mlp;
    OC_TRY(read_widths(out, vision, rules, err));
    OC_TRY(oc_config_require_text(vision, "hidden_act", rules->hidden_act, err));
    OC_TRY(get_or(vision, "patch_size", 1, MOST_PATCH, rules->patch_size, &out->patch.patch_size,
                  err));
    OC_TRY(get_or(vision, "temporal_patch_size", 1, 16, 2, &out->patch.temporal_patch_size, err));
    OC_TRY(get_or(vision, "spatial_merge_size", 1, MOST_MERGE, 2, &out->patch.merge_size, err));
    OC_TRY(get_or(vision, "in_chans", 3, 3, 3, &out->patch.channels, err));
    OC_TRY(get_or(vision, "in_channels", 3, 3, 3, &out->patch.channels, err));
    if (out->out_hidden != config->decoder.hidden) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: the vision tower gives rows of %zu but the decoder takes rows of %zu; "
                       "they are of different models",
                       top.file, out->out_hidden, config->decoder.hidden);
    }
    if (rules->learned_positions) {
        OC_TRY(read_learned(out, vision, err));
    }
    if (rules->windows) {
        OC_TRY(read_windows(out, vision, rules, err));
    }
    if (family->clip == OC_CLIP_TIMED) {
        OC_TRY(oc_json_double_or(vision, "tokens_per_second", 1e-3, 1e6, family->tokens_per_second,
                                 &config->tokens_per_second, err));
    }
    return OCELLI_OK;
}

/* size.shortest_edge and longest_edge are areas, whatever their names; some files call them
 * min_pixels and max_pixels. The same keys at the top go before. */
static ocelli_status read_size(oc_size_rule *rule, const oc_vit_config *vit, oc_json_object top,
                               int64_t least, int64_t most, ocelli_error *err)
{
    oc_json_object size;
    int64_t low, high;
    OC_TRY(oc_json_child(top, "size", &size, err));
    OC_TRY(oc_json_int_or(size, "shortest_edge", 1, MOST_PIXELS, least, &low, err));
    OC_TRY(oc_json_int_or(size, "longest_edge", 1, MOST_PIXELS, most, &high, err));
    OC_TRY(oc_json_int_or(size, "min_pixels", 1, MOST_PIXELS, low, &low, err));
    OC_TRY(oc_json_int_or(size, "max_pixels", 1, MOST_PIXELS, high, &high, err));
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

static ocelli_status read_triple(oc_json_object top, const char *key, const float fallback[3],
                                 float out[3], ocelli_error *err)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(top.node, key);
    if (list == NULL) {
        memcpy(out, fallback, 3 * sizeof *out);
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
    const oc_vision_rules *rules = config->family->vision;
    oc_patch_rule *patch = &config->vit.patch;
    OC_TRY(check_patch(&config->vit, top, err));
    OC_TRY(read_triple(top, "image_mean", rules->mean, patch->mean, err));
    OC_TRY(read_triple(top, "image_std", rules->deviation, patch->deviation, err));
    for (int i = 0; i < 3; i++) {
        if (!(patch->deviation[i] > 0.0f)) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: image_std: must be above 0", top.file);
        }
    }
    return read_size(&config->image_size, &config->vit, top, rules->image_least, rules->image_most,
                     err);
}

ocelli_status oc_config_read_videos(oc_config *config, oc_json_object top, ocelli_error *err)
{
    const oc_vision_rules *rules = config->family->vision;
    int64_t least, most;
    OC_TRY(check_patch(&config->vit, top, err));
    OC_TRY(read_size(&config->video_size, &config->vit, top, rules->video_least, rules->video_most,
                     err));
    if (config->family->clip != OC_CLIP_PAIRS) {
        if (top.node == NULL) { /* no file of its own: pictures' bounds are frames' too */
            config->video_size = config->image_size;
        }
        config->video_size.by_frame = true;
        config->even_frames = true;
    }
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
