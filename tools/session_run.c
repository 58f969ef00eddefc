/* session_run.c - see session_run.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/session_run.h"
#include "tools/flags.h"
#include "tools/interrupt.h"
#include "tools/model_choice.h"
#include "tools/output.h"
#include "tools/picture_cache.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- opening ------------------------------------------------------------------------------- */

int run_init(run *r, const cli_options *options)
{
    memset(r, 0, sizeof *r);
    r->options = options;
    if (options->system != NULL) {
        int code =
            prompt_text(options->command, "--system", options->system, options->escape, &r->system);
        if (code != EXIT_DONE) {
            return code;
        }
    }
    if (options->temperature == 0 &&
        (options->given[FLAG_TOP_K] || options->given[FLAG_TOP_P] || options->given[FLAG_MIN_P] ||
         options->given[FLAG_REPETITION_PENALTY] || options->given[FLAG_PRESENCE_PENALTY])) {
        report_note("the sampler flags have no effect at --temperature 0");
    }
    return picture_cache_open(options, &r->cache);
}

/* Pictures come with every command but these, where they are operands or come later. */
static bool needs_vision(const cli_options *options)
{
    if (strcmp(options->command, "ask") == 0) {
        return options->operand_count > 1; /* the last one is the question */
    }
    return strcmp(options->command, "chat") != 0 || options->operand_count > 0;
}

static int open_model(run *r)
{
    ocelli_model_options options;
    ocelli_error err = {OCELLI_OK, ""};
    if (!model_options(r->options, &options)) {
        return EXIT_FAILED;
    }
    options.plan_only = r->options->dry_run;
    options.needs_vision = needs_vision(r->options);
    double began = clock_seconds();
    ocelli_status status = ocelli_model_open(&r->model, r->model_path, &options, &err);
    progress_end();
    r->load_seconds = clock_seconds() - began;
    if (status != OCELLI_OK) {
        return report_failure(&err);
    }
    return interrupt_pending() ? EXIT_INTERRUPTED : EXIT_DONE;
}

ocelli_status run_session_open(const run *r, ocelli_session **out, ocelli_error *err)
{
    ocelli_session_options options = OCELLI_SESSION_OPTIONS_INIT;
    options.context_tokens = r->options->context;
    options.special_tokens_in_text = r->options->special_tokens;
    options.vision_ids = r->options->vision_ids;
    return ocelli_session_open(out, r->model, &options, err);
}

static int open_session(run *r)
{
    ocelli_error err = {OCELLI_OK, ""};
    if (run_session_open(r, &r->session, &err) != OCELLI_OK) {
        return report_failure(&err);
    }
    return EXIT_DONE;
}

int run_open(run *r)
{
    if (r->session != NULL) {
        return EXIT_DONE;
    }
    if (r->broken) {
        return EXIT_FAILED;
    }
    int code = model_choose(r->options->model, &r->model_path);
    if (code == EXIT_DONE) {
        code = open_model(r);
    }
    if (code == EXIT_DONE) {
        code = open_session(r);
    }
    r->broken = code != EXIT_DONE;
    return code;
}

void run_close(run *r)
{
    ocelli_session_close(r->session);
    ocelli_model_close(r->model);
    ocelli_visual_cache_close(r->cache);
    free(r->model_path);
    free(r->system);
    memset(r, 0, sizeof *r);
}

void run_restart(run *r)
{
    if (r->session != NULL) {
        ocelli_session_reset(r->session);
    }
    r->begun = false;
}

/* ---- the prompt ---------------------------------------------------------------------------- */

int prompt_text(const char *command, const char *what, const char *text, bool escape, char **out)
{
    size_t bad = 0;
    *out = NULL;
    if (*text == '\0') {
        return flags_misuse(command, "%s is empty", what);
    }
    if (!text_is_utf8(text, strlen(text), &bad)) {
        return flags_misuse(command, "%s is not UTF-8: byte %zu is 0x%02x", what, bad + 1,
                            (unsigned)(unsigned char)text[bad]);
    }
    *out = escape ? text_unescape(text) : text_copy(text);
    if (*out == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

int run_add(run *r, const medium *media, size_t count, const char *text)
{
    ocelli_error err = {OCELLI_OK, ""};
    if (!r->begun && r->system != NULL) {
        ocelli_part part = {r->system, NULL};
        if (ocelli_session_add(r->session, OCELLI_SYSTEM, &part, 1, &err) != OCELLI_OK) {
            return report_failure(&err);
        }
    }
    r->begun = true;
    ocelli_part *parts = calloc(count + 1, sizeof *parts);
    if (parts == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < count; i++) {
        parts[i].visual = media[i].visual;
    }
    parts[count].text = text;
    ocelli_status status = ocelli_session_add(r->session, OCELLI_USER, parts, count + 1, &err);
    free(parts);
    return status == OCELLI_OK ? EXIT_DONE : report_failure(&err);
}

void run_last_medium(run *r)
{
    if (r->model != NULL) {
        ocelli_model_release_vision(r->model);
    }
}

int run_plan(run *r, ocelli_session_plan *plan)
{
    ocelli_error err = {OCELLI_OK, ""};
    memset(plan, 0, sizeof *plan);
    plan->struct_size = sizeof *plan;
    plan->memory.struct_size = sizeof plan->memory;
    if (ocelli_session_describe(r->session, (size_t)r->options->max_tokens, plan, &err) !=
        OCELLI_OK) {
        return report_failure(&err);
    }
    return EXIT_DONE;
}

/* ---- the answer ---------------------------------------------------------------------------- */

typedef struct stream {
    const char *prefix; /* written before the first piece; NULL once it has been */
    bool silent;
    bool open; /* something of the line has been written */
} stream;

static void stream_open(stream *s)
{
    interrupt_line_open(true);
    s->open = true;
    if (s->prefix != NULL) {
        output_write(s->prefix, strlen(s->prefix));
        s->prefix = NULL;
    }
}

static int on_piece(void *user, const char *text, size_t length)
{
    stream *s = user;
    progress_end();
    if (!s->silent) {
        stream_open(s);
        output_write(text, length);
    }
    return interrupt_pending() || output_failed();
}

static void say_why_it_ended(const run *r, ocelli_stop stop)
{
    if (stop == OCELLI_STOP_LENGTH) {
        report_note("the answer was ended after %" PRIu64 " tokens (--max-tokens)",
                    r->options->max_tokens);
    } else if (stop == OCELLI_STOP_CONTEXT) {
        report_note("the answer was ended because the context is full (--context)");
    } else if (stop == OCELLI_STOP_REPETITION) {
        report_note(
            "the answer was ended because it repeats itself (--no-repetition-stop lets it)");
    }
}

void run_generate_options(const cli_options *options, ocelli_generate_options *out)
{
    *out = (ocelli_generate_options)OCELLI_GENERATE_OPTIONS_INIT;
    out->max_tokens = (size_t)options->max_tokens;
    out->temperature = (float)options->temperature;
    out->top_k = (int)options->top_k;
    out->top_p = (float)options->top_p;
    out->min_p = (float)options->min_p;
    out->repetition_penalty = (float)options->repetition_penalty;
    out->presence_penalty = (float)options->presence_penalty;
    out->seed = options->seed;
    out->stop_repetition = !options->no_repetition_stop;
    out->progress = progress_show;
}

int run_answer(run *r, const char *prefix, bool silent, const medium *media, size_t count,
               answer *out)
{
    ocelli_generate_options options;
    ocelli_error err = {OCELLI_OK, ""};
    run_generate_options(r->options, &options);
    options.choose = r->choose;
    options.choose_user = r->choose_user;

    memset(out, 0, sizeof *out);
    out->result.struct_size = sizeof out->result;
    for (size_t i = 0; i < count; i++) {
        ocelli_visual_info info = {.struct_size = sizeof info};
        ocelli_visual_describe(media[i].visual, &info);
        out->encode_seconds += info.encode_seconds;
        out->cache_seconds += info.cache_seconds;
        out->image_tokens += info.tokens;
        out->from_memory += info.hit == OCELLI_HIT_MEMORY;
        out->from_disk += info.hit == OCELLI_HIT_DISK;
    }
    out->media = count;
    stream s = {prefix, silent || r->options->json, false};
    ocelli_status status =
        ocelli_session_generate(r->session, &options, on_piece, &s, &out->result, &err);
    progress_end();
    if (!s.silent && status == OCELLI_OK) {
        stream_open(&s); /* an empty answer has its line too */
    }
    if (s.open) {
        output_write("\n", 1);
    }
    interrupt_line_open(false);
    if (interrupt_pending() && (status == OCELLI_OK || status == OCELLI_E_CANCELLED)) {
        return EXIT_INTERRUPTED;
    }
    if (status != OCELLI_OK) {
        return report_failure(&err);
    }
    if (output_failed()) {
        return EXIT_FAILED; /* output_close says why */
    }
    if (!silent) {
        say_why_it_ended(r, out->result.stop);
    }
    return EXIT_DONE;
}

cJSON *run_answer_json(const run *r, const char *question, const answer *a)
{
    cJSON *object = cJSON_CreateObject();
    cJSON *seconds = NULL;
    if (object == NULL) {
        return NULL;
    }
    json_text(object, "question", question);
    json_text(object, "answer", ocelli_session_answer(r->session));
    json_text(object, "finish_reason", ocelli_stop_name(a->result.stop));
    json_count(object, "prompt_tokens", a->result.prompt_tokens);
    json_count(object, "image_tokens", a->image_tokens);
    json_count(object, "reused_tokens", a->result.reused_tokens);
    json_count(object, "new_tokens", a->result.new_tokens);
    cJSON *cached = cJSON_AddObjectToObject(object, "cached");
    json_count(cached, "memory", a->from_memory);
    json_count(cached, "disk", a->from_disk);
    seconds = cJSON_AddObjectToObject(object, "seconds");
    json_seconds(seconds, "load", r->load_seconds);
    json_seconds(seconds, "encode", a->encode_seconds);
    json_seconds(seconds, "cache", a->cache_seconds);
    json_seconds(seconds, "prefill", a->result.prefill_seconds);
    json_seconds(seconds, "decode", a->result.decode_seconds);
    json_text(object, "model", r->model_path);
    json_count(object, "seed", r->options->seed);
    return object;
}

static double rate(uint64_t tokens, double seconds)
{
    return seconds > 0 ? (double)tokens / seconds : 0;
}

void run_timings(const run *r, const answer *a)
{
    struct rusage usage;
    uint64_t computed = a->result.prompt_tokens - a->result.reused_tokens;
    report_plain("load     %10.3f s", r->load_seconds);
    char hits[96];
    picture_cache_label(hits, sizeof hits, a->media, a->from_memory, a->from_disk);
    report_plain("encode   %10.3f s, %" PRIu64 " image tokens%s", a->encode_seconds,
                 a->image_tokens, hits);
    if (picture_cache_folder(r->options) != NULL && a->media > 0) {
        report_plain("cache    %10.3f s", a->cache_seconds);
    }
    report_plain("prefill  %10.3f s, %" PRIu64 " tokens (%.1f/s), %" PRIu64 " more from the cache",
                 a->result.prefill_seconds, computed, rate(computed, a->result.prefill_seconds),
                 a->result.reused_tokens);
    report_plain("decode   %10.3f s, %" PRIu64 " tokens (%.1f/s)", a->result.decode_seconds,
                 a->result.new_tokens, rate(a->result.new_tokens, a->result.decode_seconds));
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        char peak[32];
#ifdef __APPLE__
        format_bytes(peak, sizeof peak, (uint64_t)usage.ru_maxrss);
#else
        format_bytes(peak, sizeof peak, (uint64_t)usage.ru_maxrss * 1024);
#endif
        report_plain("memory   %12s at most", peak);
    }
}
