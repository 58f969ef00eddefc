/* json.h - typed getters over cJSON that say which key of which file is wrong. */
#ifndef OC_BASE_JSON_H
#define OC_BASE_JSON_H

#include "runtime/base/status.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* One JSON file. tree is owned; name is for messages. */
typedef struct oc_json {
    cJSON *tree;
    char *name;
} oc_json;

/* An object inside a file, by value; where is its dotted path ("" at the top). node may be
 * NULL: then every key is absent. */
typedef struct oc_json_object {
    const char *file;
    const char *where;
    const cJSON *node;
} oc_json_object;

/* 256 MiB: twenty times the largest tokenizer.json there is. */
#define OC_JSON_LIMIT ((size_t)256 << 20)

/* Values of a parsed file, about a hundred bytes of memory each: thirty times those of the largest index
 * of tensors. (A tokenizer's tables are scanned, not parsed.) */
#define OC_JSON_VALUES ((size_t)1000000)

/* Reads and parses; refuses what is not one JSON object and bytes after its end.
 * OCELLI_E_IO or OCELLI_E_FORMAT. */
ocelli_status oc_json_open(oc_json *out, const char *path, ocelli_error *err);
ocelli_status oc_json_parse(oc_json *out, const char *name, const char *bytes, size_t size,
                            ocelli_error *err);
void oc_json_close(oc_json *json);

oc_json_object oc_json_top(const oc_json *json);
/* An object inside an object: absent or null gives one without a node, anything else that is no object
 * is OCELLI_E_FORMAT. key must be a literal or outlive *out. */
ocelli_status oc_json_child(oc_json_object object, const char *key, oc_json_object *out,
                            ocelli_error *err);
bool oc_json_has(oc_json_object object, const char *key);

/* Required values: absent or out of range is OCELLI_E_FORMAT with file, key and what was found. */
ocelli_status oc_json_int(oc_json_object object, const char *key, int64_t least, int64_t most,
                          int64_t *out, ocelli_error *err);
ocelli_status oc_json_double(oc_json_object object, const char *key, double least, double most,
                             double *out, ocelli_error *err);
/* *out borrows from the tree. */
ocelli_status oc_json_string(oc_json_object object, const char *key, const char **out,
                             ocelli_error *err);

/* Optional ones: absent or null leaves fallback; present must still be right. */
ocelli_status oc_json_int_or(oc_json_object object, const char *key, int64_t least, int64_t most,
                             int64_t fallback, int64_t *out, ocelli_error *err);
ocelli_status oc_json_double_or(oc_json_object object, const char *key, double least, double most,
                                double fallback, double *out, ocelli_error *err);
ocelli_status oc_json_bool_or(oc_json_object object, const char *key, bool fallback, bool *out,
                              ocelli_error *err);
/* A list of whole numbers, at most room of them; absent: *count is 0. */
ocelli_status oc_json_ints(oc_json_object object, const char *key, int64_t least, int64_t most,
                           int64_t *out, size_t room, size_t *count, ocelli_error *err);
/* The same, and a lone number is a list of one (eos_token_id is written both ways). */
ocelli_status oc_json_ints_or_one(oc_json_object object, const char *key, int64_t least,
                                  int64_t most, int64_t *out, size_t room, size_t *count,
                                  ocelli_error *err);

#endif
