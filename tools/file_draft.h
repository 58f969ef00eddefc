/* file_draft.h - a file that is replaced as a whole or not at all: written beside its place under a
 * temporary name, synced, renamed.
 *
 * A kill at any moment leaves the old file or the new one, and at worst a temporary, whose name is
 * ours alone (.ocelli-draft.PID-N.tmp): draft_clean removes those that no living process holds. */
#ifndef OCELLI_TOOLS_FILE_DRAFT_H
#define OCELLI_TOOLS_FILE_DRAFT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct file_draft {
    char *target; /* owned; where links lead, they are followed */
    char *temporary;
    int descriptor;
} file_draft;

/* All return false with one sentence in why [size]; nothing is then left of the draft. */
bool draft_open(file_draft *draft, const char *path, char *why, size_t size);
bool draft_write(file_draft *draft, const char *bytes, size_t length, char *why, size_t size);
/* Syncs and renames; keeps the permissions of a file that is replaced. */
bool draft_commit(file_draft *draft, char *why, size_t size);
void draft_abandon(file_draft *draft);

/* The three in one. */
bool draft_replace(const char *path, const char *bytes, size_t length, char *why, size_t size);

/* Removes the temporaries of killed processes from folder. */
void draft_clean(const char *folder);

/* All of a regular file, a new buffer, NUL-ended; *there false and *out NULL where there is none.
 * Files above 64 MiB are refused: a caption is none of them. */
bool file_read(const char *path, char **out, size_t *length, bool *there, char *why, size_t size);

/* Makes folder and those it lies in. */
bool folder_make(const char *folder, char *why, size_t size);

#endif
