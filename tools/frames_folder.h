/* frames_folder.h - the frames of a folder, in natural order. Lists names; decodes nothing. */
#ifndef OCELLI_TOOLS_FRAMES_FOLDER_H
#define OCELLI_TOOLS_FRAMES_FOLDER_H

#include <stddef.h>

typedef struct frames_folder {
    char **names; /* [count] file names, in natural order */
    size_t count;
    size_t others; /* entries that are no frames and not hidden */
} frames_folder;

/* Lists the regular files of the folder that begin like a picture or are named like one. Hidden
 * files and sub folders are left out. Returns EXIT_DONE with at least one name, or EXIT_FAILED
 * after a message that names the folder. */
int frames_folder_list(const char *folder, frames_folder *out);
void frames_folder_free(frames_folder *frames);

/* Natural order: runs of digits by value, letters without regard to case, ties by bytes. */
int natural_compare(const char *a, const char *b);

/* "FOLDER/NAME", a new string; NULL: no memory. */
char *folder_path(const char *folder, const char *name);

#endif
