/* decode_stb.h - the two things taken from stb_image: JPEG's coded data into planes, and inflate. */
#ifndef OC_VISION_DECODE_STB_H
#define OC_VISION_DECODE_STB_H

#include "vision/jpeg_planes.h"

/* Decodes a JPEG whose markers oc_jpeg_check found sound. The planes are given back with
 * oc_stb_jpeg_close. On failure NULL, and *reason is a short literal. */
typedef struct oc_stb_jpeg oc_stb_jpeg;
oc_stb_jpeg *oc_stb_jpeg_open(oc_jpeg_planes *out, const unsigned char *bytes, size_t size,
                              const char **reason);
void oc_stb_jpeg_close(oc_stb_jpeg *jpeg);

/* Inflates a zlib stream into out [capacity]. *produced: bytes written. True when the stream ended;
 * when out is full it stops and gives false: a picture's size is known beforehand, and whatever
 * follows is not wanted. size and capacity at most INT_MAX. */
bool oc_stb_inflate(const unsigned char *bytes, size_t size, unsigned char *out, size_t capacity,
                    size_t *produced);

#endif
