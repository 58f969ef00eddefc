/* dry_run.c - see dry_run.h. */
#include "tools/dry_run.h"
#include "tools/output.h"
#include "tools/text_bytes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A name safe to print, freed by the caller; NULL: no memory, and "?" will do. */
static char *visible(const char *name)
{
    size_t room = strlen(name) * 4 + 1;
    char *out = malloc(room);
    if (out != NULL) {
        text_visible(out, room, name);
    }
    return out;
}

static void print_name(const char *before, const char *name, const char *after)
{
    char *shown = visible(name);
    output_format("%s%s%s", before, shown != NULL ? shown : "?", after);
    free(shown);
}

/* As far as the model is told them. */
static void print_times(const run *r, const medium *m, const ocelli_visual_info *visual)
{
    ocelli_model_info info = {.struct_size = sizeof info};
    ocelli_model_describe(r->model, &info);
    if (info.clip_times == OCELLI_CLIP_ORDER) {
        output_format("  times      none: this family is told only the order\n");
        return;
    }
    if (info.clip_times == OCELLI_CLIP_SECONDS) {
        output_format("  times      %g s from one pair to the next\n",
                      (double)info.temporal_patch_size / m->used_fps);
        return;
    }
    output_format("  times     ");
    for (uint64_t i = 0; visual->timestamps != NULL && i < visual->grid_t; i++) {
        output_format(" %.1f", visual->timestamps[i]);
    }
    output_format(" s, one for each pair\n");
}

static void print_medium(const run *r, const medium *m, size_t number)
{
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_visual_describe(m->visual, &info);
    output_format("%s %zu    ", m->is_video ? "clip   " : "picture", number);
    print_name("", m->name, "\n");
    if (m->is_video) {
        output_format("  rate       %g frames a second%s\n", m->fps,
                      m->fps_assumed ? " (assumed; --fps says it)"
                      : m->fps_mean  ? " on average"
                                     : "");
        output_format("  frames     %zu found, %zu used, %" PRIu64 " pairs\n", m->frames_found,
                      m->frame_count, info.grid_t);
        for (size_t i = 0; i < m->frame_count; i++) {
            print_name("    ", m->frame_names[i], "");
            output_format("  %.3f s\n", m->frame_seconds[i]);
        }
        print_times(r, m, &info);
    }
    output_format("  source     %dx%d pixels\n", info.source_width, info.source_height);
    output_format("  resized    %dx%d pixels, grid %" PRIu64 " x %" PRIu64 " patches\n", info.width,
                  info.height, info.grid_w, info.grid_h);
    output_format("  tokens     %" PRIu64 "\n", info.tokens);
}

static void print_memory(const ocelli_memory *memory)
{
    char weights[32], cache[32], scratch[32], rows[32], total[32];
    format_bytes(weights, sizeof weights, memory->weights);
    format_bytes(cache, sizeof cache, memory->kv_cache);
    format_bytes(scratch, sizeof scratch, memory->scratch);
    format_bytes(rows, sizeof rows, memory->visual_rows);
    format_bytes(total, sizeof total, memory->total);
    output_format("memory       %s: weights %s, cache %s, scratch %s, pictures %s\n", total,
                  weights, cache, scratch, rows);
}

/* The bounds of the size rule: the flags where they are given, else the model's for pictures. */
static void pixel_limits(const run *r, uint64_t *least, uint64_t *most)
{
    ocelli_model_info info = {.struct_size = sizeof info};
    ocelli_model_describe(r->model, &info);
    *least = r->options->min_pixels > 0 ? r->options->min_pixels : info.image_min_pixels;
    *most = r->options->max_pixels > 0 ? r->options->max_pixels : info.image_max_pixels;
}

static bool has_picture(const medium *media, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!media[i].is_video) {
            return true;
        }
    }
    return false;
}

static void print_limits(const run *r, const medium *media, size_t count)
{
    uint64_t least = 0, most = 0;
    pixel_limits(r, &least, &most);
    if (has_picture(media, count)) {
        output_format("limits       %" PRIu64 " to %" PRIu64 " pixels a picture\n", least, most);
        return;
    }
    /* A clip's bounds of its own are in the model; only what was asked for is known here. */
    if (r->options->min_pixels > 0) {
        output_format("limits       at least %" PRIu64 " pixels, all frames together\n", least);
    }
    if (r->options->max_pixels > 0) {
        output_format("limits       at most %" PRIu64 " pixels, all frames together\n", most);
    }
}

static bool fits(const run *r, const ocelli_session_plan *plan)
{
    (void)r;
    return plan->prompt_tokens < plan->context_tokens;
}

static void print_text(const run *r, const medium *media, size_t count,
                       const ocelli_session_plan *plan)
{
    for (size_t i = 0; i < count; i++) {
        print_medium(r, &media[i], i + 1);
    }
    print_limits(r, media, count);
    output_format("prompt       %" PRIu64 " tokens, of them %" PRIu64 " for pictures\n",
                  plan->prompt_tokens, plan->visual_tokens);
    output_format("answer       up to %" PRIu64 "\n", r->options->max_tokens);
    output_format("context      %" PRIu64 "%s\n", plan->context_tokens,
                  fits(r, plan) ? "" : ": the prompt does not fit");
    print_memory(&plan->memory);
}

void dry_run_medium_json(cJSON *object, const medium *m)
{
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_visual_describe(m->visual, &info);
    json_text(object, "path", m->name);
    json_text(object, "type", m->is_video ? "video" : "image");
    json_count(object, "source_width", (uint64_t)info.source_width);
    json_count(object, "source_height", (uint64_t)info.source_height);
    json_count(object, "width", (uint64_t)info.width);
    json_count(object, "height", (uint64_t)info.height);
    cJSON *grid = cJSON_AddArrayToObject(object, "grid"); /* time, rows, columns of patches */
    cJSON_AddItemToArray(grid, cJSON_CreateNumber((double)info.grid_t));
    cJSON_AddItemToArray(grid, cJSON_CreateNumber((double)info.grid_h));
    cJSON_AddItemToArray(grid, cJSON_CreateNumber((double)info.grid_w));
    json_count(object, "tokens", info.tokens);
    if (!m->is_video) {
        return;
    }
    cJSON_AddNumberToObject(object, "fps", m->fps);
    cJSON_AddBoolToObject(object, "fps_assumed", m->fps_assumed);
    json_count(object, "frames_found", m->frames_found);
    cJSON *frames = cJSON_AddArrayToObject(object, "frames");
    for (size_t i = 0; i < m->frame_count; i++) {
        cJSON *frame = cJSON_CreateObject();
        cJSON_AddItemToArray(frames, frame);
        json_text(frame, "name", m->frame_names[i]);
        json_seconds(frame, "seconds", m->frame_seconds[i]);
    }
    cJSON *times = cJSON_AddArrayToObject(object, "timestamps");
    for (uint64_t i = 0; info.timestamps != NULL && i < info.grid_t; i++) {
        cJSON_AddItemToArray(times, cJSON_CreateNumber(info.timestamps[i]));
    }
}

static cJSON *dry_run_json(const run *r, const medium *media, size_t count, const char *question,
                           const ocelli_session_plan *plan)
{
    uint64_t least = 0, most = 0;
    cJSON *object = cJSON_CreateObject();
    if (object == NULL) {
        return NULL;
    }
    cJSON_AddBoolToObject(object, "dry_run", true);
    json_text(object, "question", question);
    cJSON *list = cJSON_AddArrayToObject(object, "media");
    for (size_t i = 0; i < count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToArray(list, item);
        dry_run_medium_json(item, &media[i]);
    }
    if (has_picture(media, count)) {
        pixel_limits(r, &least, &most);
        json_count(object, "min_pixels", least);
        json_count(object, "max_pixels", most);
    }
    json_count(object, "prompt_tokens", plan->prompt_tokens);
    json_count(object, "image_tokens", plan->visual_tokens);
    json_count(object, "max_tokens", r->options->max_tokens);
    json_count(object, "context_tokens", plan->context_tokens);
    cJSON_AddBoolToObject(object, "fits", fits(r, plan));
    cJSON *memory = cJSON_AddObjectToObject(object, "memory");
    json_count(memory, "weights", plan->memory.weights);
    json_count(memory, "kv_cache", plan->memory.kv_cache);
    json_count(memory, "scratch", plan->memory.scratch);
    json_count(memory, "visual_rows", plan->memory.visual_rows);
    json_count(memory, "total", plan->memory.total);
    json_text(object, "model", r->model_path);
    return object;
}

int dry_run_print(run *r, const medium *media, size_t count, const char *question)
{
    ocelli_session_plan plan;
    int code = run_plan(r, &plan);
    if (code != EXIT_DONE) {
        return code;
    }
    if (r->options->json) {
        output_json(dry_run_json(r, media, count, question, &plan));
    } else {
        print_text(r, media, count, &plan);
    }
    return EXIT_DONE;
}
