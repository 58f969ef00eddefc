/* merge_line.h - a file of JSON lines, read line by line, and what 'ocelli merge' needs of a line.
 *
 * Lines come from workers that may have been killed, through disks that may have been full, and from
 * whatever file somebody names: a line is at most MERGE_LONGEST_LINE bytes and its values are nested
 * at most MERGE_DEEPEST deep before anything is made of it.
 */
#ifndef OCELLI_TOOLS_MERGE_LINE_H
#define OCELLI_TOOLS_MERGE_LINE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MERGE_LONGEST_LINE ((size_t)4 << 20)
#define MERGE_DEEPEST 16
/* Beyond what --prompt may be given. */
#define MERGE_MOST_PROMPTS 64

typedef struct merge_reader {
    const char *name; /* of the file, borrowed */
    int descriptor;
    char *bytes;             /* [room] */
    size_t start, end, room; /* read and not yet given: [start, end) */
    bool over;               /* the file has ended */
    uint64_t offset;         /* in the file, of bytes[start] */
    uint64_t number;         /* of the line given last, from 1 */
} merge_reader;

typedef struct merge_text {
    const char *text; /* [length], then a NUL; valid until the next call */
    size_t length;    /* without the newline */
    uint64_t offset;  /* in the file */
    bool torn;        /* no newline ends it: the file's last line */
} merge_text;

typedef enum merge_result { MERGE_READ, MERGE_END, MERGE_FAILED } merge_result;

/* A regular file. False after a message. */
bool merge_reader_open(merge_reader *reader, const char *name);
void merge_reader_close(merge_reader *reader);
/* The next line that is not empty. MERGE_FAILED after a message that names file and line. */
merge_result merge_reader_next(merge_reader *reader, merge_text *out);

/* What a line of batch_record.c says. */
typedef struct merge_line {
    cJSON *object;
    char *path;         /* its bytes: "path", or "path_hex" where the line has that */
    const char *prompt; /* its text, of object */
    uint64_t index;     /* of the prompt among the picture's */
    const char *model;  /* its fingerprint, or its name where that is "" */
    bool failed;        /* it tells an error in place of a caption */
} merge_line;

/* False, with the reason in why [size] and nothing to free, for what no worker has written. */
bool merge_line_parse(const merge_text *text, merge_line *out, char *why, size_t size);
void merge_line_free(merge_line *line);

/* The line without what differs from run to run and from machine to machine (the seconds, the model's
 * place), printed; for cJSON_free. NULL: no memory. Changes line->object. */
char *merge_line_lasting(merge_line *line);

#endif
