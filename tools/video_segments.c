/* video_segments.c - see video_segments.h.
 *
 * A segment is a clip like any other; what makes it one is that its frames' times lie between two
 * multiples of the length. Only one segment's frames are in memory at a time. */
#include "tools/video_segments.h"
#include "tools/clip.h"
#include "tools/dry_run.h"
#include "tools/folder_watch.h"
#include "tools/medium.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct telling {
    run *r;
    const char *question;
    bool partial; /* of a segment no frame could be read */
} telling;

static int no_memory(void)
{
    report_error("no memory");
    return EXIT_FAILED;
}

/* Which segment a time belongs to, from 0. A time at the border, as far as doubles tell, is the
 * later one's: 0.3 s is in the fourth 0.1 s, though 0.3 / 0.1 is below 3. */
static double number_of(double seconds, double every)
{
    return floor(seconds / every + 1e-9);
}

/* "0:01:10", or "0:01:10.5" where it is no whole second. */
static void format_time(char *out, size_t size, double seconds)
{
    uint64_t milliseconds = (uint64_t)llrint(seconds * 1000);
    uint64_t whole = milliseconds / 1000;
    int used = snprintf(out, size, "%" PRIu64 ":%02u:%02u", whole / 3600,
                        (unsigned)(whole / 60 % 60), (unsigned)(whole % 60));
    unsigned rest = (unsigned)(milliseconds % 1000);
    if (rest > 0 && used > 0 && (size_t)used + 5 <= size) {
        snprintf(out + used, size - (size_t)used, ".%03u", rest);
        for (size_t i = strlen(out); out[i - 1] == '0'; i--) {
            out[i - 1] = '\0';
        }
    }
}

/* ---- one segment --------------------------------------------------------------------------- */

static cJSON *segment_json(const telling *t, const medium *m, double start, double end)
{
    cJSON *object = cJSON_CreateObject();
    json_text(object, "video", m->name);
    json_seconds(object, "start", start);
    json_seconds(object, "end", end);
    json_text(object, "question", t->question);
    return object;
}

static int answer_segment(telling *t, const medium *m, double start, double end, const char *prefix)
{
    run *r = t->r;
    answer a;
    int code = run_answer(r, prefix, false, m, 1, &a);
    if (code != EXIT_DONE) {
        return code;
    }
    if (r->options->json) {
        cJSON *object = segment_json(t, m, start, end);
        json_text(object, "text", ocelli_session_answer(r->session));
        json_count(object, "frames", m->frame_count);
        json_count(object, "tokens", a.result.new_tokens);
        json_count(object, "prompt_tokens", a.result.prompt_tokens);
        json_count(object, "image_tokens", a.image_tokens);
        json_text(object, "finish_reason", ocelli_stop_name(a.result.stop));
        if (!output_json(object)) {
            return EXIT_FAILED;
        }
    }
    if (r->options->timings) {
        run_timings(r, &a);
    }
    return EXIT_DONE;
}

/* Asks about the segment that m is, and lets its conversation go. */
static int tell(telling *t, const medium *m, double start, double end)
{
    char prefix[100], from[40], to[40];
    format_time(from, sizeof from, start);
    format_time(to, sizeof to, end);
    int code = run_add(t->r, m, 1, t->question);
    if (code == EXIT_DONE && t->r->options->dry_run) {
        if (!t->r->options->json) {
            output_format("segment      %s-%s\n", from, to);
        }
        code = dry_run_print(t->r, m, 1, t->question);
    } else if (code == EXIT_DONE) {
        snprintf(prefix, sizeof prefix, "[%s-%s] ", from, to);
        code = answer_segment(t, m, start, end, prefix);
    }
    run_restart(t->r);
    return code;
}

/* No frame of a segment could be read: each was reported. */
static int tell_nothing(telling *t, const medium *m, double start, double end)
{
    char from[40], to[40];
    const char *why = "none of its frames could be read";
    format_time(from, sizeof from, start);
    format_time(to, sizeof to, end);
    report_error("'%s', %s-%s: %s", m->name, from, to, why);
    t->partial = true;
    if (t->r->options->json && !t->r->options->dry_run) {
        cJSON *object = segment_json(t, m, start, end);
        json_text(object, "error", why);
        return output_json(object) ? EXIT_DONE : EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* The next chosen frames that s gives are a segment, out of found frames. */
static int make_and_tell(telling *t, clip_source *s, size_t chosen, size_t found, double start,
                         double end)
{
    clip c;
    medium m;
    int code = clip_begin(&c, t->r, &m, s->path, chosen, found, s->fps);
    m.fps_assumed = s->fps_assumed;
    m.fps_mean = s->times_given || s->kind != CLIP_FOLDER;
    if (code == EXIT_DONE) {
        code = clip_add_chosen(&c, s, chosen);
    }
    if (code == EXIT_DONE && m.frame_count == 0) {
        progress_end();
        code = tell_nothing(t, &m, start, end);
        clip_end(&c, EXIT_FAILED); /* nothing to encode */
        return code;
    }
    code = clip_end(&c, code);
    if (code == EXIT_DONE) {
        code = tell(t, &m, start, end);
        medium_free(&m);
    }
    return code;
}

/* ---- a clip that is all there -------------------------------------------------------------- */

/* Frames [first, ..) that lie in one segment: how many. */
static size_t segment_length(const clip_source *s, size_t first, double every)
{
    double number = number_of(s->seconds[first], every);
    size_t end = first + 1;
    while (end < s->count && number_of(s->seconds[end], every) == number) {
        end++;
    }
    return end - first;
}

/* Chooses the frames of all segments, since a video is read once from end to end: indices [s->count],
 * counts [s->count] of each segment in order. */
static int choose_all(telling *t, const clip_source *s, size_t *indices, size_t *counts,
                      size_t *total)
{
    size_t segment = 0;
    *total = 0;
    for (size_t first = 0; first < s->count; segment++) {
        size_t length = segment_length(s, first, t->r->options->every);
        int code = clip_source_choose(s, t->r, first, length, indices + *total, &counts[segment]);
        if (code != EXIT_DONE) {
            return code;
        }
        *total += counts[segment];
        first += length;
    }
    return EXIT_DONE;
}

static int tell_all(telling *t, clip_source *s, const size_t *counts)
{
    double every = t->r->options->every;
    size_t segment = 0;
    int code = EXIT_DONE;
    for (size_t first = 0; code == EXIT_DONE && first < s->count; segment++) {
        size_t length = segment_length(s, first, every);
        double number = number_of(s->seconds[first], every);
        double end = (number + 1) * every;
        code = make_and_tell(t, s, counts[segment], length, number * every,
                             end < s->end ? end : s->end);
        first += length;
    }
    return code;
}

static int tell_clip(telling *t, const char *path)
{
    run *r = t->r;
    clip_source source;
    size_t total = 0;
    int code =
        clip_source_open(&source, r->options, path, r->options->fps, !r->options->given[FLAG_FPS]);
    if (code != EXIT_DONE) {
        return code;
    }
    size_t *indices = calloc(source.count, sizeof *indices);
    size_t *counts = calloc(source.count, sizeof *counts);
    code = indices == NULL || counts == NULL ? no_memory() : run_open(r);
    if (code == EXIT_DONE) {
        code = choose_all(t, &source, indices, counts, &total);
    }
    if (code == EXIT_DONE) {
        code = clip_source_begin(&source, r->options, indices, total);
    }
    if (code == EXIT_DONE) {
        if (source.fps_assumed && !r->options->dry_run) {
            report_note("taking the frames as %g a second (--fps says otherwise)", source.fps);
        }
        code = tell_all(t, &source, counts);
    }
    free(indices);
    free(counts);
    clip_source_close(&source);
    return code;
}

/* ---- a folder that grows ------------------------------------------------------------------- */

/* The frames of the segment that is being filled: a folder's source that holds only them. */
typedef struct filling {
    clip_source s;
    size_t room;
    size_t taken; /* frames so far, of all segments */
} filling;

static bool add_name(filling *f, const char *name)
{
    clip_source *s = &f->s;
    if (s->count == f->room) {
        size_t more = f->room == 0 ? 64 : f->room * 2;
        char **names = realloc(s->folder.names, more * sizeof *names);
        if (names == NULL) {
            return false;
        }
        s->folder.names = names;
        double *seconds = realloc(s->seconds, more * sizeof *seconds);
        if (seconds == NULL) {
            return false;
        }
        s->seconds = seconds;
        f->room = more;
    }
    char *copy = text_copy(name);
    if (copy == NULL) {
        return false;
    }
    s->folder.names[s->count] = copy;
    s->seconds[s->count++] = (double)f->taken++ / s->fps;
    s->folder.count = s->count;
    return true;
}

/* end: of the segment. */
static int tell_filled(telling *t, filling *f, double end)
{
    clip_source *s = &f->s;
    double every = t->r->options->every;
    size_t chosen = 0;
    size_t *indices = calloc(s->count, sizeof *indices);
    int code = indices == NULL ? no_memory() : run_open(t->r);
    if (code == EXIT_DONE) {
        code = clip_source_choose(s, t->r, 0, s->count, indices, &chosen);
    }
    if (code == EXIT_DONE) {
        code = clip_source_begin(s, t->r->options, indices, chosen);
    }
    if (code == EXIT_DONE) {
        code = make_and_tell(t, s, chosen, s->count, number_of(s->seconds[0], every) * every, end);
    }
    free(indices);
    for (size_t i = 0; i < s->count; i++) {
        free(s->folder.names[i]);
    }
    s->count = 0;
    s->folder.count = 0;
    return code;
}

static int fill_and_tell(telling *t, folder_watch *watch, filling *f)
{
    const cli_options *options = t->r->options;
    for (;;) {
        const char *name = NULL;
        int code = folder_watch_next(watch, options->follow_idle, &name);
        if (code != EXIT_DONE) {
            return code;
        }
        if (name == NULL) { /* nothing more comes */
            double end = (double)f->taken / f->s.fps;
            return f->s.count > 0 ? tell_filled(t, f, end) : EXIT_DONE;
        }
        if (!add_name(f, name)) {
            return no_memory();
        }
        /* Full when the frame to come belongs to the next one. */
        double number = number_of(f->s.seconds[f->s.count - 1], options->every);
        if (number_of((double)f->taken / f->s.fps, options->every) > number) {
            code = tell_filled(t, f, (number + 1) * options->every);
        }
        if (code != EXIT_DONE) {
            return code;
        }
    }
}

static int follow(telling *t, const char *path)
{
    const cli_options *options = t->r->options;
    folder_watch watch;
    filling f;
    memset(&f, 0, sizeof f);
    int code = folder_watch_open(&watch, path);
    if (code != EXIT_DONE) {
        return code;
    }
    f.s.kind = CLIP_FOLDER;
    f.s.path = text_copy(path);
    f.s.fps = options->fps;
    f.s.fps_assumed = !options->given[FLAG_FPS];
    code = f.s.path == NULL ? no_memory() : run_open(t->r);
    if (code == EXIT_DONE) {
        if (f.s.fps_assumed) {
            report_note("taking the frames as %g a second (--fps says otherwise)", f.s.fps);
        }
        code = fill_and_tell(t, &watch, &f);
    }
    clip_source_close(&f.s);
    folder_watch_close(&watch);
    return code;
}

int video_segments(run *r, const char *path, const char *question)
{
    telling t = {.r = r, .question = question};
    int code = r->options->follow ? follow(&t, path) : tell_clip(&t, path);
    return code == EXIT_DONE && t.partial ? EXIT_PARTIAL : code;
}
