/* estimate.c - see estimate.h; and what a model says of itself. */
#include "runtime/estimate.h"

#include "runtime/base/memory.h"
#include "runtime/options.h"
#include "runtime/visual.h"

#include <math.h>
#include <string.h>

static uint64_t vision_bytes(const ocelli_model *model)
{
    return model->vision_loader != NULL ? oc_loader_bytes(model->vision_loader) : 0;
}

uint64_t oc_estimate_weights(const ocelli_model *model)
{
    return oc_embed_table_resident_most(model->table) + oc_loader_bytes(model->decoder_loader) +
           vision_bytes(model);
}

static bool add_medium(const ocelli_model *model, const oc_medium *medium, uint64_t *rows,
                       size_t *scratch)
{
    size_t bytes, need;
    size_t values = (1 + model->config.vit.tap_count) * model->config.vit.out_hidden;
    if (!oc_size_mul(oc_medium_tokens(medium), values * sizeof(float), &bytes) ||
        !oc_model_vision_scratch(model, oc_visual_together(model, medium, medium->grid_t),
                                 medium->grid_h, medium->grid_w, &need)) {
        return false;
    }
    *rows += bytes;
    *scratch = need > *scratch ? need : *scratch;
    return true;
}

ocelli_status oc_estimate(ocelli_memory *memory, const ocelli_model *model, size_t slots,
                          size_t prefill_rows, const oc_medium *media, size_t media_count,
                          ocelli_error *err)
{
    oc_kv_shape shape = oc_model_kv_shape(model);
    size_t cache, scratch;
    uint64_t rows = 0;
    bool fits = oc_kv_bytes(&shape, slots, &cache) &&
                oc_model_decoder_scratch(model, prefill_rows, &scratch);
    for (size_t i = 0; fits && i < media_count; i++) {
        fits = add_medium(model, &media[i], &rows, &scratch);
    }
    if (!fits) {
        return oc_fail(err, OCELLI_E_LIMIT, "a context of %zu tokens is beyond the address space",
                       slots);
    }
    memory->weights = oc_estimate_weights(model);
    memory->kv_cache = cache;
    memory->scratch = scratch;
    memory->visual_rows = rows;
    memory->total = memory->weights + cache + scratch + rows;
    return OCELLI_OK;
}

ocelli_status ocelli_memory_estimate(const ocelli_model *model, uint64_t context_tokens,
                                     uint64_t image_tokens, ocelli_memory *out, ocelli_error *err)
{
    if (model == NULL || out == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_memory_estimate: model and out are needed");
    }
    if (image_tokens > 0) {
        OC_TRY(oc_model_check_sees(model, err));
    }
    size_t merge = (size_t)model->config.vit.patch.merge_size;
    if (context_tokens > SIZE_MAX / 2 || image_tokens > UINT32_MAX) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "%llu context tokens, %llu image tokens: too many",
                       (unsigned long long)context_tokens, (unsigned long long)image_tokens);
    }
    /* A square picture of so many tokens. */
    size_t side = (size_t)ceil(sqrt((double)image_tokens));
    oc_medium medium = {
        .grid_t = 1, .grid_h = side * merge, .grid_w = side * merge, .merge_size = merge};
    ocelli_memory own = {.struct_size = sizeof own};
    OC_TRY(oc_estimate(&own, model, (size_t)context_tokens, OC_PREFILL_ROWS, &medium,
                       image_tokens > 0 ? 1 : 0, err));
    oc_result_write(out, &own, sizeof own);
    return OCELLI_OK;
}

static uint64_t head_bytes(const ocelli_model *model)
{
    const oc_matrix *head = oc_decoder_head(model->decoder);
    size_t bytes;
    return oc_matrix_bytes(head->format, head->rows, head->cols, &bytes) ? bytes : 0;
}

static uint64_t count_sparse(const oc_decoder_config *config)
{
    uint64_t count = 0;
    for (size_t i = 0; config->sparse != NULL && i < config->layers; i++) {
        count += config->sparse[i];
    }
    return count;
}

static uint64_t count_windowed(const oc_vit_config *vit)
{
    uint64_t count = 0;
    for (size_t i = 0; vit->window > 0 && i < vit->layers; i++) {
        count += !vit->whole[i];
    }
    return count;
}

static ocelli_grounding grounding_of(oc_ground_style style)
{
    switch (style) {
    case OC_GROUND_THOUSANDTHS: return OCELLI_GROUNDING_THOUSANDTHS;
    case OC_GROUND_PIXELS: return OCELLI_GROUNDING_PIXELS;
    case OC_GROUND_PAIRS: return OCELLI_GROUNDING_PAIRS;
    }
    return OCELLI_GROUNDING_THOUSANDTHS;
}

static ocelli_clip_times clip_times_of(oc_clip_style style)
{
    switch (style) {
    case OC_CLIP_INDEXED: return OCELLI_CLIP_ORDER;
    case OC_CLIP_TIMED: return OCELLI_CLIP_SECONDS;
    case OC_CLIP_PAIRS: break;
    }
    return OCELLI_CLIP_TEXT;
}

void ocelli_model_describe(const ocelli_model *model, ocelli_model_info *info)
{
    const oc_decoder_config *decoder = &model->config.decoder;
    const oc_vit_config *vit = &model->config.vit;
    ocelli_model_info own = {
        .family = model->config.family->model_type,
        .form = oc_source_form_name(model->source.form),
        .cpu_tier = model->kernels.tier,
        .quant = model->quant,
        .tied = decoder->tied,
        .threads = oc_pool_threads(model->pool),
        .vocab_size = decoder->vocab,
        .hidden_size = decoder->hidden,
        .layers = decoder->layers,
        .heads = decoder->heads,
        .kv_heads = decoder->kv_heads,
        .head_dim = decoder->head_dim,
        .intermediate_size = decoder->intermediate,
        .experts = decoder->experts,
        .experts_per_token = decoder->experts_per_token,
        .context_tokens = decoder->context,
        .vision_layers = vit->layers,
        .vision_hidden_size = vit->hidden,
        .vision_heads = vit->heads,
        .patch_size = (uint64_t)vit->patch.patch_size,
        .merge_size = (uint64_t)vit->patch.merge_size,
        .embed_bytes = oc_embed_table_bytes(model->table),
        .decoder_bytes = oc_loader_bytes(model->decoder_loader) - head_bytes(model),
        .head_bytes = head_bytes(model),
        .vision_bytes = vision_bytes(model),
        .checkpoint_dtype =
            model->packaged ? model->manifest.source_dtype : oc_dtype_label(model->stored_dtype),
        .embed_dtype = oc_dtype_label(oc_embed_table_dtype(model->table)),
        .image_min_pixels = model->config.image_size.min_pixels,
        .image_max_pixels = model->config.image_size.max_pixels,
        .fingerprint = model->manifest.fingerprint,
        .vision = model->vision,
        .sparse_layers = count_sparse(decoder),
        .expert_intermediate_size = decoder->expert_intermediate,
        .vision_intermediate_size = vit->intermediate,
        .vision_taps = vit->tap_count,
        .vision_positions = (uint64_t)vit->position_side * vit->position_side,
        .channels = (uint64_t)vit->patch.channels,
        .temporal_patch_size = (uint64_t)vit->patch.temporal_patch_size,
        .video_min_pixels = model->config.video_size.min_pixels,
        .video_max_pixels = model->config.video_size.max_pixels,
        .frames_sized_alone = model->config.video_size.by_frame,
        .vision_window = (uint64_t)vit->window * (uint64_t)vit->patch.merge_size,
        .vision_window_layers = count_windowed(vit),
        .vision_gated = vit->mlp == OC_VIT_SWIGLU,
        .clip_times = clip_times_of(model->config.family->clip),
        .grounding = grounding_of(model->config.family->ground)};
    oc_result_write(info, &own, sizeof own);
}
