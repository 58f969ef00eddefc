/* picture_files.h - is this file a picture? For folders, where nobody named the files one by one.
 * Decodes nothing. */
#ifndef OCELLI_TOOLS_PICTURE_FILES_H
#define OCELLI_TOOLS_PICTURE_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* The name ends like a picture's: ".png", ".JPG", ".heic"... */
bool picture_has_name(const char *name);

/* So many first bytes tell. */
enum { PICTURE_HEAD = 64 };
/* A file whose first bytes are head [size] begins like a picture. */
bool picture_has_bytes(const unsigned char *head, size_t size);

/* name within the open folder (or AT_FDCWD) is a regular file that is named like a picture or begins
 * like one. A file that cannot be read is judged by its name, and reported when it is decoded.
 * Symbolic links are followed; a pipe or a device is no picture, and is not waited for. */
bool picture_is_file(int folder, const char *name);

#endif
