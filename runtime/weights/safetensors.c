/* safetensors.c - see safetensors.h. Opens the file, has the header read (safetensors_header.h) and
 * checks how the tensors lie in the data. */
#include "runtime/weights/safetensors.h"

#include "runtime/base/memory.h"
#include "runtime/weights/safetensors_header.h"

#include <stdlib.h>
#include <string.h>

static int compare_offsets(const void *left, const void *right)
{
    const oc_safetensors_entry *a = left;
    const oc_safetensors_entry *b = right;
    if (a->begin != b->begin) {
        return a->begin < b->begin ? -1 : 1;
    }
    if (a->tensor.bytes != b->tensor.bytes) {
        return a->tensor.bytes < b->tensor.bytes ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

static int compare_names(const void *left, const void *right)
{
    const oc_safetensors_entry *a = *(const oc_safetensors_entry *const *)left;
    const oc_safetensors_entry *b = *(const oc_safetensors_entry *const *)right;
    return strcmp(a->name, b->name);
}

static int compare_notes(const void *left, const void *right)
{
    const oc_safetensors_note *a = left;
    const oc_safetensors_note *b = right;
    return strcmp(a->key, b->key);
}

/* Other forms of weights, told by how they begin; NULL: none of these. */
static const char *other_form(const oc_map *map)
{
    static const struct {
        const char *begins, *what;
    } kinds[] = {
        {"GGUF", "a GGUF file, not safetensors; name the file itself as the model"},
        {"PK\x03\x04", "a PyTorch archive, not safetensors; use the checkpoint's safetensors"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t length = strlen(kinds[i].begins);
        if (map->size >= length && memcmp(map->bytes, kinds[i].begins, length) == 0) {
            return kinds[i].what;
        }
    }
    return oc_file_impostor(map->bytes, map->size);
}

/* The length field against the file. */
static ocelli_status find_header(const oc_safetensors *file, const unsigned char **header,
                                 size_t *length, ocelli_error *err)
{
    const char *other = other_form(&file->map);
    if (other != NULL) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: is %s", file->path, other);
    }
    if (file->map.size <= 8) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: %zu bytes, too short for a safetensors file; it is truncated, download "
                       "it again",
                       file->path, file->map.size);
    }
    uint64_t wanted = 0;
    for (int i = 7; i >= 0; i--) {
        wanted = wanted << 8 | file->map.bytes[i];
    }
    if (wanted > OC_SAFETENSORS_HEADER_LIMIT) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: not a safetensors file: the header would be %llu bytes, more than the "
                       "%zu that are allowed",
                       file->path, (unsigned long long)wanted, OC_SAFETENSORS_HEADER_LIMIT);
    }
    if (file->map.bytes[8] != '{') {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: not a safetensors file: the header does not begin with '{'",
                       file->path);
    }
    if (wanted > file->map.size - 8) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: truncated: the header alone ends at byte %llu, the file has %zu bytes; "
                       "download it again",
                       file->path, (unsigned long long)wanted + 8, file->map.size);
    }
    *header = file->map.bytes + 8;
    *length = (size_t)wanted;
    return OCELLI_OK;
}

static ocelli_status check_names(oc_safetensors *file, ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    for (size_t i = 0; i < file->count; i++) {
        file->by_name[i] = &file->entries[i];
    }
    if (file->count > 0) {
        qsort(file->by_name, file->count, sizeof *file->by_name, compare_names);
    }
    for (size_t i = 1; i < file->count; i++) {
        if (strcmp(file->by_name[i - 1]->name, file->by_name[i]->name) == 0) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: the header names tensor \"%s\" twice",
                           file->path, oc_name_label(file->by_name[i]->name, label));
        }
    }
    if (file->note_count > 0) {
        qsort(file->notes, file->note_count, sizeof *file->notes, compare_notes);
    }
    for (size_t i = 1; i < file->note_count; i++) {
        if (strcmp(file->notes[i - 1].key, file->notes[i].key) == 0) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: __metadata__ has the key \"%s\" twice",
                           file->path, oc_name_label(file->notes[i].key, label));
        }
    }
    return OCELLI_OK;
}

/* The tensors, in the order of the data, must follow one another from its first byte to its last.
 * start: of the data, in the file. */
static ocelli_status check_layout(const oc_safetensors *file, size_t start, ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    char before[OC_LABEL_ROOM];
    size_t end = 0;
    for (size_t i = 0; i < file->count; i++) {
        const oc_safetensors_entry *entry = &file->entries[i];
        const char *name = oc_name_label(entry->name, label);
        if (entry->begin > end) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: a gap of %zu unused bytes before tensor \"%s\"; the format allows "
                           "none",
                           file->path, entry->begin - end, name);
        }
        if (entry->begin < end) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: tensors \"%s\" and \"%s\" overlap",
                           file->path, oc_name_label(entry[-1].name, before), name);
        }
        end += entry->tensor.bytes; /* begin + bytes did not overflow: see the header's reader */
    }
    size_t expected;
    if (!oc_size_add(start, end, &expected)) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: data_offsets reach beyond any file", file->path);
    }
    if (expected > file->map.size) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: truncated: %zu bytes expected, the file has %zu; download it again",
                       file->path, expected, file->map.size);
    }
    if (expected < file->map.size) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: %zu bytes after the last tensor: %zu bytes expected, the file has %zu; "
                       "the file is damaged, download it again",
                       file->path, file->map.size - expected, expected, file->map.size);
    }
    return OCELLI_OK;
}

static ocelli_status read_file(oc_safetensors *file, ocelli_error *err)
{
    const unsigned char *header = NULL;
    size_t length = 0;
    OC_TRY(find_header(file, &header, &length, err));
    file->text = oc_alloc(length, 1);
    if (file->text == NULL) {
        return oc_fail_memory(err, file->path);
    }
    OC_TRY(oc_safetensors_read_header(file, header, length, err));
    file->by_name = oc_alloc(file->count, sizeof *file->by_name);
    if (file->by_name == NULL) {
        return oc_fail_memory(err, file->path);
    }
    if (file->count > 0) {
        qsort(file->entries, file->count, sizeof *file->entries, compare_offsets);
    }
    OC_TRY(check_names(file, err));
    OC_TRY(check_layout(file, 8 + length, err));
    for (size_t i = 0; i < file->count; i++) {
        file->entries[i].tensor.data = file->map.bytes + 8 + length + file->entries[i].begin;
    }
    return OCELLI_OK;
}

ocelli_status oc_safetensors_open(oc_safetensors *out, const char *path, ocelli_error *err)
{
    *out = (oc_safetensors){0};
    out->path = oc_strdup(path);
    if (out->path == NULL) {
        return oc_fail_memory(err, path);
    }
    ocelli_status status = oc_map_open(&out->map, path, NULL, err);
    if (status == OCELLI_OK) {
        status = read_file(out, err);
    }
    if (status != OCELLI_OK) {
        oc_safetensors_close(out);
    }
    return status;
}

void oc_safetensors_close(oc_safetensors *file)
{
    oc_map_close(&file->map);
    oc_free(file->path);
    oc_free(file->text);
    oc_free(file->entries);
    oc_free(file->by_name);
    oc_free(file->notes);
    *file = (oc_safetensors){0};
}

const oc_safetensors_entry *oc_safetensors_find(const oc_safetensors *file, const char *name)
{
    size_t low = 0;
    size_t high = file->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(file->by_name[middle]->name, name);
        if (order == 0) {
            return file->by_name[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

const char *oc_safetensors_metadata(const oc_safetensors *file, const char *key)
{
    size_t low = 0;
    size_t high = file->note_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(file->notes[middle].key, key);
        if (order == 0) {
            return file->notes[middle].value;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}
