/* smaps.h - what of a mapping is in memory, from /proc/self/smaps; for tests on Linux. */
#ifndef OC_TESTS_SMAPS_H
#define OC_TESTS_SMAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct smaps {
    unsigned long rss, pss; /* KiB */
} smaps;

/* Of the mapping that holds address; false: no such file or mapping. */
static inline bool smaps_read(const void *address, smaps *out)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[1024];
    bool inside = false;
    int found = 0;
    if (file == NULL) {
        return false;
    }
    *out = (smaps){0, 0};
    while (found < 2 && fgets(line, sizeof line, file) != NULL) {
        unsigned long long begin;
        unsigned long long end;
        if (sscanf(line, "%llx-%llx ", &begin, &end) == 2) {
            inside = (uintptr_t)address >= begin && (uintptr_t)address < end;
        } else if (inside) {
            found += sscanf(line, "Rss: %lu kB", &out->rss) == 1;
            found += sscanf(line, "Pss: %lu kB", &out->pss) == 1;
        }
    }
    fclose(file);
    return found == 2;
}

#endif
