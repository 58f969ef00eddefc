/* weights.h - the tensors of a checkpoint directory: one safetensors file, or several with an
 * index. */
#ifndef OC_WEIGHTS_WEIGHTS_H
#define OC_WEIGHTS_WEIGHTS_H

#include "runtime/base/file.h"
#include "runtime/weights/tensor.h"

typedef struct oc_weights oc_weights;

/* Opens directory/model.safetensors.index.json and its shards, or directory/model.safetensors.
 * Every header is checked whole (safetensors.h). Errors name the file, tensor, and what to do: a
 * missing shard, an index entry whose tensor is not in its shard, a tensor in two shards. */
ocelli_status oc_weights_open(oc_weights **out, const char *directory, ocelli_error *err);
/* Opens one named file. */
ocelli_status oc_weights_open_file(oc_weights **out, const char *path, ocelli_error *err);
void oc_weights_close(oc_weights *weights);

/* False if there is no such tensor. file (may be NULL) gets the path of its file, owned by
 * weights. */
bool oc_weights_find(const oc_weights *weights, const char *name, oc_tensor *out,
                     const char **file);

/* Finds and checks: missing, a rank or shape other than asked (axis -1: any), or a dtype that is
 * not F32, F16 or BF16 is OCELLI_E_FORMAT and the message names tensor, file, and both shapes. */
ocelli_status oc_weights_get(const oc_weights *weights, const char *name, int rank,
                             const int64_t *shape, oc_tensor *out, ocelli_error *err);

/* The i-th tensor in file order; false past the last. */
bool oc_weights_at(const oc_weights *weights, size_t index, const char **name, oc_tensor *out);
size_t oc_weights_count(const oc_weights *weights);
/* __metadata__ value of the file that holds tensor name's data, or of the only file; NULL: none. */
const char *oc_weights_metadata(const oc_weights *weights, const char *key);
/* Gives back the pages of a tensor that will not be read again soon. */
void oc_weights_release(const oc_weights *weights, const oc_tensor *tensor);
/* Identity and byte offset in its file of a tensor found before: the embedding table's cache
 * key. */
bool oc_weights_locate(const oc_weights *weights, const char *name, const char **path,
                       uint64_t *offset);

#endif
