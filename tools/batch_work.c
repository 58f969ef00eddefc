/* batch_work.c - see batch_work.h. Read batch_work_run first. */
#define _POSIX_C_SOURCE 200809L

#include "tools/batch_work.h"
#include "tools/batch_feed.h"
#include "tools/free_memory.h"
#include "tools/interrupt.h"
#include "tools/medium.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pictures of one pass of the tower, and the tokens that they may have together: beyond these its
 * weights are long paid for, and its scratch only grows. */
enum { MOST_ENCODED = 8, MOST_ENCODED_TOKENS = 2048 };

/* A picture that is being answered. */
typedef struct slot {
    ocelli_session *session; /* kept for the next picture */
    ocelli_visual *visual;   /* NULL: the slot is free */
    size_t job;
    size_t prompt; /* being answered */
} slot;

/* A picture that is decoded and fits; to be encoded. */
typedef struct ready {
    size_t job;
    ocelli_image *image;
    uint64_t tokens;
    int width, height;
} ready;

typedef struct state {
    batch_work *work;
    batch_feed *feed;
    ocelli_batch *batch;
    slot *slots; /* [most] */
    size_t most; /* --batch */
    size_t room; /* of them that memory allows */
    size_t used;
    uint64_t budget; /* bytes for caches */
    uint64_t widest; /* bytes of the largest cache so far */
    ocelli_generate_options options;
    ready held[MOST_ENCODED]; /* [held_count] taken from the feed */
    size_t held_count;
    bool over; /* the feed has no more */
} state;

/* ---- the end of a job ---------------------------------------------------------------------- */

static int fail_job(state *s, size_t index, const char *message)
{
    batch_job *job = &s->work->jobs[index];
    job->error = text_copy(message);
    job->state = JOB_FAILED;
    if (job->error == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    return s->work->done(s->work->user, index);
}

/* A library message, with the picture's name if it does not have it. */
static int fail_job_error(state *s, size_t index, const ocelli_error *err)
{
    char message[1400];
    const char *path = s->work->jobs[index].item->path;
    if (interrupt_pending()) {
        return EXIT_INTERRUPTED;
    }
    if (strstr(err->message, path) != NULL) {
        return fail_job(s, index, err->message);
    }
    snprintf(message, sizeof message, "%.800s: %s", path, err->message);
    return fail_job(s, index, message);
}

/* ---- from the feed to the tower ------------------------------------------------------------ */

/* What the caches of one more answer take at most. */
static uint64_t answer_bytes(const state *s, uint64_t tokens)
{
    ocelli_memory memory = {.struct_size = sizeof memory};
    uint64_t most = s->work->run->options->retry_length > s->options.max_tokens
                        ? s->work->run->options->retry_length
                        : s->options.max_tokens;
    most =
        most < 1024 ? most : 1024; /* longer answers are rare, and their room comes as they grow */
    if (ocelli_memory_estimate(s->work->run->model, tokens + 128 + most, tokens, &memory, NULL) !=
        OCELLI_OK) {
        return 0;
    }
    return memory.kv_cache + memory.visual_rows;
}

/* Takes one decoded picture and asks what it will need; it is held, or has failed. */
static int hold_one(state *s)
{
    feed_piece piece;
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_visual *plan = NULL;
    ocelli_visual_options options = medium_visual_options(s->work->run);
    if (!feed_take(s->feed, &piece)) {
        s->over = true;
        return interrupt_pending() ? EXIT_INTERRUPTED : EXIT_DONE;
    }
    batch_job *job = &s->work->jobs[piece.job];
    job->file_seconds = piece.seconds;
    s->work->times.file += piece.seconds;
    if (piece.image == NULL) {
        int code = fail_job(s, piece.job, piece.error != NULL ? piece.error : "no memory");
        free(piece.error);
        return code;
    }
    options.plan_only = 1;
    if (ocelli_encode_image(&plan, s->work->run->model, piece.image, &options, &err) != OCELLI_OK) {
        ocelli_image_free(piece.image);
        return fail_job_error(s, piece.job, &err);
    }
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_visual_describe(plan, &info);
    ocelli_visual_free(plan);
    job->width = info.width;
    job->height = info.height;
    job->image_tokens = info.tokens;
    s->held[s->held_count++] =
        (ready){piece.job, piece.image, info.tokens, info.width, info.height};
    uint64_t bytes = answer_bytes(s, info.tokens);
    if (bytes > s->widest) {
        s->widest = bytes;
        uint64_t room = s->budget / bytes;
        s->room = room < 1 ? 1 : room < s->most ? (size_t)room : s->most;
    }
    return EXIT_DONE;
}

/* Enough is held for a pass of the tower. */
static bool is_full(const state *s, size_t wanted)
{
    uint64_t tokens = 0;
    for (size_t i = 0; i < s->held_count; i++) {
        tokens += s->held[i].tokens;
    }
    return s->held_count >= wanted || tokens >= MOST_ENCODED_TOKENS;
}

/* Holds as many as the tower shall take at once. While answers go on, nothing is waited for. */
static int hold_some(state *s, size_t wanted)
{
    int code = EXIT_DONE;
    wanted = wanted < MOST_ENCODED ? wanted : MOST_ENCODED;
    while (code == EXIT_DONE && !s->over && !is_full(s, wanted)) {
        bool more = true;
        if (feed_ready(s->feed, &more) == 0 && more && s->used > 0) {
            break;
        }
        code = hold_one(s);
    }
    return code;
}

/* ---- asking -------------------------------------------------------------------------------- */

static slot *free_slot(state *s)
{
    for (size_t i = 0; i < s->most; i++) {
        if (s->slots[i].visual == NULL) {
            return &s->slots[i];
        }
    }
    return NULL;
}

static void leave_slot(state *s, slot *at)
{
    ocelli_session_reset(at->session);
    ocelli_visual_free(at->visual);
    at->visual = NULL;
    s->used--;
}

static int on_piece(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
    return interrupt_pending();
}

/* The whole conversation: the system's message, and the picture with the prompt. What the picture's
 * last prompt has in common with this one is in the session's cache still. */
static ocelli_status put_question(const state *s, const slot *at, ocelli_error *err)
{
    const char *prompt = s->work->jobs[at->job].answers[at->prompt].prompt;
    const char *system = s->work->run->system;
    ocelli_part parts[2] = {{NULL, at->visual}, {prompt, NULL}};
    ocelli_part part = {system, NULL};
    ocelli_status status = OCELLI_OK;
    ocelli_session_reset(at->session);
    if (system != NULL) {
        status = ocelli_session_add(at->session, OCELLI_SYSTEM, &part, 1, err);
    }
    return status != OCELLI_OK ? status
                               : ocelli_session_add(at->session, OCELLI_USER, parts, 2, err);
}

static ocelli_generate_options answer_options(const state *s, const slot *at)
{
    ocelli_generate_options options = s->options;
    if (s->work->jobs[at->job].answers[at->prompt].repeated) {
        options.max_tokens = (size_t)s->work->run->options->retry_length;
    }
    return options;
}

/* The picture's next prompt that has no answer joins the batch; without one the picture is done. */
static int ask_next(state *s, slot *at)
{
    batch_job *job = &s->work->jobs[at->job];
    size_t index = at->job;
    ocelli_error err = {OCELLI_OK, ""};
    while (at->prompt < s->work->prompts && job->answers[at->prompt].text != NULL) {
        at->prompt++;
    }
    if (at->prompt == s->work->prompts) {
        leave_slot(s, at);
        job->state = JOB_ANSWERED;
        return s->work->done(s->work->user, index);
    }
    ocelli_generate_options options = answer_options(s, at);
    ocelli_status status = put_question(s, at, &err);
    if (status == OCELLI_OK) {
        status = ocelli_batch_add(s->batch, at->session, &options, on_piece, at, &err);
    }
    if (status != OCELLI_OK) {
        leave_slot(s, at);
        return fail_job_error(s, index, &err);
    }
    return EXIT_DONE;
}

/* ---- the tower ----------------------------------------------------------------------------- */

/* Gives an encoded picture a slot, and asks about it. Takes visual. */
static int start(state *s, size_t index, ocelli_visual *visual)
{
    ocelli_error err = {OCELLI_OK, ""};
    slot *at = free_slot(s);
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_visual_describe(visual, &info);
    s->work->jobs[index].encode_seconds = info.encode_seconds;
    s->work->times.encode += info.encode_seconds;
    s->work->times.image_tokens += info.tokens;
    if (at->session == NULL && run_session_open(s->work->run, &at->session, &err) != OCELLI_OK) {
        ocelli_visual_free(visual);
        return fail_job_error(s, index, &err);
    }
    at->visual = visual;
    at->job = index;
    at->prompt = 0;
    s->used++;
    return ask_next(s, at);
}

static int show_encoding(void *user, const char *what, uint64_t done, uint64_t total)
{
    const state *s = user;
    (void)what;
    (void)done;
    (void)total;
    return s->work->look(s->work->user);
}

/* Runs the tower over what is held, and asks. If the pictures do not get through together, each is
 * tried alone. */
static int encode_held(state *s)
{
    const ocelli_image *images[MOST_ENCODED];
    ocelli_visual *visuals[MOST_ENCODED] = {NULL};
    ocelli_visual_options options = medium_visual_options(s->work->run);
    ocelli_error err = {OCELLI_OK, ""};
    size_t count = s->held_count;
    int code = EXIT_DONE;
    options.progress = show_encoding;
    options.progress_user = s;
    options.cache = s->work->run->cache;
    for (size_t i = 0; i < count; i++) {
        images[i] = s->held[i].image;
    }
    bool together = ocelli_encode_images(visuals, s->work->run->model, images, count, &options,
                                         &err) == OCELLI_OK;
    for (size_t i = 0; i < count; i++) {
        if (code == EXIT_DONE && interrupt_pending()) {
            code = EXIT_INTERRUPTED;
        }
        if (code == EXIT_DONE && !together &&
            ocelli_encode_image(&visuals[i], s->work->run->model, images[i], &options, &err) !=
                OCELLI_OK) {
            code = fail_job_error(s, s->held[i].job, &err);
        } else if (code == EXIT_DONE) {
            code = start(s, s->held[i].job, visuals[i]);
        } else {
            ocelli_visual_free(visuals[i]);
        }
        ocelli_image_free(s->held[i].image);
    }
    s->held_count = 0;
    return code;
}

/* Lets pictures join where there is room for several, or nothing else to do. */
static int refill(state *s)
{
    size_t room = s->room > s->used ? s->room - s->used : 0;
    size_t wanted = s->room < 4 ? s->room : 4;
    int code = EXIT_DONE;
    bool more = true;
    if (room < wanted && s->used > 0) {
        return EXIT_DONE;
    }
    if (!s->over) {
        code = hold_some(s, room);
        if (s->over && s->held_count == 0) {
            ocelli_model_release_vision(s->work->run->model);
        }
    }
    if (code != EXIT_DONE || s->held_count == 0) {
        return code;
    }
    /* A pass for one picture costs nearly what one for several does; the next ones come soon. */
    if (s->used > 0 && !is_full(s, wanted) && feed_ready(s->feed, &more) == 0 && more) {
        return EXIT_DONE;
    }
    return encode_held(s);
}

/* ---- answers ------------------------------------------------------------------------------- */

/* "PREFIX" and the answer without blanks around it; NULL: no memory. */
static char *make_caption(const char *prefix, const char *text)
{
    size_t skip = strspn(text, " \t\r\n");
    size_t length = strlen(text + skip);
    size_t before = prefix != NULL ? strlen(prefix) : 0;
    while (length > 0 && strchr(" \t\r\n", text[skip + length - 1]) != NULL) {
        length--;
    }
    char *out = malloc(before + length + 1);
    if (out != NULL) {
        memcpy(out, prefix != NULL ? prefix : "", before);
        memcpy(out + before, text + skip, length);
        out[before + length] = '\0';
    }
    return out;
}

static int take_answer(state *s, slot *at, const ocelli_result *result)
{
    job_answer *one = &s->work->jobs[at->job].answers[at->prompt];
    const char *text = ocelli_session_answer(at->session);
    uint64_t retry = s->work->run->options->retry_length;
    size_t index = at->job;
    s->work->times.prefill += result->prefill_seconds;
    s->work->times.decode += result->decode_seconds;
    s->work->times.prompt_tokens += result->prompt_tokens - result->reused_tokens;
    s->work->times.new_tokens += result->new_tokens;
    if (interrupt_pending() || result->stop == OCELLI_STOP_CALLBACK) {
        return EXIT_INTERRUPTED; /* it may be half an answer */
    }
    if (result->stop == OCELLI_STOP_LENGTH && !one->repeated && retry > s->options.max_tokens) {
        one->repeated = true;
        return ask_next(s, at);
    }
    if (text[strspn(text, " \t\r\n")] == '\0') {
        char message[1400];
        snprintf(message, sizeof message, "%.1200s: the model's answer is empty",
                 s->work->jobs[index].item->path);
        leave_slot(s, at);
        return fail_job(s, index, message);
    }
    one->result = *result;
    one->text = make_caption(s->work->prefix, text);
    if (one->text == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    return ask_next(s, at);
}

/* A step of all failed, which for want of memory it may. Each picture is answered alone, and the batch
 * begins anew with room for fewer. */
static int answer_alone(state *s, const ocelli_error *why)
{
    ocelli_error err = {OCELLI_OK, ""};
    int code = EXIT_DONE;
    if (interrupt_pending()) {
        return EXIT_INTERRUPTED;
    }
    report_warning("%s; going on with fewer pictures at a time", why->message);
    ocelli_batch_close(s->batch);
    s->batch = NULL;
    s->room = s->used / 2 > 0 ? s->used / 2 : 1;
    s->budget = s->widest * s->room;
    if (ocelli_batch_open(&s->batch, s->work->run->model, s->most, &err) != OCELLI_OK) {
        return report_failure(&err);
    }
    for (size_t i = 0; code == EXIT_DONE && i < s->most; i++) {
        slot *at = &s->slots[i];
        while (code == EXIT_DONE && at->visual != NULL) {
            ocelli_generate_options options = answer_options(s, at);
            ocelli_result result = {.struct_size = sizeof result};
            size_t index = at->job;
            ocelli_status status = put_question(s, at, &err);
            if (status == OCELLI_OK) {
                status =
                    ocelli_session_generate(at->session, &options, on_piece, at, &result, &err);
            }
            if (status == OCELLI_OK) {
                code = take_answer(s, at, &result);
                break; /* its next prompt is in the batch */
            }
            leave_slot(s, at);
            code = fail_job_error(s, index, &err);
        }
        if (at->visual == NULL && at->session != NULL && i >= s->room) {
            ocelli_session_close(at->session); /* and its cache */
            at->session = NULL;
        }
    }
    return code;
}

static int step(state *s)
{
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_session *session = NULL;
    void *user = NULL;
    ocelli_result result = {.struct_size = sizeof result};
    int code = EXIT_DONE;
    if (ocelli_batch_step(s->batch, &err) != OCELLI_OK) {
        return answer_alone(s, &err);
    }
    while (code == EXIT_DONE && ocelli_batch_take(s->batch, &session, &user, &result)) {
        code = take_answer(s, user, &result);
        result = (ocelli_result){.struct_size = sizeof result};
    }
    return code;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static int open_state(state *s, batch_work *work)
{
    ocelli_error err = {OCELLI_OK, ""};
    memset(s, 0, sizeof *s);
    s->work = work;
    s->most = (size_t)work->run->options->batch;
    s->room = s->most;
    s->budget = free_memory() / 2;
    run_generate_options(work->run->options, &s->options);
    s->options.progress = show_encoding;
    s->options.progress_user = s;
    s->slots = calloc(s->most, sizeof *s->slots);
    if (s->slots == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    if (ocelli_batch_open(&s->batch, work->run->model, s->most, &err) != OCELLI_OK) {
        return report_failure(&err);
    }
    s->feed = feed_open(work->jobs, work->count, work->run->options, 2 * MOST_ENCODED);
    if (s->feed == NULL) {
        report_error("no memory, or no thread, to read pictures");
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

static void close_state(state *s)
{
    ocelli_batch_close(s->batch);
    for (size_t i = 0; s->slots != NULL && i < s->most; i++) {
        ocelli_visual_free(s->slots[i].visual);
        ocelli_session_close(s->slots[i].session);
    }
    for (size_t i = 0; i < s->held_count; i++) {
        ocelli_image_free(s->held[i].image);
    }
    free(s->slots);
    feed_close(s->feed);
}

int batch_work_run(batch_work *work)
{
    state s;
    int code = open_state(&s, work);
    while (code == EXIT_DONE) {
        if (work->look(work->user) != 0) {
            code = EXIT_INTERRUPTED;
            break;
        }
        code = refill(&s);
        if (code == EXIT_DONE && s.used > 0) {
            code = step(&s);
        }
        if (s.used == 0 && s.over && s.held_count == 0) {
            break;
        }
    }
    close_state(&s);
    return code;
}
