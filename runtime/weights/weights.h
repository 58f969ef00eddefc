/* weights.h - the tensors of a model by their Hugging Face names: of a checkpoint directory (one
 * safetensors file, or several with an index), of a package's file, or of GGUF files. */
#ifndef OC_WEIGHTS_WEIGHTS_H
#define OC_WEIGHTS_WEIGHTS_H

#include "runtime/base/file.h"
#include "runtime/weights/gguf.h"
#include "runtime/weights/tensor.h"

typedef struct oc_weights oc_weights;

/* Opens directory/model.safetensors.index.json and its shards, or directory/model.safetensors.
 * Every header is checked whole (safetensors.h). Errors name the file, tensor, and what to do: a
 * missing shard, an index entry whose tensor is not in its shard, a tensor in two shards. */
ocelli_status oc_weights_open(oc_weights **out, const char *directory, ocelli_error *err);
/* Opens one named file. */
ocelli_status oc_weights_open_file(oc_weights **out, const char *path, ocelli_error *err);
/* The tensors of a text model and of the vision file that belongs to it (NULL: none) under the
 * names and in the shapes of the Hugging Face checkpoint (gguf_names.h); others are left out. The
 * two time slices of the patch kernel become one tensor in memory. The files are borrowed and must
 * outlive *out. */
ocelli_status oc_weights_open_gguf(oc_weights **out, const oc_gguf *text, const oc_gguf *vision,
                                   ocelli_error *err);
/* Accepts NULL. */
void oc_weights_close(oc_weights *weights);

/* Another beginning that names may have in the files: what is asked for as asked... is also looked
 * for as stored..., if it is not there by its own name. */
typedef struct oc_name_alias {
    const char *asked, *stored;
} oc_name_alias;
/* aliases [count] are borrowed. */
void oc_weights_set_aliases(oc_weights *weights, const oc_name_alias *aliases, size_t count);
/* True if a stored name begins as prefix or as an alias of it. */
bool oc_weights_begins(const oc_weights *weights, const char *stored, const char *prefix);

/* False if there is no such tensor. file (may be NULL) gets the path of its file, owned by
 * weights. */
bool oc_weights_find(const oc_weights *weights, const char *name, oc_tensor *out,
                     const char **file);

/* Of safetensors files that are used as they lie, a package's: they will be read again and again
 * (oc_map_expect_whole), or, with hold, are copied into memory (oc_map_hold). Before tensors are read.
 * Does nothing for GGUF files. With hold OCELLI_E_MEMORY and OCELLI_E_IO, naming the file; then only
 * oc_weights_close may follow. */
ocelli_status oc_weights_expect_use(oc_weights *weights, bool hold, ocelli_error *err);

/* OCELLI_E_IO, naming the file, when one of them has become shorter since it was opened: what lay
 * beyond cannot be read any more (oc_map_check). */
ocelli_status oc_weights_check(const oc_weights *weights, ocelli_error *err);

/* Finds and checks: missing, a rank or shape other than asked (axis -1: any), or a dtype that is
 * no weight's is OCELLI_E_FORMAT and the message names tensor, file, and both shapes. */
ocelli_status oc_weights_get(const oc_weights *weights, const char *name, int rank,
                             const int64_t *shape, oc_tensor *out, ocelli_error *err);

/* The i-th tensor in file order; false past the last. */
bool oc_weights_at(const oc_weights *weights, size_t index, const char **name, oc_tensor *out);
size_t oc_weights_count(const oc_weights *weights);
/* __metadata__ value of the safetensors file that holds tensor name's data, or of the only file;
 * NULL: none. */
const char *oc_weights_metadata(const oc_weights *weights, const char *key);
/* Gives back the pages of a tensor that will not be read again soon. */
void oc_weights_release(const oc_weights *weights, const oc_tensor *tensor);
/* Identity and byte offset in its file of a tensor found before: the embedding table's cache
 * key. */
bool oc_weights_locate(const oc_weights *weights, const char *name, const char **path,
                       uint64_t *offset);

#endif
