/* cmd_chat.c - ocelli chat: a conversation, a message a line.
 *
 * The session keeps what it has computed, so a second question about a picture pays for itself
 * alone. A mistake (a missing picture, a full context) is told and the conversation goes on.
 */
#define _POSIX_C_SOURCE 200809L

#include "tools/commands.h"
#include "tools/flags.h"
#include "tools/inputs.h"
#include "tools/interrupt.h"
#include "tools/line_reader.h"
#include "tools/medium.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/session_run.h"
#include "tools/text_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct chat {
    run r;
    medium *waiting; /* [count] media that go with the next message */
    size_t count;
    bool by_hand; /* stdin is a terminal */
    bool over;
} chat;

/* ---- media --------------------------------------------------------------------------------- */

static void drop_waiting(chat *c)
{
    media_free(c->waiting, c->count);
    c->waiting = NULL;
    c->count = 0;
}

/* Takes the medium over. */
static int wait_with(chat *c, medium *m)
{
    medium *larger = realloc(c->waiting, (c->count + 1) * sizeof *larger);
    if (larger == NULL) {
        medium_free(m);
        report_error("no memory");
        return EXIT_FAILED;
    }
    c->waiting = larger;
    c->waiting[c->count++] = *m;
    return EXIT_DONE;
}

static int add_image(chat *c, const char *path)
{
    medium m;
    int code;
    if (strcmp(path, "-") == 0) {
        report_error("stdin is the conversation, so it cannot be a picture as well");
        return EXIT_FAILED;
    }
    code = medium_picture(&c->r, path, &m);
    return code == EXIT_DONE ? wait_with(c, &m) : code;
}

static int add_video(chat *c, char *text)
{
    medium m;
    double fps = c->r.options->fps;
    bool assumed = !c->r.options->given[FLAG_FPS];
    char *space = strrchr(text, ' ');
    if (space != NULL && access(text, F_OK) != 0) {
        char *end = NULL;
        double rate = strtod(space + 1, &end);
        if (space[1] != '\0' && *end == '\0' && rate > 0 && rate <= 100000) {
            *space = '\0';
            while (space > text && space[-1] == ' ') {
                *--space = '\0';
            }
            fps = rate;
            assumed = false;
        }
    }
    int code = medium_clip(&c->r, text, fps, assumed, &m);
    if (code == EXIT_DONE && m.fps_assumed) {
        report_note("taking the frames as %g a second (/video FOLDER RATE says otherwise)", fps);
    }
    return code == EXIT_DONE ? wait_with(c, &m) : code;
}

/* ---- messages ------------------------------------------------------------------------------ */

static void print_json(const chat *c, const char *message, const answer *a)
{
    cJSON *object = run_answer_json(&c->r, message, a);
    cJSON *media = cJSON_AddArrayToObject(object, "media");
    for (size_t i = 0; i < c->count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToArray(media, item);
        json_text(item, c->waiting[i].is_video ? "video" : "image", c->waiting[i].name);
    }
    output_json(object);
}

/* A message that could not be answered is taken back, and its media wait again. */
static int send_message(chat *c, const char *message)
{
    answer a;
    int code = run_add(&c->r, c->waiting, c->count, message);
    if (code != EXIT_DONE) {
        return code;
    }
    code = run_answer(&c->r, NULL, false, c->waiting, c->count, &a);
    if (code == EXIT_INTERRUPTED && ocelli_session_answer(c->r.session)[0] != '\0' &&
        a.result.new_tokens > 0) {
        drop_waiting(c); /* the part that was said stays said */
        return code;
    }
    if (code != EXIT_DONE) {
        ocelli_session_drop_last(c->r.session);
        return code;
    }
    if (c->r.options->json) {
        print_json(c, message, &a);
    }
    if (c->r.options->timings) {
        run_timings(&c->r, &a);
    }
    drop_waiting(c);
    return EXIT_DONE;
}

static int set_system(chat *c, const char *text)
{
    size_t bad = 0;
    if (!text_is_utf8(text, strlen(text), &bad)) {
        report_error("the system message is not UTF-8 and was left out");
        return EXIT_FAILED;
    }
    char *copy = text_copy(text);
    if (copy == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    free(c->r.system);
    c->r.system = copy;
    run_restart(&c->r);
    drop_waiting(c);
    return EXIT_DONE;
}

static void print_help(void)
{
    report_plain("/image PATH           show a picture with the next message");
    report_plain("/video CLIP [RATE]    show a clip (folder or file) with the next message");
    report_plain("/system TEXT          set the system message and begin anew");
    report_plain("/reset                begin anew");
    report_plain("/quit                 end");
    report_plain("//TEXT                send a message that begins with a slash");
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Past the spaces; the spaces at the end and one pair of quotes are taken off. */
static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
        text[--length] = '\0';
    }
    if (length >= 2 && (*text == '"' || *text == '\'') && text[length - 1] == *text) {
        text[length - 1] = '\0';
        text++;
    }
    return text;
}

static int run_slash(chat *c, char *line)
{
    size_t length = strcspn(line, " \t");
    char *rest = trim(line + length);
    line[length] = '\0';
    if (strcmp(line, "/quit") == 0 || strcmp(line, "/exit") == 0) {
        c->over = true;
        return EXIT_DONE;
    }
    if (strcmp(line, "/reset") == 0) {
        run_restart(&c->r);
        drop_waiting(c);
        return EXIT_DONE;
    }
    if (strcmp(line, "/help") == 0) {
        print_help();
        return EXIT_DONE;
    }
    bool image = strcmp(line, "/image") == 0;
    bool video = strcmp(line, "/video") == 0;
    bool system = strcmp(line, "/system") == 0;
    if (!image && !video && !system) {
        report_error("unknown command '%.40s'; /help lists them, // begins a message with a slash",
                     line);
        return EXIT_FAILED;
    }
    if (*rest == '\0') {
        report_error("%s needs %s after it", line, system ? "a text" : "a path");
        return EXIT_FAILED;
    }
    return image ? add_image(c, rest) : video ? add_video(c, rest) : set_system(c, rest);
}

static int run_line(chat *c, char *line, size_t length)
{
    size_t bad = 0;
    if (length > 0 && line[length - 1] == '\r') {
        line[--length] = '\0';
    }
    if (memchr(line, '\0', length) != NULL) {
        report_error("a line holds a zero byte and was left out");
        return EXIT_FAILED;
    }
    if (line[strspn(line, " \t")] == '\0') {
        return EXIT_DONE;
    }
    if (line[0] == '/' && line[1] != '/') {
        return run_slash(c, line);
    }
    if (!text_is_utf8(line, length, &bad)) {
        report_error("a message is not UTF-8 and was left out: byte %zu is 0x%02x", bad + 1,
                     (unsigned)(unsigned char)line[bad]);
        return EXIT_FAILED;
    }
    return send_message(c, line[0] == '/' ? line + 1 : line);
}

/* Returns EXIT_DONE at the end of the input, EXIT_INTERRUPTED, or EXIT_FAILED if nothing more can
 * be said. */
static int talk(chat *c, line_reader *reader)
{
    bool prompt = c->by_hand && isatty(STDERR_FILENO) && !report_is_quiet();
    while (!c->over) {
        char *line = NULL;
        size_t length = 0;
        if (prompt) {
            fputs("> ", stderr);
            fflush(stderr);
        }
        line_result result = line_reader_next(reader, &line, &length);
        if (result != LINE_READ) {
            if (prompt && result != LINE_FAILED) {
                fputc('\n', stderr);
            }
            return result == LINE_END           ? EXIT_DONE
                   : result == LINE_INTERRUPTED ? EXIT_INTERRUPTED
                                                : EXIT_FAILED;
        }
        if (run_line(c, line, length) == EXIT_INTERRUPTED) {
            if (!c->by_hand || interrupt_is_final()) {
                return EXIT_INTERRUPTED;
            }
            interrupt_clear();
            report_note("stopped");
        }
        if (output_failed()) {
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

int cmd_chat(const cli_options *options)
{
    chat c;
    line_reader reader = {0};
    memset(&c, 0, sizeof c);
    for (size_t i = 0; i < options->operand_count; i++) {
        if (strcmp(options->operands[i], "-") == 0) {
            return flags_misuse("chat", "stdin is the conversation, so it cannot be a picture");
        }
    }
    int code = run_init(&c.r, options);
    for (size_t i = 0; code == EXIT_DONE && i < options->operand_count; i++) {
        code = input_check(options->operands[i]);
    }
    for (size_t i = 0; code == EXIT_DONE && i < options->operand_count; i++) {
        code = add_image(&c, options->operands[i]);
    }
    if (code == EXIT_DONE) {
        code = run_open(&c.r);
    }
    if (code == EXIT_DONE) {
        c.by_hand = isatty(STDIN_FILENO);
        if (c.by_hand) {
            interrupt_patience(0); /* Ctrl-C ends an answer or a look, not the conversation */
            report_note("a message a line; /image PATH shows a picture, /help lists the rest");
        }
        code = talk(&c, &reader);
    }
    line_reader_free(&reader);
    drop_waiting(&c);
    run_close(&c.r);
    return code;
}
