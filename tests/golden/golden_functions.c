/* golden_functions.c - functions/<kind>.json: size rules, frame choice, times, positions, rotary
 * tables, resampling, decoding. Each is called as the pipeline calls it. */
#include "tests/golden/golden_data.h"
#include "tests/golden/golden_sections.h"
#include "tests/golden/npy.h"

#include "fusion/fuse.h"
#include "runtime/base/memory.h"
#include "runtime/config.h"
#include "vision/frames.h"
#include "vision/resize.h"
#include "vision/vit_positions.h"

#include <stdio.h>
#include <string.h>

/* What a handler is given. folder is functions/, models is models/ beside it. */
typedef struct context {
    report *r;
    const char *folder, *models;
    char *unsupported; /* [512]: why an entry's model is beyond this version; "": none was */
} context;

static const ocelli_image_options DROP_ALPHA = {.struct_size = sizeof(ocelli_image_options),
                                                .max_pixels = 100000000,
                                                .alpha = OCELLI_ALPHA_DROP};

/* Reads folder/<value of key>, reporting what goes wrong. */
static bool read_array(const context *c, const cJSON *entry, const char *key, npy *out)
{
    char path[GOLDEN_PATH];
    ocelli_error err = {0};
    const char *name = golden_string(entry, key);
    *out = (npy){0};
    if (name == NULL || !golden_path(path, c->folder, name)) {
        report_wrong(c->r, key, "the entry names no file");
        return false;
    }
    if (npy_read(out, path, &err) != OCELLI_OK) {
        report_wrong(c->r, key, "%s", err.message);
        return false;
    }
    return true;
}

static uint64_t whole(const cJSON *entry, const char *key)
{
    double value = golden_number(entry, key, 0);
    return value >= 0 && value < 9e15 ? (uint64_t)value : 0;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* "out" is [height, width], or {"error": ...}: then ours must refuse too. */
static void check_size(report *r, const cJSON *entry, ocelli_status status, const int ours[2])
{
    size_t count;
    int64_t *want = golden_integers(golden_get(entry, "out"), &count);
    int64_t refused = status != OCELLI_OK, refused_there = want == NULL;
    report_integers(r, "refusals", &refused, 1, &refused_there, 1);
    if (want != NULL && status == OCELLI_OK) {
        int64_t got[2] = {ours[0], ours[1]};
        report_integers(r, "height, width", got, 2, want, count);
    }
    oc_free(want);
}

static void run_smart_resize_image(const context *c, const cJSON *entry)
{
    oc_size_rule rule = {.factor = (int)whole(entry, "factor"),
                         .temporal = 2,
                         .min_pixels = whole(entry, "min_pixels"),
                         .max_pixels = whole(entry, "max_pixels")};
    int ours[2] = {0};
    ocelli_status status = oc_smart_size_image(&rule, (int)whole(entry, "h"),
                                               (int)whole(entry, "w"), &ours[0], &ours[1], NULL);
    check_size(c->r, entry, status, ours);
}

static void run_smart_resize_video(const context *c, const cJSON *entry)
{
    oc_size_rule rule = {.factor = (int)whole(entry, "factor"),
                         .temporal = (int)golden_number(entry, "temporal_factor", 2),
                         .min_pixels = whole(entry, "min_pixels"),
                         .max_pixels = whole(entry, "max_pixels")};
    int ours[2] = {0};
    ocelli_status status =
        oc_smart_size_video(&rule, (size_t)whole(entry, "frames"), (int)whole(entry, "h"),
                            (int)whole(entry, "w"), &ours[0], &ours[1], NULL);
    check_size(c->r, entry, status, ours);
}

/* ---- frames and times ------------------------------------------------------------------------ */

/* Texts are listed whole, or the first and the last of them in equal numbers. */
static void check_time_texts(report *r, const double *seconds, size_t pairs, const cJSON *texts)
{
    size_t listed = (size_t)cJSON_GetArraySize(texts);
    for (size_t i = 0; i < listed; i++) {
        size_t pair = listed >= pairs || i < listed / 2 ? i : pairs - listed + i;
        const cJSON *text = cJSON_GetArrayItem(texts, (int)i);
        char ours[64];
        if (pair >= pairs || !cJSON_IsString(text)) {
            report_wrong(r, "timestamp text", "%zu texts for %zu pairs", listed, pairs);
            return;
        }
        oc_prompt_timestamp(ours, seconds[pair]);
        report_bytes(r, "timestamp text", ours, strlen(ours), text->valuestring,
                     strlen(text->valuestring));
    }
}

/* Pair times of frames at these indices of a source of fps. Free with oc_free. */
static double *pair_times(const int64_t *indices, size_t count, double fps)
{
    double *seconds = oc_alloc(count, sizeof *seconds);
    double *out = oc_alloc(count, sizeof *out);
    for (size_t i = 0; i < count && seconds != NULL; i++) {
        seconds[i] = (double)indices[i] / fps;
    }
    if (seconds != NULL && out != NULL) {
        oc_frames_timestamps(seconds, count, out);
    }
    oc_free(seconds);
    return out;
}

/* A long list is recorded as {count, first, last, sum}. */
static void check_indices(report *r, const int64_t *ours, size_t count, const cJSON *recorded)
{
    size_t listed;
    if (cJSON_IsArray(recorded)) {
        int64_t *want = golden_integers(recorded, &listed);
        report_integers(r, "indices", ours, count, want, listed);
        oc_free(want);
        return;
    }
    int64_t totals[2] = {(int64_t)count, 0};
    for (size_t i = 0; i < count; i++) {
        totals[1] += ours[i];
    }
    int64_t want_totals[2] = {(int64_t)whole(recorded, "count"), (int64_t)whole(recorded, "sum")};
    report_integers(r, "indices: count, sum", totals, 2, want_totals, 2);
    int64_t *first = golden_integers(golden_get(recorded, "first"), &listed);
    report_integers(r, "indices", ours, listed < count ? listed : count, first, listed);
    oc_free(first);
    int64_t *last = golden_integers(golden_get(recorded, "last"), &listed);
    size_t tail = listed < count ? listed : count;
    report_integers(r, "indices", ours + (count - tail), tail, last, listed);
    oc_free(last);
}

static void run_sample_frames(const context *c, const cJSON *entry)
{
    size_t total = (size_t)whole(entry, "total_frames");
    double fps = golden_number(entry, "source_fps", 24);
    oc_frame_rule rule = {.source_fps = fps,
                          .sample_fps = golden_number(entry, "fps", 0),
                          .frame_count = whole(entry, "num_frames"),
                          .min_frames = whole(entry, "min_frames"),
                          .max_frames = whole(entry, "max_frames")};
    ocelli_error err = {0};
    size_t count = 0;
    size_t *indices = oc_alloc(total, sizeof *indices);
    int64_t *ours = oc_alloc(total, sizeof *ours);
    if (indices == NULL || ours == NULL ||
        oc_frames_sample(&rule, total, indices, &count, &err) != OCELLI_OK) {
        report_wrong(c->r, "indices", "%zu frames: %s", total, err.message);
    } else {
        for (size_t i = 0; i < count; i++) {
            ours[i] = (int64_t)indices[i];
        }
        check_indices(c->r, ours, count, golden_get(entry, "indices"));
        const cJSON *texts = golden_get(entry, "timestamp_text");
        double *seconds = pair_times(ours, count, fps);
        if (texts != NULL && seconds != NULL) {
            check_time_texts(c->r, seconds, (count + 1) / 2, texts);
        }
        oc_free(seconds);
    }
    oc_free(indices);
    oc_free(ours);
}

static void run_timestamps(const context *c, const cJSON *entry)
{
    size_t count;
    int64_t *indices = golden_integers(golden_get(entry, "indices"), &count);
    double *seconds = pair_times(indices, count, golden_number(entry, "fps", 24));
    size_t pairs = (count + 1) / 2, i = 0;
    const cJSON *want;
    cJSON_ArrayForEach(want, golden_get(entry, "seconds"))
    {
        /* The same double to the last bits: a digit of the text hangs on it. */
        if (i < pairs && seconds != NULL) {
            double off = seconds[i] - want->valuedouble;
            int64_t wrong = off > 1e-12 * (1 + want->valuedouble) || off < -1e-12, none = 0;
            report_integers(c->r, "seconds", &wrong, 1, &none, 1);
        }
        i++;
    }
    int64_t ours = (int64_t)pairs, listed = (int64_t)i;
    report_integers(c->r, "pairs", &ours, 1, &listed, 1);
    if (seconds != NULL) {
        check_time_texts(c->r, seconds, pairs, golden_get(entry, "text"));
    }
    oc_free(seconds);
    oc_free(indices);
}

/* ---- positions ------------------------------------------------------------------------------- */

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

static void run_rope_index(const context *c, const cJSON *entry)
{
    size_t count, images, videos, media_count = 0;
    int64_t *wide = golden_integers(golden_get(entry, "input_ids"), &count);
    int64_t *image_grids = golden_integers(golden_get(entry, "image_grid_thw"), &images);
    int64_t *video_grids = golden_integers(golden_get(entry, "video_grid_thw"), &videos);
    int32_t *ids = oc_alloc(count, sizeof *ids);
    oc_medium *media = oc_alloc(images / 3 + videos / 3, sizeof *media);
    size_t merge = (size_t)golden_number(entry, "spatial_merge_size", 2);
    npy want;
    if (ids != NULL && media != NULL && read_array(c, entry, "position_ids", &want)) {
        for (size_t i = 0; i < count; i++) {
            ids[i] = (int32_t)wide[i];
        }
        add_media(media, &media_count, image_grids, images, false, merge);
        add_media(media, &media_count, video_grids, videos, true, merge);
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
    oc_free(media);
    oc_free(ids);
    oc_free(wide);
    oc_free(image_grids);
    oc_free(video_grids);
}

/* Reads the config of the model that an entry names. */
static bool read_config(const context *c, const cJSON *entry, oc_config *config,
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

static void check_vision_positions(const context *c, const cJSON *entry, const oc_config *config,
                                   const oc_tensor *tensor, const size_t grid[3])
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
            oc_vit_add_positions(rows + t * patches * vit->hidden, 0, patches, table, side,
                                 vit->hidden, grid[1], grid[2], merge);
            for (size_t i = 0; i < patches; i++) {
                size_t row, column;
                oc_vit_patch_place(i, grid[2], merge, &row, &column);
                oc_vit_rope_angles(angles + (t * patches + i) * half, row, column, vit->head_dim);
            }
        }
        npy want;
        if (read_array(c, entry, "pos_embed", &want)) {
            report_floats(c->r, "pos_embed", rows, all * vit->hidden, want.floats, want.count,
                          TOLERANCE_TABLES);
            npy_close(&want);
        }
        if (read_array(c, entry, "rope_angles", &want)) {
            report_floats(c->r, "rope_angles", angles, all * half, want.floats, want.count,
                          TOLERANCE_TABLES);
            npy_close(&want);
        }
    }
    oc_free(angles);
    oc_free(rows);
    oc_free(table);
}

static void run_vision_positions(const context *c, const cJSON *entry)
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
        if (oc_weights_open(&weights, directory, &err) != OCELLI_OK) {
            report_wrong(c->r, "model", "%s", err.message);
        } else {
            if (oc_weights_get(weights, "model.visual.pos_embed.weight", 2, shape, &table, &err) !=
                OCELLI_OK) {
                report_wrong(c->r, "pos_embed", "%s", err.message);
            } else {
                size_t extents[3] = {(size_t)grid[0], (size_t)grid[1], (size_t)grid[2]};
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

static void run_text_rope(const context *c, const cJSON *entry)
{
    char directory[GOLDEN_PATH];
    oc_config config;
    size_t values, sections;
    int64_t *places = golden_integers(golden_get(entry, "position_ids"), &values);
    int64_t *section = golden_integers(golden_get(entry, "mrope_section"), &sections);
    npy cosines, sines = {0};
    if (read_array(c, entry, "cos", &cosines) && read_array(c, entry, "sin", &sines) &&
        read_config(c, entry, &config, directory)) {
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

/* ---- pixels ---------------------------------------------------------------------------------- */

static ocelli_image *load_image(const context *c, const cJSON *entry, const char *key)
{
    char path[GOLDEN_PATH];
    ocelli_image *image = NULL;
    ocelli_error err = {0};
    const char *name = golden_string(entry, key);
    if (name == NULL || !golden_path(path, c->folder, name)) {
        report_wrong(c->r, key, "the entry names no file");
    } else if (ocelli_image_load(&image, path, &DROP_ALPHA, &err) != OCELLI_OK) {
        report_wrong(c->r, key, "%s", err.message);
    }
    return image;
}

static void check_pixels(report *r, const char *array, const uint8_t *rgb, int height, int width,
                         const npy *want, double tolerance)
{
    size_t count = (size_t)height * (size_t)width * 3;
    int64_t shape[2] = {height, width};
    int64_t want_shape[2] = {(int64_t)want->shape[0], (int64_t)want->shape[1]};
    int64_t *ours = oc_alloc(count, sizeof *ours);
    for (size_t i = 0; i < count && ours != NULL; i++) {
        ours[i] = rgb[i];
    }
    report_integers(r, "height, width", shape, 2, want_shape, 2);
    report_integers_within(r, array, ours, ours != NULL ? count : 0, want->integers, want->count,
                           tolerance);
    oc_free(ours);
}

static void run_resize(const context *c, const cJSON *entry)
{
    npy want;
    int width = (int)whole(entry, "W"), height = (int)whole(entry, "H");
    ocelli_image *image = load_image(c, entry, "in");
    uint8_t *rgb = oc_alloc((size_t)height, (size_t)width * 3);
    ocelli_error err = {0};
    if (image != NULL && rgb != NULL && read_array(c, entry, "out", &want)) {
        if (oc_resize(rgb, width, height, image, NULL, &err) != OCELLI_OK) {
            report_wrong(c->r, "resized", "%s", err.message);
        } else {
            check_pixels(c->r, "resized", rgb, height, width, &want, 0);
        }
        npy_close(&want);
    }
    oc_free(rgb);
    ocelli_image_free(image);
}

/* Files whose decoding leaves room ("lossy"): another inverse transform is a level or two off. */
enum { LEVELS_LOSSY = 6 };

static void run_decode(const context *c, const cJSON *entry)
{
    npy want;
    ocelli_image *image = load_image(c, entry, "file");
    if (image != NULL && read_array(c, entry, "rgb", &want)) {
        int width, height;
        bool lossy = golden_flag(entry, "lossy", false);
        ocelli_image_size(image, &width, &height);
        check_pixels(c->r, lossy ? "lossy files" : "lossless files", ocelli_image_pixels(image),
                     height, width, &want, lossy ? LEVELS_LOSSY : 0);
        npy_close(&want);
    }
    ocelli_image_free(image);
}

/* ---- the section ----------------------------------------------------------------------------- */

static const struct {
    const char *kind;
    void (*run)(const context *c, const cJSON *entry);
} KINDS[] = {
    {"smart_resize_image", run_smart_resize_image},
    {"smart_resize_video", run_smart_resize_video},
    {"sample_frames", run_sample_frames},
    {"timestamps", run_timestamps},
    {"rope_index", run_rope_index},
    {"vision_positions", run_vision_positions},
    {"text_rope", run_text_rope},
    {"resize", run_resize},
    {"decode", run_decode},
};

static void run_file(const context *c, const char *kind, const char *path)
{
    cJSON *json;
    ocelli_error err = {0};
    size_t known = 0;
    while (known < sizeof KINDS / sizeof KINDS[0] && strcmp(KINDS[known].kind, kind) != 0) {
        known++;
    }
    if (known == sizeof KINDS / sizeof KINDS[0]) {
        report_skip(c->r, "no such function is known");
        return;
    }
    if (golden_json(&json, path, &err) != OCELLI_OK) {
        report_wrong(c->r, "file", "%s", err.message);
        report_end(c->r);
        return;
    }
    if (cJSON_IsArray(json)) {
        const cJSON *entry;
        cJSON_ArrayForEach(entry, json) KINDS[known].run(c, entry);
    } else {
        KINDS[known].run(c, json);
    }
    if (c->unsupported[0] != '\0') {
        report_skip(c->r, "%s", c->unsupported);
        c->unsupported[0] = '\0';
    } else {
        report_end(c->r);
    }
    cJSON_Delete(json);
}

void golden_run_functions(report *r, const char *directory)
{
    char folder[GOLDEN_PATH], models[GOLDEN_PATH], path[GOLDEN_PATH];
    golden_names names = {0};
    char unsupported[512] = "";
    context c = {.r = r, .folder = folder, .models = models, .unsupported = unsupported};
    if (!golden_path(folder, directory, "functions") || !golden_path(models, directory, "models") ||
        golden_list(&names, folder, NULL) != OCELLI_OK) {
        return;
    }
    for (size_t i = 0; i < names.count; i++) {
        size_t length = strlen(names.names[i]);
        if (length < 6 || strcmp(names.names[i] + length - 5, ".json") != 0 ||
            !golden_path(path, folder, names.names[i])) {
            continue;
        }
        names.names[i][length - 5] = '\0';
        if (report_begin(r, "functions", names.names[i])) {
            run_file(&c, names.names[i], path);
        }
    }
    golden_names_close(&names);
}
