/* cmd_pull.c - ocelli pull: a model from a Hugging Face hub into a folder.
 *
 * The order of work: list, choose, compare with what is there, look for room, fetch, and perhaps
 * pack. Nothing is written before it is known that all of it will be needed and will fit. */
#define _POSIX_C_SOURCE 200809L

#include "tools/commands.h"
#include "tools/flags.h"
#include "tools/interrupt.h"
#include "tools/line_reader.h"
#include "tools/model_folder.h"
#include "tools/model_shape.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/pull_choice.h"
#include "tools/pull_fetch.h"
#include "tools/pull_plan.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct pull {
    const cli_options *options;
    const char *repository, *revision;
    char *folder; /* without a slash at the end */
    pull_hub hub;
    remote_list list;
    pull_choice choice;
    download_record record;
    pull_plan plan;
    pull_tally tally;
    size_t fetched; /* files of this run */
    char *package;  /* NULL: not packed */
    bool is_gguf;
} pull;

static int no_memory(void)
{
    report_error("no memory");
    return EXIT_FAILED;
}

/* DIR, or the repository's place in the model folder. */
static char *target_folder(const cli_options *options, const char *repository)
{
    char *home = NULL, *folder = NULL;
    if (options->operand_count > 1) {
        folder = text_copy(options->operands[1]);
    } else {
        home = model_folder_path();
        folder = home != NULL ? path_join(home, repository) : NULL;
    }
    free(home);
    for (size_t n = folder != NULL ? strlen(folder) : 0; n > 1 && folder[n - 1] == '/'; n--) {
        folder[n - 1] = '\0';
    }
    return folder;
}

/* ---- fetching ------------------------------------------------------------------------------ */

static int plan_work(pull *p)
{
    int code = pull_hub_open(&p->hub, p->repository, p->revision);
    if (code == EXIT_DONE) {
        code = pull_list_read(&p->hub, &p->list);
    }
    if (code == EXIT_DONE) {
        code =
            pull_choose(&p->hub, &p->list, p->options->include, p->folder, &p->record, &p->choice);
    }
    if (code == EXIT_DONE) {
        p->is_gguf = p->choice.is_gguf;
        if (p->options->pack != NULL && p->choice.texts > 1) {
            report_error("--pack packs one model, but --include %.200s matches %zu",
                         p->options->include, p->choice.texts);
            return EXIT_FAILED;
        }
        code = pull_plan_make(&p->hub, &p->list, p->folder, &p->record, &p->plan);
    }
    return code;
}

static void announce(const pull *p)
{
    char bytes[32], left[32];
    format_bytes(bytes, sizeof bytes, p->plan.bytes);
    format_bytes(left, sizeof left, p->plan.left_over);
    if (p->plan.left_over > 0) {
        report_note("%s: %zu of %zu files to fetch, %s, of which %s are here already, into '%s'",
                    p->repository, p->plan.count, p->choice.count, bytes, left, p->folder);
    } else {
        report_note("%s: %zu of %zu files to fetch, %s, into '%s'", p->repository, p->plan.count,
                    p->choice.count, bytes, p->folder);
    }
}

static int fetch_missing(pull *p)
{
    int code = EXIT_DONE;
    p->tally.total = p->plan.bytes;
    for (size_t i = 0; code == EXIT_DONE && i < p->plan.count; i++) {
        const remote_file *file = p->plan.missing[i];
        recorded_file *recorded = download_record_find(&p->record, file->path);
        code = pull_fetch(&p->hub, p->folder, file, &p->tally, recorded->time);
        if (code == EXIT_DONE) {
            p->fetched++;
            code = download_record_write(p->folder, &p->record) ? EXIT_DONE : EXIT_FAILED;
        }
    }
    progress_end();
    return code;
}

/* Writes into the folder, which nobody else does meanwhile. */
static int fill_folder(pull *p)
{
    if (p->plan.count > 0) {
        announce(p);
        if (!pull_plan_has_room(&p->plan, p->folder)) {
            return EXIT_FAILED;
        }
    }
    int lock = pull_folder_open(p->folder);
    if (lock < 0) {
        return EXIT_FAILED;
    }
    double began = clock_seconds();
    int code = EXIT_DONE;
    if (p->plan.record_changed && !download_record_write(p->folder, &p->record)) {
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE) {
        code = fetch_missing(p);
    }
    (void)fsync(lock); /* the names; each file's bytes were synced before it got its name */
    close(lock);
    if (code == EXIT_DONE && p->plan.count == 0) {
        report_note("%s: all %zu files are in '%s' already", p->repository, p->choice.count,
                    p->folder);
    } else if (code == EXIT_DONE) {
        char bytes[32];
        format_bytes(bytes, sizeof bytes, p->tally.received);
        report_note("fetched %s in %.1f s; every hash is right", bytes, clock_seconds() - began);
    } else if (code == EXIT_INTERRUPTED) {
        report_note("stopped; the same command goes on from here");
    }
    return code;
}

/* HF_HUB_OFFLINE: what is there must do. */
static int stay_offline(pull *p)
{
    bool whole = p->record.count > 0;
    for (size_t i = 0; whole && i < p->record.count; i++) {
        whole = download_file_is_whole(p->folder, &p->record.files[i]);
    }
    if (!whole) {
        report_error("HF_HUB_OFFLINE is set, so nothing is fetched, and '%s' is not there whole",
                     p->folder);
        return EXIT_FAILED;
    }
    report_note("%s: HF_HUB_OFFLINE is set; all %zu files are in '%s'", p->repository,
                p->record.count, p->folder);
    return EXIT_DONE;
}

/* ---- packing ------------------------------------------------------------------------------- */

static char *package_folder(const pull *p, const char *type)
{
    size_t size = strlen(p->folder) + strlen(type) + 2;
    char *out = malloc(size);
    if (out != NULL) {
        snprintf(out, size, "%s-%s", p->folder, type);
    }
    return out;
}

/* A package is there that was made after the last file came, of what is asked for: another
 * --include may have chosen another file of the folder. */
static bool is_packed(const pull *p, const char *package)
{
    struct stat packed, record;
    char *manifest = path_join(package, "manifest.json");
    char *path = path_join(p->folder, DOWNLOAD_RECORD);
    bool good = p->options->include == NULL && manifest != NULL && path != NULL &&
                stat(manifest, &packed) == 0 && stat(path, &record) == 0 &&
                packed.st_mtime >= record.st_mtime && p->fetched == 0;
    free(manifest);
    free(path);
    return good;
}

static int pack_as(pull *p, const char *type)
{
    p->package = package_folder(p, type);
    if (p->package == NULL) {
        return no_memory();
    }
    if (is_packed(p, p->package)) {
        report_note("'%s' is there already", p->package);
        return EXIT_DONE;
    }
    /* Of a folder that may hold other GGUF files, from earlier, what was chosen. */
    char *text = p->choice.text != NULL ? path_join(p->folder, p->choice.text) : NULL;
    char *tower = p->choice.tower != NULL ? path_join(p->folder, p->choice.tower) : NULL;
    const char *operands[2] = {text != NULL ? text : p->folder, p->package};
    struct stat about;
    char *manifest = path_join(p->package, "manifest.json");
    cli_options pack = *p->options;
    pack.command = "pack";
    pack.operands = operands;
    pack.operand_count = 2;
    pack.quant = type;
    pack.embed_bf16 = true;
    pack.force = manifest != NULL && stat(manifest, &about) == 0; /* of an earlier revision */
    pack.mmproj = text != NULL ? tower : NULL;
    free(manifest);
    int code = cmd_pack(&pack);
    free(text);
    free(tower);
    return code;
}

/* What the user answers on the terminal, for free; NULL: nothing. */
static char *ask(const char *question)
{
    line_reader reader = {0};
    char *line = NULL, *answer = NULL;
    size_t length = 0;
    report_draw(question);
    if (line_reader_next(&reader, &line, &length) == LINE_READ) {
        answer = text_copy(line);
    }
    line_reader_free(&reader);
    return answer;
}

static int offer_to_pack(pull *p)
{
    const cli_options *options = p->options;
    if (options->pack != NULL) {
        return pack_as(p, options->pack);
    }
    char *package = package_folder(p, "q8");
    int code = EXIT_DONE;
    if (package != NULL && !p->is_gguf && !is_packed(p, package)) {
        if (isatty(STDIN_FILENO) && report_can_draw() && !options->quiet && !options->json) {
            char *answer = ask("Pack it now (q8, q4, no)? ");
            if (answer != NULL && (strcmp(answer, "q8") == 0 || strcmp(answer, "q4") == 0)) {
                code = pack_as(p, answer[1] == '8' ? "q8" : "q4");
            }
            free(answer);
        } else {
            report_note("a package opens in milliseconds: ocelli pack '%s' '%s' --quant q8 "
                        "--embed-bf16",
                        p->folder, package);
        }
    }
    free(package);
    return interrupt_pending() ? EXIT_INTERRUPTED : code;
}

/* ---- the answer ---------------------------------------------------------------------------- */

static void print_plan(const pull *p)
{
    char bytes[32];
    for (size_t i = 0; i < p->list.count; i++) {
        const remote_file *file = &p->list.files[i];
        if (file->wanted) {
            const recorded_file *recorded = download_record_find(&p->record, file->path);
            format_bytes(bytes, sizeof bytes, file->bytes);
            output_format("%12s  %-9s %s\n", bytes,
                          recorded != NULL && recorded->time[0] != '\0' ? "here" : "to fetch",
                          file->path);
        }
    }
    format_bytes(bytes, sizeof bytes, p->plan.bytes - p->plan.left_over);
    output_format("%12s  to fetch, into %s\n", bytes, p->folder);
}

static void print_json(const pull *p)
{
    cJSON *object = cJSON_CreateObject();
    json_text(object, "repository", p->repository);
    json_text(object, "revision", p->revision);
    json_text(object, "folder", p->folder);
    cJSON *files = cJSON_AddArrayToObject(object, "files");
    for (size_t i = 0; i < p->record.count; i++) {
        cJSON *file = cJSON_CreateObject();
        json_text(file, "path", p->record.files[i].path);
        json_count(file, "bytes", p->record.files[i].bytes);
        json_text(file, "hash", p->record.files[i].hash);
        cJSON_AddBoolToObject(file, "whole", p->record.files[i].time[0] != '\0');
        cJSON_AddItemToArray(files, file);
    }
    json_count(object, "fetched_files", p->fetched);
    json_count(object, "fetched_bytes", p->tally.received);
    json_count(object, "missing_bytes",
               p->options->dry_run ? p->plan.bytes - p->plan.left_over : 0);
    if (p->package != NULL) {
        json_text(object, "package", p->package);
    }
    output_json(object);
}

static int work(pull *p)
{
    int code;
    download_record_read(p->folder, &p->record);
    bool known = p->record.count > 0;
    if (known && strcmp(p->record.repository, p->repository) != 0) {
        report_error("'%s' holds %s; choose another folder", p->folder, p->record.repository);
        return EXIT_FAILED;
    }
    if (pull_is_offline()) {
        code = stay_offline(p);
    } else {
        code = plan_work(p);
        if (code == EXIT_DONE && !p->options->dry_run) {
            code = fill_folder(p);
        }
    }
    if (code == EXIT_DONE && !p->options->dry_run) {
        code = offer_to_pack(p);
    }
    if (code == EXIT_DONE && p->options->json) {
        print_json(p);
    } else if (code == EXIT_DONE && p->options->dry_run) {
        print_plan(p);
    } else if (code == EXIT_DONE) {
        output_format("%s\n", p->package != NULL ? p->package : p->folder);
    }
    return code;
}

/* Of the operand, a copy that is cut up where it is the address of the repository's page. */
static int choose_repository(pull *p, char *named)
{
    const cli_options *options = p->options;
    const char *revision = NULL;
    p->repository = named;
    p->revision = options->revision;
    if (pull_is_address(named)) {
        if (!pull_address_read(named, &p->repository, &revision)) {
            return flags_misuse(
                "pull",
                "'%.100s' is no repository's address on this hub, which HF_ENDPOINT "
                "names; give owner/name",
                options->operands[0]);
        }
        if (revision != NULL && options->given[FLAG_REVISION]) {
            return flags_misuse("pull", "the address and --revision both name a revision; give one "
                                        "of them");
        }
        p->revision = revision != NULL ? revision : options->revision;
    } else if (!pull_is_repository(named)) {
        return flags_misuse("pull",
                            "'%.100s' is no repository: it is owner/name, such as "
                            "Qwen/Qwen3-VL-2B-Instruct",
                            named);
    }
    return EXIT_DONE;
}

int cmd_pull(const cli_options *options)
{
    pull p = {.options = options};
    char *named = text_copy(options->operands[0]);
    int code = named != NULL ? choose_repository(&p, named) : no_memory();
    if (code == EXIT_DONE) {
        p.folder = target_folder(options, p.repository);
        code = p.folder != NULL ? work(&p) : EXIT_FAILED;
    }
    pull_hub_close(&p.hub);
    pull_plan_free(&p.plan);
    pull_list_free(&p.list);
    download_record_free(&p.record);
    free(p.package);
    free(p.folder);
    free(named);
    return code;
}
