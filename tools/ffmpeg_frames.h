/* ffmpeg_frames.h - chosen frames of a video file, decoded by ffmpeg, one after another.
 *
 * ffmpeg drops what was not chosen, turns the frames as the file asks, and sends them as portable
 * pixmaps, each with its size, since a video may change it. What it says of each frame's time goes
 * with it, so that a frame that it cannot decode does not shift those after it.
 */
#ifndef OCELLI_TOOLS_FFMPEG_FRAMES_H
#define OCELLI_TOOLS_FFMPEG_FRAMES_H

#include "tools/ffmpeg.h"
#include "tools/ffmpeg_probe.h"

#include <ocelli.h>

typedef struct video_frames {
    const video_probe *probe;
    const char *path;
    uint64_t most_pixels;
    ffmpeg_process process;
    const size_t *chosen; /* [count], ascending; borrowed */
    size_t count, at;     /* at: the next to be given */
    bool all_sent;        /* ffmpeg sends every frame, chosen or not */
    size_t passed;        /* frames that came, where all_sent and without times */
    bool over;            /* it has ended */
    int64_t *heard;       /* [heard_room] times told of frames that are on their way: */
    size_t heard_first, heard_end, heard_room; /* [heard_first, heard_end) */
    unsigned char *bytes; /* [room] what came of the frame that is on its way */
    size_t used, room;
    ocelli_image *waiting; /* a frame that came for waiting_index, beyond at */
    size_t waiting_index;
} video_frames;

/* Starts ffmpeg. path, probe and chosen [count] must last until video_frames_end. A frame of more
 * than most_pixels is refused. Returns an exit code. */
int video_frames_begin(video_frames *v, const char *path, const video_probe *probe,
                       const size_t *chosen, size_t count, uint64_t most_pixels);

/* The next chosen frame: *image is the caller's, or NULL where ffmpeg could not decode it. Returns
 * an exit code. */
int video_frames_next(video_frames *v, ocelli_image **image);

/* What ffmpeg last complained of; "" if of nothing. */
const char *video_frames_complaint(const video_frames *v);

void video_frames_end(video_frames *v);

#endif
