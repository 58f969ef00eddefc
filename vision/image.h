/* image.h - a decoded picture: 8-bit RGB rows, turned upright, alpha composited. */
#ifndef OC_VISION_IMAGE_H
#define OC_VISION_IMAGE_H

#include "runtime/base/hash.h"
#include "runtime/base/status.h"

struct ocelli_image {
    uint8_t *rgb; /* [height, width, 3], owned */
    int width, height;
    int full_width, full_height; /* of the picture in the file: more where fewer pixels sufficed */
};

/* Black pixels; width and height at least 1, their product within max_pixels of the caller. */
ocelli_status oc_image_new(ocelli_image **out, int width, int height, ocelli_error *err);

/* Gives the pixels back too; accepts NULL. */
void oc_image_free(ocelli_image *image);

/* Decodes by content: a table of kinds and their decoders is asked. A format that is known but has no
 * decoder (PSD, SVG...), or none in this build (WebP, AVIF, HEIC, GIF, TIFF), is
 * OCELLI_E_UNSUPPORTED, names the format, the library it takes and how to convert. Text, HTML, JSON, a Git LFS
 * pointer, an empty file: OCELLI_E_FORMAT and says what it looks like. The size is read from the
 * header and checked against options->max_pixels before any pixel is allocated. name is for messages. */
ocelli_status oc_image_decode(ocelli_image **out, const void *bytes, size_t size, const char *name,
                              const ocelli_image_options *options, ocelli_error *err);

/* What ocelli_animation_* promise (ocelli.h). */
ocelli_status oc_animation_open(ocelli_animation **out, const void *bytes, size_t size,
                                const char *name, const ocelli_image_options *options,
                                ocelli_error *err);
ocelli_status oc_animation_next(ocelli_animation *animation, ocelli_image **frame, double *seconds,
                                ocelli_error *err);
size_t oc_animation_frames(const ocelli_animation *animation);
void oc_animation_close(ocelli_animation *animation);

/* Identity of the pixels: width, height and bytes. */
oc_hash oc_image_hash(const ocelli_image *image);

/* What oc_image_decode can read: for ocelli_build_info. A name follows the format where a library's
 * decoder is used in front of ours. */
#define OC_IMAGE_FORMATS                                                                           \
    "png jpeg" OC_IMAGE_JPEG                                                                       \
    " bmp pnm" OC_IMAGE_GIF OC_IMAGE_WEBP OC_IMAGE_TIFF OC_IMAGE_AVIF OC_IMAGE_HEIC
#ifdef OCELLI_HAVE_JPEG
#define OC_IMAGE_JPEG "(libjpeg)"
#else
#define OC_IMAGE_JPEG ""
#endif
#ifdef OCELLI_HAVE_GIF
#define OC_IMAGE_GIF " gif"
#else
#define OC_IMAGE_GIF ""
#endif
#ifdef OCELLI_HAVE_WEBP
#define OC_IMAGE_WEBP " webp"
#else
#define OC_IMAGE_WEBP ""
#endif
#ifdef OCELLI_HAVE_TIFF
#define OC_IMAGE_TIFF " tiff"
#else
#define OC_IMAGE_TIFF ""
#endif
#ifdef OCELLI_HAVE_AVIF
#define OC_IMAGE_AVIF " avif"
#else
#define OC_IMAGE_AVIF ""
#endif
#ifdef OCELLI_HAVE_HEIF
#define OC_IMAGE_HEIC " heic"
#else
#define OC_IMAGE_HEIC ""
#endif

#endif
