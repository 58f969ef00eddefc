/* safetensors_header.h - reads the JSON header of a safetensors file into its entries and notes.
 * Each entry is checked by itself; how the entries lie beside each other is for safetensors.c. */
#ifndef OC_WEIGHTS_SAFETENSORS_HEADER_H
#define OC_WEIGHTS_SAFETENSORS_HEADER_H

#include "runtime/weights/safetensors.h"

/* Fills entries (in the order of the header, tensor.data NULL), count, notes and note_count of
 * file, whose text has room for length bytes and takes the names. What was filled is freed by
 * oc_safetensors_close on success and on failure. */
ocelli_status oc_safetensors_read_header(oc_safetensors *file, const unsigned char *header,
                                         size_t length, ocelli_error *err);

#endif
