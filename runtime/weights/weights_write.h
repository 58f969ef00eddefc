/* weights_write.h - writes a safetensors file: tensors are announced first (the header comes before
 * the data), then their bytes follow in the same order. */
#ifndef OC_WEIGHTS_WEIGHTS_WRITE_H
#define OC_WEIGHTS_WEIGHTS_WRITE_H

#include "runtime/base/hash.h"
#include "runtime/weights/tensor.h"

typedef struct oc_weights_writer oc_weights_writer;

/* Nothing is written before the first oc_weights_writer_data. path is created anew. */
ocelli_status oc_weights_writer_open(oc_weights_writer **out, const char *path, ocelli_error *err);
ocelli_status oc_weights_writer_metadata(oc_weights_writer *writer, const char *key,
                                         const char *value, ocelli_error *err);
/* shape [rank]; bytes must be what dtype and shape say. Data is OC_ALIGNMENT aligned in the file
 * (gaps are filled by a named pad tensor, since the format wants none). */
ocelli_status oc_weights_writer_announce(oc_weights_writer *writer, const char *name,
                                         oc_dtype dtype, int rank, const int64_t *shape,
                                         ocelli_error *err);
/* All of the bytes of the next announced tensor, which must be called name. They may reach the file with a
 * later call. A full disk is OCELLI_E_IO with the path and the bytes that are missing. */
ocelli_status oc_weights_writer_data(oc_weights_writer *writer, const char *name, const void *data,
                                     size_t bytes, ocelli_error *err);
/* Writes what is left, syncs and closes; size and hash of the whole file. Fails if an announced tensor is
 * missing, and as oc_weights_writer_data does. */
ocelli_status oc_weights_writer_finish(oc_weights_writer *writer, uint64_t *size, oc_hash *hash,
                                       ocelli_error *err);
/* Frees; an unfinished file holds what was given to it and is left to the caller to remove. Accepts NULL. */
void oc_weights_writer_close(oc_weights_writer *writer);

#endif
