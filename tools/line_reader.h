/* line_reader.h - stdin line by line, in a way that a signal can end at any moment.
 *
 * getline would do but for one thing: a signal that comes just before it begins to read leaves it
 * waiting. This reads only when interrupt_wait says that there is something to read.
 */
#ifndef OCELLI_TOOLS_LINE_READER_H
#define OCELLI_TOOLS_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>

/* Start from zeros. */
typedef struct line_reader {
    char *bytes;             /* [room], owned */
    size_t start, end, room; /* what has been read and not yet given: [start, end) */
    bool over;               /* the input has ended */
} line_reader;

typedef enum line_result { LINE_READ, LINE_END, LINE_INTERRUPTED, LINE_FAILED } line_result;

/* Sets *line to the next line without its newline, NUL-ended, valid until the next call; *length may
 * be past a NUL of the line. LINE_FAILED after a message. */
line_result line_reader_next(line_reader *reader, char **line, size_t *length);
void line_reader_free(line_reader *reader);

#endif
