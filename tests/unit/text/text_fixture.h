/* text_fixture.h - what the tokenizer's tests share: a folder for files that a test writes, the full
 * tokenizer unpacked into one, and golden JSON. Include after _POSIX_C_SOURCE is set. */
#ifndef OC_TESTS_TEXT_FIXTURE_H
#define OC_TESTS_TEXT_FIXTURE_H

#include "runtime/base/json.h"
#include "text/bpe.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GOLDEN OCELLI_TEST_DATA "/golden/qwen3vl"

enum { FOLDER_PATH = 256, FILE_PATH = 512 };

typedef struct folder {
    char path[FOLDER_PATH];
} folder;

static inline folder folder_open(void)
{
    folder made;
    const char *base = getenv("TMPDIR");
    snprintf(made.path, sizeof made.path, "%s/ocelli-text-XXXXXX",
             base != NULL && strlen(base) < 200 ? base : "/tmp");
    cr_assert_not_null(mkdtemp(made.path));
    return made;
}

static inline void folder_write(const folder *where, const char *name, const char *bytes,
                                size_t size)
{
    char path[FILE_PATH];
    snprintf(path, sizeof path, "%s/%s", where->path, name);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

static inline void folder_write_text(const folder *where, const char *name, const char *text)
{
    folder_write(where, name, text, strlen(text));
}

/* Removes the files that the tests here write, and the folder. */
static inline void folder_close(const folder *where)
{
    static const char *const names[] = {"tokenizer.json",      "vocab.json",
                                        "merges.txt",          "tokenizer_config.json",
                                        "chat_template.jinja", "chat_template.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[FILE_PATH];
        snprintf(path, sizeof path, "%s/%s", where->path, names[i]);
        remove(path);
    }
    cr_assert_eq(rmdir(where->path), 0);
}

/* The bytes of a stream, NUL-ended; free with free. */
static inline char *read_stream(FILE *stream, size_t *size)
{
    size_t capacity = (size_t)1 << 20;
    char *bytes = malloc(capacity + 1);
    cr_assert_not_null(bytes);
    *size = 0;
    for (size_t got = 1; got > 0;) {
        got = fread(bytes + *size, 1, capacity - *size, stream);
        *size += got;
        if (*size == capacity) {
            capacity *= 2;
            bytes = realloc(bytes, capacity + 1);
            cr_assert_not_null(bytes);
        }
    }
    bytes[*size] = '\0';
    return bytes;
}

static inline char *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    char *bytes = read_stream(file, size);
    fclose(file);
    return bytes;
}

static inline cJSON *read_golden(const char *name)
{
    char path[FILE_PATH];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", GOLDEN, name);
    char *text = read_whole(path, &size);
    cJSON *tree = cJSON_ParseWithLength(text, size);
    cr_assert_not_null(tree, "%s", path);
    free(text);
    return tree;
}

static inline const cJSON *field(const cJSON *node, const char *key)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(node, key);
    cr_assert_not_null(found, "%s", key);
    return found;
}

/* The tokenizer of the real models, kept compressed beside the golden files. */
static inline oc_bpe *open_real_tokenizer(void)
{
    folder where = folder_open();
    FILE *pipe = popen("gzip -dc '" GOLDEN "/tokenizer/tokenizer.json.gz'", "r");
    cr_assert_not_null(pipe);
    size_t size;
    char *text = read_stream(pipe, &size);
    cr_assert_eq(pclose(pipe), 0, "this test needs gzip");
    folder_write(&where, "tokenizer.json", text, size);
    free(text);
    oc_bpe *bpe;
    ocelli_error err;
    ocelli_status status = oc_bpe_open(&bpe, where.path, 151936, &err);
    folder_close(&where);
    cr_assert_eq(status, OCELLI_OK, "%s", status != OCELLI_OK ? err.message : "");
    return bpe;
}

static inline void expect_ids(const oc_ids *ids, const cJSON *wanted, const char *what)
{
    size_t at = 0;
    for (const cJSON *id = wanted->child; id != NULL; id = id->next, at++) {
        cr_assert_lt(at, ids->count, "%s: only %zu ids", what, ids->count);
        cr_assert_eq(ids->ids[at], (int32_t)id->valuedouble, "%s: id %zu is %d, not %d", what, at,
                     (int)ids->ids[at], (int)id->valuedouble);
    }
    cr_assert_eq(at, ids->count, "%s: %zu ids, not %zu", what, ids->count, at);
}

static inline void encode_one(const oc_bpe *bpe, const char *text, size_t length, bool special,
                              oc_ids *ids)
{
    ocelli_error err;
    oc_text_run run = {.text = text, .length = length, .special = special};
    ocelli_status status = oc_bpe_encode(bpe, &run, 1, ids, &err);
    cr_assert_eq(status, OCELLI_OK, "%s", status != OCELLI_OK ? err.message : "");
}

/* Appends the bytes of the ids. */
static inline void decode_all(const oc_bpe *bpe, const int32_t *ids, size_t count,
                              bool skip_special, oc_buffer *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *bytes = oc_bpe_bytes(bpe, ids[i], &length);
        if (!skip_special || !oc_bpe_is_special(bpe, ids[i])) {
            cr_assert_eq(oc_buffer_append(out, bytes, length, NULL), OCELLI_OK);
        }
    }
}

static inline void unhex(const char *hex, oc_buffer *out)
{
    for (; hex[0] != '\0'; hex += 2) {
        char pair[3] = {hex[0], hex[1], '\0'};
        char byte = (char)strtoul(pair, NULL, 16);
        cr_assert_eq(oc_buffer_append(out, &byte, 1, NULL), OCELLI_OK);
    }
}

static inline void expect_bytes(const oc_buffer *got, const char *hex, const char *what)
{
    oc_buffer wanted = {0};
    unhex(hex, &wanted);
    cr_assert(got->length == wanted.length &&
                  (got->length == 0 || memcmp(got->data, wanted.data, got->length) == 0),
              "%s: got %.200s", what, got->length > 0 ? got->data : "");
    oc_buffer_close(&wanted);
}

#endif
