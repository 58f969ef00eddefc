/* ffmpeg.c - see ffmpeg.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/ffmpeg.h"
#include "tools/cli_options.h"
#include "tools/report.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char ffmpeg_protocols[] = "file,pipe";
/* No concat, hls, dash, image2, lavfi, sdp: these open what the file names, or patterns of names. */
const char ffmpeg_formats[] =
    "mov,mp4,matroska,webm,avi,gif,apng,webp_pipe,mpegts,mpeg,mpegvideo,ogg,flv,asf,ivf,h264,hevc,"
    "av1,obu,m4v,mjpeg,nut,yuv4mpegpipe,dv,mxf,rm,vc1,3gp,wtv";

int ffmpeg_check(const char *path)
{
    const char *missing = !child_is_installed("ffmpeg")    ? "ffmpeg"
                          : !child_is_installed("ffprobe") ? "ffprobe"
                                                           : NULL;
    if (missing == NULL) {
        return EXIT_DONE;
    }
    report_error(
        "'%s' is not a folder of frames, and video files are read by the program %s, which "
        "is not installed; install ffmpeg, or make a folder where it is: 'mkdir frames && "
        "ffmpeg -i FILE -vf fps=2 frames/%%04d.png', then 'ocelli video --fps 2 frames'",
        path, missing);
    return EXIT_FAILED;
}

char *ffmpeg_file(const char *path)
{
    size_t size = strlen(path) + sizeof "file:";
    char *name = malloc(size);
    if (name != NULL) {
        snprintf(name, size, "file:%s", path);
    }
    return name;
}

char *ffmpeg_argument(const char *text)
{
    return (char *)(uintptr_t)text;
}

/* Past what ffmpeg puts before a message: "[mov,mp4 @ 0x55] [error] text", "file:text". */
static const char *bare_message(const char *line)
{
    while (*line == '[') {
        const char *end = strstr(line, "] ");
        if (end == NULL) {
            break;
        }
        line = end + 2;
    }
    return strncmp(line, "file:", 5) == 0 ? line + 5 : line;
}

static bool is_error(const char *line)
{
    return strstr(line, "[error] ") != NULL || strstr(line, "[fatal] ") != NULL ||
           strstr(line, "[panic] ") != NULL;
}

static void end_line(ffmpeg_process *p)
{
    p->line[p->line_used] = '\0';
    p->line_used = 0;
    if (p->line[0] == '\0') {
        return;
    }
    if (is_error(p->line)) {
        if (p->said[0] != '\0' && strstr(p->line, "Invalid data found when processing") != NULL) {
            return; /* what it said before is the reason */
        }
        snprintf(p->said, sizeof p->said, "%.*s", (int)sizeof p->said - 1, bare_message(p->line));
    } else if (p->on_line != NULL) {
        p->on_line(p->user, p->line);
    }
}

/* What does not fit a line is dropped: no line of interest is that long. */
static void hear(ffmpeg_process *p, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n' || text[i] == '\r') {
            end_line(p);
        } else if (p->line_used < sizeof p->line - 1) {
            p->line[p->line_used++] = text[i];
        }
    }
}

int ffmpeg_start(ffmpeg_process *p, char *const *argv, ffmpeg_line_fn on_line, void *user)
{
    memset(p, 0, sizeof *p);
    p->on_line = on_line;
    p->user = user;
    return child_start(&p->c, argv);
}

int ffmpeg_read(ffmpeg_process *p, void *bytes, size_t room, size_t *got)
{
    char text[4096];
    size_t said = 0;
    int code;
    do {
        code = child_read(&p->c, bytes, room, got, text, sizeof text, &said);
        hear(p, text, said);
    } while (code == EXIT_DONE && *got == 0 && said > 0);
    if (code != EXIT_DONE) {
        *got = 0;
    } else if (*got == 0) {
        end_line(p);
    }
    return code;
}

int ffmpeg_hear(ffmpeg_process *p)
{
    char text[4096];
    size_t got = 0, said = 0;
    /* Only where its end has not come: what was written is there without waiting. */
    int code = EXIT_DONE;
    struct pollfd watched = {.fd = p->c.err, .events = POLLIN};
    if (p->c.err >= 0 && poll(&watched, 1, 0) > 0) {
        code = child_read(&p->c, NULL, 0, &got, text, sizeof text, &said);
        hear(p, text, said);
    }
    return code;
}

bool ffmpeg_end(ffmpeg_process *p)
{
    return child_end(&p->c);
}
