/* bad_cases.h - lists of damaged files and what must become of them: reading the lists, making the
 * files, and how a refusal looks. Include after _POSIX_C_SOURCE is set. */
#ifndef OC_TESTS_BAD_CASES_H
#define OC_TESTS_BAD_CASES_H

#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/weights/tensor.h"
#include "tests/unit/weights/scratch.h"

#include <cjson/cJSON.h>
#include <sys/resource.h>

#define BAD_ROOT OCELLI_TEST_DATA "/golden/gguf/"

/* What a list says: refuse, accept, or either (but no crash). */
static inline bool bad_must(const cJSON *entry, const char *word)
{
    const char *expect = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "expect"));
    cr_assert_not_null(expect);
    return strcmp(expect, word) == 0;
}

static inline const char *bad_text(const cJSON *entry, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(entry, key));
}

/* An absent number is fallback. */
static inline size_t bad_number(const cJSON *entry, const char *key, size_t fallback)
{
    const cJSON *number = cJSON_GetObjectItem(entry, key);
    return cJSON_IsNumber(number) ? (size_t)number->valuedouble : fallback;
}

/* The bytes of a file below BAD_ROOT, to be freed with oc_free. */
static inline char *bad_bytes(const char *name, size_t *size)
{
    char path[1024];
    char *bytes;
    ocelli_error err;
    snprintf(path, sizeof path, BAD_ROOT "%s", name);
    cr_assert_eq(oc_file_read(&bytes, size, path, (size_t)1 << 26, &err), OCELLI_OK, "%s",
                 err.message);
    return bytes;
}

/* A list below BAD_ROOT, to be freed with cJSON_Delete. */
static inline cJSON *bad_list(const char *name)
{
    size_t size;
    char *bytes = bad_bytes(name, &size);
    cJSON *list = cJSON_ParseWithLength(bytes, size);
    cr_assert_not_null(list, "%s", name);
    oc_free(bytes);
    return list;
}

/* Writes the bytes that hex spells at out [room]; gives their number. */
static inline size_t bad_hex(const char *hex, unsigned char *out, size_t room)
{
    size_t count = strlen(hex) / 2;
    cr_assert_leq(count, room);
    for (size_t i = 0; i < count; i++) {
        unsigned value;
        cr_assert_eq(sscanf(hex + 2 * i, "%2x", &value), 1);
        out[i] = (unsigned char)value;
    }
    return count;
}

/* A tensor of an accepted file: its shape, which the list has under key in the file's order
 * (reversed in GGUF), its bytes, and where in the file, mapped at start, they lie. */
static inline void bad_check_tensor(const char *id, const oc_tensor *tensor,
                                    const unsigned char *start, const cJSON *want, const char *key,
                                    bool reversed)
{
    const cJSON *shape = cJSON_GetObjectItem(want, key);
    int rank = cJSON_GetArraySize(shape);
    cr_expect_eq(tensor->rank, rank, "%s", id);
    for (int i = 0; i < rank; i++) {
        cr_expect_eq(tensor->shape[reversed ? rank - 1 - i : i],
                     (int64_t)cJSON_GetArrayItem(shape, i)->valuedouble, "%s", id);
    }
    cr_expect_eq(tensor->bytes, bad_number(want, "bytes", 0), "%s", id);
    cr_expect_eq((const unsigned char *)tensor->data - start,
                 (ptrdiff_t)bad_number(want, "offset_in_file", 0), "%s", id);
}

/* MiB: more than any of these tests needs, less than any absurd size asks for; sanitizers keep
 * freed blocks. */
enum { BAD_MOST_MEMORY = 600 };

/* The most memory this process has had, in MiB. */
static inline long bad_peak(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss >> 10;
}

/* A refusal is a line that names something, and not the want of memory for an absurd size. */
static inline void bad_check_refusal(const char *id, ocelli_status status, const ocelli_error *err)
{
    cr_expect_neq(status, OCELLI_OK, "%s: is taken", id);
    if (status != OCELLI_OK) {
        cr_expect_neq(status, OCELLI_E_MEMORY, "%s: %s", id, err->message);
        cr_expect_neq(status, OCELLI_E_INTERNAL, "%s: %s", id, err->message);
        cr_expect_gt(strlen(err->message), 10, "%s: '%s'", id, err->message);
        cr_expect_null(strpbrk(err->message, "\n\r"), "%s: %s", id, err->message);
    }
}

#endif
