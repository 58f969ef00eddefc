/* clip.c - see clip.h. */
#include "tools/clip.h"
#include "tools/inputs.h"
#include "tools/interrupt.h"
#include "tools/medium.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <stdlib.h>
#include <string.h>

/* Decoded frames of one clip, in bytes: 640 frames of 1920 x 1080. */
#define MOST_CLIP_BYTES (UINT64_C(4) << 30)

static int no_memory(void)
{
    report_error("no memory");
    return EXIT_FAILED;
}

int clip_begin(clip *c, run *r, medium *m, const char *name, size_t room, size_t found, double fps)
{
    memset(m, 0, sizeof *m);
    m->is_video = true;
    m->fps = fps;
    m->frames_found = found;
    m->name = text_copy(name);
    m->frame_names = calloc(room, sizeof *m->frame_names);
    m->frame_seconds = calloc(room, sizeof *m->frame_seconds);
    memset(c, 0, sizeof *c);
    c->r = r;
    c->m = m;
    c->room = room;
    c->images = calloc(room, sizeof(ocelli_image *));
    if (m->name == NULL || m->frame_names == NULL || m->frame_seconds == NULL ||
        c->images == NULL) {
        return no_memory();
    }
    return EXIT_DONE;
}

int clip_add(clip *c, ocelli_image *image, const char *name, double seconds)
{
    medium *m = c->m;
    size_t at = m->frame_count;
    int width = 0, height = 0, first_width = 0, first_height = 0;
    ocelli_image_size(image, &width, &height);
    c->bytes += (uint64_t)width * (uint64_t)height * 3;
    c->images[at] = image;
    m->frame_names[at] = text_copy(name);
    m->frame_seconds[at] = seconds;
    m->frame_count++;
    if (m->frame_names[at] == NULL) {
        return no_memory();
    }
    ocelli_image_size(c->images[0], &first_width, &first_height);
    if ((width != first_width || height != first_height) && !c->mixed) {
        c->mixed = true;
        report_note("frames differ in size ('%s' is %dx%d, '%s' is %dx%d): all are resized to the "
                    "size that the first one gets",
                    m->frame_names[0], first_width, first_height, name, width, height);
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

int clip_add_file(clip *c, const char *path, const char *name, double seconds, bool *damaged)
{
    ocelli_image_options options = input_image_options(c->r->options);
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_image *image = NULL;
    *damaged = false;
    if (ocelli_image_load(&image, path, &options, &err) == OCELLI_OK) {
        return clip_add(c, image, name, seconds);
    }
    if (c->r->options->strict) {
        report_error("frame '%s': %s", name, err.message);
        return EXIT_FAILED;
    }
    report_warning("frame '%s' left out: %s", name, err.message);
    *damaged = true;
    return EXIT_DONE;
}

int clip_add_chosen(clip *c, clip_source *s, size_t count)
{
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < count; i++) {
        char room[64];
        ocelli_image *image = NULL;
        size_t index = 0;
        code = clip_source_next(s, c->r->options, &image, &index);
        if (code == EXIT_DONE && image != NULL) {
            code = clip_add(c, image, clip_source_name(s, index, room, sizeof room),
                            s->seconds[index]);
        }
    }
    return code;
}

int clip_end(clip *c, int code)
{
    ocelli_visual_options options = medium_visual_options(c->r);
    ocelli_error err = {OCELLI_OK, ""};
    medium *m = c->m;
    progress_end();
    if (code == EXIT_DONE && m->frame_count == 0) {
        report_error("'%s': none of its frames could be read", m->name);
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE) {
        m->used_fps = m->fps * (double)m->frame_count / (double)m->frames_found;
        options.frames_per_second = m->used_fps;
        ocelli_status status =
            ocelli_encode_video(&m->visual, c->r->model, (const ocelli_image *const *)c->images,
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
    memset(c, 0, sizeof *c);
    if (code != EXIT_DONE) {
        medium_free(m);
    }
    return code;
}
