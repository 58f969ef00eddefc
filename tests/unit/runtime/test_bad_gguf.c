/* GGUF files that lie: containers, every prefix of a sound one, edits of real models, pairs that do
 * not belong together. Each ends as its list says, in one line,
 * and in memory of the file's order. */
#define _POSIX_C_SOURCE 200809L
#include "ocelli.h"
#include "runtime/weights/gguf.h"
#include "tests/unit/weights/bad_cases.h"

#include <criterion/criterion.h>

static ocelli_status open_model(ocelli_model **out, const char *text, const char *vision,
                                ocelli_error *err)
{
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.threads = 1;
    options.mmproj = vision;
    return ocelli_model_open(out, text, &options, err);
}

/* ---- containers ------------------------------------------------------------------------------ */

static void check_tensors(const char *id, const oc_gguf *file, const cJSON *want)
{
    cr_expect_eq(file->tensor_count, (size_t)cJSON_GetArraySize(want), "%s", id);
    for (want = want->child; want != NULL; want = want->next) {
        const oc_gguf_tensor *found = oc_gguf_find_tensor(file, bad_text(want, "name"));
        cr_expect_not_null(found, "%s: %s", id, bad_text(want, "name"));
        if (found == NULL) {
            continue;
        }
        cr_expect_eq(found->type, bad_number(want, "ggml_type", 99), "%s", id);
        bad_check_tensor(id, &found->tensor, file->map.bytes, want, "dims", true);
    }
}

/* What only a model can be wrong about: the container is sound, its architecture is not ours. */
static bool is_about_models(const char *name)
{
    return strncmp(name, "arch_", 5) == 0 && strcmp(name, "arch_dup.gguf") != 0;
}

Test(bad_gguf, containers)
{
    cJSON *list = bad_list("bad_gguf/list.json");
    size_t count = 0;
    long before = bad_peak();
    for (const cJSON *entry = cJSON_GetObjectItem(list, "cases")->child; entry != NULL;
         entry = entry->next, count++) {
        char path[1024];
        ocelli_error err = {0};
        oc_gguf *file = NULL;
        ocelli_model *model = NULL;
        const char *name = bad_text(entry, "file");
        snprintf(path, sizeof path, BAD_ROOT "bad_gguf/%s", name);
        ocelli_status status = oc_gguf_open(&file, path, &err);
        if (bad_must(entry, "accept") || is_about_models(name)) {
            cr_expect_eq(status, OCELLI_OK, "%s: %s", name, err.message);
        } else if (bad_must(entry, "refuse")) {
            bad_check_refusal(name, status, &err);
        }
        if (status == OCELLI_OK && cJSON_HasObjectItem(entry, "tensors_if_accepted")) {
            check_tensors(name, file, cJSON_GetObjectItem(entry, "tensors_if_accepted"));
        }
        oc_gguf_close(file);
        /* None of them is a model. */
        bad_check_refusal(name, open_model(&model, path, NULL, &err), &err);
        ocelli_model_close(model);
    }
    cr_assert_gt(count, 100);
    cr_expect_lt(bad_peak() - before, BAD_MOST_MEMORY);
    cJSON_Delete(list);
}

Test(bad_gguf, prefixes)
{
    cJSON *rule = bad_list("bad_gguf/prefixes.json");
    char name[256], path[SCRATCH_PATH];
    size_t size, needed = bad_number(rule, "needed_bytes", 0);
    snprintf(name, sizeof name, "bad_gguf/%s", bad_text(rule, "valid"));
    char *bytes = bad_bytes(name, &size);
    scratch folder = scratch_open();
    cr_assert_gt(needed, 0);
    for (size_t length = 0; length <= size; length++) {
        ocelli_error err = {0};
        oc_gguf *file = NULL;
        scratch_write(&folder, "cut.gguf", bytes, length);
        ocelli_status status = oc_gguf_open(&file, scratch_path(&folder, "cut.gguf", path), &err);
        snprintf(name, sizeof name, "%zu bytes", length);
        if (length < needed) {
            bad_check_refusal(name, status, &err);
        } else {
            cr_expect_eq(status, OCELLI_OK, "%s: %s", name, err.message);
        }
        oc_gguf_close(file);
    }
    scratch_close(&folder);
    oc_free(bytes);
    cJSON_Delete(rule);
}

/* ---- models ---------------------------------------------------------------------------------- */

/* A model that was taken must compute: a NaN among the weights is no reason to leave the tables. */
static void compute(const char *id, ocelli_model *model)
{
    ocelli_session *session;
    ocelli_error err = {0};
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    ocelli_result result = {.struct_size = sizeof result};
    const ocelli_part part = {.text = "What is this?"};
    options.max_tokens = 3;
    cr_assert_eq(ocelli_session_open(&session, model, NULL, &err), OCELLI_OK, "%s: %s", id,
                 err.message);
    cr_expect_eq(ocelli_session_add(session, OCELLI_USER, &part, 1, &err), OCELLI_OK, "%s: %s", id,
                 err.message);
    if (ocelli_session_generate(session, &options, NULL, NULL, &result, &err) != OCELLI_OK) {
        cr_expect_gt(strlen(err.message), 10, "%s: '%s'", id, err.message);
    }
    ocelli_session_close(session);
}

static void patch(char *bytes, size_t size, const cJSON *patches)
{
    for (const cJSON *edit = patches->child; edit != NULL; edit = edit->next) {
        size_t offset = bad_number(edit, "offset", SIZE_MAX);
        unsigned char was[64];
        cr_assert_lt(offset, size);
        size_t count = bad_hex(bad_text(edit, "was"), was, sizeof was);
        cr_assert_leq(count, size - offset);
        cr_assert_arr_eq(bytes + offset, was, count);
        (void)bad_hex(bad_text(edit, "hex"), (unsigned char *)bytes + offset, size - offset);
    }
}

static void run_patched(const scratch *folder, const cJSON *entry)
{
    char path[SCRATCH_PATH];
    size_t size;
    ocelli_error err = {0};
    ocelli_model *model = NULL;
    const char *id = bad_text(entry, "id"), *base = bad_text(entry, "base");
    char *bytes = bad_bytes(base, &size);
    bool vision = strstr(base, "mmproj") != NULL;
    patch(bytes, size, cJSON_GetObjectItem(entry, "patches"));
    size_t length = bad_number(entry, "truncate", size);
    scratch_write(folder, "x.gguf", bytes, length < size ? length : size);
    oc_free(bytes);
    scratch_path(folder, "x.gguf", path);
    ocelli_status status = vision ? open_model(&model, BAD_ROOT "models/t5-q6_K.gguf", path, &err)
                                  : open_model(&model, path, NULL, &err);
    if (bad_must(entry, "accept")) {
        cr_expect_eq(status, OCELLI_OK, "%s: %s", id, err.message);
    } else if (bad_must(entry, "refuse")) {
        bad_check_refusal(id, status, &err);
    }
    /* A tensor that is missing is named as the file would, and looked for in the right file. */
    const char *missing = strstr(id, ".miss_");
    if (missing != NULL) {
        char wanted[128];
        snprintf(wanted, sizeof wanted, "x.gguf: no tensor \"%s", missing + sizeof ".miss_" - 1);
        cr_expect_not_null(strstr(err.message, wanted), "%s: %s", id, err.message);
    }
    if (status == OCELLI_OK) {
        compute(id, model);
    }
    ocelli_model_close(model);
}

Test(bad_gguf, edited_models)
{
    cJSON *list = bad_list("bad_gguf/patches.json");
    scratch folder = scratch_open();
    size_t count = 0;
    long before = bad_peak();
    for (const cJSON *entry = cJSON_GetObjectItem(list, "cases")->child; entry != NULL;
         entry = entry->next, count++) {
        run_patched(&folder, entry);
    }
    cr_assert_gt(count, 100);
    cr_expect_lt(bad_peak() - before, BAD_MOST_MEMORY);
    scratch_close(&folder);
    cJSON_Delete(list);
}

Test(bad_gguf, pairs)
{
    cJSON *list = bad_list("bad_gguf/patches.json");
    size_t count = 0;
    for (const cJSON *entry = cJSON_GetObjectItem(list, "pairs")->child; entry != NULL;
         entry = entry->next, count++) {
        char text[1024], vision[1024];
        ocelli_error err = {0};
        ocelli_model *model = NULL;
        snprintf(text, sizeof text, BAD_ROOT "%s", bad_text(entry, "text"));
        snprintf(vision, sizeof vision, BAD_ROOT "%s", bad_text(entry, "mmproj"));
        ocelli_status status = open_model(&model, text, vision, &err);
        bad_check_refusal(bad_text(entry, "what"), status, &err);
        /* "projection_dim 256 vs embedding_length 64": both sizes are named. */
        unsigned rows, width;
        if (sscanf(bad_text(entry, "what"), "projection_dim %u vs embedding_length %u", &rows,
                   &width) == 2) {
            char wanted[64];
            snprintf(wanted, sizeof wanted, "visual rows of %u", rows);
            cr_expect_not_null(strstr(err.message, wanted), "%s", err.message);
            snprintf(wanted, sizeof wanted, "takes rows of %u", width);
            cr_expect_not_null(strstr(err.message, wanted), "%s", err.message);
        }
        ocelli_model_close(model);
    }
    cr_assert_geq(count, 4);
    cJSON_Delete(list);
}

Test(bad_gguf, one_file_of_a_split_model)
{
    /* Version 3, no tensors, one key: split.count, u16, 3. */
    static const unsigned char bytes[] = "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"
                                         "\x0b\0\0\0\0\0\0\0split.count\2\0\0\0\3\0";
    char path[SCRATCH_PATH];
    ocelli_error err = {0};
    ocelli_model *model = NULL;
    scratch folder = scratch_open();
    scratch_write(&folder, "m-00001-of-00003.gguf", bytes, sizeof bytes - 1);
    scratch_path(&folder, "m-00001-of-00003.gguf", path);
    cr_assert_eq(open_model(&model, path, NULL, &err), OCELLI_E_UNSUPPORTED);
    cr_expect_not_null(strstr(err.message, "one of 3 files"), "%s", err.message);
    scratch_close(&folder);
}
