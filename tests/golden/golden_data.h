/* golden_data.h - reading a folder of golden data: names, JSON, texts, numbers. */
#ifndef OC_TESTS_GOLDEN_DATA_H
#define OC_TESTS_GOLDEN_DATA_H

#include "runtime/base/buffer.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

enum { GOLDEN_PATH = 4096 };

/* "directory/name" into path; false if it is too long. */
bool golden_path(char path[GOLDEN_PATH], const char *directory, const char *name);

/* Names in a folder, sorted as text, without hidden ones. */
typedef struct golden_names {
    char **names; /* [count], owned */
    size_t count;
} golden_names;
/* A folder that is not there has no names. */
ocelli_status golden_list(golden_names *out, const char *directory, ocelli_error *err);
void golden_names_close(golden_names *names);

/* Reads any JSON value. "\u0000" inside strings, which C strings cannot hold, is read as U+FDD0 (no
 * character); golden_text turns it back. Free with cJSON_Delete. */
ocelli_status golden_json(cJSON **out, const char *path, ocelli_error *err);

/* A member, NULL if it is absent or null. */
const cJSON *golden_get(const cJSON *object, const char *key);
const char *golden_string(const cJSON *object, const char *key);
double golden_number(const cJSON *object, const char *key, double fallback);
bool golden_flag(const cJSON *object, const char *key, bool fallback);

/* A copy of a string's bytes, *length of them; "" for what is no string. Free with oc_free. */
char *golden_text(const cJSON *string, size_t *length);
/* Bytes of a string of hex digits. Free with oc_free. */
unsigned char *golden_hex(const cJSON *string, size_t *length);
/* Whole numbers of a list, lists inside it one after another. NULL and 0: not there. oc_free. */
int64_t *golden_integers(const cJSON *list, size_t *count);

/* Unpacks path, a gzip file, into a new file at target by the gzip program. */
ocelli_status golden_gunzip(const char *path, const char *target, ocelli_error *err);

#endif
