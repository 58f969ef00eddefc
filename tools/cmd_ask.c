/* cmd_ask.c - ocelli ask: one question about any number of pictures. */
#define _POSIX_C_SOURCE 200809L

#include "tools/commands.h"
#include "tools/dry_run.h"
#include "tools/flags.h"
#include "tools/inputs.h"
#include "tools/medium.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/session_run.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int give_answer(run *r, const medium *media, size_t count, const char *question)
{
    answer a;
    int code = run_answer(r, NULL, false, media, count, &a);
    if (code != EXIT_DONE) {
        return code;
    }
    if (r->options->json) {
        cJSON *object = run_answer_json(r, question, &a);
        cJSON *names = cJSON_AddArrayToObject(object, "images");
        for (size_t i = 0; i < count; i++) {
            /* By way of an object, because json_text mends names that are not UTF-8. */
            cJSON *holder = cJSON_CreateObject();
            json_text(holder, "name", media[i].name);
            cJSON_AddItemToArray(names, cJSON_DetachItemFromObject(holder, "name"));
            cJSON_Delete(holder);
        }
        output_json(object);
    }
    if (r->options->timings) {
        run_timings(r, &a);
    }
    return EXIT_DONE;
}

/* A question without quotes arrives as words, and all but the last would be pictures. */
static int check_name(const char *path, bool is_first)
{
    struct stat about;
    bool is_word = !is_first && *path != '\0' && strcmp(path, "-") != 0 &&
                   strstr(path, ":/") == NULL && stat(path, &about) != 0 && errno == ENOENT;
    if (!is_word) {
        return input_check(path);
    }
    report_error("cannot open picture '%s': %s (is it part of the question? put the question in "
                 "quotes)",
                 path, strerror(ENOENT));
    return EXIT_FAILED;
}

static int ask(run *r, const char *const *paths, medium *media, size_t count, const char *question)
{
    int code = EXIT_DONE;
    /* All names first: a mistyped third one should not cost the encoding of two. */
    for (size_t i = 0; code == EXIT_DONE && i < count; i++) {
        code = check_name(paths[i], i == 0);
    }
    for (size_t i = 0; code == EXIT_DONE && i < count; i++) {
        code = medium_picture(r, paths[i], &media[i]);
    }
    if (code == EXIT_DONE) {
        code = run_open(r); /* there may have been no picture */
    }
    run_last_medium(r);
    if (code == EXIT_DONE) {
        code = run_add(r, media, count, question);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    return r->options->dry_run ? dry_run_print(r, media, count, question)
                               : give_answer(r, media, count, question);
}

int cmd_ask(const cli_options *options)
{
    run r;
    struct stat about;
    char *question = NULL;
    size_t count = options->operand_count - 1;
    const char *last = options->operands[count];
    if (count == 0 && (strcmp(last, "-") == 0 || stat(last, &about) == 0)) {
        return flags_misuse("ask", "the question about '%.200s' is missing", last);
    }
    int code = input_check_stdin("ask", options->operands, count);
    if (code == EXIT_DONE) {
        code = prompt_text("ask", "the question", last, options->escape, &question);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    medium *media = calloc(count + 1, sizeof *media);
    code = run_init(&r, options);
    if (media == NULL && code == EXIT_DONE) {
        report_error("no memory");
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE) {
        code = ask(&r, options->operands, media, count, question);
    }
    if (media != NULL) {
        media_free(media, count);
    }
    run_close(&r);
    free(question);
    return code;
}
