/* merge_index.h - which line of which file is the one for each picture and prompt, and their order.
 *
 * Holds of every line where it is, its path and 64 bytes, never its text, so that memory goes with the
 * number of lines alone: about 80 bytes and the path's length each.
 */
#ifndef OCELLI_TOOLS_MERGE_INDEX_H
#define OCELLI_TOOLS_MERGE_INDEX_H

#include "tools/merge_files.h"
#include "tools/merge_line.h"

#define MERGE_NOT_EXPECTED UINT64_MAX

typedef struct merge_entry {
    const char *path; /* in the index's blocks */
    uint64_t rank;    /* its place among the expected, MERGE_NOT_EXPECTED: none */
    uint64_t offset;  /* of the line in its file */
    uint64_t prompt;  /* hash of the prompt */
    uint64_t order;   /* of the prompt among the picture's */
    uint32_t length;  /* without the newline */
    uint32_t file;    /* index of the operand */
    bool failed;
} merge_entry;

/* Start from zeros. */
typedef struct merge_index {
    merge_entry *entries; /* [count] */
    size_t count, room;
    struct merge_block *blocks; /* that paths lie in, newest first */
    size_t superseded;          /* lines that gave way to others: equal, or an error's */
    char *model;                /* of the first line; NULL: none yet */
    const char *model_file;     /* where that was */
    uint64_t model_number;
    struct merge_asked {
        char *text;       /* what a whole file asked at this place; NULL: none yet */
        const char *file; /* which */
    } asked[MERGE_MOST_PROMPTS];
} merge_index;

/* A path as the index finds it again: its place among the expected. */
typedef struct merge_rank_list {
    struct merge_ranked {
        char *path; /* owned, as UTF-8 */
        uint64_t rank;
        bool found; /* there is a line for it */
    } * items;      /* [count], sorted by path's bytes after merge_ranks_sort */
    size_t count;
} merge_rank_list;

/* Reads a whole file of lines into the index; file is its number. Returns EXIT_DONE, or EXIT_FAILED after
 * a message, or EXIT_INTERRUPTED. Files of different models, and files that ask all their pictures
 * the same, but not what another file asks, are refused unless mixed. A torn last line is left out with
 * a warning. */
int merge_index_read(merge_index *index, const char *name, uint32_t file, bool mixed);

/* Leaves one entry for each picture and prompt: a caption before an error, of one file's the last,
 * since that worker did it again. Captions in two files must be the same but for the seconds: else
 * EXIT_FAILED after a message that names both lines. */
int merge_index_settle(merge_index *index, merge_files *files);

/* Gives every entry its rank, and marks what was found. A path that was there several times is left once
 * in *expected, which is in the order of rank afterwards. */
void merge_index_rank(merge_index *index, merge_rank_list *expected);
void merge_ranks_free(merge_rank_list *expected);

/* Expected ones first and in that order, others in path_order; of one picture by prompt. */
void merge_index_sort(merge_index *index);

void merge_index_free(merge_index *index);

#endif
