/* golden_functions.c - functions/<kind>.json: size rules, frame choice, times, positions, rotary
 * tables, resampling, decoding. Each is called as the pipeline calls it. */
#include "tests/golden/golden_functions.h"

#include "tests/golden/golden_data.h"
#include "tests/golden/golden_sections.h"

#include "fusion/fuse.h"
#include "runtime/base/memory.h"
#include "runtime/config.h"
#include "vision/frames.h"
#include "vision/resize.h"

#include <stdio.h>
#include <string.h>

static const ocelli_image_options DROP_ALPHA = {.struct_size = sizeof(ocelli_image_options),
                                                .max_pixels = 100000000,
                                                .alpha = OCELLI_ALPHA_DROP};

bool golden_read_array(const golden_context *c, const cJSON *entry, const char *key, npy *out)
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

/* Whether the family that an entry names has a clip as one block; none: Qwen3-VL. */
static bool has_clips_in_one(const cJSON *entry)
{
    const char *name = golden_string(entry, "family");
    const oc_family *family = name != NULL ? oc_family_find(name) : NULL;
    return family != NULL && family->clip != OC_CLIP_PAIRS;
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

static void run_smart_resize_image(const golden_context *c, const cJSON *entry)
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

static void run_smart_resize_video(const golden_context *c, const cJSON *entry)
{
    oc_size_rule rule = {.factor = (int)whole(entry, "factor"),
                         .temporal = (int)golden_number(entry, "temporal_factor", 2),
                         .min_pixels = whole(entry, "min_pixels"),
                         .max_pixels = whole(entry, "max_pixels"),
                         .by_frame = has_clips_in_one(entry)};
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

static void run_sample_frames(const golden_context *c, const cJSON *entry)
{
    size_t total = (size_t)whole(entry, "total_frames");
    double fps = golden_number(entry, "source_fps", 24);
    oc_frame_rule rule = {.source_fps = fps,
                          .sample_fps = golden_number(entry, "fps", 0),
                          .frame_count = whole(entry, "num_frames"),
                          .min_frames = whole(entry, "min_frames"),
                          .max_frames = whole(entry, "max_frames"),
                          .even = has_clips_in_one(entry)};
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

static void run_timestamps(const golden_context *c, const cJSON *entry)
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

/* ---- pixels ---------------------------------------------------------------------------------- */

static ocelli_image *load_image(const golden_context *c, const cJSON *entry, const char *key)
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

static void run_resize(const golden_context *c, const cJSON *entry)
{
    npy want;
    int width = (int)whole(entry, "W"), height = (int)whole(entry, "H");
    ocelli_image *image = load_image(c, entry, "in");
    uint8_t *rgb = oc_alloc((size_t)height, (size_t)width * 3);
    ocelli_error err = {0};
    if (image != NULL && rgb != NULL && golden_read_array(c, entry, "out", &want)) {
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

static void run_decode(const golden_context *c, const cJSON *entry)
{
    npy want;
    ocelli_image *image = load_image(c, entry, "file");
    if (image != NULL && golden_read_array(c, entry, "rgb", &want)) {
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
    void (*run)(const golden_context *c, const cJSON *entry);
} KINDS[] = {
    {"smart_resize_image", run_smart_resize_image},
    {"smart_resize_video", run_smart_resize_video},
    {"sample_frames", run_sample_frames},
    {"timestamps", run_timestamps},
    {"rope_index", golden_rope_index},
    {"time_positions", golden_time_positions},
    {"vision_positions", golden_vision_positions},
    {"window_index", golden_window_index},
    {"text_rope", golden_text_rope},
    {"resize", run_resize},
    {"decode", run_decode},
};

static void run_file(const golden_context *c, const char *kind, const char *path)
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
    golden_context c = {.r = r, .folder = folder, .models = models, .unsupported = unsupported};
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
