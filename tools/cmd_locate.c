/* cmd_locate.c - ocelli locate: where things are in pictures, as boxes or points in their pixels. */
#include "tools/commands.h"
#include "tools/draw.h"
#include "tools/dry_run.h"
#include "tools/each_picture.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/session_run.h"
#include "tools/text_bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct locate {
    const cli_options *options;
    char *what; /* looked for */
    batch_list list;
    char **drawings; /* [list.count] names in the folder of --draw; NULL: one FILE, or none */
} locate;

/* Room for what a message shows of an answer; a longer one is cut there. */
enum { MOST_SHOWN = 400 };

/* Hundredths of a pixel are finer than any answer. */
static double round_place(double place)
{
    return round(place * 100) / 100;
}

static int refuse(const each_picture *at, const char *said, const char *why)
{
    char shown[4 * MOST_SHOWN + 1], cut[MOST_SHOWN + 1];
    size_t length = strlen(said), bad;
    memcpy(cut, said, length < MOST_SHOWN ? length : MOST_SHOWN);
    cut[length < MOST_SHOWN ? length : MOST_SHOWN] = '\0';
    if (!text_is_utf8(cut, strlen(cut), &bad)) {
        cut[bad] = '\0'; /* cut inside a character */
    }
    text_visible(shown, sizeof shown, cut);
    report_error("%s: the answer says no place: %s", at->item->path, why);
    report_error("the answer was: %s%s", shown, length > MOST_SHOWN ? "..." : "");
    return EXIT_FAILED;
}

/* ---- printing ------------------------------------------------------------------------------- */

static cJSON *item_json(const grounding_item *item)
{
    cJSON *object = cJSON_CreateObject();
    json_text(object, "label", item->label);
    cJSON *at = cJSON_AddArrayToObject(object, item->is_point ? "point" : "box");
    for (size_t i = 0; i < (item->is_point ? 2u : 4u); i++) {
        cJSON_AddItemToArray(at, cJSON_CreateNumber(round_place(item->at[i])));
    }
    return object;
}

static void print_json(const locate *l, const each_picture *at, const grounding_scale *scale,
                       const grounding *g)
{
    cJSON *object = cJSON_CreateObject();
    json_text(object, "image", at->item->path);
    json_count(object, "width", (uint64_t)scale->source_width);
    json_count(object, "height", (uint64_t)scale->source_height);
    json_text(object, "query", l->what);
    cJSON *boxes = cJSON_AddArrayToObject(object, "boxes");
    cJSON *points = cJSON_AddArrayToObject(object, "points");
    for (size_t i = 0; i < g->count; i++) {
        cJSON_AddItemToArray(g->items[i].is_point ? points : boxes, item_json(&g->items[i]));
    }
    output_json(object);
}

/* "red car 10,20,30.5,40", after the picture's name if there are several. */
static int print_lines(const each_picture *at, const grounding *g, bool several)
{
    for (size_t i = 0; i < g->count; i++) {
        const grounding_item *item = &g->items[i];
        size_t room = 4 * (strlen(at->item->path) + strlen(item->label)) + 1;
        char *shown = malloc(room);
        if (shown == NULL) {
            report_error("no memory");
            return EXIT_FAILED;
        }
        if (several) {
            text_visible(shown, room, at->item->path);
            output_format("%s: ", shown);
        }
        text_visible(shown, room, item->label);
        output_format("%s %g,%g", shown, round_place(item->at[0]), round_place(item->at[1]));
        if (!item->is_point) {
            output_format(",%g,%g", round_place(item->at[2]), round_place(item->at[3]));
        }
        output_format("\n");
        free(shown);
    }
    output_write("", 0);
    return EXIT_DONE;
}

static int tell(const locate *l, const each_picture *at, const grounding_scale *scale,
                const grounding *g)
{
    if (l->options->draw != NULL) { /* first, so that what is printed has been drawn */
        const char *path = l->drawings != NULL ? l->drawings[at->index] : l->options->draw;
        int code = draw_grounding(path, at->image, g);
        if (code != EXIT_DONE) {
            return code;
        }
    }
    if (g->count == 0) {
        report_note("%s: nothing found that is %s", at->item->path, l->what);
    }
    if (l->options->json) {
        print_json(l, at, scale, g);
        return EXIT_DONE;
    }
    return print_lines(at, g, l->list.count > 1);
}

/* ---- asking --------------------------------------------------------------------------------- */

static int read_answer(const locate *l, const each_picture *at, const answer *a,
                       ocelli_grounding form)
{
    ocelli_visual_info info = {.struct_size = sizeof info};
    const char *said = ocelli_session_answer(at->r->session);
    grounding found;
    char why[300];
    ocelli_visual_describe(at->medium->visual, &info);
    const grounding_scale scale = {form, info.width, info.height, info.source_width,
                                   info.source_height};
    if (a->result.stop != OCELLI_STOP_END) {
        return refuse(at, said,
                      a->result.stop == OCELLI_STOP_LENGTH
                          ? "it was cut short (--max-tokens gives it more room)"
                          : "it did not come to its end");
    }
    if (!grounding_read(said, &scale, l->what, &found, why, sizeof why)) {
        return refuse(at, said, why);
    }
    int code = tell(l, at, &scale, &found);
    grounding_free(&found);
    return code;
}

static int locate_one(void *user, const each_picture *at)
{
    const locate *l = user;
    ocelli_model_info info = {.struct_size = sizeof info};
    answer a;
    ocelli_model_describe(at->r->model, &info);
    if (l->options->points && info.grounding == OCELLI_GROUNDING_PAIRS) {
        report_error("the models of %s have no form for points; take boxes", info.family);
        at->r->broken = true; /* it will be so for every picture */
        return EXIT_FAILED;
    }
    char *question = grounding_question(info.grounding, l->options->points, l->what);
    if (question == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    run_restart(at->r);
    int code = run_add(at->r, at->medium, 1, question);
    if (code == EXIT_DONE && l->options->dry_run) {
        code = dry_run_print(at->r, at->medium, 1, question);
    } else if (code == EXIT_DONE) {
        code = run_answer(at->r, NULL, true, at->medium, 1, &a);
        if (code == EXIT_DONE) {
            code = read_answer(l, at, &a, info.grounding);
            if (l->options->timings) {
                run_timings(at->r, &a);
            }
        }
    }
    free(question);
    return code;
}

int cmd_locate(const cli_options *options)
{
    run r = {.options = options};
    locate l = {.options = options};
    size_t count = options->operand_count - 1;
    int code = prompt_text("locate", "what is looked for", options->operands[count],
                           options->escape, &l.what);
    if (code == EXIT_DONE) {
        code = each_picture_list(&l.list, options, count);
    }
    if (code == EXIT_DONE && options->draw != NULL) {
        code = draw_check("locate", options->draw, l.list.count);
    }
    if (code == EXIT_DONE && options->draw != NULL && l.list.count > 1) {
        code = each_picture_names(&l.list, options->draw, ".png", &l.drawings);
    }
    if (code == EXIT_DONE) {
        code = run_init(&r, options);
    }
    if (code == EXIT_DONE) {
        code = each_picture_run(&r, &l.list, locate_one, &l);
    }
    run_close(&r);
    each_picture_names_free(&l.list, l.drawings);
    batch_list_free(&l.list);
    free(l.what);
    return code;
}
