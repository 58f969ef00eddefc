/* weights_internal.h - what weights.c and weights_gguf.c share; for these two alone. */
#ifndef OC_WEIGHTS_WEIGHTS_INTERNAL_H
#define OC_WEIGHTS_WEIGHTS_INTERNAL_H

#include "runtime/weights/safetensors.h"
#include "runtime/weights/weights.h"

typedef struct oc_weights_entry {
    const char *name; /* the Hugging Face one */
    oc_tensor tensor;
    size_t file;
    bool assembled; /* its data stand in memory, not in the file */
} oc_weights_entry;

typedef struct oc_weights_file {
    const char *path;
    const oc_map *map;
} oc_weights_file;

struct oc_weights {
    char *where;                 /* the directory or file, for messages */
    oc_safetensors *safetensors; /* [file_count]; NULL: the files are GGUF and borrowed */
    oc_weights_file *files;      /* [file_count] */
    size_t file_count;
    size_t *by_address;               /* [file_count] files, ascending by mapping */
    oc_weights_entry *entries;        /* [count], file by file, in the order of the data */
    const oc_weights_entry **by_name; /* [count], ascending */
    size_t count;
    const oc_name_alias *aliases; /* [alias_count] */
    size_t alias_count;
    size_t *tapped; /* [taps] vision blocks of GGUF files with a deepstack merger */
    size_t taps;
    char *made;    /* names of entries that no file spells out */
    float *kernel; /* of the assembled patch embedding */
};

/* An empty one; where is copied. oc_weights_close takes it back at any stage. */
ocelli_status oc_weights_start(oc_weights **out, const char *where, ocelli_error *err);
/* Sorts the files and entries that are listed; refuses a tensor that is there twice. */
ocelli_status oc_weights_index(oc_weights *weights, ocelli_error *err);
/* Of GGUF files: what they themselves call a tensor, for messages, and which of them should have
 * it. */
void oc_weights_gguf_place(const oc_weights *weights, const char *name, const char **file,
                           char label[OC_LABEL_ROOM]);

#endif
