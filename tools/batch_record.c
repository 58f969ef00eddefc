/* batch_record.c - see batch_record.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/batch_record.h"
#include "tools/batch_names.h"
#include "tools/batch_prompts.h"
#include "tools/file_draft.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool caption_is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

char *batch_record_name(const batch_record *record, const batch_job *job)
{
    char *clean = path_clean(job->sidecar != NULL ? job->sidecar : job->item->path);
    if (clean != NULL && job->sidecar != NULL && strlen(clean) > record->journal_folder) {
        memmove(clean, clean + record->journal_folder, strlen(clean + record->journal_folder) + 1);
    }
    return clean;
}

/* ---- JSON lines ---------------------------------------------------------------------------- */

/* JSON has no bytes: a path that is not UTF-8 is mended for the reader and told in full beside. */
static void add_path(cJSON *object, const char *path)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = strlen(path), bad = 0;
    json_text(object, "path", path);
    if (text_is_utf8(path, length, &bad)) {
        return;
    }
    char *hex = malloc(2 * length + 1);
    for (size_t i = 0; hex != NULL && i < length; i++) {
        hex[2 * i] = digits[(unsigned char)path[i] >> 4];
        hex[2 * i + 1] = digits[(unsigned char)path[i] & 15];
    }
    if (hex != NULL) {
        hex[2 * length] = '\0';
        json_text(object, "path_hex", hex);
        free(hex);
    }
}

/* One prompt's line, a new string of cJSON's; NULL: no memory. */
static char *make_line(const batch_record *record, const batch_job *job, size_t index, bool first)
{
    const job_answer *a = &job->answers[index];
    cJSON *object = cJSON_CreateObject();
    add_path(object, job->item->path);
    if (a->text != NULL) {
        json_text(object, "caption", a->text);
        json_text(object, "finish_reason", ocelli_stop_name(a->result.stop));
        json_count(object, "width", (uint64_t)job->width);
        json_count(object, "height", (uint64_t)job->height);
        json_count(object, "image_tokens", job->image_tokens);
        json_count(object, "prompt_tokens", a->result.prompt_tokens);
        json_count(object, "new_tokens", a->result.new_tokens);
        cJSON *seconds = cJSON_AddObjectToObject(object, "seconds");
        json_seconds(seconds, "file", first ? job->file_seconds : 0);
        json_seconds(seconds, "encode", first ? job->encode_seconds : 0);
        json_seconds(seconds, "prefill", a->result.prefill_seconds);
        json_seconds(seconds, "decode", a->result.decode_seconds);
    } else {
        cJSON_AddNullToObject(object, "caption");
    }
    cJSON *model = cJSON_AddObjectToObject(object, "model");
    json_text(model, "name", record->model_name);
    json_text(model, "fingerprint", record->fingerprint);
    cJSON *prompt = cJSON_AddObjectToObject(object, "prompt");
    json_count(prompt, "index", index);
    json_text(prompt, "text", a->prompt);
    if (a->text != NULL) {
        cJSON_AddNullToObject(object, "error");
    } else {
        json_text(object, "error", job->error);
    }
    char *line = object != NULL ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    return line;
}

static char *append_text(char *text, const char *more, const char *end)
{
    size_t length = text != NULL ? strlen(text) : 0;
    size_t more_length = strlen(more), end_size = strlen(end) + 1;
    char *larger = realloc(text, length + more_length + end_size);
    if (larger == NULL) {
        free(text);
        return NULL;
    }
    memcpy(larger + length, more, more_length);
    memcpy(larger + length + more_length, end, end_size);
    return larger;
}

/* The lines of the job that are not in the file yet; keys [*count]. NULL: no memory. */
static char *make_lines(const batch_record *record, const batch_job *job, line_key *keys,
                        size_t *count)
{
    char *text = append_text(NULL, "", "");
    *count = 0;
    for (size_t i = 0; text != NULL && record->lines != NULL && i < record->prompts; i++) {
        if (job->answers[i].kept) {
            continue;
        }
        char *line = make_line(record, job, i, *count == 0);
        keys[(*count)++] = line_key_make(job->item->path, job->answers[i].prompt);
        if (line == NULL) {
            free(text);
            return NULL;
        }
        text = append_text(text, line, "\n");
        cJSON_free(line);
    }
    return text;
}

/* ---- sidecars ------------------------------------------------------------------------------ */

/* What the job adds to its sidecar: the captions, one a line. */
static char *make_text(const batch_record *record, const batch_job *job)
{
    char *text = append_text(NULL, "", "");
    for (size_t i = 0; text != NULL && job->sidecar != NULL && i < record->prompts; i++) {
        text = append_text(text, job->answers[i].text, "\n");
    }
    return text;
}

/* What the sidecar will say: old [old_length] or NULL, and text, as the mode puts them together. */
static char *merge_text(const char *mode, const char *old, const char *text)
{
    bool has_old = old != NULL && !caption_is_blank(old);
    if (has_old && strcmp(mode, "append") == 0) {
        char *out = append_text(NULL, old, old[strlen(old) - 1] == '\n' ? "" : "\n");
        return out != NULL ? append_text(out, text, "") : NULL;
    }
    if (has_old && strcmp(mode, "prepend") == 0) {
        return append_text(append_text(NULL, text, ""), old, "");
    }
    return append_text(NULL, text, "");
}

typedef struct old_text {
    char *bytes; /* NULL: no sidecar */
    size_t length;
    char state[48];
} old_text;

static bool read_old(const batch_job *job, old_text *old, char *why, size_t size)
{
    bool there = false;
    memset(old, 0, sizeof *old);
    if (job->sidecar != NULL &&
        !file_read(job->sidecar, &old->bytes, &old->length, &there, why, size)) {
        return false;
    }
    journal_state(old->state, old->bytes, old->length);
    return true;
}

/* Makes the sidecar's folder too, which only --out-dir may lack. */
static bool write_sidecar(const batch_record *record, const batch_job *job, const char *old,
                          const char *text, char *why, size_t size)
{
    char *folder = record->options->out_dir != NULL ? path_folder(job->sidecar) : NULL;
    char *whole = merge_text(record->options->mode, old, text);
    bool good = whole != NULL && (record->options->out_dir == NULL || folder != NULL);
    if (!good) {
        snprintf(why, size, "no memory");
    }
    good = good && (folder == NULL || folder_make(folder, why, size)) &&
           draft_replace(job->sidecar, whole, strlen(whole), why, size);
    free(folder);
    free(whole);
    return good;
}

int batch_record_settle(batch_record *record, const batch_job *job, const journal_entry *entry)
{
    char why[700];
    old_text old = {NULL, 0, ""};
    line_key keys[BATCH_MOST_PROMPTS];
    size_t count = 0;
    bool good = true;
    for (size_t i = 0; i < record->prompts; i++) {
        keys[count++] = line_key_make(job->item->path, job->answers[i].prompt);
    }
    if (record->lines != NULL && !record->lines->stream && *entry->lines != '\0' &&
        !batch_lines_has(record->lines, entry->lines, keys, count)) {
        good = batch_lines_add(record->lines, entry->lines, keys, count, why, sizeof why);
    }
    if (good && job->sidecar != NULL && read_old(job, &old, why, sizeof why) &&
        strcmp(old.state, entry->before) == 0) {
        good = write_sidecar(record, job, old.bytes, entry->text, why, sizeof why);
    }
    free(old.bytes);
    if (!good) {
        report_error("%s", why);
    }
    return good ? EXIT_DONE : EXIT_FAILED;
}

/* ---- recording ----------------------------------------------------------------------------- */

static int count_failure(batch_record *record, const char *message)
{
    record->failed++;
    report_error("%s", message);
    return record->options->strict ? EXIT_FAILED : EXIT_DONE;
}

static int record_failure(batch_record *record, batch_job *job)
{
    char why[700];
    line_key keys[BATCH_MOST_PROMPTS];
    size_t count = 0;
    int code = count_failure(record, job->error);
    if (record->lines != NULL) {
        for (size_t i = 0; i < record->prompts; i++) {
            if (!job->answers[i].kept) { /* what one prompt got before another failed is not told */
                free(job->answers[i].text);
                job->answers[i].text = NULL;
            }
        }
        char *lines = make_lines(record, job, keys, &count);
        bool good = lines != NULL;
        if (!good) {
            snprintf(why, sizeof why, "no memory");
        }
        good = good && batch_lines_add(record->lines, lines, keys, count, why, sizeof why);
        free(lines);
        if (!good) {
            report_error("%s", why);
            return EXIT_FAILED;
        }
    }
    return code;
}

/* Somebody has written it while this run was at work: it is theirs. */
static bool is_taken(const batch_record *record, const old_text *old)
{
    return strcmp(record->options->mode, "skip") == 0 && old->bytes != NULL &&
           !caption_is_blank(old->bytes);
}

static int record_caption(batch_record *record, const batch_job *job)
{
    char why[700] = "no memory";
    line_key keys[BATCH_MOST_PROMPTS];
    size_t count = 0;
    old_text old;
    bool sidecar_good = true;
    if (!read_old(job, &old, why, sizeof why)) {
        return count_failure(record, why);
    }
    if (old.bytes != NULL && strlen(old.bytes) != old.length &&
        strcmp(record->options->mode, "overwrite") != 0) {
        free(old.bytes);
        snprintf(why, sizeof why, "cannot add to '%.300s': it holds NUL bytes, so it is no text",
                 job->sidecar);
        return count_failure(record, why);
    }
    if (job->sidecar != NULL && is_taken(record, &old)) {
        free(old.bytes);
        record->skipped++;
        return EXIT_DONE;
    }
    char *lines = make_lines(record, job, keys, &count);
    char *text = make_text(record, job);
    char *name = batch_record_name(record, job);
    bool good = lines != NULL && text != NULL && name != NULL &&
                journal_add(record->journal, name, old.state, text, lines, why, sizeof why) &&
                (count == 0 || batch_lines_add(record->lines, lines, keys, count, why, sizeof why));
    int error = 0;
    if (good && job->sidecar != NULL) {
        errno = 0;
        sidecar_good = write_sidecar(record, job, old.bytes, text, why, sizeof why);
        error = errno;
    }
    free(lines);
    free(text);
    free(name);
    free(old.bytes);
    if (!good) {
        report_error("%s", why);
        return EXIT_FAILED;
    }
    if (!sidecar_good) {
        int code = count_failure(record, why);
        return error == ENOSPC || error == EDQUOT || error == EROFS ? EXIT_FAILED : code;
    }
    record->captioned++;
    return EXIT_DONE;
}

static int record_one(batch_record *record, batch_job *job)
{
    int code = job->state == JOB_FAILED ? record_failure(record, job) : record_caption(record, job);
    job->state = JOB_RECORDED;
    for (size_t i = 0; i < record->prompts; i++) { /* the rest is small */
        free(job->answers[i].text);
        job->answers[i].text = NULL;
    }
    return code;
}

int batch_record_job(batch_record *record, size_t index)
{
    int code = EXIT_DONE;
    if (record->lines == NULL) {
        return record_one(record, &record->jobs[index]);
    }
    for (; code == EXIT_DONE && record->next < record->count; record->next++) {
        batch_job *job = &record->jobs[record->next];
        if (job->state == JOB_WAITING) {
            break;
        }
        if (job->state == JOB_ANSWERED || job->state == JOB_FAILED) {
            code = record_one(record, job);
        }
    }
    return code;
}
