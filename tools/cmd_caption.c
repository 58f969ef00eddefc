/* cmd_caption.c - ocelli caption: describes pictures, one by one on stdout; a folder of them is
 * batch_run's. */
#include "tools/batch_prompts.h"
#include "tools/batch_run.h"
#include "tools/commands.h"
#include "tools/dry_run.h"
#include "tools/inputs.h"
#include "tools/medium.h"
#include "tools/output.h"
#include "tools/report.h"
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

/* Asks every prompt about one picture. */
static int describe_all(run *r, const medium *m, const batch_prompts *prompts, bool several)
{
    char why[700];
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < prompts->count; i++) {
        char *prompt = prompts_expand(prompts, i, m->name, why, sizeof why);
        if (prompt == NULL) {
            report_error("%s", why);
            return EXIT_FAILED;
        }
        code = describe(r, m, prompt, several);
        free(prompt);
    }
    return code;
}

static int caption_each(const cli_options *options)
{
    run r;
    batch_prompts prompts;
    int result = EXIT_DONE;
    int code = input_check_stdin("caption", options->operands, options->operand_count);
    if (code != EXIT_DONE) {
        return code;
    }
    code = prompts_load(&prompts, options);
    if (code != EXIT_DONE) {
        prompts_free(&prompts);
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
            code = describe_all(&r, &m, &prompts, options->operand_count > 1);
            medium_free(&m);
        }
        /* One bad picture does not stop the others, unless there is no model to go on with. */
        if (code == EXIT_FAILED && !output_failed() && !r.broken) {
            result = EXIT_FAILED;
            code = EXIT_DONE;
        }
    }
    run_close(&r);
    prompts_free(&prompts);
    return code != EXIT_DONE ? code : result;
}

int cmd_caption(const cli_options *options)
{
    return batch_is_asked(options) ? batch_run(options) : caption_each(options);
}
