/* batch_lines.h - the file of --jsonl: which answers it holds already, and new ones behind them.
 *
 * An answer is told apart by its picture's path and the prompt. Lines are added in the order of the
 * pictures; where a rerun has filled gaps or tried failures again, batch_lines_finish puts the file in
 * that order, so that it has the bytes that one undisturbed run would have written (but for the
 * seconds). Lines of other pictures stay where they are. */
#ifndef OCELLI_TOOLS_BATCH_LINES_H
#define OCELLI_TOOLS_BATCH_LINES_H

#include "tools/line_file.h"

/* 128 bits of hash of a path and a prompt. */
typedef struct line_key {
    uint64_t a, b;
} line_key;

line_key line_key_make(const char *path, const char *prompt);

typedef struct line_entry {
    line_key key;
    uint64_t offset;
    size_t length; /* its newline included */
    bool failed;   /* it holds an error, no caption */
    bool last;     /* no later line has its key */
} line_entry;

typedef struct batch_lines {
    line_file file;
    bool stream;         /* stdout, a pipe, a device: only written */
    int descriptor;      /* of a stream that is not stdout; -1 */
    line_entry *entries; /* [count], in the order of the file */
    size_t count, room;
    size_t *slots; /* [slot_room], a hash table of the last entries: index + 1, 0 empty */
    size_t slot_room;
} batch_lines;

/* "-" is stdout. looking: nothing is made or changed. Returns an exit code, with a message unless
 * EXIT_DONE; to be closed in any case. */
int batch_lines_open(batch_lines *lines, const char *path, bool looking);

/* The last line of that key; NULL if there is none. */
const line_entry *batch_lines_find(const batch_lines *lines, line_key key);
/* The caption of a line, a new string; NULL: it cannot be read. */
char *batch_lines_caption(const batch_lines *lines, const line_entry *entry);

/* Adds the lines text, count of them, of these keys. False with a sentence in why. */
bool batch_lines_add(batch_lines *lines, const char *text, const line_key *keys, size_t count,
                     char *why, size_t size);
/* The lines of text are in the file already, just so. */
bool batch_lines_has(const batch_lines *lines, const char *text, const line_key *keys,
                     size_t count);

/* Puts the lines of keys [count] into their order, where they are not, and drops earlier ones of the
 * same key. False with a sentence in why. */
bool batch_lines_finish(batch_lines *lines, const line_key *keys, size_t count, char *why,
                        size_t size);

void batch_lines_close(batch_lines *lines);

#endif
