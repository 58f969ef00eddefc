/* file_replace.h - a draft (file_draft.h) that is written through stdio, and told of by messages. */
#ifndef OCELLI_TOOLS_FILE_REPLACE_H
#define OCELLI_TOOLS_FILE_REPLACE_H

#include "tools/file_draft.h"

#include <stdio.h>

typedef struct file_replace {
    FILE *file; /* to be written */
    file_draft draft;
} file_replace;

/* Opens it. What is there must be a regular file, or nothing. Returns EXIT_DONE, or EXIT_FAILED with
 * a message and nothing to end. */
int file_replace_begin(file_replace *f, const char *path);

/* Gives the file its name; unless good, or if a write has failed, removes it. Returns EXIT_DONE or
 * EXIT_FAILED, with a message if good. */
int file_replace_end(file_replace *f, bool good);

#endif
