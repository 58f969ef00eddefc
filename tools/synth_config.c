/* synth_config.c - see synth_config.h.
 *
 * One text for each kind holds what its published configs share, one table what they differ in.
 * Numbers are those of the models' config.json at huggingface.co/Qwen. */
#include "tools/synth_config.h"
#include "tools/synth_shapes.h"
#include "tools/report.h"

#include <string.h>

/* What all of a kind have in common; zeros and empty lists are filled in from the table. */
static const char QWEN3[] =
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

/* Flat, as on the hub: the decoder's keys stand at the top. */
#define QWEN2_TEXT                                                                                 \
    "\"attention_dropout\": 0.0, \"bos_token_id\": 151643, \"eos_token_id\": 151645,"              \
    " \"vision_start_token_id\": 151652, \"vision_end_token_id\": 151653,"                         \
    " \"vision_token_id\": 151654, \"image_token_id\": 151655, \"video_token_id\": 151656,"        \
    " \"hidden_act\": \"silu\", \"hidden_size\": 0, \"initializer_range\": 0.02,"                  \
    " \"intermediate_size\": 0, \"num_attention_heads\": 0, \"num_hidden_layers\": 0,"             \
    " \"num_key_value_heads\": 0, \"rms_norm_eps\": 1e-06, \"rope_theta\": 1000000.0,"             \
    " \"rope_scaling\": {\"type\": \"mrope\", \"mrope_section\": [16, 24, 24]},"                   \
    " \"sliding_window\": 32768, \"use_sliding_window\": false, \"tie_word_embeddings\": false,"   \
    " \"torch_dtype\": \"bfloat16\", \"use_cache\": true, \"vocab_size\": 151936,"

static const char QWEN2_5[] =
    "{\"architectures\": [\"Qwen2_5_VLForConditionalGeneration\"], \"model_type\": \"qwen2_5_vl\","
    " \"max_position_embeddings\": 128000, \"max_window_layers\": 70," QWEN2_TEXT
    " \"transformers_version\": \"4.41.2\","
    " \"vision_config\": {\"depth\": 0, \"hidden_act\": \"silu\", \"hidden_size\": 0,"
    "   \"intermediate_size\": 0, \"num_heads\": 0, \"in_chans\": 3, \"out_hidden_size\": 0,"
    "   \"patch_size\": 14, \"spatial_merge_size\": 2, \"spatial_patch_size\": 14,"
    "   \"window_size\": 112, \"fullatt_block_indexes\": [7, 15, 23, 31],"
    "   \"tokens_per_second\": 2, \"temporal_patch_size\": 2}}";

static const char QWEN2[] =
    "{\"architectures\": [\"Qwen2VLForConditionalGeneration\"], \"model_type\": \"qwen2_vl\","
    " \"max_position_embeddings\": 32768, \"max_window_layers\": 28," QWEN2_TEXT
    " \"transformers_version\": \"4.41.2\","
    " \"vision_config\": {\"depth\": 0, \"embed_dim\": 0, \"mlp_ratio\": 4, \"num_heads\": 0,"
    "   \"in_chans\": 3, \"hidden_size\": 0, \"patch_size\": 14, \"spatial_merge_size\": 2,"
    "   \"spatial_patch_size\": 14, \"temporal_patch_size\": 2}}";

/* What the models with experts have besides. */
static const char EXPERTS[] = "{\"decoder_sparse_step\": 1, \"mlp_only_layers\": [],"
                              " \"moe_intermediate_size\": 0, \"norm_topk_prob\": true,"
                              " \"num_experts\": 0, \"num_experts_per_tok\": 0}";

typedef struct tower {
    const char *common, *width_key, *out_key;
    int depth, hidden, intermediate, heads,
        taps[3]; /* intermediate 0: by mlp_ratio; taps 0: none */
} tower;

static const tower SMALL_TOWER = {QWEN3, "hidden_size", "out_hidden_size", 24, 1024, 4096,
                                  16,    {5, 11, 17}};
static const tower LARGE_TOWER = {QWEN3, "hidden_size", "out_hidden_size", 27, 1152, 4304,
                                  16,    {8, 16, 24}};
static const tower WINDOWS_TOWER = {QWEN2_5, "hidden_size", "out_hidden_size", 32, 1280, 3420, 16,
                                    {0}};
static const tower FIRST_TOWER = {QWEN2, "embed_dim", "hidden_size", 32, 1280, 0, 16, {0}};

typedef struct published {
    const char *name;
    int hidden, layers, heads, kv_heads, intermediate;
    bool tied;
    const tower *vision;
    int experts, experts_per_token, expert_intermediate; /* 0: dense */
} published;

#define ROW(...) {__VA_ARGS__},
static const published SHAPES[] = {SYNTH_SHAPES(ROW)};
#undef ROW
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
    cJSON *config = p != NULL ? cJSON_Parse(p->vision->common) : NULL;
    if (config == NULL) {
        return NULL;
    }
    cJSON *text = model_shape_text(config);
    cJSON *vision = member(config, "vision_config");
    set_number(text, "hidden_size", p->hidden);
    set_number(text, "num_hidden_layers", p->layers);
    set_number(text, "num_attention_heads", p->heads);
    set_number(text, "num_key_value_heads", p->kv_heads);
    set_number(text, "intermediate_size", p->intermediate);
    set(text, "tie_word_embeddings", cJSON_CreateBool(p->tied));
    set(config, "tie_word_embeddings", cJSON_CreateBool(p->tied));
    set_number(vision, "depth", p->vision->depth);
    set_number(vision, p->vision->width_key, p->vision->hidden);
    set_number(vision, p->vision->out_key, p->hidden);
    set_number(vision, "num_heads", p->vision->heads);
    if (p->vision->intermediate > 0) {
        set_number(vision, "intermediate_size", p->vision->intermediate);
    }
    if (p->vision->taps[0] > 0) {
        set(vision, "deepstack_visual_indexes", cJSON_CreateIntArray(p->vision->taps, 3));
    }
    if (p->experts > 0) {
        add_experts(config, p);
    }
    return config;
}

/* Each where it is, or as late as there is room for them all. */
static void cut_taps(cJSON *vision, double blocks)
{
    const cJSON *taps = member(vision, "deepstack_visual_indexes");
    int count = cJSON_GetArraySize(taps);
    cJSON *kept = taps != NULL ? cJSON_CreateArray() : NULL;
    for (int i = 0; i < count; i++) {
        double index = cJSON_GetArrayItem(taps, i)->valuedouble, last = blocks - count + i;
        cJSON_AddItemToArray(kept, cJSON_CreateNumber(index < last ? index : last));
    }
    if (kept != NULL) {
        set(vision, "deepstack_visual_indexes", kept);
    }
}

/* Those blocks that are left, and the last one: a tower with windows ends with a block without. */
static void cut_whole_blocks(cJSON *vision, double blocks)
{
    const cJSON *block;
    const cJSON *whole = member(vision, "fullatt_block_indexes");
    cJSON *kept = whole != NULL ? cJSON_CreateArray() : NULL;
    cJSON_ArrayForEach(block, whole)
    {
        if (block->valuedouble < blocks - 1) {
            cJSON_AddItemToArray(kept, cJSON_CreateNumber(block->valuedouble));
        }
    }
    if (kept != NULL) {
        cJSON_AddItemToArray(kept, cJSON_CreateNumber(blocks - 1));
        set(vision, "fullatt_block_indexes", kept);
    }
}

bool synth_config_cut(cJSON *config, uint64_t layers, const char *name)
{
    cJSON *text = model_shape_text(config);
    cJSON *vision = member(config, "vision_config");
    const cJSON *has = member(text, "num_hidden_layers");
    const cJSON *depth = member(vision, "depth");
    if (!cJSON_IsNumber(has) || !cJSON_IsNumber(depth) || has->valuedouble < (double)layers) {
        report_error("--layers: '%s' has no %llu layers that could be left", name,
                     (unsigned long long)layers);
        return false;
    }
    int taps = cJSON_GetArraySize(member(vision, "deepstack_visual_indexes"));
    double blocks = (double)layers > taps ? (double)layers : taps;
    if (blocks < depth->valuedouble) {
        cut_taps(vision, blocks);
        cut_whole_blocks(vision, blocks);
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
    const cJSON *text = model_shape_text(config);
    out->image_pad = id_of(config, "image_token_id", 151655);
    out->video_pad = id_of(config, "video_token_id", 151656);
    out->vision_start = id_of(config, "vision_start_token_id", 151652);
    out->vision_end = id_of(config, "vision_end_token_id", 151653);
    out->end_of_text = id_of(text, "bos_token_id", 151643);
    out->im_end = id_of(text, "eos_token_id", 151645);
}

void synth_config_set_ids(cJSON *config, const synth_ids *ids)
{
    cJSON *text = model_shape_text(config);
    set_number(config, "image_token_id", (double)ids->image_pad);
    set_number(config, "video_token_id", (double)ids->video_pad);
    set_number(config, "vision_start_token_id", (double)ids->vision_start);
    set_number(config, "vision_end_token_id", (double)ids->vision_end);
    set_number(text, "bos_token_id", (double)ids->end_of_text);
    set_number(text, "eos_token_id", (double)ids->im_end);
}

/* ---- the other files ----------------------------------------------------------------------- */

cJSON *synth_generation_config(const synth_ids *ids, const model_shape *shape)
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
        if (shape->older) { /* as good as greedy */
            set_number(out, "temperature", shape->mlp == SHAPE_MLP_QUICK ? 0.01 : 1e-6);
            set_number(out, "repetition_penalty", shape->mlp == SHAPE_MLP_QUICK ? 1.0 : 1.05);
        }
    }
    return out;
}

/* The older models' pixels: CLIP's mean and deviation, bounds under other names. */
static void set_clip_pixels(cJSON *out)
{
    static const double mean[3] = {0.48145466, 0.4578275, 0.40821073};
    static const double deviation[3] = {0.26862954, 0.26130258, 0.27577711};
    set(out, "image_mean", cJSON_CreateDoubleArray(mean, 3));
    set(out, "image_std", cJSON_CreateDoubleArray(deviation, 3));
    cJSON_DeleteItemFromObjectCaseSensitive(out, "size");
    set_number(out, "min_pixels", 3136);
    set_number(out, "max_pixels", 12845056);
    set_text(out, "processor_class", "Qwen2VLProcessor");
    set_text(out, "image_processor_type", "Qwen2VLImageProcessor");
}

cJSON *synth_processor_config(const cJSON *config, const model_shape *shape, bool video)
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
    if (shape->older) {
        set_clip_pixels(out);
    } else if (video) {
        set_text(out, "video_processor_type", "Qwen3VLVideoProcessor");
    } else {
        set_text(out, "image_processor_type", "Qwen2VLImageProcessorFast");
    }
    return out;
}
