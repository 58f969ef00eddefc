/* clip_source.c - see clip_source.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/clip_source.h"
#include "tools/frame_times.h"
#include "tools/inputs.h"
#include "tools/picture_files.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Frames a second that the reference takes of a video that it decodes. */
#define VIDEO_SAMPLE_FPS 2.0

static int no_memory(void)
{
    report_error("no memory");
    return EXIT_FAILED;
}

/* ---- what it is ---------------------------------------------------------------------------- */

bool clip_is_address(const char *path)
{
    /* Letters, digits, "+-.": what ffmpeg and others take for a protocol. */
    size_t length =
        strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    struct stat about;
    return length > 1 && path[length] == ':' && strchr(path, ' ') == NULL &&
           stat(path, &about) != 0;
}

/* A picture by its content. */
static bool is_picture(const char *path)
{
    unsigned char head[PICTURE_HEAD];
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (file < 0) {
        return false;
    }
    ssize_t got = read(file, head, sizeof head);
    close(file);
    return got > 0 && picture_has_bytes(head, (size_t)got);
}

static int find_kind(clip_source *s, const char *path)
{
    struct stat about;
    s->kind = CLIP_FOLDER;
    if (strcmp(path, "-") == 0) {
        report_error("a clip is a folder of frames or a file; it cannot be read from stdin");
    } else if (clip_is_address(path)) {
        report_error("'%s' is an address, and ocelli does not fetch; download it first", path);
    } else if (stat(path, &about) != 0) {
        report_error("cannot open clip '%s': %s", path, strerror(errno));
    } else if (S_ISDIR(about.st_mode)) {
        return EXIT_DONE;
    } else if (!S_ISREG(about.st_mode)) {
        report_error("'%s' is not a folder of frames and not a file", path);
    } else if (access(path, R_OK) != 0) {
        report_error("cannot read '%s': %s", path, strerror(errno));
    } else {
        s->kind = is_picture(path) ? CLIP_ANIMATION : CLIP_VIDEO;
        return EXIT_DONE;
    }
    return EXIT_FAILED;
}

/* ---- opening ------------------------------------------------------------------------------- */

static int open_folder(clip_source *s, const cli_options *options)
{
    int code = frames_folder_list(s->path, &s->folder);
    if (code != EXIT_DONE) {
        return code;
    }
    if (s->folder.others > 0 && options->verbose) {
        report_note("'%s': %zu entries are no pictures", s->path, s->folder.others);
    }
    s->count = s->folder.count;
    if (options->times != NULL) {
        code = frame_times_read(options->times, s->path, &s->folder, &s->seconds);
        if (code != EXIT_DONE) {
            return code;
        }
        s->times_given = true;
        s->fps_assumed = false;
        if (s->count > 1) {
            s->fps = (double)(s->count - 1) / (s->seconds[s->count - 1] - s->seconds[0]);
        }
    } else {
        s->seconds = calloc(s->count, sizeof *s->seconds);
        if (s->seconds == NULL) {
            return no_memory();
        }
        for (size_t i = 0; i < s->count; i++) {
            s->seconds[i] = (double)i / s->fps;
        }
    }
    s->end = s->seconds[s->count - 1] + 1 / s->fps;
    return EXIT_DONE;
}

static int open_video(clip_source *s, const cli_options *options)
{
    int code = ffmpeg_check(s->path);
    if (code == EXIT_DONE) {
        code = ffmpeg_probe(s->path, &s->probe);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    if (s->probe.complaint[0] != '\0') {
        if (options->strict) {
            report_error("'%s': %s", s->path, s->probe.complaint);
            return EXIT_FAILED;
        }
        report_warning("'%s': only what can be read of it is used: %s", s->path,
                       s->probe.complaint);
    }
    uint64_t pixels = (uint64_t)s->probe.width * (uint64_t)s->probe.height;
    if (pixels > options->max_input_pixels) {
        report_error("'%s': frames of %dx%d pixels; at most %" PRIu64
                     " are taken (--max-input-pixels)",
                     s->path, s->probe.width, s->probe.height, options->max_input_pixels);
        return EXIT_FAILED;
    }
    s->count = s->probe.count;
    s->fps = s->probe.rate;
    s->seconds = calloc(s->count, sizeof *s->seconds);
    if (s->seconds == NULL) {
        return no_memory();
    }
    /* The first frame is at 0, as the reference has it, whatever the file's clock says. */
    for (size_t i = 0; i < s->count; i++) {
        s->seconds[i] = ((double)s->probe.ticks[i] - (double)s->probe.ticks[0]) * s->probe.tick;
    }
    s->end = s->seconds[s->count - 1] + (s->probe.last > 0 ? s->probe.last : 1 / s->fps);
    return EXIT_DONE;
}

static int start_animation(clip_source *s, const cli_options *options)
{
    ocelli_image_options image_options = input_image_options(options);
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_animation_close(s->animation);
    s->animation = NULL;
    s->played = 0;
    if (ocelli_animation_open(&s->animation, s->bytes, s->size, s->path, &image_options, &err) !=
        OCELLI_OK) {
        return report_failure(&err);
    }
    return EXIT_DONE;
}

/* Plays it once for the times, which only its frames tell. */
static int time_animation(clip_source *s, const cli_options *options, size_t frames)
{
    for (;;) {
        ocelli_error err = {OCELLI_OK, ""};
        ocelli_image *image = NULL;
        double seconds = 0;
        ocelli_status status = ocelli_animation_next(s->animation, &image, &seconds, &err);
        ocelli_image_free(image);
        if (status != OCELLI_OK) {
            if (options->strict || s->count == 0) {
                return report_failure(&err);
            }
            report_warning("frame %zu and those after it left out: %s", s->count, err.message);
            return EXIT_DONE;
        }
        if (image == NULL) {
            s->end = seconds;
            return EXIT_DONE;
        }
        if (s->count == frames) { /* more than it said: enough */
            return EXIT_DONE;
        }
        s->seconds[s->count++] = seconds;
        if (progress_show(NULL, "reading the animation", s->count, frames) != 0) {
            return EXIT_INTERRUPTED;
        }
    }
}

static int open_animation(clip_source *s, const cli_options *options)
{
    int code = input_read_file(s->path, "clip", &s->bytes, &s->size);
    if (code == EXIT_DONE) {
        code = start_animation(s, options);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    size_t frames = ocelli_animation_frames(s->animation);
    if (frames == 1) {
        report_error("'%s' is not a folder of frames or a video: it is one picture, which is for "
                     "'ocelli ask'",
                     s->path);
        return EXIT_FAILED;
    }
    s->seconds = calloc(frames, sizeof *s->seconds);
    if (s->seconds == NULL) {
        return no_memory();
    }
    code = time_animation(s, options, frames);
    progress_end();
    if (code != EXIT_DONE) {
        return code;
    }
    double last = s->seconds[s->count - 1];
    s->end = s->end > last ? s->end : last;
    s->fps = s->end > 0 ? (double)s->count / s->end : 10;
    return EXIT_DONE;
}

int clip_source_open(clip_source *s, const cli_options *options, const char *path, double fps,
                     bool fps_assumed)
{
    memset(s, 0, sizeof *s);
    int code = find_kind(s, path);
    if (code != EXIT_DONE) {
        return code;
    }
    s->path = text_copy(path);
    if (s->path == NULL) {
        return no_memory();
    }
    s->fps = fps;
    s->fps_assumed = fps_assumed && s->kind == CLIP_FOLDER;
    if (s->kind != CLIP_FOLDER && options->times != NULL) {
        report_error("--times is for a folder of frames; '%s' has times of its own", path);
        code = EXIT_FAILED;
    } else if (s->kind != CLIP_FOLDER && options->given[FLAG_FPS]) {
        report_note(
            "--fps has no effect on '%s', which has times of its own; --sample-fps says how "
            "many frames a second are used",
            path);
    }
    if (code == EXIT_DONE) {
        code = s->kind == CLIP_FOLDER  ? open_folder(s, options)
               : s->kind == CLIP_VIDEO ? open_video(s, options)
                                       : open_animation(s, options);
    }
    if (code != EXIT_DONE) {
        clip_source_close(s);
    }
    return code;
}

void clip_source_close(clip_source *s)
{
    if (s->kind == CLIP_VIDEO) {
        video_frames_end(&s->video);
    }
    ocelli_animation_close(s->animation);
    ffmpeg_probe_free(&s->probe);
    frames_folder_free(&s->folder);
    free(s->bytes);
    free(s->seconds);
    free(s->path);
    memset(s, 0, sizeof *s);
}

/* ---- choosing ------------------------------------------------------------------------------ */

int clip_source_choose(const clip_source *s, run *r, size_t first, size_t count, size_t *indices,
                       size_t *chosen)
{
    const cli_options *options = r->options;
    ocelli_sample_options sampling = OCELLI_SAMPLE_OPTIONS_INIT;
    ocelli_error err = {OCELLI_OK, ""};
    bool asked = options->sample_fps != 0 || options->frames != 0 || options->max_frames != 0;
    *chosen = 0;
    if (!asked && s->kind == CLIP_FOLDER) {
        for (*chosen = 0; *chosen < count; ++*chosen) {
            indices[*chosen] = first + *chosen;
        }
        return EXIT_DONE;
    }
    int code = run_open(r);
    if (code != EXIT_DONE) {
        return code;
    }
    sampling.source_fps = s->fps;
    sampling.sample_fps = options->sample_fps;
    sampling.frame_count = options->frames;
    sampling.max_frames = options->max_frames;
    if (s->kind != CLIP_FOLDER && options->sample_fps == 0 && options->frames == 0) {
        sampling.sample_fps = VIDEO_SAMPLE_FPS;
    }
    if (options->every > 0 && sampling.frame_count > count) {
        sampling.frame_count = count; /* a last segment may have fewer */
    }
    if (ocelli_sample_frames(r->model, count, &sampling, indices, count, chosen, &err) !=
        OCELLI_OK) {
        return report_failure(&err);
    }
    for (size_t i = 0; i < *chosen; i++) {
        indices[i] += first;
    }
    return EXIT_DONE;
}

/* ---- giving -------------------------------------------------------------------------------- */

int clip_source_begin(clip_source *s, const cli_options *options, const size_t *chosen,
                      size_t count)
{
    s->chosen = chosen;
    s->chosen_count = count;
    s->at = 0;
    if (s->kind == CLIP_VIDEO) {
        video_frames_end(&s->video);
        return video_frames_begin(&s->video, s->path, &s->probe, chosen, count,
                                  options->max_input_pixels);
    }
    return s->kind == CLIP_ANIMATION ? start_animation(s, options) : EXIT_DONE;
}

/* The frame is left out, or all fails. why: a sentence. */
static int leave_out(const clip_source *s, const cli_options *options, size_t index,
                     const char *why)
{
    char room[64];
    const char *name = clip_source_name(s, index, room, sizeof room);
    if (options->strict) {
        report_error("frame '%s': %s", name, why);
        return EXIT_FAILED;
    }
    report_warning("frame '%s' left out: %s", name, why);
    return EXIT_DONE;
}

static int next_of_folder(clip_source *s, const cli_options *options, size_t index,
                          ocelli_image **image)
{
    ocelli_image_options image_options = input_image_options(options);
    ocelli_error err = {OCELLI_OK, ""};
    char *path = folder_path(s->path, s->folder.names[index]);
    if (path == NULL) {
        return no_memory();
    }
    ocelli_status status = ocelli_image_load(image, path, &image_options, &err);
    free(path);
    return status == OCELLI_OK ? EXIT_DONE : leave_out(s, options, index, err.message);
}

static int next_of_video(clip_source *s, const cli_options *options, size_t index,
                         ocelli_image **image)
{
    char why[600];
    int code = video_frames_next(&s->video, image);
    if (code != EXIT_DONE || *image != NULL) {
        return code;
    }
    const char *said = video_frames_complaint(&s->video);
    snprintf(why, sizeof why, "ffmpeg could not decode it, at %.3f s of '%.200s'%s%.200s",
             s->seconds[index], s->path, said[0] != '\0' ? ": " : "", said);
    return leave_out(s, options, index, why);
}

static int next_of_animation(clip_source *s, const cli_options *options, size_t index,
                             ocelli_image **image)
{
    while (s->played <= index) {
        ocelli_error err = {OCELLI_OK, ""};
        ocelli_image_free(*image);
        *image = NULL;
        if (ocelli_animation_next(s->animation, image, NULL, &err) != OCELLI_OK) {
            return leave_out(s, options, index, err.message);
        }
        if (*image == NULL) {
            return leave_out(s, options, index, "the animation has ended before it");
        }
        s->played++;
    }
    return EXIT_DONE;
}

int clip_source_next(clip_source *s, const cli_options *options, ocelli_image **image,
                     size_t *index)
{
    *image = NULL;
    *index = s->chosen[s->at++];
    int code = s->kind == CLIP_FOLDER  ? next_of_folder(s, options, *index, image)
               : s->kind == CLIP_VIDEO ? next_of_video(s, options, *index, image)
                                       : next_of_animation(s, options, *index, image);
    if (code != EXIT_DONE) {
        ocelli_image_free(*image);
        *image = NULL;
    }
    return code;
}

const char *clip_source_name(const clip_source *s, size_t index, char *text, size_t size)
{
    if (s->kind == CLIP_FOLDER) {
        return s->folder.names[index];
    }
    snprintf(text, size, "frame %zu", index);
    return text;
}
