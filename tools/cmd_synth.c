/* cmd_synth.c - ocelli synth: a checkpoint of any published shape, filled with random weights, for
 * measuring and testing what needs the size of a model and not its knowledge. */
#define _POSIX_C_SOURCE 200809L

#include "tools/commands.h"
#include "tools/flags.h"
#include "tools/interrupt.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/synth_folder.h"
#include "tools/synth_tokenizer.h"
#include "tools/synth_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writing to a slow disk may take a while between two looks at the flag. */
#define SYNTH_PATIENCE 10

/* Beyond the weights: the tokenizer, the small files, what a file system takes for itself. */
#define SMALL_FILES ((uint64_t)64 << 20)

typedef struct synth {
    const cli_options *options;
    const char *name; /* of the shape or of its file */
    const char *out;
    cJSON *config;
    model_shape shape;
    synth_ids ids;
    synth_tensors tensors;
} synth;

static int choose_config(synth *s)
{
    const cli_options *options = s->options;
    size_t operands = options->operand_count;
    s->out = options->operands[operands - 1];
    if (options->config != NULL) {
        if (operands > 1) {
            return flags_misuse(options->command, "a SHAPE and --config both say what to make; "
                                                  "give one of them");
        }
        s->name = options->config;
        s->config = json_file_read(options->config);
        return s->config != NULL ? EXIT_DONE : EXIT_FAILED;
    }
    if (operands < 2 && !options->dry_run) {
        return flags_misuse(options->command, "synth needs SHAPE OUT, or --config and OUT");
    }
    s->name = options->operands[0];
    s->config = synth_config_of_shape(s->name);
    if (s->config != NULL) {
        return EXIT_DONE;
    }
    char known[256] = "";
    size_t used = 0;
    for (size_t i = 0; synth_shape_name(i, NULL) != NULL && used < sizeof known; i++) {
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                                 synth_shape_name(i, NULL));
    }
    return flags_misuse(options->command, "there is no shape '%.60s'; there are %s", s->name,
                        known);
}

/* Everything that can be wrong is found before anything is written. */
static int prepare(synth *s)
{
    const cli_options *options = s->options;
    int code = choose_config(s);
    if (code != EXIT_DONE) {
        return code;
    }
    bool good = (options->layers == 0 || synth_config_cut(s->config, options->layers, s->name)) &&
                model_shape_read(&s->shape, s->config, s->name);
    if (!good) {
        return EXIT_FAILED;
    }
    synth_config_ids(s->config, &s->ids);
    if (options->tokenizer != NULL) {
        good = synth_tokenizer_ids(options->tokenizer, s->shape.vocab, &s->ids);
        synth_config_set_ids(s->config, &s->ids);
    } else {
        good = synth_tokenizer_fits(&s->ids, s->shape.vocab);
    }
    good = good && synth_tensors_open(&s->tensors, &s->shape, options->shard_size);
    return good ? EXIT_DONE : EXIT_FAILED;
}

static void print_plan(const synth *s)
{
    const synth_tensors *t = &s->tensors;
    uint64_t values = t->text_values + t->vision_values;
    if (s->options->json) {
        cJSON *object = cJSON_CreateObject();
        json_text(object, "shape", s->name);
        json_count(object, "parameters", values);
        json_count(object, "text_parameters", t->text_values);
        json_count(object, "vision_parameters", t->vision_values);
        json_count(object, "tensors", t->count);
        json_count(object, "files", t->shards);
        json_count(object, "bytes", 2 * values);
        output_json(object);
        return;
    }
    char bytes[32];
    format_bytes(bytes, sizeof bytes, 2 * values);
    output_format("shape        %s\n", s->name);
    output_format("parameters   %" PRIu64 ": decoder %" PRIu64 ", vision %" PRIu64 "\n", values,
                  t->text_values, t->vision_values);
    output_format("tensors      %zu in %zu files\n", t->count, t->shards);
    output_format("bytes        %" PRIu64 " (%s)\n", 2 * values, bytes);
}

static int write_all(synth *s, const char *folder)
{
    const cli_options *options = s->options;
    bool good = options->tokenizer != NULL ? synth_tokenizer_copy(options->tokenizer, folder)
                                           : synth_tokenizer_write(folder, &s->ids);
    cJSON *config = s->config;
    s->config = NULL; /* the next call deletes it */
    cJSON *image = synth_processor_config(config, &s->shape, false);
    cJSON *video = s->shape.older ? NULL : synth_processor_config(config, &s->shape, true);
    good = json_file_write(folder, "config.json", config) && good;
    good = json_file_write(folder, "preprocessor_config.json", image) && good;
    good = (s->shape.older || json_file_write(folder, "video_preprocessor_config.json", video)) &&
           good;
    good = json_file_write(folder, "generation_config.json",
                           synth_generation_config(&s->ids, &s->shape)) &&
           good;
    if (!good) {
        return EXIT_FAILED;
    }
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    size_t threads = options->threads > 0 ? (size_t)options->threads : cpus > 0 ? (size_t)cpus : 1;
    return synth_write(folder, &s->tensors, options->seed, threads, options->hollow);
}

static int make(synth *s)
{
    synth_folder folder;
    double began = clock_seconds();
    uint64_t bytes = 2 * (s->tensors.text_values + s->tensors.vision_values);
    int code = EXIT_FAILED;
    interrupt_patience(SYNTH_PATIENCE);
    if (synth_folder_open(&folder, s->out, s->options->force) &&
        synth_folder_has_room(&folder, (s->options->hollow ? 0 : bytes) + SMALL_FILES)) {
        code = write_all(s, folder.path);
        if (code == EXIT_DONE && !synth_folder_commit(&folder)) {
            code = EXIT_FAILED;
        }
    }
    synth_folder_close(&folder);
    if (code == EXIT_DONE) {
        char size[32];
        format_bytes(size, sizeof size, bytes);
        report_note("wrote %s of %s weights in the shape of %s into '%s' in %.1f s", size,
                    s->options->hollow ? "hollow" : "random", s->name, s->out,
                    clock_seconds() - began);
    }
    return code;
}

int cmd_synth(const cli_options *options)
{
    synth *s = calloc(1, sizeof *s);
    if (s == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    s->options = options;
    int code = prepare(s);
    if (code == EXIT_DONE && options->dry_run) {
        print_plan(s);
    } else if (code == EXIT_DONE) {
        code = make(s);
    }
    synth_tensors_close(&s->tensors);
    cJSON_Delete(s->config);
    free(s);
    return code;
}
