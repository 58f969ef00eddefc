/* visual_clip.c - a clip to a planned visual: which frames, how large, and when they are;
 * visual_encode.c makes the rows. */
#include "runtime/base/memory.h"
#include "runtime/options.h"
#include "runtime/visual_encode.h"
#include "vision/frames.h"
#include "vision/image.h"

#include <math.h>

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
    OC_TRY(oc_visual_choose_rule(&rule, &model->config.video_size, &options, err));
    OC_TRY(oc_smart_size_video(&rule, count, frames[0]->full_height, frames[0]->full_width, &height,
                               &width, err));
    OC_TRY(oc_visual_plan(&visual, model, frames, count, true, width, height, err));
    oc_visual_job job = {.visual = visual, .frames = frames};
    ocelli_status status =
        plan_times(visual, &model->config, seconds, options.frames_per_second, err);
    if (status == OCELLI_OK) {
        status = oc_visual_encode(&job, 1, model, &options, err);
    }
    if (status != OCELLI_OK) {
        ocelli_visual_free(visual);
        return status;
    }
    *out = visual;
    return OCELLI_OK;
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
