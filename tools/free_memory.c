/* free_memory.c - see free_memory.h. Asks Linux's files; elsewhere only the size of the machine. */
#define _DEFAULT_SOURCE /* _SC_PHYS_PAGES */

#include "tools/free_memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first number behind label ("" : at the start of the file). */
static bool read_number(const char *path, const char *label, uint64_t *out)
{
    char line[200];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        size_t length = strlen(label);
        found = strncmp(line, label, length) == 0 && sscanf(line + length, "%" SCNu64, out) == 1;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

uint64_t free_memory(void)
{
    uint64_t bytes = 0, limit = 0, used = 0;
    if (read_number("/proc/meminfo", "MemAvailable:", &bytes)) {
        bytes *= 1024;
    } else {
        long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
        bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : UINT64_C(1) << 30;
    }
    if (read_number("/sys/fs/cgroup/memory.max", "", &limit) &&
        read_number("/sys/fs/cgroup/memory.current", "", &used)) {
        uint64_t left = limit > used ? limit - used : 0;
        bytes = left < bytes ? left : bytes;
    }
    return bytes;
}
