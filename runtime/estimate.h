/* estimate.h - what memory a prompt will take, from the same code that takes it. */
#ifndef OC_ESTIMATE_H
#define OC_ESTIMATE_H

#include "runtime/model.h"

/* Fills memory (all but struct_size) for slots cache slots and these media. */
ocelli_status oc_estimate(ocelli_memory *memory, const ocelli_model *model, size_t slots,
                          size_t prefill_rows, const oc_medium *media, size_t media_count,
                          ocelli_error *err);

/* Bytes of weights: table, decoder, tower. */
uint64_t oc_estimate_weights(const ocelli_model *model);

#endif
