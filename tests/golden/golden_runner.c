/* golden_runner.c - runs every case of a folder of golden data and says how far off it is.
 *
 *     golden_runner DIRECTORY [--only REGEX] [--quant f32] [--least N] [--verbose]
 *
 * The folder is of the form of tests/golden/qwen3vl (models/, cases/, functions/, tokenizer/) or of
 * tests/golden/gguf (models/, runs/, blocks/); any of these may be missing. What is in it is found
 * by reading it. With another --quant than f32 what the decoder computes is told but not judged.
 * Exit code 0: at least N cases passed (1) and none failed. */
#define _POSIX_C_SOURCE 200809L
#include "tests/golden/golden_sections.h"

#include "runtime/base/file.h"
#include "runtime/config.h"
#include "tests/golden/golden_data.h"
#include "tests/golden/golden_gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int misuse(const char *why)
{
    fprintf(stderr,
            "golden_runner: %s\n"
            "usage: golden_runner DIRECTORY [--only REGEX] [--quant f32] [--least N] [--verbose]\n",
            why);
    return 2;
}

/* True if the folder has models and all of them are of families that this version does not know:
 * then its rules are theirs too, and nothing in it says anything about us. */
static bool is_of_another_family(const char *directory, ocelli_error *err)
{
    char models[GOLDEN_PATH], path[GOLDEN_PATH];
    golden_names names = {0};
    bool other = golden_path(models, directory, "models") &&
                 golden_list(&names, models, NULL) == OCELLI_OK && names.count > 0;
    for (size_t i = 0; i < names.count && other; i++) {
        oc_config config;
        ocelli_status status = golden_path(path, models, names.names[i])
                                   ? oc_config_read(&config, path, err)
                                   : OCELLI_E_IO;
        other = status == OCELLI_E_UNSUPPORTED;
        if (status == OCELLI_OK) {
            oc_config_close(&config);
        }
    }
    golden_names_close(&names);
    return other;
}

int main(int count, char **arguments)
{
    const char *directory = NULL, *only = NULL;
    ocelli_quant quant = OCELLI_QUANT_F32;
    unsigned long least = 1;
    report r = {0};
    for (int i = 1; i < count; i++) {
        const char *argument = arguments[i];
        const char *value = i + 1 < count ? arguments[i + 1] : NULL;
        if (strcmp(argument, "--verbose") == 0) {
            r.verbose = true;
        } else if (strcmp(argument, "--only") == 0 && value != NULL) {
            only = value;
            i++;
        } else if (strcmp(argument, "--quant") == 0 && value != NULL) {
            if (ocelli_quant_from_name(value, &quant) != 0) {
                return misuse("--quant: no such form of the weights");
            }
            i++;
        } else if (strcmp(argument, "--least") == 0 && value != NULL) {
            least = strtoul(value, NULL, 10);
            i++;
        } else if (argument[0] == '-' || directory != NULL) {
            return misuse(argument);
        } else {
            directory = argument;
        }
    }
    if (directory == NULL) {
        return misuse("no directory");
    }
    if (!oc_file_is_directory(directory)) {
        return misuse("the directory is not there");
    }
    regex_t pattern;
    if (only != NULL) {
        if (regcomp(&pattern, only, REG_EXTENDED | REG_NOSUB) != 0) {
            return misuse("--only: not a regular expression");
        }
        r.only = &pattern;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    ocelli_error err = {0};
    if (is_of_another_family(directory, &err)) {
        report_begin(&r, directory, "*");
        report_skip(&r, "%s", err.message);
    } else {
        golden_run_functions(&r, directory);
        golden_run_tokenizer(&r, directory);
        golden_run_cases(&r, directory, quant);
        golden_run_blocks(&r, directory);
        golden_run_gguf(&r, directory, quant);
    }
    if (only != NULL) {
        regfree(&pattern);
    }
    return report_close(&r, least > 0 ? least : 1) ? 0 : 1;
}
