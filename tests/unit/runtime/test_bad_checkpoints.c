/* test_bad_checkpoints.c - the list of damaged JSON files in tests/bad/hf: each is refused with one
 * line, or opens, as the list says. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE
#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "tests/unit/weights/scratch.h"

#include <cjson/cJSON.h>
#include <sys/resource.h>

#define BAD OCELLI_TEST_DATA "/bad/hf/"

/* What every checkpoint of the list has: file in the folder, its sound form in BAD. */
static const struct {
    const char *name, *base;
} sound[] = {{"config.json", BAD "base.config.json"},
             {"preprocessor_config.json", BAD "base.preprocessor_config.json"},
             {"tokenizer.json", BAD "base.tokenizer.json"},
             {"generation_config.json", BAD "generation_config.json"},
             {"tokenizer_config.json", BAD "tokenizer_config.json"},
             {"video_preprocessor_config.json", BAD "video_preprocessor_config.json"}};

enum { WEIGHTS_SIZE = 1497224 };

static void copy(const scratch *folder, const char *name, const char *from)
{
    char *bytes;
    size_t size;
    cr_assert_eq(oc_file_read(&bytes, &size, from, 1 << 20, NULL), OCELLI_OK, "%s", from);
    scratch_write(folder, name, bytes, size);
    oc_free(bytes);
}

static void make_sound(const scratch *folder)
{
    char path[SCRATCH_PATH];
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        copy(folder, sound[i].name, sound[i].base);
    }
    unlink(scratch_path(folder, "model.safetensors.index.json", path));
    copy(folder, "model.safetensors", BAD "model.safetensors.header");
    cr_assert_eq(truncate(scratch_path(folder, "model.safetensors", path), WEIGHTS_SIZE), 0);
}

static const char *text_of(const cJSON *item, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, key));
}

static unsigned hex_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* The sound file without `delete` bytes at `offset`, with those of `insert` there. */
static void write_edited(const scratch *folder, const char *name, const cJSON *item)
{
    char path[512];
    char *bytes;
    size_t size;
    snprintf(path, sizeof path, BAD "base.%s", name);
    cr_assert_eq(oc_file_read(&bytes, &size, path, 1 << 20, NULL), OCELLI_OK, "%s", path);
    const char *insert = text_of(item, "insert");
    size_t offset = (size_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(item, "offset"));
    size_t cut = (size_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(item, "delete"));
    size_t more = strlen(insert) / 2;
    cr_assert(offset <= size && cut <= size - offset);
    char *edited = malloc(size + more + 1);
    cr_assert_not_null(edited);
    memcpy(edited, bytes, offset);
    for (size_t i = 0; i < more; i++) {
        edited[offset + i] = (char)(hex_digit(insert[2 * i]) << 4 | hex_digit(insert[2 * i + 1]));
    }
    memcpy(edited + offset + more, bytes + offset + cut, size - offset - cut);
    scratch_write(folder, name, edited, size - cut + more);
    free(edited);
    oc_free(bytes);
}

static void check_case(const scratch *folder, const cJSON *item)
{
    const char *id = text_of(item, "id"), *name = text_of(item, "replaces");
    const char *content = text_of(item, "content"), *expect = text_of(item, "expect");
    char path[512];
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_model *model = NULL;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.threads = 1;
    make_sound(folder);
    if (content != NULL) {
        snprintf(path, sizeof path, BAD "%s", content);
        copy(folder, name, path);
    } else {
        write_edited(folder, name, item);
    }
    ocelli_status status = ocelli_model_open(&model, folder->path, &options, &err);
    cr_expect(strcmp(expect, "either") == 0 ||
                  (status == OCELLI_OK) == (strcmp(expect, "accept") == 0),
              "%s (%s): %s expected; status %d %s", id, text_of(item, "what"), expect, (int)status,
              err.message);
    if (status != OCELLI_OK) {
        cr_expect(model == NULL && err.status == status && err.message[0] != '\0' &&
                      strchr(err.message, '\n') == NULL && strstr(err.message, "bug") == NULL &&
                      status != OCELLI_E_INTERNAL && status != OCELLI_E_MEMORY,
                  "%s: %d %s", id, (int)status, err.message);
    }
    ocelli_model_close(model);
}

Test(bad_checkpoints, end_as_the_list_says)
{
    char *text;
    size_t size, count = 0;
    scratch folder = scratch_open();
    cr_assert_eq(oc_file_read(&text, &size, BAD "list.json", 1 << 20, NULL), OCELLI_OK);
    cJSON *list = cJSON_Parse(text);
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(list, "cases"))
    {
        check_case(&folder, item);
        count++;
    }
    cr_assert_geq(count, 144);
    cJSON_Delete(list);
    oc_free(text);
    scratch_close(&folder);
#ifndef __SANITIZE_ADDRESS__
    /* Whatever sizes they claim: nothing large was ever asked for and touched. */
    struct rusage usage;
    cr_assert_eq(getrusage(RUSAGE_SELF, &usage), 0);
    cr_assert_leq(usage.ru_maxrss, 200 << 10, "%ld KiB", usage.ru_maxrss);
#endif
}

/* Files that shrink while they are mapped: the next step is refused, and the process lives. */
static void shrink(const char *name, off_t size)
{
    char path[SCRATCH_PATH];
    scratch folder = scratch_open();
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_model *model;
    ocelli_session *session;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    ocelli_generate_options generate = OCELLI_GENERATE_OPTIONS_INIT;
    const ocelli_part part = {"a", NULL};
    make_sound(&folder);
    options.quant = OCELLI_QUANT_F32;
    options.threads = 1;
    generate.max_tokens = 2;
    cr_assert_eq(ocelli_model_open(&model, folder.path, &options, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(ocelli_session_open(&session, model, NULL, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, &part, 1, &err), OCELLI_OK);
    cr_assert_eq(truncate(scratch_path(&folder, name, path), size), 0);
    ocelli_status status = ocelli_session_generate(session, &generate, NULL, NULL, NULL, &err);
    cr_assert_eq(status, OCELLI_E_IO, "%s", err.message);
    cr_assert(strstr(err.message, name) != NULL && strstr(err.message, "shorter") != NULL, "%s",
              err.message);
    ocelli_session_close(session);
    ocelli_model_close(model);
    scratch_close(&folder);
}

Test(bad_checkpoints, a_file_that_shrinks_is_refused_at_the_next_step)
{
    shrink("model.safetensors", WEIGHTS_SIZE - 1);
    shrink("model.safetensors", 0);
}
