/* exif.h - the orientation tag, of JPEG (APP1), PNG (eXIf chunk) and WebP (EXIF chunk). */
#ifndef OC_VISION_EXIF_H
#define OC_VISION_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* 1 to 8; 1 when there is none or it is damaged. Never reads outside [bytes, bytes + size). */
int oc_exif_orientation(const void *bytes, size_t size);

#endif
