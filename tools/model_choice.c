/* model_choice.c - see model_choice.h.
 *
 * The sample model is looked for relative to the running program, never at a place fixed when it
 * was built, so that an installation may be moved: PREFIX/bin/ocelli finds
 * PREFIX/share/ocelli/model, and a program in its build folder finds share/ocelli/model there, a
 * link into the source tree. */
#define _POSIX_C_SOURCE 200809L

#include "tools/model_choice.h"
#include "tools/download_record.h"
#include "tools/model_folder.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST_PATH 4096

/* The folder of the running program; false where the system does not tell. */
static bool program_folder(char *out, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", out, size - 1);
    if (length <= 0 || (size_t)length >= size - 1) {
        return false;
    }
    out[length] = '\0';
    char *slash = strrchr(out, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
}

static char *sample_model(void)
{
    /* As installed, then as built. OCELLI_DATA_FROM_BIN is "../share/ocelli" in most layouts. */
    static const char *const places[] = {OCELLI_DATA_FROM_BIN "/model", "share/ocelli/model"};
    char folder[LONGEST_PATH];
    char path[LONGEST_PATH + 64];
    struct stat about;
    if (!program_folder(folder, sizeof folder)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s/config.json", folder, places[i]);
        if (stat(path, &about) == 0 && S_ISREG(about.st_mode)) {
            *strrchr(path, '/') = '\0';
            return text_copy(path);
        }
    }
    return NULL;
}

/* A folder whose download is not finished may hold files of two revisions, or lack what has
 * defaults. */
static bool is_whole(const char *path)
{
    struct stat about;
    download_record record;
    uint64_t there, needed;
    char *folder = text_copy(path);
    char *slash = folder != NULL ? strrchr(folder, '/') : NULL;
    if (slash != NULL && slash > folder && stat(path, &about) == 0 && S_ISREG(about.st_mode)) {
        *slash = '\0'; /* a GGUF file */
    }
    bool known = folder != NULL && download_record_read(folder, &record);
    free(folder);
    if (!known) {
        return true;
    }
    bool whole = download_is_complete(path, &record, &there, &needed);
    if (!whole) {
        report_error("'%s': its download is not finished; 'ocelli pull %s' goes on with it", path,
                     record.repository);
    }
    download_record_free(&record);
    return whole;
}

/* Says where it was looked for, and how to get it where it could be a model of the hub. */
static void report_absent(const char *named)
{
    size_t length = strlen(named);
    bool is_file = length > 5 && strcasecmp(named + length - 5, ".gguf") == 0;
    const char *slash = strchr(named, '/');
    const char *owner = "";
    if (!model_folder_is_name(named)) {
        report_error("%s: no such folder or .gguf file; a model is a folder with config.json and "
                     "weights, a package, or a .gguf file",
                     named);
        return;
    }
    if (is_file || (slash != NULL && (slash[1] == '\0' || strchr(slash + 1, '/') != NULL))) {
        report_error("%s: no such folder or .gguf file, and the model folder has none of that name "
                     "('ocelli models' lists it)",
                     named);
        return;
    }
    if (slash == NULL) {
        owner = strncasecmp(named, "Qwen", 4) == 0 ? "Qwen/" : "OWNER/";
    }
    report_error("%s: no such folder or .gguf file, and the model folder has none of that name "
                 "('ocelli models' lists it); 'ocelli pull %s%s' gets one from the hub",
                 named, owner, named);
}

int model_find(const char *named, char **path)
{
    struct stat about;
    *path = NULL;
    if (stat(named, &about) != 0) {
        bool is_absent = errno == ENOENT;
        int code = model_folder_find(named, path);
        if (code == EXIT_DONE && *path == NULL && is_absent) {
            report_absent(named);
            code = EXIT_FAILED;
        }
        if (code != EXIT_DONE) {
            return code;
        }
    } else if (S_ISDIR(about.st_mode) && folder_holds_no_model(named)) {
        report_error("%s: no model is in this folder; a model is a folder with config.json and "
                     "weights, a package, or a .gguf file",
                     named);
        return EXIT_FAILED;
    }
    if (*path == NULL) {
        *path = text_copy(named); /* if it is not there, opening it will say so */
    }
    if (*path == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    if (!is_whole(*path)) {
        free(*path);
        *path = NULL;
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

int model_choose(const char *named, char **path)
{
    *path = NULL;
    if (named == NULL) {
        named = getenv("OCELLI_MODEL");
        if (named != NULL && *named == '\0') {
            named = NULL;
        }
    }
    if (named != NULL) {
        return model_find(named, path);
    }
    *path = sample_model();
    if (*path == NULL) {
        report_error("no model: name one with -m MODEL or OCELLI_MODEL (the sample model is not "
                     "installed beside this program)");
        return EXIT_FAILED;
    }
    report_note("no model named, so this is the sample model, which knows only simple pictures "
                "(-m MODEL or OCELLI_MODEL names another)");
    return EXIT_DONE;
}

bool model_forms(const cli_options *options, ocelli_quant *quant, ocelli_vision *vision)
{
    *quant = OCELLI_QUANT_DEFAULT;
    *vision = OCELLI_VISION_DEFAULT;
    if (options->quant != NULL && ocelli_quant_from_name(options->quant, quant) != 0) {
        report_error("this build does not know --quant %s", options->quant);
        return false;
    }
    if (options->vision != NULL && ocelli_vision_from_name(options->vision, vision) != 0) {
        report_error("this build does not know --vision %s", options->vision);
        return false;
    }
    return true;
}

bool model_options(const cli_options *options, ocelli_model_options *out)
{
    *out = (ocelli_model_options)OCELLI_MODEL_OPTIONS_INIT;
    out->threads = (int)options->threads;
    out->cpu = options->cpu;
    out->log = report_log;
    out->progress = progress_show;
    out->mmproj = options->mmproj;
    if (options->given[FLAG_EMBED_BUDGET]) {
        out->embed_budget = options->embed_budget;
    }
    out->copy_weights = options->copy_weights;
    return model_forms(options, &out->quant, &out->vision);
}
