/* medium.c - see medium.h.
 *
 * A picture is decoded, encoded and let go before the next one is read, so that memory is bounded
 * by the largest picture; a clip's bound is in clip.c. */
#include "tools/medium.h"
#include "tools/clip.h"
#include "tools/inputs.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(void)
{
    report_error("no memory");
    return EXIT_FAILED;
}

ocelli_visual_options medium_visual_options(const run *r)
{
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    options.min_pixels = r->options->min_pixels;
    options.max_pixels = r->options->max_pixels;
    options.plan_only = r->options->dry_run;
    options.progress = progress_show;
    options.cache = r->cache;
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

int medium_decoded(run *r, const char *path, const ocelli_image *image, medium *out)
{
    ocelli_error err = {OCELLI_OK, ""};
    memset(out, 0, sizeof *out);
    int code = run_open(r);
    ocelli_visual_options options = medium_visual_options(r);
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
    if (code != EXIT_DONE) {
        medium_free(out);
    }
    return code;
}

int medium_picture(run *r, const char *path, medium *out)
{
    ocelli_image *image = NULL;
    memset(out, 0, sizeof *out);
    int code = input_decode(path, r->options, &image);
    if (code == EXIT_DONE) {
        code = medium_decoded(r, path, image, out);
    }
    ocelli_image_free(image);
    return code;
}

/* ---- clips --------------------------------------------------------------------------------- */

int medium_clip(run *r, const char *path, double fps, bool fps_assumed, medium *out)
{
    clip_source source;
    clip c;
    size_t count = 0;
    memset(out, 0, sizeof *out);
    int code = clip_source_open(&source, r->options, path, fps, fps_assumed);
    if (code != EXIT_DONE) {
        return code;
    }
    size_t *indices = calloc(source.count, sizeof *indices);
    code = indices == NULL ? no_memory() : run_open(r);
    if (code == EXIT_DONE) {
        code = clip_source_choose(&source, r, 0, source.count, indices, &count);
    }
    if (code == EXIT_DONE) {
        code = clip_source_begin(&source, r->options, indices, count);
    }
    if (code == EXIT_DONE) {
        code = clip_begin(&c, r, out, path, count, source.count, source.fps);
        out->fps_assumed = source.fps_assumed;
        out->fps_mean = source.times_given || source.kind != CLIP_FOLDER;
        if (code == EXIT_DONE) {
            code = clip_add_chosen(&c, &source, count);
        }
        code = clip_end(&c, code);
    }
    free(indices);
    clip_source_close(&source);
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
    code = clip_begin(&c, r, out, name, count, count, fps);
    for (size_t i = 0; code == EXIT_DONE && i < count; i++) {
        bool damaged = false;
        code = clip_add_file(&c, paths[i], paths[i], (double)i / fps, &damaged);
        if (damaged) {
            code = EXIT_FAILED; /* an answer about other frames than asked is no answer */
        }
    }
    return clip_end(&c, code);
}
