/* weights_write.c - see weights_write.h. POSIX, because a file that is said to be written must have
 * reached the disk.
 *
 * The header is built when the first data arrive, from the announcements. Positions of tensors are
 * then fixed: data are appended, hashed on the way, and the file is never read again.
 *
 * Writes are whole blocks of a large page at multiples of it. File systems that keep what is written
 * together as one large page (ext4 and XFS of recent kernels) later map it as one: decoding from a file
 * that was written in such blocks is 12 % faster than from one that was written in pieces. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/weights_write.h"

#include "runtime/base/buffer.h"
#include "runtime/base/memory.h"
#include "runtime/weights/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 2 << 20 };

typedef struct announced {
    char *name; /* owned */
    oc_dtype dtype;
    int rank;
    int64_t shape[OC_TENSOR_RANK];
    size_t bytes;
    size_t pad; /* bytes of the pad tensor before it */
} announced;

typedef struct written_note {
    char *key, *value; /* owned */
} written_note;

struct oc_weights_writer {
    char *path;
    int descriptor; /* -1: closed */
    oc_hasher *hasher;
    announced *tensors; /* [count] */
    size_t count, room;
    written_note *notes; /* [note_count] */
    size_t note_count, note_room;
    uint64_t total;       /* of the file, known once the header is built */
    unsigned char *block; /* [BLOCK]: what is next to be written */
    size_t held;          /* bytes of it */
    uint64_t written;     /* bytes in the file */
    size_t next;          /* the tensor whose data come next */
    bool started;         /* the header is written */
    bool broken;          /* a write failed: the file cannot be finished */
};

/* An old file of that name may be mapped by somebody: it is left to them under no name, and a new
 * one begins. What is not a regular file (a pipe, /dev/full in a test) is written into. */
static int create_anew(const char *path)
{
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) && unlink(path) != 0) {
        return -1;
    }
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

ocelli_status oc_weights_writer_open(oc_weights_writer **out, const char *path, ocelli_error *err)
{
    *out = NULL;
    oc_weights_writer *writer = oc_alloc(1, sizeof *writer);
    if (writer == NULL) {
        return oc_fail_memory(err, path);
    }
    writer->descriptor = -1;
    writer->path = oc_strdup(path);
    writer->hasher = oc_hasher_open();
    writer->block = oc_alloc_raw(BLOCK, 1);
    if (writer->path == NULL || writer->hasher == NULL || writer->block == NULL) {
        oc_weights_writer_close(writer);
        return oc_fail_memory(err, path);
    }
    writer->descriptor = create_anew(path);
    if (writer->descriptor < 0) {
        int reason = errno;
        oc_weights_writer_close(writer);
        return oc_fail(err, OCELLI_E_IO, "%s: cannot create: %s", path, strerror(reason));
    }
    *out = writer;
    return OCELLI_OK;
}

/* What is held goes to the file. */
static ocelli_status flush(oc_weights_writer *writer, ocelli_error *err)
{
    for (size_t done = 0; done < writer->held;) {
        ssize_t count = write(writer->descriptor, writer->block + done, writer->held - done);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            int reason = count < 0 ? errno : ENOSPC;
            writer->broken = true;
            return oc_fail(err, OCELLI_E_IO,
                           "%s: could not write %llu bytes after the first %llu of %llu: %s",
                           writer->path, (unsigned long long)(writer->total - writer->written),
                           (unsigned long long)writer->written, (unsigned long long)writer->total,
                           strerror(reason));
        }
        done += (size_t)count;
        writer->written += (uint64_t)count;
    }
    writer->held = 0;
    return OCELLI_OK;
}

void oc_weights_writer_close(oc_weights_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    if (writer->descriptor >= 0) {
        ocelli_error unheard;
        if (writer->started && !writer->broken) {
            (void)flush(writer, &unheard);
        }
        close(writer->descriptor);
    }
    oc_free(writer->block);
    for (size_t i = 0; i < writer->count; i++) {
        oc_free(writer->tensors[i].name);
    }
    for (size_t i = 0; i < writer->note_count; i++) {
        oc_free(writer->notes[i].key);
        oc_free(writer->notes[i].value);
    }
    oc_free(writer->tensors);
    oc_free(writer->notes);
    oc_hasher_close(writer->hasher);
    oc_free(writer->path);
    oc_free(writer);
}

/* ---- announcements -------------------------------------------------------------------------- */

static ocelli_status check_open(const oc_weights_writer *writer, ocelli_error *err)
{
    if (writer->started || writer->broken) {
        return oc_fail(err, OCELLI_E_STATE, "%s: the header is already written", writer->path);
    }
    return OCELLI_OK;
}

ocelli_status oc_weights_writer_metadata(oc_weights_writer *writer, const char *key,
                                         const char *value, ocelli_error *err)
{
    OC_TRY(check_open(writer, err));
    if (writer->note_count == writer->note_room) {
        size_t room = writer->note_room == 0 ? 64 : writer->note_room * 2;
        written_note *grown =
            oc_grow(writer->notes, writer->note_count, room, sizeof *writer->notes);
        if (grown == NULL) {
            return oc_fail_memory(err, writer->path);
        }
        writer->notes = grown;
        writer->note_room = room;
    }
    written_note note = {.key = oc_strdup(key), .value = oc_strdup(value)};
    if (note.key == NULL || note.value == NULL) {
        oc_free(note.key);
        oc_free(note.value);
        return oc_fail_memory(err, writer->path);
    }
    writer->notes[writer->note_count++] = note;
    return OCELLI_OK;
}

ocelli_status oc_weights_writer_announce(oc_weights_writer *writer, const char *name,
                                         oc_dtype dtype, int rank, const int64_t *shape,
                                         ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    OC_TRY(check_open(writer, err));
    announced tensor = {.dtype = dtype, .rank = rank, .bytes = oc_dtype_size(dtype)};
    bool sound = tensor.bytes > 0 && rank >= 0 && rank <= OC_TENSOR_RANK;
    for (int i = 0; sound && i < rank; i++) {
        tensor.shape[i] = shape[i];
        sound = shape[i] >= 0 && oc_size_mul(tensor.bytes, (size_t)shape[i], &tensor.bytes);
    }
    if (!sound) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "%s: tensor \"%s\" has a shape that cannot be",
                       writer->path, oc_name_label(name, label));
    }
    if (strcmp(name, "__metadata__") == 0 || strncmp(name, "__pad_", 6) == 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "%s: \"%s\" is no name for a tensor", writer->path,
                       oc_name_label(name, label));
    }
    if (writer->count == writer->room) {
        size_t room = writer->room == 0 ? 64 : writer->room * 2;
        announced *grown = oc_grow(writer->tensors, writer->count, room, sizeof *writer->tensors);
        if (grown == NULL) {
            return oc_fail_memory(err, writer->path);
        }
        writer->tensors = grown;
        writer->room = room;
    }
    tensor.name = oc_strdup(name);
    if (tensor.name == NULL) {
        return oc_fail_memory(err, writer->path);
    }
    writer->tensors[writer->count++] = tensor;
    return OCELLI_OK;
}

/* ---- the header ----------------------------------------------------------------------------- */

static int compare_strings(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Sorts names [count] and refuses a pair that is alike. */
static ocelli_status refuse_twins(const oc_weights_writer *writer, const char **names, size_t count,
                                  ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    if (count > 0) {
        qsort(names, count, sizeof *names, compare_strings);
    }
    for (size_t i = 1; i < count; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            return oc_fail(err, OCELLI_E_ARGUMENT, "%s: \"%s\" is announced twice", writer->path,
                           oc_name_label(names[i], label));
        }
    }
    return OCELLI_OK;
}

static ocelli_status check_twins(const oc_weights_writer *writer, ocelli_error *err)
{
    size_t most = writer->count > writer->note_count ? writer->count : writer->note_count;
    const char **names = oc_alloc(most, sizeof *names);
    if (names == NULL) {
        return oc_fail_memory(err, writer->path);
    }
    for (size_t i = 0; i < writer->count; i++) {
        names[i] = writer->tensors[i].name;
    }
    ocelli_status status = refuse_twins(writer, names, writer->count, err);
    for (size_t i = 0; status == OCELLI_OK && i < writer->note_count; i++) {
        names[i] = writer->notes[i].key;
    }
    if (status == OCELLI_OK) {
        status = refuse_twins(writer, names, writer->note_count, err);
    }
    oc_free(names);
    return status;
}

/* A JSON string. Bytes beyond ASCII are taken as the UTF-8 that they should be. */
static ocelli_status append_string(oc_buffer *buffer, const char *text, ocelli_error *err)
{
    OC_TRY(oc_buffer_append(buffer, "\"", 1, err));
    const char *plain = text; /* the start of what needs no escape */
    const char *at = text;
    for (; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte >= 0x20 && byte != '"' && byte != '\\') {
            continue;
        }
        char escape[8];
        int length = snprintf(escape, sizeof escape, "\\u%04x", (unsigned)byte);
        OC_TRY(oc_buffer_append(buffer, plain, (size_t)(at - plain), err));
        OC_TRY(oc_buffer_append(buffer, escape, (size_t)length, err));
        plain = at + 1;
    }
    OC_TRY(oc_buffer_append(buffer, plain, (size_t)(at - plain), err));
    return oc_buffer_append(buffer, "\"", 1, err);
}

static ocelli_status append_entry(oc_buffer *buffer, const char *name, oc_dtype dtype, int rank,
                                  const int64_t *shape, uint64_t begin, uint64_t end,
                                  ocelli_error *err)
{
    char text[80];
    if (buffer->length > 1) {
        OC_TRY(oc_buffer_append(buffer, ",", 1, err));
    }
    OC_TRY(append_string(buffer, name, err));
    snprintf(text, sizeof text, ":{\"dtype\":\"%s\",\"shape\":[", oc_dtype_name(dtype));
    OC_TRY(oc_buffer_append_text(buffer, text, err));
    for (int i = 0; i < rank; i++) {
        snprintf(text, sizeof text, i == 0 ? "%lld" : ",%lld", (long long)shape[i]);
        OC_TRY(oc_buffer_append_text(buffer, text, err));
    }
    snprintf(text, sizeof text, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin,
             (unsigned long long)end);
    return oc_buffer_append_text(buffer, text, err);
}

static ocelli_status append_metadata(oc_buffer *buffer, const oc_weights_writer *writer,
                                     ocelli_error *err)
{
    for (size_t i = 0; i < writer->note_count; i++) {
        OC_TRY(oc_buffer_append_text(buffer, i == 0 ? "\"__metadata__\":{" : ",", err));
        OC_TRY(append_string(buffer, writer->notes[i].key, err));
        OC_TRY(oc_buffer_append(buffer, ":", 1, err));
        OC_TRY(append_string(buffer, writer->notes[i].value, err));
    }
    return writer->note_count > 0 ? oc_buffer_append(buffer, "}", 1, err) : OCELLI_OK;
}

/* The whole header, padded so that the data begin on a boundary; *data: bytes of the data. */
static ocelli_status build_header(oc_weights_writer *writer, oc_buffer *buffer, uint64_t *data,
                                  ocelli_error *err)
{
    static const char spaces[OC_ALIGNMENT + 1] =
        "                                                                ";
    size_t position = 0;
    size_t pads = 0;
    OC_TRY(oc_buffer_append(buffer, "{", 1, err));
    OC_TRY(append_metadata(buffer, writer, err));
    for (size_t i = 0; i < writer->count; i++) {
        announced *tensor = &writer->tensors[i];
        size_t end;
        tensor->pad = (OC_ALIGNMENT - position % OC_ALIGNMENT) % OC_ALIGNMENT;
        if (!oc_size_add(position, tensor->pad, &end) || !oc_size_add(end, tensor->bytes, &end)) {
            return oc_fail(err, OCELLI_E_LIMIT, "%s: larger than any file", writer->path);
        }
        if (tensor->pad > 0) {
            char name[32];
            int64_t shape[1] = {(int64_t)tensor->pad};
            snprintf(name, sizeof name, "__pad_%zu", pads++);
            OC_TRY(
                append_entry(buffer, name, OC_U8, 1, shape, position, position + tensor->pad, err));
            position += tensor->pad;
        }
        OC_TRY(append_entry(buffer, tensor->name, tensor->dtype, tensor->rank, tensor->shape,
                            position, end, err));
        position = end;
    }
    OC_TRY(oc_buffer_append(buffer, "}", 1, err));
    size_t over = (buffer->length + 8) % OC_ALIGNMENT;
    OC_TRY(oc_buffer_append(buffer, spaces, (OC_ALIGNMENT - over) % OC_ALIGNMENT, err));
    if (buffer->length > OC_SAFETENSORS_HEADER_LIMIT) {
        return oc_fail(err, OCELLI_E_LIMIT,
                       "%s: a header of %zu bytes, more than the %zu of safetensors", writer->path,
                       buffer->length, OC_SAFETENSORS_HEADER_LIMIT);
    }
    *data = position;
    return OCELLI_OK;
}

/* ---- the data ------------------------------------------------------------------------------- */

static ocelli_status write_bytes(oc_weights_writer *writer, const void *data, size_t bytes,
                                 ocelli_error *err)
{
    const unsigned char *from = data;
    while (bytes > 0) {
        size_t room = BLOCK - writer->held, count = bytes < room ? bytes : room;
        memcpy(writer->block + writer->held, from, count);
        oc_hasher_update(writer->hasher, from, count);
        writer->held += count;
        from += count;
        bytes -= count;
        if (writer->held == BLOCK) {
            OC_TRY(flush(writer, err));
        }
    }
    return OCELLI_OK;
}

static ocelli_status write_header(oc_weights_writer *writer, ocelli_error *err)
{
    oc_buffer buffer = {0};
    uint64_t data = 0;
    ocelli_status status = check_twins(writer, err);
    if (status == OCELLI_OK) {
        status = build_header(writer, &buffer, &data, err);
    }
    if (status == OCELLI_OK) {
        unsigned char length[8];
        for (int i = 0; i < 8; i++) {
            length[i] = (unsigned char)((uint64_t)buffer.length >> (8 * i));
        }
        writer->started = true;
        writer->total = 8 + (uint64_t)buffer.length + data;
        status = write_bytes(writer, length, sizeof length, err);
    }
    if (status == OCELLI_OK) {
        status = write_bytes(writer, buffer.data, buffer.length, err);
    }
    oc_buffer_close(&buffer);
    return status;
}

ocelli_status oc_weights_writer_data(oc_weights_writer *writer, const char *name, const void *data,
                                     size_t bytes, ocelli_error *err)
{
    static const unsigned char zeros[OC_ALIGNMENT] = {0};
    char label[OC_LABEL_ROOM];
    char wanted[OC_LABEL_ROOM];
    oc_name_label(name, label);
    if (writer->broken || writer->descriptor < 0) {
        return oc_fail(err, OCELLI_E_STATE, "%s: an earlier write failed or it is finished",
                       writer->path);
    }
    if (writer->next == writer->count) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "%s: tensor \"%s\" was not announced", writer->path,
                       label);
    }
    const announced *tensor = &writer->tensors[writer->next];
    if (strcmp(tensor->name, name) != 0 || tensor->bytes != bytes) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "%s: got %zu bytes of tensor \"%s\", but %zu of \"%s\" come next",
                       writer->path, bytes, label, tensor->bytes,
                       oc_name_label(tensor->name, wanted));
    }
    if (!writer->started) {
        OC_TRY(write_header(writer, err));
    }
    OC_TRY(write_bytes(writer, zeros, tensor->pad, err));
    OC_TRY(write_bytes(writer, data, bytes, err));
    writer->next++;
    return OCELLI_OK;
}

ocelli_status oc_weights_writer_finish(oc_weights_writer *writer, uint64_t *size, oc_hash *hash,
                                       ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    *size = 0;
    *hash = (oc_hash){0};
    if (writer->broken || writer->descriptor < 0) {
        return oc_fail(err, OCELLI_E_STATE, "%s: an earlier write failed or it is finished",
                       writer->path);
    }
    if (writer->next < writer->count) {
        return oc_fail(err, OCELLI_E_STATE, "%s: the data of tensor \"%s\" are missing",
                       writer->path, oc_name_label(writer->tensors[writer->next].name, label));
    }
    if (!writer->started) {
        OC_TRY(write_header(writer, err));
    }
    OC_TRY(flush(writer, err));
    /* A pipe or a device cannot be synced, and says EINVAL. */
    int reason = fsync(writer->descriptor) != 0 && errno != EINVAL ? errno : 0;
    if (close(writer->descriptor) != 0 && reason == 0 && errno != EINTR) {
        reason = errno; /* where a network's disk tells that it is full */
    }
    writer->descriptor = -1;
    if (reason != 0) {
        writer->broken = true;
        return oc_fail(err, OCELLI_E_IO, "%s: could not store its %llu bytes: %s", writer->path,
                       (unsigned long long)writer->total, strerror(reason));
    }
    *size = writer->written;
    *hash = oc_hasher_digest(writer->hasher);
    return OCELLI_OK;
}
