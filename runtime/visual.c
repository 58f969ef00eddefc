/* visual.c - a picture to a planned visual, and what is told of visuals; visual_encode.c makes the
 * rows. */
#include "runtime/visual.h"

#include "runtime/base/memory.h"
#include "runtime/options.h"
#include "runtime/visual_encode.h"
#include "vision/image.h"

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
        oc_visual_rows_release(visual->rows);
        oc_free(visual->timestamps);
        oc_free(visual->times);
        oc_free(visual);
    }
}

size_t oc_visual_together(const ocelli_model *model, const oc_medium *medium, size_t groups)
{
    enum { PASS_ROWS = 1024 };
    if (model->vision == OCELLI_VISION_F32) {
        return 1;
    }
    size_t fit = PASS_ROWS / (medium->grid_h * medium->grid_w);
    fit = fit < groups ? fit : groups;
    return fit > 0 ? fit : 1;
}

ocelli_status oc_visual_choose_rule(oc_size_rule *rule, const oc_size_rule *checkpoint,
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

/* Of frames [count] and the size they get: what the rows of a tower depend on. */
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

ocelli_status oc_visual_plan(ocelli_visual **out, const ocelli_model *model,
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
    visual->source_width = frames[0]->full_width;
    visual->source_height = frames[0]->full_height;
    visual->width = width;
    visual->height = height;
    visual->frames = count;
    visual->pixels = identity_of(frames, count, width, height, video);
    visual->medium = (oc_medium){.video = video,
                                 .grid_t = (count + temporal - 1) / temporal,
                                 .grid_h = (size_t)height / patch,
                                 .grid_w = (size_t)width / patch,
                                 .merge_size = (size_t)vit->patch.merge_size,
                                 .identity = visual->pixels,
                                 .tap_count = vit->tap_count,
                                 .width = vit->out_hidden};
    visual->tokens = oc_medium_tokens(&visual->medium);
    *out = visual;
    return OCELLI_OK;
}

/* ---- pictures ------------------------------------------------------------------------------ */

static ocelli_status plan_image(ocelli_visual **out, const ocelli_model *model,
                                const ocelli_image *const *image,
                                const ocelli_visual_options *options, ocelli_error *err)
{
    oc_size_rule rule;
    int width, height;
    OC_TRY(oc_visual_choose_rule(&rule, &model->config.image_size, options, err));
    OC_TRY(oc_smart_size_image(&rule, (*image)->full_height, (*image)->full_width, &height, &width,
                               err));
    return oc_visual_plan(out, model, image, 1, false, width, height, err);
}

/* Plans all, then encodes all. */
static ocelli_status encode_images(oc_visual_job *jobs, ocelli_model *model,
                                   const ocelli_image *const *images, size_t count,
                                   const ocelli_visual_options *options, ocelli_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (images[i] == NULL) {
            return oc_fail(err, OCELLI_E_ARGUMENT, "picture %zu of %zu is NULL", i, count);
        }
        jobs[i].frames = &images[i];
        OC_TRY(plan_image(&jobs[i].visual, model, &images[i], options, err));
    }
    return oc_visual_encode(jobs, count, model, options, err);
}

ocelli_status ocelli_encode_images(ocelli_visual **visuals, ocelli_model *model,
                                   const ocelli_image *const *images, size_t count,
                                   const ocelli_visual_options *given, ocelli_error *err)
{
    if (model == NULL || ((visuals == NULL || images == NULL) && count > 0)) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_encode_images: visuals, model and images are needed");
    }
    if (count == 0) {
        return OCELLI_OK;
    }
    memset(visuals, 0, count * sizeof(ocelli_visual *));
    OC_TRY(oc_model_check_sees(model, err));
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    oc_options_read(&options, sizeof options, given);
    oc_visual_job *jobs = oc_alloc(count, sizeof *jobs);
    if (jobs == NULL) {
        return oc_fail_memory(err, "pictures");
    }
    ocelli_status status = encode_images(jobs, model, images, count, &options, err);
    for (size_t i = 0; i < count; i++) {
        if (status == OCELLI_OK) {
            visuals[i] = jobs[i].visual;
        } else {
            ocelli_visual_free(jobs[i].visual);
        }
    }
    oc_free(jobs);
    return status;
}

ocelli_status ocelli_encode_image(ocelli_visual **out, ocelli_model *model,
                                  const ocelli_image *image, const ocelli_visual_options *options,
                                  ocelli_error *err)
{
    if (out == NULL || model == NULL || image == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_encode_image: out, model and image are needed");
    }
    return ocelli_encode_images(out, model, &image, 1, options, err);
}

/* ---- what is told of visuals --------------------------------------------------------------- */

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
                              .encode_seconds = visual->encode_seconds,
                              .hit = visual->hit,
                              .cache_seconds = visual->cache_seconds};
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
    return visual->rows != NULL ? visual->rows->values : NULL;
}

const float *ocelli_visual_deepstack(const ocelli_visual *visual, size_t tap, size_t *tokens,
                                     size_t *width)
{
    const oc_medium *medium = &visual->medium;
    bool there = visual->rows != NULL && tap < medium->tap_count;
    if (tokens != NULL) {
        *tokens = there ? visual->tokens : 0;
    }
    if (width != NULL) {
        *width = medium->width;
    }
    return there ? medium->taps + tap * medium->tap_stride : NULL;
}
