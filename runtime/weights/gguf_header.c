/* gguf_header.c - see gguf_header.h. */
#include "runtime/weights/gguf_header.h"

#include "runtime/base/memory.h"

#include <string.h>

/* The least that one key and one tensor take in the file: what a count is held against. */
enum { LEAST_KEY = 8 + 4 + 1, LEAST_TENSOR = 8 + 4 + 8 + 4 + 8 };

/* Far beyond any that is used; with more, a file of a few tensors would be mostly holes. */
enum { MOST_ALIGNMENT = 1 << 20, USUAL_ALIGNMENT = 32 };

enum { MOST_AXES = 4 };

typedef struct reader {
    oc_gguf *file;
    const unsigned char *at, *end;
    char *names, *names_end; /* where the next tensor's name goes */
} reader;

static size_t left(const reader *in)
{
    return (size_t)(in->end - in->at);
}

static ocelli_status too_short(const reader *in, const char *what, ocelli_error *err)
{
    return oc_fail(err, OCELLI_E_FORMAT,
                   "%s: truncated or damaged: %s goes beyond the end of the file (%zu bytes); "
                   "download it again",
                   in->file->path, what, in->file->map.size);
}

/* Little-endian, 4 or 8 bytes; false: they are not there. */
static bool take(reader *in, size_t bytes, uint64_t *out)
{
    if (left(in) < bytes) {
        return false;
    }
    *out = 0;
    for (size_t i = bytes; i > 0; i--) {
        *out = *out << 8 | in->at[i - 1];
    }
    in->at += bytes;
    return true;
}

/* A length and so many bytes. */
static bool take_string(reader *in, const char **text, size_t *length)
{
    uint64_t count;
    if (!take(in, 8, &count) || count > left(in)) {
        return false;
    }
    *text = (const char *)in->at;
    *length = (size_t)count;
    in->at += count;
    return true;
}

size_t oc_gguf_type_size(oc_gguf_type type)
{
    switch (type) {
    case OC_GGUF_U8:
    case OC_GGUF_I8:
    case OC_GGUF_BOOL: return 1;
    case OC_GGUF_U16:
    case OC_GGUF_I16: return 2;
    case OC_GGUF_U32:
    case OC_GGUF_I32:
    case OC_GGUF_F32: return 4;
    case OC_GGUF_U64:
    case OC_GGUF_I64:
    case OC_GGUF_F64: return 8;
    case OC_GGUF_STRING:
    case OC_GGUF_ARRAY: break;
    }
    return 0;
}

/* ---- keys ----------------------------------------------------------------------------------- */

static ocelli_status read_array(reader *in, oc_gguf_value *value, ocelli_error *err)
{
    uint64_t element, count;
    if (!take(in, 4, &element) || !take(in, 8, &count)) {
        return too_short(in, "an array", err);
    }
    if (element == OC_GGUF_ARRAY) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: key \"%.*s\" is an array of arrays, which no model needs",
                       in->file->path, (int)(value->key_length < 60 ? value->key_length : 60),
                       value->key);
    }
    if (element > OC_GGUF_F64) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: an array of values of type %llu, which is none",
                       in->file->path, (unsigned long long)element);
    }
    value->element = (oc_gguf_type)element;
    value->count = count;
    value->data = in->at;
    size_t size = oc_gguf_type_size(value->element);
    if (size > 0) {
        if (count > left(in) / size) {
            return too_short(in, "an array", err);
        }
        in->at += count * size;
        return OCELLI_OK;
    }
    const char *text;
    size_t length;
    for (uint64_t i = 0; i < count; i++) { /* every turn takes bytes, or ends it */
        if (!take_string(in, &text, &length)) {
            return too_short(in, "an array of strings", err);
        }
    }
    return OCELLI_OK;
}

static ocelli_status read_value(reader *in, oc_gguf_value *value, ocelli_error *err)
{
    uint64_t type;
    *value = (oc_gguf_value){.count = 1};
    if (!take_string(in, &value->key, &value->key_length) || !take(in, 4, &type)) {
        return too_short(in, "a key", err);
    }
    if (type > OC_GGUF_F64) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: key \"%.*s\" has type %llu, which is none",
                       in->file->path, (int)(value->key_length < 60 ? value->key_length : 60),
                       value->key, (unsigned long long)type);
    }
    value->type = (oc_gguf_type)type;
    if (value->type == OC_GGUF_ARRAY) {
        return read_array(in, value, err);
    }
    if (value->type == OC_GGUF_STRING) {
        const char *text;
        size_t length;
        if (!take_string(in, &text, &length)) {
            return too_short(in, "a value", err);
        }
        value->data = (const unsigned char *)text;
        value->count = length;
        return OCELLI_OK;
    }
    size_t size = oc_gguf_type_size(value->type);
    if (left(in) < size) {
        return too_short(in, "a value", err);
    }
    value->data = in->at;
    in->at += size;
    return OCELLI_OK;
}

/* ---- tensors -------------------------------------------------------------------------------- */

/* Tensor types by their number; those that are only named are refused by that name. */
static const struct {
    const char *name;
    oc_dtype dtype;
    bool read;
} types[] = {
    [0] = {"f32", OC_F32, true},
    [1] = {"f16", OC_F16, true},
    [2] = {"q4_0", OC_Q4_0, true},
    [3] = {"q4_1", OC_Q4_1, true},
    [6] = {"q5_0", OC_Q5_0, true},
    [7] = {"q5_1", OC_Q5_1, true},
    [8] = {"q8_0", OC_Q8_0, true},
    [9] = {.name = "q8_1"},
    [10] = {"q2_K", OC_Q2_K, true},
    [11] = {"q3_K", OC_Q3_K, true},
    [12] = {"q4_K", OC_Q4_K, true},
    [13] = {"q5_K", OC_Q5_K, true},
    [14] = {"q6_K", OC_Q6_K, true},
    [15] = {.name = "q8_K"},
    [16] = {.name = "iq2_xxs"},
    [17] = {.name = "iq2_xs"},
    [18] = {.name = "iq3_xxs"},
    [19] = {.name = "iq1_s"},
    [20] = {"iq4_nl", OC_IQ4_NL, true},
    [21] = {.name = "iq3_s"},
    [22] = {.name = "iq2_s"},
    [23] = {"iq4_xs", OC_IQ4_XS, true},
    [24] = {"i8", OC_I8, true},
    [25] = {"i16", OC_I16, true},
    [26] = {"i32", OC_I32, true},
    [27] = {"i64", OC_I64, true},
    [28] = {"f64", OC_F64, true},
    [29] = {.name = "iq1_m"},
    [30] = {"bf16", OC_BF16, true},
    [34] = {.name = "tq1_0"},
    [35] = {.name = "tq2_0"},
    [39] = {.name = "mxfp4"},
    [40] = {.name = "nvfp4"},
    [41] = {.name = "q1_0"},
    [42] = {.name = "q2_0"},
};
enum { TYPES = sizeof types / sizeof types[0] };

static ocelli_status read_type(reader *in, oc_gguf_tensor *out, const char *label,
                               ocelli_error *err)
{
    uint64_t type;
    if (!take(in, 4, &type) || !take(in, 8, &out->offset)) {
        return too_short(in, "the list of tensors", err);
    }
    if (type >= TYPES || types[type].name == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: tensor \"%s\" has type %llu, which is none",
                       in->file->path, label, (unsigned long long)type);
    }
    if (!types[type].read) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: tensor \"%s\" is %s, which is not read here; take a file of another "
                       "quantisation (q8_0, q6_K, q5_K, q4_K...)",
                       in->file->path, label, types[type].name);
    }
    out->type = (uint32_t)type;
    out->tensor.dtype = types[type].dtype;
    return OCELLI_OK;
}

/* The bytes of the tensor; every factor and every product is checked, whatever a zero axis makes of
 * them. */
static ocelli_status measure(const reader *in, oc_tensor *tensor, const char *label,
                             ocelli_error *err)
{
    size_t product = 1;
    size_t row = (size_t)tensor->shape[tensor->rank - 1];
    size_t block = oc_dtype_block(tensor->dtype);
    bool empty = false, fits = true;
    if (row % block != 0) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: tensor \"%s\" is %s, but its rows of %zu are no whole blocks of %zu",
                       in->file->path, label, oc_dtype_label(tensor->dtype), row, block);
    }
    for (int i = 0; i < tensor->rank; i++) {
        empty = empty || tensor->shape[i] == 0;
        fits = fits &&
               (tensor->shape[i] == 0 || oc_size_mul(product, (size_t)tensor->shape[i], &product));
    }
    product -= product % block; /* of an empty tensor it need not be whole blocks */
    fits = fits && oc_dtype_bytes(tensor->dtype, product, &tensor->bytes);
    if (!fits) {
        char shape[128];
        oc_tensor_shape_text(tensor, shape, sizeof shape);
        return oc_fail(err, OCELLI_E_FORMAT, "%s: tensor \"%s\" of %s is larger than any file",
                       in->file->path, label, shape);
    }
    tensor->bytes = empty ? 0 : tensor->bytes;
    return OCELLI_OK;
}

static ocelli_status read_tensor(reader *in, oc_gguf_tensor *out, ocelli_error *err)
{
    const char *name;
    char label[OC_LABEL_ROOM];
    size_t length;
    uint64_t axes;
    uint64_t sizes[MOST_AXES];
    *out = (oc_gguf_tensor){0};
    if (!take_string(in, &name, &length) || !take(in, 4, &axes)) {
        return too_short(in, "the list of tensors", err);
    }
    if (memchr(name, '\0', length) != NULL) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: the name of a tensor holds a NUL",
                       in->file->path);
    }
    if (length >= (size_t)(in->names_end - in->names)) { /* another program writes to the file */
        return oc_fail(err, OCELLI_E_IO, "%s: the file changes while it is read", in->file->path);
    }
    memcpy(in->names, name, length);
    in->names[length] = '\0';
    out->name = in->names;
    in->names += length + 1;
    oc_name_label(out->name, label);
    if (axes < 1 || axes > MOST_AXES) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: tensor \"%s\" has %llu axes, not 1 to %d",
                       in->file->path, label, (unsigned long long)axes, MOST_AXES);
    }
    out->tensor.rank = (int)axes;
    for (int i = 0; i < OC_TENSOR_RANK; i++) {
        out->tensor.shape[i] = 1;
    }
    for (size_t i = 0; i < axes; i++) {
        if (!take(in, 8, &sizes[i])) {
            return too_short(in, "the list of tensors", err);
        }
        if (sizes[i] > INT64_MAX) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: tensor \"%s\" has an axis of %llu",
                           in->file->path, label, (unsigned long long)sizes[i]);
        }
        out->tensor.shape[axes - 1 - i] = (int64_t)sizes[i]; /* the file has the fastest first */
    }
    OC_TRY(read_type(in, out, label, err));
    return measure(in, &out->tensor, label, err);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static ocelli_status read_start(reader *in, uint64_t *tensors, uint64_t *keys, ocelli_error *err)
{
    const oc_gguf *file = in->file;
    uint64_t version;
    if (left(in) < 4 || memcmp(in->at, "GGUF", 4) != 0) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: not a GGUF file: it does not begin with GGUF",
                       file->path);
    }
    in->at += 4;
    if (!take(in, 4, &version)) {
        return too_short(in, "the header", err);
    }
    if (version != 2 && version != 3) {
        bool swapped = (version & 0xffff) == 0 && version != 0;
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       swapped ? "%s: a GGUF file in big-endian order; only little-endian ones are "
                                 "read (version field %llu)"
                               : "%s: GGUF version %llu; versions 2 and 3 are read",
                       file->path, (unsigned long long)version);
    }
    if (!take(in, 8, tensors) || !take(in, 8, keys)) {
        return too_short(in, "the header", err);
    }
    if (*keys > left(in) / LEAST_KEY || *tensors > left(in) / LEAST_TENSOR) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: truncated or damaged: %llu keys and %llu tensors do not fit into %zu "
                       "bytes",
                       file->path, (unsigned long long)*keys, (unsigned long long)*tensors,
                       file->map.size);
    }
    return OCELLI_OK;
}

static ocelli_status read_alignment(const oc_gguf *file, size_t *out, ocelli_error *err)
{
    static const char key[] = "general.alignment";
    int64_t value = USUAL_ALIGNMENT;
    for (size_t i = 0; i < file->value_count; i++) {
        const oc_gguf_value *found = &file->values[i];
        if (oc_gguf_text_is(found->key, found->key_length, key)) {
            value = found->type == OC_GGUF_U32 ? oc_gguf_integer_at(found, 0) : 0;
        }
    }
    if (value < 1 || value > MOST_ALIGNMENT || (value & (value - 1)) != 0) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: %s must be a power of two up to %d, written as u32", file->path, key,
                       MOST_ALIGNMENT);
    }
    *out = (size_t)value;
    return OCELLI_OK;
}

/* Bytes for the names of all tensors and their ends. Where the list is damaged it stops: reading it
 * again finds the words. */
static size_t names_room(reader in, uint64_t tensors)
{
    size_t room = 1;
    for (uint64_t i = 0; i < tensors; i++) {
        const char *name;
        size_t length;
        uint64_t axes;
        bool named = take_string(&in, &name, &length);
        room += named ? length + 1 : 0; /* less than the file: cannot wrap */
        if (!named || !take(&in, 4, &axes) || axes > MOST_AXES || left(&in) < axes * 8 + 12) {
            break;
        }
        in.at += axes * 8 + 12;
    }
    return room;
}

ocelli_status oc_gguf_read_header(oc_gguf *file, ocelli_error *err)
{
    reader in = {.file = file, .at = file->map.bytes, .end = file->map.bytes + file->map.size};
    uint64_t tensors = 0, keys = 0;
    size_t alignment = USUAL_ALIGNMENT;
    OC_TRY(read_start(&in, &tensors, &keys, err));
    file->values = oc_alloc((size_t)keys, sizeof *file->values);
    if (file->values == NULL) {
        return oc_fail_memory(err, file->path);
    }
    for (uint64_t i = 0; i < keys; i++) {
        OC_TRY(read_value(&in, &file->values[i], err));
        file->value_count++;
    }
    OC_TRY(read_alignment(file, &alignment, err));
    if (tensors > left(&in) / LEAST_TENSOR) {
        return too_short(&in, "the list of tensors", err);
    }
    size_t room = names_room(in, tensors);
    file->tensors = oc_alloc((size_t)tensors, sizeof *file->tensors);
    file->names = oc_alloc(room, 1);
    if (file->tensors == NULL || file->names == NULL) {
        return oc_fail_memory(err, file->path);
    }
    in.names = file->names;
    in.names_end = file->names + room;
    for (uint64_t i = 0; i < tensors; i++) {
        OC_TRY(read_tensor(&in, &file->tensors[i], err));
        file->tensor_count++;
    }
    size_t used = (size_t)(in.at - file->map.bytes);
    size_t rest = used % alignment;
    if (!oc_size_add(used, rest == 0 ? 0 : alignment - rest, &file->data)) {
        return too_short(&in, "the data", err);
    }
    for (size_t i = 0; i < file->tensor_count; i++) {
        if (file->tensors[i].offset % alignment != 0) {
            char label[OC_LABEL_ROOM];
            return oc_fail(
                err, OCELLI_E_FORMAT,
                "%s: tensor \"%s\" begins at %llu, which is no multiple of the alignment "
                "%zu",
                file->path, oc_name_label(file->tensors[i].name, label),
                (unsigned long long)file->tensors[i].offset, alignment);
        }
    }
    return OCELLI_OK;
}
