/* golden_positions.c - functions/<kind>.json about places: rotary positions of a prompt, times of a
 * clip, rotary tables of both towers, windows. */
#include "tests/golden/golden_functions.h"

#include "fusion/fuse.h"
#include "fusion/positions.h"
#include "runtime/base/memory.h"
#include "runtime/config.h"
#include "tests/golden/golden_data.h"
#include "vision/vit_positions.h"
#include "vision/vit_windows.h"

#include <stdio.h>
#include <string.h>

/* The times of clip number `clip` of an entry whose family has a clip as one block; NULL: another
 * family, or a picture. */
static int32_t *clip_times(const golden_context *c, const cJSON *entry, size_t clip, size_t pairs)
{
    const char *name = golden_string(entry, "family");
    const oc_family *family = name != NULL ? oc_family_find(name) : NULL;
    const cJSON *seconds = cJSON_GetArrayItem(golden_get(entry, "second_per_grid_ts"), (int)clip);
    int32_t *times = NULL;
    if (family != NULL && family->clip != OC_CLIP_PAIRS) {
        ocelli_error err = {0};
        times = oc_alloc(pairs, sizeof *times);
        if (times == NULL ||
            oc_positions_times(times, pairs, seconds != NULL ? seconds->valuedouble : 1,
                               golden_number(entry, "tokens_per_second", 0), &err) != OCELLI_OK) {
            report_wrong(c->r, "times", "%s", err.message);
        }
    }
    return times;
}

static void add_media(oc_medium *media, size_t *count, const int64_t *grids, size_t values,
                      bool video, size_t merge)
{
    for (size_t i = 0; i + 3 <= values; i += 3) {
        media[(*count)++] = (oc_medium){.video = video,
                                        .grid_t = (size_t)grids[i],
                                        .grid_h = (size_t)grids[i + 1],
                                        .grid_w = (size_t)grids[i + 2],
                                        .merge_size = merge};
    }
}

static void check_positions(report *r, const oc_fused *fused, const npy *want, int64_t want_delta)
{
    int64_t *ours = oc_alloc(fused->count, 3 * sizeof *ours);
    for (size_t axis = 0; axis < 3 && ours != NULL; axis++) {
        for (size_t i = 0; i < fused->count; i++) {
            ours[axis * fused->count + i] = fused->positions[i][axis];
        }
    }
    report_integers(r, "position_ids", ours, 3 * fused->count, want->integers, want->count);
    int64_t delta = fused->next_position - (int64_t)fused->count;
    report_integers(r, "rope_delta", &delta, 1, &want_delta, 1);
    oc_free(ours);
}

void golden_rope_index(const golden_context *c, const cJSON *entry)
{
    size_t count, images, videos, media_count = 0;
    int64_t *wide = golden_integers(golden_get(entry, "input_ids"), &count);
    int64_t *image_grids = golden_integers(golden_get(entry, "image_grid_thw"), &images);
    int64_t *video_grids = golden_integers(golden_get(entry, "video_grid_thw"), &videos);
    int32_t *ids = oc_alloc(count, sizeof *ids);
    oc_medium *media = oc_alloc(images / 3 + videos / 3, sizeof *media);
    size_t merge = (size_t)golden_number(entry, "spatial_merge_size", 2);
    npy want;
    if (ids != NULL && media != NULL && golden_read_array(c, entry, "position_ids", &want)) {
        for (size_t i = 0; i < count; i++) {
            ids[i] = (int32_t)wide[i];
        }
        add_media(media, &media_count, image_grids, images, false, merge);
        add_media(media, &media_count, video_grids, videos, true, merge);
        for (size_t i = 0; i < videos / 3; i++) {
            oc_medium *clip = &media[images / 3 + i];
            clip->times = clip_times(c, entry, i, clip->grid_t);
        }
        oc_pad_ids pads = {.image = (int32_t)golden_number(entry, "image_token_id", -1),
                           .video = (int32_t)golden_number(entry, "video_token_id", -1)};
        ocelli_error err = {0};
        oc_fused fused;
        if (oc_fuse_ids(&fused, ids, count, &pads, media, media_count, &err) != OCELLI_OK) {
            report_wrong(c->r, "position_ids", "%s", err.message);
        } else {
            check_positions(c->r, &fused, &want, (int64_t)golden_number(entry, "rope_delta", 0));
            oc_fused_close(&fused);
        }
        npy_close(&want);
    }
    for (size_t i = 0; media != NULL && i < media_count; i++) {
        oc_free((void *)(uintptr_t)media[i].times);
    }
    oc_free(media);
    oc_free(ids);
    oc_free(wide);
    oc_free(image_grids);
    oc_free(video_grids);
}

void golden_time_positions(const golden_context *c, const cJSON *entry)
{
    size_t count;
    ocelli_error err = {0};
    int64_t *want = golden_integers(golden_get(entry, "t"), &count);
    int32_t *times = oc_alloc(count, sizeof *times);
    int64_t *ours = oc_alloc(count, sizeof *ours);
    if (times == NULL || ours == NULL ||
        oc_positions_times(times, count, golden_number(entry, "second_per_grid_t", 1),
                           golden_number(entry, "tokens_per_second", 0), &err) != OCELLI_OK) {
        report_wrong(c->r, "t", "%s", err.message);
    } else {
        for (size_t i = 0; i < count; i++) {
            ours[i] = times[i];
        }
        report_integers(c->r, "t", ours, count, want, count);
    }
    oc_free(ours);
    oc_free(times);
    oc_free(want);
}

/* The reference numbers the cells of all grids, pair after pair, and counts the ends of windows in
 * patch rows from 0 on. */
void golden_window_index(const golden_context *c, const cJSON *entry)
{
    size_t values, cells = 1, next = 0, listed = 1, want_count, want_listed;
    size_t merge = (size_t)golden_number(entry, "spatial_merge_size", 2);
    size_t patch = (size_t)golden_number(entry, "patch_size", 14);
    size_t side = (size_t)golden_number(entry, "window_size", 0) / merge / patch;
    int64_t *grids = golden_integers(golden_get(entry, "grid_thw"), &values);
    int64_t *want = golden_integers(golden_get(entry, "window_index"), &want_count);
    int64_t *want_ends = golden_integers(golden_get(entry, "cu_window_seqlens"), &want_listed);
    for (size_t i = 0; i + 3 <= values; i += 3) {
        cells += (size_t)(grids[i] * grids[i + 1] * grids[i + 2]);
    }
    size_t *order = oc_alloc(cells, 2 * sizeof *order), *ends = order + cells;
    int64_t *ours = oc_alloc(cells, 2 * sizeof *ours), *our_ends = ours + cells;
    for (size_t i = 0; i + 3 <= values && order != NULL && ours != NULL; i += 3) {
        size_t high = (size_t)grids[i + 1] / merge, wide = (size_t)grids[i + 2] / merge;
        oc_vit_window_order(order, ends, high, wide, side);
        for (int64_t pair = 0; pair < grids[i]; pair++) {
            size_t first = next;
            for (size_t cell = 0; cell < high * wide; cell++) {
                ours[next++] = (int64_t)(first + order[cell]);
            }
            for (size_t w = 0; w < oc_vit_window_count(high, wide, side); w++) {
                our_ends[listed++] = (int64_t)((first + ends[w]) * merge * merge);
            }
        }
    }
    report_integers(c->r, "window_index", ours, next, want, want_count);
    report_integers(c->r, "cu_window_seqlens", our_ends, listed, want_ends, want_listed);
    oc_free(ours);
    oc_free(order);
    oc_free(want_ends);
    oc_free(want);
    oc_free(grids);
}

/* Reads the config of the model that an entry names. */
static bool read_config(const golden_context *c, const cJSON *entry, oc_config *config,
                        char directory[GOLDEN_PATH])
{
    ocelli_error err = {0};
    const char *model = golden_string(entry, "model");
    if (model == NULL || !golden_path(directory, c->models, model)) {
        report_wrong(c->r, "model", "the entry names no model");
        return false;
    }
    ocelli_status status = oc_config_read(config, directory, &err);
    if (status == OCELLI_E_UNSUPPORTED) {
        snprintf(c->unsupported, 512, "%s", err.message);
    } else if (status != OCELLI_OK) {
        report_wrong(c->r, "model", "%s", err.message);
    }
    return status == OCELLI_OK;
}

/* tensor: the learned table; of no values where there is none. */
static void check_vision_positions(const golden_context *c, const cJSON *entry,
                                   const oc_config *config, const oc_tensor *tensor,
                                   const size_t grid[3])
{
    const oc_vit_config *vit = &config->vit;
    size_t side = vit->position_side, merge = (size_t)vit->patch.merge_size;
    size_t patches = grid[1] * grid[2], all = grid[0] * patches, half = vit->head_dim / 2;
    float *table = oc_alloc(side * side, vit->hidden * sizeof *table);
    float *rows = oc_alloc(all, vit->hidden * sizeof *rows);
    float *angles = oc_alloc(all, half * sizeof *angles);
    if (table != NULL && rows != NULL && angles != NULL) {
        oc_tensor_widen(tensor, 0, side * side * vit->hidden, table);
        for (size_t t = 0; t < grid[0]; t++) {
            if (side > 0) {
                oc_vit_add_positions(rows + t * patches * vit->hidden, 0, patches, table, side,
                                     vit->hidden, grid[1], grid[2], merge);
            }
            for (size_t i = 0; i < patches; i++) {
                size_t row, column;
                oc_vit_patch_place(i, grid[2], merge, &row, &column);
                oc_vit_rope_angles(angles + (t * patches + i) * half, row, column, vit->head_dim);
            }
        }
        npy want;
        if (side > 0 && golden_read_array(c, entry, "pos_embed", &want)) {
            report_floats(c->r, "pos_embed", rows, all * vit->hidden, want.floats, want.count,
                          TOLERANCE_TABLES);
            npy_close(&want);
        }
        if (golden_read_array(c, entry, "rope_angles", &want)) {
            report_floats(c->r, "rope_angles", angles, all * half, want.floats, want.count,
                          TOLERANCE_TABLES);
            npy_close(&want);
        }
    }
    oc_free(angles);
    oc_free(rows);
    oc_free(table);
}

void golden_vision_positions(const golden_context *c, const cJSON *entry)
{
    char directory[GOLDEN_PATH];
    oc_config config;
    oc_weights *weights;
    oc_tensor table;
    ocelli_error err = {0};
    size_t values;
    int64_t *grid = golden_integers(golden_get(entry, "grid_thw"), &values);
    if (values == 3 && read_config(c, entry, &config, directory)) {
        size_t side = config.vit.position_side;
        int64_t shape[2] = {(int64_t)(side * side), (int64_t)config.vit.hidden};
        size_t extents[3] = {(size_t)grid[0], (size_t)grid[1], (size_t)grid[2]};
        if (side == 0) {
            check_vision_positions(c, entry, &config, &(oc_tensor){.dtype = OC_F32}, extents);
        } else if (oc_weights_open(&weights, directory, &err) != OCELLI_OK) {
            report_wrong(c->r, "model", "%s", err.message);
        } else {
            if (oc_weights_get(weights, "model.visual.pos_embed.weight", 2, shape, &table, &err) !=
                OCELLI_OK) {
                report_wrong(c->r, "pos_embed", "%s", err.message);
            } else {
                check_vision_positions(c, entry, &config, &table, extents);
            }
            oc_weights_close(weights);
        }
        oc_config_close(&config);
    }
    oc_free(grid);
}

/* One array of [n, head_dim] against our half rows, which the reference writes twice. A position in
 * the thousands shows the last bit of a frequency. */
static void check_rope(report *r, const char *name, const float *half_row, size_t half,
                       const npy *want, size_t row, int64_t position)
{
    double tolerance = position <= 512 ? TOLERANCE_TABLES : 1e-3;
    char label[64];
    snprintf(label, sizeof label, "%s, position %s 512", name,
             position <= 512 ? "up to" : "beyond");
    for (size_t twice = 0; twice < 2; twice++) {
        report_floats(r, label, half_row, half, want->floats + row * 2 * half + twice * half, half,
                      tolerance);
    }
}

void golden_text_rope(const golden_context *c, const cJSON *entry)
{
    char directory[GOLDEN_PATH];
    oc_config config;
    size_t values, sections;
    int64_t *places = golden_integers(golden_get(entry, "position_ids"), &values);
    int64_t *section = golden_integers(golden_get(entry, "mrope_section"), &sections);
    npy cosines, sines = {0};
    if (golden_read_array(c, entry, "cos", &cosines) &&
        golden_read_array(c, entry, "sin", &sines) && read_config(c, entry, &config, directory)) {
        oc_mrope_config mrope = config.decoder.mrope;
        report_integers(c->r, "mrope_section", mrope.sections, 3, section, sections);
        size_t half = mrope.head_dim / 2, rows = values / 3;
        float *tables = oc_alloc(half, 3 * sizeof *tables);
        uint8_t *axis = oc_alloc(half, 1);
        if (tables == NULL || axis == NULL || cosines.count != rows * 2 * half ||
            sines.count != cosines.count) {
            report_wrong(c->r, "cos", "%zu values for %zu positions", cosines.count, rows);
        } else {
            oc_mrope_plan(&mrope, tables, axis);
            for (size_t i = 0; i < rows; i++) {
                int32_t position[3] = {(int32_t)places[i], (int32_t)places[rows + i],
                                       (int32_t)places[2 * rows + i]};
                oc_mrope_fill(tables + half, tables + 2 * half, tables, axis, half, position);
                check_rope(c->r, "cos", tables + half, half, &cosines, i, position[0]);
                check_rope(c->r, "sin", tables + 2 * half, half, &sines, i, position[0]);
            }
        }
        oc_free(tables);
        oc_free(axis);
        oc_config_close(&config);
    }
    npy_close(&cosines);
    npy_close(&sines);
    oc_free(places);
    oc_free(section);
}
