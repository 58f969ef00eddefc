/* fuzz_image.c - a picture, whatever it says it is;
 * pictures above a million pixels are not wanted. */
#include "tests/fuzz/fuzz.h"

#include <ocelli.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocelli_image *image = NULL;
    ocelli_image_options options = OCELLI_IMAGE_OPTIONS_INIT;
    ocelli_error err;
    options.max_pixels = 1000000;
    ocelli_status status = ocelli_image_decode(&image, data, size, "input", &options, &err);
    fuzz_require((image != NULL) == (status == OCELLI_OK), "a picture on success only");
    if (image != NULL) {
        int width, height;
        unsigned sum = 0;
        ocelli_image_size(image, &width, &height);
        fuzz_require(width > 0 && height > 0 &&
                         (uint64_t)width * (uint64_t)height <= options.max_pixels,
                     "a picture within the limit");
        const uint8_t *pixels = ocelli_image_pixels(image);
        for (size_t i = 0; i < (size_t)width * (size_t)height * 3; i++) {
            sum += pixels[i];
        }
        ocelli_image_free(image);
        (void)sum;
        return 0;
    }
    return 0;
}
