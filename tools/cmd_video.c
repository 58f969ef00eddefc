/* cmd_video.c - ocelli video: a question about a clip given as a folder of frames. */
#include "tools/commands.h"
#include "tools/dry_run.h"
#include "tools/medium.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/session_run.h"

#include <stdlib.h>

#define DEFAULT_QUESTION "Describe this video."

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

static int answer_clip(run *r, const medium *clip, const char *question)
{
    answer a;
    int code = run_add(r, clip, 1, question);
    if (code != EXIT_DONE) {
        return code;
    }
    if (r->options->dry_run) {
        return dry_run_print(r, clip, 1, question);
    }
    code = run_answer(r, NULL, false, clip, 1, &a);
    if (code != EXIT_DONE) {
        return code;
    }
    if (r->options->json) {
        cJSON *object = run_answer_json(r, question, &a);
        add_clip(object, clip);
        output_json(object);
    }
    if (r->options->timings) {
        run_timings(r, &a);
    }
    return EXIT_DONE;
}

int cmd_video(const cli_options *options)
{
    run r;
    medium clip;
    char *question = NULL;
    int code = prompt_text("video", "the question",
                           options->operand_count > 1 ? options->operands[1] : DEFAULT_QUESTION,
                           options->escape, &question);
    if (code != EXIT_DONE) {
        return code;
    }
    code = run_init(&r, options);
    if (code == EXIT_DONE) {
        code =
            medium_clip(&r, options->operands[0], options->fps, !options->given[FLAG_FPS], &clip);
        if (code == EXIT_DONE) {
            if (clip.fps_assumed && !options->dry_run) {
                report_note("taking the frames as %g a second (--fps says otherwise)", clip.fps);
            }
            run_last_medium(&r);
            code = answer_clip(&r, &clip, question);
            medium_free(&clip);
        }
    }
    run_close(&r);
    free(question);
    return code;
}
