/* frame_times.c - see frame_times.h. */
#include "tools/frame_times.h"
#include "tools/cli_options.h"
#include "tools/flags.h"
#include "tools/inputs.h"
#include "tools/report.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Thirty thousand years: more than any clock counts, and whole hundredths of a second still differ. */
#define LATEST_SECONDS 1e12

static const char blanks[] = " \t\r\v\f";

typedef struct reading {
    const char *path, *folder;
    const frames_folder *frames;
    double *seconds; /* [frames->count] */
    bool *known;     /* [frames->count] */
    size_t count;    /* lines with a time */
    size_t line;     /* the present one, from 1 */
    bool named;      /* the first of them names its frame */
} reading;

static int compare_name(const void *name, const void *frame)
{
    return natural_compare(name, *(char *const *)frame);
}

/* The frame that a line is about; frames->count after a message. */
static size_t find_frame(const reading *r, const char *name)
{
    char *const *found =
        bsearch(name, r->frames->names, r->frames->count, sizeof r->frames->names[0], compare_name);
    if (found == NULL) {
        report_error("--times %s: line %zu: '%s' is no frame of '%s'", r->path, r->line, name,
                     r->folder);
        return r->frames->count;
    }
    size_t index = (size_t)(found - r->frames->names);
    if (r->known[index]) {
        report_error("--times %s: line %zu: '%s' has a time already", r->path, r->line, name);
        return r->frames->count;
    }
    return index;
}

/* text: without blanks around it, not empty. */
static int read_line(reading *r, char *text)
{
    double seconds = 0;
    char *number = text + strlen(text);
    while (number > text && strchr(blanks, number[-1]) == NULL) {
        number--;
    }
    bool named = number > text;
    if (!flags_read_real(number, &seconds)) {
        report_error("--times %s: line %zu: '%.60s' is not a time in seconds", r->path, r->line,
                     number);
        return EXIT_FAILED;
    }
    if (seconds < 0 || seconds > LATEST_SECONDS) {
        report_error("--times %s: line %zu: %g seconds is not a time from 0 to %g", r->path,
                     r->line, seconds, LATEST_SECONDS);
        return EXIT_FAILED;
    }
    if (r->count > 0 && named != r->named) {
        report_error("--times %s: line %zu %s, and those before it do not", r->path, r->line,
                     named ? "names its frame" : "is a time alone");
        return EXIT_FAILED;
    }
    r->named = named;
    size_t index = r->count++;
    if (named) {
        while (number > text && strchr(blanks, number[-1]) != NULL) {
            *--number = '\0';
        }
        index = find_frame(r, text);
        if (index == r->frames->count) {
            return EXIT_FAILED;
        }
    }
    if (index < r->frames->count) { /* more are counted, for the message */
        r->seconds[index] = seconds;
        r->known[index] = true;
    }
    return EXIT_DONE;
}

static int read_lines(reading *r, char *text, size_t size)
{
    char *end = text + size;
    *end = '\0';
    if (memcmp(text, "\xef\xbb\xbf", size < 3 ? size : 3) == 0 && size >= 3) {
        text += 3; /* as some editors begin UTF-8 */
    }
    while (text < end) {
        char *next = memchr(text, '\n', (size_t)(end - text));
        next = next != NULL ? next : end;
        *next = '\0';
        r->line++;
        if (memchr(text, '\0', (size_t)(next - text)) != NULL) {
            report_error("--times %s: line %zu holds a zero byte", r->path, r->line);
            return EXIT_FAILED;
        }
        text += strspn(text, blanks);
        char *last = text + strlen(text);
        while (last > text && strchr(blanks, last[-1]) != NULL) {
            *--last = '\0';
        }
        if (*text != '\0' && *text != '#') {
            int code = read_line(r, text);
            if (code != EXIT_DONE) {
                return code;
            }
        }
        text = next + 1;
    }
    return EXIT_DONE;
}

static int check(const reading *r)
{
    const frames_folder *frames = r->frames;
    if (r->count != frames->count) {
        report_error("--times %s has %zu time%s, '%s' has %zu frame%s: each frame needs one",
                     r->path, r->count, r->count == 1 ? "" : "s", r->folder, frames->count,
                     frames->count == 1 ? "" : "s");
        return EXIT_FAILED;
    }
    for (size_t i = 1; i < frames->count; i++) {
        if (!(r->seconds[i] > r->seconds[i - 1])) {
            report_error("--times %s: times must ascend: '%s' is at %g s, and '%s' after it at "
                         "%g s",
                         r->path, frames->names[i - 1], r->seconds[i - 1], frames->names[i],
                         r->seconds[i]);
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

int frame_times_read(const char *path, const char *folder, const frames_folder *frames,
                     double **out)
{
    char *text = NULL;
    size_t size = 0;
    reading r = {.path = path, .folder = folder, .frames = frames};
    *out = NULL;
    int code = input_read_file(path, "--times", &text, &size);
    if (code != EXIT_DONE) {
        return code;
    }
    r.seconds = calloc(frames->count, sizeof *r.seconds);
    r.known = calloc(frames->count, sizeof *r.known);
    if (r.seconds == NULL || r.known == NULL) {
        report_error("no memory");
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE) {
        code = read_lines(&r, text, size);
    }
    if (code == EXIT_DONE) {
        code = check(&r);
    }
    free(text);
    free(r.known);
    if (code != EXIT_DONE) {
        free(r.seconds);
        return code;
    }
    *out = r.seconds;
    return EXIT_DONE;
}
