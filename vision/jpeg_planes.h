/* jpeg_planes.h - from a JPEG's coefficients to its planes, and from those to RGB, in libjpeg's
 * arithmetic: pictures then have the reference's pixels, bit for bit. */
#ifndef OC_VISION_JPEG_PLANES_H
#define OC_VISION_JPEG_PLANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One component's samples, possibly fewer than the picture has pixels. */
typedef struct oc_jpeg_plane {
    const uint8_t *samples; /* [height, stride], width of them meant */
    size_t stride;
    int width, height;
    int across, down; /* pixels of the picture a sample stands for, in each direction */
} oc_jpeg_plane;

typedef struct oc_jpeg_planes {
    int width, height, count; /* of the picture; count planes: 1, 3 or 4 */
    oc_jpeg_plane planes[4];
} oc_jpeg_planes;

typedef enum oc_jpeg_colour {
    OC_JPEG_GREY,
    OC_JPEG_YCC,
    OC_JPEG_RGB,
    OC_JPEG_CMYK, /* inverted, as Adobe's programs write it */
    OC_JPEG_YCCK  /* the same, its first three as YCC */
} oc_jpeg_colour;

/* Inverse DCT of dequantised coefficients [8, 8] (row-major), clipped to bytes: libjpeg's accurate
 * integer method. out has rows stride bytes apart. Any coefficients are fine. */
void oc_jpeg_idct(uint8_t *out, int stride, short coefficients[64]);

/* Upsamples, converts and writes rgb [height, width, 3]. False: no memory. */
bool oc_jpeg_planes_to_rgb(uint8_t *rgb, const oc_jpeg_planes *picture, oc_jpeg_colour colour);

#endif
