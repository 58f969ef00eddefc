/* eval_ask.c - see eval_ask.h. */
#include "tools/eval_ask.h"
#include "tools/frames_folder.h"
#include "tools/medium.h"
#include "tools/report.h"

#include <stdlib.h>
#include <string.h>

static int load_frames(run *r, const char *folder, const cJSON *frames, double fps, medium *out)
{
    size_t count = (size_t)cJSON_GetArraySize(frames);
    char **paths = calloc(count, sizeof *paths);
    const cJSON *frame = NULL;
    size_t at = 0;
    bool good = paths != NULL;
    cJSON_ArrayForEach(frame, frames)
    {
        if (good) {
            paths[at] = folder_path(folder, frame->valuestring);
            good = paths[at] != NULL;
            at += good;
        }
    }
    int code = EXIT_FAILED;
    if (good) {
        code = medium_frames(r, folder, (const char *const *)paths, count, fps, out);
    } else {
        report_error("no memory");
    }
    for (size_t i = 0; i < at; i++) {
        free(paths[i]);
    }
    free(paths);
    return code;
}

static int load_medium(run *r, const char *folder, const cJSON *source, medium *out)
{
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "type"));
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(source, "path"));
    const cJSON *frames = cJSON_GetObjectItemCaseSensitive(source, "frames");
    const cJSON *rate = cJSON_GetObjectItemCaseSensitive(source, "fps");
    double fps = rate != NULL ? rate->valuedouble : r->options->fps;
    bool is_video = strcmp(type, "video") == 0;
    if (is_video && frames != NULL) {
        return load_frames(r, folder, frames, fps, out);
    }
    char *path = folder_path(folder, name);
    if (path == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    int code =
        is_video ? medium_clip(r, path, fps, rate == NULL, out) : medium_picture(r, path, out);
    free(path);
    return code;
}

int eval_media(run *r, const char *folder, const eval_item *item, medium **out, size_t *count)
{
    size_t wanted = (size_t)cJSON_GetArraySize(item->media);
    size_t loaded = 0;
    const cJSON *source = NULL;
    int code = EXIT_DONE;
    medium *media = calloc(wanted + 1, sizeof *media);
    *out = NULL;
    *count = 0;
    if (media == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    cJSON_ArrayForEach(source, item->media)
    {
        if (code == EXIT_DONE) {
            code = load_medium(r, folder, source, &media[loaded]);
            loaded += code == EXIT_DONE;
        }
    }
    if (code != EXIT_DONE) {
        media_free(media, loaded);
        return code;
    }
    *out = media;
    *count = loaded;
    return EXIT_DONE;
}

int eval_ask(run *r, const eval_item *item, const medium *media, size_t count, answer *a)
{
    run_restart(r);
    int code = run_add(r, media, count, item->question);
    return code == EXIT_DONE ? run_answer(r, NULL, true, media, count, a) : code;
}
