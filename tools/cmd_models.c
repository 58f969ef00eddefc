/* cmd_models.c - ocelli models: what is in the model folder. */
#define _POSIX_C_SOURCE 200809L

#include "tools/commands.h"
#include "tools/download_record.h"
#include "tools/model_folder.h"
#include "tools/model_shape.h"
#include "tools/output.h"
#include "tools/report.h"

#include <dirent.h>
#include <inttypes.h>
#include <ocelli.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct listed {
    const model_folder_entry *entry;
    uint64_t bytes; /* on disk */
    /* Of a download that is not finished. */
    bool incomplete;
    uint64_t there, needed;
    char repository[256];
    /* Of one that opens: message is "". */
    char family[40], form[24], types[40];
    uint64_t weights; /* about how many */
    char message[508];
} listed;

/* Bytes of the file, or of the files in the folder, not of those in folders below. */
static uint64_t bytes_of(const char *path)
{
    struct stat about;
    uint64_t bytes = 0;
    if (stat(path, &about) != 0) {
        return 0;
    }
    if (S_ISREG(about.st_mode)) {
        return (uint64_t)about.st_size;
    }
    DIR *entries = opendir(path);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        char *file = path_join(path, entry->d_name);
        if (file != NULL && stat(file, &about) == 0 && S_ISREG(about.st_mode)) {
            bytes += (uint64_t)about.st_size;
        }
        free(file);
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return bytes;
}

/* Of the matrices; norms and biases are some ten thousandths. Sizes of models that open are far
 * from overflowing. */
static uint64_t count_weights(const ocelli_model_info *m)
{
    uint64_t attention = m->hidden_size * m->head_dim * 2 * (m->heads + m->kv_heads);
    uint64_t dense = 3 * m->hidden_size * m->intermediate_size;
    uint64_t sparse =
        m->experts * m->hidden_size * (3 * m->expert_intermediate_size + 1); /* and the router */
    uint64_t decoder = m->layers * attention + m->sparse_layers * sparse +
                       (m->layers - m->sparse_layers) * dense +
                       m->vocab_size * m->hidden_size * (m->tied ? 1 : 2);
    uint64_t merged = m->vision_hidden_size * m->merge_size * m->merge_size;
    uint64_t vision =
        m->vision_layers * m->vision_hidden_size *
            (4 * m->vision_hidden_size + (m->vision_gated ? 3 : 2) * m->vision_intermediate_size) +
        m->vision_positions * m->vision_hidden_size +
        m->channels * m->temporal_patch_size * m->patch_size * m->patch_size *
            m->vision_hidden_size +
        (1 + m->vision_taps) * merged * (merged + m->hidden_size);
    return decoder + vision;
}

/* Asks the library, which reads headers only. */
static void describe(listed *l)
{
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    ocelli_model_info info;
    ocelli_model *model = NULL;
    ocelli_error err = {OCELLI_OK, ""};
    options.plan_only = 1;
    if (ocelli_model_open(&model, l->entry->path, &options, &err) != OCELLI_OK) {
        snprintf(l->message, sizeof l->message, "%s",
                 err.message[0] != '\0' ? err.message : ocelli_status_name(err.status));
        return;
    }
    memset(&info, 0, sizeof info);
    info.struct_size = sizeof info;
    ocelli_model_describe(model, &info);
    snprintf(l->family, sizeof l->family, "%s", info.family);
    snprintf(l->form, sizeof l->form, "%s", info.form);
    if (strcmp(info.form, "package") == 0) {
        snprintf(l->types, sizeof l->types, "%s, vision %s", ocelli_quant_name(info.quant),
                 ocelli_vision_name(info.vision));
    } else {
        snprintf(l->types, sizeof l->types, "%s", info.checkpoint_dtype);
    }
    l->weights = count_weights(&info);
    ocelli_model_close(model);
}

static void look_at(const model_folder_entry *entry, listed *l)
{
    download_record record;
    memset(l, 0, sizeof *l);
    l->entry = entry;
    l->bytes = bytes_of(entry->path);
    if (download_record_read(entry->path, &record)) {
        l->incomplete = !download_is_complete(entry->path, &record, &l->there, &l->needed);
        snprintf(l->repository, sizeof l->repository, "%s", record.repository);
        download_record_free(&record);
    }
    if (!l->incomplete) {
        describe(l);
    }
}

/* "2.1 B" */
static void format_weights(char *out, size_t size, uint64_t weights)
{
    if (weights >= 999500000) {
        snprintf(out, size, "%.1f B", (double)weights / 1e9);
    } else {
        snprintf(out, size, "%.1f M", (double)weights / 1e6);
    }
}

static void print_text(const listed *l, int name_width)
{
    char bytes[32], there[32], needed[32], weights[32];
    format_bytes(bytes, sizeof bytes, l->bytes);
    output_format("%-*s  %10s  ", name_width, l->entry->name, bytes);
    if (l->incomplete) {
        format_bytes(there, sizeof there, l->there);
        format_bytes(needed, sizeof needed, l->needed);
        output_format("incomplete: %s of %s; 'ocelli pull %s' goes on\n", there, needed,
                      l->repository);
    } else if (l->message[0] != '\0') {
        output_format("cannot be opened: %s\n", l->message);
    } else {
        format_weights(weights, sizeof weights, l->weights);
        output_format("%s, %s weights, %s, %s\n", l->family, weights, l->form, l->types);
    }
}

static void print_json(const listed *l)
{
    cJSON *object = cJSON_CreateObject();
    json_text(object, "name", l->entry->name);
    json_text(object, "path", l->entry->path);
    json_count(object, "bytes", l->bytes);
    cJSON_AddBoolToObject(object, "complete", !l->incomplete);
    if (l->incomplete) {
        json_text(object, "repository", l->repository);
        json_count(object, "bytes_there", l->there);
        json_count(object, "bytes_needed", l->needed);
    } else if (l->message[0] != '\0') {
        json_text(object, "error", l->message);
    } else {
        json_text(object, "family", l->family);
        json_count(object, "weights", l->weights);
        json_text(object, "form", l->form);
        json_text(object, "types", l->types);
    }
    output_json(object);
}

int cmd_models(const cli_options *options)
{
    model_folder_list list = {NULL, 0};
    char *folder = model_folder_path();
    bool good = folder != NULL && model_folder_read(folder, &list);
    size_t width = 0;
    for (size_t i = 0; i < list.count; i++) {
        size_t length = strlen(list.entries[i].name);
        width = length > width && length < 60 ? length : width;
    }
    for (size_t i = 0; good && i < list.count && !output_failed(); i++) {
        listed l;
        look_at(&list.entries[i], &l);
        if (options->json) {
            print_json(&l);
        } else {
            print_text(&l, (int)width);
        }
    }
    if (good && list.count == 0) {
        report_note("no models in '%s'; 'ocelli pull REPO' gets one", folder);
    }
    model_folder_free(&list);
    free(folder);
    return good ? EXIT_DONE : EXIT_FAILED;
}
