/* synth_config.c - see synth_config.h.
 *
 * One text holds what the published configs share, one table what they differ in. Numbers are those
 * of the models' config.json at huggingface.co/Qwen.
 */
#include "tools/synth_config.h"
#include "tools/report.h"

#include <string.h>

/* What all have in common; zeros and empty lists are filled in from the table. */
static const char COMMON[] =
    "{\"architectures\": [\"Qwen3VLForConditionalGeneration\"],"
    " \"image_token_id\": 151655,"
    " \"model_type\": \"qwen3_vl\","
    " \"text_config\": {"
    "   \"attention_bias\": false, \"attention_dropout\": 0.0, \"bos_token_id\": 151643,"
    "   \"dtype\": \"bfloat16\", \"eos_token_id\": 151645, \"head_dim\": 128,"
    "   \"hidden_act\": \"silu\", \"hidden_size\": 0, \"initializer_range\": 0.02,"
    "   \"intermediate_size\": 0, \"max_position_embeddings\": 262144,"
    "   \"model_type\": \"qwen3_vl_text\", \"num_attention_heads\": 0, \"num_hidden_layers\": 0,"
    "   \"num_key_value_heads\": 0, \"rms_norm_eps\": 1e-06,"
    "   \"rope_scaling\": {\"mrope_interleaved\": true, \"mrope_section\": [24, 20, 20],"
    "     \"rope_type\": \"default\"},"
    "   \"rope_theta\": 5000000, \"tie_word_embeddings\": false, \"use_cache\": true,"
    "   \"vocab_size\": 151936},"
    " \"tie_word_embeddings\": false,"
    " \"transformers_version\": \"4.57.0.dev0\","
    " \"video_token_id\": 151656,"
    " \"vision_config\": {"
    "   \"deepstack_visual_indexes\": [], \"depth\": 0, \"hidden_act\": \"gelu_pytorch_tanh\","
    "   \"hidden_size\": 0, \"in_channels\": 3, \"initializer_range\": 0.02,"
    "   \"intermediate_size\": 0, \"model_type\": \"qwen3_vl\", \"num_heads\": 0,"
    "   \"num_position_embeddings\": 2304, \"out_hidden_size\": 0, \"patch_size\": 16,"
    "   \"spatial_merge_size\": 2, \"temporal_patch_size\": 2},"
    " \"vision_end_token_id\": 151653,"
    " \"vision_start_token_id\": 151652}";

/* What the models with experts have besides. */
static const char EXPERTS[] = "{\"decoder_sparse_step\": 1, \"mlp_only_layers\": [],"
                              " \"moe_intermediate_size\": 0, \"norm_topk_prob\": true,"
                              " \"num_experts\": 0, \"num_experts_per_tok\": 0}";

typedef struct tower {
    int depth, hidden, intermediate, heads, taps[3];
} tower;

static const tower SMALL_TOWER = {24, 1024, 4096, 16, {5, 11, 17}};
static const tower LARGE_TOWER = {27, 1152, 4304, 16, {8, 16, 24}};

typedef struct published {
    const char *name;
    int hidden, layers, heads, kv_heads, intermediate;
    bool tied;
    const tower *vision;
    int experts, experts_per_token, expert_intermediate; /* 0: dense */
} published;

static const published SHAPES[] = {
    {"qwen3-vl-2b", 2048, 28, 16, 8, 6144, true, &SMALL_TOWER, 0, 0, 0},
    {"qwen3-vl-4b", 2560, 36, 32, 8, 9728, true, &SMALL_TOWER, 0, 0, 0},
    {"qwen3-vl-8b", 4096, 36, 32, 8, 12288, false, &LARGE_TOWER, 0, 0, 0},
    {"qwen3-vl-32b", 5120, 64, 64, 8, 25600, false, &LARGE_TOWER, 0, 0, 0},
    {"qwen3-vl-30b-a3b", 2048, 48, 32, 4, 6144, false, &LARGE_TOWER, 128, 8, 768},
    {"qwen3-vl-235b-a22b", 4096, 94, 64, 4, 12288, false, &LARGE_TOWER, 128, 8, 1536},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

const char *synth_shape_name(size_t index, void *user)
{
    (void)user;
    return index < SHAPE_COUNT ? SHAPES[index].name : NULL;
}

/* ---- edits --------------------------------------------------------------------------------- */

static cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* Replaces or adds. */
static void set(cJSON *object, const char *key, cJSON *value)
{
    if (member(object, key) != NULL) {
        cJSON_ReplaceItemInObjectCaseSensitive(object, key, value);
    } else {
        cJSON_AddItemToObject(object, key, value);
    }
}

static void set_number(cJSON *object, const char *key, double value)
{
    set(object, key, cJSON_CreateNumber(value));
}

static void set_text(cJSON *object, const char *key, const char *text)
{
    set(object, key, cJSON_CreateString(text));
}

static void add_experts(cJSON *config, const published *p)
{
    const char *name = "Qwen3VLMoeForConditionalGeneration";
    cJSON *text = member(config, "text_config");
    cJSON *more = cJSON_Parse(EXPERTS);
    for (cJSON *item = more != NULL ? more->child : NULL; item != NULL; item = more->child) {
        cJSON_DetachItemViaPointer(more, item);
        cJSON_AddItemToObject(text, item->string, item);
    }
    cJSON_Delete(more);
    set(config, "architectures", cJSON_CreateStringArray(&name, 1));
    set_text(config, "model_type", "qwen3_vl_moe");
    set_text(text, "model_type", "qwen3_vl_moe_text");
    set_text(member(config, "vision_config"), "model_type", "qwen3_vl_moe");
    set_number(text, "num_experts", p->experts);
    set_number(text, "num_experts_per_tok", p->experts_per_token);
    set_number(text, "moe_intermediate_size", p->expert_intermediate);
}

cJSON *synth_config_of_shape(const char *name)
{
    const published *p = NULL;
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        if (strcmp(SHAPES[i].name, name) == 0) {
            p = &SHAPES[i];
        }
    }
    cJSON *config = p != NULL ? cJSON_Parse(COMMON) : NULL;
    if (config == NULL) {
        return NULL;
    }
    cJSON *text = member(config, "text_config");
    cJSON *vision = member(config, "vision_config");
    set_number(text, "hidden_size", p->hidden);
    set_number(text, "num_hidden_layers", p->layers);
    set_number(text, "num_attention_heads", p->heads);
    set_number(text, "num_key_value_heads", p->kv_heads);
    set_number(text, "intermediate_size", p->intermediate);
    set(text, "tie_word_embeddings", cJSON_CreateBool(p->tied));
    set(config, "tie_word_embeddings", cJSON_CreateBool(p->tied));
    set_number(vision, "depth", p->vision->depth);
    set_number(vision, "hidden_size", p->vision->hidden);
    set_number(vision, "intermediate_size", p->vision->intermediate);
    set_number(vision, "num_heads", p->vision->heads);
    set_number(vision, "out_hidden_size", p->hidden);
    set(vision, "deepstack_visual_indexes", cJSON_CreateIntArray(p->vision->taps, 3));
    if (p->experts > 0) {
        add_experts(config, p);
    }
    return config;
}

bool synth_config_cut(cJSON *config, uint64_t layers, const char *name)
{
    cJSON *text = member(config, "text_config");
    cJSON *vision = member(config, "vision_config");
    const cJSON *has = member(text, "num_hidden_layers");
    const cJSON *depth = member(vision, "depth");
    const cJSON *taps = member(vision, "deepstack_visual_indexes");
    if (!cJSON_IsNumber(has) || !cJSON_IsNumber(depth) || has->valuedouble < (double)layers) {
        report_error("--layers: '%s' has no %llu layers that could be left", name,
                     (unsigned long long)layers);
        return false;
    }
    int tap_count = cJSON_GetArraySize(taps);
    double blocks = (double)layers > tap_count ? (double)layers : tap_count;
    if (blocks < depth->valuedouble) {
        cJSON *kept = cJSON_CreateArray();
        for (int i = 0; i < tap_count; i++) {
            /* Where they are, or as late as there is room for them all. */
            double index = cJSON_GetArrayItem(taps, i)->valuedouble;
            double last = blocks - tap_count + i;
            cJSON_AddItemToArray(kept, cJSON_CreateNumber(index < last ? index : last));
        }
        if (taps != NULL) {
            set(vision, "deepstack_visual_indexes", kept);
        } else {
            cJSON_Delete(kept);
        }
        set_number(vision, "depth", blocks);
    }
    set_number(text, "num_hidden_layers", (double)layers);
    return true;
}

/* ---- token ids ----------------------------------------------------------------------------- */

static int64_t id_of(const cJSON *object, const char *key, int64_t fallback)
{
    const cJSON *item = member(object, key);
    if (cJSON_IsArray(item)) {
        item = item->child;
    }
    return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : fallback;
}

void synth_config_ids(const cJSON *config, synth_ids *out)
{
    const cJSON *text = member(config, "text_config");
    out->image_pad = id_of(config, "image_token_id", 151655);
    out->video_pad = id_of(config, "video_token_id", 151656);
    out->vision_start = id_of(config, "vision_start_token_id", 151652);
    out->vision_end = id_of(config, "vision_end_token_id", 151653);
    out->end_of_text = id_of(text, "bos_token_id", 151643);
    out->im_end = id_of(text, "eos_token_id", 151645);
}

void synth_config_set_ids(cJSON *config, const synth_ids *ids)
{
    cJSON *text = member(config, "text_config");
    set_number(config, "image_token_id", (double)ids->image_pad);
    set_number(config, "video_token_id", (double)ids->video_pad);
    set_number(config, "vision_start_token_id", (double)ids->vision_start);
    set_number(config, "vision_end_token_id", (double)ids->vision_end);
    set_number(text, "bos_token_id", (double)ids->end_of_text);
    set_number(text, "eos_token_id", (double)ids->im_end);
}

/* ---- the other files ----------------------------------------------------------------------- */

cJSON *synth_generation_config(const synth_ids *ids)
{
    cJSON *out = cJSON_Parse("{\"bos_token_id\": 0, \"pad_token_id\": 0, \"do_sample\": true,"
                             " \"eos_token_id\": [], \"top_k\": 20, \"top_p\": 0.8,"
                             " \"repetition_penalty\": 1.0, \"temperature\": 0.7,"
                             " \"transformers_version\": \"4.56.0\"}");
    if (out != NULL) {
        const double ends[2] = {(double)ids->im_end, (double)ids->end_of_text};
        set_number(out, "bos_token_id", (double)ids->end_of_text);
        set_number(out, "pad_token_id", (double)ids->end_of_text);
        set(out, "eos_token_id", cJSON_CreateDoubleArray(ends, 2));
    }
    return out;
}

cJSON *synth_processor_config(const cJSON *config, bool video)
{
    cJSON *out = cJSON_Parse("{\"size\": {\"longest_edge\": 0, \"shortest_edge\": 0},"
                             " \"patch_size\": 16, \"temporal_patch_size\": 2, \"merge_size\": 2,"
                             " \"image_mean\": [0.5, 0.5, 0.5], \"image_std\": [0.5, 0.5, 0.5],"
                             " \"processor_class\": \"Qwen3VLProcessor\"}");
    if (out == NULL) {
        return NULL;
    }
    static const struct {
        const char *here, *there;
    } same[] = {{"patch_size", "patch_size"},
                {"temporal_patch_size", "temporal_patch_size"},
                {"merge_size", "spatial_merge_size"}};
    const cJSON *vision = member(config, "vision_config");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const cJSON *value = member(vision, same[i].there);
        if (cJSON_IsNumber(value)) {
            set_number(out, same[i].here, value->valuedouble);
        }
    }
    /* Areas in pixels, whatever their names say; a clip's is of all its frames together. */
    cJSON *size = member(out, "size");
    set_number(size, "longest_edge", video ? 25165824 : 16777216);
    set_number(size, "shortest_edge", video ? 4096 : 65536);
    if (video) {
        set_text(out, "video_processor_type", "Qwen3VLVideoProcessor");
    } else {
        set_text(out, "image_processor_type", "Qwen2VLImageProcessorFast");
    }
    return out;
}
