/* fuzz_safetensors.c - a safetensors file: what is opened lies inside the file. */
#include "runtime/weights/safetensors.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oc_safetensors file;
    fuzz_write("model.safetensors", data, size);
    if (oc_safetensors_open(&file, fuzz_path("model.safetensors"), NULL) != OCELLI_OK) {
        fuzz_require(file.map.bytes == NULL && file.count == 0, "nothing is left on failure");
        return 0;
    }
    unsigned sum = 0;
    for (size_t i = 0; i < file.count; i++) {
        const oc_safetensors_entry *entry = &file.entries[i];
        const unsigned char *bytes = entry->tensor.data;
        char label[OC_LABEL_ROOM], shape[64];
        fuzz_require(oc_safetensors_find(&file, entry->name) == entry, "a name finds its tensor");
        fuzz_require(bytes >= file.map.bytes && entry->tensor.bytes <= file.map.size &&
                         (size_t)(bytes - file.map.bytes) <= file.map.size - entry->tensor.bytes,
                     "a tensor lies in the file");
        for (size_t k = 0; k < entry->tensor.bytes; k++) {
            sum += bytes[k];
        }
        oc_name_label(entry->name, label);
        oc_tensor_shape_text(&entry->tensor, shape, sizeof shape);
        if (entry->tensor.bytes > 0 && oc_dtype_is_weight(entry->tensor.dtype)) {
            float value;
            oc_tensor_widen(&entry->tensor, 0, 1, &value);
        }
    }
    for (size_t i = 0; i < file.note_count; i++) {
        sum += (unsigned)strlen(file.notes[i].value);
        fuzz_require(oc_safetensors_metadata(&file, file.notes[i].key) == file.notes[i].value,
                     "a key finds its value");
    }
    oc_safetensors_close(&file);
    (void)sum;
    return 0;
}
