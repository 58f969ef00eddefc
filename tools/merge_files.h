/* merge_files.h - lines of many files, each by its place, read again after the index was made. Holds
 * some of the files open and one line in memory. */
#ifndef OCELLI_TOOLS_MERGE_FILES_H
#define OCELLI_TOOLS_MERGE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MERGE_OPEN_FILES = 64 };

typedef struct merge_files {
    const char *const *names; /* by number; borrowed */
    int descriptors
        [MERGE_OPEN_FILES]; /* of file number open_files[i], i being that modulo the size;
                                        * -1: none */
    uint32_t open_files[MERGE_OPEN_FILES];
    char *bytes; /* [room] */
    size_t room;
} merge_files;

void merge_files_start(merge_files *files, const char *const *names);
void merge_files_end(merge_files *files);

/* The length bytes of file from offset on, NUL-ended, valid until the next call; NULL after a
 * message. */
const char *merge_files_line(merge_files *files, uint32_t file, uint64_t offset, size_t length);

/* The number, from 1, of the line at offset; 0 if the file cannot be read. */
uint64_t merge_files_number(merge_files *files, uint32_t file, uint64_t offset);

#endif
