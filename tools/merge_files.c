/* merge_files.c - see merge_files.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/merge_files.h"
#include "tools/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void merge_files_start(merge_files *files, const char *const *names)
{
    memset(files, 0, sizeof *files);
    files->names = names;
    for (size_t i = 0; i < MERGE_OPEN_FILES; i++) {
        files->descriptors[i] = -1;
    }
}

void merge_files_end(merge_files *files)
{
    for (size_t i = 0; i < MERGE_OPEN_FILES; i++) {
        if (files->descriptors[i] >= 0) {
            close(files->descriptors[i]);
        }
    }
    free(files->bytes);
    merge_files_start(files, NULL);
}

/* The descriptor of file, opened if it is not; -1 after a message. */
static int descriptor_of(merge_files *files, uint32_t file)
{
    size_t slot = file % MERGE_OPEN_FILES;
    if (files->descriptors[slot] >= 0 && files->open_files[slot] == file) {
        return files->descriptors[slot];
    }
    if (files->descriptors[slot] >= 0) {
        close(files->descriptors[slot]);
    }
    files->open_files[slot] = file;
    files->descriptors[slot] = open(files->names[file], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (files->descriptors[slot] < 0) {
        report_error("cannot open '%s' again: %s", files->names[file], strerror(errno));
    }
    return files->descriptors[slot];
}

const char *merge_files_line(merge_files *files, uint32_t file, uint64_t offset, size_t length)
{
    int descriptor = descriptor_of(files, file);
    if (descriptor < 0) {
        return NULL;
    }
    if (files->room < length + 1) {
        char *larger = realloc(files->bytes, 2 * length + 1);
        if (larger == NULL) {
            report_error("no memory for a line of '%s'", files->names[file]);
            return NULL;
        }
        files->bytes = larger;
        files->room = 2 * length + 1;
    }
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(descriptor, files->bytes + done, length - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            report_error("'%s' became shorter while it was read", files->names[file]);
            return NULL;
        }
        done += (size_t)got;
    }
    files->bytes[length] = '\0';
    return files->bytes;
}

uint64_t merge_files_number(merge_files *files, uint32_t file, uint64_t offset)
{
    char block[4096];
    uint64_t number = 1;
    int descriptor = descriptor_of(files, file);
    for (uint64_t at = 0; at < offset;) {
        size_t want = offset - at < sizeof block ? (size_t)(offset - at) : sizeof block;
        ssize_t got = descriptor >= 0 ? pread(descriptor, block, want, (off_t)at) : -1;
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return 0;
        }
        for (ssize_t i = 0; i < got; i++) {
            number += block[i] == '\n';
        }
        at += (uint64_t)got;
    }
    return number;
}
