/* bench_system.h - what the benchmark asks of the system: files out of the page cache, and how much
 * memory the process takes. */
#ifndef OCELLI_TOOLS_BENCH_SYSTEM_H
#define OCELLI_TOOLS_BENCH_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/* Drops the files of a folder from the page cache. Returns the share of their bytes that stays in
 * it, 0 to 1: another process may have them mapped. */
double system_drop_files(const char *folder);

/* Forgets the peak so far. Not every system can. */
void system_reset_peak(void);

/* Bytes of the largest resident size so far, and of the proportional one now (what is shared with
 * other processes divided among them). False where the system does not tell. */
bool system_peak_rss(uint64_t *bytes);
bool system_pss(uint64_t *bytes);
/* Of that, and of the resident size now, what is of mapped files. */
bool system_rss_files(uint64_t *bytes);
bool system_pss_files(uint64_t *bytes);
/* Of the resident bytes of mapped files, those that are mapped in large pages. */
bool system_large_files(uint64_t *bytes);

#endif
