/* package.h - the files of a package and its manifest. Written by pack.c, read by model.c, proved by
 * verify.c. The layout is in ARCHITECTURE.md. */
#ifndef OC_PACKAGE_H
#define OC_PACKAGE_H

#include "runtime/base/hash.h"
#include "runtime/base/status.h"
#include "runtime/weights/weights.h"

#include <stdbool.h>

#define OC_PACKAGE_MANIFEST "manifest.json"
#define OC_PACKAGE_EMBED "embed_tokens.bin"
#define OC_PACKAGE_DECODER "decoder.safetensors"
#define OC_PACKAGE_VISION "vision.safetensors"
/* The tokenizer compiled (text/bpe_image.h). */
#define OC_PACKAGE_TOKENIZER "tokenizer.bin"
/* __metadata__ key of the decoder file: which embedding table its head belongs to. */
#define OC_PACKAGE_FINGERPRINT "embed_fingerprint"

/* 2: the tower is packed as the decoder is, and the compiled tokenizer is not optional. */
enum { OC_PACKAGE_VERSION = 2, OC_PACKAGE_MOST_FILES = 32 };

typedef struct oc_package_file {
    char name[64];
    uint64_t size;
    char hash[33];
} oc_package_file;

typedef struct oc_manifest {
    ocelli_quant quant;
    ocelli_vision vision;
    bool tied;
    oc_dtype embed_dtype;
    char source_dtype[8]; /* "bf16": of the checkpoint it was made from */
    char fingerprint[33]; /* of the float32 values of the embedding table */
    oc_package_file files[OC_PACKAGE_MOST_FILES];
    size_t file_count;
} oc_manifest;

/* True if directory holds a manifest. */
bool oc_package_is(const char *directory);
/* Reads and checks the manifest, and that every file it lists is there with its size (hashes are
 * verify's work). */
ocelli_status oc_manifest_read(oc_manifest *out, const char *directory, ocelli_error *err);
/* The entry of a file; NULL: the manifest does not list it. */
const oc_package_file *oc_manifest_find(const oc_manifest *manifest, const char *name);
/* The decoder file must hold what the manifest's quant says, the vision file what its vision says:
 * the first matrix of each is looked at. */
ocelli_status oc_package_check_quant(const oc_manifest *manifest, const oc_weights *decoder,
                                     const char *directory, ocelli_error *err);
ocelli_status oc_package_check_vision(const oc_manifest *manifest, const oc_weights *vision,
                                      const char *directory, ocelli_error *err);
/* Writes directory/manifest.json and syncs it. */
ocelli_status oc_manifest_write(const oc_manifest *manifest, const char *directory,
                                ocelli_error *err);

#endif
