/* image.h - a decoded picture: 8-bit RGB rows, turned upright, alpha composited. */
#ifndef OC_VISION_IMAGE_H
#define OC_VISION_IMAGE_H

#include "runtime/base/hash.h"
#include "runtime/base/status.h"

struct ocelli_image {
    uint8_t *rgb; /* [height, width, 3], owned */
    int width, height;
};

/* Black pixels; width and height at least 1, their product within max_pixels of the caller. */
ocelli_status oc_image_new(ocelli_image **out, int width, int height, ocelli_error *err);

/* Gives the pixels back too; accepts NULL. */
void oc_image_free(ocelli_image *image);

/* Decodes by content: a table of {format name, sniff, decode} is asked in order. A format that is
 * known but has no decoder in this build (WebP, AVIF, HEIC, GIF, TIFF, PSD...) is
 * OCELLI_E_UNSUPPORTED, names the format and says how to convert. Text, HTML, JSON, a Git LFS
 * pointer, an empty file: OCELLI_E_FORMAT and says what it looks like. The size is read from the
 * header and checked against options->max_pixels before any pixel is allocated. name is for messages. */
ocelli_status oc_image_decode(ocelli_image **out, const void *bytes, size_t size, const char *name,
                              const ocelli_image_options *options, ocelli_error *err);

/* Identity of the pixels: width, height and bytes. */
oc_hash oc_image_hash(const ocelli_image *image);

/* What oc_image_decode can read, in the order of its table: for ocelli_build_info. */
#define OC_IMAGE_FORMATS "png jpeg bmp pnm"

#endif
