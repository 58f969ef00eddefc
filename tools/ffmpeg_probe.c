/* ffmpeg_probe.c - see ffmpeg_probe.h.
 *
 * The container's own count and rate are often wrong or missing, so the packets are listed: a packet
 * is a frame in all codecs but VP8, whose hidden frames have packets too; there frames are listed,
 * which costs decoding them once more. */
#define _POSIX_C_SOURCE 200809L

#include "tools/ffmpeg_probe.h"
#include "tools/cli_options.h"
#include "tools/ffmpeg.h"
#include "tools/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 77 hours of 60 frames a second. */
#define MOST_FRAMES ((size_t)1 << 24)

/* The rate where nothing tells it: the reference's. */
#define USUAL_RATE 24.0

typedef struct listing {
    video_probe *probe;
    size_t room;
    char line[2048];
    size_t used;
    bool found; /* a stream of pictures */
    bool untimed, too_many, no_memory;
    bool hidden; /* the codec has packets that show nothing */
    double average, nominal;
    int64_t last_ticks;
} listing;

/* The value of key in "kind|key=value|key=value": its start, or NULL. */
static const char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = strchr(line, '|'); at != NULL; at = strchr(at, '|')) {
        at++;
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            return at + length + 1;
        }
    }
    return NULL;
}

static bool whole_number(const char *text, int64_t *out)
{
    char *end = NULL;
    if (text == NULL || ((*text < '0' || *text > '9') && *text != '-')) {
        return false;
    }
    errno = 0;
    intmax_t value = strtoimax(text, &end, 10);
    *out = (int64_t)value;
    return errno == 0 && end != text && (*end == '\0' || *end == '|');
}

/* "30000/1001"; 0 where it is none. */
static double ratio(const char *text)
{
    int64_t above = 0, below = 0;
    char number[32];
    size_t length = text != NULL ? strcspn(text, "/") : sizeof number;
    if (length >= sizeof number) {
        return 0;
    }
    memcpy(number, text, length);
    number[length] = '\0';
    if (text[length] != '/' || !whole_number(number, &above) ||
        !whole_number(text + length + 1, &below) || above <= 0 || below <= 0) {
        return 0;
    }
    return (double)above / (double)below;
}

static void add_frame(listing *l, const char *line)
{
    video_probe *probe = l->probe;
    int64_t ticks = 0, duration = 0;
    const char *flags = value_of(line, "flags");
    if (flags != NULL && memchr(flags, 'D', strcspn(flags, "|")) != NULL) {
        return; /* decoded for others, and not shown */
    }
    if (!whole_number(value_of(line, "pts"), &ticks) &&
        !whole_number(value_of(line, "best_effort_timestamp"), &ticks)) {
        l->untimed = true;
        if (!whole_number(value_of(line, "dts"), &ticks) &&
            !whole_number(value_of(line, "pkt_dts"), &ticks)) {
            ticks = probe->count > 0 ? probe->ticks[probe->count - 1] : 0;
        }
    }
    if (probe->count == l->room) {
        size_t more = l->room == 0 ? 1024 : l->room * 2;
        int64_t *larger = realloc(probe->ticks, more * sizeof *larger);
        l->no_memory = l->no_memory || larger == NULL;
        l->too_many = l->too_many || more > MOST_FRAMES;
        if (larger == NULL) {
            return;
        }
        probe->ticks = larger;
        l->room = more;
    }
    probe->ticks[probe->count++] = ticks;
    if (whole_number(value_of(line, "duration"), &duration) ||
        whole_number(value_of(line, "pkt_duration"), &duration)) {
        l->last_ticks = duration;
    }
}

static void add_stream(listing *l, const char *line)
{
    int64_t width = 0, height = 0;
    const char *codec = value_of(line, "codec_name");
    l->found = true;
    l->hidden = codec != NULL && strncmp(codec, "vp8", 3) == 0 && codec[3] == '|';
    whole_number(value_of(line, "width"), &width);
    whole_number(value_of(line, "height"), &height);
    l->probe->width = width > 0 && width <= INT32_MAX ? (int)width : 0;
    l->probe->height = height > 0 && height <= INT32_MAX ? (int)height : 0;
    l->probe->tick = ratio(value_of(line, "time_base"));
    l->average = ratio(value_of(line, "avg_frame_rate"));
    l->nominal = ratio(value_of(line, "r_frame_rate"));
}

static void read_lines(listing *l, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length && !l->no_memory && !l->too_many; i++) {
        if (bytes[i] != '\n') {
            if (l->used < sizeof l->line - 1) {
                l->line[l->used++] = bytes[i];
            }
            continue;
        }
        l->line[l->used] = '\0';
        l->used = 0;
        if (strncmp(l->line, "packet|", 7) == 0 || strncmp(l->line, "frame|", 6) == 0) {
            add_frame(l, l->line);
        } else if (strncmp(l->line, "stream|", 7) == 0) {
            add_stream(l, l->line);
        }
    }
}

static int compare_ticks(const void *a, const void *b)
{
    int64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

/* The rate that the file tells, where the times agree with it; else that of the times. */
static double choose_rate(const listing *l)
{
    const video_probe *probe = l->probe;
    double told = l->average > 0 ? l->average : l->nominal;
    double span = ((double)probe->ticks[probe->count - 1] - (double)probe->ticks[0]) * probe->tick;
    if (probe->count > 1 && span > 0) {
        double measured = (double)(probe->count - 1) / span;
        return told > 0 && fabs(told / measured - 1) < 0.01 ? told : measured;
    }
    return told > 0 ? told : USUAL_RATE;
}

#define SHOW_STREAM "stream=codec_name,width,height,avg_frame_rate,r_frame_rate,time_base"

/* Runs ffprobe and keeps what it lists: packets or frames. said [size] is its last error. */
static int list(const char *file, bool frames, listing *l, char *said, size_t size)
{
    static const char show_packets[] = SHOW_STREAM ":packet=pts,dts,duration,flags";
    static const char show_frames[] =
        SHOW_STREAM ":frame=pts,best_effort_timestamp,pkt_dts,pkt_duration,duration";
    char *argv[] = {ffmpeg_argument("ffprobe"),
                    ffmpeg_argument("-hide_banner"),
                    ffmpeg_argument("-loglevel"),
                    ffmpeg_argument("level+error"),
                    ffmpeg_argument("-protocol_whitelist"),
                    ffmpeg_argument(ffmpeg_protocols),
                    ffmpeg_argument("-format_whitelist"),
                    ffmpeg_argument(ffmpeg_formats),
                    ffmpeg_argument("-select_streams"),
                    ffmpeg_argument("V:0"),
                    ffmpeg_argument("-show_entries"),
                    ffmpeg_argument(frames ? show_frames : show_packets),
                    ffmpeg_argument("-of"),
                    ffmpeg_argument("compact=p=1"),
                    ffmpeg_argument("-i"),
                    ffmpeg_argument(file),
                    NULL};
    ffmpeg_process process;
    char bytes[16384];
    size_t got = 0;
    int code = ffmpeg_start(&process, argv, NULL, NULL);
    if (code != EXIT_DONE) {
        return code;
    }
    do {
        code = ffmpeg_read(&process, bytes, sizeof bytes, &got);
        read_lines(l, bytes, got);
    } while (code == EXIT_DONE && got > 0 && !l->no_memory && !l->too_many);
    ffmpeg_end(&process);
    snprintf(said, size, "%s", process.said);
    return code;
}

/* Says what is wrong with what was listed. */
static int check(const char *path, const listing *l, const char *said)
{
    if (l->no_memory) {
        report_error("'%s': no memory for the times of %zu frames", path, l->probe->count);
    } else if (l->too_many) {
        report_error("'%s': more than %zu frames; cut it into parts", path, MOST_FRAMES);
    } else if (l->probe->count > 0 && l->probe->tick > 0) {
        return EXIT_DONE;
    } else if (!l->found && said[0] == '\0') {
        report_error("'%s' has no video in it", path);
    } else if (!l->found) {
        /* ffmpeg names the file too, at the beginning of its line. */
        size_t length = strlen(path);
        bool named = strncmp(said, path, length) == 0 && strncmp(said + length, ": ", 2) == 0;
        report_error("'%s' is neither a folder of frames nor a video that ffmpeg can read: %s",
                     path, named ? said + length + 2 : said);
    } else {
        report_error("'%s': its video has no frames%s%s", path, said[0] != '\0' ? ": " : "", said);
    }
    return EXIT_FAILED;
}

int ffmpeg_probe(const char *path, video_probe *out)
{
    char said[400];
    listing l;
    memset(out, 0, sizeof *out);
    memset(&l, 0, sizeof l);
    l.probe = out;
    char *file = ffmpeg_file(path);
    if (file == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    int code = list(file, false, &l, said, sizeof said);
    if (code == EXIT_DONE && l.hidden) {
        free(out->ticks);
        memset(out, 0, sizeof *out);
        memset(&l, 0, sizeof l);
        l.probe = out;
        code = list(file, true, &l, said, sizeof said);
    }
    free(file);
    if (code == EXIT_DONE) {
        code = check(path, &l, said);
    }
    if (code != EXIT_DONE) {
        ffmpeg_probe_free(out);
        return code;
    }
    qsort(out->ticks, out->count, sizeof out->ticks[0], compare_ticks);
    snprintf(out->complaint, sizeof out->complaint, "%s", said);
    out->timed = !l.untimed;
    for (size_t i = 1; i < out->count; i++) {
        out->timed = out->timed && out->ticks[i] != out->ticks[i - 1];
    }
    out->rate = choose_rate(&l);
    out->last = l.last_ticks > 0 ? (double)l.last_ticks * out->tick : 0;
    return EXIT_DONE;
}

void ffmpeg_probe_free(video_probe *probe)
{
    free(probe->ticks);
    memset(probe, 0, sizeof *probe);
}
