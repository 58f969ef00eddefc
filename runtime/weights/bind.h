/* bind.h - fills a struct of weights from a table of names, places and shapes: a tower's tensors are
 * written down once, and the table reads as documentation. */
#ifndef OC_WEIGHTS_BIND_H
#define OC_WEIGHTS_BIND_H

#include "runtime/weights/loader.h"

typedef struct oc_binding {
    const char *name; /* after the group's prefix */
    size_t offset;    /* in the struct being filled: of an oc_matrix, or of a const float * */
    size_t rows;      /* 0: a vector of cols values */
    size_t cols;
    bool wanted; /* false: this model has no such tensor, and its place stays as it is */
} oc_binding;

#define OC_BINDINGS(list) (sizeof(list) / sizeof *(list))

/* Asks loader for prefix + name of every binding, in order. Errors as the loader's. */
ocelli_status oc_bind(oc_loader *loader, void *into, const char *prefix, const oc_binding *list,
                      size_t count, ocelli_error *err);
/* The same with the matrices in another format than the loader's. */
ocelli_status oc_bind_as(oc_loader *loader, void *into, const char *prefix, const oc_binding *list,
                         size_t count, oc_format format, ocelli_error *err);

#endif
