/* visual_encode.c - see visual_encode.h. Read oc_visual_encode first. */
#include "runtime/visual_encode.h"

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/visual_cache.h"
#include "vision/image.h"
#include "vision/resize.h"

#include <string.h>

/* ---- the tower ----------------------------------------------------------------------------- */

/* How far the tower has come, told block by block. */
typedef struct watch {
    ocelli_progress_fn progress; /* NULL: none */
    void *user;
    uint64_t done, total; /* blocks of the tower, over all temporal groups of all jobs */
    size_t groups;        /* in the pass being made */
    bool stopped;
} watch;

static void watch_block(void *user, const char *name, const float *rows, size_t count, size_t width)
{
    watch *w = user;
    (void)rows;
    (void)count;
    (void)width;
    if (strncmp(name, "block_", 6) == 0) {
        w->done += w->groups;
        w->stopped = w->progress(w->user, "looking", w->done, w->total) != 0 || w->stopped;
    }
}

/* The pixels of one frame at the visual's size: its own, or resized into room. */
static ocelli_status fit(const uint8_t **out, uint8_t *room, const ocelli_visual *visual,
                         const ocelli_image *frame, oc_pool *pool, ocelli_error *err)
{
    if (frame->width == visual->width && frame->height == visual->height) {
        *out = frame->rgb;
        return OCELLI_OK;
    }
    *out = room;
    return oc_resize(room, visual->width, visual->height, frame, pool, err);
}

/* Jobs of one size going through the tower, some temporal groups at a time. */
typedef struct tour {
    oc_visual_job *const *jobs; /* [count]; a clip is alone, a picture is one temporal group */
    size_t count;
    size_t groups;          /* of all jobs */
    size_t together;        /* in a pass */
    size_t temporal;        /* frames of a group */
    size_t group_values;    /* of a group's visual rows, and of each tap's */
    size_t frame_bytes;     /* of a resized frame */
    const uint8_t **fitted; /* [together * temporal] */
    uint8_t *room;          /* [together * temporal * frame_bytes], where a frame is resized */
    float *made;            /* [1 + taps, together * group_values], where a pass has several */
    size_t scratch;
} tour;

static bool is_resized(const tour *t)
{
    for (size_t j = 0; j < t->count; j++) {
        const ocelli_visual *visual = t->jobs[j]->visual;
        for (size_t i = 0; i < visual->frames; i++) {
            const ocelli_image *frame = t->jobs[j]->frames[i];
            if (frame->width != visual->width || frame->height != visual->height) {
                return true;
            }
        }
    }
    return false;
}

static const oc_medium *medium_of(const tour *t)
{
    return &t->jobs[0]->visual->medium;
}

/* Sizes, then memory: rows of every job, and what a pass needs. */
static ocelli_status make_room(tour *t, const ocelli_model *model, ocelli_error *err)
{
    const ocelli_visual *first = t->jobs[0]->visual;
    const oc_medium *medium = &first->medium;
    size_t frames = t->together * t->temporal, values, bytes, pixels;
    if (!oc_model_vision_scratch(model, t->together, medium->grid_h, medium->grid_w, &t->scratch) ||
        !oc_size_mul(first->tokens, medium->width, &values) ||
        !oc_size_mul(values, (1 + medium->tap_count) * sizeof(float), &bytes) ||
        !oc_size_mul((size_t)first->width * 3, (size_t)first->height, &t->frame_bytes) ||
        !oc_size_mul(t->frame_bytes, frames, &pixels)) {
        return oc_fail(err, OCELLI_E_LIMIT, "a picture of %d x %d is too large", first->width,
                       first->height);
    }
    t->group_values = oc_medium_pair_tokens(medium) * medium->width;
    size_t made = t->together > 1 ? t->together * t->group_values : 0; /* less than all rows */
    t->fitted = oc_alloc(frames, sizeof(const uint8_t *));
    t->room = oc_alloc_raw(is_resized(t) ? pixels : 1, 1);
    t->made = oc_alloc_raw(made, (1 + medium->tap_count) * sizeof *t->made);
    bool fits = t->fitted != NULL && t->room != NULL && t->made != NULL;
    for (size_t j = 0; j < t->count && fits; j++) {
        t->jobs[j]->visual->rows = oc_visual_rows_new(bytes);
        fits = t->jobs[j]->visual->rows != NULL;
    }
    return fits ? OCELLI_OK
                : oc_fail(err, OCELLI_E_MEMORY,
                          "not enough memory for a picture of %d x %d (%zu tokens); lower "
                          "max_pixels",
                          first->width, first->height, first->tokens);
}

/* The job that temporal group `group` of the tour is of, and which of its groups it is. */
static const oc_visual_job *find_group(const tour *t, size_t group, size_t *own)
{
    size_t of_each = medium_of(t)->grid_t;
    *own = group % of_each;
    return t->jobs[group / of_each];
}

/* The frames of `count` groups from `begin` on, at the visuals' size. */
static ocelli_status fit_groups(const tour *t, size_t begin, size_t count, oc_pool *pool,
                                ocelli_error *err)
{
    for (size_t i = 0; i < count * t->temporal; i++) {
        size_t own, in_group = i % t->temporal;
        const oc_visual_job *job = find_group(t, begin + i / t->temporal, &own);
        size_t index = own * t->temporal + in_group;
        size_t last = job->visual->frames - 1; /* repeated when the count is odd */
        if (index > last && in_group > 0) {
            t->fitted[i] = t->fitted[i - 1];
            continue;
        }
        OC_TRY(fit(&t->fitted[i], t->room + i * t->frame_bytes, job->visual,
                   job->frames[index < last ? index : last], pool, err));
    }
    return OCELLI_OK;
}

/* Where a group's rows belong: its tap k's are at + (k + 1) * *stride. */
static float *place_of(const tour *t, size_t group, size_t *stride)
{
    size_t own;
    const ocelli_visual *visual = find_group(t, group, &own)->visual;
    *stride = visual->tokens * visual->medium.width;
    return visual->rows->values + own * t->group_values;
}

/* One pass of the tower: `count` groups from `begin` on. */
static ocelli_status run_pass(const tour *t, size_t begin, size_t count, ocelli_model *model,
                              watch *w, ocelli_error *err)
{
    const oc_medium *medium = medium_of(t);
    const oc_trace trace = {.fn = w->progress != NULL ? watch_block : NULL,
                            .user = w,
                            .names_only = true,
                            .stop = &w->stopped};
    size_t stride, made = count * t->group_values;
    OC_TRY(fit_groups(t, begin, count, model->pool, err));
    oc_vit_input input = {
        .frames = t->fitted, .groups = count, .grid_h = medium->grid_h, .grid_w = medium->grid_w};
    float *rows = t->made;
    w->groups = count;
    if (t->together == 1) { /* straight to where they belong */
        rows = place_of(t, begin, &stride);
        made = stride;
    }
    ocelli_status status = oc_vit_encode(model->vit, &model->compute, &model->scratch, &input, rows,
                                         rows + made, made, &trace, err);
    if (status == OCELLI_E_CANCELLED) {
        return oc_fail(err, status, "stopped while looking at a %s",
                       medium->video ? "clip" : "picture");
    }
    OC_TRY(status);
    for (size_t i = 0; i < count && t->together > 1; i++) {
        float *out = place_of(t, begin + i, &stride);
        for (size_t k = 0; k <= medium->tap_count; k++) {
            memcpy(out + k * stride, rows + k * made + i * t->group_values,
                   t->group_values * sizeof *out);
        }
    }
    return OCELLI_OK;
}

/* Rows of the visual, shown to fusion. */
static void show_rows(ocelli_visual *visual)
{
    oc_medium *medium = &visual->medium;
    medium->tap_stride = visual->tokens * medium->width;
    medium->rows = visual->rows->values;
    medium->taps = visual->rows->values + medium->tap_stride;
}

static ocelli_status run_passes(const tour *t, ocelli_model *model, watch *w, ocelli_error *err)
{
    OC_TRY(oc_model_begin(model, t->scratch, "the vision tower (lower max_pixels)", err));
    ocelli_status status = OCELLI_OK;
    for (size_t begin = 0; begin < t->groups && status == OCELLI_OK; begin += t->together) {
        size_t left = t->groups - begin;
        status = run_pass(t, begin, left < t->together ? left : t->together, model, w, err);
    }
    oc_model_end(model);
    return status;
}

/* Runs the tower for jobs [count], all of one size. What came of it is timed in even parts. */
static ocelli_status encode_group(oc_visual_job *const *jobs, size_t count, ocelli_model *model,
                                  watch *w, ocelli_error *err)
{
    double begin = oc_clock_seconds();
    tour t = {.jobs = jobs,
              .count = count,
              .temporal = (size_t)model->config.vit.patch.temporal_patch_size};
    t.groups = count * medium_of(&t)->grid_t;
    t.together = oc_visual_together(model, medium_of(&t), t.groups);
    ocelli_status status = make_room(&t, model, err);
    if (status == OCELLI_OK) {
        status = run_passes(&t, model, w, err);
    }
    oc_free(t.fitted);
    oc_free(t.room);
    oc_free(t.made);
    for (size_t j = 0; j < count && status == OCELLI_OK; j++) {
        show_rows(jobs[j]->visual);
        jobs[j]->visual->encode_seconds = (oc_clock_seconds() - begin) / (double)count;
    }
    return status;
}

/* ---- the cache ----------------------------------------------------------------------------- */

static ocelli_status ask_cache(oc_visual_job *job, ocelli_model *model, ocelli_visual_cache *cache,
                               ocelli_error *err)
{
    ocelli_visual *visual = job->visual;
    double begin = oc_clock_seconds();
    OC_TRY(oc_visual_key_make(&job->key, visual, model, oc_visual_cache_is_lasting(cache), err));
    visual->rows = oc_visual_cache_find(cache, &job->key, &visual->hit);
    if (visual->rows != NULL) {
        show_rows(visual);
    }
    visual->cache_seconds += oc_clock_seconds() - begin;
    return OCELLI_OK;
}

static void tell_cache(const oc_visual_job *job, ocelli_visual_cache *cache)
{
    double begin = oc_clock_seconds();
    oc_visual_cache_keep(cache, &job->key, job->visual->rows);
    job->visual->cache_seconds += oc_clock_seconds() - begin;
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* The same pixels at the same size, earlier in the list; NULL: none. */
static const ocelli_visual *find_twin(const oc_visual_job *jobs, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (oc_hash_equal(jobs[i].visual->pixels, jobs[index].visual->pixels)) {
            return jobs[i].visual;
        }
    }
    return NULL;
}

/* Writes to wanted [count] the jobs that the tower has to do, one of each picture. */
static size_t choose_wanted(oc_visual_job **wanted, oc_visual_job *jobs, size_t count)
{
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].visual->rows == NULL && find_twin(jobs, i) == NULL) {
            wanted[chosen++] = &jobs[i];
        }
    }
    return chosen;
}

/* Moves to the front of jobs [count] those that go through the tower with the first: pictures of its
 * size; a clip goes alone. Returns how many. */
static size_t gather_group(oc_visual_job **jobs, size_t count)
{
    const ocelli_visual *first = jobs[0]->visual;
    size_t size = 1;
    for (size_t i = 1; i < count && !first->medium.video; i++) {
        const ocelli_visual *visual = jobs[i]->visual;
        if (!visual->medium.video && visual->width == first->width &&
            visual->height == first->height) {
            oc_visual_job *job = jobs[i];
            jobs[i] = jobs[size];
            jobs[size++] = job;
        }
    }
    return size;
}

static ocelli_status encode_wanted(oc_visual_job **wanted, size_t count, ocelli_model *model,
                                   const ocelli_visual_options *options, ocelli_error *err)
{
    watch w = {.progress = options->progress, .user = options->progress_user};
    for (size_t i = 0; i < count; i++) {
        w.total += (uint64_t)wanted[i]->visual->medium.grid_t * model->config.vit.layers;
    }
    for (size_t first = 0; first < count;) {
        size_t size = gather_group(wanted + first, count - first);
        OC_TRY(encode_group(wanted + first, size, model, &w, err));
        for (size_t i = first; i < first + size && options->cache != NULL; i++) {
            tell_cache(wanted[i], options->cache);
        }
        first += size;
    }
    return OCELLI_OK;
}

/* What came twice is shown the rows of the first. */
static void share_rows(const oc_visual_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ocelli_visual *visual = jobs[i].visual;
        if (visual->rows == NULL) {
            visual->rows = oc_visual_rows_retain(find_twin(jobs, i)->rows);
            visual->hit = OCELLI_HIT_MEMORY;
            show_rows(visual);
        }
    }
}

ocelli_status oc_visual_encode(oc_visual_job *jobs, size_t count, ocelli_model *model,
                               const ocelli_visual_options *options, ocelli_error *err)
{
    if (options->plan_only) {
        return OCELLI_OK;
    }
    OC_TRY(oc_model_check_computes(model, "encoding a picture", err));
    for (size_t i = 0; i < count && options->cache != NULL; i++) {
        OC_TRY(ask_cache(&jobs[i], model, options->cache, err));
    }
    oc_visual_job **wanted = oc_alloc(count, sizeof *wanted);
    if (wanted == NULL) {
        return oc_fail_memory(err, "pictures");
    }
    ocelli_status status =
        encode_wanted(wanted, choose_wanted(wanted, jobs, count), model, options, err);
    oc_free(wanted);
    if (status == OCELLI_OK) {
        share_rows(jobs, count);
    }
    return status;
}
