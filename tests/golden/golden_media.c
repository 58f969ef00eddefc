/* golden_media.c - see golden_media.h. */
#include "tests/golden/golden_media.h"

#include "runtime/base/memory.h"
#include "tests/golden/golden_data.h"
#include "vision/frames.h"
#include "vision/resize.h"

#include <string.h>

static const ocelli_image_options DROP_ALPHA = {.struct_size = sizeof(ocelli_image_options),
                                                .max_pixels = 100000000,
                                                .alpha = OCELLI_ALPHA_DROP};

static bool is_jpeg(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && (strcmp(dot, ".jpg") == 0 || strcmp(dot, ".jpeg") == 0);
}

static ocelli_status load_frame(golden_medium *medium, const char *directory, const char *name,
                                ocelli_error *err)
{
    char path[GOLDEN_PATH];
    if (!golden_path(path, directory, name)) {
        return oc_fail(err, OCELLI_E_IO, "%s: the path is too long", name);
    }
    medium->jpeg = medium->jpeg || is_jpeg(name);
    OC_TRY(ocelli_image_load(&medium->frames[medium->count], path, &DROP_ALPHA, err));
    medium->count++;
    return OCELLI_OK;
}

static bool allocate(golden_medium *medium, size_t frames)
{
    medium->frames = oc_alloc(frames, sizeof(ocelli_image *));
    medium->seconds = oc_alloc(frames, sizeof *medium->seconds);
    medium->indices = oc_alloc(frames, sizeof *medium->indices);
    medium->timestamps = oc_alloc(frames, sizeof *medium->timestamps);
    return medium->frames != NULL && medium->seconds != NULL && medium->indices != NULL &&
           medium->timestamps != NULL;
}

static ocelli_status load_picture(golden_medium *medium, const char *directory, const char *name,
                                  ocelli_error *err)
{
    if (!allocate(medium, 1)) {
        return oc_fail_memory(err, name);
    }
    return load_frame(medium, directory, name, err);
}

/* Which of the folder's frames: all, or by the processor's default rule. */
static ocelli_status choose_frames(golden_medium *medium, size_t *chosen, const oc_config *config,
                                   const cJSON *part, size_t total, ocelli_error *err)
{
    const oc_frame_rule rule = {.source_fps = golden_number(part, "fps", 24),
                                .sample_fps = config->video_fps,
                                .even = config->even_frames,
                                .min_frames = config->min_frames,
                                .max_frames = config->max_frames};
    size_t *indices = oc_alloc(total, sizeof *indices);
    ocelli_status status = OCELLI_OK;
    if (indices == NULL) {
        return oc_fail_memory(err, "frames");
    }
    *chosen = total;
    for (size_t i = 0; i < total; i++) {
        indices[i] = i;
    }
    if (golden_flag(part, "sample", false)) {
        status = oc_frames_sample(&rule, total, indices, chosen, err);
    }
    for (size_t i = 0; i < *chosen && status == OCELLI_OK; i++) {
        medium->indices[i] = (int64_t)indices[i];
        medium->seconds[i] = (double)indices[i] / rule.source_fps;
    }
    medium->rate = (double)*chosen / (double)total * rule.source_fps;
    oc_free(indices);
    return status;
}

static ocelli_status load_clip(golden_medium *medium, const oc_config *config, const cJSON *part,
                               const char *folder, ocelli_error *err)
{
    golden_names names;
    size_t chosen = 0;
    OC_TRY(golden_list(&names, folder, err));
    ocelli_status status = names.count == 0 ? oc_fail(err, OCELLI_E_IO, "%s: no frames", folder)
                           : !allocate(medium, names.count)
                               ? oc_fail_memory(err, folder)
                               : choose_frames(medium, &chosen, config, part, names.count, err);
    for (size_t i = 0; i < chosen && status == OCELLI_OK; i++) {
        status = load_frame(medium, folder, names.names[medium->indices[i]], err);
    }
    if (status == OCELLI_OK) {
        oc_frames_timestamps(medium->seconds, chosen, medium->timestamps);
    }
    golden_names_close(&names);
    return status;
}

static ocelli_status resize_medium(golden_medium *medium, const ocelli_model *model,
                                   ocelli_error *err)
{
    int height, width;
    const oc_patch_rule *patch = &model->config.vit.patch;
    ocelli_image_size(medium->frames[0], &width, &height);
    if (medium->video) {
        OC_TRY(oc_smart_size_video(&model->config.video_size, medium->count, height, width,
                                   &medium->height, &medium->width, err));
    } else {
        OC_TRY(oc_smart_size_image(&model->config.image_size, height, width, &medium->height,
                                   &medium->width, err));
    }
    size_t bytes = (size_t)medium->height * (size_t)medium->width * 3;
    size_t temporal = (size_t)patch->temporal_patch_size;
    medium->rgb = oc_alloc(medium->count, bytes);
    if (medium->rgb == NULL) {
        return oc_fail_memory(err, "pixels");
    }
    for (size_t i = 0; i < medium->count; i++) {
        OC_TRY(oc_resize(medium->rgb + i * bytes, medium->width, medium->height, medium->frames[i],
                         model->pool, err));
    }
    medium->grid_t = medium->video ? (medium->count + temporal - 1) / temporal : 1;
    medium->grid_h = (size_t)(medium->height / patch->patch_size);
    medium->grid_w = (size_t)(medium->width / patch->patch_size);
    return medium->video ? oc_config_clip_times(&medium->times, &model->config, medium->grid_t,
                                                (double)temporal / medium->rate, err)
                         : OCELLI_OK;
}

/* The frames of one temporal group; the last is repeated. */
static void group_frames(const uint8_t **frames, const golden_medium *medium, size_t group,
                         size_t temporal)
{
    size_t bytes = (size_t)medium->height * (size_t)medium->width * 3;
    for (size_t i = 0; i < temporal; i++) {
        size_t frame = group * temporal + i;
        frame = frame < medium->count ? frame : medium->count - 1;
        frames[i] = medium->rgb + frame * bytes;
    }
}

enum { MOST_TEMPORAL = 16 };

static ocelli_status cut_patches(golden_media *media, const ocelli_model *model, ocelli_error *err)
{
    const oc_patch_rule *patch = &model->config.vit.patch;
    size_t temporal = (size_t)patch->temporal_patch_size;
    size_t values =
        (size_t)patch->channels * temporal * (size_t)(patch->patch_size * patch->patch_size);
    if (temporal > MOST_TEMPORAL) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED, "%zu frames a patch", temporal);
    }
    for (size_t i = 0; i < media->count; i++) {
        const golden_medium *medium = &media->media[i];
        golden_rows *of = &media->kind[medium->video];
        of->patches += medium->grid_t * medium->grid_h * medium->grid_w;
        of->media++;
    }
    for (size_t kind = 0; kind < 2; kind++) {
        golden_rows *of = &media->kind[kind];
        of->values = values;
        of->pixels = oc_alloc(of->patches * values, sizeof *of->pixels);
        of->grids = oc_alloc(of->media, 3 * sizeof *of->grids);
        if (of->pixels == NULL || of->grids == NULL) {
            return oc_fail_memory(err, "patches");
        }
        of->patches = 0;
        of->media = 0;
    }
    for (size_t i = 0; i < media->count; i++) {
        const golden_medium *medium = &media->media[i];
        golden_rows *of = &media->kind[medium->video];
        int64_t *grid = of->grids + 3 * of->media++;
        grid[0] = (int64_t)medium->grid_t;
        grid[1] = (int64_t)medium->grid_h;
        grid[2] = (int64_t)medium->grid_w;
        for (size_t group = 0; group < medium->grid_t; group++) {
            const uint8_t *frames[MOST_TEMPORAL];
            group_frames(frames, medium, group, temporal);
            oc_patches_cut(of->pixels + of->patches * values, patch, frames, medium->height,
                           medium->width);
            of->patches += medium->grid_h * medium->grid_w;
        }
    }
    return OCELLI_OK;
}

ocelli_status golden_media_load(golden_media *out, const ocelli_model *model,
                                const cJSON *const *parts, size_t count, const char *directory,
                                ocelli_error *err)
{
    *out = (golden_media){0};
    out->media = oc_alloc(count, sizeof *out->media);
    out->views = oc_alloc(count, sizeof *out->views);
    if (out->media == NULL || out->views == NULL) {
        return oc_fail_memory(err, "media");
    }
    for (size_t i = 0; i < count; i++) {
        golden_medium *medium = &out->media[i];
        const char *image = golden_string(parts[i], "image");
        const char *video = golden_string(parts[i], "video");
        char folder[GOLDEN_PATH];
        out->count = i + 1;
        medium->video = image == NULL;
        if (image != NULL) {
            OC_TRY(load_picture(medium, directory, image, err));
        } else if (video != NULL && golden_path(folder, directory, video)) {
            OC_TRY(load_clip(medium, &model->config, parts[i], folder, err));
        } else {
            return oc_fail(err, OCELLI_E_UNSUPPORTED, "a part names neither image nor video file");
        }
        out->jpeg = out->jpeg || medium->jpeg;
        OC_TRY(resize_medium(medium, model, err));
    }
    return cut_patches(out, model, err);
}

static ocelli_status encode_group(golden_rows *of, size_t patch, size_t token,
                                  const golden_medium *medium, size_t group,
                                  const ocelli_model *model, const npy *recorded,
                                  const oc_trace *trace, ocelli_error *err)
{
    const uint8_t *frames[MOST_TEMPORAL];
    const oc_vit_config *vit = &model->config.vit;
    oc_vit_input input = {.groups = 1, .grid_h = medium->grid_h, .grid_w = medium->grid_w};
    size_t bytes;
    oc_arena arena = {0};
    if (recorded != NULL) {
        input.patches = recorded->floats + patch * of->values;
    } else {
        group_frames(frames, medium, group, (size_t)vit->patch.temporal_patch_size);
        input.frames = frames;
    }
    if (!oc_vit_scratch(model->vit, &model->compute, 1, input.grid_h, input.grid_w, &bytes)) {
        return oc_fail_memory(err, "the tower");
    }
    OC_TRY(oc_arena_reserve(&arena, bytes, "the tower", err));
    ocelli_status status = oc_vit_encode(
        model->vit, &model->compute, &arena, &input, of->rows + token * vit->out_hidden,
        of->taps + token * vit->out_hidden, of->tokens * vit->out_hidden, trace, err);
    oc_arena_close(&arena);
    return status;
}

ocelli_status golden_media_encode(golden_media *media, const ocelli_model *model,
                                  const npy *const recorded[2], const oc_trace *trace,
                                  ocelli_error *err)
{
    const oc_vit_config *vit = &model->config.vit;
    size_t merge = (size_t)vit->patch.merge_size, width = vit->out_hidden;
    size_t patch[2] = {0}, token[2] = {0};
    for (size_t kind = 0; kind < 2; kind++) {
        golden_rows *of = &media->kind[kind];
        if (recorded[kind] != NULL && recorded[kind]->count != of->patches * of->values) {
            return oc_fail(err, OCELLI_E_FORMAT, "recorded pixels of another size");
        }
        of->tokens = of->patches / (merge * merge);
        oc_free(of->rows);
        oc_free(of->taps);
        of->rows = oc_alloc(of->tokens * width, sizeof *of->rows);
        of->taps = oc_alloc(vit->tap_count * of->tokens * width, sizeof *of->taps);
        if (of->rows == NULL || of->taps == NULL) {
            return oc_fail_memory(err, "visual rows");
        }
    }
    /* Pictures first, then clips: the order that traces are recorded in. */
    for (size_t kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < media->count; i++) {
            const golden_medium *medium = &media->media[i];
            golden_rows *of = &media->kind[kind];
            if (medium->video != (kind == 1)) {
                continue;
            }
            media->views[i] = (oc_medium){.video = medium->video,
                                          .grid_t = medium->grid_t,
                                          .grid_h = medium->grid_h,
                                          .grid_w = medium->grid_w,
                                          .merge_size = merge,
                                          .timestamps = medium->video ? medium->timestamps : NULL,
                                          .times = medium->times,
                                          .identity = {.low = i},
                                          .rows = of->rows + token[kind] * width,
                                          .taps = of->taps + token[kind] * width,
                                          .tap_count = vit->tap_count,
                                          .tap_stride = of->tokens * width,
                                          .width = width};
            for (size_t group = 0; group < medium->grid_t; group++) {
                OC_TRY(encode_group(of, patch[kind], token[kind], medium, group, model,
                                    recorded[kind], trace, err));
                patch[kind] += medium->grid_h * medium->grid_w;
                token[kind] += medium->grid_h * medium->grid_w / (merge * merge);
            }
        }
    }
    return OCELLI_OK;
}

static void close_medium(golden_medium *medium)
{
    for (size_t i = 0; i < medium->count; i++) {
        ocelli_image_free(medium->frames[i]);
    }
    oc_free(medium->frames);
    oc_free(medium->seconds);
    oc_free(medium->indices);
    oc_free(medium->timestamps);
    oc_free(medium->times);
    oc_free(medium->rgb);
}

void golden_media_close(golden_media *media)
{
    for (size_t i = 0; i < media->count; i++) {
        close_medium(&media->media[i]);
    }
    for (size_t kind = 0; kind < 2; kind++) {
        oc_free(media->kind[kind].pixels);
        oc_free(media->kind[kind].rows);
        oc_free(media->kind[kind].taps);
        oc_free(media->kind[kind].grids);
    }
    oc_free(media->media);
    oc_free(media->views);
    *media = (golden_media){0};
}
