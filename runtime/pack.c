/* pack.c - a checkpoint to a package, tensor by tensor: memory for one at a time.
 *
 * Each tower is asked to load twice through a loader that keeps nothing: once to learn the sizes,
 * since the header of a safetensors file comes first, and once to write. So the package holds
 * exactly what the towers ask for, by the names they ask for. */
#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/config.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/model.h"
#include "runtime/options.h"
#include "runtime/package_files.h"
#include "runtime/weights/weights_write.h"
#include "text/tensor_names.h"

#include <stdio.h>
#include <string.h>

typedef struct job {
    const char *checkpoint;
    oc_source source;
    ocelli_pack_options options;
    ocelli_quant quant;
    ocelli_vision vision;
    oc_log log;
    oc_config config;
    oc_weights *weights;
    oc_bpe *bpe;
    oc_kernels kernels;
    oc_pool *pool;
    oc_package_folder folder;
    oc_manifest manifest;
    oc_weights_writer *writer; /* of the file being written */
    uint64_t bytes;            /* of the table and the towers: how much will be written, about */
} job;

static ocelli_status tell(const job *j, const char *what, uint64_t done, uint64_t total,
                          ocelli_error *err)
{
    if (j->options.progress != NULL &&
        j->options.progress(j->options.progress_user, what, done, total) != 0) {
        return oc_fail(err, OCELLI_E_CANCELLED, "packing was stopped");
    }
    return OCELLI_OK;
}

/* ---- the embedding table ------------------------------------------------------------------- */

static ocelli_status write_rows(job *j, const oc_tensor *table, oc_package_stream *stream,
                                oc_hasher *values, float *rows, size_t batch, ocelli_error *err)
{
    size_t vocab = j->config.decoder.vocab, hidden = j->config.decoder.hidden;
    bool raw = j->manifest.embed_dtype != OC_F32;
    const unsigned char *source = table->data;
    for (size_t first = 0; first < vocab; first += batch) {
        size_t count = vocab - first < batch ? vocab - first : batch;
        oc_tensor_widen(table, first * hidden, count * hidden, rows);
        oc_hasher_update(values, rows, count * hidden * sizeof *rows);
        size_t width = raw ? oc_dtype_size(table->dtype) : sizeof *rows;
        const void *bytes = raw ? (const void *)(source + first * hidden * width) : rows;
        OC_TRY(oc_package_stream_write(stream, bytes, count * hidden * width, err));
        OC_TRY(tell(j, OC_PACKAGE_EMBED, first + count, vocab, err));
    }
    return OCELLI_OK;
}

/* The table of the checkpoint, and what it becomes. */
static ocelli_status find_table(const job *j, oc_tensor *table, oc_dtype *written,
                                ocelli_error *err)
{
    const int64_t shape[2] = {(int64_t)j->config.decoder.vocab, (int64_t)j->config.decoder.hidden};
    OC_TRY(oc_weights_get(j->weights, OC_EMBED_TOKENS, 2, shape, table, err));
    *written = j->options.embed_bf16 && table->dtype == OC_BF16 ? OC_BF16 : OC_F32;
    return OCELLI_OK;
}

static ocelli_status write_table(job *j, ocelli_error *err)
{
    size_t hidden = j->config.decoder.hidden;
    oc_tensor table;
    oc_package_stream stream;
    OC_TRY(find_table(j, &table, &j->manifest.embed_dtype, err));
    snprintf(j->manifest.source_dtype, sizeof j->manifest.source_dtype, "%s",
             oc_dtype_label(oc_source_dtype(j->weights)));
    if (j->options.embed_bf16 && j->manifest.embed_dtype != OC_BF16) {
        oc_log_write(&j->log, OCELLI_LOG_WARN,
                     "%s: its embedding table is %s, not bf16, and is kept as float32, exact",
                     j->checkpoint, oc_dtype_label(table.dtype));
    }
    size_t batch = hidden > (1 << 20) / 4 ? 1 : ((size_t)1 << 20) / 4 / hidden; /* about 1 MiB */
    float *rows = oc_alloc(batch, hidden * sizeof *rows);
    oc_hasher *values = oc_hasher_open();
    ocelli_status status = oc_package_stream_open(&stream, &j->folder, OC_PACKAGE_EMBED, err);
    if (rows == NULL || values == NULL) {
        status = oc_fail_memory(err, "the embedding table");
    }
    if (status == OCELLI_OK) {
        status = write_rows(j, &table, &stream, values, rows, batch, err);
    }
    if (status == OCELLI_OK) {
        oc_hash_format(oc_hasher_digest(values), j->manifest.fingerprint);
        status = oc_package_stream_finish(&stream, OC_PACKAGE_EMBED, &j->manifest, err);
    }
    oc_package_stream_close(&stream);
    oc_hasher_close(values);
    oc_free(rows);
    oc_weights_release(j->weights, &table);
    return status;
}

/* ---- the two towers ------------------------------------------------------------------------ */

/* What the decoder asks for, under the name the package gives it: a tied table becomes the head. */
static const char *packed_name(const char *name)
{
    return strcmp(name, OC_EMBED_TOKENS) == 0 ? OC_LM_HEAD : name;
}

static ocelli_status announce(void *user, const char *name, oc_format format, size_t rows,
                              size_t cols, const void *data, size_t bytes, ocelli_error *err)
{
    job *j = user;
    (void)data;
    name = packed_name(name);
    if (rows == 1 && format == OC_FORMAT_F32) { /* a vector */
        const int64_t shape[1] = {(int64_t)cols};
        return oc_weights_writer_announce(j->writer, name, OC_F32, 1, shape, err);
    }
    char value[96];
    const int64_t shape[1] = {(int64_t)bytes};
    snprintf(value, sizeof value, "%s %zu %zu", oc_format_name(format), rows, cols);
    OC_TRY(oc_weights_writer_metadata(j->writer, name, value, err));
    return oc_weights_writer_announce(j->writer, name, OC_U8, 1, shape, err);
}

static ocelli_status write_data(void *user, const char *name, oc_format format, size_t rows,
                                size_t cols, const void *data, size_t bytes, ocelli_error *err)
{
    job *j = user;
    (void)format;
    (void)rows;
    (void)cols;
    return oc_weights_writer_data(j->writer, packed_name(name), data, bytes, err);
}

/* One of the two towers asks for all that it has. */
typedef ocelli_status (*walk_fn)(job *j, oc_loader *loader, ocelli_error *err);

static ocelli_status walk_decoder(job *j, oc_loader *loader, ocelli_error *err)
{
    oc_decoder *decoder;
    OC_TRY(oc_decoder_load(&decoder, &j->config.decoder, loader, !j->config.decoder.tied, err));
    oc_decoder_close(decoder);
    return OCELLI_OK;
}

static ocelli_status walk_vision(job *j, oc_loader *loader, ocelli_error *err)
{
    oc_vit *vit;
    OC_TRY(oc_vit_load(&vit, &j->config.vit, loader, err));
    oc_vit_close(vit);
    return OCELLI_OK;
}

/* sink NULL: nothing is wanted but the sizes; j->bytes grows by them. *elements goes in as what
 * progress is measured against and comes out as how much there was. */
static ocelli_status walk(job *j, walk_fn tower, oc_format format, const oc_loader_sink *sink,
                          const char *what, uint64_t *elements, ocelli_error *err)
{
    oc_loader *loader;
    oc_loader_options options = {.weights = j->weights,
                                 .compute = {.kernels = &j->kernels, .pool = j->pool},
                                 .format = format,
                                 .log = &j->log,
                                 .progress = *elements > 0 ? j->options.progress : NULL,
                                 .progress_user = j->options.progress_user,
                                 .progress_what = what,
                                 .progress_total = *elements};
    OC_TRY(oc_loader_open(&loader, &options, err));
    if (sink != NULL) {
        oc_loader_set_sink(loader, sink);
    } else {
        oc_loader_only_sizes(loader);
    }
    ocelli_status status = tower(j, loader, err);
    *elements = oc_loader_elements(loader);
    j->bytes += sink == NULL ? oc_loader_bytes(loader) : 0;
    oc_loader_close(loader);
    return status;
}

static ocelli_status open_writer(job *j, const char *name, ocelli_error *err)
{
    char *path = oc_path_join(j->folder.path, name);
    if (path == NULL) {
        return oc_fail_memory(err, name);
    }
    ocelli_status status = oc_weights_writer_open(&j->writer, path, err);
    oc_free(path);
    return status;
}

static ocelli_status finish_writer(job *j, const char *name, ocelli_error *err)
{
    uint64_t size;
    oc_hash hash;
    OC_TRY(oc_weights_writer_finish(j->writer, &size, &hash, err));
    oc_weights_writer_close(j->writer);
    j->writer = NULL;
    return oc_manifest_add(&j->manifest, name, size, hash, err);
}

static ocelli_status write_tower(job *j, walk_fn tower, oc_format format, const char *name,
                                 ocelli_error *err)
{
    oc_loader_sink sizes = {.user = j, .put = announce, .announce_only = true};
    oc_loader_sink bytes = {.user = j, .put = write_data};
    uint64_t elements = 0;
    OC_TRY(walk(j, tower, format, &sizes, name, &elements, err));
    OC_TRY(walk(j, tower, format, &bytes, name, &elements, err));
    return finish_writer(j, name, err);
}

static ocelli_status write_decoder(job *j, ocelli_error *err)
{
    OC_TRY(open_writer(j, OC_PACKAGE_DECODER, err));
    OC_TRY(oc_weights_writer_metadata(j->writer, OC_PACKAGE_FINGERPRINT, j->manifest.fingerprint,
                                      err));
    return write_tower(j, walk_decoder, oc_quant_format(j->quant), OC_PACKAGE_DECODER, err);
}

static ocelli_status write_vision(job *j, ocelli_error *err)
{
    OC_TRY(open_writer(j, OC_PACKAGE_VISION, err));
    return write_tower(j, walk_vision, oc_vision_format(j->vision), OC_PACKAGE_VISION, err);
}

/* ---- the tokenizer, compiled, and the files that are copied -------------------------------- */

static ocelli_status write_file(job *j, const char *name, const void *bytes, size_t size,
                                ocelli_error *err)
{
    oc_package_stream stream;
    OC_TRY(oc_package_stream_open(&stream, &j->folder, name, err));
    ocelli_status status = oc_package_stream_write(&stream, bytes, size, err);
    if (status == OCELLI_OK) {
        status = oc_package_stream_finish(&stream, name, &j->manifest, err);
    }
    oc_package_stream_close(&stream);
    return status;
}

static ocelli_status write_tokenizer(job *j, ocelli_error *err)
{
    size_t size;
    const void *image = oc_bpe_image(j->bpe, &size);
    return write_file(j, OC_PACKAGE_TOKENIZER, image, size, err);
}

static ocelli_status copy_files(job *j, ocelli_error *err)
{
    for (size_t i = 0; oc_package_copied(i) != NULL; i++) {
        const char *name = oc_package_copied(i), *text;
        size_t size;
        bool owned;
        OC_TRY(oc_source_file(&j->source, name, &text, &size, &owned, err));
        ocelli_status status = text != NULL ? write_file(j, name, text, size, err) : OCELLI_OK;
        if (owned) {
            oc_free((void *)(uintptr_t)text);
        }
        OC_TRY(status);
    }
    return OCELLI_OK;
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* Everything that can be wrong with the checkpoint is found before anything is written. */
static ocelli_status check_source(job *j, ocelli_error *err)
{
    oc_tensor head, table;
    oc_dtype written;
    uint64_t vision = 0, decoder = 0; /* elements, of which nobody is told */
    OC_TRY(oc_source_open(&j->source, j->checkpoint, j->options.mmproj, err));
    if (j->source.form == OC_SOURCE_PACKAGE) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "%s: is a package already; pack its checkpoint",
                       j->checkpoint);
    }
    OC_TRY(oc_source_config(&j->source, &j->config, err));
    if (j->config.text_only) {
        return oc_source_fail_blind(&j->source, "of which no package can be made", err);
    }
    OC_TRY(oc_source_weights(&j->source, &j->config, &j->weights, err));
    if (!j->config.decoder.tie_is_said && !oc_weights_find(j->weights, OC_LM_HEAD, &head, NULL)) {
        j->config.decoder.tied = true;
    }
    OC_TRY(oc_source_tokenizer(&j->source, j->config.decoder.vocab, &j->bpe, err));
    OC_TRY(find_table(j, &table, &written, err));
    j->bytes = (uint64_t)j->config.decoder.vocab * j->config.decoder.hidden *
               oc_dtype_size(written); /* the file has as many elements: cannot wrap */
    OC_TRY(
        walk(j, walk_vision, oc_vision_format(j->vision), NULL, OC_PACKAGE_VISION, &vision, err));
    return walk(j, walk_decoder, oc_quant_format(j->quant), NULL, OC_PACKAGE_DECODER, &decoder,
                err);
}

static ocelli_status pack(job *j, const char *directory_out, ocelli_error *err)
{
    OC_TRY(oc_kernels_choose(&j->kernels, NULL, err));
    OC_TRY(oc_pool_open(&j->pool, j->options.threads, err));
    OC_TRY(check_source(j, err));
    OC_TRY(oc_package_folder_open(&j->folder, directory_out, j->options.overwrite != 0, err));
    OC_TRY(oc_package_folder_check_room(&j->folder, j->bytes, err));
    j->manifest.quant = j->quant;
    j->manifest.vision = j->vision;
    j->manifest.tied = j->config.decoder.tied;
    OC_TRY(write_table(j, err));
    OC_TRY(write_decoder(j, err));
    OC_TRY(write_vision(j, err));
    OC_TRY(write_tokenizer(j, err));
    OC_TRY(copy_files(j, err));
    OC_TRY(oc_manifest_write(&j->manifest, j->folder.path, err));
    return oc_package_folder_commit(&j->folder, err);
}

static ocelli_status check_forms(const job *j, ocelli_error *err)
{
    if (strcmp(ocelli_quant_name(j->quant), "unknown") == 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "quant: %d is not known", (int)j->quant);
    }
    if (strcmp(ocelli_vision_name(j->vision), "unknown") == 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "vision: %d is not known", (int)j->vision);
    }
    return OCELLI_OK;
}

ocelli_status ocelli_pack(const char *checkpoint, const char *directory_out,
                          const ocelli_pack_options *given, ocelli_error *err)
{
    if (checkpoint == NULL || directory_out == NULL || directory_out[0] == '\0') {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_pack: checkpoint and directory_out are needed");
    }
    job j = {.checkpoint = checkpoint, .options = OCELLI_PACK_OPTIONS_INIT, .folder = {.lock = -1}};
    oc_options_read(&j.options, sizeof j.options, given);
    j.quant = j.options.quant != OCELLI_QUANT_DEFAULT ? j.options.quant : OCELLI_QUANT_Q8;
    j.log = (oc_log){.write = j.options.log, .user = j.options.log_user};
    j.vision = oc_vision_beside(j.options.vision, j.quant);
    ocelli_status status = check_forms(&j, err);
    if (status == OCELLI_OK) {
        status = pack(&j, directory_out, err);
    }
    oc_weights_writer_close(j.writer);
    oc_package_folder_close(&j.folder);
    oc_pool_close(j.pool);
    oc_bpe_close(j.bpe);
    oc_weights_close(j.weights);
    oc_source_close(&j.source);
    oc_config_close(&j.config);
    return status;
}
