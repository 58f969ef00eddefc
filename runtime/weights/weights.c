/* weights.c - see weights.h. One list of all tensors of all files, sorted by name: a look-up is a
 * binary search however many tensors and shards there are. */
#include "runtime/weights/weights.h"

#include "runtime/base/memory.h"
#include "runtime/weights/shards.h"
#include "runtime/weights/weights_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* by_address must be sorted without a comparator's context, so the address goes along. */
typedef struct file_address {
    uintptr_t address;
    size_t file;
} file_address;

static int compare_entries(const void *left, const void *right)
{
    const oc_weights_entry *a = *(const oc_weights_entry *const *)left;
    const oc_weights_entry *b = *(const oc_weights_entry *const *)right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : a->file < b->file ? -1 : a->file > b->file;
}

static int compare_addresses(const void *left, const void *right)
{
    const file_address *a = left;
    const file_address *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static ocelli_status sort_addresses(oc_weights *weights, ocelli_error *err)
{
    file_address *pairs = oc_alloc(weights->file_count, sizeof *pairs);
    if (pairs == NULL) {
        return oc_fail_memory(err, weights->where);
    }
    for (size_t i = 0; i < weights->file_count; i++) {
        pairs[i] = (file_address){.address = (uintptr_t)weights->files[i].map->bytes, .file = i};
    }
    qsort(pairs, weights->file_count, sizeof *pairs, compare_addresses);
    for (size_t i = 0; i < weights->file_count; i++) {
        weights->by_address[i] = pairs[i].file;
    }
    oc_free(pairs);
    return OCELLI_OK;
}

ocelli_status oc_weights_index(oc_weights *weights, ocelli_error *err)
{
    weights->by_address = oc_alloc(weights->file_count, sizeof *weights->by_address);
    weights->by_name = oc_alloc(weights->count, sizeof *weights->by_name);
    if (weights->by_address == NULL || weights->by_name == NULL) {
        return oc_fail_memory(err, weights->where);
    }
    for (size_t i = 0; i < weights->count; i++) {
        weights->by_name[i] = &weights->entries[i];
    }
    if (weights->count > 0) {
        qsort(weights->by_name, weights->count, sizeof *weights->by_name, compare_entries);
    }
    for (size_t i = 1; i < weights->count; i++) {
        const oc_weights_entry *a = weights->by_name[i - 1];
        const oc_weights_entry *b = weights->by_name[i];
        if (strcmp(a->name, b->name) == 0) {
            char label[OC_LABEL_ROOM];
            const char *other = strrchr(weights->files[b->file].path, '/');
            return oc_fail(err, OCELLI_E_FORMAT, "%s: tensor \"%s\" is in %s too",
                           weights->files[a->file].path, oc_name_label(a->name, label),
                           other != NULL ? other + 1 : weights->files[b->file].path);
        }
    }
    return sort_addresses(weights, err);
}

static const oc_weights_entry *find_stored(const oc_weights *weights, const char *name)
{
    size_t low = 0;
    size_t high = weights->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(weights->by_name[middle]->name, name);
        if (order == 0) {
            return weights->by_name[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* Longer than any name that a tower asks for. */
enum { NAME_ROOM = 256 };

/* What name is called if the first alias that fits is used; false: none fits. */
static bool rename_by_alias(const oc_weights *weights, const char *name, char out[NAME_ROOM])
{
    for (size_t i = 0; i < weights->alias_count; i++) {
        const oc_name_alias *alias = &weights->aliases[i];
        size_t length = strlen(alias->asked);
        if (strncmp(name, alias->asked, length) == 0) {
            int written = snprintf(out, NAME_ROOM, "%s%s", alias->stored, name + length);
            return written > 0 && written < NAME_ROOM;
        }
    }
    return false;
}

static const oc_weights_entry *find_entry(const oc_weights *weights, const char *name)
{
    char room[NAME_ROOM];
    const oc_weights_entry *found = find_stored(weights, name);
    return found == NULL && rename_by_alias(weights, name, room) ? find_stored(weights, room)
                                                                 : found;
}

/* Every tensor that the index lists must be in the shard that it names. */
static ocelli_status check_listed(const oc_weights *weights, const oc_shards *shards,
                                  ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    for (size_t i = 0; i < shards->listed_count; i++) {
        const oc_shard_listing *listing = &shards->listed[i];
        const oc_weights_entry *found = find_stored(weights, listing->tensor);
        if (found == NULL || found->file != listing->file) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: the index lists tensor \"%s\" here, but it is not; download this "
                           "file and the index again",
                           weights->files[listing->file].path,
                           oc_name_label(listing->tensor, label));
        }
    }
    return OCELLI_OK;
}

/* Lists the tensors of the open files. */
static ocelli_status list_tensors(oc_weights *weights, ocelli_error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < weights->file_count; i++) {
        const oc_safetensors *file = &weights->safetensors[i];
        weights->files[i] = (oc_weights_file){.path = file->path, .map = &file->map};
        count += file->count;
    }
    weights->entries = oc_alloc(count, sizeof *weights->entries);
    if (weights->entries == NULL) {
        return oc_fail_memory(err, weights->where);
    }
    for (size_t i = 0; i < weights->file_count; i++) {
        const oc_safetensors *file = &weights->safetensors[i];
        for (size_t k = 0; k < file->count; k++) {
            const oc_safetensors_entry *entry = &file->entries[k];
            weights->entries[weights->count++] =
                (oc_weights_entry){.name = entry->name, .tensor = entry->tensor, .file = i};
        }
    }
    return oc_weights_index(weights, err);
}

static ocelli_status open_paths(oc_weights *weights, char *const *paths, size_t count,
                                ocelli_error *err)
{
    weights->safetensors = oc_alloc(count, sizeof *weights->safetensors);
    weights->files = oc_alloc(count, sizeof *weights->files);
    if (weights->safetensors == NULL || weights->files == NULL) {
        return oc_fail_memory(err, weights->where);
    }
    for (size_t i = 0; i < count; i++) {
        OC_TRY(oc_safetensors_open(&weights->safetensors[i], paths[i], err));
        weights->file_count++;
    }
    return list_tensors(weights, err);
}

ocelli_status oc_weights_start(oc_weights **out, const char *where, ocelli_error *err)
{
    *out = NULL;
    oc_weights *weights = oc_alloc(1, sizeof *weights);
    char *copy = oc_strdup(where);
    if (weights == NULL || copy == NULL) {
        oc_free(weights);
        oc_free(copy);
        return oc_fail_memory(err, where);
    }
    weights->where = copy;
    *out = weights;
    return OCELLI_OK;
}

ocelli_status oc_weights_open(oc_weights **out, const char *directory, ocelli_error *err)
{
    oc_weights *weights = NULL;
    oc_shards shards;
    *out = NULL;
    OC_TRY(oc_shards_find(&shards, directory, err));
    ocelli_status status = oc_weights_start(&weights, directory, err);
    if (status == OCELLI_OK) {
        status = open_paths(weights, shards.paths, shards.count, err);
        if (status == OCELLI_OK) {
            status = check_listed(weights, &shards, err);
        }
        if (status == OCELLI_OK) {
            *out = weights;
        } else {
            oc_weights_close(weights);
        }
    }
    oc_shards_close(&shards);
    return status;
}

ocelli_status oc_weights_open_file(oc_weights **out, const char *path, ocelli_error *err)
{
    oc_weights *weights = NULL;
    *out = NULL;
    OC_TRY(oc_weights_start(&weights, path, err));
    ocelli_status status = open_paths(weights, &weights->where, 1, err);
    if (status != OCELLI_OK) {
        oc_weights_close(weights);
        return status;
    }
    *out = weights;
    return OCELLI_OK;
}

void oc_weights_close(oc_weights *weights)
{
    if (weights == NULL) {
        return;
    }
    for (size_t i = 0; weights->safetensors != NULL && i < weights->file_count; i++) {
        oc_safetensors_close(&weights->safetensors[i]);
    }
    oc_free(weights->safetensors);
    oc_free(weights->files);
    oc_free(weights->by_address);
    oc_free(weights->entries);
    oc_free(weights->by_name);
    oc_free(weights->tapped);
    oc_free(weights->made);
    oc_free(weights->kernel);
    oc_free(weights->where);
    oc_free(weights);
}

ocelli_status oc_weights_expect_use(oc_weights *weights, bool hold, ocelli_error *err)
{
    for (size_t i = 0; weights->safetensors != NULL && i < weights->file_count; i++) {
        oc_map *map = &weights->safetensors[i].map;
        if (hold) {
            OC_TRY(oc_map_hold(map, weights->files[i].path, err));
        } else {
            oc_map_expect_whole(map);
        }
    }
    return OCELLI_OK;
}

ocelli_status oc_weights_check(const oc_weights *weights, ocelli_error *err)
{
    for (size_t i = 0; i < weights->file_count; i++) {
        OC_TRY(oc_map_check(weights->files[i].map, weights->files[i].path, err));
    }
    return OCELLI_OK;
}

void oc_weights_set_aliases(oc_weights *weights, const oc_name_alias *aliases, size_t count)
{
    weights->aliases = aliases;
    weights->alias_count = count;
}

bool oc_weights_begins(const oc_weights *weights, const char *stored, const char *prefix)
{
    char room[NAME_ROOM];
    return strncmp(stored, prefix, strlen(prefix)) == 0 ||
           (rename_by_alias(weights, prefix, room) && strncmp(stored, room, strlen(room)) == 0);
}

bool oc_weights_find(const oc_weights *weights, const char *name, oc_tensor *out, const char **file)
{
    const oc_weights_entry *found = find_entry(weights, name);
    if (found == NULL) {
        return false;
    }
    *out = found->tensor;
    if (file != NULL) {
        *file = weights->files[found->file].path;
    }
    return true;
}

ocelli_status oc_weights_get(const oc_weights *weights, const char *name, int rank,
                             const int64_t *shape, oc_tensor *out, ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    char found_text[128];
    char wanted_text[128];
    char room[NAME_ROOM];
    const char *path = weights->where;
    *out = (oc_tensor){0};
    const oc_weights_entry *found = find_entry(weights, name);
    if (weights->safetensors == NULL) {
        oc_weights_gguf_place(weights, name, &path, label);
    } else {
        bool renamed = found == NULL && rename_by_alias(weights, name, room);
        oc_name_label(renamed ? room : name, label);
    }
    if (found == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: no tensor \"%s\"; the checkpoint is incomplete or of another model",
                       path, label);
    }
    const oc_tensor *tensor = &found->tensor;
    path = weights->files[found->file].path;
    oc_tensor wanted = {.rank = rank < OC_TENSOR_RANK ? rank : OC_TENSOR_RANK};
    bool same = tensor->rank == rank;
    for (int i = 0; i < wanted.rank; i++) {
        wanted.shape[i] = shape[i];
        same = same && (shape[i] == -1 || shape[i] == tensor->shape[i]);
    }
    if (!same) {
        oc_tensor_shape_text(tensor, found_text, sizeof found_text);
        oc_tensor_shape_text(&wanted, wanted_text, sizeof wanted_text);
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: tensor \"%s\" is %s, but the configuration asks for %s", path, label,
                       found_text, wanted_text);
    }
    if (!oc_dtype_is_weight(tensor->dtype)) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: tensor \"%s\" is %s, but weights must be f32, f16 or bf16", path, label,
                       oc_dtype_label(tensor->dtype));
    }
    *out = *tensor;
    return OCELLI_OK;
}

bool oc_weights_at(const oc_weights *weights, size_t index, const char **name, oc_tensor *out)
{
    if (index >= weights->count) {
        return false;
    }
    const oc_weights_entry *entry = &weights->entries[index];
    *name = entry->name;
    *out = entry->tensor;
    return true;
}

size_t oc_weights_count(const oc_weights *weights)
{
    return weights->count;
}

const char *oc_weights_metadata(const oc_weights *weights, const char *key)
{
    const oc_weights_entry *found = find_entry(weights, key);
    if (weights->safetensors == NULL || (found == NULL && weights->file_count != 1)) {
        return NULL;
    }
    return oc_safetensors_metadata(&weights->safetensors[found != NULL ? found->file : 0], key);
}

void oc_weights_release(const oc_weights *weights, const oc_tensor *tensor)
{
    uintptr_t address = (uintptr_t)tensor->data;
    size_t low = 0;
    size_t high = weights->file_count;
    if (high == 0 || tensor->bytes == 0) {
        return;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)weights->files[weights->by_address[middle]].map->bytes <= address) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const oc_map *map = weights->files[weights->by_address[low]].map;
    uintptr_t begin = (uintptr_t)map->bytes;
    if (address >= begin && address - begin <= map->size &&
        tensor->bytes <= map->size - (address - begin)) {
        oc_map_release_pages(map, tensor->data, tensor->bytes);
    }
}

bool oc_weights_locate(const oc_weights *weights, const char *name, const char **path,
                       uint64_t *offset)
{
    const oc_weights_entry *found = find_entry(weights, name);
    if (found == NULL || found->assembled) {
        return false;
    }
    const oc_weights_file *file = &weights->files[found->file];
    *path = file->path;
    *offset = (uint64_t)((const unsigned char *)found->tensor.data - file->map->bytes);
    return true;
}
