/* golden_case_media.c - what a case records of its pictures and clips, compared with ours. */
#include "tests/golden/golden_case.h"

#include "runtime/base/memory.h"
#include "tests/golden/golden_data.h"
#include "vision/vit_windows.h"

#include <math.h>

/* How many of a thousand samples are beyond two levels. */
static void count_far_pixels(const golden_running *c, const char *array, const float *ours,
                             size_t count)
{
    npy want;
    if (!golden_read_recorded(c, array, &want)) {
        return;
    }
    size_t far = 0;
    for (size_t i = 0; i < count && count == want.count; i++) {
        far += fabsf(ours[i] - want.floats[i]) > (float)TOLERANCE_PIXELS_JPEG;
    }
    int64_t share = count > 0 ? (int64_t)(far * 1000 / count) : 0, none = 0;
    report_integers(c->r, "pixels beyond two levels, of 1000", &share, 1, &none, 1);
    npy_close(&want);
}

static void compare_pixels(const golden_running *c)
{
    static const char *const pixels[] = {"pixel_values", "pixel_values_videos"};
    static const char *const grids[] = {"image_grid_thw", "video_grid_thw"};
    for (size_t kind = 0; kind < 2; kind++) {
        const golden_rows *of = &c->media.kind[kind];
        golden_compare(c, pixels[kind], of->pixels, of->patches * of->values,
                       c->jpeg ? TOLERANCE_PIXELS_JPEG_WORST : TOLERANCE_PIXELS);
        if (c->jpeg) {
            count_far_pixels(c, pixels[kind], of->pixels, of->patches * of->values);
        }
        golden_compare_integers(c, grids[kind], of->grids, 3 * of->media);
    }
}

static void compare_frames(const golden_running *c)
{
    const cJSON *recorded = golden_get(c->json, "video_frames_indices");
    const cJSON *of = recorded != NULL ? recorded->child : NULL;
    for (size_t i = 0; i < c->media.count; i++) {
        const golden_medium *medium = &c->media.media[i];
        if (!medium->video || of == NULL) {
            continue;
        }
        size_t count;
        int64_t *want = golden_integers(of, &count);
        /* Some record the repeated last frame, some do not. */
        bool padded = count == medium->count + 1 && want[count - 1] == want[count - 2];
        report_integers(c->r, "video_frames_indices", medium->indices, medium->count, want,
                        padded ? count - 1 : count);
        oc_free(want);
        of = of->next;
    }
}

/* Seconds of one step of each clip's grid, where the case records them. */
static void compare_steps(const golden_running *c)
{
    const cJSON *recorded = golden_get(c->json, "second_per_grid_ts");
    size_t next = 0;
    for (size_t i = 0; i < c->media.count && recorded != NULL; i++) {
        const golden_medium *medium = &c->media.media[i];
        if (medium->video) {
            float ours = (float)(c->model->config.vit.patch.temporal_patch_size / medium->rate);
            float want = (float)cJSON_GetNumberValue(cJSON_GetArrayItem(recorded, (int)next++));
            report_floats(c->r, "second_per_grid_ts", &ours, 1, &want, 1, TOLERANCE_TABLES);
        }
    }
}

/* The cells of all media in the order of their windows. */
static void compare_windows(const golden_running *c)
{
    const oc_vit_config *vit = &c->model->config.vit;
    size_t merge = (size_t)vit->patch.merge_size, room = 1, next = 0;
    for (size_t i = 0; i < c->media.count; i++) {
        room += c->media.media[i].grid_t * c->media.media[i].grid_h * c->media.media[i].grid_w;
    }
    int64_t *ours = oc_alloc(room, sizeof *ours);
    size_t *order = oc_alloc(room, 2 * sizeof *order);
    for (size_t i = 0; i < c->media.count && ours != NULL && order != NULL && vit->window > 0;
         i++) {
        const golden_medium *medium = &c->media.media[i];
        size_t high = medium->grid_h / merge, wide = medium->grid_w / merge;
        oc_vit_window_order(order, order + room, high, wide, vit->window);
        for (size_t pair = 0; pair < medium->grid_t; pair++) {
            size_t first = next;
            for (size_t cell = 0; cell < high * wide; cell++) {
                ours[next++] = (int64_t)(first + order[cell]);
            }
        }
    }
    golden_compare_integers(c, "window_index", ours, next);
    oc_free(order);
    oc_free(ours);
}

void golden_compare_vision(const golden_running *c)
{
    static const char *const rows[] = {"image_embeds", "video_embeds"};
    static const char *const taps[] = {"image_deepstack", "video_deepstack"};
    size_t width = c->model->config.vit.out_hidden;
    for (size_t kind = 0; kind < 2; kind++) {
        const golden_rows *of = &c->media.kind[kind];
        golden_compare(c, rows[kind], of->rows, of->tokens * width,
                       golden_vision_tolerance(c, TOLERANCE_VISION));
        golden_compare(c, taps[kind], of->taps, c->model->config.vit.tap_count * of->tokens * width,
                       golden_vision_tolerance(c, TOLERANCE_VISION));
    }
}

void golden_compare_media(const golden_running *c)
{
    compare_frames(c);
    compare_steps(c);
    compare_windows(c);
    compare_pixels(c);
}
