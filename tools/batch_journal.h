/* batch_journal.h - what an unfinished run has done, where the captions themselves do not show it.
 *
 * One file, .ocelli-caption.journal, in the folder that holds all captions of the run (of a shard
 * .ocelli-caption.K-of-N.journal). While a run lasts it is the lock that keeps a second one out. In the
 * modes overwrite, append and prepend it has a line for each picture, written before its caption is: a
 * rerun writes what a kill prevented, does nothing twice, and a finished run removes the file. After a
 * run in which pictures failed it stays, so that the same command tries only these. In mode skip the
 * captions tell everything, and no line is written. */
#ifndef OCELLI_TOOLS_BATCH_JOURNAL_H
#define OCELLI_TOOLS_BATCH_JOURNAL_H

#include "tools/line_file.h"

typedef struct journal_entry {
    uint64_t key; /* of the caption's path within the journal's folder; 0: none */
    char *before; /* what was there: "absent", or its size and hash */
    char *text;   /* the new caption, as it is put into the sidecar; "" where there are none */
    char *lines;  /* its JSON lines; "" */
} journal_entry;

typedef struct batch_journal {
    line_file file;
    bool open;
    bool over;              /* an earlier run has tried everything; some failed */
    char *mode, *settings;  /* of the file */
    journal_entry *entries; /* [room], a hash table by key */
    size_t count, room;
} batch_journal;

/* Opens the journal at path for a run of this mode and these settings (any text that another run would
 * not have). What a run of other settings left is refused if it is unfinished and added to captions,
 * else forgotten. looking: nothing is made or changed. *denied: the folder cannot be written, which only
 * the caller knows the weight of; no message then. Returns an exit code, with a message unless
 * EXIT_DONE. To be closed in any case. */
int journal_open(batch_journal *journal, const char *path, const char *mode, const char *settings,
                 bool looking, bool *denied);

/* NULL: nothing is known of that caption. */
const journal_entry *journal_find(const batch_journal *journal, const char *caption);

bool journal_add(batch_journal *journal, const char *caption, const char *before, const char *text,
                 const char *lines, char *why, size_t size);
/* All has been tried, and some failed. */
bool journal_end(batch_journal *journal, char *why, size_t size);

/* finished: the file is removed; else it is where a line of it would be missed. */
void journal_close(batch_journal *journal, bool finished);

/* "absent", or "SIZE-HASH" of the bytes; room for 48 characters. */
void journal_state(char out[48], const char *bytes, size_t length);

#endif
