/* family.h - the table of model families: the only place that knows their names. */
#ifndef OC_FAMILY_H
#define OC_FAMILY_H

#include <stdbool.h>

typedef struct oc_family {
    const char *model_type; /* config.json's */
    bool experts;           /* the decoder may have sparse layers */
} oc_family;

/* NULL: not known. */
const oc_family *oc_family_find(const char *model_type);
/* The i-th, NULL past the last: for messages. */
const oc_family *oc_family_at(int index);

#endif
