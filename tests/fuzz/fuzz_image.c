/* fuzz_image.c - a picture, whatever it says it is, and its frames;
 * pictures above a million pixels are not wanted. */
#include "tests/fuzz/fuzz.h"

#include <ocelli.h>

/* Takes image back; every pixel is looked at. */
static void look(ocelli_image *image, const ocelli_image_options *options)
{
    int width, height;
    uint64_t sum = 0;
    ocelli_image_size(image, &width, &height);
    fuzz_require(width > 0 && height > 0 &&
                     (uint64_t)width * (uint64_t)height <= options->max_pixels,
                 "a picture within the limit");
    const uint8_t *pixels = ocelli_image_pixels(image);
    for (size_t i = 0; i < (size_t)width * (size_t)height * 3; i++) {
        sum += pixels[i];
    }
    fuzz_require(sum / 3 / 255 <= options->max_pixels, "pixels of bytes");
    ocelli_image_free(image);
}

/* The first frames; later ones take the same paths. */
static void look_at_frames(const uint8_t *data, size_t size, const ocelli_image_options *options)
{
    enum { MOST_FRAMES = 6 };
    ocelli_animation *animation = NULL;
    ocelli_image *frame = NULL;
    ocelli_error err;
    double seconds;
    ocelli_status status = ocelli_animation_open(&animation, data, size, "input", options, &err);
    fuzz_require((animation != NULL) == (status == OCELLI_OK), "an animation on success only");
    if (animation == NULL) {
        return;
    }
    fuzz_require(ocelli_animation_frames(animation) > 0, "a frame at least");
    for (int i = 0; i < MOST_FRAMES; i++) {
        status = ocelli_animation_next(animation, &frame, &seconds, &err);
        fuzz_require(status == OCELLI_OK || frame == NULL, "a frame on success only");
        if (frame == NULL) {
            break;
        }
        look(frame, options);
    }
    ocelli_animation_close(animation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ocelli_image *image = NULL;
    ocelli_image_options options = OCELLI_IMAGE_OPTIONS_INIT;
    ocelli_error err;
    options.max_pixels = 1000000;
    (void)ocelli_image_format(data, size);
    ocelli_status status = ocelli_image_decode(&image, data, size, "input", &options, &err);
    fuzz_require((image != NULL) == (status == OCELLI_OK), "a picture on success only");
    if (image != NULL) {
        look(image, &options);
    }
    look_at_frames(data, size, &options);
    return 0;
}
