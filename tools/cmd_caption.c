/* cmd_caption.c - ocelli caption: describes pictures, one by one. */
#include "tools/commands.h"
#include "tools/dry_run.h"
#include "tools/inputs.h"
#include "tools/medium.h"
#include "tools/output.h"
#include "tools/session_run.h"
#include "tools/text_bytes.h"

#include <stdlib.h>
#include <string.h>

/* "PATH: ", safe to print; a new string, NULL: no memory. */
static char *make_prefix(const char *path)
{
    size_t room = strlen(path) * 4 + 3;
    char *prefix = malloc(room);
    if (prefix != NULL) {
        text_visible(prefix, room - 2, path);
        size_t length = strlen(prefix);
        memcpy(prefix + length, ": ", 3);
    }
    return prefix;
}

static int describe(run *r, const medium *m, const char *prompt, bool several)
{
    answer a;
    run_restart(r);
    int code = run_add(r, m, 1, prompt);
    if (code != EXIT_DONE) {
        return code;
    }
    if (r->options->dry_run) {
        return dry_run_print(r, m, 1, prompt);
    }
    char *prefix = several ? make_prefix(m->name) : NULL;
    code = run_answer(r, prefix, false, m, 1, &a);
    free(prefix);
    if (code != EXIT_DONE) {
        return code;
    }
    if (r->options->json) {
        cJSON *object = run_answer_json(r, prompt, &a);
        json_text(object, "image", m->name);
        output_json(object);
    }
    if (r->options->timings) {
        run_timings(r, &a);
    }
    return EXIT_DONE;
}

int cmd_caption(const cli_options *options)
{
    run r;
    char *prompt = NULL;
    int result = EXIT_DONE;
    int code = input_check_stdin("caption", options->operands, options->operand_count);
    if (code == EXIT_DONE) {
        code = prompt_text("caption", "--prompt", options->prompt, options->escape, &prompt);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    code = run_init(&r, options);
    for (size_t i = 0; code == EXIT_DONE && i < options->operand_count; i++) {
        medium m;
        code = medium_picture(&r, options->operands[i], &m);
        if (i + 1 == options->operand_count) {
            run_last_medium(&r);
        }
        if (code == EXIT_DONE) {
            code = describe(&r, &m, prompt, options->operand_count > 1);
            medium_free(&m);
        }
        /* One bad picture does not stop the others, unless there is no model to go on with. */
        if (code == EXIT_FAILED && !output_failed() && !r.broken) {
            result = EXIT_FAILED;
            code = EXIT_DONE;
        }
    }
    run_close(&r);
    free(prompt);
    return code != EXIT_DONE ? code : result;
}
