/* file_draft.c - see file_draft.h. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "tools/file_draft.h"
#include "tools/text_bytes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BEGIN ".ocelli-draft."
#define END ".tmp"
#define MOST_BYTES ((size_t)64 << 20)

static bool fail(char *why, size_t size, const char *what, const char *path)
{
    snprintf(why, size, "cannot %s '%.300s': %s", what, path, strerror(errno));
    return false;
}

static bool fail_memory(char *why, size_t size)
{
    snprintf(why, size, "no memory");
    return false;
}

/* Held while its process lives: what can be locked is nobody's. */
static bool lock(int descriptor)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(descriptor, F_SETLK, &whole) == 0;
}

/* A new temporary beside draft->target. Another process may take it for a dead one's in the moment
 * before it is locked, so it is looked at again after. */
static bool make_temporary(file_draft *draft)
{
    static unsigned number; /* names differ within a process */
    const char *slash = strrchr(draft->target, '/');
    size_t folder = slash != NULL ? (size_t)(slash + 1 - draft->target) : 0;
    size_t room = folder + sizeof BEGIN + sizeof END + 48;
    draft->temporary = malloc(room);
    if (draft->temporary == NULL) {
        errno = ENOMEM;
        return false;
    }
    memcpy(draft->temporary, draft->target, folder);
    for (int tries = 0; tries < 100; tries++) {
        struct stat about;
        snprintf(draft->temporary + folder, room - folder, BEGIN "%ld-%u" END, (long)getpid(),
                 number++);
        draft->descriptor =
            open(draft->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (draft->descriptor < 0 && errno == EEXIST) {
            continue;
        }
        if (draft->descriptor < 0) {
            return false;
        }
        lock(draft->descriptor); /* where there are no locks, there is nothing to be done */
        if (stat(draft->temporary, &about) == 0) {
            return true;
        }
        close(draft->descriptor);
        draft->descriptor = -1;
    }
    errno = EEXIST;
    return false;
}

bool draft_open(file_draft *draft, const char *path, char *why, size_t size)
{
    struct stat about;
    memset(draft, 0, sizeof *draft);
    draft->descriptor = -1;
    draft->target =
        lstat(path, &about) == 0 && S_ISLNK(about.st_mode) ? realpath(path, NULL) : NULL;
    if (draft->target == NULL) {
        draft->target = text_copy(path);
    }
    if (draft->target == NULL) {
        return fail_memory(why, size);
    }
    bool there = stat(draft->target, &about) == 0;
    if (there && !S_ISREG(about.st_mode)) {
        snprintf(why, size, "cannot write '%.300s': it is no regular file", path);
        draft_abandon(draft);
        return false;
    }
    /* Renaming would replace a file that its owner has made read-only. */
    if ((there && access(draft->target, W_OK) != 0) || !make_temporary(draft)) {
        fail(why, size, "write", path);
        draft_abandon(draft);
        return false;
    }
    if (there) {
        int kept = fchmod(draft->descriptor, about.st_mode & 07777);
        (void)kept; /* on a file system without permissions there are none to keep */
    }
    return true;
}

bool draft_write(file_draft *draft, const char *bytes, size_t length, char *why, size_t size)
{
    while (length > 0) {
        ssize_t put = write(draft->descriptor, bytes, length);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            fail(why, size, "write", draft->target);
            draft_abandon(draft);
            return false;
        }
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

bool draft_commit(file_draft *draft, char *why, size_t size)
{
    if (fsync(draft->descriptor) != 0 || rename(draft->temporary, draft->target) != 0) {
        fail(why, size, "write", draft->target);
        draft_abandon(draft);
        return false;
    }
    free(draft->temporary);
    draft->temporary = NULL;
    draft_abandon(draft);
    return true;
}

void draft_abandon(file_draft *draft)
{
    if (draft->descriptor >= 0) {
        if (draft->temporary != NULL) {
            unlink(draft->temporary);
        }
        close(draft->descriptor);
    }
    free(draft->temporary);
    free(draft->target);
    memset(draft, 0, sizeof *draft);
    draft->descriptor = -1;
}

bool draft_replace(const char *path, const char *bytes, size_t length, char *why, size_t size)
{
    file_draft draft;
    return draft_open(&draft, path, why, size) && draft_write(&draft, bytes, length, why, size) &&
           draft_commit(&draft, why, size);
}

static bool is_temporary(const char *name)
{
    size_t length = strlen(name);
    return length > sizeof BEGIN + sizeof END && strncmp(name, BEGIN, sizeof BEGIN - 1) == 0 &&
           strcmp(name + length - (sizeof END - 1), END) == 0;
}

void draft_clean(const char *folder)
{
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (!is_temporary(entry->d_name)) {
            continue;
        }
        int descriptor = openat(dirfd(entries), entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        if (descriptor >= 0) {
            if (lock(descriptor)) {
                unlinkat(dirfd(entries), entry->d_name, 0);
            }
            close(descriptor);
        }
    }
    closedir(entries);
}

bool file_read(const char *path, char **out, size_t *length, bool *there, char *why, size_t size)
{
    struct stat about;
    size_t used = 0;
    *out = NULL;
    *length = 0;
    *there = false;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        return errno == ENOENT ? true : fail(why, size, "read", path);
    }
    if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode) ||
        (uint64_t)about.st_size > MOST_BYTES) {
        snprintf(why, size, "cannot read '%.300s': it is no regular file of at most 64 MiB", path);
        close(descriptor);
        return false;
    }
    size_t room = (size_t)about.st_size;
    char *bytes = malloc(room + 1);
    while (bytes != NULL && used < room) {
        ssize_t got = read(descriptor, bytes + used, room - used);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            fail(why, size, "read", path);
            free(bytes);
            close(descriptor);
            return false;
        }
        if (got == 0) {
            break;
        }
        used += (size_t)got;
    }
    close(descriptor);
    if (bytes == NULL) {
        return fail_memory(why, size);
    }
    bytes[used] = '\0';
    *out = bytes;
    *length = used;
    *there = true;
    return true;
}

bool folder_make(const char *folder, char *why, size_t size)
{
    char *path = text_copy(folder);
    if (path == NULL) {
        return fail_memory(why, size);
    }
    for (char *at = path + 1;; at++) {
        char here = *at;
        if (here == '/' || here == '\0') {
            struct stat about;
            *at = '\0';
            if (mkdir(path, 0777) != 0 &&
                (errno != EEXIST || stat(path, &about) != 0 || !S_ISDIR(about.st_mode))) {
                fail(why, size, "make the folder", path);
                free(path);
                return false;
            }
            *at = here;
        }
        if (here == '\0') {
            break;
        }
    }
    free(path);
    return true;
}
