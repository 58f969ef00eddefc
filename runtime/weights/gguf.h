/* gguf.h - one GGUF file, mapped, its header checked whole before any use.
 *
 *     "GGUF", u32 version, u64 tensors, u64 keys
 *     keys       string key, u32 type, value
 *     tensors    string name, u32 axes (1 to 4), u64 length of each, fastest first, u32 type,
 *                u64 offset
 *     padding    to the alignment (key general.alignment, else 32)
 *     data       offsets count from here
 *
 * all little-endian; a string is a u64 length and its bytes. After oc_gguf_open every value and
 * every tensor lies inside the mapping and has the bytes that its type and shape say. What they
 * mean is not looked at: gguf_names.h knows the tensors, runtime/gguf_config.h the keys. */
#ifndef OC_WEIGHTS_GGUF_H
#define OC_WEIGHTS_GGUF_H

#include "runtime/base/file.h"
#include "runtime/weights/tensor.h"

/* As the format numbers them. */
typedef enum oc_gguf_type {
    OC_GGUF_U8,
    OC_GGUF_I8,
    OC_GGUF_U16,
    OC_GGUF_I16,
    OC_GGUF_U32,
    OC_GGUF_I32,
    OC_GGUF_F32,
    OC_GGUF_BOOL,
    OC_GGUF_STRING,
    OC_GGUF_ARRAY,
    OC_GGUF_U64,
    OC_GGUF_I64,
    OC_GGUF_F64
} oc_gguf_type;

/* One key and its value, both in the mapping. */
typedef struct oc_gguf_value {
    const char *key; /* [key_length], any bytes, no NUL at the end */
    size_t key_length;
    oc_gguf_type type;
    oc_gguf_type element;      /* of an array */
    uint64_t count;            /* elements of an array, bytes of a string, else 1 */
    const unsigned char *data; /* a number, the bytes of a string, or the elements end to end */
} oc_gguf_value;

typedef struct oc_gguf_tensor {
    const char *name; /* no NUL in it; owned by the file */
    uint32_t type;    /* the format's number of tensor.dtype */
    oc_tensor tensor; /* shape row-major: the reverse of what the file has */
    uint64_t offset;  /* from the start of the data */
} oc_gguf_tensor;

typedef struct oc_gguf {
    char *path;
    oc_map map;
    oc_gguf_value *values;   /* [value_count], ascending by key */
    oc_gguf_tensor *tensors; /* [tensor_count], in the order of the data */
    size_t value_count, tensor_count;
    char *names; /* of all tensors */
    size_t data; /* where the data begins */
} oc_gguf;

/* True if the file begins as a GGUF file does. */
bool oc_gguf_is(const char *path);
/* OCELLI_E_IO; OCELLI_E_FORMAT for anything the format does not allow, a truncated file included;
 * OCELLI_E_UNSUPPORTED for a version, a byte order, an array of arrays or a tensor type that is not
 * read here (by name) and for one part of a model that is split into several files. Memory is asked
 * for in proportion to the file. */
ocelli_status oc_gguf_open(oc_gguf **out, const char *path, ocelli_error *err);
/* Accepts NULL. */
void oc_gguf_close(oc_gguf *file);

/* NULL: there is no such key, no such tensor. */
const oc_gguf_value *oc_gguf_find(const oc_gguf *file, const char *key);
const oc_gguf_tensor *oc_gguf_find_tensor(const oc_gguf *file, const char *name);

/* ---- values; gguf_values.c ------------------------------------------------------------------ */

/* Required values of a kind: absent or of another type is OCELLI_E_FORMAT with file, key and what
 * was found. Any type of integer will do; one beyond int64_t becomes the largest. A float is
 * finite. */
ocelli_status oc_gguf_integer(const oc_gguf *file, const char *key, int64_t *out,
                              ocelli_error *err);
ocelli_status oc_gguf_float(const oc_gguf *file, const char *key, double *out, ocelli_error *err);
ocelli_status oc_gguf_bool(const oc_gguf *file, const char *key, bool *out, ocelli_error *err);
/* *out [*length] borrows from the mapping; no NUL at the end. */
ocelli_status oc_gguf_string(const oc_gguf *file, const char *key, const char **out, size_t *length,
                             ocelli_error *err);
/* An array whose elements are OCELLI_OK for the reader below that goes with the kind: OC_GGUF_I32
 * stands for any integer, OC_GGUF_F32 for any float. */
ocelli_status oc_gguf_array(const oc_gguf *file, const char *key, oc_gguf_type kind,
                            const oc_gguf_value **out, ocelli_error *err);
/* Element index < count of such an array, or the value itself (index 0). */
int64_t oc_gguf_integer_at(const oc_gguf_value *value, size_t index);
double oc_gguf_float_at(const oc_gguf_value *value, size_t index);
bool oc_gguf_bool_at(const oc_gguf_value *value, size_t index);

/* The strings of an array, one after another. */
typedef struct oc_gguf_strings {
    const unsigned char *at, *end; /* end: of the file */
    uint64_t left;
} oc_gguf_strings;
oc_gguf_strings oc_gguf_strings_of(const oc_gguf *file, const oc_gguf_value *array);
/* False at the end, and if the file has been changed so that a string goes beyond it. *text
 * [*length] has no NUL at the end. */
bool oc_gguf_next_string(oc_gguf_strings *strings, const char **text, size_t *length);

bool oc_gguf_text_is(const char *text, size_t length, const char *wanted);

#endif
