/* visual.c - pixels to visual rows: size rule, resize, patches, tower. */
#include "runtime/visual.h"

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/options.h"
#include "vision/frames.h"
#include "vision/image.h"
#include "vision/resize.h"

#include <math.h>
#include <string.h>

ocelli_visual *oc_visual_retain(const ocelli_visual *visual)
{
    ocelli_visual *own = (ocelli_visual *)(uintptr_t)visual;
    atomic_fetch_add(&own->references, 1);
    return own;
}

void ocelli_visual_free(ocelli_visual *visual)
{
    if (visual != NULL && atomic_fetch_sub(&visual->references, 1) == 1) {
        oc_free(visual->rows);
        oc_free(visual->taps);
        oc_free(visual->timestamps);
        oc_free(visual->times);
        oc_free(visual);
    }
}

/* The checkpoint's bounds with the caller's over them. */
static ocelli_status choose_rule(oc_size_rule *rule, const oc_size_rule *checkpoint,
                                 const ocelli_visual_options *options, ocelli_error *err)
{
    static const uint64_t most = UINT64_C(1) << 40;
    *rule = *checkpoint;
    if (options->min_pixels > most || options->max_pixels > most) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "min_pixels and max_pixels must be at most %llu",
                       (unsigned long long)most);
    }
    rule->min_pixels = options->min_pixels != 0 ? options->min_pixels : rule->min_pixels;
    rule->max_pixels = options->max_pixels != 0 ? options->max_pixels : rule->max_pixels;
    /* One bound alone moves the other out of its way; two that contradict are refused. */
    if (rule->min_pixels > rule->max_pixels) {
        if (options->min_pixels != 0 && options->max_pixels != 0) {
            return oc_fail(err, OCELLI_E_ARGUMENT, "min_pixels %llu is above max_pixels %llu",
                           (unsigned long long)rule->min_pixels,
                           (unsigned long long)rule->max_pixels);
        }
        if (options->min_pixels != 0) {
            rule->max_pixels = rule->min_pixels;
        } else {
            rule->min_pixels = rule->max_pixels;
        }
    }
    return OCELLI_OK;
}

static oc_hash identity_of(const ocelli_image *const *frames, size_t count, int width, int height,
                           bool video)
{
    /* Frames' hashes are chained, so that order counts. */
    struct {
        oc_hash chain, frame;
        int64_t width, height, video;
    } link;
    memset(&link, 0, sizeof link);
    link.width = width;
    link.height = height;
    link.video = video;
    for (size_t i = 0; i < count; i++) {
        link.frame = oc_image_hash(frames[i]);
        link.chain = oc_hash_bytes(&link, sizeof link);
    }
    return link.chain;
}

/* A visual with everything but its rows. */
static ocelli_status plan(ocelli_visual **out, const ocelli_model *model,
                          const ocelli_image *const *frames, size_t count, bool video, int width,
                          int height, ocelli_error *err)
{
    const oc_vit_config *vit = &model->config.vit;
    size_t patch = (size_t)vit->patch.patch_size, temporal = (size_t)vit->patch.temporal_patch_size;
    ocelli_visual *visual = oc_alloc(1, sizeof *visual);
    if (visual == NULL) {
        return oc_fail_memory(err, "a picture");
    }
    atomic_init(&visual->references, 1);
    visual->source_width = frames[0]->width;
    visual->source_height = frames[0]->height;
    visual->width = width;
    visual->height = height;
    visual->frames = count;
    visual->medium = (oc_medium){.video = video,
                                 .grid_t = (count + temporal - 1) / temporal,
                                 .grid_h = (size_t)height / patch,
                                 .grid_w = (size_t)width / patch,
                                 .merge_size = (size_t)vit->patch.merge_size,
                                 .identity = identity_of(frames, count, width, height, video),
                                 .tap_count = vit->tap_count,
                                 .width = vit->out_hidden};
    visual->tokens = oc_medium_tokens(&visual->medium);
    *out = visual;
    return OCELLI_OK;
}

/* Seconds from one temporal group to the next: of what the caller says, or of the frames' times. A
 * single group is at 0 whatever it is. */
static ocelli_status group_seconds(double *out, const oc_config *config, const double *seconds,
                                   size_t count, double fps, ocelli_error *err)
{
    double temporal = config->vit.patch.temporal_patch_size;
    *out = 1;
    if (fps != 0 && !(fps > 0 && fps < HUGE_VAL)) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "frames_per_second: %g is neither 0 nor a number above 0", fps);
    }
    if (fps != 0) {
        *out = temporal / fps;
    } else if (count > 1) {
        *out = temporal * (seconds[count - 1] - seconds[0]) / (double)(count - 1);
    }
    return OCELLI_OK;
}

/* When the temporal groups of a clip are: seconds for the text, places on the time axis. */
static ocelli_status plan_times(ocelli_visual *visual, const oc_config *config,
                                const double *seconds, double fps, ocelli_error *err)
{
    oc_medium *medium = &visual->medium;
    double step;
    visual->timestamps = oc_alloc(medium->grid_t + 1, sizeof *visual->timestamps);
    if (visual->timestamps == NULL) {
        return oc_fail_memory(err, "a clip");
    }
    oc_frames_timestamps(seconds, visual->frames, visual->timestamps);
    medium->timestamps = visual->timestamps;
    OC_TRY(group_seconds(&step, config, seconds, visual->frames, fps, err));
    OC_TRY(oc_config_clip_times(&visual->times, config, medium->grid_t, step, err));
    medium->times = visual->times;
    if (visual->times != NULL) { /* the same frames at other times are another clip */
        struct {
            oc_hash pixels, times;
        } link = {medium->identity,
                  oc_hash_bytes(visual->times, medium->grid_t * sizeof *visual->times)};
        medium->identity = oc_hash_bytes(&link, sizeof link);
    }
    return OCELLI_OK;
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

/* How far the tower has come, told block by block. */
typedef struct watch {
    ocelli_progress_fn progress;
    void *user;
    uint64_t done, total; /* blocks of the tower, over all temporal groups */
    bool stopped;
} watch;

static void watch_block(void *user, const char *name, const float *rows, size_t count, size_t width)
{
    watch *w = user;
    (void)rows;
    (void)count;
    (void)width;
    if (strncmp(name, "block_", 6) == 0) {
        w->done++;
        w->stopped = w->progress(w->user, "looking", w->done, w->total) != 0 || w->stopped;
    }
}

/* Encodes temporal group after temporal group; what each needs is given back before the next. */
static ocelli_status encode_groups(ocelli_visual *visual, ocelli_model *model,
                                   const ocelli_image *const *frames, uint8_t *room, watch *w,
                                   ocelli_error *err)
{
    enum { MOST_TEMPORAL = 16 };
    const uint8_t *fitted[MOST_TEMPORAL];
    const oc_medium *medium = &visual->medium;
    size_t temporal = (size_t)model->config.vit.patch.temporal_patch_size;
    size_t frame_bytes = (size_t)visual->width * (size_t)visual->height * 3;
    size_t group_values = oc_medium_pair_tokens(medium) * medium->width;
    const oc_trace trace = {
        .fn = w->progress != NULL ? watch_block : NULL, .user = w, .names_only = true};
    w->total = (uint64_t)medium->grid_t * model->config.vit.layers;
    for (size_t group = 0; group < medium->grid_t; group++) {
        for (size_t i = 0; i < temporal; i++) {
            size_t index = group * temporal + i;
            size_t last = visual->frames - 1; /* repeated when the count is odd */
            if (index > last && i > 0) {
                fitted[i] = fitted[i - 1];
                continue;
            }
            OC_TRY(fit(&fitted[i], room + i * frame_bytes, visual,
                       frames[index < last ? index : last], model->pool, err));
        }
        oc_vit_input input = {.frames = fitted, .grid_h = medium->grid_h, .grid_w = medium->grid_w};
        OC_TRY(oc_vit_encode(model->vit, &model->compute, &model->scratch, &input,
                             visual->rows + group * group_values,
                             visual->taps + group * group_values, visual->tokens * medium->width,
                             &trace, err));
        if (w->stopped) {
            return oc_fail(err, OCELLI_E_CANCELLED, "stopped while looking at a %s",
                           medium->video ? "clip" : "picture");
        }
    }
    return OCELLI_OK;
}

static ocelli_status encode(ocelli_visual *visual, ocelli_model *model,
                            const ocelli_image *const *frames, const ocelli_visual_options *options,
                            ocelli_error *err)
{
    oc_medium *medium = &visual->medium;
    watch w = {.progress = options->progress, .user = options->progress_user};
    size_t scratch, values, pixels;
    double begin = oc_clock_seconds();
    if (!oc_model_vision_scratch(model, medium->grid_h, medium->grid_w, &scratch) ||
        !oc_size_mul(visual->tokens, medium->width, &values) ||
        !oc_size_mul((size_t)visual->width * 3, (size_t)visual->height, &pixels) ||
        !oc_size_mul(pixels, (size_t)model->config.vit.patch.temporal_patch_size, &pixels)) {
        return oc_fail(err, OCELLI_E_LIMIT, "a picture of %d x %d is too large", visual->width,
                       visual->height);
    }
    bool resized = false;
    for (size_t i = 0; i < visual->frames; i++) {
        resized =
            resized || frames[i]->width != visual->width || frames[i]->height != visual->height;
    }
    uint8_t *room = oc_alloc_raw(resized ? pixels : 1, 1);
    visual->rows = oc_alloc_raw(values, sizeof *visual->rows);
    visual->taps = oc_alloc_raw(medium->tap_count, values * sizeof *visual->taps);
    ocelli_status status;
    if (room == NULL || visual->rows == NULL || visual->taps == NULL) {
        status =
            oc_fail(err, OCELLI_E_MEMORY,
                    "not enough memory for a picture of %d x %d (%zu tokens); lower max_pixels",
                    visual->width, visual->height, visual->tokens);
    } else {
        status = oc_model_begin(model, scratch, "the vision tower (lower max_pixels)", err);
    }
    if (status == OCELLI_OK) {
        status = encode_groups(visual, model, frames, room, &w, err);
        oc_model_end(model);
    }
    oc_free(room);
    medium->rows = visual->rows;
    medium->taps = visual->taps;
    medium->tap_stride = values;
    visual->encode_seconds = oc_clock_seconds() - begin;
    return status;
}

/* Plans, then encodes unless only a plan is wanted. Takes the visual over on failure. */
static ocelli_status finish(ocelli_visual **out, ocelli_visual *visual, ocelli_model *model,
                            const ocelli_image *const *frames, const ocelli_visual_options *options,
                            ocelli_error *err)
{
    if (!options->plan_only) {
        ocelli_status status = oc_model_check_computes(model, "encoding a picture", err);
        if (status == OCELLI_OK) {
            status = encode(visual, model, frames, options, err);
        }
        if (status != OCELLI_OK) {
            ocelli_visual_free(visual);
            return status;
        }
    }
    *out = visual;
    return OCELLI_OK;
}

ocelli_status ocelli_encode_image(ocelli_visual **out, ocelli_model *model,
                                  const ocelli_image *image, const ocelli_visual_options *given,
                                  ocelli_error *err)
{
    if (out == NULL || model == NULL || image == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_encode_image: out, model and image are needed");
    }
    *out = NULL;
    OC_TRY(oc_model_check_sees(model, err));
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    oc_options_read(&options, sizeof options, given);
    oc_size_rule rule;
    int width, height;
    ocelli_visual *visual;
    OC_TRY(choose_rule(&rule, &model->config.image_size, &options, err));
    OC_TRY(oc_smart_size_image(&rule, image->height, image->width, &height, &width, err));
    OC_TRY(plan(&visual, model, &image, 1, false, width, height, err));
    return finish(out, visual, model, &image, &options, err);
}

ocelli_status ocelli_encode_video(ocelli_visual **out, ocelli_model *model,
                                  const ocelli_image *const *frames, const double *seconds,
                                  size_t count, const ocelli_visual_options *given,
                                  ocelli_error *err)
{
    if (out == NULL || model == NULL || frames == NULL || seconds == NULL || count == 0) {
        return oc_fail(
            err, OCELLI_E_ARGUMENT,
            "ocelli_encode_video: out, model, frames and seconds are needed, and at least "
            "one frame");
    }
    *out = NULL;
    OC_TRY(oc_model_check_sees(model, err));
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    oc_options_read(&options, sizeof options, given);
    for (size_t i = 0; i < count; i++) {
        if (frames[i] == NULL || !(fabs(seconds[i]) <= 1e12)) {
            return oc_fail(err, OCELLI_E_ARGUMENT, "frame %zu has no pixels or no finite time", i);
        }
    }
    oc_size_rule rule;
    int width, height;
    ocelli_visual *visual;
    OC_TRY(choose_rule(&rule, &model->config.video_size, &options, err));
    OC_TRY(oc_smart_size_video(&rule, count, frames[0]->height, frames[0]->width, &height, &width,
                               err));
    OC_TRY(plan(&visual, model, frames, count, true, width, height, err));
    ocelli_status status =
        plan_times(visual, &model->config, seconds, options.frames_per_second, err);
    if (status != OCELLI_OK) {
        ocelli_visual_free(visual);
        return status;
    }
    return finish(out, visual, model, frames, &options, err);
}

ocelli_status ocelli_sample_frames(const ocelli_model *model, size_t total,
                                   const ocelli_sample_options *given, size_t *indices, size_t room,
                                   size_t *count, ocelli_error *err)
{
    if (model == NULL || indices == NULL || count == NULL || room < total) {
        return oc_fail(
            err, OCELLI_E_ARGUMENT,
            "ocelli_sample_frames: model, indices and count are needed, and room for all "
            "frames");
    }
    *count = 0;
    OC_TRY(oc_model_check_sees(model, err));
    ocelli_sample_options options = OCELLI_SAMPLE_OPTIONS_INIT;
    oc_options_read(&options, sizeof options, given);
    oc_frame_rule rule = {
        .source_fps = options.source_fps,
        .sample_fps = options.sample_fps,
        .frame_count = options.frame_count,
        .even = model->config.even_frames,
        .min_frames = options.min_frames != 0 ? options.min_frames : model->config.min_frames,
        .max_frames = options.max_frames != 0 ? options.max_frames : model->config.max_frames};
    if (options.max_frames != 0 && options.min_frames == 0 && rule.min_frames > rule.max_frames) {
        rule.min_frames = rule.max_frames;
    }
    return oc_frames_sample(&rule, total, indices, count, err);
}

void ocelli_visual_describe(const ocelli_visual *visual, ocelli_visual_info *info)
{
    const oc_medium *medium = &visual->medium;
    ocelli_visual_info own = {.is_video = medium->video,
                              .encoded = visual->rows != NULL,
                              .source_width = visual->source_width,
                              .source_height = visual->source_height,
                              .width = visual->width,
                              .height = visual->height,
                              .grid_t = medium->grid_t,
                              .grid_h = medium->grid_h,
                              .grid_w = medium->grid_w,
                              .tokens = visual->tokens,
                              .frames = visual->frames,
                              .timestamps = visual->timestamps,
                              .encode_seconds = visual->encode_seconds};
    oc_result_write(info, &own, sizeof own);
}

const float *ocelli_visual_rows(const ocelli_visual *visual, size_t *tokens, size_t *width)
{
    if (tokens != NULL) {
        *tokens = visual->rows != NULL ? visual->tokens : 0;
    }
    if (width != NULL) {
        *width = visual->medium.width;
    }
    return visual->rows;
}
