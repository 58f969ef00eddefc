/* batch_list.h - which files a command over many pictures is about, in order.
 *
 * Operands are pictures, folders, and patterns that the shell did not expand; --files-from adds a
 * list. Folders are walked: the pictures of a folder in natural order, then its sub folders in natural
 * order. Left out are hidden names, folders met before (links in a circle end there) and, counted,
 * files that are no pictures. Decodes nothing and prints only what ends the command. */
#ifndef OCELLI_TOOLS_BATCH_LIST_H
#define OCELLI_TOOLS_BATCH_LIST_H

#include "tools/cli_options.h"

typedef struct batch_item {
    char *path;     /* to open it: the operand, or the operand, a slash and relative */
    char *relative; /* within its folder operand; of a file its last component; of a listed file
                       * the path itself: what shards divide and --out-dir mirrors */
    char *problem;  /* NULL; else why there is nothing to open, in a sentence */
} batch_item;

typedef struct batch_list {
    batch_item *items; /* [count] */
    size_t count;
    size_t room;
    size_t ignored;         /* files that are no pictures, but for captions and tags */
    const char *endings[2]; /* of those, or NULL */
} batch_list;

/* The operand is a folder, or no file and has one of * ? [: one operand such makes a batch. */
bool batch_is_folder(const char *operand);
bool batch_is_pattern(const char *operand);

/* Fills *list from options->operands and --files-from. Returns an exit code, with a message unless
 * EXIT_DONE or EXIT_INTERRUPTED; *list is to be freed in any case. */
int batch_list_make(batch_list *list, const cli_options *options);

/* Adds what lies in folder; an item's path begins with folder. EXIT_DONE or EXIT_FAILED (no memory).
 * A folder that cannot be read is an item with a problem. */
int batch_list_walk(batch_list *list, const char *folder);

void batch_list_free(batch_list *list);

#endif
