/* loader_internal.h - what loader.c and loader_experts.c share; for these two alone. */
#ifndef OC_WEIGHTS_LOADER_INTERNAL_H
#define OC_WEIGHTS_LOADER_INTERNAL_H

#include "runtime/weights/loader.h"
#include "runtime/weights/loader_pack.h"

/* Gives the matrix of source under name, in the form of the loader: used in place, packed into
 * memory of the loader, or put into the sink. source must lie within its tensor. */
ocelli_status oc_loader_take(oc_loader *loader, const char *name, const oc_pack_source *source,
                             oc_format format, oc_matrix *out, ocelli_error *err);

const oc_weights *oc_loader_weights(const oc_loader *loader);
/* True when the request only has to be announced: nothing will be read. */
bool oc_loader_is_announcing(const oc_loader *loader);

#endif
