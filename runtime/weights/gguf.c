/* gguf.c - see gguf.h. Opens the file, has the header read (gguf_header.h) and checks how the
 * tensors lie in the data. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/gguf.h"

#include "runtime/base/memory.h"
#include "runtime/weights/gguf_header.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool oc_gguf_is(const char *path)
{
    char start[4];
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return false;
    }
    bool found = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                 read(descriptor, start, sizeof start) == (ssize_t)sizeof start &&
                 memcmp(start, "GGUF", sizeof start) == 0;
    close(descriptor);
    return found;
}

static int compare_bytes(const char *left, size_t left_length, const char *right,
                         size_t right_length)
{
    size_t shorter = left_length < right_length ? left_length : right_length;
    int order = shorter > 0 ? memcmp(left, right, shorter) : 0;
    return order != 0 ? order : left_length < right_length ? -1 : left_length > right_length;
}

static int compare_keys(const void *left, const void *right)
{
    const oc_gguf_value *a = left;
    const oc_gguf_value *b = right;
    return compare_bytes(a->key, a->key_length, b->key, b->key_length);
}

static int compare_offsets(const void *left, const void *right)
{
    const oc_gguf_tensor *a = left;
    const oc_gguf_tensor *b = right;
    if (a->offset != b->offset) {
        return a->offset < b->offset ? -1 : 1;
    }
    if (a->tensor.bytes != b->tensor.bytes) {
        return a->tensor.bytes < b->tensor.bytes ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static ocelli_status sort_keys(oc_gguf *file, ocelli_error *err)
{
    if (file->value_count > 0) {
        qsort(file->values, file->value_count, sizeof *file->values, compare_keys);
    }
    for (size_t i = 1; i < file->value_count; i++) {
        const oc_gguf_value *value = &file->values[i];
        if (compare_keys(value - 1, value) == 0) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: key \"%.*s\" is there twice", file->path,
                           (int)(value->key_length < 60 ? value->key_length : 60), value->key);
        }
    }
    return OCELLI_OK;
}

static ocelli_status check_names(const oc_gguf *file, ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    const char **names = oc_alloc(file->tensor_count, sizeof *names);
    if (names == NULL) {
        return oc_fail_memory(err, file->path);
    }
    for (size_t i = 0; i < file->tensor_count; i++) {
        names[i] = file->tensors[i].name;
    }
    if (file->tensor_count > 0) {
        qsort(names, file->tensor_count, sizeof *names, compare_names);
    }
    ocelli_status status = OCELLI_OK;
    for (size_t i = 1; i < file->tensor_count && status == OCELLI_OK; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            status = oc_fail(err, OCELLI_E_FORMAT, "%s: tensor \"%s\" is there twice", file->path,
                             oc_name_label(names[i], label));
        }
    }
    oc_free(names);
    return status;
}

/* Sorts the tensors by place; none may reach beyond the file or into the next. Holes are nobody's
 * harm. */
static ocelli_status place_tensors(oc_gguf *file, ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    char before[OC_LABEL_ROOM];
    size_t size = file->map.size > file->data ? file->map.size - file->data : 0;
    uint64_t end = 0;
    if (file->tensor_count > 0) {
        qsort(file->tensors, file->tensor_count, sizeof *file->tensors, compare_offsets);
    }
    for (size_t i = 0; i < file->tensor_count; i++) {
        oc_gguf_tensor *at = &file->tensors[i];
        oc_name_label(at->name, label);
        if (at->offset > size || at->tensor.bytes > size - at->offset) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: truncated or damaged: tensor \"%s\" of %zu bytes begins at byte "
                           "%llu of the data, of which the file has %zu; download it again",
                           file->path, label, at->tensor.bytes, (unsigned long long)at->offset,
                           size);
        }
        if (at->offset < end) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: tensors \"%s\" and \"%s\" overlap",
                           file->path, oc_name_label(at[-1].name, before), label);
        }
        end = at->offset + at->tensor.bytes;
        /* An empty one may stand at the end of a file without the padding that
         * would come before. */
        size_t begin = file->data < file->map.size ? file->data : file->map.size;
        at->tensor.data = file->map.bytes + begin + at->offset;
    }
    return OCELLI_OK;
}

static ocelli_status refuse_split(const oc_gguf *file, ocelli_error *err)
{
    static const char key[] = "split.count";
    int64_t count = 1;
    if (oc_gguf_find(file, key) != NULL) {
        OC_TRY(oc_gguf_integer(file, key, &count, err));
    }
    if (count > 1) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: one of %lld files of a split model; join them first (llama-gguf-split "
                       "--merge FIRST WHOLE)",
                       file->path, (long long)count);
    }
    return OCELLI_OK;
}

static ocelli_status read_file(oc_gguf *file, ocelli_error *err)
{
    OC_TRY(oc_map_open(&file->map, file->path, NULL, err));
    if (file->map.size == 0) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: not a GGUF file: it is empty", file->path);
    }
    OC_TRY(oc_gguf_read_header(file, err));
    OC_TRY(sort_keys(file, err));
    OC_TRY(refuse_split(file, err));
    OC_TRY(check_names(file, err));
    return place_tensors(file, err);
}

ocelli_status oc_gguf_open(oc_gguf **out, const char *path, ocelli_error *err)
{
    *out = NULL;
    oc_gguf *file = oc_alloc(1, sizeof *file);
    if (file == NULL) {
        return oc_fail_memory(err, path);
    }
    file->path = oc_strdup(path);
    ocelli_status status = file->path == NULL ? oc_fail_memory(err, path) : read_file(file, err);
    if (status != OCELLI_OK) {
        oc_gguf_close(file);
        return status;
    }
    *out = file;
    return OCELLI_OK;
}

void oc_gguf_close(oc_gguf *file)
{
    if (file == NULL) {
        return;
    }
    oc_map_close(&file->map);
    oc_free(file->path);
    oc_free(file->values);
    oc_free(file->tensors);
    oc_free(file->names);
    oc_free(file);
}

const oc_gguf_value *oc_gguf_find(const oc_gguf *file, const char *key)
{
    size_t low = 0;
    size_t high = file->value_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const oc_gguf_value *value = &file->values[middle];
        int order = compare_bytes(value->key, value->key_length, key, strlen(key));
        if (order == 0) {
            return value;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

const oc_gguf_tensor *oc_gguf_find_tensor(const oc_gguf *file, const char *name)
{
    for (size_t i = 0; i < file->tensor_count; i++) {
        if (strcmp(file->tensors[i].name, name) == 0) {
            return &file->tensors[i];
        }
    }
    return NULL;
}
