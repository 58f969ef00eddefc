/* shards.h - which safetensors files make up a checkpoint directory. Reads the folder and the
 * index, opens no weights. */
#ifndef OC_WEIGHTS_SHARDS_H
#define OC_WEIGHTS_SHARDS_H

#include "runtime/base/json.h"
#include "runtime/base/status.h"

/* A tensor that the index lists, and the shard that should hold it. */
typedef struct oc_shard_listing {
    const char *tensor; /* borrowed from the index */
    const char *name;   /* of the shard, likewise */
    size_t file;        /* index into paths */
} oc_shard_listing;

typedef struct oc_shards {
    char **paths; /* [count] */
    size_t count;
    oc_shard_listing *listed; /* [listed_count]; none without an index */
    size_t listed_count;
    oc_json index;
} oc_shards;

/* The files that model.safetensors.index.json names, else model.safetensors. OCELLI_E_IO when there
 * is no such folder, nothing to load in it, or a shard is missing; the message says what was looked
 * for and what is there instead. OCELLI_E_FORMAT for a damaged index, or one that names anything
 * but a .safetensors file of this folder. */
ocelli_status oc_shards_find(oc_shards *out, const char *directory, ocelli_error *err);
/* *found: the folder has an index or a model.safetensors. Fails only for want of memory. */
ocelli_status oc_shards_look(const char *directory, bool *found, ocelli_error *err);
/* Accepts a zero one. */
void oc_shards_close(oc_shards *shards);

#endif
