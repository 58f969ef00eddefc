/* merge_line.c - see merge_line.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/merge_line.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)64 << 10)

/* ---- lines --------------------------------------------------------------------------------- */

bool merge_reader_open(merge_reader *reader, const char *name)
{
    struct stat about;
    memset(reader, 0, sizeof *reader);
    reader->name = name;
    /* A pipe without a writer would be waited for. */
    reader->descriptor = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (reader->descriptor < 0 || fstat(reader->descriptor, &about) != 0) {
        report_error("cannot open '%s': %s", name, strerror(errno));
        merge_reader_close(reader);
        return false;
    }
    if (!S_ISREG(about.st_mode)) {
        report_error("'%s' is no regular file; lines are read twice", name);
        merge_reader_close(reader);
        return false;
    }
    return true;
}

void merge_reader_close(merge_reader *reader)
{
    if (reader->descriptor >= 0) {
        close(reader->descriptor);
    }
    free(reader->bytes);
    reader->descriptor = -1;
    reader->bytes = NULL;
}

/* Room for one more byte at least, and one for the NUL. */
static bool make_room(merge_reader *reader)
{
    if (reader->start > 0) {
        memmove(reader->bytes, reader->bytes + reader->start, reader->end - reader->start);
        reader->end -= reader->start;
        reader->start = 0;
    }
    if (reader->room - reader->end >= 2) {
        return true;
    }
    if (reader->end > MERGE_LONGEST_LINE) {
        report_error("%s:%" PRIu64 ": the line is longer than %zu bytes, and no caption",
                     reader->name, reader->number + 1, MERGE_LONGEST_LINE);
        return false;
    }
    size_t more = reader->room == 0 ? BLOCK : reader->room * 2;
    char *larger = realloc(reader->bytes, more);
    if (larger == NULL) {
        report_error("no memory for a line of '%s'", reader->name);
        return false;
    }
    reader->bytes = larger;
    reader->room = more;
    return true;
}

static void give(merge_reader *reader, size_t length, bool torn, merge_text *out)
{
    char *text = reader->bytes + reader->start;
    text[length] = '\0'; /* in place of the newline, or in the room kept for it */
    *out = (merge_text){text, length, reader->offset, torn};
    reader->start += length + !torn;
    reader->offset += length + !torn;
    reader->number++;
}

merge_result merge_reader_next(merge_reader *reader, merge_text *out)
{
    size_t searched = 0; /* of what is there, without a newline */
    memset(out, 0, sizeof *out);
    for (;;) {
        size_t there = reader->end - reader->start;
        if (there > searched) {
            char *from = reader->bytes + reader->start;
            char *newline = memchr(from + searched, '\n', there - searched);
            if (newline != NULL || reader->over) {
                give(reader, newline != NULL ? (size_t)(newline - from) : there, newline == NULL,
                     out);
                if (out->length > 0) {
                    return MERGE_READ;
                }
                searched = 0;
                continue;
            }
            searched = there;
        }
        if (reader->over) {
            return MERGE_END;
        }
        if (!make_room(reader)) {
            return MERGE_FAILED;
        }
        ssize_t got =
            read(reader->descriptor, reader->bytes + reader->end, reader->room - reader->end - 1);
        if (got < 0 && errno != EINTR) {
            report_error("cannot read '%s': %s", reader->name, strerror(errno));
            return MERGE_FAILED;
        }
        if (got == 0) {
            reader->over = true;
            searched = 0; /* what is there is the last line */
        } else if (got > 0) {
            reader->end += (size_t)got;
        }
    }
}

/* ---- what a line says ---------------------------------------------------------------------- */

/* The brackets outside of strings stay within MERGE_DEEPEST. */
static bool is_shallow(const char *text, size_t length)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < length; i++) {
        if (in_string) {
            if (text[i] == '\\') {
                i++;
            } else if (text[i] == '"') {
                in_string = false;
            }
        } else if (text[i] == '"') {
            in_string = true;
        } else if (text[i] == '{' || text[i] == '[') {
            if (++depth > MERGE_DEEPEST) {
                return false;
            }
        } else if ((text[i] == '}' || text[i] == ']') && depth > 0) {
            depth--;
        }
    }
    return true;
}

void merge_line_free(merge_line *line)
{
    cJSON_Delete(line->object);
    free(line->path);
    memset(line, 0, sizeof *line);
}

static bool refuse(merge_line *line, char *why, size_t size, const char *sentence)
{
    merge_line_free(line);
    snprintf(why, size, "%s", sentence);
    return false;
}

static const char *member(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Who it is about, what was asked, and of whom. */
static bool read_names(merge_line *line)
{
    const cJSON *prompt = cJSON_GetObjectItemCaseSensitive(line->object, "prompt");
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(line->object, "model");
    const cJSON *index = cJSON_GetObjectItemCaseSensitive(prompt, "index");
    const char *path = member(line->object, "path");
    const char *hex = member(line->object, "path_hex");
    line->path = hex != NULL ? text_from_hex(hex) : path != NULL ? text_copy(path) : NULL;
    line->prompt = member(prompt, "text");
    line->model = member(model, "fingerprint");
    if (line->model != NULL && *line->model == '\0') {
        line->model = member(model, "name");
    }
    if (!cJSON_IsNumber(index) || !(index->valuedouble >= 0) ||
        !(index->valuedouble < MERGE_MOST_PROMPTS)) {
        return false;
    }
    line->index = (uint64_t)index->valuedouble;
    return line->path != NULL && *line->path != '\0' && line->prompt != NULL && line->model != NULL;
}

bool merge_line_parse(const merge_text *text, merge_line *out, char *why, size_t size)
{
    size_t bad = 0;
    memset(out, 0, sizeof *out);
    if (text->length > MERGE_LONGEST_LINE) {
        return refuse(out, why, size, "the line is too long for a caption");
    }
    if (memchr(text->text, '\0', text->length) != NULL ||
        !text_is_utf8(text->text, text->length, &bad)) {
        return refuse(out, why, size, "not JSON: bytes that are no UTF-8 text");
    }
    if (!is_shallow(text->text, text->length)) {
        return refuse(out, why, size, "values nested deeper than any caption's");
    }
    out->object = cJSON_ParseWithLengthOpts(text->text, text->length + 1, NULL, 1);
    if (out->object == NULL) {
        return refuse(out, why, size, "not JSON");
    }
    if (!cJSON_IsObject(out->object)) {
        return refuse(out, why, size, "not a JSON object");
    }
    if (!read_names(out)) {
        return refuse(out, why, size,
                      "no line of 'ocelli caption --jsonl', which has a \"path\", a "
                      "\"prompt\" and a \"model\"");
    }
    const cJSON *caption = cJSON_GetObjectItemCaseSensitive(out->object, "caption");
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(out->object, "error");
    out->failed = cJSON_IsString(error);
    if (out->failed == cJSON_IsString(caption)) {
        return refuse(out, why, size, "a line has either a \"caption\" or an \"error\"");
    }
    return true;
}

char *merge_line_lasting(merge_line *line)
{
    cJSON *model = cJSON_GetObjectItemCaseSensitive(line->object, "model");
    const char *fingerprint = member(model, "fingerprint");
    if (fingerprint != NULL && *fingerprint != '\0') {
        cJSON_DeleteItemFromObjectCaseSensitive(model, "name");
    }
    cJSON_DeleteItemFromObjectCaseSensitive(line->object, "seconds");
    return cJSON_PrintUnformatted(line->object);
}
