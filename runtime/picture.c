/* picture.c - the public functions of a decoded picture; decoding itself is vision/'s. */
#include "runtime/base/file.h"
#include "vision/image.h"
#include "vision/sniff.h"

#include <stdbool.h>
#include <string.h>

/* A picture file that is larger is no picture that anyone took. */
static const size_t MOST_FILE_BYTES = (size_t)1 << 30;

const char *ocelli_image_format(const void *bytes, size_t size)
{
    return bytes != NULL ? oc_sniff_bytes(bytes, size).format : NULL;
}

ocelli_status ocelli_image_decode(ocelli_image **out, const void *bytes, size_t size,
                                  const char *name, const ocelli_image_options *options,
                                  ocelli_error *err)
{
    if (out == NULL || (bytes == NULL && size > 0)) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_image_decode: out and bytes are needed");
    }
    *out = NULL;
    return oc_image_decode(out, bytes, size, name != NULL ? name : "image", options, err);
}

ocelli_status ocelli_image_load(ocelli_image **out, const char *path,
                                const ocelli_image_options *options, ocelli_error *err)
{
    oc_map map;
    if (out == NULL || path == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_image_load: out and path are needed");
    }
    *out = NULL;
    OC_TRY(oc_map_open(&map, path, NULL, err));
    ocelli_status status = map.size > MOST_FILE_BYTES
                               ? oc_fail(err, OCELLI_E_LIMIT,
                                         "%s: %zu bytes, more than the limit of %zu for a picture",
                                         path, map.size, MOST_FILE_BYTES)
                               : oc_image_decode(out, map.bytes, map.size, path, options, err);
    oc_map_close(&map);
    return status;
}

ocelli_status ocelli_image_from_rgb(ocelli_image **out, const uint8_t *rgb, int width, int height,
                                    size_t stride, ocelli_error *err)
{
    if (out == NULL || rgb == NULL || width < 1 || height < 1 || stride / 3 < (size_t)width) {
        return oc_fail(
            err, OCELLI_E_ARGUMENT,
            "ocelli_image_from_rgb: rgb, a size of at least 1 x 1 and a stride of at least "
            "3 x width are needed");
    }
    *out = NULL;
    OC_TRY(oc_image_new(out, width, height, err));
    size_t row = 3 * (size_t)width;
    for (size_t y = 0; y < (size_t)height; y++) {
        memcpy((*out)->rgb + y * row, rgb + y * stride, row);
    }
    return OCELLI_OK;
}

void ocelli_image_size(const ocelli_image *image, int *width, int *height)
{
    if (width != NULL) {
        *width = image->full_width;
    }
    if (height != NULL) {
        *height = image->full_height;
    }
}

const uint8_t *ocelli_image_pixels(const ocelli_image *image)
{
    bool whole = image->width == image->full_width && image->height == image->full_height;
    return whole ? image->rgb : NULL;
}

void ocelli_image_free(ocelli_image *image)
{
    oc_image_free(image);
}

ocelli_status ocelli_animation_open(ocelli_animation **out, const void *bytes, size_t size,
                                    const char *name, const ocelli_image_options *options,
                                    ocelli_error *err)
{
    if (out == NULL || (bytes == NULL && size > 0)) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_animation_open: out and bytes are needed");
    }
    return oc_animation_open(out, bytes, size, name, options, err);
}

ocelli_status ocelli_animation_next(ocelli_animation *animation, ocelli_image **frame,
                                    double *seconds, ocelli_error *err)
{
    if (animation == NULL || frame == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_animation_next: animation and frame are needed");
    }
    double start;
    return oc_animation_next(animation, frame, seconds != NULL ? seconds : &start, err);
}

size_t ocelli_animation_frames(const ocelli_animation *animation)
{
    return oc_animation_frames(animation);
}

void ocelli_animation_close(ocelli_animation *animation)
{
    oc_animation_close(animation);
}
