/* patches.h - cuts resized pixels into normalised patch rows in merge-block order. */
#ifndef OC_VISION_PATCHES_H
#define OC_VISION_PATCHES_H

#include <stddef.h>
#include <stdint.h>

typedef struct oc_patch_rule {
    int patch_size, temporal_patch_size, merge_size, channels; /* channels is 3 */
    float mean[3], deviation[3];
} oc_patch_rule;

/* One temporal group: temporal_patch_size frames, each uint8 [height, width, 3] (a picture gives the
 * same pointer for all). height and width are multiples of patch_size * merge_size.
 * out float32 [height/P * width/P, channels * temporal * P * P], rows in merge-block order, inside a
 * row channel, time, y, x. x = (u8 / 255 - mean) / deviation. */
void oc_patches_cut(float *out, const oc_patch_rule *rule, const uint8_t *const *frames, int height,
                    int width);

#endif
