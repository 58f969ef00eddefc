/* medium.c - see medium.h.
 *
 * A picture is decoded, encoded and let go before the next one is read, so that memory is bounded
 * by the largest picture. A clip's frames must all be there at once,
 * so their sum is bounded. */
#include "tools/medium.h"
#include "tools/frames_folder.h"
#include "tools/inputs.h"
#include "tools/interrupt.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Decoded frames of one clip, in bytes: 640 frames of 1920 x 1080. */
#define MOST_CLIP_BYTES (UINT64_C(4) << 30)

static int no_memory(void)
{
    report_error("no memory");
    return EXIT_FAILED;
}

static ocelli_visual_options visual_options(const run *r)
{
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    options.min_pixels = r->options->min_pixels;
    options.max_pixels = r->options->max_pixels;
    options.plan_only = r->options->dry_run;
    options.progress = progress_show;
    return options;
}

void medium_free(medium *m)
{
    ocelli_visual_free(m->visual);
    for (size_t i = 0; i < m->frame_count; i++) {
        free(m->frame_names[i]);
    }
    free(m->frame_names);
    free(m->frame_seconds);
    free(m->name);
    memset(m, 0, sizeof *m);
}

void media_free(medium *media, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        medium_free(&media[i]);
    }
    free(media);
}

/* ---- pictures ------------------------------------------------------------------------------ */

int medium_picture(run *r, const char *path, medium *out)
{
    ocelli_visual_options options = visual_options(r);
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_image *image = NULL;
    memset(out, 0, sizeof *out);
    int code = input_decode(path, r->options, &image);
    if (code == EXIT_DONE) {
        code = run_open(r);
    }
    if (code == EXIT_DONE) {
        out->name = text_copy(path);
        code = out->name == NULL ? no_memory() : EXIT_DONE;
    }
    ocelli_status status = OCELLI_OK;
    if (code == EXIT_DONE) {
        status = ocelli_encode_image(&out->visual, r->model, image, &options, &err);
        progress_end();
    }
    if (status != OCELLI_OK && !interrupt_pending()) {
        if (strstr(err.message, path) != NULL || strcmp(path, "-") == 0) {
            code = report_failure(&err);
        } else { /* the library does not know where the pixels came from */
            report_error("%s: %s", path, err.message);
            code = EXIT_FAILED;
        }
    }
    if (code == EXIT_DONE && interrupt_pending()) {
        code = EXIT_INTERRUPTED;
    }
    ocelli_image_free(image);
    if (code != EXIT_DONE) {
        medium_free(out);
    }
    return code;
}

/* ---- clips --------------------------------------------------------------------------------- */

/* The frames of a clip while it is put together. */
typedef struct clip {
    ocelli_image **images; /* [room], the first m->frame_count are set */
    uint64_t bytes;        /* of all images */
    bool mixed;            /* not all of one size */
} clip;

static int clip_begin(clip *c, medium *m, const char *name, size_t room, double fps)
{
    memset(m, 0, sizeof *m);
    m->is_video = true;
    m->fps = fps;
    m->name = text_copy(name);
    m->frame_names = calloc(room, sizeof *m->frame_names);
    m->frame_seconds = calloc(room, sizeof *m->frame_seconds);
    memset(c, 0, sizeof *c);
    c->images = calloc(room, sizeof(ocelli_image *));
    if (m->name == NULL || m->frame_names == NULL || m->frame_seconds == NULL ||
        c->images == NULL) {
        return no_memory();
    }
    return EXIT_DONE;
}

/* Decodes the file as the next frame, number index of the source. *damaged: the frame was left out
 * and EXIT_DONE returned. */
static int clip_add(clip *c, medium *m, const run *r, const char *path, const char *shown,
                    size_t index, bool *damaged)
{
    ocelli_image_options options = input_image_options(r->options);
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_image *image = NULL;
    size_t at = m->frame_count;
    int width = 0, height = 0, first_width = 0, first_height = 0;
    *damaged = false;
    if (ocelli_image_load(&image, path, &options, &err) != OCELLI_OK) {
        if (r->options->strict) {
            report_error("frame '%s': %s", shown, err.message);
            return EXIT_FAILED;
        }
        report_warning("frame '%s' left out: %s", shown, err.message);
        *damaged = true;
        return EXIT_DONE;
    }
    ocelli_image_size(image, &width, &height);
    c->bytes += (uint64_t)width * (uint64_t)height * 3;
    c->images[at] = image;
    m->frame_names[at] = text_copy(shown);
    m->frame_seconds[at] = (double)index / m->fps;
    m->frame_count++;
    if (m->frame_names[at] == NULL) {
        return no_memory();
    }
    ocelli_image_size(c->images[0], &first_width, &first_height);
    if ((width != first_width || height != first_height) && !c->mixed) {
        c->mixed = true;
        report_note("frames differ in size ('%s' is %dx%d, '%s' is %dx%d): all are resized to the "
                    "size that the first one gets",
                    m->frame_names[0], first_width, first_height, shown, width, height);
    }
    if (c->bytes > MOST_CLIP_BYTES) {
        report_error("'%s': the first %zu frames alone take more than 4 GiB decoded; use fewer of "
                     "them with --frames or --sample-fps",
                     m->name, m->frame_count);
        return EXIT_FAILED;
    }
    if (progress_show(NULL, "reading frames", m->frame_count, 0) != 0) {
        return EXIT_INTERRUPTED;
    }
    return EXIT_DONE;
}

/* Encodes what has been added, and lets the images go whatever code says. */
static int clip_end(clip *c, medium *m, run *r, int code)
{
    ocelli_visual_options options = visual_options(r);
    ocelli_error err = {OCELLI_OK, ""};
    progress_end();
    if (code == EXIT_DONE && m->frame_count == 0) {
        report_error("'%s': none of its frames could be read", m->name);
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE) {
        m->used_fps = m->fps * (double)m->frame_count / (double)m->frames_found;
        options.frames_per_second = m->used_fps;
        ocelli_status status =
            ocelli_encode_video(&m->visual, r->model, (const ocelli_image *const *)c->images,
                                m->frame_seconds, m->frame_count, &options, &err);
        progress_end();
        if (status != OCELLI_OK && !interrupt_pending()) {
            report_error("%s: %s", m->name, err.message);
            code = EXIT_FAILED;
        }
    }
    if (code == EXIT_DONE && interrupt_pending()) {
        code = EXIT_INTERRUPTED;
    }
    for (size_t i = 0; c->images != NULL && i < m->frame_count; i++) {
        ocelli_image_free(c->images[i]);
    }
    free(c->images);
    if (code != EXIT_DONE) {
        medium_free(m);
    }
    return code;
}

/* Which of total frames to use; indices has room for total. The reference samples a video that it
 * decodes, but takes a list of frames as it is; so does this, unless a flag asks for sampling. */
static int choose_frames(run *r, size_t total, double fps, size_t *indices, size_t *count)
{
    ocelli_sample_options options = OCELLI_SAMPLE_OPTIONS_INIT;
    ocelli_error err = {OCELLI_OK, ""};
    if (r->options->sample_fps == 0 && r->options->frames == 0 && r->options->max_frames == 0) {
        for (*count = 0; *count < total; ++*count) {
            indices[*count] = *count;
        }
        return EXIT_DONE;
    }
    options.source_fps = fps;
    options.sample_fps = r->options->sample_fps;
    options.frame_count = r->options->frames;
    options.max_frames = r->options->max_frames;
    if (ocelli_sample_frames(r->model, total, &options, indices, total, count, &err) != OCELLI_OK) {
        return report_failure(&err);
    }
    return EXIT_DONE;
}

int medium_clip(run *r, const char *folder, double fps, bool fps_assumed, medium *out)
{
    frames_folder frames;
    clip c = {NULL, 0, false};
    size_t *indices = NULL;
    size_t count = 0;
    memset(out, 0, sizeof *out);
    int code = frames_folder_list(folder, &frames);
    if (code != EXIT_DONE) {
        return code;
    }
    if (frames.others > 0 && r->options->verbose) {
        report_note("'%s': %zu entries are no pictures", folder, frames.others);
    }
    indices = calloc(frames.count, sizeof *indices);
    code = indices == NULL ? no_memory() : run_open(r);
    if (code == EXIT_DONE) {
        code = choose_frames(r, frames.count, fps, indices, &count);
    }
    if (code == EXIT_DONE) {
        code = clip_begin(&c, out, folder, count, fps);
        out->frames_found = frames.count;
        out->fps_assumed = fps_assumed;
        for (size_t i = 0; code == EXIT_DONE && i < count; i++) {
            const char *name = frames.names[indices[i]];
            char *path = folder_path(folder, name);
            bool damaged = false;
            code =
                path == NULL ? no_memory() : clip_add(&c, out, r, path, name, indices[i], &damaged);
            free(path);
        }
        code = clip_end(&c, out, r, code);
    }
    free(indices);
    frames_folder_free(&frames);
    return code;
}

int medium_frames(run *r, const char *name, const char *const *paths, size_t count, double fps,
                  medium *out)
{
    clip c;
    int code = run_open(r);
    memset(out, 0, sizeof *out);
    if (code != EXIT_DONE) {
        return code;
    }
    code = clip_begin(&c, out, name, count, fps);
    out->frames_found = count;
    for (size_t i = 0; code == EXIT_DONE && i < count; i++) {
        bool damaged = false;
        code = clip_add(&c, out, r, paths[i], paths[i], i, &damaged);
        if (damaged) {
            code = EXIT_FAILED; /* an answer about other frames than asked is no answer */
        }
    }
    return clip_end(&c, out, r, code);
}
