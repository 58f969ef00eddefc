/* batch_plan.c - see batch_plan.h. Read batch_plan_make first. */
#define _POSIX_C_SOURCE 200809L

#include "tools/batch_plan.h"
#include "tools/batch_names.h"
#include "tools/file_draft.h"
#include "tools/flags.h"
#include "tools/frames_folder.h"
#include "tools/interrupt.h"
#include "tools/output.h"
#include "tools/picture_files.h"
#include "tools/report.h"
#include "tools/shard_flag.h"
#include "tools/text_bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int no_memory(void)
{
    report_error("no memory for the plan of a batch");
    return EXIT_FAILED;
}

/* ---- flags --------------------------------------------------------------------------------- */

static int check_flags(const cli_options *options)
{
    char example[64];
    const char *command = options->command;
    snprintf(example, sizeof example, "a%.40s", options->ext);
    if (options->json) {
        return flags_misuse(command, "--json is for pictures named one by one; the captions of "
                                     "folders and lists go to --jsonl FILE");
    }
    if (strchr(options->ext, '.') == NULL || strchr(options->ext, '/') != NULL ||
        picture_has_name(example)) {
        return flags_misuse(command,
                            "--ext needs the ending of a text file, such as .caption, not '%.40s'",
                            options->ext);
    }
    for (size_t i = 0; i < options->operand_count; i++) {
        if (strcmp(options->operands[i], "-") == 0) {
            return flags_misuse(command,
                                "'-' is a picture without a name, so there is no place for "
                                "its caption; without batch flags it is printed");
        }
    }
    if (options->null_ends && options->files_from == NULL) {
        return flags_misuse(command, "--null is about --files-from, which is not there");
    }
    bool adds = strcmp(options->mode, "append") == 0 || strcmp(options->mode, "prepend") == 0;
    if (adds && options->jsonl != NULL && !options->sidecar && options->out_dir == NULL) {
        return flags_misuse(command, "--mode %s is about sidecars; add --sidecar", options->mode);
    }
    return EXIT_DONE;
}

/* ---- pictures ------------------------------------------------------------------------------ */

/* Drops the pictures of other shards; their captions' names are known by then. */
static void take_part(batch_plan *plan, char **sidecars)
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->list.count; i++) {
        batch_item *item = &plan->list.items[i];
        if (shard_owns(&plan->part, item->relative)) {
            plan->list.items[kept] = *item;
            sidecars[kept++] = sidecars[i];
        } else {
            free(item->path);
            free(item->relative);
            free(item->problem);
            free(sidecars[i]);
            plan->elsewhere++;
        }
    }
    for (size_t i = kept; i < plan->list.count; i++) {
        sidecars[i] = NULL;
    }
    plan->list.count = kept;
}

/* Makes the jobs; takes sidecars' strings. False: no memory. */
static bool make_jobs(batch_plan *plan, char **sidecars)
{
    plan->jobs = calloc(plan->list.count + 1, sizeof *plan->jobs);
    if (plan->jobs == NULL) {
        return false;
    }
    plan->count = plan->list.count;
    for (size_t i = 0; i < plan->count; i++) {
        batch_job *job = &plan->jobs[i];
        job->item = &plan->list.items[i];
        job->sidecar = plan->has_sidecars ? sidecars[i] : NULL;
        if (!plan->has_sidecars) {
            free(sidecars[i]);
        }
        sidecars[i] = NULL;
    }
    for (size_t i = 0; i < plan->count; i++) {
        batch_job *job = &plan->jobs[i];
        job->answers = calloc(plan->prompts.count, sizeof *job->answers);
        if (job->answers == NULL) {
            return false;
        }
    }
    return true;
}

static int find_pictures(batch_plan *plan)
{
    int code = batch_list_make(&plan->list, plan->options);
    if (code == EXIT_DONE) {
        code = batch_names_unique(&plan->list);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    size_t found = plan->list.count;
    char **sidecars = calloc(found + 1, sizeof *sidecars);
    if (sidecars == NULL) {
        return no_memory();
    }
    if (plan->has_sidecars) {
        code = batch_names_sidecars(&plan->list, plan->options, sidecars, &plan->doubled);
    }
    if (code == EXIT_DONE) {
        take_part(plan, sidecars);
        code = make_jobs(plan, sidecars) ? EXIT_DONE : no_memory();
    }
    for (size_t i = 0; i < found; i++) {
        free(sidecars[i]);
    }
    free(sidecars);
    return code;
}

/* ---- the journal --------------------------------------------------------------------------- */

/* Length of what all captions' folders have in common, of cleaned paths: whole components. */
static size_t common_folder(const batch_plan *plan, char **common)
{
    size_t length = 0;
    *common = NULL;
    for (size_t i = 0; i < plan->count; i++) {
        char *clean = plan->jobs[i].sidecar != NULL ? path_clean(plan->jobs[i].sidecar) : NULL;
        if (clean == NULL) {
            continue;
        }
        size_t folder = (size_t)(path_name(clean) - clean); /* its slash included */
        if (*common == NULL) {
            *common = clean;
            length = folder;
            continue;
        }
        size_t same = 0, whole = 0;
        while (same < length && same < folder && clean[same] == (*common)[same]) {
            same++;
            whole = clean[same - 1] == '/' ? same : whole;
        }
        length = whole;
        free(clean);
    }
    return length;
}

/* "FOLDER.ocelli-caption.journal"; a new string, NULL: no memory. *length: of the folder. */
static char *journal_path(const batch_plan *plan, size_t *length)
{
    char label[64] = "";
    char *common = NULL;
    char *out_dir = plan->options->out_dir != NULL ? path_clean(plan->options->out_dir) : NULL;
    if (plan->part.count > 1) {
        shard_label(&plan->part, label, sizeof label - 1);
        memmove(label + 1, label, strlen(label) + 1);
        label[0] = '.';
    }
    if (!plan->has_sidecars) { /* beside the JSON lines, whose own it is */
        size_t room = strlen(plan->lines.file.path) + 40;
        char *path = malloc(room);
        if (path != NULL) {
            snprintf(path, room, "%s.ocelli-journal", plan->lines.file.path);
        }
        *length = 0;
        free(out_dir);
        return path;
    }
    *length = common_folder(plan, &common);
    const char *folder = common != NULL ? common : "";
    if (out_dir != NULL) {
        folder = out_dir;
        *length = strcmp(out_dir, ".") == 0 ? 0 : strlen(out_dir);
    }
    size_t room = *length + sizeof label + 40;
    char *path = malloc(room);
    if (path != NULL) {
        memcpy(path, folder, *length);
        snprintf(path + *length, room - *length, "%s.ocelli-caption%s.journal",
                 *length > 0 && folder[*length - 1] != '/' ? "/" : "", label);
    }
    free(common);
    free(out_dir);
    return path;
}

/* What another run with other results would differ in. */
static char *make_settings(const batch_plan *plan)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < plan->prompts.count; i++) {
        cJSON_AddItemToArray(list, cJSON_CreateString(plan->prompts.texts[i]));
    }
    cJSON_AddItemToArray(
        list, cJSON_CreateString(plan->options->prefix != NULL ? plan->options->prefix : ""));
    cJSON_AddItemToArray(list, cJSON_CreateString(plan->options->ext));
    char *text = list != NULL ? cJSON_PrintUnformatted(list) : NULL;
    cJSON_Delete(list);
    return text;
}

/* A place where no journal can be is one where no caption can be, unless these lie deeper. */
static int say_denied(const batch_plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->count; i++) {
        const batch_job *job = &plan->jobs[i];
        char *folder = job->state == JOB_WAITING ? path_folder(job->sidecar) : NULL;
        bool may = folder != NULL && access(folder, W_OK) == 0;
        free(folder);
        if (may && strcmp(plan->options->mode, "skip") == 0) {
            report_note("'%s' cannot be written, so nothing keeps a second run from the same "
                        "pictures",
                        path);
            return EXIT_DONE;
        }
    }
    report_error("cannot write '%s': permission denied; --out-dir DIR and --jsonl FILE write the "
                 "captions elsewhere",
                 path);
    return EXIT_FAILED;
}

static int open_journal(batch_plan *plan)
{
    char why[700];
    bool denied = false;
    char *path = journal_path(plan, &plan->record.journal_folder);
    char *settings = make_settings(plan);
    int code = path != NULL && settings != NULL ? EXIT_DONE : no_memory();
    if (code == EXIT_DONE && plan->options->out_dir != NULL && !plan->options->dry_run &&
        !folder_make(plan->options->out_dir, why, sizeof why)) {
        report_error("%s", why);
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE) {
        code = journal_open(&plan->journal, path, plan->options->mode, settings,
                            plan->options->dry_run, &denied);
        code = denied ? say_denied(plan, path) : code;
    }
    free(path);
    cJSON_free(settings);
    return code;
}

/* ---- what is there ------------------------------------------------------------------------- */

/* Takes the captions that the JSON lines hold; true if all prompts have theirs. */
static bool keep_lines(const batch_plan *plan, batch_job *job)
{
    bool all = true;
    for (size_t i = 0; i < plan->prompts.count; i++) {
        job_answer *a = &job->answers[i];
        const line_entry *entry =
            batch_lines_find(&plan->lines, line_key_make(job->item->path, a->prompt));
        a->kept = entry != NULL && !entry->failed;
        if (a->kept) {
            a->text = batch_lines_caption(&plan->lines, entry);
            a->kept = a->text != NULL;
        }
        all = all && a->kept;
    }
    return all;
}

static int fail_job(batch_plan *plan, batch_job *job, const char *why)
{
    char message[1800];
    if (strstr(why, job->item->path) != NULL) {
        snprintf(message, sizeof message, "%s", why);
    } else {
        snprintf(message, sizeof message, "%.900s: %s", job->item->path, why);
    }
    job->error = text_copy(message);
    job->state = JOB_FAILED;
    plan->unreadable++;
    return job->error != NULL ? EXIT_DONE : no_memory();
}

/* The sidecar is there and says something. */
static bool has_caption(const batch_job *job, char *why, size_t size, bool *good)
{
    char *text = NULL;
    size_t length = 0;
    bool there = false;
    *good = file_read(job->sidecar, &text, &length, &there, why, size);
    bool has = *good && there && (!caption_is_blank(text) || strlen(text) != length);
    free(text);
    return has;
}

static int decide_skip(batch_plan *plan, batch_job *job)
{
    char why[700];
    bool good = true;
    if (job->sidecar != NULL && has_caption(job, why, sizeof why, &good)) {
        job->state = JOB_SKIPPED;
    } else if (!good) {
        return fail_job(plan, job, why);
    } else if (plan->has_lines && !plan->lines.stream && keep_lines(plan, job)) {
        job->state = job->sidecar != NULL ? JOB_ANSWERED : JOB_SKIPPED;
    }
    return EXIT_DONE;
}

static int decide_journal(batch_plan *plan, batch_job *job)
{
    char *name = batch_record_name(&plan->record, job);
    const journal_entry *entry = name != NULL ? journal_find(&plan->journal, name) : NULL;
    int code = name != NULL ? EXIT_DONE : no_memory();
    free(name);
    if (entry != NULL) {
        job->state = JOB_SKIPPED;
        code = plan->options->dry_run ? EXIT_DONE : batch_record_settle(&plan->record, job, entry);
    }
    return code;
}

static int decide(batch_plan *plan, batch_job *job)
{
    char why[700];
    int code = EXIT_DONE;
    job->state = JOB_WAITING;
    for (size_t i = 0; i < plan->prompts.count; i++) {
        job->answers[i].prompt =
            prompts_expand(&plan->prompts, i, job->item->path, why, sizeof why);
        if (job->answers[i].prompt == NULL) {
            job->answers[i].prompt = text_copy(plan->prompts.texts[i]);
            if (job->answers[i].prompt == NULL) {
                return no_memory();
            }
            if (job->state != JOB_FAILED) {
                code = fail_job(plan, job, why);
            }
        }
    }
    if (code == EXIT_DONE && job->state == JOB_WAITING && job->item->problem != NULL) {
        code = fail_job(plan, job, job->item->problem);
    }
    if (code == EXIT_DONE && job->state == JOB_WAITING) {
        code = strcmp(plan->options->mode, "skip") == 0 ? decide_skip(plan, job)
                                                        : decide_journal(plan, job);
    }
    if (job->state == JOB_WAITING && plan->options->limit > 0 &&
        plan->waiting == plan->options->limit) {
        job->state = JOB_LEFT;
    }
    plan->done += job->state == JOB_SKIPPED;
    plan->left += job->state == JOB_LEFT;
    plan->waiting += job->state == JOB_WAITING;
    return code;
}

/* The folders of captions, once each: temporaries of killed runs are removed. */
static void clean_folders(const batch_plan *plan)
{
    char *before = NULL;
    for (size_t i = 0; i < plan->count; i++) {
        char *folder = plan->jobs[i].sidecar != NULL ? path_folder(plan->jobs[i].sidecar) : NULL;
        if (folder != NULL && (before == NULL || strcmp(before, folder) != 0)) {
            draft_clean(folder);
        }
        if (folder != NULL) {
            free(before);
            before = folder;
        }
    }
    free(before);
}

static int open_lines(batch_plan *plan)
{
    char *name = NULL;
    int code = EXIT_DONE;
    if (!plan->has_lines) {
        return EXIT_DONE;
    }
    if (strcmp(plan->options->jsonl, "-") == 0) {
        return batch_lines_open(&plan->lines, "-", plan->options->dry_run);
    }
    code = shard_file_name(plan->options, &plan->part, "--jsonl", plan->options->jsonl, &name);
    if (code == EXIT_DONE) {
        code = batch_lines_open(&plan->lines, name, plan->options->dry_run);
    }
    if (code == EXIT_DONE && !plan->lines.stream && !plan->options->dry_run) {
        char *folder = path_folder(name);
        if (folder != NULL) {
            draft_clean(folder);
        }
        free(folder);
    }
    free(name);
    return code;
}

int batch_plan_make(batch_plan *plan, const cli_options *options)
{
    memset(plan, 0, sizeof *plan);
    plan->options = options;
    plan->has_lines = options->jsonl != NULL;
    plan->has_sidecars = !plan->has_lines || options->sidecar || options->out_dir != NULL;
    plan->lines.descriptor = -1;
    plan->lines.file.descriptor = -1;
    plan->journal.file.descriptor = -1;
    bool skip = strcmp(options->mode, "skip") == 0;
    int code = check_flags(options);
    if (code == EXIT_DONE) {
        code = prompts_load(&plan->prompts, options);
    }
    if (code == EXIT_DONE) {
        code = shard_choose(options, &plan->part);
    }
    if (code == EXIT_DONE) {
        code = find_pictures(plan);
    }
    if (code == EXIT_DONE) {
        code = open_lines(plan);
    }
    plan->record.options = options;
    plan->record.jobs = plan->jobs;
    plan->record.count = plan->count;
    plan->record.prompts = plan->prompts.count;
    plan->record.lines = plan->has_lines ? &plan->lines : NULL;
    plan->record.journal = &plan->journal;
    bool journalled = plan->count > 0 && (plan->has_sidecars || (!skip && !plan->lines.stream));
    if (code == EXIT_DONE && !skip && journalled) {
        code = open_journal(plan);
    }
    for (size_t i = 0; code == EXIT_DONE && i < plan->count; i++) {
        code = interrupt_pending() ? EXIT_INTERRUPTED : decide(plan, &plan->jobs[i]);
    }
    if (code == EXIT_DONE && skip && plan->has_sidecars && plan->waiting > 0) {
        code = open_journal(plan);
    }
    if (code == EXIT_DONE && !options->dry_run && plan->has_sidecars) {
        clean_folders(plan);
    }
    plan->record.skipped = plan->done;
    return code;
}

/* ---- the end ------------------------------------------------------------------------------- */

static void print_path(const char *before, const char *path, const char *after)
{
    size_t room = strlen(path) * 4 + 1;
    char *shown = malloc(room);
    if (shown != NULL) {
        text_visible(shown, room, path);
    }
    output_format("%s%s%s", before, shown != NULL ? shown : "?", after);
    free(shown);
}

void batch_plan_print(const batch_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const batch_job *job = &plan->jobs[i];
        if (job->state == JOB_FAILED) {
            print_path("failed   ", job->error, "\n");
        } else if (job->state == JOB_WAITING || job->state == JOB_ANSWERED) {
            print_path("caption  ", job->item->path, job->sidecar != NULL ? " -> " : "\n");
            if (job->sidecar != NULL) {
                print_path("", job->sidecar, "\n");
            }
        }
    }
    output_format("%zu to caption, %zu done already, %zu cannot be read", plan->waiting, plan->done,
                  plan->unreadable);
    if (plan->left > 0) {
        output_format(", %zu left by --limit", plan->left);
    }
    if (plan->elsewhere > 0) {
        output_format(", %zu of other shards", plan->elsewhere);
    }
    if (plan->list.ignored > 0) {
        output_format("; %zu files are no pictures", plan->list.ignored);
    }
    output_format("\n");
}

int batch_plan_finish(batch_plan *plan)
{
    char why[700];
    bool good = true;
    if (plan->has_lines && !plan->lines.stream) {
        size_t count = plan->count * plan->prompts.count;
        line_key *keys = calloc(count + 1, sizeof *keys);
        for (size_t i = 0; keys != NULL && i < count; i++) {
            const batch_job *job = &plan->jobs[i / plan->prompts.count];
            keys[i] = line_key_make(job->item->path, job->answers[i % plan->prompts.count].prompt);
        }
        snprintf(why, sizeof why, "no memory");
        good = keys != NULL && batch_lines_finish(&plan->lines, keys, count, why, sizeof why);
        free(keys);
    }
    bool whole = plan->record.failed == 0 && plan->left == 0;
    if (good && !whole && plan->left == 0) {
        good = journal_end(&plan->journal, why, sizeof why);
    }
    if (!good) {
        report_error("%s", why);
        return EXIT_FAILED;
    }
    if (whole || strcmp(plan->options->mode, "skip") == 0) {
        journal_close(&plan->journal, true);
    }
    return EXIT_DONE;
}

void batch_plan_close(batch_plan *plan)
{
    journal_close(&plan->journal, false);
    batch_lines_close(&plan->lines);
    for (size_t i = 0; i < plan->count; i++) {
        batch_job *job = &plan->jobs[i];
        for (size_t j = 0; job->answers != NULL && j < plan->prompts.count; j++) {
            free(job->answers[j].prompt);
            free(job->answers[j].text);
        }
        free(job->answers);
        free(job->sidecar);
        free(job->error);
    }
    free(plan->jobs);
    batch_list_free(&plan->list);
    prompts_free(&plan->prompts);
    memset(plan, 0, sizeof *plan);
}
