/* visual_disk.c - see visual_disk.h. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/visual_disk.h"

#include "runtime/base/memory.h"
#include "runtime/visual_entry.h"
#include "runtime/visual_evict.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the directory ------------------------------------------------------------------------- */

static ocelli_status fail_folder(const char *path, const char *why, ocelli_error *err)
{
    return oc_fail(err, OCELLI_E_IO, "cache folder %s: %s", path, why);
}

static ocelli_status check_folder(oc_visual_disk *disk, ocelli_error *err)
{
    struct stat about;
    if (fstat(disk->folder, &about) != 0) {
        return fail_folder(disk->path, strerror(errno), err);
    }
    if ((about.st_mode & S_IWOTH) != 0) {
        return fail_folder(disk->path,
                           "anyone may write to it, so its entries cannot be believed; name a "
                           "folder of its own, or chmod o-w",
                           err);
    }
    /* A folder that a group shares, its members may fill for one another. */
    disk->mode = (about.st_mode & S_IWGRP) != 0 ? 0640 : 0600;
    return OCELLI_OK;
}

ocelli_status oc_visual_disk_open(oc_visual_disk *out, const char *path, uint64_t most,
                                  const oc_log *log, ocelli_error *err)
{
    memset(out, 0, sizeof *out);
    atomic_init(&out->count, 0);
    atomic_init(&out->told, false);
    out->folder = -1;
    out->most = most;
    out->log = *log;
    out->path = oc_strdup(path);
    if (out->path == NULL) {
        return oc_fail_memory(err, "the cache");
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        int reason = errno;
        return fail_folder(path,
                           reason == ENOENT ? "the folder that it would be in is not there"
                                            : strerror(reason),
                           err);
    }
    out->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->folder < 0) {
        return fail_folder(path, strerror(errno), err);
    }
    return check_folder(out, err);
}

void oc_visual_disk_close(oc_visual_disk *disk)
{
    if (disk->path != NULL && disk->folder >= 0) {
        close(disk->folder);
    }
    oc_free(disk->path);
    memset(disk, 0, sizeof *disk);
    disk->folder = -1;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* Reads size bytes at offset; false: there are not so many, or the disk fails. */
static bool read_at(int file, void *out, size_t size, off_t offset)
{
    unsigned char *at = out;
    while (size > 0) {
        ssize_t got = pread(file, at, size, offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        size -= (size_t)got;
        offset += got;
    }
    return true;
}

/* The rows of an open entry; NULL and *why: it is damaged; NULL without: no memory. */
static oc_visual_rows *read_entry(int file, const oc_visual_key *key, size_t bytes,
                                  const char **why)
{
    struct stat about;
    oc_visual_entry entry;
    *why = NULL;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        *why = "is no file";
    } else if ((uint64_t)about.st_size != (uint64_t)sizeof entry + bytes) {
        *why = "has another size";
    } else if (!read_at(file, &entry, sizeof entry, 0)) {
        *why = "cannot be read";
    }
    if (*why != NULL || !oc_visual_entry_check(&entry, key, bytes, why)) {
        return NULL;
    }
    oc_visual_rows *rows = oc_visual_rows_new(bytes);
    if (rows == NULL) {
        return NULL;
    }
    if (!read_at(file, rows->values, bytes, (off_t)sizeof entry)) {
        *why = "cannot be read";
    } else if (!oc_visual_entry_check_rows(&entry, rows->values, bytes)) {
        *why = "has damaged rows";
    } else {
        (void)futimens(file, NULL); /* used now; of somebody else's entry that fails */
        return rows;
    }
    oc_visual_rows_release(rows);
    return NULL;
}

oc_visual_rows *oc_visual_disk_read(oc_visual_disk *disk, const oc_visual_key *key, bool *damaged)
{
    char name[OC_VISUAL_ENTRY_NAME];
    size_t bytes;
    const char *why = NULL;
    oc_visual_rows *rows = NULL;
    *damaged = false;
    if (!oc_visual_key_bytes(key, &bytes) || bytes > disk->most) {
        return NULL;
    }
    oc_visual_entry_name(name, key);
    /* A pipe under this name must not be waited for, nor a link followed. */
    int file = openat(disk->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file >= 0) {
        rows = read_entry(file, key, bytes, &why);
        close(file);
    } else if (errno != ENOENT) {
        why = errno == ELOOP ? "is a link" : "cannot be opened";
    }
    if (why != NULL) {
        *damaged = true;
        oc_log_write(&disk->log, OCELLI_LOG_INFO, "%s/%s %s; the picture is encoded again",
                     disk->path, name, why);
    }
    return rows;
}

/* ---- writing ------------------------------------------------------------------------------- */

static bool write_all(int file, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size > 0) {
        ssize_t put = write(file, at, size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        at += put;
        size -= (size_t)put;
    }
    return true;
}

/* A new file for the entry; its name is written to name. -1: none could be made. */
static int open_part(oc_visual_disk *disk, const oc_visual_key *key,
                     char name[OC_VISUAL_ENTRY_NAME])
{
    enum { MOST_TRIES = 100 }; /* another container's process may have our number */
    for (int i = 0; i < MOST_TRIES; i++) {
        oc_visual_entry_part_name(name, key, atomic_fetch_add(&disk->count, 1));
        int file = openat(disk->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                          disk->mode);
        if (file >= 0 || errno != EEXIST) {
            return file;
        }
    }
    return -1;
}

/* The file has its whole size before others are counted: of two that write at once, the one that
 * counts last sees both, so that all stay within the bound. */
static bool fill_part(oc_visual_disk *disk, int file, const oc_visual_key *key,
                      const oc_visual_rows *rows)
{
    oc_visual_entry entry;
    oc_visual_entry_make(&entry, key, rows->values, rows->bytes);
    return ftruncate(file, (off_t)(sizeof entry + rows->bytes)) == 0 &&
           oc_visual_evict(disk->folder, disk->most) && write_all(file, &entry, sizeof entry) &&
           write_all(file, rows->values, rows->bytes);
}

bool oc_visual_disk_write(oc_visual_disk *disk, const oc_visual_key *key,
                          const oc_visual_rows *rows)
{
    char name[OC_VISUAL_ENTRY_NAME], part[OC_VISUAL_ENTRY_NAME];
    if (rows->bytes > disk->most || disk->most - rows->bytes < sizeof(oc_visual_entry)) {
        return false; /* larger than all entries may be */
    }
    oc_visual_entry_name(name, key);
    errno = 0;
    int file = open_part(disk, key, part);
    bool done = file >= 0 && fill_part(disk, file, key, rows) &&
                renameat(disk->folder, part, disk->folder, name) == 0;
    int reason = errno;
    if (file >= 0) {
        close(file);
    }
    if (!done) {
        if (file >= 0) {
            (void)unlinkat(disk->folder, part, 0);
        }
        /* ENOENT: others needed the room, or took the folder away. */
        if (reason != ENOENT && !atomic_exchange(&disk->told, true)) {
            oc_log_write(&disk->log, OCELLI_LOG_WARN,
                         "cache folder %s: %s; what is encoded is not kept there", disk->path,
                         reason != 0 ? strerror(reason) : "no entry can be made");
        }
    }
    return done;
}
