/* weights_gguf.c - oc_weights_open_gguf of weights.h: a text model and its vision file as the
 * tensors of one checkpoint. */
#include "runtime/base/memory.h"
#include "runtime/weights/gguf_names.h"
#include "runtime/weights/weights_internal.h"

#include <string.h>

/* The vision blocks that the file marks as tapped; a file without the key has none. */
static ocelli_status read_taps(oc_weights *weights, const oc_gguf *vision, ocelli_error *err)
{
    static const char key[] = "clip.vision.is_deepstack_layers";
    const oc_gguf_value *marks;
    if (vision == NULL || oc_gguf_find(vision, key) == NULL) {
        return OCELLI_OK;
    }
    OC_TRY(oc_gguf_array(vision, key, OC_GGUF_BOOL, &marks, err));
    /* A byte each in the file. */
    weights->tapped = oc_alloc((size_t)marks->count, sizeof *weights->tapped);
    if (weights->tapped == NULL) {
        return oc_fail_memory(err, vision->path);
    }
    for (size_t i = 0; i < marks->count; i++) {
        if (oc_gguf_bool_at(marks, i)) {
            weights->tapped[weights->taps++] = i;
        }
    }
    return OCELLI_OK;
}

/* k[out][channel][time][row][column] = slice time's k[out][channel][row][column]: a row of the
 * kernel holds, channel by channel, a plane of each slice. */
static void interleave(float *kernel, const oc_tensor *slices[2], size_t planes, size_t plane)
{
    for (size_t p = 0; p < planes; p++) { /* width x channels */
        for (size_t t = 0; t < 2; t++) {
            oc_tensor_widen(slices[t], p * plane, plane, kernel + (2 * p + t) * plane);
        }
    }
}

/* Adds the patch kernel, put together in memory. */
static ocelli_status add_kernel(oc_weights *weights, const oc_gguf *vision, ocelli_error *err)
{
    const oc_gguf_tensor *first = oc_gguf_find_tensor(vision, OC_GGUF_PATCH_SLICE_0);
    const oc_gguf_tensor *second = oc_gguf_find_tensor(vision, OC_GGUF_PATCH_SLICE_1);
    if (first == NULL || second == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: no tensor \"%s\"; it is incomplete or of another model", vision->path,
                       first == NULL ? OC_GGUF_PATCH_SLICE_0 : OC_GGUF_PATCH_SLICE_1);
    }
    const oc_tensor *slices[2] = {&first->tensor, &second->tensor};
    const int64_t *shape = slices[0]->shape; /* [width, channels, patch, patch] */
    for (int t = 0; t < 2; t++) {
        if (slices[t]->rank != 4 || slices[t]->bytes == 0 ||
            !oc_dtype_is_weight(slices[t]->dtype) ||
            memcmp(slices[t]->shape, shape, sizeof slices[t]->shape) != 0) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: \"%s\" and \"%s\" are not two slices of one patch kernel",
                           vision->path, OC_GGUF_PATCH_SLICE_0, OC_GGUF_PATCH_SLICE_1);
        }
    }
    /* Products of the axes of a tensor that is in the file. */
    size_t planes = (size_t)shape[0] * (size_t)shape[1];
    size_t plane = (size_t)shape[2] * (size_t)shape[3];
    size_t values, bytes;
    if (!oc_size_mul(planes * plane, 2, &values) || !oc_size_mul(values, sizeof(float), &bytes)) {
        return oc_fail_memory(err, vision->path);
    }
    weights->kernel = oc_alloc_raw(values, sizeof(float));
    if (weights->kernel == NULL) {
        return oc_fail_memory(err, vision->path);
    }
    interleave(weights->kernel, slices, planes, plane);
    weights->entries[weights->count++] = (oc_weights_entry){
        .name = OC_GGUF_PATCH_KERNEL,
        .tensor = {.data = weights->kernel,
                   .bytes = bytes,
                   .dtype = OC_F32,
                   .rank = 5,
                   .shape = {shape[0], shape[1], 2, shape[2], shape[3], 1, 1, 1}},
        .file = weights->file_count - 1,
        .assembled = true};
    return OCELLI_OK;
}

static void add_named(oc_weights *weights, const oc_gguf *file, const oc_gguf_taps *taps,
                      char **names)
{
    size_t index = weights->file_count;
    weights->files[weights->file_count++] =
        (oc_weights_file){.path = file->path, .map = &file->map};
    for (size_t i = 0; i < file->tensor_count; i++) {
        if (oc_gguf_checkpoint_name(file->tensors[i].name, taps, *names)) {
            weights->entries[weights->count++] = (oc_weights_entry){
                .name = *names, .tensor = file->tensors[i].tensor, .file = index};
            *names += strlen(*names) + 1;
        }
    }
}

static ocelli_status add_files(oc_weights *weights, const oc_gguf *text, const oc_gguf *vision,
                               ocelli_error *err)
{
    OC_TRY(read_taps(weights, vision, err));
    const oc_gguf_taps taps = {.blocks = weights->tapped, .count = weights->taps};
    size_t count = text->tensor_count + (vision != NULL ? vision->tensor_count + 1 : 0);
    weights->entries = oc_alloc(count, sizeof *weights->entries);
    weights->files = oc_alloc(2, sizeof *weights->files);
    weights->made = oc_alloc(count + 1, OC_GGUF_NAME_ROOM);
    if (weights->entries == NULL || weights->files == NULL || weights->made == NULL) {
        return oc_fail_memory(err, weights->where);
    }
    char *names = weights->made;
    add_named(weights, text, &taps, &names);
    if (vision != NULL) {
        add_named(weights, vision, &taps, &names);
        OC_TRY(add_kernel(weights, vision, err));
    }
    return oc_weights_index(weights, err);
}

ocelli_status oc_weights_open_gguf(oc_weights **out, const oc_gguf *text, const oc_gguf *vision,
                                   ocelli_error *err)
{
    oc_weights *weights;
    *out = NULL;
    OC_TRY(oc_weights_start(&weights, text->path, err));
    ocelli_status status = add_files(weights, text, vision, err);
    if (status != OCELLI_OK) {
        oc_weights_close(weights);
        return status;
    }
    *out = weights;
    return OCELLI_OK;
}

void oc_weights_gguf_place(const oc_weights *weights, const char *name, const char **file,
                           char label[OC_LABEL_ROOM])
{
    char own[OC_GGUF_NAME_ROOM];
    const oc_gguf_taps taps = {.blocks = weights->tapped, .count = weights->taps};
    bool vision = strncmp(name, OC_GGUF_TOWER, sizeof OC_GGUF_TOWER - 1) == 0;
    *file = weights->files[vision ? weights->file_count - 1 : 0].path;
    oc_name_label(oc_gguf_file_name(name, &taps, own) ? own : name, label);
}
