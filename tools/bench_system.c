/* bench_system.c - see bench_system.h. */
#define _DEFAULT_SOURCE /* mincore */

#include "tools/bench_system.h"
#include "tools/model_shape.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of the file that the page cache holds. */
static uint64_t cached_bytes(int file, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (size + page - 1) / page;
    uint64_t cached = 0;
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
    unsigned char *held = malloc(pages);
    if (map != MAP_FAILED && held != NULL && mincore(map, size, held) == 0) {
        for (size_t i = 0; i < pages; i++) {
            cached += (held[i] & 1) != 0 ? page : 0;
        }
    }
    free(held);
    if (map != MAP_FAILED) {
        munmap(map, size);
    }
    return cached < size ? cached : size;
}

static void drop_file(const char *path, uint64_t *total, uint64_t *cached)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return;
    }
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        (void)fdatasync(file); /* only clean pages can be dropped */
        (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        *total += (uint64_t)status.st_size;
        *cached += cached_bytes(file, (size_t)status.st_size);
    }
    close(file);
}

double system_drop_files(const char *folder)
{
    uint64_t total = 0, cached = 0;
    struct dirent *entry;
    DIR *entries = opendir(folder);
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        char *path = entry->d_name[0] != '.' ? path_join(folder, entry->d_name) : NULL;
        if (path != NULL) {
            drop_file(path, &total, &cached);
        }
        free(path);
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return total > 0 ? (double)cached / (double)total : 0;
}

void system_reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file != NULL) {
        fputs("5", file);
        fclose(file);
    }
}

/* The number of kilobytes after key in a file of the kernel's. */
static bool read_kilobytes(const char *path, const char *key, uint64_t *bytes)
{
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        uint64_t kilobytes;
        if (strncmp(line, key, strlen(key)) == 0 &&
            sscanf(line + strlen(key), " %" SCNu64, &kilobytes) == 1) {
            *bytes = kilobytes * 1024;
            found = true;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

bool system_peak_rss(uint64_t *bytes)
{
    return read_kilobytes("/proc/self/status", "VmHWM:", bytes);
}

bool system_pss(uint64_t *bytes)
{
    return read_kilobytes("/proc/self/smaps_rollup", "Pss:", bytes);
}

bool system_rss_files(uint64_t *bytes)
{
    return read_kilobytes("/proc/self/status", "RssFile:", bytes);
}

bool system_large_files(uint64_t *bytes)
{
    return read_kilobytes("/proc/self/smaps_rollup", "FilePmdMapped:", bytes);
}

bool system_pss_files(uint64_t *bytes)
{
    return read_kilobytes("/proc/self/smaps_rollup", "Pss_File:", bytes);
}
