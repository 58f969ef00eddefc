/* batch_prompts.c - see batch_prompts.h. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "tools/batch_prompts.h"
#include "tools/batch_names.h"
#include "tools/file_draft.h"
#include "tools/flags.h"
#include "tools/inputs.h"
#include "tools/report.h"
#include "tools/session_run.h"
#include "tools/text_bytes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- loading ------------------------------------------------------------------------------- */

static int load_file(batch_prompts *prompts, const cli_options *options)
{
    char *bytes = NULL;
    size_t size = 0;
    int code = input_read_file(options->prompt_file, "--prompt-file", &bytes, &size);
    if (code != EXIT_DONE) {
        return code;
    }
    bytes[size] = '\0';
    if (strlen(bytes) != size) {
        report_error("'%s' (--prompt-file) holds a NUL byte, so it is no text",
                     options->prompt_file);
        code = EXIT_FAILED;
    }
    while (code == EXIT_DONE && size > 0 && (bytes[size - 1] == '\n' || bytes[size - 1] == '\r')) {
        bytes[--size] = '\0'; /* an editor put it there */
    }
    if (code == EXIT_DONE) {
        code = prompt_text(options->command, "--prompt-file", bytes, options->escape,
                           &prompts->texts[prompts->count]);
        prompts->count += code == EXIT_DONE;
    }
    free(bytes);
    return code;
}

int prompts_load(batch_prompts *prompts, const cli_options *options)
{
    int code = EXIT_DONE;
    memset(prompts, 0, sizeof *prompts);
    prompts->tags_ext = options->tags_ext;
    if (options->given[FLAG_PROMPT] || options->prompt_file == NULL) {
        for (size_t i = 0; code == EXIT_DONE && i < options->prompts.count; i++) {
            code = prompt_text(options->command, "--prompt", options->prompts.items[i],
                               options->escape, &prompts->texts[i]);
            prompts->count += code == EXIT_DONE;
        }
    }
    if (code == EXIT_DONE && options->prompt_file != NULL) {
        code = load_file(prompts, options);
    }
    for (size_t i = 1; code == EXIT_DONE && i < prompts->count; i++) {
        for (size_t j = 0; code == EXIT_DONE && j < i; j++) {
            if (strcmp(prompts->texts[i], prompts->texts[j]) == 0) {
                code = flags_misuse(options->command, "prompts %zu and %zu are the same", j + 1,
                                    i + 1);
            }
        }
    }
    return code;
}

void prompts_free(batch_prompts *prompts)
{
    for (size_t i = 0; i < prompts->count; i++) {
        free(prompts->texts[i]);
    }
    memset(prompts, 0, sizeof *prompts);
}

/* ---- expanding ----------------------------------------------------------------------------- */

static char *expand_name(const char *path)
{
    char *name = text_copy(path_name(path));
    if (name != NULL) {
        name[name_stem(name)] = '\0';
    }
    return name;
}

/* The name of the folder that the picture lies in, also where the path does not say it. */
static char *expand_dir(const char *path)
{
    char *folder = path_folder(path);
    char *real = folder != NULL ? realpath(folder, NULL) : NULL;
    char *name = folder != NULL ? text_copy(path_name(real != NULL ? real : folder)) : NULL;
    free(folder);
    free(real);
    return name;
}

/* What photo.tags says, else photo.jpg.tags, else nothing. */
static char *expand_tags(const char *path, const char *ext, char *why, size_t size)
{
    size_t stem = strlen(path) - strlen(path_name(path)) + name_stem(path_name(path));
    const size_t lengths[] = {stem, strlen(path)};
    size_t room = strlen(path) + strlen(ext) + 1;
    char *file = malloc(room);
    char *text = NULL;
    bool there = false;
    bool good = file != NULL;
    for (size_t i = 0; good && !there && i < 2; i++) {
        size_t length = 0;
        free(text);
        snprintf(file, room, "%.*s%s", (int)lengths[i], path, ext);
        good = file_read(file, &text, &length, &there, why, size);
        while (good && there && length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL) {
            text[--length] = '\0';
        }
    }
    free(file);
    return good && text == NULL ? text_copy("") : text;
}

/* A growing text. */
typedef struct buffer {
    char *bytes;
    size_t used, room;
} buffer;

static bool put(buffer *b, const char *bytes, size_t length)
{
    if (length >= SIZE_MAX / 2 - b->used) {
        return false;
    }
    if (b->used + length + 1 > b->room) {
        size_t more = (b->used + length + 1) * 2;
        char *larger = realloc(b->bytes, more);
        if (larger == NULL) {
            return false;
        }
        b->bytes = larger;
        b->room = more;
    }
    memcpy(b->bytes + b->used, bytes, length);
    b->used += length;
    b->bytes[b->used] = '\0';
    return true;
}

/* Length of the placeholder at text, and *value, a new string, what stands for it; 0: none there. */
static size_t placeholder(const char *text, const batch_prompts *prompts, const char *path,
                          char **value, char *why, size_t size)
{
    static const char *const names[] = {"{name}", "{dir}", "{tags}"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(text, names[i], strlen(names[i])) == 0) {
            char *raw = i == 0   ? expand_name(path)
                        : i == 1 ? expand_dir(path)
                                 : expand_tags(path, prompts->tags_ext, why, size);
            *value = raw != NULL ? text_valid(raw) : NULL;
            free(raw);
            return strlen(names[i]);
        }
    }
    return 0;
}

char *prompts_expand(const batch_prompts *prompts, size_t index, const char *path, char *why,
                     size_t size)
{
    buffer out = {NULL, 0, 0};
    bool good = put(&out, "", 0);
    snprintf(why, size, "no memory");
    for (const char *text = prompts->texts[index]; good && *text != '\0';) {
        char *value = NULL;
        size_t length = strcspn(text, "{");
        if (length == 0) {
            length = placeholder(text, prompts, path, &value, why, size);
            if (length == 0) {
                good = put(&out, text, 1);
                length = 1;
            } else {
                good = value != NULL && put(&out, value, strlen(value));
            }
            free(value);
        } else {
            good = put(&out, text, length);
        }
        text += length;
    }
    if (!good) {
        free(out.bytes);
        return NULL;
    }
    return out.bytes;
}
