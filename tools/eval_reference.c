/* eval_reference.c - see eval_reference.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/eval_reference.h"
#include "tools/eval_ask.h"
#include "tools/medium.h"
#include "tools/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int eval_reference_open(eval_reference *e, const cli_options *options, const char *directory)
{
    struct stat about;
    memset(e, 0, sizeof *e);
    e->options = *options;
    e->options.model = directory;
    e->options.quant = "f32";
    e->options.vision = "f32";
    if (stat(directory, &about) == 0 && S_ISDIR(about.st_mode)) {
        e->options.mmproj = NULL; /* that goes with a GGUF file; a folder has its own */
    }
    int code = run_init(&e->run, &e->options);
    return code == EXIT_DONE ? run_open(&e->run) : code;
}

void eval_reference_close(eval_reference *e)
{
    run_close(&e->run);
    divergences_free(&e->found);
    free(e->logits);
    free(e->ids);
    memset(e, 0, sizeof *e);
}

/* Room for one more position. */
static bool make_room(eval_reference *e)
{
    if (e->count < e->room) {
        return true;
    }
    size_t room = e->room == 0 ? 16 : e->room * 2;
    float *logits = realloc(e->logits, room * e->vocab * sizeof *logits);
    if (logits == NULL) {
        return false;
    }
    e->logits = logits;
    int32_t *ids = realloc(e->ids, room * sizeof *ids);
    if (ids == NULL) {
        return false;
    }
    e->ids = ids;
    e->room = room;
    return true;
}

/* An ocelli_choose_fn of the reference: the likeliest token, written down. */
static int32_t record(void *user, const float *logits, size_t vocab)
{
    eval_reference *e = user;
    int32_t best = logits_best(logits, vocab);
    if (e->failed || vocab != e->vocab || !make_room(e)) {
        e->failed = true;
        return best;
    }
    memcpy(e->logits + e->count * vocab, logits, vocab * sizeof *logits);
    e->ids[e->count++] = best;
    return best;
}

/* An ocelli_choose_fn of the model under test: what the reference chose. */
static int32_t follow(void *user, const float *logits, size_t vocab)
{
    eval_reference *e = user;
    if (e->failed || vocab != e->vocab || e->at == e->count ||
        !divergences_add(&e->found, e->logits + e->at * vocab, logits, vocab)) {
        e->failed = true;
        return -1;
    }
    return e->ids[e->at++];
}

static int ask_reference(eval_reference *e, const char *folder, const eval_item *item)
{
    medium *media;
    size_t count;
    answer a;
    int code = eval_media(&e->run, folder, item, &media, &count);
    if (code == EXIT_DONE) {
        e->run.choose = record;
        e->run.choose_user = e;
        code = eval_ask(&e->run, item, media, count, &a);
        media_free(media, count);
    }
    return code;
}

static int ask_tested(eval_reference *e, const eval_item *item, run *tested, const medium *media,
                      size_t count)
{
    answer a;
    tested->choose = follow;
    tested->choose_user = e;
    int code = eval_ask(tested, item, media, count, &a);
    tested->choose = NULL;
    return code;
}

int eval_reference_compare(eval_reference *e, const char *folder, const eval_item *item,
                           run *tested, const medium *media, size_t count)
{
    ocelli_model_info info = {.struct_size = sizeof info};
    ocelli_model_describe(tested->model, &info);
    e->vocab = (size_t)info.vocab_size;
    ocelli_model_describe(e->run.model, &info);
    if (info.vocab_size != e->vocab) {
        report_error("'%s' and '%s' have different vocabularies", e->run.model_path,
                     tested->model_path);
        return EXIT_FAILED;
    }
    e->count = 0;
    e->at = 0;
    e->failed = false;
    int code = ask_reference(e, folder, item);
    if (code == EXIT_DONE) {
        code = ask_tested(e, item, tested, media, count);
    }
    if (code == EXIT_DONE && (e->failed || e->at != e->count)) {
        report_error("the two models' answers cannot be compared: no memory, or other stop tokens");
        return EXIT_FAILED;
    }
    return code;
}
