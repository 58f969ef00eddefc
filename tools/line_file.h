/* line_file.h - a file of JSON lines that grows by whole lines and survives a kill at any moment.
 *
 * One process at a time has it open for writing; a lock says so, and falls with the process. What a
 * kill left of a last line is cut off when the file is read again. */
#ifndef OCELLI_TOOLS_LINE_FILE_H
#define OCELLI_TOOLS_LINE_FILE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct line_file {
    char *path; /* owned; NULL: not open */
    int descriptor;
    bool looking; /* only read: not made, not locked, not cut */
    bool made;    /* by this open */
    uint64_t end; /* bytes of whole lines */
} line_file;

/* A line as an object, at offset with length bytes, its newline included. False ends the reading, with
 * a sentence in why. */
typedef bool (*line_fn)(void *user, const cJSON *object, uint64_t offset, size_t length, char *why,
                        size_t size);

/* Makes the file where there is none, and locks it; looking: only reads, and what is not there is
 * empty. *busy: another process has it. False with a sentence in why. */
bool line_file_open(line_file *file, const char *path, bool looking, bool *busy, char *why,
                    size_t size);
/* Gives every line to fn, then cuts off a torn one. A line in the midst that is no JSON object is
 * refused: this is somebody else's file. */
bool line_file_read(line_file *file, line_fn fn, void *user, char *why, size_t size);
/* Adds whole lines and syncs them. A failure leaves none of them. */
bool line_file_append(line_file *file, const char *lines, size_t length, char *why, size_t size);
/* The bytes there, a new string, NUL-ended; NULL: no memory, or not there any more. */
char *line_file_text(const line_file *file, uint64_t offset, size_t length);
/* Closes; the lock falls. removed: the file is deleted first. */
void line_file_close(line_file *file, bool removed);

#endif
