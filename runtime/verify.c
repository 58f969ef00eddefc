/* verify.c - proves a package: every file's hash, that a tied head is the quantisation of the
 * table, and that the compiled tokenizer is what its files give. */
#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/config.h"
#include "runtime/package.h"
#include "runtime/weights/loader.h"
#include "text/bpe.h"
#include "text/embed_table.h"
#include "text/tensor_names.h"

#include <string.h>

typedef struct check {
    const char *package;
    ocelli_progress_fn progress;
    void *user;
    oc_manifest manifest;
    oc_config config;
} check;

static ocelli_status tell(const check *c, const char *what, uint64_t done, uint64_t total,
                          ocelli_error *err)
{
    if (c->progress != NULL && c->progress(c->user, what, done, total) != 0) {
        return oc_fail(err, OCELLI_E_CANCELLED, "verifying was stopped");
    }
    return OCELLI_OK;
}

static ocelli_status hash_map(const check *c, const oc_map *map, const oc_package_file *file,
                              oc_hash *out, ocelli_error *err)
{
    enum { PIECE = 8 << 20 };
    oc_hasher *hasher = oc_hasher_open();
    if (hasher == NULL) {
        return oc_fail_memory(err, "a hash");
    }
    ocelli_status status = OCELLI_OK;
    for (size_t at = 0; at < map->size && status == OCELLI_OK; at += PIECE) {
        size_t size = map->size - at < PIECE ? map->size - at : PIECE;
        oc_hasher_update(hasher, map->bytes + at, size);
        oc_map_release_pages(map, map->bytes + at, size);
        status = tell(c, file->name, at + size, map->size, err);
    }
    *out = oc_hasher_digest(hasher);
    oc_hasher_close(hasher);
    return status;
}

static ocelli_status check_hash(const check *c, const oc_package_file *file, ocelli_error *err)
{
    oc_map map;
    oc_hash hash;
    char found[33];
    char *path = oc_path_join(c->package, file->name);
    if (path == NULL) {
        return oc_fail_memory(err, file->name);
    }
    ocelli_status status = oc_map_open(&map, path, NULL, err);
    if (status == OCELLI_OK) {
        status = hash_map(c, &map, file, &hash, err);
        oc_map_close(&map);
    }
    if (status == OCELLI_OK) {
        oc_hash_format(hash, found);
        if (strcmp(found, file->hash) != 0) {
            status =
                oc_fail(err, OCELLI_E_FORMAT,
                        "%s: its bytes have hash %s, the manifest says %s; the file is damaged: "
                        "pack or copy the model again",
                        path, found, file->hash);
        }
    }
    oc_free(path);
    return status;
}

/* Packs the table's rows tile by tile and compares with the head's bytes; on the way the
 * fingerprint of the table's values is taken. */
static ocelli_status compare_head(const check *c, const oc_embed_table *table,
                                  const oc_matrix *head, ocelli_error *err)
{
    size_t vocab = c->config.decoder.vocab, hidden = c->config.decoder.hidden;
    size_t tile_bytes = 0;
    oc_hash fingerprint = {0};
    if (head != NULL && !oc_matrix_bytes(head->format, OC_MATRIX_TILE, hidden, &tile_bytes)) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: the head is too large", c->package);
    }
    float *rows = oc_alloc(OC_MATRIX_TILE * hidden, sizeof *rows); /* [tile, hidden] */
    unsigned char *packed = oc_alloc(tile_bytes, 1);
    oc_hasher *values = oc_hasher_open();
    ocelli_status status = rows == NULL || packed == NULL || values == NULL
                               ? oc_fail_memory(err, "verifying")
                               : OCELLI_OK;
    for (size_t first = 0; first < vocab && status == OCELLI_OK; first += OC_MATRIX_TILE) {
        size_t count = vocab - first < OC_MATRIX_TILE ? vocab - first : OC_MATRIX_TILE;
        for (size_t i = 0; i < count && status == OCELLI_OK; i++) {
            status = oc_embed_table_read(table, first + i, rows + i * hidden, err);
        }
        if (status != OCELLI_OK) {
            break;
        }
        oc_hasher_update(values, rows, count * hidden * sizeof *rows);
        if (head != NULL) {
            size_t size = 0, offset = 0;
            /* A tile's bytes stand where the tiles before it end. */
            (void)oc_matrix_bytes(head->format, first, hidden, &offset);
            (void)oc_matrix_bytes(head->format, count, hidden, &size);
            oc_matrix_pack(head->format, packed, count, hidden, 0, count, rows);
            if (memcmp(packed, (const unsigned char *)head->data + offset, size) != 0) {
                status =
                    oc_fail(err, OCELLI_E_FORMAT,
                            "%s: rows %zu to %zu of the lm_head are not the %s form of rows "
                            "of " OC_PACKAGE_EMBED "; pack the model again",
                            c->package, first, first + count - 1, oc_format_name(head->format));
            }
        }
        if (status == OCELLI_OK && (first / OC_MATRIX_TILE) % 256 == 0) {
            status = tell(c, "head against table", first, vocab, err);
        }
    }
    if (status == OCELLI_OK) {
        char found[33];
        fingerprint = oc_hasher_digest(values);
        oc_hash_format(fingerprint, found);
        if (strcmp(found, c->manifest.fingerprint) != 0) {
            status = oc_fail(err, OCELLI_E_FORMAT,
                             "%s: " OC_PACKAGE_EMBED " has fingerprint %s, the manifest says %s",
                             c->package, found, c->manifest.fingerprint);
        }
    }
    oc_hasher_close(values);
    oc_free(packed);
    oc_free(rows);
    return status;
}

static ocelli_status check_head(const check *c, const oc_embed_table *table, oc_loader *loader,
                                ocelli_error *err)
{
    oc_matrix head;
    OC_TRY(oc_loader_matrix(loader, OC_LM_HEAD, c->config.decoder.vocab, c->config.decoder.hidden,
                            &head, err));
    return compare_head(c, table, c->manifest.tied ? &head : NULL, err);
}

static ocelli_status open_and_check_head(const check *c, ocelli_error *err)
{
    oc_weights *weights = NULL;
    oc_loader *loader = NULL;
    oc_embed_table *table = NULL;
    char *decoder = oc_path_join(c->package, OC_PACKAGE_DECODER);
    char *embed = oc_path_join(c->package, OC_PACKAGE_EMBED);
    ocelli_status status =
        decoder == NULL || embed == NULL ? oc_fail_memory(err, "verifying") : OCELLI_OK;
    if (status == OCELLI_OK) {
        status = oc_weights_open_file(&weights, decoder, err);
    }
    if (status == OCELLI_OK) {
        status = oc_package_check_quant(&c->manifest, weights, c->package, err);
    }
    if (status == OCELLI_OK) {
        status =
            oc_embed_table_acquire(&table, embed, 0, c->manifest.embed_dtype,
                                   c->config.decoder.vocab, c->config.decoder.hidden, true, 0, err);
    }
    if (status == OCELLI_OK) {
        status = oc_loader_open(
            &loader, &(oc_loader_options){.weights = weights, .format = OC_FORMAT_F32}, err);
    }
    if (status == OCELLI_OK) {
        status = check_head(c, table, loader, err);
    }
    oc_loader_close(loader);
    oc_embed_table_release(table);
    oc_weights_close(weights);
    oc_free(decoder);
    oc_free(embed);
    return status;
}

static ocelli_status check_vision(const check *c, ocelli_error *err)
{
    oc_weights *weights;
    char *path = oc_path_join(c->package, OC_PACKAGE_VISION);
    if (path == NULL) {
        return oc_fail_memory(err, OC_PACKAGE_VISION);
    }
    ocelli_status status = oc_weights_open_file(&weights, path, err);
    if (status == OCELLI_OK) {
        status = oc_package_check_vision(&c->manifest, weights, c->package, err);
        oc_weights_close(weights);
    }
    oc_free(path);
    return status;
}

/* Compiles the tokenizer's files again and compares. */
static ocelli_status check_tokenizer(const check *c, ocelli_error *err)
{
    oc_map map;
    oc_bpe *bpe;
    char *path = oc_path_join(c->package, OC_PACKAGE_TOKENIZER);
    if (path == NULL) {
        return oc_fail_memory(err, OC_PACKAGE_TOKENIZER);
    }
    ocelli_status status = oc_map_open(&map, path, NULL, err);
    if (status == OCELLI_OK) {
        status = oc_bpe_open(&bpe, c->package, c->config.decoder.vocab, err);
        if (status == OCELLI_OK) {
            size_t size;
            const void *image = oc_bpe_image(bpe, &size);
            if (size != map.size || memcmp(image, map.bytes, size) != 0) {
                status = oc_fail(err, OCELLI_E_FORMAT,
                                 "%s: is not the compiled form of the package's tokenizer; pack "
                                 "the model again",
                                 path);
            }
            oc_bpe_close(bpe);
        }
        oc_map_close(&map);
    }
    oc_free(path);
    return status;
}

ocelli_status ocelli_verify(const char *package, ocelli_progress_fn progress, void *progress_user,
                            ocelli_error *err)
{
    if (package == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_verify: package is needed");
    }
    check c = {.package = package, .progress = progress, .user = progress_user};
    if (!oc_package_is(package)) {
        return oc_fail(err, OCELLI_E_IO,
                       "%s: no package: there is no " OC_PACKAGE_MANIFEST " in it", package);
    }
    OC_TRY(oc_manifest_read(&c.manifest, package, err));
    for (size_t i = 0; i < c.manifest.file_count; i++) {
        OC_TRY(check_hash(&c, &c.manifest.files[i], err));
    }
    OC_TRY(oc_config_read(&c.config, package, err));
    ocelli_status status = OCELLI_OK;
    if (c.config.decoder.tie_is_said && c.config.decoder.tied != c.manifest.tied) {
        /* An untied head is not compared with the table: the manifest must not excuse it. */
        status =
            oc_fail(err, OCELLI_E_FORMAT,
                    "%s: " OC_PACKAGE_MANIFEST " says the head is %s, config.json says %s; pack "
                    "the model again",
                    package, c.manifest.tied ? "tied" : "not tied",
                    c.config.decoder.tied ? "tied" : "not tied");
    }
    if (status == OCELLI_OK) {
        status = check_tokenizer(&c, err);
    }
    if (status == OCELLI_OK) {
        status = check_vision(&c, err);
    }
    if (status == OCELLI_OK) {
        status = open_and_check_head(&c, err);
    }
    oc_config_close(&c.config);
    return status;
}
