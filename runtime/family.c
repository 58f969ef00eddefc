/* family.c - see family.h. Where a default is not what checkpoints hold, it is what the reference
 * takes when a key is left out: a file that was saved again leaves out what equals it. */
#include "runtime/family.h"

#include <stddef.h>
#include <string.h>

/* ---- Qwen3-VL ------------------------------------------------------------------------------- */

static const oc_text_rules qwen3_text = {.head_dim = 128, .mrope_section = {24, 20, 20}};

static const oc_vision_rules qwen3_vision = {.width_key = "hidden_size",
                                             .out_key = "out_hidden_size",
                                             .patch_size = 16,
                                             .hidden_act = "gelu_pytorch_tanh",
                                             .learned_positions = true,
                                             .mean = {0.5f, 0.5f, 0.5f},
                                             .deviation = {0.5f, 0.5f, 0.5f},
                                             .image_least = 65536,
                                             .image_most = 16777216,
                                             .video_least = 128 * 1024,
                                             .video_most = 768 * 1024,
                                             .released_video_least = 4096,
                                             .released_video_most = 25165824};

/* ---- Qwen2-VL and Qwen2.5-VL ---------------------------------------------------------------- */

static const oc_text_rules qwen2_text = {.flat = true,
                                         .head_dim_is_share = true,
                                         .rms_norm_eps = 1e-5,
                                         .rope_theta = 1e6,
                                         .mrope_section = {16, 24, 24},
                                         .chunked = true,
                                         .query_key_value_bias = true,
                                         .plain_heads = true};

/* The constants of CLIP. */
#define QWEN2_PIXELS                                                                               \
    .mean = {0.48145466f, 0.4578275f, 0.40821073f},                                                \
    .deviation = {0.26862954f, 0.26130258f, 0.27577711f}, .image_least = 3136,                     \
    .image_most = 1003520, .video_least = 128 * 784, .video_most = 768 * 784

/* hidden_size is the width of the output here. */
static const oc_vision_rules qwen2_vision = {.width_key = "embed_dim",
                                             .out_key = "hidden_size",
                                             .ratio_key = "mlp_ratio",
                                             .depth = 32,
                                             .width = 1280,
                                             .heads = 16,
                                             .ratio = 4,
                                             .out = 3584,
                                             .patch_size = 14,
                                             .hidden_act = "quick_gelu",
                                             .plain_patches = true,
                                             .numbered_merger = true,
                                             .mlp = OC_VIT_GELU_QUICK,
                                             QWEN2_PIXELS};

static const oc_vision_rules qwen2_5_vision = {.width_key = "hidden_size",
                                               .out_key = "out_hidden_size",
                                               .depth = 32,
                                               .width = 3584,
                                               .heads = 16,
                                               .intermediate = 3420,
                                               .out = 3584,
                                               .patch_size = 14,
                                               .hidden_act = "silu",
                                               .windows = true,
                                               .window_size = 112,
                                               .whole = {7, 15, 23, 31},
                                               .plain_patches = true,
                                               .numbered_merger = true,
                                               .norm = OC_VIT_RMS_NORM,
                                               .mlp = OC_VIT_SWIGLU,
                                               QWEN2_PIXELS};

/* The hub's files name their tensors so; those that newer tools saved again, as Qwen3-VL's. */
static const oc_name_alias qwen2_names[] = {{"model.language_model.", "model."},
                                            {"model.visual.", "visual."}};

#define QWEN2_NAMES .aliases = qwen2_names, .alias_count = sizeof qwen2_names / sizeof *qwen2_names

/* ---- the table ------------------------------------------------------------------------------ */

static const oc_family families[] = {
    {.model_type = "qwen3_vl",
     .gguf = "qwen3vl",
     .projector = "qwen3vl_merger",
     .text = &qwen3_text,
     .vision = &qwen3_vision},
    {.model_type = "qwen3_vl_moe",
     .gguf = "qwen3vlmoe",
     .projector = "qwen3vl_merger",
     .experts = true,
     .text = &qwen3_text,
     .vision = &qwen3_vision},
    {.model_type = "qwen2_5_vl",
     .text = &qwen2_text,
     .vision = &qwen2_5_vision,
     .clip = OC_CLIP_TIMED,
     .tokens_per_second = 4,
     .chat = OC_CHAT_PLAIN,
     .ground = OC_GROUND_PIXELS,
     QWEN2_NAMES},
    {.model_type = "qwen2_vl",
     .text = &qwen2_text,
     .vision = &qwen2_vision,
     .clip = OC_CLIP_INDEXED,
     .chat = OC_CHAT_PLAIN,
     .ground = OC_GROUND_PAIRS,
     QWEN2_NAMES},
};

const oc_family *oc_family_at(int index)
{
    size_t count = sizeof families / sizeof *families;
    return index >= 0 && (size_t)index < count ? &families[index] : NULL;
}

const oc_family *oc_family_find(const char *model_type)
{
    for (int i = 0; oc_family_at(i) != NULL; i++) {
        if (strcmp(oc_family_at(i)->model_type, model_type) == 0) {
            return oc_family_at(i);
        }
    }
    return NULL;
}

const oc_family *oc_family_find_gguf(const char *architecture, size_t length)
{
    for (int i = 0; oc_family_at(i) != NULL; i++) {
        const char *name = oc_family_at(i)->gguf;
        if (name != NULL && strlen(name) == length && memcmp(name, architecture, length) == 0) {
            return oc_family_at(i);
        }
    }
    return NULL;
}
