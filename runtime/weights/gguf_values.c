/* gguf_values.c - the values of gguf.h by the type that is wanted of them. */
#include "runtime/weights/gguf.h"

#include "runtime/kernels/half.h"
#include "runtime/weights/gguf_header.h"

#include <math.h>
#include <string.h>

static bool is_integer(oc_gguf_type type)
{
    switch (type) {
    case OC_GGUF_U8:
    case OC_GGUF_I8:
    case OC_GGUF_U16:
    case OC_GGUF_I16:
    case OC_GGUF_U32:
    case OC_GGUF_I32:
    case OC_GGUF_U64:
    case OC_GGUF_I64: return true;
    default: return false;
    }
}

static bool is_kind(oc_gguf_type type, oc_gguf_type kind)
{
    return kind == OC_GGUF_I32   ? is_integer(type)
           : kind == OC_GGUF_F32 ? type == OC_GGUF_F32 || type == OC_GGUF_F64
                                 : type == kind;
}

/* Of an array, for elements of that kind. */
static const char *kind_name(oc_gguf_type kind)
{
    switch (kind) {
    case OC_GGUF_I32: return "a whole number";
    case OC_GGUF_F32: return "a float";
    case OC_GGUF_BOOL: return "a bool";
    case OC_GGUF_STRING: return "a string";
    default: return "a value";
    }
}

static oc_gguf_type type_of(const oc_gguf_value *value)
{
    return value->type == OC_GGUF_ARRAY ? value->element : value->type;
}

/* The bits of a number, which stand at data. */
static uint64_t bits_at(const oc_gguf_value *value, size_t index)
{
    size_t size = oc_gguf_type_size(type_of(value));
    const unsigned char *at = value->data + index * size;
    uint64_t bits = 0;
    for (size_t i = size; i > 0; i--) {
        bits = bits << 8 | at[i - 1];
    }
    return bits;
}

int64_t oc_gguf_integer_at(const oc_gguf_value *value, size_t index)
{
    uint64_t bits = bits_at(value, index);
    switch (type_of(value)) {
    case OC_GGUF_I8: return (int8_t)bits;
    case OC_GGUF_I16: return (int16_t)bits;
    case OC_GGUF_I32: return (int32_t)bits;
    case OC_GGUF_I64: return (int64_t)bits;
    default: return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    }
}

double oc_gguf_float_at(const oc_gguf_value *value, size_t index)
{
    uint64_t bits = bits_at(value, index);
    if (type_of(value) == OC_GGUF_F64) {
        double wide;
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    return (double)oc_float_from_bits((uint32_t)bits);
}

bool oc_gguf_bool_at(const oc_gguf_value *value, size_t index)
{
    return value->data[index] != 0;
}

static ocelli_status find_kind(const oc_gguf *file, const char *key, oc_gguf_type kind, bool array,
                               const oc_gguf_value **out, ocelli_error *err)
{
    const oc_gguf_value *value = oc_gguf_find(file, key);
    *out = NULL;
    if (value == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: no key %s, which this model needs", file->path,
                       key);
    }
    if (array ? value->type != OC_GGUF_ARRAY || !is_kind(value->element, kind)
              : !is_kind(value->type, kind)) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: key %s: expected %s%s", file->path, key,
                       array ? "an array, each element " : "", kind_name(kind));
    }
    for (uint64_t i = 0; kind == OC_GGUF_F32 && i < value->count; i++) {
        double number = oc_gguf_float_at(value, (size_t)i);
        if (!isfinite(number)) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: key %s is %g", file->path, key, number);
        }
    }
    *out = value;
    return OCELLI_OK;
}

ocelli_status oc_gguf_integer(const oc_gguf *file, const char *key, int64_t *out, ocelli_error *err)
{
    const oc_gguf_value *value;
    *out = 0;
    OC_TRY(find_kind(file, key, OC_GGUF_I32, false, &value, err));
    *out = oc_gguf_integer_at(value, 0);
    return OCELLI_OK;
}

ocelli_status oc_gguf_float(const oc_gguf *file, const char *key, double *out, ocelli_error *err)
{
    const oc_gguf_value *value;
    *out = 0.0;
    OC_TRY(find_kind(file, key, OC_GGUF_F32, false, &value, err));
    *out = oc_gguf_float_at(value, 0);
    return OCELLI_OK;
}

ocelli_status oc_gguf_bool(const oc_gguf *file, const char *key, bool *out, ocelli_error *err)
{
    const oc_gguf_value *value;
    *out = false;
    OC_TRY(find_kind(file, key, OC_GGUF_BOOL, false, &value, err));
    *out = oc_gguf_bool_at(value, 0);
    return OCELLI_OK;
}

ocelli_status oc_gguf_string(const oc_gguf *file, const char *key, const char **out, size_t *length,
                             ocelli_error *err)
{
    const oc_gguf_value *value;
    *out = "";
    *length = 0;
    OC_TRY(find_kind(file, key, OC_GGUF_STRING, false, &value, err));
    *out = (const char *)value->data;
    *length = (size_t)value->count;
    return OCELLI_OK;
}

ocelli_status oc_gguf_array(const oc_gguf *file, const char *key, oc_gguf_type kind,
                            const oc_gguf_value **out, ocelli_error *err)
{
    return find_kind(file, key, kind, true, out, err);
}

oc_gguf_strings oc_gguf_strings_of(const oc_gguf *file, const oc_gguf_value *array)
{
    return (oc_gguf_strings){
        .at = array->data, .end = file->map.bytes + file->map.size, .left = array->count};
}

bool oc_gguf_next_string(oc_gguf_strings *strings, const char **text, size_t *length)
{
    uint64_t bytes = 0;
    if (strings->left == 0 || strings->end - strings->at < 8) {
        return false;
    }
    for (int i = 7; i >= 0; i--) {
        bytes = bytes << 8 | strings->at[i];
    }
    strings->at += 8;
    if (bytes > (size_t)(strings->end - strings->at)) {
        return false;
    }
    *text = (const char *)strings->at;
    *length = (size_t)bytes;
    strings->at += bytes;
    strings->left--;
    return true;
}

bool oc_gguf_text_is(const char *text, size_t length, const char *wanted)
{
    return length == strlen(wanted) && memcmp(text, wanted, length) == 0;
}
