/* bind.c - see bind.h. */
#include "runtime/weights/bind.h"

#include <stdio.h>

ocelli_status oc_bind(oc_loader *loader, void *into, const char *prefix, const oc_binding *list,
                      size_t count, ocelli_error *err)
{
    return oc_bind_as(loader, into, prefix, list, count, oc_loader_format(loader), err);
}

ocelli_status oc_bind_as(oc_loader *loader, void *into, const char *prefix, const oc_binding *list,
                         size_t count, oc_format format, ocelli_error *err)
{
    for (size_t i = 0; i < count; i++) {
        char name[192];
        unsigned char *place = (unsigned char *)into + list[i].offset;
        if (!list[i].wanted) {
            continue;
        }
        snprintf(name, sizeof name, "%s%s", prefix, list[i].name);
        if (list[i].rows != 0) {
            OC_TRY(oc_loader_matrix_as(loader, name, list[i].rows, list[i].cols, format,
                                       (oc_matrix *)(void *)place, err));
        } else {
            OC_TRY(
                oc_loader_vector(loader, name, list[i].cols, (const float **)(void *)place, err));
        }
    }
    return OCELLI_OK;
}
