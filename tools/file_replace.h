/* file_replace.h - a file that gets its name when it is whole.
 *
 * It is written beside its place under another name, synced and renamed: whoever reads the name finds
 * the old file or the new one, and a program that is killed leaves no half of one under it.
 */
#ifndef OCELLI_TOOLS_FILE_REPLACE_H
#define OCELLI_TOOLS_FILE_REPLACE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct file_replace {
    FILE *file;       /* to be written */
    const char *path; /* borrowed */
    char *partial;    /* its name until then */
} file_replace;

/* Opens it. What is there must be a regular file, or nothing. Returns EXIT_DONE, or EXIT_FAILED with
 * a message and nothing to end. */
int file_replace_begin(file_replace *f, const char *path);

/* Gives the file its name; unless good, or if a write has failed, removes it. Returns EXIT_DONE or
 * EXIT_FAILED, with a message if good. */
int file_replace_end(file_replace *f, bool good);

#endif
