/* turn.h - flips and turns a picture's pixels as an EXIF orientation says. */
#ifndef OC_VISION_TURN_H
#define OC_VISION_TURN_H

#include "vision/image.h"

/* orientation 1 to 8. 2 to 4 work in place; 5 to 8 swap the sides and need one more picture's worth
 * of memory while they run. On failure the image is as it was. */
ocelli_status oc_image_turn(ocelli_image *image, int orientation, ocelli_error *err);

#endif
