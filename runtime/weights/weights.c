/* weights.c - see weights.h. One list of all tensors of all files, sorted by name: a look-up is a
 * binary search however many tensors and shards there are. */
#include "runtime/weights/weights.h"

#include "runtime/base/memory.h"
#include "runtime/weights/safetensors.h"
#include "runtime/weights/shards.h"

#include <stdlib.h>
#include <string.h>

typedef struct weights_entry {
    const oc_safetensors_entry *entry;
    size_t file;
} weights_entry;

struct oc_weights {
    char *where; /* the directory or file, for messages */
    oc_safetensors *files;
    size_t file_count;
    size_t *by_address; /* [file_count] files, ascending by mapping */
    size_t *first;      /* [file_count + 1]: index of each file's first tensor in file order */
    weights_entry *by_name;
    size_t count;
};

/* by_address must be sorted without a comparator's context, so the address goes along. */
typedef struct file_address {
    uintptr_t address;
    size_t file;
} file_address;

static int compare_entries(const void *left, const void *right)
{
    const weights_entry *a = left;
    const weights_entry *b = right;
    int order = strcmp(a->entry->name, b->entry->name);
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
        pairs[i] = (file_address){.address = (uintptr_t)weights->files[i].map.bytes, .file = i};
    }
    qsort(pairs, weights->file_count, sizeof *pairs, compare_addresses);
    for (size_t i = 0; i < weights->file_count; i++) {
        weights->by_address[i] = pairs[i].file;
    }
    oc_free(pairs);
    return OCELLI_OK;
}

/* Builds the lists over the open files; refuses a tensor that two files hold. */
static ocelli_status index_tensors(oc_weights *weights, ocelli_error *err)
{
    weights->first = oc_alloc(weights->file_count + 1, sizeof *weights->first);
    weights->by_address = oc_alloc(weights->file_count, sizeof *weights->by_address);
    if (weights->first == NULL || weights->by_address == NULL) {
        return oc_fail_memory(err, weights->where);
    }
    for (size_t i = 0; i < weights->file_count; i++) {
        weights->first[i + 1] = weights->first[i] + weights->files[i].count;
    }
    weights->count = weights->first[weights->file_count];
    weights->by_name = oc_alloc(weights->count, sizeof *weights->by_name);
    if (weights->by_name == NULL) {
        return oc_fail_memory(err, weights->where);
    }
    size_t next = 0;
    for (size_t i = 0; i < weights->file_count; i++) {
        for (size_t k = 0; k < weights->files[i].count; k++) {
            weights->by_name[next++] =
                (weights_entry){.entry = weights->files[i].by_name[k], .file = i};
        }
    }
    if (weights->count > 0) {
        qsort(weights->by_name, weights->count, sizeof *weights->by_name, compare_entries);
    }
    for (size_t i = 1; i < weights->count; i++) {
        const weights_entry *a = &weights->by_name[i - 1];
        const weights_entry *b = &weights->by_name[i];
        if (strcmp(a->entry->name, b->entry->name) == 0) {
            char label[OC_LABEL_ROOM];
            const char *other = strrchr(weights->files[b->file].path, '/');
            return oc_fail(err, OCELLI_E_FORMAT, "%s: tensor \"%s\" is in %s too",
                           weights->files[a->file].path, oc_name_label(a->entry->name, label),
                           other != NULL ? other + 1 : weights->files[b->file].path);
        }
    }
    return sort_addresses(weights, err);
}

static const weights_entry *find_entry(const oc_weights *weights, const char *name)
{
    size_t low = 0;
    size_t high = weights->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(weights->by_name[middle].entry->name, name);
        if (order == 0) {
            return &weights->by_name[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* Every tensor that the index lists must be in the shard that it names. */
static ocelli_status check_listed(const oc_weights *weights, const oc_shards *shards,
                                  ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    for (size_t i = 0; i < shards->listed_count; i++) {
        const oc_shard_listing *listing = &shards->listed[i];
        const weights_entry *found = find_entry(weights, listing->tensor);
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

static ocelli_status open_paths(oc_weights *weights, char *const *paths, size_t count,
                                ocelli_error *err)
{
    weights->files = oc_alloc(count, sizeof *weights->files);
    if (weights->files == NULL) {
        return oc_fail_memory(err, weights->where);
    }
    for (size_t i = 0; i < count; i++) {
        OC_TRY(oc_safetensors_open(&weights->files[i], paths[i], err));
        weights->file_count++;
    }
    return index_tensors(weights, err);
}

static ocelli_status start(oc_weights **out, const char *where, ocelli_error *err)
{
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
    ocelli_status status = start(&weights, directory, err);
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
    OC_TRY(start(&weights, path, err));
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
    for (size_t i = 0; i < weights->file_count; i++) {
        oc_safetensors_close(&weights->files[i]);
    }
    oc_free(weights->files);
    oc_free(weights->by_address);
    oc_free(weights->first);
    oc_free(weights->by_name);
    oc_free(weights->where);
    oc_free(weights);
}

bool oc_weights_find(const oc_weights *weights, const char *name, oc_tensor *out, const char **file)
{
    const weights_entry *found = find_entry(weights, name);
    if (found == NULL) {
        return false;
    }
    *out = found->entry->tensor;
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
    *out = (oc_tensor){0};
    const weights_entry *found = find_entry(weights, name);
    oc_name_label(name, label);
    if (found == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: no tensor \"%s\"; the checkpoint is incomplete or of another model",
                       weights->where, label);
    }
    const oc_tensor *tensor = &found->entry->tensor;
    const char *path = weights->files[found->file].path;
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
    /* The last file whose first tensor is not beyond index. Files without tensors share their first
     * with the next one: the last of them is the one that has it. */
    size_t low = 0;
    size_t high = weights->file_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (weights->first[middle] <= index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const oc_safetensors_entry *entry = &weights->files[low].entries[index - weights->first[low]];
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
    const weights_entry *found = find_entry(weights, key);
    if (found == NULL && weights->file_count != 1) {
        return NULL;
    }
    return oc_safetensors_metadata(&weights->files[found != NULL ? found->file : 0], key);
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
        if ((uintptr_t)weights->files[weights->by_address[middle]].map.bytes <= address) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const oc_map *map = &weights->files[weights->by_address[low]].map;
    uintptr_t begin = (uintptr_t)map->bytes;
    if (address >= begin && address - begin <= map->size &&
        tensor->bytes <= map->size - (address - begin)) {
        oc_map_release_pages(map, tensor->data, tensor->bytes);
    }
}

bool oc_weights_locate(const oc_weights *weights, const char *name, const char **path,
                       uint64_t *offset)
{
    const weights_entry *found = find_entry(weights, name);
    if (found == NULL) {
        return false;
    }
    const oc_safetensors *file = &weights->files[found->file];
    *path = file->path;
    *offset = (uint64_t)((const unsigned char *)found->entry->tensor.data - file->map.bytes);
    return true;
}
