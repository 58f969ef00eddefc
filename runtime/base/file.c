/* file.c - see file.h. POSIX. */
#define _DEFAULT_SOURCE /* madvise */
#define _POSIX_C_SOURCE 200809L
#include "runtime/base/file.h"

#include "runtime/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a regular file; a FIFO or device must not make us wait, so O_NONBLOCK. */
static ocelli_status open_regular(int *out, struct stat *status, const char *path,
                                  ocelli_error *err)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return oc_fail(err, OCELLI_E_IO, "%s: %s", path, strerror(errno));
    }
    if (fstat(descriptor, status) != 0) {
        int reason = errno;
        close(descriptor);
        return oc_fail(err, OCELLI_E_IO, "%s: %s", path, strerror(reason));
    }
    if (!S_ISREG(status->st_mode)) {
        close(descriptor);
        return oc_fail(err, OCELLI_E_IO, "%s: %s, not a file", path,
                       S_ISDIR(status->st_mode) ? "a folder" : "a special file");
    }
    *out = descriptor;
    return OCELLI_OK;
}

ocelli_status oc_map_open(oc_map *out, const char *path, oc_file_identity *identity,
                          ocelli_error *err)
{
    struct stat status;
    int descriptor = -1;
    *out = (oc_map){0};
    OC_TRY(open_regular(&descriptor, &status, path, err));
    if ((uintmax_t)status.st_size > SIZE_MAX) {
        close(descriptor);
        return oc_fail(err, OCELLI_E_LIMIT, "%s: larger than the address space", path);
    }
    size_t size = (size_t)status.st_size;
    if (size > 0) {
        void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, descriptor, 0);
        if (bytes == MAP_FAILED) {
            int reason = errno;
            close(descriptor);
            return oc_fail(err, OCELLI_E_IO, "%s: cannot map %zu bytes: %s", path, size,
                           strerror(reason));
        }
        *out = (oc_map){.bytes = bytes, .size = size};
    }
    out->file = descriptor + 1;
    if (identity != NULL) {
        *identity = (oc_file_identity){.device = (uint64_t)status.st_dev,
                                       .inode = (uint64_t)status.st_ino,
                                       .size = (uint64_t)status.st_size,
                                       .modified_seconds = (uint64_t)status.st_mtim.tv_sec,
                                       .modified_nanoseconds = (uint64_t)status.st_mtim.tv_nsec};
    }
    return OCELLI_OK;
}

void oc_map_close(oc_map *map)
{
    if (map->bytes != NULL) {
        munmap((void *)(uintptr_t)map->bytes, map->size);
    }
    if (map->file > 0) {
        close(map->file - 1);
    }
    *map = (oc_map){0};
}

ocelli_status oc_map_check(const oc_map *map, const char *path, ocelli_error *err)
{
    struct stat status;
    if (map->file > 0 && !map->held && fstat(map->file - 1, &status) == 0 &&
        (uintmax_t)status.st_size < map->size) {
        return oc_fail(
            err, OCELLI_E_IO,
            "%s: the file became shorter while it was in use: %ju bytes, it had %zu; put "
            "it back and open the model again",
            path, (uintmax_t)status.st_size, map->size);
    }
    return OCELLI_OK;
}

ocelli_status oc_map_read(const oc_map *map, const char *path, uint64_t offset, void *out,
                          size_t size, ocelli_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(map->file - 1, (char *)out + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return oc_fail(err, OCELLI_E_IO, "%s: reading %zu bytes at %llu: %s", path, size,
                           (unsigned long long)offset,
                           got < 0 ? strerror(errno)
                                   : "the file became shorter while it was in use");
        }
        done += (size_t)got;
    }
    return OCELLI_OK;
}

void oc_map_expect_random(const oc_map *map)
{
    if (map->bytes != NULL) {
        posix_madvise((void *)(uintptr_t)map->bytes, map->size, POSIX_MADV_RANDOM);
    }
    posix_fadvise(map->file - 1, 0, 0, POSIX_FADV_RANDOM);
}

void oc_map_expect_whole(const oc_map *map)
{
#ifdef MADV_HUGEPAGE
    if (map->bytes != NULL) {
        madvise((void *)(uintptr_t)map->bytes, map->size, MADV_HUGEPAGE);
    }
#else
    (void)map;
#endif
}

ocelli_status oc_map_hold(oc_map *map, const char *path, ocelli_error *err)
{
    void *place = (void *)(uintptr_t)map->bytes;
    if (map->bytes == NULL || map->held) {
        return OCELLI_OK;
    }
    if (mmap(place, map->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED) {
        return oc_fail(err, OCELLI_E_MEMORY, "%s: no memory for a copy of its %zu bytes", path,
                       map->size);
    }
    map->held = true;
    oc_map_expect_whole(map);
    OC_TRY(oc_map_read(map, path, 0, place, map->size, err));
    if (mprotect(place, map->size, PROT_READ) != 0) {
        return oc_fail(err, OCELLI_E_IO, "%s: its copy cannot be protected: %s", path,
                       strerror(errno));
    }
    return OCELLI_OK;
}

void oc_map_expect_read(const oc_map *map, uint64_t offset, size_t size)
{
    posix_fadvise(map->file - 1, (off_t)offset, (off_t)size, POSIX_FADV_WILLNEED);
}

void oc_map_release_pages(const oc_map *map, const void *begin, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const unsigned char *start = begin;
    if (map->bytes == NULL || map->held || size > map->size || start < map->bytes ||
        (size_t)(start - map->bytes) > map->size - size) {
        return; /* not a range of this map */
    }
    /* Only whole pages inside the range: the neighbours' bytes stay warm. */
    uintptr_t first = ((uintptr_t)start + page - 1) & ~(uintptr_t)(page - 1);
    uintptr_t last = (uintptr_t)start + size;
    if (start + size == map->bytes + map->size) {
        last += page - 1; /* nobody's bytes follow */
    }
    last &= ~(uintptr_t)(page - 1);
    if (last > first) {
        madvise((void *)first, last - first, MADV_DONTNEED);
    }
}

ocelli_status oc_file_read(char **out, size_t *size, const char *path, size_t limit,
                           ocelli_error *err)
{
    struct stat status;
    int descriptor = -1;
    *out = NULL;
    *size = 0;
    OC_TRY(open_regular(&descriptor, &status, path, err));
    if (status.st_size < 0 || (uintmax_t)status.st_size > limit) {
        close(descriptor);
        return oc_fail(err, OCELLI_E_LIMIT, "%s: %jd bytes, more than the limit of %zu", path,
                       (intmax_t)status.st_size, limit);
    }
    size_t wanted = (size_t)status.st_size;
    char *bytes = oc_alloc(wanted + 1, 1);
    size_t got = 0;
    int reason = 0;
    while (bytes != NULL && got < wanted) {
        ssize_t count = read(descriptor, bytes + got, wanted - got);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            reason = count < 0 ? errno : 0;
            break;
        }
        got += (size_t)count;
    }
    close(descriptor);
    if (bytes == NULL) {
        return oc_fail_memory(err, path);
    }
    if (got < wanted) {
        oc_free(bytes);
        return oc_fail(err, OCELLI_E_IO, "%s: read %zu of %zu bytes: %s", path, got, wanted,
                       reason != 0 ? strerror(reason) : "the file became shorter");
    }
    *out = bytes;
    *size = wanted;
    return OCELLI_OK;
}

const char *oc_file_impostor(const void *bytes, size_t size)
{
    static const struct {
        const char *begins, *what;
    } kinds[] = {
        {"version https://git-lfs", "a Git LFS pointer, not the file: run git lfs pull"},
        {"<!DOCTYPE", "a web page, not the file: download it again"},
        {"<!doctype", "a web page, not the file: download it again"},
        {"<html", "a web page, not the file: download it again"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t length = strlen(kinds[i].begins);
        if (size >= length && memcmp(bytes, kinds[i].begins, length) == 0) {
            return kinds[i].what;
        }
    }
    return NULL;
}

bool oc_file_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 || lstat(path, &status) == 0;
}

bool oc_file_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

char *oc_path_join(const char *directory, const char *name)
{
    size_t left = strlen(directory);
    size_t right = strlen(name);
    size_t slash = left > 0 && directory[left - 1] == '/' ? 0 : 1;
    char *path = oc_alloc(left + slash + right + 1, 1);
    if (path != NULL) {
        memcpy(path, directory, left);
        if (slash) {
            path[left] = '/';
        }
        memcpy(path + left + slash, name, right);
    }
    return path;
}
