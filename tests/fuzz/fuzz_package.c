/* fuzz_package.c - a package's manifest ('m') and the header of its decoder file ('d'), which says
 * how the matrices were packed. */
#include "runtime/package.h"
#include "runtime/weights/loader.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void use_decoder(const oc_weights *weights)
{
    oc_manifest manifest = {.quant = OCELLI_QUANT_Q8, .vision = OCELLI_VISION_BF16};
    oc_loader *loader = NULL;
    const oc_loader_options options = {.weights = weights, .format = OC_FORMAT_Q8};
    (void)oc_package_check_quant(&manifest, weights, "package", NULL);
    (void)oc_package_check_vision(&manifest, weights, "package", NULL);
    if (oc_loader_open(&loader, &options, NULL) != OCELLI_OK) {
        return;
    }
    static const size_t shapes[][2] = {{64, 64}, {8, 32}, {1, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        oc_matrix matrix;
        oc_loader_only_sizes(loader);
        (void)oc_loader_matrix(loader, "a", shapes[i][0], shapes[i][1], &matrix, NULL);
    }
    oc_loader_close(loader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if (data[0] == 'd') {
        oc_weights *weights;
        fuzz_write("decoder.safetensors", data + 1, size - 1);
        if (oc_weights_open_file(&weights, fuzz_path("decoder.safetensors"), NULL) == OCELLI_OK) {
            use_decoder(weights);
            oc_weights_close(weights);
        }
        return 0;
    }
    oc_manifest manifest;
    const char *folder = fuzz_write("manifest.json", data + 1, size - 1);
    if (oc_manifest_read(&manifest, folder, NULL) == OCELLI_OK) {
        (void)oc_manifest_find(&manifest, "tokenizer.json");
        fuzz_require(memchr(manifest.fingerprint, '\0', sizeof manifest.fingerprint) != NULL,
                     "the fingerprint ends");
    }
    return 0;
}
