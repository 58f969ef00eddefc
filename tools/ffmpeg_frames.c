/* ffmpeg_frames.c - see ffmpeg_frames.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/ffmpeg_frames.h"
#include "tools/cli_options.h"
#include "tools/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Linux lets one argument have 128 KiB. A longer list of frames is not sent: then every frame comes,
 * and those not chosen are dropped here. */
#define MOST_SELECT_BYTES ((size_t)100000)

/* Times that can be on their way at once: frames of few pixels, as many as the pipes hold. */
#define MOST_HEARD ((size_t)1 << 20)

/* ---- starting ------------------------------------------------------------------------------ */

/* The filters: those of the chosen frames pass (all, if the list is too long), and are told of. */
static char *make_filters(video_frames *v)
{
    const char *end = ",showinfo=checksum=0";
    size_t each = sizeof "+eq(pts,-9223372036854775808)";
    char *text = malloc(MOST_SELECT_BYTES + each + 100);
    size_t used = 0;
    if (text == NULL) {
        return NULL;
    }
    used += (size_t)snprintf(text, 100, "select='");
    for (size_t i = 0; i < v->count && used < MOST_SELECT_BYTES; i++) {
        used += v->probe->timed ? (size_t)snprintf(text + used, each, "%seq(pts,%" PRId64 ")",
                                                   i > 0 ? "+" : "", v->probe->ticks[v->chosen[i]])
                                : (size_t)snprintf(text + used, each, "%seq(n,%zu)",
                                                   i > 0 ? "+" : "", v->chosen[i]);
    }
    v->all_sent = used >= MOST_SELECT_BYTES;
    snprintf(text + used, 100, "'%s", end);
    if (v->all_sent) {
        snprintf(text, 100, "%s", end + 1);
    }
    return text;
}

/* A time that cannot be kept is missed later: its frame then counts as not decoded. */
static void keep_time(video_frames *v, int64_t ticks)
{
    if (v->heard_end == v->heard_room && v->heard_first > 0) {
        memmove(v->heard, v->heard + v->heard_first,
                (v->heard_end - v->heard_first) * sizeof *v->heard);
        v->heard_end -= v->heard_first;
        v->heard_first = 0;
    }
    if (v->heard_end == v->heard_room && v->heard_room < MOST_HEARD) {
        size_t more = v->heard_room == 0 ? 256 : v->heard_room * 2;
        int64_t *larger = realloc(v->heard, more * sizeof *larger);
        if (larger != NULL) {
            v->heard = larger;
            v->heard_room = more;
        }
    }
    if (v->heard_end < v->heard_room) {
        v->heard[v->heard_end++] = ticks;
    }
}

/* "[Parsed_showinfo_1 @ 0x5581] [info] n:   0 pts:    300 pts_time:0.3 ..." */
static void hear_line(void *user, const char *line)
{
    video_frames *v = user;
    const char *number = strstr(line, " n:");
    const char *pts = number != NULL ? strstr(number, " pts:") : NULL;
    char *end = NULL;
    if (strstr(line, "showinfo") == NULL || pts == NULL) {
        return;
    }
    errno = 0;
    intmax_t ticks = strtoimax(pts + 5, &end, 10);
    if (end == pts + 5 || errno != 0) {
        ticks = INT64_MIN; /* NOPTS */
    }
    keep_time(v, (int64_t)ticks);
}

int video_frames_begin(video_frames *v, const char *path, const video_probe *probe,
                       const size_t *chosen, size_t count, uint64_t most_pixels)
{
    char most[32];
    memset(v, 0, sizeof *v);
    v->probe = probe;
    v->path = path;
    v->chosen = chosen;
    v->count = count;
    v->most_pixels = most_pixels;
    char *file = ffmpeg_file(path);
    char *filters = make_filters(v);
    if (file == NULL || filters == NULL) {
        free(file);
        free(filters);
        report_error("no memory");
        return EXIT_FAILED;
    }
    snprintf(most, sizeof most, "%" PRIu64,
             most_pixels < INT32_MAX ? most_pixels : (uint64_t)INT32_MAX);
    char *argv[] = {ffmpeg_argument("ffmpeg"),
                    ffmpeg_argument("-nostdin"),
                    ffmpeg_argument("-hide_banner"),
                    ffmpeg_argument("-nostats"),
                    ffmpeg_argument("-loglevel"),
                    ffmpeg_argument("level+info"),
                    ffmpeg_argument("-protocol_whitelist"),
                    ffmpeg_argument(ffmpeg_protocols),
                    ffmpeg_argument("-format_whitelist"),
                    ffmpeg_argument(ffmpeg_formats),
                    ffmpeg_argument("-max_pixels"),
                    most,
                    ffmpeg_argument("-copyts"), /* times as the probe has them */
                    ffmpeg_argument("-i"),
                    file,
                    ffmpeg_argument("-map"),
                    ffmpeg_argument("0:V:0"),
                    ffmpeg_argument("-vf"),
                    filters,
                    ffmpeg_argument("-fps_mode"), /* none repeated, none dropped */
                    ffmpeg_argument("passthrough"),
                    ffmpeg_argument("-f"),
                    ffmpeg_argument("image2pipe"),
                    ffmpeg_argument("-c:v"),
                    ffmpeg_argument("ppm"),
                    ffmpeg_argument("-pix_fmt"),
                    ffmpeg_argument("rgb24"),
                    ffmpeg_argument("pipe:1"),
                    NULL};
    int code = ffmpeg_start(&v->process, argv, hear_line, v);
    free(file);
    free(filters);
    return code;
}

/* ---- one pixmap ---------------------------------------------------------------------------- */

/* At least size bytes of the frame are there, or *over: the output ended before. */
static int fill(video_frames *v, size_t size, bool *over)
{
    *over = false;
    if (size > v->room) {
        unsigned char *larger = realloc(v->bytes, size);
        if (larger == NULL) {
            report_error("'%s': no memory for a frame of %zu bytes", v->path, size);
            return EXIT_FAILED;
        }
        v->bytes = larger;
        v->room = size;
    }
    while (v->used < size) {
        size_t got = 0;
        int code = ffmpeg_read(&v->process, v->bytes + v->used, size - v->used, &got);
        if (code != EXIT_DONE) {
            return code;
        }
        if (got == 0) {
            *over = true;
            return EXIT_DONE;
        }
        v->used += got;
    }
    return EXIT_DONE;
}

/* A number of the header and the one blank after it; false: there is none. */
static bool header_number(const unsigned char *bytes, size_t size, size_t *at, uint64_t *out)
{
    size_t begin = *at;
    *out = 0;
    while (*at < size && bytes[*at] >= '0' && bytes[*at] <= '9' && *at - begin < 9) {
        *out = *out * 10 + (uint64_t)(bytes[(*at)++] - '0');
    }
    return *at > begin && *at < size && (bytes[*at] == '\n' || bytes[*at] == ' ') && (*at)++ > 0;
}

/* The next frame that ffmpeg sends; *image NULL: there is none. keep false: it is read past. */
static int read_frame(video_frames *v, bool keep, ocelli_image **image)
{
    /* ffmpeg writes "P6\n640 480\n255\n": no shorter than this for any size. */
    const size_t shortest = sizeof "P6\n1 1\n255\n" - 1;
    const char *wrong = "frames came in another form than asked";
    uint64_t width = 0, height = 0, most = 0;
    size_t header = 3;
    bool over = false;
    *image = NULL;
    v->used = 0;
    int code = fill(v, shortest, &over);
    if (code != EXIT_DONE || (over && v->used == 0)) {
        v->over = over;
        return code;
    }
    /* Its header may be longer; a frame's pixels follow it, so that more may be asked for. */
    for (size_t size = shortest; code == EXIT_DONE && !over; size++) {
        header = 3;
        if (header_number(v->bytes, v->used, &header, &width) &&
            header_number(v->bytes, v->used, &header, &height) &&
            header_number(v->bytes, v->used, &header, &most)) {
            break;
        }
        if (size == 40) {
            report_error("'%s': ffmpeg: %s", v->path, wrong);
            return EXIT_FAILED;
        }
        code = fill(v, size + 1, &over);
    }
    if (code != EXIT_DONE || over) {
        v->over = over;
        return code;
    }
    if (memcmp(v->bytes, "P6\n", 3) != 0 || most != 255 || width == 0 || height == 0) {
        report_error("'%s': ffmpeg: %s", v->path, wrong);
        return EXIT_FAILED;
    }
    if (width * height > v->most_pixels || width > INT32_MAX || height > INT32_MAX) {
        report_error("'%s': frames of %" PRIu64 "x%" PRIu64 " pixels; at most %" PRIu64
                     " are taken (--max-input-pixels)",
                     v->path, width, height, v->most_pixels);
        return EXIT_FAILED;
    }
    code = fill(v, header + (size_t)(width * height * 3), &over);
    if (code == EXIT_DONE && over) {
        v->over = true; /* a frame cut short is no frame */
        return EXIT_DONE;
    }
    if (code == EXIT_DONE && keep) {
        ocelli_error err = {OCELLI_OK, ""};
        if (ocelli_image_from_rgb(image, v->bytes + header, (int)width, (int)height,
                                  (size_t)width * 3, &err) != OCELLI_OK) {
            return report_failure(&err);
        }
    }
    return code;
}

/* ---- which frame it is --------------------------------------------------------------------- */

/* The time that was told of the frame just read. Its line was written before its bytes, but may wait
 * in the pipe still. */
static int take_time(video_frames *v, int64_t *ticks)
{
    int code = EXIT_DONE;
    if (v->heard_first == v->heard_end) {
        code = ffmpeg_hear(&v->process);
    }
    *ticks = INT64_MIN;
    if (v->heard_first < v->heard_end) {
        *ticks = v->heard[v->heard_first++];
    }
    return code;
}

/* The place in chosen [at .. count) of the frame of this time; count: it was not chosen. */
static size_t place_of(const video_frames *v, int64_t ticks)
{
    for (size_t i = v->at; i < v->count; i++) {
        if (v->probe->ticks[v->chosen[i]] == ticks) {
            return i;
        }
        if (v->probe->ticks[v->chosen[i]] > ticks) {
            break;
        }
    }
    return v->count;
}

/* Reads on until a chosen frame has come, or the end. */
static int fetch(video_frames *v)
{
    while (!v->over && v->waiting == NULL) {
        int64_t ticks = INT64_MIN;
        bool by_order = !v->probe->timed;
        bool wanted = !by_order || !v->all_sent || v->passed == v->chosen[v->at];
        int code = read_frame(v, wanted, &v->waiting);
        if (code != EXIT_DONE || v->over) {
            return code;
        }
        v->passed++;
        code = take_time(v, &ticks);
        if (code != EXIT_DONE) {
            return code;
        }
        v->waiting_index = by_order ? v->at : place_of(v, ticks);
        if (!by_order && v->waiting_index == v->count) {
            ocelli_image_free(v->waiting);
            v->waiting = NULL;
        }
    }
    return EXIT_DONE;
}

int video_frames_next(video_frames *v, ocelli_image **image)
{
    *image = NULL;
    int code = fetch(v);
    if (code == EXIT_DONE && v->waiting != NULL && v->waiting_index == v->at) {
        *image = v->waiting;
        v->waiting = NULL;
    }
    v->at += code == EXIT_DONE && v->at < v->count;
    return code;
}

const char *video_frames_complaint(const video_frames *v)
{
    return v->process.said;
}

void video_frames_end(video_frames *v)
{
    ffmpeg_end(&v->process);
    ocelli_image_free(v->waiting);
    free(v->bytes);
    free(v->heard);
    memset(v, 0, sizeof *v);
}
