/* fuzz_gguf.c - a GGUF file: what is opened lies inside the file, blocks are widened, and what its
 * metadata say goes through the readers of configurations, weights and tokenizers. */
#include "runtime/config.h"
#include "runtime/gguf_config.h"
#include "runtime/weights/weights.h"
#include "tests/fuzz/fuzz.h"
#include "text/bpe.h"
#include "text/bpe_gguf.h"

/* As a text model of its own. */
static void use_as_model(const oc_gguf *file)
{
    oc_gguf_config texts;
    oc_weights *weights = NULL;
    oc_buffer json = {0};
    if (oc_gguf_config_make(&texts, file, NULL, NULL) == OCELLI_OK) {
        oc_config config;
        const oc_config_texts given = {.name = "input",
                                       .config = texts.config,
                                       .preprocessor = texts.preprocessor,
                                       .generation = texts.generation};
        if (oc_config_read_texts(&config, &given, NULL) == OCELLI_OK) {
            oc_config_close(&config);
        }
        oc_gguf_config_close(&texts);
    }
    if (oc_weights_open_gguf(&weights, file, NULL, NULL) == OCELLI_OK) {
        const char *name;
        oc_tensor tensor;
        for (size_t i = 0; oc_weights_at(weights, i, &name, &tensor); i++) {
            fuzz_require(oc_weights_find(weights, name, &tensor, NULL), "a name finds its weight");
        }
        oc_weights_close(weights);
    }
    if (oc_bpe_gguf_write(&json, file, NULL) == OCELLI_OK) {
        oc_bpe *bpe;
        if (oc_bpe_open_text(&bpe, "input", json.data, json.length, 1000, NULL) == OCELLI_OK) {
            oc_bpe_close(bpe);
        }
    }
    oc_buffer_close(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oc_gguf *file = NULL;
    fuzz_write("model.gguf", data, size);
    if (oc_gguf_open(&file, fuzz_path("model.gguf"), NULL) != OCELLI_OK) {
        fuzz_require(file == NULL, "nothing is left on failure");
        return 0;
    }
    unsigned sum = 0;
    for (size_t i = 0; i < file->value_count; i++) {
        const oc_gguf_value *value = &file->values[i];
        fuzz_require(value->data >= file->map.bytes &&
                         value->data <= file->map.bytes + file->map.size,
                     "a value lies in the file");
        if (value->type == OC_GGUF_STRING) {
            for (uint64_t k = 0; k < value->count; k++) {
                sum += value->data[k];
            }
        }
    }
    for (size_t i = 0; i < file->tensor_count; i++) {
        const oc_tensor *tensor = &file->tensors[i].tensor;
        const unsigned char *bytes = tensor->data;
        fuzz_require(oc_gguf_find_tensor(file, file->tensors[i].name) != NULL,
                     "a name finds its tensor");
        fuzz_require(bytes >= file->map.bytes && tensor->bytes <= file->map.size &&
                         (size_t)(bytes - file->map.bytes) <= file->map.size - tensor->bytes,
                     "a tensor lies in the file");
        for (size_t k = 0; k < tensor->bytes; k++) {
            sum += bytes[k];
        }
        if (tensor->bytes > 0 && oc_dtype_is_weight(tensor->dtype)) {
            float values[3];
            size_t first = oc_dtype_block(tensor->dtype) - 1;
            oc_tensor_widen(tensor, first, 1, values);
        }
    }
    use_as_model(file);
    oc_gguf_close(file);
    (void)sum;
    return 0;
}
