/* cmd_eval.c - ocelli eval: how often a model answers as expected, and as the reference did. */
#include "tools/commands.h"
#include "tools/eval_items.h"
#include "tools/frames_folder.h"
#include "tools/medium.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/session_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
    const char *name;
    uint64_t count, right;
} tally;

/* Tallies by name, in order of first appearance. */
typedef struct tallies {
    tally *list; /* [count], room for every item */
    size_t count;
} tallies;

typedef struct score {
    tallies tasks, kinds;
    uint64_t count, right;       /* in all */
    uint64_t recorded, agreeing; /* items with a recorded answer, and answers equal to it */
    double seconds;
} score;

static void tally_add(tallies *t, const char *name, bool right)
{
    size_t i = 0;
    while (i < t->count && strcmp(t->list[i].name, name) != 0) {
        i++;
    }
    if (i == t->count) {
        t->list[t->count++] = (tally){name, 0, 0};
    }
    t->list[i].count++;
    t->list[i].right += right;
}

/* Equal but for white space at either end. */
static bool is_same(const char *a, const char *b)
{
    static const char space[] = " \t\r\n";
    a += strspn(a, space);
    b += strspn(b, space);
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    while (a_length > 0 && strchr(space, a[a_length - 1]) != NULL) {
        a_length--;
    }
    while (b_length > 0 && strchr(space, b[b_length - 1]) != NULL) {
        b_length--;
    }
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

/* ---- one item ------------------------------------------------------------------------------ */

static int load_frames(run *r, const char *folder, const cJSON *frames, double fps, medium *out)
{
    size_t count = (size_t)cJSON_GetArraySize(frames);
    char **paths = calloc(count, sizeof *paths);
    const cJSON *frame = NULL;
    size_t at = 0;
    bool good = paths != NULL;
    cJSON_ArrayForEach(frame, frames)
    {
        if (good) {
            paths[at] = folder_path(folder, frame->valuestring);
            good = paths[at] != NULL;
            at += good;
        }
    }
    int code = EXIT_FAILED;
    if (good) {
        code = medium_frames(r, folder, (const char *const *)paths, count, fps, out);
    } else {
        report_error("no memory");
    }
    for (size_t i = 0; i < at; i++) {
        free(paths[i]);
    }
    free(paths);
    return code;
}

static int load_medium(run *r, const char *folder, const cJSON *source, medium *out)
{
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "type"));
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "path"));
    const cJSON *frames = cJSON_GetObjectItemCaseSensitive(source, "frames");
    const cJSON *rate = cJSON_GetObjectItemCaseSensitive(source, "fps");
    double fps = rate != NULL ? rate->valuedouble : r->options->fps;
    bool is_video = strcmp(type, "video") == 0;
    if (is_video && frames != NULL) {
        return load_frames(r, folder, frames, fps, out);
    }
    char *path = folder_path(folder, name);
    if (path == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    int code =
        is_video ? medium_clip(r, path, fps, rate == NULL, out) : medium_picture(r, path, out);
    free(path);
    return code;
}

static int ask_item(run *r, const char *folder, const eval_item *item, answer *a)
{
    size_t count = (size_t)cJSON_GetArraySize(item->media);
    size_t loaded = 0;
    const cJSON *source = NULL;
    int code = EXIT_DONE;
    medium *media = calloc(count + 1, sizeof *media);
    if (media == NULL) {
        report_error("no memory");
        code = EXIT_FAILED;
    }
    cJSON_ArrayForEach(source, item->media)
    {
        if (code == EXIT_DONE) {
            code = load_medium(r, folder, source, &media[loaded]);
            loaded += code == EXIT_DONE;
        }
    }
    if (code == EXIT_DONE) {
        run_restart(r);
        code = run_add(r, media, count, item->question);
    }
    if (code == EXIT_DONE) {
        code = run_answer(r, NULL, true, media, count, a);
    }
    if (media != NULL) {
        media_free(media, loaded);
    }
    return code;
}

static void mark(const run *r, const eval_item *item, score *s)
{
    const char *given = ocelli_session_answer(r->session);
    bool right = is_same(given, item->expected);
    s->count++;
    s->right += right;
    tally_add(&s->tasks, item->task, right);
    tally_add(&s->kinds, item->kind, right);
    if (item->model_answer != NULL) {
        bool agrees = is_same(given, item->model_answer);
        s->recorded++;
        s->agreeing += agrees;
        if (!agrees && r->options->verbose) {
            report_note("%s: '%s' where '%s' is recorded and '%s' expected", item->id, given,
                        item->model_answer, item->expected);
        }
    }
}

/* ---- the result ---------------------------------------------------------------------------- */

static double percent(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void print_row(const char *name, uint64_t right, uint64_t count)
{
    output_format("%-20s %6" PRIu64 " of %6" PRIu64 "  %5.1f %%\n", name, right, count,
                  percent(right, count));
}

static void print_text(const score *s)
{
    output_format("by task\n");
    for (size_t i = 0; i < s->tasks.count; i++) {
        print_row(s->tasks.list[i].name, s->tasks.list[i].right, s->tasks.list[i].count);
    }
    output_format("by kind\n");
    for (size_t i = 0; i < s->kinds.count; i++) {
        print_row(s->kinds.list[i].name, s->kinds.list[i].right, s->kinds.list[i].count);
    }
    output_format("in all\n");
    print_row("as expected", s->right, s->count);
    if (s->recorded > 0) {
        print_row("as recorded", s->agreeing, s->recorded);
    }
}

static void add_tallies(cJSON *object, const char *key, const tallies *t)
{
    cJSON *group = cJSON_AddObjectToObject(object, key);
    for (size_t i = 0; i < t->count; i++) {
        cJSON *one = cJSON_AddObjectToObject(group, t->list[i].name);
        json_count(one, "items", t->list[i].count);
        json_count(one, "correct", t->list[i].right);
    }
}

static void print_json(const run *r, const score *s)
{
    cJSON *object = cJSON_CreateObject();
    json_text(object, "model", r->model_path);
    json_count(object, "items", s->count);
    json_count(object, "correct", s->right);
    cJSON_AddNumberToObject(object, "accuracy", percent(s->right, s->count) / 100);
    json_count(object, "recorded", s->recorded);
    json_count(object, "agreeing", s->agreeing);
    add_tallies(object, "tasks", &s->tasks);
    add_tallies(object, "kinds", &s->kinds);
    json_seconds(object, "seconds", s->seconds);
    output_json(object);
}

static void add_up(answer *total, const answer *a)
{
    total->encode_seconds += a->encode_seconds;
    total->image_tokens += a->image_tokens;
    total->result.prompt_tokens += a->result.prompt_tokens;
    total->result.reused_tokens += a->result.reused_tokens;
    total->result.new_tokens += a->result.new_tokens;
    total->result.prefill_seconds += a->result.prefill_seconds;
    total->result.decode_seconds += a->result.decode_seconds;
}

static int ask_all(run *r, const char *folder, const eval_items *items, size_t count, score *s,
                   answer *total)
{
    answer a;
    for (size_t i = 0; i < count; i++) {
        int code = ask_item(r, folder, &items->items[i], &a);
        if (code != EXIT_DONE) {
            if (code == EXIT_FAILED) {
                report_error("stopped at item '%s'", items->items[i].id);
            }
            return code;
        }
        mark(r, &items->items[i], s);
        add_up(total, &a);
        if (progress_overall("questions", i + 1, count) != 0) {
            return EXIT_INTERRUPTED;
        }
    }
    return EXIT_DONE;
}

static int evaluate(run *r, const char *folder, const eval_items *items, score *s)
{
    uint64_t limit = r->options->limit;
    size_t count = limit > 0 && limit < items->count ? (size_t)limit : items->count;
    answer total;
    memset(&total, 0, sizeof total);
    int code = run_open(r);
    if (code == EXIT_DONE) {
        double began = clock_seconds();
        code = ask_all(r, folder, items, count, s, &total);
        s->seconds = clock_seconds() - began;
        progress_overall_end();
    }
    if (code == EXIT_DONE && r->options->timings) {
        run_timings(r, &total);
    }
    return code;
}

int cmd_eval(const cli_options *options)
{
    run r;
    eval_items items;
    score s;
    memset(&s, 0, sizeof s);
    int code = eval_items_read(options->operands[0], &items);
    if (code != EXIT_DONE) {
        return code;
    }
    s.tasks.list = calloc(items.count, sizeof(tally));
    s.kinds.list = calloc(items.count, sizeof(tally));
    code = run_init(&r, options);
    if (code == EXIT_DONE && (s.tasks.list == NULL || s.kinds.list == NULL)) {
        report_error("no memory");
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE) {
        code = evaluate(&r, options->operands[0], &items, &s);
    }
    if (code == EXIT_DONE && options->json) {
        print_json(&r, &s);
    } else if (code == EXIT_DONE) {
        print_text(&s);
    }
    run_close(&r);
    free(s.tasks.list);
    free(s.kinds.list);
    eval_items_free(&items);
    return code;
}
