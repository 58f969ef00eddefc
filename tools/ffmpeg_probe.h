/* ffmpeg_probe.h - what a video file holds: its frames' times, size and rate. Decodes nothing. */
#ifndef OCELLI_TOOLS_FFMPEG_PROBE_H
#define OCELLI_TOOLS_FFMPEG_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct video_probe {
    size_t count;        /* frames; at least 1 */
    int64_t *ticks;      /* [count] their times in the file's unit, ascending */
    double tick;         /* seconds of a unit */
    double last;         /* seconds that the last frame is shown; 0: not told */
    double rate;         /* frames a second, on average; > 0 */
    int width, height;   /* as coded, before it is turned */
    char complaint[400]; /* what ffprobe said is wrong with the file; "" if nothing */
    bool timed; /* every frame has a time of its own; else only their order is sure, and ticks are
                 * the order of decoding */
} video_probe;

/* Asks ffprobe about the first picture stream of the file. Returns an exit code; what is no video is
 * refused with one line. */
int ffmpeg_probe(const char *path, video_probe *out);
void ffmpeg_probe_free(video_probe *probe);

#endif
