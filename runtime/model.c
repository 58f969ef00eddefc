/* model.c - opens and closes a model: files to towers. */
#include "runtime/model.h"

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/options.h"
#include "text/chat.h"
#include "text/tensor_names.h"

#include <stdlib.h>
#include <string.h>

oc_format oc_quant_format(ocelli_quant quant)
{
    switch (quant) {
    case OCELLI_QUANT_F32: return OC_FORMAT_F32;
    case OCELLI_QUANT_F16: return OC_FORMAT_F16;
    case OCELLI_QUANT_Q4: return OC_FORMAT_Q4;
    case OCELLI_QUANT_Q8:
    case OCELLI_QUANT_DEFAULT: break;
    }
    return OC_FORMAT_Q8;
}

oc_format oc_vision_format(ocelli_vision vision)
{
    switch (vision) {
    case OCELLI_VISION_F32: return OC_FORMAT_F32;
    case OCELLI_VISION_Q8: return OC_FORMAT_Q8;
    case OCELLI_VISION_BF16:
    case OCELLI_VISION_DEFAULT: break;
    }
    return OC_FORMAT_BF16;
}

ocelli_vision oc_vision_beside(ocelli_vision vision, ocelli_quant quant)
{
    if (vision != OCELLI_VISION_DEFAULT) {
        return vision;
    }
    return quant == OCELLI_QUANT_F32 ? OCELLI_VISION_F32 : OCELLI_VISION_BF16;
}

/* Room for a picture of three million pixels in the 2B tower, and for a prefill of any model. */
static const size_t MOST_KEPT_SCRATCH = (size_t)256 << 20;

/* Once a step: a few system calls against the end of the process. */
static ocelli_status check_files(const ocelli_model *model, ocelli_error *err)
{
    OC_TRY(oc_embed_table_check(model->table, err));
    OC_TRY(oc_weights_check(model->decoder_files, err));
    return model->vision_files != model->decoder_files ? oc_weights_check(model->vision_files, err)
                                                       : OCELLI_OK;
}

ocelli_status oc_model_begin(ocelli_model *model, size_t scratch, const char *what,
                             ocelli_error *err)
{
    OC_TRY(check_files(model, err));
    pthread_mutex_lock(&model->compute_lock);
    ocelli_status status = oc_arena_reserve(&model->scratch, scratch, what, err);
    if (status != OCELLI_OK) {
        pthread_mutex_unlock(&model->compute_lock);
    }
    return status;
}

void oc_model_end(ocelli_model *model)
{
    if (model->scratch.capacity > MOST_KEPT_SCRATCH) {
        oc_arena_close(&model->scratch);
    }
    pthread_mutex_unlock(&model->compute_lock);
}

ocelli_status oc_model_check_sees(const ocelli_model *model, ocelli_error *err)
{
    return model->config.text_only ? oc_source_fail_blind(&model->source, "so it cannot see", err)
                                   : OCELLI_OK;
}

ocelli_status oc_model_check_computes(const ocelli_model *model, const char *what,
                                      ocelli_error *err)
{
    return model->plan_only ? oc_fail(err, OCELLI_E_STATE,
                                      "%s: the model was opened to plan only (plan_only), so it "
                                      "has no weights",
                                      what)
                            : OCELLI_OK;
}

oc_kv_shape oc_model_kv_shape(const ocelli_model *model)
{
    const oc_decoder_config *config = &model->config.decoder;
    oc_format format = OC_FORMAT_F16;
    if (model->quant == OCELLI_QUANT_F32) {
        format = OC_FORMAT_F32;
    } else if (model->kernels.bf16_products && oc_kv_takes_halves(config->head_dim)) {
        format = OC_FORMAT_BF16;
    }
    return (oc_kv_shape){.layers = config->layers,
                         .kv_heads = config->kv_heads,
                         .head_dim = config->head_dim,
                         .format = format};
}

bool oc_model_decoder_scratch(const ocelli_model *model, size_t prefill_rows, size_t *bytes)
{
    return oc_decoder_scratch(model->decoder, &model->compute, prefill_rows, 1, bytes);
}

bool oc_model_vision_scratch(const ocelli_model *model, size_t groups, size_t grid_h, size_t grid_w,
                             size_t *bytes)
{
    return oc_vit_scratch(model->vit, &model->compute, groups, grid_h, grid_w, bytes);
}

/* ---- the files of a checkpoint ------------------------------------------------------------- */

static ocelli_status open_checkpoint_files(ocelli_model *model, ocelli_error *err)
{
    oc_tensor embed;
    oc_decoder_config *config = &model->config.decoder;
    const int64_t shape[2] = {(int64_t)config->vocab, (int64_t)config->hidden};
    OC_TRY(oc_source_weights(&model->source, &model->config, &model->decoder_files, err));
    model->vision_files = model->decoder_files;
    OC_TRY(oc_weights_get(model->decoder_files, OC_EMBED_TOKENS, 2, shape, &embed, err));
    model->stored_dtype = oc_source_dtype(model->decoder_files);
    oc_tensor head;
    if (!config->tie_is_said && !oc_weights_find(model->decoder_files, OC_LM_HEAD, &head, NULL)) {
        config->tied = true;
    }
    const char *path;
    uint64_t offset;
    if (!oc_weights_locate(model->decoder_files, OC_EMBED_TOKENS, &path, &offset)) {
        return oc_fail(err, OCELLI_E_INTERNAL, "%s is nowhere", OC_EMBED_TOKENS);
    }
    return oc_embed_table_acquire(&model->table, path, offset, embed.dtype, config->vocab,
                                  config->hidden, false, model->embed_budget, err);
}

/* ---- the files of a package ---------------------------------------------------------------- */

static ocelli_status open_in(const char *directory, const char *name, oc_weights **out,
                             ocelli_error *err)
{
    char *path = oc_path_join(directory, name);
    if (path == NULL) {
        return oc_fail_memory(err, name);
    }
    ocelli_status status = oc_weights_open_file(out, path, err);
    oc_free(path);
    return status;
}

static ocelli_status open_package_files(ocelli_model *model, ocelli_error *err)
{
    oc_decoder_config *config = &model->config.decoder;
    const oc_manifest *manifest = &model->manifest;
    config->tied = manifest->tied;
    model->stored_dtype = manifest->embed_dtype;
    OC_TRY(open_in(model->directory, OC_PACKAGE_DECODER, &model->decoder_files, err));
    OC_TRY(open_in(model->directory, OC_PACKAGE_VISION, &model->vision_files, err));
    if (!model->plan_only) {
        OC_TRY(oc_weights_expect_use(model->decoder_files, model->copy_weights, err));
        OC_TRY(oc_weights_expect_use(model->vision_files, false, err));
    }
    OC_TRY(oc_package_check_quant(manifest, model->decoder_files, model->directory, err));
    OC_TRY(oc_package_check_vision(manifest, model->vision_files, model->directory, err));
    const char *theirs = oc_weights_metadata(model->decoder_files, OC_PACKAGE_FINGERPRINT);
    if (theirs == NULL || strcmp(theirs, manifest->fingerprint) != 0) {
        return oc_fail(
            err, OCELLI_E_FORMAT,
            "%s: the lm_head of " OC_PACKAGE_DECODER
            " belongs to table %.32s, but " OC_PACKAGE_EMBED " is table %s; pack the model again",
            model->directory, theirs != NULL ? theirs : "unknown", manifest->fingerprint);
    }
    char *path = oc_path_join(model->directory, OC_PACKAGE_EMBED);
    if (path == NULL) {
        return oc_fail_memory(err, OC_PACKAGE_EMBED);
    }
    ocelli_status status =
        oc_embed_table_acquire(&model->table, path, 0, manifest->embed_dtype, config->vocab,
                               config->hidden, true, model->embed_budget, err);
    oc_free(path);
    return status;
}

static ocelli_status open_image(ocelli_model *model, ocelli_error *err)
{
    const oc_package_file *source = oc_manifest_find(&model->manifest, "tokenizer.json");
    char *path = oc_path_join(model->directory, OC_PACKAGE_TOKENIZER);
    if (path == NULL) {
        return oc_fail_memory(err, OC_PACKAGE_TOKENIZER);
    }
    ocelli_status status = oc_bpe_open_image(&model->bpe, path, model->config.decoder.vocab, err);
    char hash[33];
    if (status == OCELLI_OK && source != NULL) {
        oc_hash_format(oc_bpe_source(model->bpe), hash);
        if (strcmp(hash, source->hash) != 0) {
            status = oc_fail(err, OCELLI_E_FORMAT,
                             "%s: was made from another tokenizer.json than the package's; pack "
                             "the model again",
                             path);
        }
    }
    oc_free(path);
    return status;
}

static ocelli_status open_tokenizer(ocelli_model *model, ocelli_error *err)
{
    return model->packaged
               ? open_image(model, err)
               : oc_source_tokenizer(&model->source, model->config.decoder.vocab, &model->bpe, err);
}

/* ---- towers -------------------------------------------------------------------------------- */

static ocelli_status check_vision_is_there(const ocelli_model *model, ocelli_error *err)
{
    oc_tensor first;
    if (!oc_weights_find(model->vision_files, OC_VIT_FIRST_TENSOR, &first, NULL)) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: no vision tensors (%s is missing); this checkpoint cannot see: get the "
                       "whole vision-language checkpoint",
                       model->directory, OC_VIT_FIRST_TENSOR);
    }
    return OCELLI_OK;
}

/* elements: how much there is to tell of; 0: not known. */
static ocelli_status load_vision(ocelli_model *model, const ocelli_model_options *given,
                                 uint64_t elements, ocelli_error *err)
{
    oc_loader_options options = {.weights = model->vision_files,
                                 .compute = model->compute,
                                 .format = oc_vision_format(model->vision),
                                 .log = &model->log};
    if (!model->packaged && !model->plan_only) {
        options.progress = given->progress;
        options.progress_user = given->progress_user;
        options.progress_what = "packing the vision tower";
        options.progress_total = elements;
    }
    OC_TRY(oc_loader_open(&model->vision_loader, &options, err));
    if (model->plan_only) {
        oc_loader_only_sizes(model->vision_loader);
    }
    return oc_vit_load(&model->vit, &model->config.vit, model->vision_loader, err);
}

static ocelli_status load_decoder(ocelli_model *model, const ocelli_model_options *options,
                                  ocelli_error *err)
{
    OC_TRY(oc_loader_open(
        &model->decoder_loader,
        &(oc_loader_options){.weights = model->decoder_files,
                             .compute = model->compute,
                             .format = oc_quant_format(model->quant),
                             .log = &model->log,
                             .progress = options->progress,
                             .progress_user = options->progress_user,
                             .progress_what = "quantising",
                             .progress_total = oc_decoder_elements(&model->config.decoder)},
        err));
    if (model->plan_only) {
        oc_loader_only_sizes(model->decoder_loader);
    }
    bool has_head = model->packaged || !model->config.decoder.tied;
    OC_TRY(oc_decoder_load(&model->decoder, &model->config.decoder, model->decoder_loader, has_head,
                           err));
    oc_decoder_settle(model->decoder, model->config.decoder.tied ? model->table : NULL);
    return OCELLI_OK;
}

/* What a tower of a checkpoint would be, had it been loaded. */
typedef struct tower_size {
    uint64_t elements;
    uint64_t made; /* bytes that are no file's but memory of our own */
} tower_size;

static ocelli_status size_tower(const ocelli_model *model, bool vision, oc_format format,
                                tower_size *out, ocelli_error *err)
{
    oc_loader *loader;
    oc_vit *vit = NULL;
    oc_decoder *decoder = NULL;
    const oc_config *config = &model->config;
    OC_TRY(oc_loader_open(&loader,
                          &(oc_loader_options){.weights = model->decoder_files,
                                               .compute = model->compute,
                                               .format = format},
                          err));
    oc_loader_only_sizes(loader);
    ocelli_status status =
        vision ? oc_vit_load(&vit, &config->vit, loader, err)
               : oc_decoder_load(&decoder, &config->decoder, loader, !config->decoder.tied, err);
    *out =
        (tower_size){.elements = oc_loader_elements(loader), .made = oc_loader_made_bytes(loader)};
    oc_vit_close(vit);
    oc_decoder_close(decoder);
    oc_loader_close(loader);
    return status;
}

/* A checkpoint that the machine cannot hold is refused before its weights are read: reading them
 * would end the process after minutes. A package is mapped, and the system pages it. */
static ocelli_status check_memory(const ocelli_model *model, uint64_t vision_bytes,
                                  ocelli_error *err)
{
    tower_size decoder, smaller;
    char needs[OC_BYTES_ROOM], has[OC_BYTES_ROOM];
    uint64_t memory = oc_memory_limit();
    OC_TRY(size_tower(model, false, oc_quant_format(model->quant), &decoder, err));
    if (memory >= vision_bytes && memory - vision_bytes >= decoder.made) {
        return OCELLI_OK;
    }
    OC_TRY(size_tower(model, false, OC_FORMAT_Q4, &smaller, err));
    bool q4_fits = memory >= vision_bytes && memory - vision_bytes >= smaller.made;
    return oc_fail(err, OCELLI_E_MEMORY,
                   "%s: its weights as %s take %s of memory, and this machine has %s; %spack it (a "
                   "package is mapped, not held)",
                   model->directory, ocelli_quant_name(model->quant),
                   oc_bytes_label(decoder.made + vision_bytes, needs), oc_bytes_label(memory, has),
                   q4_fits ? "open it as q4 (--quant q4), or " : "");
}

static ocelli_status load_towers(ocelli_model *model, const ocelli_model_options *options,
                                 ocelli_error *err)
{
    bool sees = !model->config.text_only;
    tower_size vision = {0};
    if (sees) {
        OC_TRY(check_vision_is_there(model, err));
    }
    if (!model->packaged && !model->plan_only) {
        if (sees) {
            OC_TRY(size_tower(model, true, oc_vision_format(model->vision), &vision, err));
        }
        OC_TRY(check_memory(model, vision.made, err));
    }
    if (sees) {
        OC_TRY(load_vision(model, options, vision.elements, err));
    }
    return load_decoder(model, options, err);
}

static ocelli_status check_forms(const ocelli_model_options *options, ocelli_error *err)
{
    if (strcmp(ocelli_quant_name(options->quant), "unknown") == 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "quant: %d is not one of default, f32, f16, q8, q4",
                       (int)options->quant);
    }
    if (strcmp(ocelli_vision_name(options->vision), "unknown") == 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "vision: %d is not one of default, f32, bf16, q8",
                       (int)options->vision);
    }
    return OCELLI_OK;
}

/* A package is opened as it was packed, or not at all. */
static ocelli_status choose_forms(ocelli_model *model, const ocelli_model_options *options,
                                  ocelli_error *err)
{
    OC_TRY(check_forms(options, err));
    if (!model->packaged) {
        model->quant = options->quant != OCELLI_QUANT_DEFAULT ? options->quant : OCELLI_QUANT_Q8;
        model->vision = oc_vision_beside(options->vision, model->quant);
        return OCELLI_OK;
    }
    model->quant = model->manifest.quant;
    model->vision = model->manifest.vision;
    if (options->quant != OCELLI_QUANT_DEFAULT && options->quant != model->quant) {
        return oc_fail(
            err, OCELLI_E_ARGUMENT,
            "%s: packed as %s, so it cannot be opened as %s; open the checkpoint or pack it "
            "again",
            model->directory, ocelli_quant_name(model->quant), ocelli_quant_name(options->quant));
    }
    if (options->vision != OCELLI_VISION_DEFAULT && options->vision != model->vision) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "%s: its vision tower is packed as %s, so it cannot be opened as %s; open "
                       "the checkpoint or pack it again",
                       model->directory, ocelli_vision_name(model->vision),
                       ocelli_vision_name(options->vision));
    }
    return OCELLI_OK;
}

static ocelli_status check_template(ocelli_model *model, ocelli_error *err)
{
    oc_chat_template kind;
    OC_TRY(oc_source_template(&model->source, model->config.family->chat, &kind, err));
    if (kind == OC_TEMPLATE_UNKNOWN) {
        oc_log_write(
            &model->log, OCELLI_LOG_WARN,
            "%s: its chat template is not one this version knows; the instruct template of "
            "its family is used",
            model->directory);
    }
    return OCELLI_OK;
}

static ocelli_status open_all(ocelli_model *model, const ocelli_model_options *options,
                              ocelli_error *err)
{
    OC_TRY(oc_source_open(&model->source, model->directory, options->mmproj, err));
    OC_TRY(oc_source_config(&model->source, &model->config, err));
    if (options->needs_vision) {
        OC_TRY(oc_model_check_sees(model, err));
    }
    model->packaged = model->source.form == OC_SOURCE_PACKAGE;
    if (model->packaged) {
        OC_TRY(oc_manifest_read(&model->manifest, model->directory, err));
    }
    OC_TRY(choose_forms(model, options, err));
    OC_TRY(oc_kernels_choose(&model->kernels, options->cpu, err));
    OC_TRY(oc_pool_open(&model->pool, options->threads, err));
    model->compute = (oc_compute){.kernels = &model->kernels, .pool = model->pool};
    OC_TRY(model->packaged ? open_package_files(model, err) : open_checkpoint_files(model, err));
    OC_TRY(open_tokenizer(model, err));
    OC_TRY(check_template(model, err));
    return load_towers(model, options, err);
}

ocelli_status ocelli_model_open(ocelli_model **out, const char *directory,
                                const ocelli_model_options *given, ocelli_error *err)
{
    if (out == NULL || directory == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_model_open: out and directory are needed");
    }
    *out = NULL;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    oc_options_read(&options, sizeof options, given);
    ocelli_model *model = oc_alloc(1, sizeof *model);
    if (model == NULL) {
        return oc_fail_memory(err, "a model");
    }
    atomic_init(&model->references, 1);
    pthread_mutex_init(&model->compute_lock, NULL);
    model->plan_only = options.plan_only != 0;
    model->embed_budget = options.embed_budget;
    model->copy_weights = options.copy_weights != 0;
    model->opened = oc_clock_seconds();
    if (model->plan_only) {
        options.progress = NULL; /* nothing takes time */
    }
    model->log = (oc_log){.write = options.log, .user = options.log_user};
    model->directory = oc_strdup(directory);
    ocelli_status status =
        model->directory == NULL ? oc_fail_memory(err, "a model") : open_all(model, &options, err);
    if (status != OCELLI_OK) {
        ocelli_model_close(model);
        return status;
    }
    *out = model;
    return OCELLI_OK;
}

void ocelli_model_release_vision(ocelli_model *model)
{
    const char *name;
    oc_tensor tensor;
    if (model == NULL) {
        return;
    }
    pthread_mutex_lock(&model->compute_lock); /* not under a picture's feet */
    for (size_t i = 0; oc_weights_at(model->vision_files, i, &name, &tensor); i++) {
        if (oc_weights_begins(model->vision_files, name, OC_VIT_PREFIX)) {
            oc_weights_release(model->vision_files, &tensor);
        }
    }
    pthread_mutex_unlock(&model->compute_lock);
}

ocelli_model *oc_model_retain(ocelli_model *model)
{
    atomic_fetch_add(&model->references, 1);
    return model;
}

void ocelli_model_close(ocelli_model *model)
{
    if (model == NULL || atomic_fetch_sub(&model->references, 1) > 1) {
        return;
    }
    oc_decoder_close(model->decoder);
    oc_vit_close(model->vit);
    oc_loader_close(model->decoder_loader);
    oc_loader_close(model->vision_loader);
    oc_embed_table_release(model->table);
    oc_bpe_close(model->bpe);
    if (model->vision_files != model->decoder_files) {
        oc_weights_close(model->vision_files);
    }
    oc_weights_close(model->decoder_files);
    oc_source_close(&model->source);
    oc_arena_close(&model->scratch);
    oc_pool_close(model->pool);
    oc_config_close(&model->config);
    pthread_mutex_destroy(&model->compute_lock);
    oc_free(model->directory);
    oc_free(model);
}
