/* model_shape.c - see model_shape.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/model_shape.h"
#include "tools/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tokenizer.json has some ten megabytes; more than this is something else. */
#define MOST_FILE_BYTES ((size_t)256 << 20)

/* Wider than any published model; products of three of them stay inside 64 bits. */
#define MOST_WIDTH ((uint64_t)1 << 20)

static char *join(const char *first, const char *between, const char *last)
{
    size_t size = strlen(first) + strlen(between) + strlen(last) + 1;
    char *path = malloc(size);
    if (path == NULL) {
        report_error("no memory");
        return NULL;
    }
    snprintf(path, size, "%s%s%s", first, between, last);
    return path;
}

char *path_join(const char *folder, const char *name)
{
    return join(folder, "/", name);
}

char *path_with_suffix(const char *path, const char *suffix)
{
    return join(path, "", suffix);
}

static char *read_text(FILE *file, const char *path)
{
    size_t used = 0, room = 65536;
    char *text = malloc(room);
    while (text != NULL) {
        errno = 0;
        size_t got = fread(text + used, 1, room - used - 1, file);
        used += got;
        if (got == 0) {
            if (ferror(file)) {
                report_error("cannot read '%s': %s", path, strerror(errno));
                free(text);
                return NULL;
            }
            text[used] = '\0';
            return text;
        }
        if (room - used < 2) {
            char *larger = room < MOST_FILE_BYTES ? realloc(text, room * 2) : NULL;
            if (larger == NULL) {
                break;
            }
            text = larger;
            room *= 2;
        }
    }
    free(text);
    report_error("'%s' is too large", path);
    return NULL;
}

cJSON *json_file_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        report_error("cannot open '%s': %s", path, strerror(errno));
        return NULL;
    }
    char *text = read_text(file, path);
    fclose(file);
    if (text == NULL) {
        return NULL;
    }
    cJSON *tree = cJSON_Parse(text);
    free(text);
    if (tree == NULL) {
        report_error("'%s' is not JSON", path);
    }
    return tree;
}

/* ---- numbers ------------------------------------------------------------------------------- */

typedef struct reader {
    const cJSON *object;
    const char *name; /* of the file */
    bool good;        /* false once something was wrong, and said */
} reader;

static const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* A whole number from least to most; absent: fallback, or an error where that is below least. */
static uint64_t read_count(reader *r, const char *key, uint64_t least, uint64_t most,
                           uint64_t fallback)
{
    const cJSON *item = member(r->object, key);
    if (!r->good) {
        return least;
    }
    if ((item == NULL || cJSON_IsNull(item)) && fallback >= least) {
        return fallback;
    }
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= (double)least) ||
        item->valuedouble > (double)most ||
        item->valuedouble != (double)(uint64_t)item->valuedouble) {
        report_error("'%s': %s: expected a whole number from %" PRIu64 " to %" PRIu64, r->name, key,
                     least, most);
        r->good = false;
        return least;
    }
    return (uint64_t)item->valuedouble;
}

#define NO_FALLBACK 0

static bool is_true(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(member(object, key));
}

/* Which layers have experts: every decoder_sparse_step-th, but for those of mlp_only_layers. */
static void read_experts(reader *r, model_shape *out)
{
    if (member(r->object, "num_experts") == NULL) {
        return;
    }
    out->experts = read_count(r, "num_experts", 1, 65536, NO_FALLBACK);
    out->experts_per_token = read_count(r, "num_experts_per_tok", 1, out->experts, NO_FALLBACK);
    out->expert_intermediate = read_count(r, "moe_intermediate_size", 1, MOST_WIDTH, NO_FALLBACK);
    uint64_t step = read_count(r, "decoder_sparse_step", 1, SHAPE_MOST_LAYERS, 1);
    for (uint64_t i = 0; i < out->layers; i++) {
        out->sparse[i] = (i + 1) % step == 0;
    }
    const cJSON *layer;
    cJSON_ArrayForEach(layer, member(r->object, "mlp_only_layers"))
    {
        if (cJSON_IsNumber(layer) && layer->valuedouble >= 0 &&
            layer->valuedouble < (double)out->layers) {
            out->sparse[(size_t)layer->valuedouble] = false;
        }
    }
}

static void read_decoder(reader *r, model_shape *out)
{
    out->layers = read_count(r, "num_hidden_layers", 1, SHAPE_MOST_LAYERS, NO_FALLBACK);
    out->hidden = read_count(r, "hidden_size", 1, MOST_WIDTH, NO_FALLBACK);
    out->heads = read_count(r, "num_attention_heads", 1, 65536, NO_FALLBACK);
    out->kv_heads = read_count(r, "num_key_value_heads", 1, out->heads, NO_FALLBACK);
    out->head_dim =
        read_count(r, "head_dim", 1, 65536, out->older && r->good ? out->hidden / out->heads : 128);
    out->vocab = read_count(r, "vocab_size", 1, (uint64_t)1 << 24, NO_FALLBACK);
    read_experts(r, out);
    out->intermediate = read_count(r, "intermediate_size", 1, MOST_WIDTH,
                                   out->experts > 0 ? out->expert_intermediate : NO_FALLBACK);
    out->attention_bias = out->older || is_true(r->object, "attention_bias");
}

/* Qwen2-VL's tower says its width as embed_dim and that of its output as hidden_size. */
static void read_tower_widths(reader *r, model_shape *out)
{
    out->vision_layers = read_count(r, "depth", 1, SHAPE_MOST_LAYERS, NO_FALLBACK);
    out->vision_heads = read_count(r, "num_heads", 1, 65536, NO_FALLBACK);
    if (out->mlp == SHAPE_MLP_QUICK) {
        out->vision_hidden = read_count(r, "embed_dim", 1, MOST_WIDTH, NO_FALLBACK);
        out->vision_intermediate = out->vision_hidden * read_count(r, "mlp_ratio", 1, 64, 4);
        return;
    }
    out->vision_hidden = read_count(r, "hidden_size", 1, MOST_WIDTH, NO_FALLBACK);
    out->vision_intermediate = read_count(r, "intermediate_size", 1, MOST_WIDTH, NO_FALLBACK);
}

static void read_vision(reader *r, model_shape *out)
{
    const cJSON *taps = member(r->object, "deepstack_visual_indexes");
    read_tower_widths(r, out);
    out->channels = read_count(r, "in_channels", 1, 16, 3);
    out->temporal = read_count(r, "temporal_patch_size", 1, 16, 2);
    out->patch = read_count(r, "patch_size", 1, 256, out->older ? 14 : 16);
    out->merge = read_count(r, "spatial_merge_size", 1, 16, 2);
    if (out->older) {
        return;
    }
    out->positions = read_count(r, "num_position_embeddings", 1, (uint64_t)1 << 24, NO_FALLBACK);
    out->taps = taps != NULL ? (uint64_t)cJSON_GetArraySize(taps) : 3;
    if (r->good && out->taps > SHAPE_MOST_TAPS) {
        report_error("'%s': deepstack_visual_indexes: %" PRIu64 " are too many", r->name,
                     out->taps);
        r->good = false;
    }
}

cJSON *model_shape_text(const cJSON *config)
{
    cJSON *text = cJSON_GetObjectItemCaseSensitive(config, "text_config");
    return text != NULL ? text : (cJSON *)(uintptr_t)config;
}

bool model_shape_read(model_shape *out, const cJSON *config, const char *name)
{
    memset(out, 0, sizeof *out);
    reader vision = {member(config, "vision_config"), name, true};
    out->mlp = member(vision.object, "embed_dim") != NULL     ? SHAPE_MLP_QUICK
               : member(vision.object, "window_size") != NULL ? SHAPE_MLP_GATED
                                                              : SHAPE_MLP_TANH;
    out->older = out->mlp != SHAPE_MLP_TANH;
    reader text = {out->older ? model_shape_text(config) : member(config, "text_config"), name,
                   true};
    if (!cJSON_IsObject(text.object) || !cJSON_IsObject(vision.object)) {
        report_error("'%s': no text_config and vision_config; it is not of a vision-language model",
                     name);
        return false;
    }
    read_decoder(&text, out);
    if (text.good) {
        read_vision(&vision, out);
    }
    const cJSON *tied = member(config, "tie_word_embeddings");
    out->tied = tied != NULL ? cJSON_IsTrue(tied) : is_true(text.object, "tie_word_embeddings");
    return text.good && vision.good;
}

bool model_shape_load(model_shape *out, const char *folder)
{
    char *path = path_join(folder, "config.json");
    cJSON *config = path != NULL ? json_file_read(path) : NULL;
    bool good = config != NULL && model_shape_read(out, config, path);
    cJSON_Delete(config);
    free(path);
    return good;
}
