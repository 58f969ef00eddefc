/* frames.h - which frames of a clip are used, and what time each pair is of. */
#ifndef OC_VISION_FRAMES_H
#define OC_VISION_FRAMES_H

#include "runtime/base/status.h"

#include <stdbool.h>

typedef struct oc_frame_rule {
    double source_fps;    /* > 0 */
    double sample_fps;    /* 0: all frames, at most max_frames */
    uint64_t frame_count; /* exactly so many; 0: by sample_fps */
    uint64_t min_frames, max_frames;
    bool even; /* Qwen2-VL's way: see below */
} oc_frame_rule;

/* n = trunc(total / source_fps * sample_fps), clamped to [min_frames, max_frames] and total;
 * indices = rint(linspace(0, total - 1, n)). indices has room for total. With sample_fps 0 every
 * frame is kept, or max_frames evenly spaced ones if there are more.
 *
 * Even: n = total / source_fps * sample_fps, clamped to [min_frames, max_frames and total, each
 * rounded down to an even number] and itself rounded down to one; indices = trunc(i * (total / n)),
 * which give out after n or, where total / n rounds down, n + 1 of them. A clip of one frame is
 * taken as it is. */
ocelli_status oc_frames_sample(const oc_frame_rule *rule, size_t total, size_t *indices,
                               size_t *count, ocelli_error *err);

/* Mean times of the pairs of frames whose times are seconds[0 .. count): an odd count repeats the
 * last. out [(count + 1) / 2]. */
void oc_frames_timestamps(const double *seconds, size_t count, double *out);

#endif
