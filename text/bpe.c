/* bpe.c - see bpe.h: opening, closing and looking up. Encoding is in bpe_encode.c. */
#include "text/bpe.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "text/bpe_tables.h"

#include <string.h>

ocelli_status oc_bpe_open(oc_bpe **out, const char *directory, size_t id_limit, ocelli_error *err)
{
    *out = NULL;
    char *path = oc_path_join(directory, "tokenizer.json");
    char *vocabulary = oc_path_join(directory, "vocab.json");
    ocelli_status status;
    if (path == NULL || vocabulary == NULL) {
        status = oc_fail_memory(err, directory);
    } else if (oc_file_exists(path) || !oc_file_exists(vocabulary)) {
        status = oc_bpe_load_json(out, path, id_limit, err);
    } else {
        status = oc_bpe_load_legacy(out, directory, id_limit, err);
    }
    oc_free(path);
    oc_free(vocabulary);
    return status;
}

void oc_bpe_close(oc_bpe *bpe)
{
    if (bpe != NULL) {
        oc_free(bpe->block);
        oc_map_close(&bpe->map);
        oc_free(bpe);
    }
}

const char *oc_bpe_bytes(const oc_bpe *bpe, int32_t id, size_t *length)
{
    if (id < 0 || (size_t)id >= bpe->size) {
        *length = 0;
        return "";
    }
    *length = bpe->length[id];
    return bpe->bytes + bpe->begin[id];
}

bool oc_bpe_is_special(const oc_bpe *bpe, int32_t id)
{
    return id >= 0 && (size_t)id < bpe->size && bpe->special[id] != 0;
}

static bool is_text(const oc_bpe *bpe, int32_t id, const char *text, size_t length)
{
    return bpe->length[id] == length && memcmp(bpe->bytes + bpe->begin[id], text, length) == 0;
}

int32_t oc_bpe_find_added(const oc_bpe *bpe, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < bpe->added_count; i++) {
        if (is_text(bpe, bpe->added[i], text, length)) {
            return bpe->added[i];
        }
    }
    for (size_t id = 0; length > 0 && id < bpe->size; id++) {
        if (is_text(bpe, (int32_t)id, text, length)) {
            return (int32_t)id;
        }
    }
    return -1;
}

size_t oc_bpe_size(const oc_bpe *bpe)
{
    return bpe->size;
}

void oc_ids_close(oc_ids *ids)
{
    oc_free(ids->ids);
    *ids = (oc_ids){0};
}

ocelli_status oc_ids_push(oc_ids *ids, int32_t id, ocelli_error *err)
{
    if (ids->count == ids->capacity) {
        size_t capacity;
        int32_t *grown = NULL;
        if (oc_size_mul(ids->capacity < 32 ? 32 : ids->capacity, 2, &capacity)) {
            grown = oc_grow(ids->ids, ids->count, capacity, sizeof *grown);
        }
        if (grown == NULL) {
            return oc_fail_memory(err, "token ids");
        }
        ids->ids = grown;
        ids->capacity = capacity;
    }
    ids->ids[ids->count++] = id;
    return OCELLI_OK;
}
