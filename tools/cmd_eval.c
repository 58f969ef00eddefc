/* cmd_eval.c - ocelli eval: how often a model answers as expected, and as the reference did; with
 * --reference, how far its distributions lie from that model's. */
#include "tools/commands.h"
#include "tools/eval_ask.h"
#include "tools/eval_items.h"
#include "tools/eval_reference.h"
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

/* Media, answer and mark; and, with a reference, how far the distributions lie apart. */
static int ask_item(run *r, const char *folder, const eval_item *item, eval_reference *reference,
                    score *s, answer *a)
{
    medium *media;
    size_t count;
    int code = eval_media(r, folder, item, &media, &count);
    if (code != EXIT_DONE) {
        return code;
    }
    code = eval_ask(r, item, media, count, a);
    if (code == EXIT_DONE) {
        mark(r, item, s);
    }
    if (code == EXIT_DONE && reference != NULL) {
        code = eval_reference_compare(reference, folder, item, r, media, count);
    }
    media_free(media, count);
    return code;
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

/* All matrices of the decoder, the head included. */
static double bits_per_weight(const ocelli_model_info *info)
{
    uint64_t attention = info->hidden_size * info->head_dim * 2 * (info->heads + info->kv_heads);
    uint64_t dense = 3 * info->hidden_size * info->intermediate_size;
    uint64_t experts = info->experts * (3 * info->expert_intermediate_size + 1) * info->hidden_size;
    uint64_t weights = info->vocab_size * info->hidden_size + info->layers * attention +
                       (info->layers - info->sparse_layers) * dense + info->sparse_layers * experts;
    return 8.0 * (double)(info->decoder_bytes + info->head_bytes) / (double)weights;
}

static void describe(const run *r, ocelli_model_info *info)
{
    *info = (ocelli_model_info){.struct_size = sizeof *info};
    ocelli_model_describe(r->model, info);
}

static void print_distance(const run *r, eval_reference *reference)
{
    ocelli_model_info info;
    char decoder[32], head[32];
    divergences *found = &reference->found;
    describe(r, &info);
    format_bytes(decoder, sizeof decoder, info.decoder_bytes + info.head_bytes);
    format_bytes(head, sizeof head, info.head_bytes);
    output_format("against %s in float32\n", reference->run.model_path);
    print_row("same likeliest", found->agreeing, found->count);
    output_format("%-20s mean %.6f, 99th percentile %.6f nats\n", "KL divergence",
                  divergences_mean(found), divergences_quantile(found, 0.99));
    output_format("%-20s %s, of it the head %s; %.2f bits a weight\n", "decoder", decoder, head,
                  bits_per_weight(&info));
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

static void add_distance(cJSON *object, const run *r, eval_reference *reference)
{
    ocelli_model_info info;
    divergences *found = &reference->found;
    cJSON *group = cJSON_AddObjectToObject(object, "against");
    describe(r, &info);
    json_text(group, "model", reference->run.model_path);
    json_count(group, "positions", found->count);
    json_count(group, "same_likeliest", found->agreeing);
    cJSON_AddNumberToObject(group, "kl_mean", divergences_mean(found));
    cJSON_AddNumberToObject(group, "kl_p99", divergences_quantile(found, 0.99));
    json_count(group, "decoder_bytes", info.decoder_bytes);
    json_count(group, "head_bytes", info.head_bytes);
    cJSON_AddNumberToObject(group, "bits_per_weight", bits_per_weight(&info));
}

static void print_json(const run *r, const score *s, eval_reference *reference)
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
    if (reference != NULL) {
        add_distance(object, r, reference);
    }
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

static int ask_all(run *r, const char *folder, const eval_items *items, size_t count,
                   eval_reference *reference, score *s, answer *total)
{
    answer a;
    for (size_t i = 0; i < count; i++) {
        int code = ask_item(r, folder, &items->items[i], reference, s, &a);
        if (code != EXIT_DONE) {
            if (code == EXIT_FAILED) {
                report_error("stopped at item '%s'", items->items[i].id);
            }
            return code;
        }
        add_up(total, &a);
        if (progress_overall("questions", i + 1, count) != 0) {
            return EXIT_INTERRUPTED;
        }
    }
    return EXIT_DONE;
}

static int evaluate(run *r, const char *folder, const eval_items *items, eval_reference *reference,
                    score *s)
{
    uint64_t limit = r->options->limit;
    size_t count = limit > 0 && limit < items->count ? (size_t)limit : items->count;
    answer total;
    memset(&total, 0, sizeof total);
    int code = run_open(r);
    if (code == EXIT_DONE && reference != NULL) {
        code = eval_reference_open(reference, r->options, r->options->reference);
    }
    if (code == EXIT_DONE) {
        double began = clock_seconds();
        code = ask_all(r, folder, items, count, reference, s, &total);
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
    eval_reference held;
    eval_reference *reference = options->reference != NULL ? &held : NULL;
    memset(&s, 0, sizeof s);
    memset(&held, 0, sizeof held);
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
        code = evaluate(&r, options->operands[0], &items, reference, &s);
    }
    if (code == EXIT_DONE && options->json) {
        print_json(&r, &s, reference);
    } else if (code == EXIT_DONE) {
        print_text(&s);
        if (reference != NULL) {
            print_distance(&r, reference);
        }
    }
    eval_reference_close(&held);
    run_close(&r);
    free(s.tasks.list);
    free(s.kinds.list);
    eval_items_free(&items);
    return code;
}
