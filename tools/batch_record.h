/* batch_record.h - writes what a batch has come to: sidecars, JSON lines, the journal, failures.
 *
 * For each picture in this order: the journal's line, the JSON lines, the sidecar. A kill between two
 * of them is made good by the next run from the one before. With --jsonl pictures are recorded in their
 * own order, those that are done early wait; without, at once. */
#ifndef OCELLI_TOOLS_BATCH_RECORD_H
#define OCELLI_TOOLS_BATCH_RECORD_H

#include "tools/batch_job.h"
#include "tools/batch_journal.h"

typedef struct batch_record {
    const cli_options *options;
    batch_job *jobs;
    size_t count, prompts;
    batch_lines *lines;     /* NULL: no --jsonl */
    batch_journal *journal; /* not open: none */
    size_t journal_folder;  /* length of the part of a cleaned sidecar path that is its folder's */
    const char *model_name, *fingerprint;
    size_t next; /* all jobs before it are recorded */
    size_t captioned, skipped, failed;
} batch_record;

/* The picture of jobs[index] is answered or has failed. Returns EXIT_DONE, or EXIT_FAILED after a
 * message: nothing can be recorded any more, or --strict and it failed. */
int batch_record_job(batch_record *record, size_t index);

/* Writes what an earlier run has put into the journal and no further. EXIT_DONE or EXIT_FAILED. */
int batch_record_settle(batch_record *record, const batch_job *job, const journal_entry *entry);

/* The name of a caption in the journal: its path within the journal's folder. A new string; NULL: no
 * memory. */
char *batch_record_name(const batch_record *record, const batch_job *job);

/* A caption that says nothing is none: empty, or blanks. */
bool caption_is_blank(const char *text);

#endif
