/* line_reader.c - see line_reader.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/line_reader.h"
#include "tools/interrupt.h"
#include "tools/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A message longer than this fits no context. */
#define LONGEST_LINE ((size_t)64 << 20)

/* Room for one more byte at least, and one for the NUL. */
static bool make_room(line_reader *reader)
{
    if (reader->start > 0) {
        memmove(reader->bytes, reader->bytes + reader->start, reader->end - reader->start);
        reader->end -= reader->start;
        reader->start = 0;
    }
    if (reader->room - reader->end >= 2) {
        return true;
    }
    size_t more = reader->room == 0 ? 4096 : reader->room * 2;
    char *larger = more <= LONGEST_LINE ? realloc(reader->bytes, more) : NULL;
    if (larger == NULL) {
        report_error("stdin: a line of more than %zu bytes is too long", reader->end);
        return false;
    }
    reader->bytes = larger;
    reader->room = more;
    return true;
}

/* Gives [start, start + length), and goes past it and its newline. */
static line_result give(line_reader *reader, size_t length, bool has_newline, char **line,
                        size_t *out_length)
{
    *line = reader->bytes + reader->start;
    *out_length = length;
    (*line)[length] = '\0'; /* in place of the newline, or in the room kept for it */
    reader->start += length + has_newline;
    return LINE_READ;
}

line_result line_reader_next(line_reader *reader, char **line, size_t *length)
{
    size_t searched = 0; /* of what is there, without a newline */
    for (;;) {
        size_t there = reader->end - reader->start;
        if (there > searched) {
            char *from = reader->bytes + reader->start;
            char *newline = memchr(from + searched, '\n', there - searched);
            if (newline != NULL) {
                return give(reader, (size_t)(newline - from), true, line, length);
            }
            searched = there;
        }
        if (reader->over) {
            return there > 0 ? give(reader, there, false, line, length) : LINE_END;
        }
        if (!make_room(reader)) {
            return LINE_FAILED;
        }
        if (!interrupt_wait(STDIN_FILENO)) {
            return LINE_INTERRUPTED;
        }
        ssize_t got =
            read(STDIN_FILENO, reader->bytes + reader->end, reader->room - reader->end - 1);
        if (got < 0 && errno != EINTR && errno != EAGAIN) {
            report_error("cannot read stdin: %s", strerror(errno));
            return LINE_FAILED;
        }
        if (got == 0) {
            reader->over = true;
        } else if (got > 0) {
            reader->end += (size_t)got;
        }
    }
}

void line_reader_free(line_reader *reader)
{
    free(reader->bytes);
    memset(reader, 0, sizeof *reader);
}
