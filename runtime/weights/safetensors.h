/* safetensors.h - one safetensors file, mapped, its header checked whole before any use.
 *
 *     8 bytes     length of the header, little-endian, at most 100 MB and within the file
 *     header      one JSON object, padded with spaces:
 *                 {"__metadata__": {"key": "text"...},
 *                  "name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}...}
 *     data        offsets count from here; the tensors fill it with no gap, overlap or rest
 *
 * After oc_safetensors_open every tensor lies inside the mapping and has the bytes that its shape
 * and dtype say. What the numbers mean is not looked at. */
#ifndef OC_WEIGHTS_SAFETENSORS_H
#define OC_WEIGHTS_SAFETENSORS_H

#include "runtime/base/file.h"
#include "runtime/weights/tensor.h"

/* Of the format, as its reference reader has it. */
#define OC_SAFETENSORS_HEADER_LIMIT ((size_t)100000000)

typedef struct oc_safetensors_entry {
    const char *name; /* UTF-8, no NUL; owned by the file */
    oc_tensor tensor;
    size_t begin; /* offset from the start of the data */
} oc_safetensors_entry;

typedef struct oc_safetensors_note {
    const char *key, *value;
} oc_safetensors_note;

typedef struct oc_safetensors {
    char *path;
    oc_map map;
    char *text;                           /* all names and metadata */
    oc_safetensors_entry *entries;        /* [count], in the order of the data */
    const oc_safetensors_entry **by_name; /* [count], ascending */
    size_t count;
    oc_safetensors_note *notes; /* [note_count], __metadata__, ascending by key */
    size_t note_count;
} oc_safetensors;

/* OCELLI_E_IO; OCELLI_E_FORMAT for anything the format does not allow, a truncated file included;
 * OCELLI_E_UNSUPPORTED for a dtype whose name is not known. */
ocelli_status oc_safetensors_open(oc_safetensors *out, const char *path, ocelli_error *err);
/* Accepts a zero one. */
void oc_safetensors_close(oc_safetensors *file);

/* NULL: no such tensor, no such key. */
const oc_safetensors_entry *oc_safetensors_find(const oc_safetensors *file, const char *name);
const char *oc_safetensors_metadata(const oc_safetensors *file, const char *key);

#endif
