/* jpeg_turbo.h - JPEG through libjpeg-turbo: the same pixels as our own decoder's, sooner. */
#ifndef OC_VISION_JPEG_TURBO_H
#define OC_VISION_JPEG_TURBO_H

#include "vision/jpeg_check.h"

/* Decodes a picture whose markers oc_jpeg_check found sound, at 1/shrink of its sides (1, 2, 4 or 8,
 * rounded up). *out stays NULL where the library finds anything to remark: damaged data is for our
 * own decoder to judge, so that what is refused does not depend on the library. OCELLI_E_MEMORY. */
ocelli_status oc_jpeg_turbo_decode(ocelli_image **out, const oc_decode_input *in,
                                   const oc_jpeg *jpeg, int shrink, ocelli_error *err);

#endif
