/* each_picture.c - see each_picture.h. */
#include "tools/each_picture.h"
#include "tools/inputs.h"
#include "tools/medium.h"
#include "tools/output.h"
#include "tools/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int each_picture_list(batch_list *list, const cli_options *options, size_t count)
{
    cli_options own = *options;
    own.operand_count = count;
    *list = (batch_list){.items = NULL};
    int code = input_check_stdin(options->command, options->operands, count);
    if (code == EXIT_DONE) {
        code = batch_list_make(list, &own);
    }
    if (code == EXIT_DONE && list->count == 0) {
        report_error("there is no picture in what was named");
        code = EXIT_FAILED;
    }
    return code;
}

/* ---- names of what is written --------------------------------------------------------------- */

void each_picture_names_free(const batch_list *list, char **names)
{
    for (size_t i = 0; names != NULL && i < list->count; i++) {
        free(names[i]);
    }
    free(names);
}

static char *make_name(const char *folder, const char *relative, const char *ending)
{
    bool whole = *folder != '\0' && folder[strlen(folder) - 1] == '/';
    size_t room = strlen(folder) + strlen(relative) + strlen(ending) + 2;
    char *name = malloc(room);
    if (name != NULL) {
        int begin = snprintf(name, room, "%s%s", folder, whole ? "" : "/");
        snprintf(name + begin, room - (size_t)begin, "%s%s",
                 strcmp(relative, "-") == 0 ? "stdin" : relative, ending);
        for (char *at = name + begin; *at != '\0'; at++) {
            *at = *at == '/' ? '-' : *at;
        }
    }
    return name;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Two of sorted are one. */
static const char *find_twice(char **sorted, size_t count)
{
    qsort(sorted, count, sizeof *sorted, compare);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            return sorted[i];
        }
    }
    return NULL;
}

int each_picture_names(const batch_list *list, const char *folder, const char *ending, char ***out)
{
    char **names = calloc(list->count + 1, sizeof *names);
    char **sorted = calloc(list->count + 1, sizeof *sorted);
    bool good = names != NULL && sorted != NULL;
    for (size_t i = 0; good && i < list->count; i++) {
        names[i] = sorted[i] = make_name(folder, list->items[i].relative, ending);
        good = names[i] != NULL;
    }
    const char *twice = good ? find_twice(sorted, list->count) : NULL;
    if (!good) {
        report_error("no memory");
    } else if (twice != NULL) {
        report_error("two of the pictures would both be written to '%s'; take them one after "
                     "another",
                     twice);
    }
    free(sorted);
    if (!good || twice != NULL) {
        each_picture_names_free(list, names);
        *out = NULL;
        return EXIT_FAILED;
    }
    *out = names;
    return EXIT_DONE;
}

/* ---- one after another ---------------------------------------------------------------------- */

static int do_one(run *r, const batch_list *list, size_t index, each_picture_fn fn, void *user)
{
    const batch_item *item = &list->items[index];
    ocelli_image *image = NULL;
    medium m = {.name = NULL};
    if (item->problem != NULL) {
        report_error("%s", item->problem);
        return EXIT_FAILED;
    }
    int code = input_decode(item->path, r->options, &image);
    if (code == EXIT_DONE) {
        code = medium_decoded(r, item->path, image, &m);
    }
    if (code == EXIT_DONE) {
        const each_picture at = {r, item, index, image, &m};
        code = fn(user, &at);
        medium_free(&m);
    }
    ocelli_image_free(image);
    return code;
}

int each_picture_run(run *r, const batch_list *list, each_picture_fn fn, void *user)
{
    size_t failed = 0;
    for (size_t i = 0; i < list->count; i++) {
        int code = do_one(r, list, i, fn, user);
        if (code == EXIT_FAILED && !output_failed() && !r->broken) {
            failed++;
        } else if (code != EXIT_DONE) {
            return code;
        }
    }
    if (failed > 0 && list->count > 1) {
        report_warning("%zu of %zu pictures failed", failed, list->count);
    }
    return failed == 0 ? EXIT_DONE : failed == list->count ? EXIT_FAILED : EXIT_PARTIAL;
}
