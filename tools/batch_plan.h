/* batch_plan.h - what a batch has to do: its pictures, where their captions go, what is there already.
 * Opens the files of records; opens no model and no picture. */
#ifndef OCELLI_TOOLS_BATCH_PLAN_H
#define OCELLI_TOOLS_BATCH_PLAN_H

#include "tools/batch_prompts.h"
#include "tools/batch_record.h"
#include "tools/shard.h"

typedef struct batch_plan {
    const cli_options *options;
    batch_prompts prompts;
    batch_list list;
    shard part;
    batch_job *jobs; /* [count] */
    size_t count;
    bool has_lines, has_sidecars;
    batch_lines lines;
    batch_journal journal;
    batch_record record;
    size_t waiting, done, unreadable, left; /* jobs that wait, have a caption, have a problem, are
                                             * beyond --limit */
    size_t doubled;                         /* captions with a picture's whole name */
    size_t elsewhere;                       /* pictures of other shards */
} batch_plan;

/* Returns an exit code, with a message unless EXIT_DONE or EXIT_INTERRUPTED; to be closed in any
 * case. With --dry-run nothing is made, changed or locked. */
int batch_plan_make(batch_plan *plan, const cli_options *options);

/* --dry-run: what would be done, on stdout. */
void batch_plan_print(const batch_plan *plan);

/* finished: everything has been tried. Puts the JSON lines in order and ends the journal. EXIT_DONE or
 * EXIT_FAILED after a message. */
int batch_plan_finish(batch_plan *plan);
void batch_plan_close(batch_plan *plan);

#endif
