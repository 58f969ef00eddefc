/* cmd_video.c - ocelli video: a question about clips: folders of frames, video files, animations. */
#define _POSIX_C_SOURCE 200809L

#include "tools/commands.h"
#include "tools/clip_source.h"
#include "tools/dry_run.h"
#include "tools/flags.h"
#include "tools/medium.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/session_run.h"
#include "tools/video_segments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_QUESTION "Describe this video."
#define DEFAULT_QUESTION_OF_MANY "Describe these videos."

static void add_clip(cJSON *object, const medium *clip)
{
    json_text(object, "video", clip->name);
    cJSON_AddNumberToObject(object, "fps", clip->fps);
    cJSON *frames = cJSON_AddArrayToObject(object, "frames");
    for (size_t i = 0; i < clip->frame_count; i++) {
        cJSON *frame = cJSON_CreateObject();
        cJSON_AddItemToArray(frames, frame);
        json_text(frame, "name", clip->frame_names[i]);
        json_seconds(frame, "seconds", clip->frame_seconds[i]);
    }
}

/* One clip's members stand in the object itself, several clips in a list. */
static void add_clips(cJSON *object, const medium *clips, size_t count)
{
    if (count == 1) {
        add_clip(object, clips);
        return;
    }
    cJSON *list = cJSON_AddArrayToObject(object, "videos");
    for (size_t i = 0; i < count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToArray(list, item);
        add_clip(item, &clips[i]);
    }
}

static int answer_clips(run *r, const medium *clips, size_t count, const char *question)
{
    answer a;
    int code = run_add(r, clips, count, question);
    if (code != EXIT_DONE) {
        return code;
    }
    if (r->options->dry_run) {
        return dry_run_print(r, clips, count, question);
    }
    code = run_answer(r, NULL, false, clips, count, &a);
    if (code != EXIT_DONE) {
        return code;
    }
    if (r->options->json) {
        cJSON *object = run_answer_json(r, question, &a);
        add_clips(object, clips, count);
        output_json(object);
    }
    if (r->options->timings) {
        run_timings(r, &a);
    }
    return EXIT_DONE;
}

static int ask(run *r, const char *const *paths, size_t count, const char *question)
{
    const cli_options *options = r->options;
    medium *clips = calloc(count, sizeof *clips);
    int code = EXIT_DONE;
    bool assumed = false;
    if (clips == NULL) {
        report_error("no memory");
        code = EXIT_FAILED;
    }
    for (size_t i = 0; code == EXIT_DONE && i < count; i++) {
        code = medium_clip(r, paths[i], options->fps, !options->given[FLAG_FPS], &clips[i]);
        assumed = assumed || (code == EXIT_DONE && clips[i].fps_assumed);
    }
    if (code == EXIT_DONE && assumed && !options->dry_run) {
        report_note("taking the frames as %g a second (--fps says otherwise)", options->fps);
    }
    if (code == EXIT_DONE) {
        run_last_medium(r);
        code = answer_clips(r, clips, count, question);
    }
    if (clips != NULL) {
        media_free(clips, count);
    }
    return code;
}

/* The last of several operands is the question unless it is a clip: there, or meant as one. */
static bool is_clip(const char *operand)
{
    struct stat about;
    return stat(operand, &about) == 0 || strcmp(operand, "-") == 0 ||
           (clip_is_address(operand) && strstr(operand, "://") != NULL);
}

/* All names first: a mistyped third one should not cost the encoding of two. */
static int check_names(const char *const *paths, size_t count)
{
    struct stat about;
    for (size_t i = 1; i < count; i++) {
        if (stat(paths[i], &about) != 0 && errno == ENOENT && strcmp(paths[i], "-") != 0 &&
            !clip_is_address(paths[i])) {
            report_error("cannot open clip '%s': %s (is it part of the question? put the question "
                         "in quotes)",
                         paths[i], strerror(ENOENT));
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

int cmd_video(const cli_options *options)
{
    run r;
    char *question = NULL;
    size_t count = options->operand_count;
    const char *text = count > 1 ? DEFAULT_QUESTION_OF_MANY : DEFAULT_QUESTION;
    if (count > 1 && !is_clip(options->operands[count - 1])) {
        text = options->operands[--count];
    }
    if (count > 1 && (options->every > 0 || options->times != NULL)) {
        return flags_misuse("video", "%s is for one clip, and there are %zu",
                            options->every > 0 ? "--every" : "--times", count);
    }
    int code = prompt_text("video", "the question", text, options->escape, &question);
    if (code == EXIT_DONE) {
        code = check_names(options->operands, count);
    }
    if (code != EXIT_DONE) {
        free(question);
        return code;
    }
    code = run_init(&r, options);
    if (code == EXIT_DONE && options->every > 0) {
        code = video_segments(&r, options->operands[0], question);
    } else if (code == EXIT_DONE) {
        code = ask(&r, options->operands, count, question);
    }
    run_close(&r);
    free(question);
    return code;
}
