/* family.c - see family.h. A second family that differs in a step brings hooks to its row. */
#include "runtime/family.h"

#include <stddef.h>
#include <string.h>

static const oc_family families[] = {
    {.model_type = "qwen3_vl"},
    {.model_type = "qwen3_vl_moe", .experts = true},
};

const oc_family *oc_family_at(int index)
{
    size_t count = sizeof families / sizeof *families;
    return index >= 0 && (size_t)index < count ? &families[index] : NULL;
}

const oc_family *oc_family_find(const char *model_type)
{
    for (int i = 0; oc_family_at(i) != NULL; i++) {
        if (strcmp(oc_family_at(i)->model_type, model_type) == 0) {
            return oc_family_at(i);
        }
    }
    return NULL;
}
