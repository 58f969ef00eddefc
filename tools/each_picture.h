/* each_picture.h - commands that do one thing with each of many pictures: locate and embed.
 *
 * The pictures are those of a batch_list; one that fails is reported, and the others are done.
 */
#ifndef OCELLI_TOOLS_EACH_PICTURE_H
#define OCELLI_TOOLS_EACH_PICTURE_H

#include "tools/batch_list.h"
#include "tools/session_run.h"

typedef struct each_picture {
    run *r;
    const batch_item *item;
    size_t index;              /* in the list */
    const ocelli_image *image; /* as shown */
    const medium *medium;      /* encoded, unless --dry-run */
} each_picture;

/* Returns an exit code, and has said why unless it is EXIT_DONE. */
typedef int (*each_picture_fn)(void *user, const each_picture *at);

/* The pictures that the first count operands name. Returns an exit code, and has said why unless
 * EXIT_DONE; *list is to be freed in any case. */
int each_picture_list(batch_list *list, const cli_options *options, size_t count);

/* A file in folder for each picture, [list->count]: its path within what was named, with - for /, and
 * ending after it. Two of one name are an error. The array and its strings are the caller's. Returns an
 * exit code, with a message unless EXIT_DONE. */
int each_picture_names(const batch_list *list, const char *folder, const char *ending, char ***out);
void each_picture_names_free(const batch_list *list, char **names);

/* Does it with each, in order. EXIT_DONE; EXIT_FAILED if none succeeded, EXIT_PARTIAL if some did;
 * or what ended it early. */
int each_picture_run(run *r, const batch_list *list, each_picture_fn fn, void *user);

#endif
