/* smart_size.h - the reference's size rule: multiples of patch x merge within pixel bounds. */
#ifndef OC_VISION_SMART_SIZE_H
#define OC_VISION_SMART_SIZE_H

#include "runtime/base/status.h"

#include <stdbool.h>

typedef struct oc_size_rule {
    int factor;   /* patch_size x merge_size */
    int temporal; /* temporal_patch_size */
    uint64_t min_pixels,
        max_pixels; /* inclusive bounds of the resized area (of a clip: t x h x w) */
    bool by_frame;  /* a clip's frames are sized as pictures, however many they are */
} oc_size_rule;

/* One picture. OCELLI_E_LIMIT: aspect ratio above 200 (the message gives both sides). */
ocelli_status oc_smart_size_image(const oc_size_rule *rule, int height, int width, int *out_height,
                                  int *out_width, ocelli_error *err);
/* A clip of frames frames, all of one size. Unless by_frame, also refuses a side below factor. */
ocelli_status oc_smart_size_video(const oc_size_rule *rule, size_t frames, int height, int width,
                                  int *out_height, int *out_width, ocelli_error *err);

#endif
