/* clip_source.h - where the frames of a clip come from: a folder of pictures, a video file, an
 * animation. Tells the times of all frames first, then gives those that were chosen, one by one.
 */
#ifndef OCELLI_TOOLS_CLIP_SOURCE_H
#define OCELLI_TOOLS_CLIP_SOURCE_H

#include "tools/ffmpeg_frames.h"
#include "tools/frames_folder.h"
#include "tools/session_run.h"

typedef enum clip_kind { CLIP_FOLDER, CLIP_VIDEO, CLIP_ANIMATION } clip_kind;

typedef struct clip_source {
    clip_kind kind;
    char *path;
    size_t count;         /* frames there are; at least 1 */
    double *seconds;      /* [count] when they are, ascending */
    double end;           /* when the last one ends */
    double fps;           /* on average */
    bool fps_assumed;     /* a folder's, and nobody said it */
    bool times_given;     /* a folder's, by --times */
    frames_folder folder; /* CLIP_FOLDER */
    video_probe probe;    /* CLIP_VIDEO */
    char *bytes;          /* CLIP_ANIMATION: [size] the file */
    size_t size;
    /* While frames are given: */
    const size_t *chosen; /* [chosen_count], borrowed */
    size_t chosen_count, at;
    video_frames video;
    ocelli_animation *animation;
    size_t played; /* frames of the animation that have been taken from it */
} clip_source;

/* Looks at what path is and lists its frames. A folder's frames are at fps a second, unless the
 * options name a file of times. What is none of the three, and addresses, are refused. Returns an
 * exit code, with a message unless EXIT_DONE. */
int clip_source_open(clip_source *s, const cli_options *options, const char *path, double fps,
                     bool fps_assumed);
void clip_source_close(clip_source *s);

/* path is no file, but written like one that other programs would fetch or make: "rtsp://",
 * "concat:". */
bool clip_is_address(const char *path);

/* Which of the frames [first, first + count) are used, as the options ask: writes ascending indices
 * to indices [count], *chosen of them. Without a sampling flag all frames of a folder, as the
 * reference takes a list of frames, and 2 a second of the others, as it samples a video. The run's
 * model is opened. */
int clip_source_choose(const clip_source *s, run *r, size_t first, size_t count, size_t *indices,
                       size_t *chosen);

/* Begins to give the frames chosen [count], ascending, which must last until the next begin. */
int clip_source_begin(clip_source *s, const cli_options *options, const size_t *chosen,
                      size_t count);
/* The next of them: *index in the source, and *image, the caller's; NULL: it is damaged and was
 * reported (with --strict that fails). Returns an exit code. */
int clip_source_next(clip_source *s, const cli_options *options, ocelli_image **image,
                     size_t *index);

/* What a frame is called: a folder's file, else "frame 12", counted from 0. text [size] is room for
 * the latter. */
const char *clip_source_name(const clip_source *s, size_t index, char *text, size_t size);

#endif
