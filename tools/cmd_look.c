/* cmd_look.c - ocelli look: an answer, and where in the picture its tokens looked. */
#include "tools/commands.h"
#include "tools/draw.h"
#include "tools/dry_run.h"
#include "tools/flags.h"
#include "tools/inputs.h"
#include "tools/medium.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/session_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct look {
    const cli_options *options;
    run r;
    char *question;
    ocelli_image *image;
    medium medium;
    size_t rows, columns; /* of the map */
    float *map;           /* [rows, columns] */
    cJSON *tokens;        /* with --per-token; else NULL */
    double share;         /* sum over tokens */
    size_t token_count;
} look;

/* A share of all attention to six digits: what is left out is no one's business. */
static double round_weight(double weight)
{
    return round(weight * 1e6) / 1e6;
}

static cJSON *grid_json(const look *l, const float *map)
{
    cJSON *grid = cJSON_CreateArray();
    for (size_t y = 0; y < l->rows; y++) {
        cJSON *row = cJSON_CreateArray();
        for (size_t x = 0; x < l->columns; x++) {
            cJSON_AddItemToArray(row, cJSON_CreateNumber(round_weight(map[y * l->columns + x])));
        }
        cJSON_AddItemToArray(grid, row);
    }
    return grid;
}

static int on_token(void *user, const char *text, size_t length, const float *map, double share)
{
    look *l = user;
    l->share += share;
    l->token_count++;
    if (l->tokens != NULL) {
        char *copy = calloc(1, length + 1);
        cJSON *token = cJSON_CreateObject();
        if (copy != NULL) {
            memcpy(copy, text, length);
            json_text(token, "text", copy); /* a part of a character is mended */
        }
        cJSON_AddNumberToObject(token, "share", round_weight(share));
        cJSON_AddItemToObject(token, "map", grid_json(l, map));
        cJSON_AddItemToArray(l->tokens, token);
        free(copy);
    }
    return 0;
}

static int trace(look *l)
{
    ocelli_look_options options = OCELLI_LOOK_OPTIONS_INIT;
    ocelli_model_info model = {.struct_size = sizeof model};
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_model_describe(l->r.model, &model);
    ocelli_visual_describe(l->medium.visual, &info);
    l->rows = (size_t)(info.grid_h / model.merge_size);
    l->columns = (size_t)(info.grid_w / model.merge_size);
    l->map = calloc((size_t)info.tokens, sizeof *l->map);
    l->tokens = l->options->per_token ? cJSON_CreateArray() : NULL;
    if (l->map == NULL || (l->options->per_token && l->tokens == NULL)) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    options.relative = l->options->relative;
    options.on_token = on_token;
    options.user = l;
    options.progress = progress_show;
    ocelli_status status =
        ocelli_session_look(l->r.session, l->medium.visual, &options, l->map, &err);
    progress_end();
    return status == OCELLI_OK ? EXIT_DONE : report_failure(&err);
}

/* A character for each token of the picture, from little to most. */
static void print_map(const look *l)
{
    static const char shades[] = ".:-=+*#%@";
    float highest = 0;
    for (size_t i = 0; i < l->rows * l->columns; i++) {
        highest = l->map[i] > highest ? l->map[i] : highest;
    }
    for (size_t y = 0; y < l->rows; y++) {
        for (size_t x = 0; x < l->columns; x++) {
            float value = highest > 0 ? l->map[y * l->columns + x] / highest : 0;
            output_format("%c", shades[(size_t)(value * (float)(sizeof shades - 2) + 0.5f)]);
        }
        output_format("\n");
    }
    output_write("", 0);
}

static int show(look *l, const answer *a)
{
    int code = EXIT_DONE;
    if (l->options->draw != NULL) {
        code = draw_heat(l->options->draw, l->image, l->map, l->rows, l->columns);
    }
    if (code == EXIT_DONE && !l->options->json && l->options->draw == NULL) {
        print_map(l);
    }
    if (code == EXIT_DONE && l->options->json) {
        cJSON *object = run_answer_json(&l->r, l->question, a);
        json_text(object, "image", l->medium.name);
        cJSON_AddNumberToObject(object, "share", round_weight(l->share / (double)(l->token_count)));
        cJSON_AddItemToObject(object, "map", grid_json(l, l->map));
        if (l->tokens != NULL) {
            cJSON_AddItemToObject(object, "tokens", l->tokens);
            l->tokens = NULL;
        }
        output_json(object);
    }
    return code;
}

static int answer_and_trace(look *l)
{
    answer a;
    int code = run_add(&l->r, &l->medium, 1, l->question);
    if (code != EXIT_DONE || l->options->dry_run) {
        return code != EXIT_DONE ? code : dry_run_print(&l->r, &l->medium, 1, l->question);
    }
    run_last_medium(&l->r);
    code = run_answer(&l->r, NULL, false, &l->medium, 1, &a);
    if (code == EXIT_DONE && a.result.new_tokens == 0) {
        report_error("the answer is empty, so it looked nowhere");
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE) {
        code = trace(l);
    }
    if (code == EXIT_DONE) {
        code = show(l, &a);
    }
    if (code == EXIT_DONE && l->options->timings) {
        run_timings(&l->r, &a);
    }
    return code;
}

static int check(const cli_options *options)
{
    if (options->per_token && !options->json) {
        return flags_misuse("look", "--per-token is for --json");
    }
    int code = input_check_stdin("look", options->operands, 1);
    return code == EXIT_DONE && options->draw != NULL ? draw_check("look", options->draw, 1) : code;
}

int cmd_look(const cli_options *options)
{
    look l = {.options = options};
    int code = check(options);
    if (code == EXIT_DONE) {
        code =
            prompt_text("look", "the question", options->operands[1], options->escape, &l.question);
    }
    if (code == EXIT_DONE) {
        code = run_init(&l.r, options);
    }
    if (code == EXIT_DONE) {
        code = input_decode(options->operands[0], options, &l.image);
    }
    if (code == EXIT_DONE) {
        code = medium_decoded(&l.r, options->operands[0], l.image, &l.medium);
    }
    if (code == EXIT_DONE) {
        code = answer_and_trace(&l);
    }
    medium_free(&l.medium);
    run_close(&l.r);
    ocelli_image_free(l.image);
    cJSON_Delete(l.tokens);
    free(l.map);
    free(l.question);
    return code;
}
