/* npy.c - see npy.h. The header is a Python dictionary; three keys of it matter. */
#include "tests/golden/npy.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_HEADER = 1 << 16 };

/* What follows "'key':" in the header, blanks skipped; NULL if the key is not there. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (at == NULL) {
        return NULL;
    }
    at += strlen(key);
    at += strspn(at, " ");
    if (*at != ':') {
        return NULL;
    }
    at++;
    return at + strspn(at, " ");
}

static bool parse_shape(npy *out, const char *at)
{
    if (at == NULL || *at++ != '(') {
        return false;
    }
    out->count = 1;
    for (int i = 0; i < NPY_RANK; i++) {
        out->shape[i] = 1;
    }
    for (;;) {
        at += strspn(at, " ,");
        if (*at == ')') {
            return true;
        }
        if (*at < '0' || *at > '9' || out->rank == NPY_RANK) {
            return false;
        }
        size_t extent = 0;
        for (; *at >= '0' && *at <= '9'; at++) {
            if (!oc_size_mul(extent, 10, &extent) ||
                !oc_size_add(extent, (size_t)(*at - '0'), &extent)) {
                return false;
            }
        }
        out->shape[out->rank++] = extent;
        if (!oc_size_mul(out->count, extent, &out->count)) {
            return false;
        }
    }
}

static int64_t little_endian(const unsigned char *bytes, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return width == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static float read_float(const unsigned char *bytes, size_t width)
{
    float narrow;
    double wide;
    if (width == 4) {
        memcpy(&narrow, bytes, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, bytes, sizeof wide);
    return (float)wide;
}

/* Where element i, counted in C order, is stored. */
static size_t stored_at(const npy *array, size_t i, bool row_major)
{
    size_t at = 0, scale[NPY_RANK], step = 1;
    if (row_major) {
        return i;
    }
    for (int axis = 0; axis < array->rank; axis++) {
        scale[axis] = step;
        step *= array->shape[axis];
    }
    for (int axis = array->rank - 1; axis >= 0; axis--) {
        at += i % array->shape[axis] * scale[axis];
        i /= array->shape[axis];
    }
    return at;
}

static ocelli_status read_values(npy *out, const char *name, char kind, size_t width,
                                 bool row_major, const unsigned char *data, ocelli_error *err)
{
    if (kind == 'f') {
        out->floats = oc_alloc(out->count, sizeof *out->floats);
        for (size_t i = 0; i < out->count && out->floats != NULL; i++) {
            out->floats[i] = read_float(data + stored_at(out, i, row_major) * width, width);
        }
    } else {
        out->integers = oc_alloc(out->count, sizeof *out->integers);
        for (size_t i = 0; i < out->count && out->integers != NULL; i++) {
            out->integers[i] = little_endian(data + stored_at(out, i, row_major) * width, width);
        }
    }
    return out->floats == NULL && out->integers == NULL ? oc_fail_memory(err, name) : OCELLI_OK;
}

ocelli_status npy_parse(npy *out, const char *name, const unsigned char *bytes, size_t size,
                        ocelli_error *err)
{
    *out = (npy){0};
    if (size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: not a .npy file", name);
    }
    size_t length_bytes = bytes[6] == 1 ? 2 : 4;
    size_t begin = 8 + length_bytes;
    if (bytes[6] < 1 || bytes[6] > 3 || size < begin) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED, "%s: version %d of the format", name, bytes[6]);
    }
    size_t length = (size_t)little_endian(bytes + 8, length_bytes);
    if (length > MOST_HEADER || length > size - begin) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: the header's length is wrong", name);
    }
    char *header = oc_strndup((const char *)bytes + begin, length);
    if (header == NULL) {
        return oc_fail_memory(err, name);
    }
    static const char *const types[] = {"'<f4'", "'<f8'", "'<i4'", "'<i8'", "'|u1'"};
    const char *type = value_of(header, "'descr'");
    const char *order = value_of(header, "'fortran_order'");
    char kind = '\0';
    size_t width = 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0] && type != NULL; i++) {
        if (strncmp(type, types[i], 5) == 0) {
            kind = types[i][2];
            width = (size_t)(types[i][3] - '0');
        }
    }
    bool row_major = order != NULL && strncmp(order, "False", 5) == 0;
    bool ordered = row_major || (order != NULL && strncmp(order, "True", 4) == 0);
    bool shaped = parse_shape(out, value_of(header, "'shape'"));
    oc_free(header);
    size_t wanted;
    ocelli_status status;
    if (width == 0 || !ordered) {
        status = oc_fail(err, OCELLI_E_UNSUPPORTED, "%s: not one of f4, f8, i4, i8 and u1", name);
    } else if (!shaped || !oc_size_mul(out->count, width, &wanted) ||
               wanted != size - begin - length) {
        status =
            oc_fail(err, OCELLI_E_FORMAT, "%s: the shape does not match the file's size", name);
    } else {
        status = read_values(out, name, kind, width, row_major, bytes + begin + length, err);
    }
    if (status != OCELLI_OK) {
        npy_close(out);
    }
    return status;
}

ocelli_status npy_read(npy *out, const char *path, ocelli_error *err)
{
    char *bytes;
    size_t size;
    *out = (npy){0};
    OC_TRY(oc_file_read(&bytes, &size, path, (size_t)1 << 30, err));
    ocelli_status status = npy_parse(out, path, (const unsigned char *)bytes, size, err);
    oc_free(bytes);
    return status;
}

void npy_close(npy *array)
{
    oc_free(array->floats);
    oc_free(array->integers);
    *array = (npy){0};
}
