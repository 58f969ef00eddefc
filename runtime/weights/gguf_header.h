/* gguf_header.h - what gguf.c has read before it checks how the tensors lie.
 * For these two alone. */
#ifndef OC_WEIGHTS_GGUF_HEADER_H
#define OC_WEIGHTS_GGUF_HEADER_H

#include "runtime/weights/gguf.h"

/* Fills values, tensors (in the order of the file, without data), names and data of a file whose
 * map and path are set. Every count and length is held against the bytes that are left before
 * anything is allocated or walked over. Errors as oc_gguf_open. */
ocelli_status oc_gguf_read_header(oc_gguf *file, ocelli_error *err);

/* Bytes of a number; 0: a string or an array. */
size_t oc_gguf_type_size(oc_gguf_type type);

#endif
