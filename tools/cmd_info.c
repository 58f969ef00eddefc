/* cmd_info.c - ocelli info: what a model is, and the memory it will need. */
#include "tools/commands.h"
#include "tools/model_choice.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/report.h"

#include <inttypes.h>
#include <ocelli.h>
#include <stdlib.h>
#include <string.h>

/* Without --context: enough for a picture and some turns, and less than the model's most. */
#define DEFAULT_CONTEXT 4096

typedef struct need {
    uint64_t context_tokens;
    uint64_t width, height; /* of the picture, resized */
    uint64_t image_tokens;
    ocelli_memory memory;
} need;

/* Asks the size rule what becomes of a picture of that size, with a blank one. */
static ocelli_status plan_picture(ocelli_model *model, picture_size size, need *n,
                                  ocelli_error *err)
{
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_image *image = NULL;
    ocelli_visual *visual = NULL;
    size_t stride = (size_t)size.width * 3;
    uint8_t *pixels = calloc((size_t)size.height, stride);
    if (pixels == NULL) {
        err->status = OCELLI_E_MEMORY;
        err->message[0] = '\0';
        return OCELLI_E_MEMORY;
    }
    ocelli_status status =
        ocelli_image_from_rgb(&image, pixels, (int)size.width, (int)size.height, stride, err);
    free(pixels);
    if (status != OCELLI_OK) {
        return status;
    }
    options.plan_only = 1;
    status = ocelli_encode_image(&visual, model, image, &options, err);
    ocelli_image_free(image);
    if (status != OCELLI_OK) {
        return status;
    }
    ocelli_visual_describe(visual, &info);
    ocelli_visual_free(visual);
    n->width = (uint64_t)info.width;
    n->height = (uint64_t)info.height;
    n->image_tokens = info.tokens;
    return OCELLI_OK;
}

static void print_bytes(const char *name, uint64_t bytes, const char *after)
{
    char text[32];
    format_bytes(text, sizeof text, bytes);
    output_format("  %-12s %s%s\n", name, text, after);
}

static void print_memory(const need *n)
{
    print_bytes("weights", n->memory.weights, "");
    print_bytes("cache", n->memory.kv_cache, "");
    print_bytes("scratch", n->memory.scratch, "");
    print_bytes("pictures", n->memory.visual_rows, "");
    print_bytes("total", n->memory.total, "");
}

static void print_vision(const ocelli_model_info *info)
{
    if (info->vision_layers == 0) {
        output_format("vision         none: a text model without its vision file (--mmproj)\n");
        return;
    }
    output_format("vision         %" PRIu64 " layers, hidden %" PRIu64 ", intermediate %" PRIu64
                  ", %" PRIu64 " heads, patch %" PRIu64 ", merge %" PRIu64 ", %" PRIu64
                  " deepstack taps\n",
                  info->vision_layers, info->vision_hidden_size, info->vision_intermediate_size,
                  info->vision_heads, info->patch_size, info->merge_size, info->vision_taps);
    if (info->vision_window > 0) {
        output_format("windows        of %" PRIu64 " patches, in %" PRIu64 " of %" PRIu64
                      " layers\n",
                      info->vision_window, info->vision_window_layers, info->vision_layers);
    }
    output_format(
        "pictures       %" PRIu64 " to %" PRIu64 " pixels; clips %" PRIu64 " to %" PRIu64 ", %s\n",
        info->image_min_pixels, info->image_max_pixels, info->video_min_pixels,
        info->video_max_pixels, info->frames_sized_alone ? "each frame" : "all frames together");
}

static void print_text(const char *path, const ocelli_model_info *info, const need *n,
                       picture_size picture)
{
    output_format("model          %s\n", path);
    output_format("family         %s, a %s\n", info->family, info->form);
    output_format("types          tensors %s, embedding table %s, decoder %s, vision %s\n",
                  info->checkpoint_dtype, info->embed_dtype, ocelli_quant_name(info->quant),
                  ocelli_vision_name(info->vision));
    output_format("decoder        %" PRIu64 " layers, hidden %" PRIu64 ", intermediate %" PRIu64
                  ", %" PRIu64 " heads, %" PRIu64 " kv heads of %" PRIu64 "\n",
                  info->layers, info->hidden_size, info->intermediate_size, info->heads,
                  info->kv_heads, info->head_dim);
    if (info->experts > 0) {
        output_format("experts        %" PRIu64 " of intermediate %" PRIu64 ", %" PRIu64
                      " for each token, in %" PRIu64 " layers\n",
                      info->experts, info->expert_intermediate_size, info->experts_per_token,
                      info->sparse_layers);
    }
    output_format("vocabulary     %" PRIu64 ", head %s\n", info->vocab_size,
                  info->tied ? "tied to the embedding table" : "of its own");
    output_format("context        %" PRIu64 "\n", info->context_tokens);
    print_vision(info);
    output_format("kernels        %s, %d threads\n", info->cpu_tier, info->threads);
    if (info->fingerprint != NULL && info->fingerprint[0] != '\0') {
        output_format("fingerprint    %s\n", info->fingerprint);
    }
    output_format("bytes\n");
    print_bytes("embedding", info->embed_bytes, "");
    print_bytes("decoder", info->decoder_bytes, "");
    print_bytes("head", info->head_bytes, "");
    print_bytes("vision", info->vision_bytes, "");
    if (info->vision_layers == 0) {
        output_format("memory for a context of %" PRIu64 "\n", n->context_tokens);
        print_memory(n);
        return;
    }
    output_format("memory for a context of %" PRIu64 " with a picture of %" PRIu64 "x%" PRIu64
                  " (resized to %" PRIu64 "x%" PRIu64 ", %" PRIu64 " tokens)\n",
                  n->context_tokens, picture.width, picture.height, n->width, n->height,
                  n->image_tokens);
    print_memory(n);
}

static void print_json(const char *path, const ocelli_model_info *info, const need *n,
                       picture_size picture)
{
    cJSON *object = cJSON_CreateObject();
    json_text(object, "model", path);
    json_text(object, "family", info->family);
    json_text(object, "form", info->form);
    json_text(object, "checkpoint_dtype", info->checkpoint_dtype);
    json_text(object, "embed_dtype", info->embed_dtype);
    json_text(object, "quant", ocelli_quant_name(info->quant));
    json_text(object, "vision_type", ocelli_vision_name(info->vision));
    cJSON_AddBoolToObject(object, "tied", info->tied);
    json_text(object, "cpu_tier", info->cpu_tier);
    json_count(object, "threads", (uint64_t)info->threads);
    json_text(object, "fingerprint", info->fingerprint != NULL ? info->fingerprint : "");
    cJSON *decoder = cJSON_AddObjectToObject(object, "decoder");
    json_count(decoder, "layers", info->layers);
    json_count(decoder, "hidden_size", info->hidden_size);
    json_count(decoder, "intermediate_size", info->intermediate_size);
    json_count(decoder, "heads", info->heads);
    json_count(decoder, "kv_heads", info->kv_heads);
    json_count(decoder, "head_dim", info->head_dim);
    json_count(decoder, "experts", info->experts);
    json_count(decoder, "experts_per_token", info->experts_per_token);
    json_count(decoder, "expert_intermediate_size", info->expert_intermediate_size);
    json_count(decoder, "sparse_layers", info->sparse_layers);
    json_count(decoder, "vocab_size", info->vocab_size);
    json_count(decoder, "context_tokens", info->context_tokens);
    cJSON *vision = cJSON_AddObjectToObject(object, "vision");
    json_count(vision, "layers", info->vision_layers);
    json_count(vision, "hidden_size", info->vision_hidden_size);
    json_count(vision, "intermediate_size", info->vision_intermediate_size);
    json_count(vision, "heads", info->vision_heads);
    json_count(vision, "taps", info->vision_taps);
    json_count(vision, "window", info->vision_window);
    json_count(vision, "window_layers", info->vision_window_layers);
    json_count(vision, "patch_size", info->patch_size);
    json_count(vision, "merge_size", info->merge_size);
    json_count(vision, "min_pixels", info->image_min_pixels);
    json_count(vision, "max_pixels", info->image_max_pixels);
    json_count(vision, "video_min_pixels", info->video_min_pixels);
    json_count(vision, "video_max_pixels", info->video_max_pixels);
    cJSON *bytes = cJSON_AddObjectToObject(object, "bytes");
    json_count(bytes, "embedding", info->embed_bytes);
    json_count(bytes, "decoder", info->decoder_bytes);
    json_count(bytes, "head", info->head_bytes);
    json_count(bytes, "vision", info->vision_bytes);
    cJSON *memory = cJSON_AddObjectToObject(object, "memory");
    json_count(memory, "context_tokens", n->context_tokens);
    json_count(memory, "picture_width", picture.width);
    json_count(memory, "picture_height", picture.height);
    json_count(memory, "resized_width", n->width);
    json_count(memory, "resized_height", n->height);
    json_count(memory, "image_tokens", n->image_tokens);
    json_count(memory, "weights", n->memory.weights);
    json_count(memory, "kv_cache", n->memory.kv_cache);
    json_count(memory, "scratch", n->memory.scratch);
    json_count(memory, "visual_rows", n->memory.visual_rows);
    json_count(memory, "total", n->memory.total);
    output_json(object);
}

static int describe(const char *path, const cli_options *options)
{
    ocelli_model_options open_options;
    ocelli_model_info info;
    ocelli_model *model = NULL;
    ocelli_error err = {OCELLI_OK, ""};
    need n;
    memset(&n, 0, sizeof n);
    memset(&info, 0, sizeof info);
    if (!model_options(options, &open_options)) {
        return EXIT_FAILED;
    }
    open_options.plan_only = 1; /* what it needs is known without reading its weights */
    ocelli_status status = ocelli_model_open(&model, path, &open_options, &err);
    progress_end();
    if (status != OCELLI_OK) {
        return report_failure(&err);
    }
    info.struct_size = sizeof info;
    ocelli_model_describe(model, &info);
    n.memory.struct_size = sizeof n.memory;
    n.context_tokens = options->context;
    if (n.context_tokens == 0) {
        n.context_tokens =
            info.context_tokens < DEFAULT_CONTEXT ? info.context_tokens : DEFAULT_CONTEXT;
    }
    if (info.vision_layers > 0) {
        status = plan_picture(model, options->picture, &n, &err);
    }
    if (status == OCELLI_OK) {
        status = ocelli_memory_estimate(model, n.context_tokens, n.image_tokens, &n.memory, &err);
    }
    if (status == OCELLI_OK && options->json) {
        print_json(path, &info, &n, options->picture);
    } else if (status == OCELLI_OK) {
        print_text(path, &info, &n, options->picture);
    }
    ocelli_model_close(model);
    return status == OCELLI_OK ? EXIT_DONE : report_failure(&err);
}

int cmd_info(const cli_options *options)
{
    char *path = NULL;
    const char *named = options->operand_count > 0 ? options->operands[0] : options->model;
    int code = model_choose(named, &path);
    if (code == EXIT_DONE) {
        code = describe(path, options);
    }
    free(path);
    return code;
}
