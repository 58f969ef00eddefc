/* eval_items.c - see eval_items.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/eval_items.h"
#include "tools/frames_folder.h"
#include "tools/cli_options.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An items file is text about pictures; more than this is something else. */
#define MOST_FILE_BYTES ((size_t)256 << 20)

/* The whole file, NUL-ended, for the caller to free; NULL after a message. */
static char *read_file(const char *path)
{
    char *text = NULL;
    size_t used = 0, room = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        report_error("cannot open '%s': %s", path, strerror(errno));
        return NULL;
    }
    for (;;) {
        if (room - used < 2) {
            size_t more = room == 0 ? 65536 : room * 2;
            char *larger = more <= 2 * MOST_FILE_BYTES ? realloc(text, more) : NULL;
            if (larger == NULL) {
                report_error("'%s' is too large", path);
                break;
            }
            text = larger;
            room = more;
        }
        size_t got = fread(text + used, 1, room - used - 1, file);
        used += got;
        if (got == 0) {
            if (ferror(file)) {
                report_error("cannot read '%s': %s", path, strerror(errno));
                break;
            }
            text[used] = '\0';
            fclose(file);
            return text;
        }
    }
    free(text);
    fclose(file);
    return NULL;
}

static const char *member_text(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static bool is_good_medium(const cJSON *medium)
{
    const char *type = member_text(medium, "type");
    const cJSON *frames = cJSON_GetObjectItemCaseSensitive(medium, "frames");
    const cJSON *fps = cJSON_GetObjectItemCaseSensitive(medium, "fps");
    const cJSON *frame = NULL;
    if (type == NULL) {
        return false;
    }
    if (strcmp(type, "image") == 0) {
        return member_text(medium, "path") != NULL;
    }
    if (strcmp(type, "video") != 0 ||
        (fps != NULL && !(cJSON_IsNumber(fps) && fps->valuedouble > 0))) {
        return false;
    }
    if (frames == NULL) {
        return member_text(medium, "path") != NULL;
    }
    if (!cJSON_IsArray(frames) || cJSON_GetArraySize(frames) < 1) {
        return false;
    }
    cJSON_ArrayForEach(frame, frames)
    {
        if (!cJSON_IsString(frame)) {
            return false;
        }
    }
    return true;
}

/* What is wrong with the item, or NULL. */
static const char *read_item(const cJSON *object, eval_item *item, char **kind)
{
    const cJSON *medium = NULL;
    item->id = member_text(object, "id");
    item->task = member_text(object, "task");
    item->question = member_text(object, "question");
    item->expected = member_text(object, "expected");
    item->model_answer = member_text(object, "model_answer");
    item->media = cJSON_GetObjectItemCaseSensitive(object, "media");
    if (item->id == NULL || item->question == NULL || item->expected == NULL) {
        return "id, question or expected is missing or not a text";
    }
    if (item->task == NULL) {
        item->task = "-";
    }
    if (item->media != NULL && !cJSON_IsArray(item->media)) {
        return "media is not an array";
    }
    cJSON_ArrayForEach(medium, item->media)
    {
        if (!is_good_medium(medium)) {
            return "media needs type image with a path, or type video with a path or frames";
        }
    }
    const char *named = member_text(object, "kind");
    *kind = text_copy(named != NULL ? named : item->id);
    if (*kind == NULL) {
        return "no memory";
    }
    for (size_t length = strlen(*kind);
         named == NULL && length > 1 && (*kind)[length - 1] >= '0' && (*kind)[length - 1] <= '9';) {
        (*kind)[--length] = '\0';
    }
    item->kind = *kind;
    return NULL;
}

static int read_items(const char *path, const char *text, eval_items *out)
{
    const cJSON *list;
    const cJSON *object = NULL;
    out->document = cJSON_Parse(text);
    if (out->document == NULL) {
        report_error("'%s' is not JSON", path);
        return EXIT_FAILED;
    }
    list = cJSON_IsArray(out->document) ? out->document
                                        : cJSON_GetObjectItemCaseSensitive(out->document, "items");
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) < 1) {
        report_error("'%s' has no array \"items\" with at least one item", path);
        return EXIT_FAILED;
    }
    size_t count = (size_t)cJSON_GetArraySize(list);
    out->items = calloc(count, sizeof *out->items);
    out->kinds = calloc(count, sizeof *out->kinds);
    if (out->items == NULL || out->kinds == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    cJSON_ArrayForEach(object, list)
    {
        const char *wrong = read_item(object, &out->items[out->count], &out->kinds[out->count]);
        out->count++;
        if (wrong != NULL) {
            report_error("'%s', item %zu: %s", path, out->count, wrong);
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

int eval_items_read(const char *folder, eval_items *out)
{
    memset(out, 0, sizeof *out);
    char *path = folder_path(folder, "items.json");
    char *text = path != NULL ? read_file(path) : NULL;
    int code = text != NULL ? read_items(path, text, out) : EXIT_FAILED;
    if (path == NULL) {
        report_error("no memory");
    }
    free(text);
    free(path);
    if (code != EXIT_DONE) {
        eval_items_free(out);
    }
    return code;
}

void eval_items_free(eval_items *items)
{
    for (size_t i = 0; items->kinds != NULL && i < items->count; i++) {
        free(items->kinds[i]);
    }
    free(items->kinds);
    free(items->items);
    cJSON_Delete(items->document);
    memset(items, 0, sizeof *items);
}
