/* synth_write.c - see synth_write.h.
 *
 * Threads take pieces of the list of tensors from one counter, fill them and write them where they
 * belong: values depend on their place alone, so that the file does not depend on who came first.
 * The calling thread works too, and looks after progress and interruption.
 */
#define _POSIX_C_SOURCE 200809L

#include "tools/synth_write.h"
#include "tools/cli_options.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/synth_tokenizer.h"
#include "tools/synth_values.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE_VALUES = 2 << 20, MOST_THREADS = 16 };

typedef struct job {
    const synth_tensors *tensors;
    uint64_t seed;
    int file;
    uint64_t data; /* where tensors begin in the file */
    pthread_mutex_t lock;
    /* Under the lock: */
    size_t tensor;  /* of the next piece */
    uint64_t value; /* where in it the next piece begins */
    size_t end;     /* one past the shard's last tensor */
    uint64_t done;  /* bytes of all shards */
    int error;      /* errno of the first failure; 0 */
    bool stopped;   /* by a signal */
} job;

typedef struct piece {
    size_t tensor;
    uint64_t begin;
    size_t count;
} piece;

static bool take_piece(job *j, piece *out)
{
    bool found = false;
    pthread_mutex_lock(&j->lock);
    if (j->tensor < j->end && j->error == 0 && !j->stopped) {
        uint64_t left = j->tensors->items[j->tensor].count - j->value;
        *out = (piece){j->tensor, j->value, left < PIECE_VALUES ? (size_t)left : PIECE_VALUES};
        j->value += out->count;
        if (out->count == left) {
            j->tensor++;
            j->value = 0;
        }
        found = true;
    }
    pthread_mutex_unlock(&j->lock);
    return found;
}

/* 0, or errno. */
static int write_at(int file, const uint8_t *bytes, size_t size, uint64_t offset)
{
    while (size > 0) {
        ssize_t wrote = pwrite(file, bytes, size, (off_t)offset);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return wrote < 0 ? errno : ENOSPC;
        }
        bytes += wrote;
        size -= (size_t)wrote;
        offset += (uint64_t)wrote;
    }
    return 0;
}

static void work(job *j, bool leads)
{
    piece p;
    uint8_t *bytes = malloc(2 * (size_t)PIECE_VALUES);
    synth_source *source = malloc(sizeof *source);
    size_t open = SIZE_MAX; /* the tensor that source is of */
    int error = bytes == NULL || source == NULL ? ENOMEM : 0;
    while (error == 0 && take_piece(j, &p)) {
        const synth_tensor *tensor = &j->tensors->items[p.tensor];
        if (open != p.tensor) {
            synth_source_open(source, tensor->name, j->seed, tensor->mean, tensor->deviation);
            open = p.tensor;
        }
        synth_source_fill(source, p.begin, p.count, bytes);
        error = write_at(j->file, bytes, 2 * p.count, j->data + tensor->offset + 2 * p.begin);
        pthread_mutex_lock(&j->lock);
        j->done += 2 * p.count;
        uint64_t done = j->done;
        pthread_mutex_unlock(&j->lock);
        if (leads &&
            progress_show(NULL, "writing", done,
                          2 * (j->tensors->text_values + j->tensors->vision_values)) != 0) {
            pthread_mutex_lock(&j->lock);
            j->stopped = true;
            pthread_mutex_unlock(&j->lock);
        }
    }
    if (error != 0) {
        pthread_mutex_lock(&j->lock);
        j->error = j->error != 0 ? j->error : error;
        pthread_mutex_unlock(&j->lock);
    }
    free(source);
    free(bytes);
}

static void *help(void *user)
{
    work(user, false);
    return NULL;
}

static void work_together(job *j, size_t threads)
{
    pthread_t helpers[MOST_THREADS];
    size_t started = 0;
    while (started + 1 < threads && started < MOST_THREADS &&
           pthread_create(&helpers[started], NULL, help, j) == 0) {
        started++;
    }
    work(j, true);
    for (size_t i = 0; i < started; i++) {
        pthread_join(helpers[i], NULL);
    }
}

/* ---- one file ------------------------------------------------------------------------------ */

/* What comes before the data: 8 bytes of length, the header padded to a multiple of 8. NULL: no
 * memory. */
static uint8_t *make_header(const synth_tensors *tensors, size_t begin, size_t end, size_t *size)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(cJSON_AddObjectToObject(tree, "__metadata__"), "format", "pt");
    for (size_t i = begin; i < end; i++) {
        const synth_tensor *tensor = &tensors->items[i];
        cJSON *entry = cJSON_AddObjectToObject(tree, tensor->name);
        cJSON_AddStringToObject(entry, "dtype", "BF16");
        cJSON *shape = cJSON_AddArrayToObject(entry, "shape");
        for (int k = 0; k < tensor->rank; k++) {
            cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)tensor->shape[k]));
        }
        cJSON *offsets = cJSON_AddArrayToObject(entry, "data_offsets");
        double first = (double)tensor->offset, bytes = 2.0 * (double)tensor->count;
        cJSON_AddItemToArray(offsets, cJSON_CreateNumber(first));
        cJSON_AddItemToArray(offsets, cJSON_CreateNumber(first + bytes));
    }
    char *text = cJSON_PrintUnformatted(tree);
    cJSON_Delete(tree);
    if (text == NULL) {
        return NULL;
    }
    size_t length = strlen(text);
    size_t padded = (length + 7) / 8 * 8;
    uint8_t *out = malloc(8 + padded);
    if (out != NULL) {
        for (size_t i = 0; i < 8; i++) {
            out[i] = (uint8_t)((uint64_t)padded >> (8 * i));
        }
        memcpy(out + 8, text, length);
        memset(out + 8 + length, ' ', padded - length);
        *size = 8 + padded;
    }
    cJSON_free(text);
    return out;
}

/* The shard's tensors are j->tensor to j->end. 0, or errno. */
static int write_shard(job *j, const char *path, size_t threads, bool hollow)
{
    size_t size = 0;
    uint8_t *header = make_header(j->tensors, j->tensor, j->end, &size);
    if (header == NULL) {
        return ENOMEM;
    }
    j->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (j->file < 0) {
        int error = errno;
        free(header);
        return error;
    }
    j->data = size;
    j->value = 0;
    j->error = write_at(j->file, header, size, 0);
    free(header);
    if (hollow) {
        const synth_tensor *last = &j->tensors->items[j->end - 1];
        uint64_t end = j->data + last->offset + 2 * last->count;
        j->tensor = j->end;
        j->error = j->error == 0 && ftruncate(j->file, (off_t)end) != 0 ? errno : j->error;
    } else {
        work_together(j, threads);
    }
    if (j->error == 0 && !j->stopped && fsync(j->file) != 0) {
        j->error = errno;
    }
    if (close(j->file) != 0 && j->error == 0) {
        j->error = errno;
    }
    return j->error;
}

/* ---- all of them --------------------------------------------------------------------------- */

static void shard_name(char *out, size_t size, size_t shard, size_t shards)
{
    snprintf(out, size, "model-%05zu-of-%05zu.safetensors", shard + 1, shards);
}

static bool write_index(const char *folder, const synth_tensors *tensors)
{
    char name[64];
    double values = (double)(tensors->text_values + tensors->vision_values);
    cJSON *tree = cJSON_CreateObject();
    cJSON *metadata = cJSON_AddObjectToObject(tree, "metadata");
    cJSON_AddNumberToObject(metadata, "total_parameters", values);
    cJSON_AddNumberToObject(metadata, "total_size", 2.0 * values);
    cJSON *map = cJSON_AddObjectToObject(tree, "weight_map");
    for (size_t i = 0; i < tensors->count; i++) {
        shard_name(name, sizeof name, tensors->items[i].shard, tensors->shards);
        cJSON_AddStringToObject(map, tensors->items[i].name, name);
    }
    return json_file_write(folder, "model.safetensors.index.json", tree);
}

int synth_write(const char *folder, const synth_tensors *tensors, uint64_t seed, size_t threads,
                bool hollow)
{
    char name[64];
    job j = {.tensors = tensors, .seed = seed, .file = -1};
    int error = 0;
    pthread_mutex_init(&j.lock, NULL);
    for (size_t shard = 0; shard < tensors->shards && error == 0 && !j.stopped; shard++) {
        shard_name(name, sizeof name, shard, tensors->shards);
        char *path = path_join(folder, name);
        for (j.end = j.tensor; j.end < tensors->count && tensors->items[j.end].shard == shard;) {
            j.end++;
        }
        error = path != NULL ? write_shard(&j, path, threads, hollow) : ENOMEM;
        if (error != 0) {
            progress_end();
            report_error("cannot write '%s': %s", name, strerror(error));
        }
        free(path);
    }
    progress_end();
    pthread_mutex_destroy(&j.lock);
    if (j.stopped) {
        return EXIT_INTERRUPTED;
    }
    return error == 0 && write_index(folder, tensors) ? EXIT_DONE : EXIT_FAILED;
}
