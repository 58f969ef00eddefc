/* pull_plan.h - what of a repository's wanted files is in a folder already, what is to come, and
 * whether there is room for it. */
#ifndef OCELLI_TOOLS_PULL_PLAN_H
#define OCELLI_TOOLS_PULL_PLAN_H

#include "tools/pull_list.h"

typedef struct pull_plan {
    const remote_file **missing; /* [count] to fetch: small files first, weights last; owned */
    size_t count;
    uint64_t bytes;      /* of them */
    uint64_t left_over;  /* of these, what earlier runs have left */
    bool record_changed; /* the record differs from the one on disk */
} pull_plan;

/* Compares the wanted files with the folder, which need not exist, reading those that the record
 * does not vouch for, and makes the record that of the list: the wanted files, whole or not, and
 * what else it vouched for. A file that is not as listed is fetched anew if an earlier pull wrote
 * it, and refused if it is somebody else's. Start from zeros. Exit code, after a message unless
 * interrupted; free in any case. */
int pull_plan_make(const pull_hub *hub, const remote_list *list, const char *folder,
                   download_record *record, pull_plan *out);
void pull_plan_free(pull_plan *plan);

/* The folder's disk has room for what is to come. False after a message. */
bool pull_plan_has_room(const pull_plan *plan, const char *folder);

/* Makes the folder and those above it, and locks it: two pulls would write into one partial file.
 * The descriptor, to close at the end; -1 after a message. */
int pull_folder_open(const char *folder);

#endif
