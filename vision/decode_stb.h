/* decode_stb.h - the two things taken from stb_image: its JPEG decoder and its inflate. */
#ifndef OC_VISION_DECODE_STB_H
#define OC_VISION_DECODE_STB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes a JPEG whose headers oc_jpeg_check found sound. NULL on failure, then *reason is a short
 * literal. The result is [height, width, 3], an oc_alloc block. */
uint8_t *oc_stb_jpeg(const unsigned char *bytes, size_t size, int *width, int *height,
                     const char **reason);

/* Inflates a zlib stream into out [capacity]. *produced: bytes written. True when the stream ended,
 * or when out is full: a picture's size is known beforehand, and whatever follows is not wanted.
 * size and capacity at most INT_MAX. */
bool oc_stb_inflate(const unsigned char *bytes, size_t size, unsigned char *out, size_t capacity,
                    size_t *produced);

#endif
