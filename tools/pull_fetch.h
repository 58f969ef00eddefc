/* pull_fetch.h - one file from the hub to its place: resumed, checked, then renamed.
 *
 * It is written to NAME.partial and its hash taken on the way. Whatever ends a run, at whatever
 * moment, NAME is either absent, the old file, or the whole new one, and the next run goes on where
 *
 * this one ended. */
#ifndef OCELLI_TOOLS_PULL_FETCH_H
#define OCELLI_TOOLS_PULL_FETCH_H

#include "tools/pull_list.h"

/* How far the whole work has come, for the bar. */
typedef struct pull_tally {
    uint64_t total;    /* bytes of all files to fetch */
    uint64_t finished; /* of those of them that are whole */
    uint64_t received; /* over the network, in this run */
} pull_tally;

/* Fetches file into folder, which exists. Sets time to that of the finished file. Exit code, after
 * a message unless interrupted. */
int pull_fetch(pull_hub *hub, const char *folder, const remote_file *file, pull_tally *tally,
               char time[DOWNLOAD_TIME_SIZE]);

/* Whether the file that lies at file's place in folder has its hash. EXIT_DONE with *same set, and
 * time where it is; otherwise as above. */
int pull_compare(const char *folder, const remote_file *file, bool *same,
                 char time[DOWNLOAD_TIME_SIZE]);

/* Bytes of the file that an earlier run has left in NAME.partial. */
uint64_t pull_left_over(const char *folder, const remote_file *file);

#endif
