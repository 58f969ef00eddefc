/* The compiled tokenizer of a package: written, used, the same answers as without; missing; and one
 * that was tampered with. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/base/memory.h"
#include "runtime/model.h"
#include "runtime/package.h"
#include "tests/unit/weights/scratch.h"
#include "text/bpe_tables.h"

#define PICTURE OCELLI_SAMPLES "/pictures/picture01.png"
#define NAME OC_PACKAGE_TOKENIZER

/* A package of the sample model, in a folder that goes away with it. */
typedef struct packed {
    scratch around, folder;
} packed;

static packed pack_sample(void)
{
    packed made = {.around = scratch_open()};
    ocelli_error err;
    ocelli_pack_options options = OCELLI_PACK_OPTIONS_INIT;
    options.quant = OCELLI_QUANT_Q4;
    options.threads = 2;
    snprintf(made.folder.path, sizeof made.folder.path, "%.240s/package", made.around.path);
    ocelli_status status = ocelli_pack(OCELLI_SAMPLES "/model", made.folder.path, &options, &err);
    cr_assert_eq(status, OCELLI_OK, "%s", status != OCELLI_OK ? err.message : "");
    return made;
}

static void packed_close(packed *package)
{
    scratch_close(&package->folder);
    scratch_close(&package->around);
}

static char *read_file(const packed *package, const char *name, size_t *size)
{
    char path[SCRATCH_PATH];
    char *bytes;
    scratch_path(&package->folder, name, path);
    cr_assert_eq(oc_file_read(&bytes, size, path, (size_t)64 << 20, NULL), OCELLI_OK);
    return bytes;
}

static oc_manifest read_manifest(const packed *package)
{
    oc_manifest manifest;
    ocelli_error err;
    ocelli_status status = oc_manifest_read(&manifest, package->folder.path, &err);
    cr_assert_eq(status, OCELLI_OK, "%s", status != OCELLI_OK ? err.message : "");
    return manifest;
}

/* Replaces a file, and its hash and size in the manifest: what a hash alone does not show. */
static void replace_file(const packed *package, const char *name, const void *bytes, size_t size)
{
    oc_manifest manifest = read_manifest(package);
    scratch_write(&package->folder, name, bytes, size);
    for (size_t i = 0; i < manifest.file_count; i++) {
        if (strcmp(manifest.files[i].name, name) == 0) {
            manifest.files[i].size = size;
            oc_hash_format(oc_hash_bytes(bytes, size), manifest.files[i].hash);
        }
    }
    cr_assert_eq(oc_manifest_write(&manifest, package->folder.path, NULL), OCELLI_OK);
}

static ocelli_model *open_model(const char *directory)
{
    ocelli_error err;
    ocelli_model *model;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.quant = OCELLI_QUANT_Q4;
    options.threads = 2;
    ocelli_status status = ocelli_model_open(&model, directory, &options, &err);
    cr_assert_eq(status, OCELLI_OK, "%s", status != OCELLI_OK ? err.message : "");
    return model;
}

/* The answer about a picture; free with oc_free. */
static char *answer_of(ocelli_model *model)
{
    ocelli_error err = {.message = ""};
    ocelli_image *image;
    ocelli_visual *visual;
    ocelli_session *session;
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = 24;
    cr_assert_eq(ocelli_image_load(&image, PICTURE, NULL, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(ocelli_encode_image(&visual, model, image, NULL, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(ocelli_session_open(&session, model, NULL, &err), OCELLI_OK, "%s", err.message);
    const ocelli_part parts[2] = {{.visual = visual}, {.text = "Write a detailed description."}};
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, parts, 2, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(ocelli_session_generate(session, &options, NULL, NULL, NULL, &err), OCELLI_OK,
                 "%s", err.message);
    char *answer = oc_strdup(ocelli_session_answer(session));
    cr_assert_not_null(answer);
    ocelli_session_close(session);
    ocelli_visual_free(visual);
    ocelli_image_free(image);
    return answer;
}

static void expect_good(const packed *package)
{
    ocelli_error err;
    ocelli_status status = ocelli_verify(package->folder.path, NULL, NULL, &err);
    cr_assert_eq(status, OCELLI_OK, "%s", status != OCELLI_OK ? err.message : "");
}

static void expect_refused(ocelli_status status, const ocelli_error *err, const char *says)
{
    cr_assert_eq(status, OCELLI_E_FORMAT, "%d", (int)status);
    cr_assert_not_null(strstr(err->message, NAME), "%s", err->message);
    cr_assert_not_null(strstr(err->message, says), "%s", err->message);
}

static void expect_verify_refuses(const packed *package, const char *says)
{
    ocelli_error err = {.message = ""};
    expect_refused(ocelli_verify(package->folder.path, NULL, NULL, &err), &err, says);
}

static void expect_open_refuses(const packed *package, const char *says)
{
    ocelli_error err = {.message = ""};
    ocelli_model *model;
    ocelli_status status = ocelli_model_open(&model, package->folder.path, NULL, &err);
    cr_assert_null(model);
    expect_refused(status, &err, says);
}

Test(package_tokenizer, is_listed_used_and_answers_as_the_checkpoint)
{
    packed package = pack_sample();
    oc_manifest manifest = read_manifest(&package);
    const oc_package_file *file = oc_manifest_find(&manifest, NAME);
    cr_assert_not_null(file);
    cr_assert_not_null(oc_manifest_find(&manifest, "tokenizer.json"));
    cr_assert_null(oc_manifest_find(&manifest, "tokenizer"));
    expect_good(&package);

    ocelli_model *checkpoint = open_model(OCELLI_SAMPLES "/model");
    ocelli_model *model = open_model(package.folder.path);
    cr_assert_eq(model->bpe->map.size, file->size, "the package's tokenizer is the mapped file");
    cr_assert_null(checkpoint->bpe->map.bytes);
    char *wanted = answer_of(checkpoint);
    char *answer = answer_of(model);
    cr_assert_gt(strlen(wanted), 20);
    cr_assert_str_eq(answer, wanted);
    oc_free(answer);
    ocelli_model_close(model);

    oc_free(wanted);
    ocelli_model_close(checkpoint);

    /* Neither the file nor an entry for it: a package has one. */
    oc_manifest without = manifest;
    without.file_count = 0;
    for (size_t i = 0; i < manifest.file_count; i++) {
        if (strcmp(manifest.files[i].name, NAME) != 0) {
            without.files[without.file_count++] = manifest.files[i];
        }
    }
    cr_assert_eq(without.file_count, manifest.file_count - 1);
    cr_assert_eq(oc_manifest_write(&without, package.folder.path, NULL), OCELLI_OK);
    char path[SCRATCH_PATH];
    cr_assert_eq(unlink(scratch_path(&package.folder, NAME, path)), 0);
    expect_open_refuses(&package, "is not listed");
    expect_verify_refuses(&package, "is not listed");
    packed_close(&package);
}

/* Gives two merges each other's rank: a sound table, other ids. Twice is as before. */
static void swap_ranks(char *image)
{
    oc_bpe *bpe;
    ocelli_error err;
    size_t size;
    cr_assert_eq(oc_bpe_open(&bpe, OCELLI_SAMPLES "/model", 2048, &err), OCELLI_OK);
    const char *base = oc_bpe_image(bpe, &size);
    size_t found[2], count = 0;
    for (size_t i = 0; count < 2; i++) {
        cr_assert_lt(i, bpe->merge_slots);
        if (bpe->merges[i].pair != UINT64_MAX) {
            found[count++] = (size_t)((const char *)&bpe->merges[i].rank - base);
        }
    }
    uint32_t first;
    memcpy(&first, image + found[0], sizeof first);
    memcpy(image + found[0], image + found[1], sizeof first);
    memcpy(image + found[1], &first, sizeof first);
    oc_bpe_close(bpe);
}

Test(package_tokenizer, tampering_is_refused)
{
    packed package = pack_sample();
    size_t size, json_size;
    char *image = read_file(&package, NAME, &size);
    char *json = read_file(&package, "tokenizer.json", &json_size);

    /* One bit: the manifest's hash. */
    image[size / 2] ^= 4;
    scratch_write(&package.folder, NAME, image, size);
    expect_verify_refuses(&package, "hash");
    image[size / 2] ^= 4;
    scratch_write(&package.folder, NAME, image, size);
    expect_good(&package);

    /* Sound, listed with its hash, and wrong: only compiling it again shows that. */
    swap_ranks(image);
    replace_file(&package, NAME, image, size);
    expect_verify_refuses(&package, "compiled form");
    swap_ranks(image);
    replace_file(&package, NAME, image, size);
    expect_good(&package);

    /* Nonsense that the manifest lists. */
    replace_file(&package, NAME, image, size - 64);
    expect_open_refuses(&package, "cut or damaged");
    expect_verify_refuses(&package, "compiled form");
    replace_file(&package, NAME, "", 0);
    expect_open_refuses(&package, "not a compiled tokenizer");
    expect_verify_refuses(&package, "compiled form");

    /* Cut behind the manifest's back. */
    replace_file(&package, NAME, image, size);
    expect_good(&package);
    scratch_write(&package.folder, NAME, image, size - 64);
    expect_open_refuses(&package, "manifest");
    scratch_write(&package.folder, NAME, image, size);

    /* Another tokenizer.json beside it, if only by a blank. */
    json[json_size] = ' '; /* over the NUL */
    replace_file(&package, "tokenizer.json", json, json_size + 1);
    expect_open_refuses(&package, "another tokenizer.json");
    expect_verify_refuses(&package, "compiled form");
    oc_free(json);
    oc_free(image);
    packed_close(&package);
}
