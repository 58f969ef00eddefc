/* cmd_pack.c - ocelli pack and ocelli verify: making a package and checking one. */
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/model_choice.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/report.h"

#include <ocelli.h>
#include <stdlib.h>
#include <string.h>

/* Quantising one large tensor may take a while between two looks at the flag. */
#define PACK_PATIENCE 10

int cmd_pack(const cli_options *options)
{
    ocelli_pack_options pack = OCELLI_PACK_OPTIONS_INIT;
    ocelli_error err = {OCELLI_OK, ""};
    if (!model_forms(options, &pack.quant, &pack.vision)) {
        return EXIT_FAILED;
    }
    pack.threads = (int)options->threads;
    pack.mmproj = options->mmproj;
    pack.embed_bf16 = options->embed_bf16;
    pack.overwrite = options->force;
    pack.log = report_log;
    pack.progress = progress_show;
    interrupt_patience(PACK_PATIENCE);
    char *checkpoint = NULL;
    int code = model_find(options->operands[0], &checkpoint);
    if (code != EXIT_DONE) {
        return code;
    }
    double began = clock_seconds();
    ocelli_status status = ocelli_pack(checkpoint, options->operands[1], &pack, &err);
    progress_end();
    free(checkpoint);
    if (status != OCELLI_OK) {
        return report_failure(&err);
    }
    report_note("packed '%s' as %s into '%s' in %.1f s", options->operands[0],
                options->quant != NULL ? options->quant : "q8", options->operands[1],
                clock_seconds() - began);
    return EXIT_DONE;
}

int cmd_verify(const cli_options *options)
{
    ocelli_error err = {OCELLI_OK, ""};
    const char *package = options->operands[0];
    char *path = NULL;
    int code = model_find(package, &path);
    if (code != EXIT_DONE) {
        return code;
    }
    interrupt_patience(PACK_PATIENCE);
    ocelli_status status = ocelli_verify(path, progress_show, NULL, &err);
    progress_end();
    free(path);
    if (status == OCELLI_E_CANCELLED || (status != OCELLI_OK && !options->json)) {
        return report_failure(&err);
    }
    if (options->json) {
        cJSON *object = cJSON_CreateObject();
        json_text(object, "package", package);
        cJSON_AddBoolToObject(object, "good", status == OCELLI_OK);
        if (status != OCELLI_OK) {
            json_text(object, "error", err.message);
        }
        output_json(object);
        return status == OCELLI_OK ? EXIT_DONE : EXIT_FAILED;
    }
    report_note("every file is as it was packed");
    output_write("good\n", strlen("good\n"));
    return EXIT_DONE;
}
