/* package.c - see package.h: the manifest. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/package.h"

#include "runtime/base/file.h"
#include "runtime/base/json.h"
#include "runtime/base/memory.h"
#include "text/tensor_names.h"
#include "vision/vit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char FORMAT[] = "ocelli-package";

bool oc_package_is(const char *directory)
{
    char *path = oc_path_join(directory, OC_PACKAGE_MANIFEST);
    bool found = path != NULL && oc_file_exists(path);
    oc_free(path);
    return found;
}

static ocelli_status check_file(const char *directory, const oc_package_file *file,
                                ocelli_error *err)
{
    struct stat found;
    char *path = oc_path_join(directory, file->name);
    if (path == NULL) {
        return oc_fail_memory(err, file->name);
    }
    ocelli_status status = OCELLI_OK;
    if (stat(path, &found) != 0) {
        status =
            oc_fail(err, OCELLI_E_IO, "%s: %s, but the manifest lists it; pack the model again",
                    path, strerror(errno));
    } else if (!S_ISREG(found.st_mode) || (uint64_t)found.st_size != file->size) {
        status =
            oc_fail(err, OCELLI_E_FORMAT,
                    "%s: %lld bytes, but the manifest says %llu; the file is cut or was replaced: "
                    "pack or copy the model again",
                    path, (long long)found.st_size, (unsigned long long)file->size);
    }
    oc_free(path);
    return status;
}

static bool is_hash(const char *text)
{
    return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

/* A plain file name: a manifest from a stranger must not reach outside its folder. */
static bool is_plain_name(const char *name)
{
    return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL &&
           strlen(name) < sizeof((oc_package_file *)NULL)->name;
}

const oc_package_file *oc_manifest_find(const oc_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->file_count; i++) {
        if (strcmp(manifest->files[i].name, name) == 0) {
            return &manifest->files[i];
        }
    }
    return NULL;
}

static ocelli_status read_files(oc_manifest *out, oc_json_object top, const char *directory,
                                ocelli_error *err)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(top.node, "files");
    if (!cJSON_IsArray(list)) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: files: expected a list", top.file);
    }
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        oc_json_object object = {.file = top.file, .where = "files", .node = item};
        const char *name, *hash;
        int64_t size;
        if (out->file_count == OC_PACKAGE_MOST_FILES) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: more than %d files", top.file,
                           OC_PACKAGE_MOST_FILES);
        }
        OC_TRY(oc_json_string(object, "name", &name, err));
        OC_TRY(oc_json_string(object, "hash", &hash, err));
        OC_TRY(oc_json_int(object, "size", 0, INT64_MAX, &size, err));
        if (!is_plain_name(name) || !is_hash(hash)) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: files: \"%.60s\" is not a file name with its hash", top.file, name);
        }
        if (oc_manifest_find(out, name) != NULL) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: files: %s is listed twice; pack the model again", top.file, name);
        }
        oc_package_file *file = &out->files[out->file_count++];
        memcpy(file->name, name, strlen(name) + 1);
        memcpy(file->hash, hash, sizeof file->hash);
        file->size = (uint64_t)size;
        OC_TRY(check_file(directory, file, err));
    }
    static const char *const needed[] = {OC_PACKAGE_EMBED, OC_PACKAGE_DECODER, OC_PACKAGE_VISION,
                                         OC_PACKAGE_TOKENIZER};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (oc_manifest_find(out, needed[i]) == NULL) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: files: %s is not listed", top.file,
                           needed[i]);
        }
    }
    return OCELLI_OK;
}

static ocelli_status read_fields(oc_manifest *out, oc_json_object top, const char *directory,
                                 ocelli_error *err)
{
    const char *format, *quant, *vision, *dtype, *fingerprint, *source;
    int64_t version;
    OC_TRY(oc_json_string(top, "format", &format, err));
    if (strcmp(format, FORMAT) != 0) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: format is \"%.40s\", not \"%s\"", top.file,
                       format, FORMAT);
    }
    OC_TRY(oc_json_int(top, "version", 1, INT32_MAX, &version, err));
    if (version != OC_PACKAGE_VERSION) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: package version %lld; this program reads version %d: pack the "
                       "checkpoint again",
                       top.file, (long long)version, OC_PACKAGE_VERSION);
    }
    OC_TRY(oc_json_string(top, "quant", &quant, err));
    if (ocelli_quant_from_name(quant, &out->quant) != 0 || out->quant == OCELLI_QUANT_DEFAULT) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: quant \"%.40s\" is not known", top.file, quant);
    }
    OC_TRY(oc_json_string(top, "vision", &vision, err));
    if (ocelli_vision_from_name(vision, &out->vision) != 0 ||
        out->vision == OCELLI_VISION_DEFAULT) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: vision \"%.40s\" is not known", top.file, vision);
    }
    OC_TRY(oc_json_bool_or(top, "tied", false, &out->tied, err));
    OC_TRY(oc_json_string(top, "embed_dtype", &dtype, err));
    OC_TRY(oc_json_string(top, "embed_fingerprint", &fingerprint, err));
    OC_TRY(oc_json_string(top, "source_dtype", &source, err));
    if (!oc_dtype_from_name(dtype, &out->embed_dtype) || !oc_dtype_is_weight(out->embed_dtype) ||
        !is_hash(fingerprint) || strlen(source) >= sizeof out->source_dtype) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: embed_dtype, embed_fingerprint or source_dtype is damaged", top.file);
    }
    memcpy(out->fingerprint, fingerprint, sizeof out->fingerprint);
    memcpy(out->source_dtype, source, strlen(source) + 1);
    return read_files(out, top, directory, err);
}

ocelli_status oc_manifest_read(oc_manifest *out, const char *directory, ocelli_error *err)
{
    oc_json json;
    *out = (oc_manifest){0};
    char *path = oc_path_join(directory, OC_PACKAGE_MANIFEST);
    if (path == NULL) {
        return oc_fail_memory(err, "the manifest");
    }
    ocelli_status status = oc_json_open(&json, path, err);
    if (status == OCELLI_OK) {
        status = read_fields(out, oc_json_top(&json), directory, err);
        oc_json_close(&json);
    }
    oc_free(path);
    return status;
}

/* The form of matrix in file must be the one that the manifest tells. */
static ocelli_status check_form(const oc_weights *weights, const char *matrix, const char *file,
                                const char *wanted, const char *directory, ocelli_error *err)
{
    const char *form = oc_weights_metadata(weights, matrix);
    size_t length = strlen(wanted);
    if (form == NULL || strncmp(form, wanted, length) != 0 || form[length] != ' ') {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: " OC_PACKAGE_MANIFEST " says %s, but %s holds \"%.40s\"; pack the "
                       "model again",
                       directory, wanted, file, form != NULL ? form : "nothing");
    }
    return OCELLI_OK;
}

ocelli_status oc_package_check_quant(const oc_manifest *manifest, const oc_weights *decoder,
                                     const char *directory, ocelli_error *err)
{
    return check_form(decoder, OC_LAYER_PREFIX "0.self_attn.q_proj.weight", OC_PACKAGE_DECODER,
                      ocelli_quant_name(manifest->quant), directory, err);
}

ocelli_status oc_package_check_vision(const oc_manifest *manifest, const oc_weights *vision,
                                      const char *directory, ocelli_error *err)
{
    return check_form(vision, OC_VIT_PREFIX "blocks.0.attn.qkv.weight", OC_PACKAGE_VISION,
                      ocelli_vision_name(manifest->vision), directory, err);
}

static char *print_manifest(const oc_manifest *manifest)
{
    char *text = NULL;
    cJSON *top = cJSON_CreateObject();
    cJSON *list = top != NULL ? cJSON_AddArrayToObject(top, "files") : NULL;
    bool sound =
        list != NULL && cJSON_AddStringToObject(top, "format", FORMAT) != NULL &&
        cJSON_AddNumberToObject(top, "version", OC_PACKAGE_VERSION) != NULL &&
        cJSON_AddStringToObject(top, "quant", ocelli_quant_name(manifest->quant)) != NULL &&
        cJSON_AddStringToObject(top, "vision", ocelli_vision_name(manifest->vision)) != NULL &&
        cJSON_AddBoolToObject(top, "tied", manifest->tied) != NULL &&
        cJSON_AddStringToObject(top, "source_dtype", manifest->source_dtype) != NULL &&
        cJSON_AddStringToObject(top, "embed_dtype", oc_dtype_name(manifest->embed_dtype)) != NULL &&
        cJSON_AddStringToObject(top, "embed_fingerprint", manifest->fingerprint) != NULL;
    for (size_t i = 0; sound && i < manifest->file_count; i++) {
        const oc_package_file *file = &manifest->files[i];
        cJSON *item = cJSON_CreateObject();
        sound = item != NULL && cJSON_AddItemToArray(list, item) &&
                cJSON_AddStringToObject(item, "name", file->name) != NULL &&
                cJSON_AddNumberToObject(item, "size", (double)file->size) != NULL &&
                cJSON_AddStringToObject(item, "hash", file->hash) != NULL;
    }
    if (sound) {
        text = cJSON_Print(top);
    }
    cJSON_Delete(top);
    return text;
}

ocelli_status oc_manifest_write(const oc_manifest *manifest, const char *directory,
                                ocelli_error *err)
{
    char *path = oc_path_join(directory, OC_PACKAGE_MANIFEST);
    char *text = print_manifest(manifest);
    ocelli_status status = OCELLI_OK;
    FILE *file = path != NULL && text != NULL ? fopen(path, "wb") : NULL;
    if (path == NULL || text == NULL) {
        status = oc_fail_memory(err, "the manifest");
    } else if (file == NULL) {
        status = oc_fail(err, OCELLI_E_IO, "%s: %s", path, strerror(errno));
    } else {
        size_t length = strlen(text);
        bool written = fwrite(text, 1, length, file) == length && fputc('\n', file) != EOF &&
                       fflush(file) == 0 && fsync(fileno(file)) == 0;
        int reason = errno;
        if (fclose(file) != 0 || !written) {
            status = oc_fail(err, OCELLI_E_IO, "%s: %s", path, strerror(reason));
        }
    }
    oc_free(path);
    cJSON_free(text);
    return status;
}
