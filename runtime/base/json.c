/* json.c - see json.h. */
#include "runtime/base/json.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of commas and opening brackets there is one before every value but the first. Those in strings are
 * counted with them: a file that holds so many is no model's either. */
static bool has_many_values(const char *bytes, size_t size)
{
    size_t values = 1;
    for (size_t i = 0; i < size; i++) {
        values += bytes[i] == ',' || bytes[i] == '[' || bytes[i] == '{';
    }
    return values > OC_JSON_VALUES;
}

/* cJSON counts nesting itself (1000 levels) and refuses more. */
ocelli_status oc_json_parse(oc_json *out, const char *name, const char *bytes, size_t size,
                            ocelli_error *err)
{
    *out = (oc_json){0};
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        bytes += 3; /* a byte order mark: some editors write one */
        size -= 3;
    }
    const char *impostor = oc_file_impostor(bytes, size);
    if (impostor != NULL) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: is %s", name, impostor);
    }
    const char *nul = memchr(bytes, '\0', size);
    if (nul != NULL) { /* the parser would take it for white space */
        return oc_fail(err, OCELLI_E_FORMAT, "%s: a NUL byte at byte %zu: not a text file", name,
                       (size_t)(nul - bytes));
    }
    if (has_many_values(bytes, size)) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: holds more than %zu values: not a model's file",
                       name, OC_JSON_VALUES);
    }
    const char *end = NULL;
    cJSON *tree = cJSON_ParseWithLengthOpts(bytes, size, &end, 0);
    if (tree == NULL) {
        size_t at = end != NULL && end >= bytes && end <= bytes + size ? (size_t)(end - bytes) : 0;
        return oc_fail(err, OCELLI_E_FORMAT, "%s: not valid JSON near byte %zu of %zu", name, at,
                       size);
    }
    for (; end < bytes + size; end++) {
        if (strchr(" \t\r\n", *end) == NULL || *end == '\0') {
            cJSON_Delete(tree);
            return oc_fail(err, OCELLI_E_FORMAT, "%s: bytes after the JSON value at byte %zu", name,
                           (size_t)(end - bytes));
        }
    }
    if (!cJSON_IsObject(tree)) {
        cJSON_Delete(tree);
        return oc_fail(err, OCELLI_E_FORMAT, "%s: expected a JSON object", name);
    }
    char *copy = oc_strdup(name);
    if (copy == NULL) {
        cJSON_Delete(tree);
        return oc_fail_memory(err, name);
    }
    *out = (oc_json){.tree = tree, .name = copy};
    return OCELLI_OK;
}

ocelli_status oc_json_open(oc_json *out, const char *path, ocelli_error *err)
{
    char *bytes;
    size_t size;
    *out = (oc_json){0};
    OC_TRY(oc_file_read(&bytes, &size, path, OC_JSON_LIMIT, err));
    ocelli_status status = oc_json_parse(out, path, bytes, size, err);
    oc_free(bytes);
    return status;
}

void oc_json_close(oc_json *json)
{
    cJSON_Delete(json->tree);
    oc_free(json->name);
    *json = (oc_json){0};
}

oc_json_object oc_json_top(const oc_json *json)
{
    return (oc_json_object){.file = json->name, .where = "", .node = json->tree};
}

static const cJSON *item(oc_json_object object, const char *key)
{
    const cJSON *found =
        object.node != NULL ? cJSON_GetObjectItemCaseSensitive(object.node, key) : NULL;
    return found != NULL && !cJSON_IsNull(found) ? found : NULL;
}

bool oc_json_has(oc_json_object object, const char *key)
{
    return item(object, key) != NULL;
}

static ocelli_status wrong(oc_json_object object, const char *key, const char *wanted,
                           const cJSON *found, ocelli_error *err)
{
    char value[64] = "nothing";
    if (cJSON_IsNumber(found)) {
        snprintf(value, sizeof value, "%.17g", found->valuedouble);
    } else if (cJSON_IsString(found)) {
        snprintf(value, sizeof value, "\"%.40s\"", found->valuestring);
    } else if (found != NULL) {
        snprintf(value, sizeof value, "%s",
                 cJSON_IsObject(found)  ? "an object"
                 : cJSON_IsArray(found) ? "a list"
                                        : "true or false");
    }
    return oc_fail(err, OCELLI_E_FORMAT, "%s: %s%s%s: expected %s, found %s", object.file,
                   object.where, object.where[0] != '\0' ? "." : "", key, wanted, value);
}

ocelli_status oc_json_child(oc_json_object object, const char *key, oc_json_object *out,
                            ocelli_error *err)
{
    const cJSON *found = item(object, key);
    *out = (oc_json_object){.file = object.file, .where = key, .node = found};
    if (found != NULL && !cJSON_IsObject(found)) {
        out->node = NULL;
        return wrong(object, key, "an object", found, err);
    }
    return OCELLI_OK;
}

static bool whole_in_range(const cJSON *node, int64_t least, int64_t most, int64_t *out)
{
    /* 2^53: beyond it a double no longer tells neighbours apart. */
    if (!cJSON_IsNumber(node) || !(fabs(node->valuedouble) <= 9007199254740992.0) ||
        node->valuedouble != floor(node->valuedouble)) {
        return false;
    }
    int64_t value = (int64_t)node->valuedouble;
    if (value < least || value > most) {
        return false;
    }
    *out = value;
    return true;
}

ocelli_status oc_json_int(oc_json_object object, const char *key, int64_t least, int64_t most,
                          int64_t *out, ocelli_error *err)
{
    const cJSON *found = item(object, key);
    if (!whole_in_range(found, least, most, out)) {
        char wanted[96];
        snprintf(wanted, sizeof wanted, "a whole number from %lld to %lld", (long long)least,
                 (long long)most);
        *out = 0;
        return wrong(object, key, wanted, found, err);
    }
    return OCELLI_OK;
}

ocelli_status oc_json_int_or(oc_json_object object, const char *key, int64_t least, int64_t most,
                             int64_t fallback, int64_t *out, ocelli_error *err)
{
    if (item(object, key) == NULL) {
        *out = fallback;
        return OCELLI_OK;
    }
    return oc_json_int(object, key, least, most, out, err);
}

ocelli_status oc_json_double(oc_json_object object, const char *key, double least, double most,
                             double *out, ocelli_error *err)
{
    const cJSON *found = item(object, key);
    if (!cJSON_IsNumber(found) || !(found->valuedouble >= least && found->valuedouble <= most)) {
        char wanted[96];
        snprintf(wanted, sizeof wanted, "a number from %g to %g", least, most);
        *out = 0;
        return wrong(object, key, wanted, found, err);
    }
    *out = found->valuedouble;
    return OCELLI_OK;
}

ocelli_status oc_json_double_or(oc_json_object object, const char *key, double least, double most,
                                double fallback, double *out, ocelli_error *err)
{
    if (item(object, key) == NULL) {
        *out = fallback;
        return OCELLI_OK;
    }
    return oc_json_double(object, key, least, most, out, err);
}

ocelli_status oc_json_bool_or(oc_json_object object, const char *key, bool fallback, bool *out,
                              ocelli_error *err)
{
    const cJSON *found = item(object, key);
    if (found != NULL && !cJSON_IsBool(found)) {
        *out = false;
        return wrong(object, key, "true or false", found, err);
    }
    *out = found != NULL ? cJSON_IsTrue(found) != 0 : fallback;
    return OCELLI_OK;
}

ocelli_status oc_json_string(oc_json_object object, const char *key, const char **out,
                             ocelli_error *err)
{
    const cJSON *found = item(object, key);
    if (!cJSON_IsString(found)) {
        *out = NULL;
        return wrong(object, key, "a string", found, err);
    }
    *out = found->valuestring;
    return OCELLI_OK;
}

ocelli_status oc_json_ints_or_one(oc_json_object object, const char *key, int64_t least,
                                  int64_t most, int64_t *out, size_t room, size_t *count,
                                  ocelli_error *err)
{
    if (cJSON_IsNumber(item(object, key)) && room > 0) {
        *count = 0;
        OC_TRY(oc_json_int(object, key, least, most, out, err));
        *count = 1;
        return OCELLI_OK;
    }
    return oc_json_ints(object, key, least, most, out, room, count, err);
}

ocelli_status oc_json_ints(oc_json_object object, const char *key, int64_t least, int64_t most,
                           int64_t *out, size_t room, size_t *count, ocelli_error *err)
{
    const cJSON *found = item(object, key);
    *count = 0;
    if (found == NULL) {
        return OCELLI_OK;
    }
    if (!cJSON_IsArray(found)) {
        return wrong(object, key, "a list of whole numbers", found, err);
    }
    for (const cJSON *node = found->child; node != NULL; node = node->next) {
        if (*count == room) {
            *count = 0;
            return oc_fail(err, OCELLI_E_FORMAT, "%s: %s%s%s: more than %zu values", object.file,
                           object.where, object.where[0] != '\0' ? "." : "", key, room);
        }
        if (!whole_in_range(node, least, most, &out[*count])) {
            char wanted[96];
            snprintf(wanted, sizeof wanted, "whole numbers from %lld to %lld", (long long)least,
                     (long long)most);
            *count = 0;
            return wrong(object, key, wanted, node, err);
        }
        (*count)++;
    }
    return OCELLI_OK;
}
