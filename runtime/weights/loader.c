/* loader.c - see loader.h. Decides what each request becomes; the packing is loader_pack.c. */
#include "runtime/weights/loader.h"

#include "runtime/base/memory.h"
#include "runtime/weights/loader_internal.h"

#include <string.h>

struct oc_loader {
    oc_loader_options options;
    void **blocks; /* [block_count] what close frees */
    size_t block_count, block_room;
    uint64_t bytes, owned_bytes, made_bytes;
    uint64_t done; /* elements given so far */
    oc_loader_sink sink;
    bool has_sink;
};

ocelli_status oc_loader_open(oc_loader **out, const oc_loader_options *options, ocelli_error *err)
{
    *out = NULL;
    oc_loader *loader = oc_alloc(1, sizeof *loader);
    if (loader == NULL) {
        return oc_fail_memory(err, "the weights");
    }
    loader->options = *options;
    *out = loader;
    return OCELLI_OK;
}

void oc_loader_close(oc_loader *loader)
{
    if (loader == NULL) {
        return;
    }
    for (size_t i = 0; i < loader->block_count; i++) {
        oc_free(loader->blocks[i]);
    }
    oc_free(loader->blocks);
    oc_free(loader);
}

uint64_t oc_loader_bytes(const oc_loader *loader)
{
    return loader->bytes;
}

uint64_t oc_loader_elements(const oc_loader *loader)
{
    return loader->done;
}

uint64_t oc_loader_owned_bytes(const oc_loader *loader)
{
    return loader->owned_bytes;
}

uint64_t oc_loader_made_bytes(const oc_loader *loader)
{
    return loader->made_bytes;
}

void oc_loader_set_sink(oc_loader *loader, const oc_loader_sink *sink)
{
    loader->has_sink = sink != NULL;
    loader->sink = sink != NULL ? *sink : (oc_loader_sink){0};
}

static ocelli_status put_nothing(void *user, const char *name, oc_format format, size_t rows,
                                 size_t cols, const void *data, size_t bytes, ocelli_error *err)
{
    (void)user;
    (void)name;
    (void)format;
    (void)rows;
    (void)cols;
    (void)data;
    (void)bytes;
    (void)err;
    return OCELLI_OK;
}

void oc_loader_only_sizes(oc_loader *loader)
{
    oc_loader_set_sink(loader, &(oc_loader_sink){.put = put_nothing, .announce_only = true});
}

oc_format oc_loader_format(const oc_loader *loader)
{
    return loader->options.format;
}

const oc_weights *oc_loader_weights(const oc_loader *loader)
{
    return loader->options.weights;
}

bool oc_loader_is_announcing(const oc_loader *loader)
{
    return loader->has_sink && loader->sink.announce_only;
}

/* ---- memory, progress, the sink ------------------------------------------------------------- */

static void *take_block(oc_loader *loader, const char *name, size_t bytes, ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    if (loader->block_count == loader->block_room) {
        size_t room = loader->block_room == 0 ? 64 : loader->block_room * 2;
        void **grown = oc_grow(loader->blocks, loader->block_count, room, sizeof *loader->blocks);
        if (grown == NULL) {
            oc_fail_memory(err, "the weights");
            return NULL;
        }
        loader->blocks = grown;
        loader->block_room = room;
    }
    void *block = oc_alloc_raw(bytes, 1); /* whatever is asked for is written whole */
    if (block == NULL) {
        oc_fail(err, OCELLI_E_MEMORY, "not enough memory for tensor \"%s\" (%zu bytes)",
                oc_name_label(name, label), bytes);
        return NULL;
    }
    loader->blocks[loader->block_count++] = block;
    return block;
}

/* Frees the block taken last. */
static void drop_block(oc_loader *loader)
{
    oc_free(loader->blocks[--loader->block_count]);
}

static ocelli_status report(oc_loader *loader, ocelli_error *err)
{
    const oc_loader_options *options = &loader->options;
    uint64_t total = options->progress_total;
    uint64_t done = total > 0 && loader->done > total ? total : loader->done;
    const char *what = options->progress_what != NULL ? options->progress_what : "loading";
    if (options->progress != NULL &&
        options->progress(options->progress_user, what, done, total) != 0) {
        return oc_fail(err, OCELLI_E_CANCELLED, "cancelled while %s", what);
    }
    return OCELLI_OK;
}

static ocelli_status count_done(void *user, uint64_t elements, ocelli_error *err)
{
    oc_loader *loader = user;
    loader->done += elements;
    return report(loader, err);
}

static ocelli_status put(const oc_loader *loader, const char *name, oc_format format, size_t rows,
                         size_t cols, const void *data, size_t bytes, ocelli_error *err)
{
    return loader->sink.put(loader->sink.user, name, format, rows, cols, data, bytes, err);
}

static size_t alignment_of(oc_format format)
{
    return format == OC_FORMAT_F32   ? sizeof(float)
           : format == OC_FORMAT_F16 ? sizeof(uint16_t)
                                     : OC_ALIGNMENT;
}

static bool is_aligned(const void *data, oc_format format)
{
    return (uintptr_t)data % alignment_of(format) == 0;
}

/* Bytes that already are what the matrix wants: kept where they are, copied when they do not stand
 * on the alignment that the kernels want, or put into the sink. data stays the caller's. */
static ocelli_status take_ready(oc_loader *loader, const char *name, const void *data, size_t bytes,
                                oc_matrix *out, ocelli_error *err)
{
    if (loader->has_sink) {
        bool announce = loader->sink.announce_only;
        OC_TRY(put(loader, name, out->format, out->rows, out->cols, announce ? NULL : data, bytes,
                   err));
        if (!announce) {
            oc_tensor written = {.data = data, .bytes = bytes};
            oc_weights_release(loader->options.weights, &written);
        }
    } else if (is_aligned(data, out->format)) {
        out->data = data;
    } else {
        void *copy = take_block(loader, name, bytes, err);
        if (copy == NULL) {
            return OCELLI_E_MEMORY;
        }
        memcpy(copy, data, bytes);
        out->data = copy;
        loader->owned_bytes += bytes;
    }
    loader->bytes += bytes;
    return count_done(loader, (uint64_t)out->rows * out->cols, err);
}

/* ---- matrices ------------------------------------------------------------------------------- */

/* BF16 is not among them: a matrix of it lies in tiles, a tensor row by row. */
static bool is_same_form(oc_dtype dtype, oc_format format)
{
    return (dtype == OC_F32 && format == OC_FORMAT_F32) ||
           (dtype == OC_F16 && format == OC_FORMAT_F16);
}

static ocelli_status pack(oc_loader *loader, const char *name, const oc_pack_source *source,
                          size_t bytes, oc_matrix *out, ocelli_error *err)
{
    void *data = take_block(loader, name, bytes, err);
    if (data == NULL) {
        return OCELLI_E_MEMORY;
    }
    oc_pack_job job = {.source = source,
                       .name = name,
                       .format = out->format,
                       .data = data,
                       .weights = loader->options.weights,
                       .step = count_done,
                       .step_user = loader};
    ocelli_status status = oc_pack_run(&loader->options.compute, &job, err);
    if (status == OCELLI_OK && loader->has_sink) {
        status = put(loader, name, out->format, out->rows, out->cols, data, bytes, err);
    }
    if (status != OCELLI_OK || loader->has_sink) {
        drop_block(loader);
    } else {
        out->data = data;
        loader->owned_bytes += bytes;
    }
    loader->bytes += status == OCELLI_OK ? bytes : 0;
    return status;
}

ocelli_status oc_loader_take(oc_loader *loader, const char *name, const oc_pack_source *source,
                             oc_format format, oc_matrix *out, ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    oc_matrix matrix = {.rows = source->rows, .cols = source->cols, .format = format};
    size_t bytes;
    *out = (oc_matrix){0};
    if (!oc_matrix_bytes(format, source->rows, source->cols, &bytes)) {
        return oc_fail(err, OCELLI_E_LIMIT, "tensor \"%s\": %zu x %zu is too large",
                       oc_name_label(name, label), source->rows, source->cols);
    }
    bool contiguous = source->col_step == 1 && source->row_step == source->cols;
    const void *data = (const unsigned char *)source->tensor.data +
                       oc_tensor_offset(&source->tensor, source->first);
    bool ready = contiguous && is_same_form(source->tensor.dtype, format);
    if (ready || oc_loader_is_announcing(loader)) {
        OC_TRY(take_ready(loader, name, data, bytes, &matrix, err));
    } else {
        OC_TRY(pack(loader, name, source, bytes, &matrix, err));
    }
    loader->made_bytes += ready && is_aligned(data, format) ? 0 : bytes;
    *out = matrix;
    return OCELLI_OK;
}

/* A whole number and what follows it; false: there is none. */
static bool read_count(const char **text, size_t *out)
{
    const char *at = *text;
    size_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        size_t digit = (size_t)(*at - '0');
        if (value > (SIZE_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    bool found = at != *text;
    *text = at;
    *out = value;
    return found;
}

/* "q8 2048 1024": format, rows and columns of a matrix that is stored packed. */
static bool read_packed_note(const char *note, oc_matrix *out)
{
    char name[16];
    const char *space = strchr(note, ' ');
    size_t length = space != NULL ? (size_t)(space - note) : sizeof name;
    if (length >= sizeof name) {
        return false;
    }
    memcpy(name, note, length);
    name[length] = '\0';
    const char *at = space + 1;
    *out = (oc_matrix){0};
    return oc_format_from_name(name, &out->format) && read_count(&at, &out->rows) && *at++ == ' ' &&
           read_count(&at, &out->cols) && *at == '\0';
}

static ocelli_status take_packed(oc_loader *loader, const char *name, const char *note,
                                 const oc_tensor *tensor, const char *file, size_t rows,
                                 size_t cols, oc_matrix *out, ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    char shown[OC_LABEL_ROOM];
    oc_matrix matrix;
    size_t bytes;
    oc_name_label(name, label);
    if (!read_packed_note(note, &matrix)) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: packed tensor \"%s\": \"%s\" is not a known format, rows and columns",
                       file, label, oc_name_label(note, shown));
    }
    if (matrix.rows != rows || matrix.cols != cols) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: packed tensor \"%s\" is [%zu, %zu], but the configuration asks for "
                       "[%zu, %zu]",
                       file, label, matrix.rows, matrix.cols, rows, cols);
    }
    if (!oc_matrix_bytes(matrix.format, rows, cols, &bytes) || bytes != tensor->bytes) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: packed tensor \"%s\" has %zu bytes, which is not what %s of [%zu, %zu] "
                       "takes; pack the model again",
                       file, label, tensor->bytes, oc_format_name(matrix.format), rows, cols);
    }
    OC_TRY(take_ready(loader, name, tensor->data, bytes, &matrix, err));
    *out = matrix;
    return OCELLI_OK;
}

/* Whether tensor flattens to [rows, cols]: some of its last axes multiply to cols, the others to
 * rows. */
static bool flattens_to(const oc_tensor *tensor, size_t rows, size_t cols)
{
    size_t tail = 1;
    int axis = tensor->rank;
    while (axis > 0 && tail != cols) {
        if (!oc_size_mul(tail, (size_t)tensor->shape[--axis], &tail)) {
            return false;
        }
    }
    size_t head = 1;
    while (axis > 0) {
        if (!oc_size_mul(head, (size_t)tensor->shape[--axis], &head)) {
            return false;
        }
    }
    return tail == cols && head == rows;
}

ocelli_status oc_loader_matrix_as(oc_loader *loader, const char *name, size_t rows, size_t cols,
                                  oc_format format, oc_matrix *out, ocelli_error *err)
{
    const oc_weights *weights = loader->options.weights;
    oc_tensor tensor;
    const char *file;
    *out = (oc_matrix){0};
    if (oc_weights_find(weights, name, &tensor, &file)) {
        const char *note = oc_weights_metadata(weights, name);
        if (note != NULL && tensor.dtype == OC_U8) {
            return take_packed(loader, name, note, &tensor, file, rows, cols, out, err);
        }
        if (flattens_to(&tensor, rows, cols) && oc_dtype_is_weight(tensor.dtype)) {
            oc_pack_source source = {
                .tensor = tensor, .rows = rows, .cols = cols, .row_step = cols, .col_step = 1};
            return oc_loader_take(loader, name, &source, format, out, err);
        }
    }
    /* It is missing or wrong: the usual check finds the words. A wrong shape of the right rank, or
     * of another, is told against [rows, cols]. */
    int64_t shape[2] = {(int64_t)rows, (int64_t)cols};
    return oc_weights_get(weights, name, 2, shape, &tensor, err);
}

ocelli_status oc_loader_matrix(oc_loader *loader, const char *name, size_t rows, size_t cols,
                               oc_matrix *out, ocelli_error *err)
{
    return oc_loader_matrix_as(loader, name, rows, cols, loader->options.format, out, err);
}

/* ---- vectors -------------------------------------------------------------------------------- */

ocelli_status oc_loader_vector(oc_loader *loader, const char *name, size_t count, const float **out,
                               ocelli_error *err)
{
    oc_tensor tensor;
    int64_t shape[1] = {(int64_t)count};
    *out = NULL;
    OC_TRY(oc_weights_get(loader->options.weights, name, 1, shape, &tensor, err));
    size_t bytes = count * sizeof **out; /* as many elements as a mapped tensor: cannot wrap */
    oc_matrix vector = {.rows = 1, .cols = count, .format = OC_FORMAT_F32};
    bool ready = tensor.dtype == OC_F32 && is_aligned(tensor.data, OC_FORMAT_F32);
    loader->made_bytes += ready ? 0 : bytes;
    if (tensor.dtype == OC_F32 || oc_loader_is_announcing(loader)) {
        OC_TRY(take_ready(loader, name, tensor.data, bytes, &vector, err));
        *out = vector.data;
        return OCELLI_OK;
    }
    float *wide = take_block(loader, name, bytes, err);
    if (wide == NULL) {
        return OCELLI_E_MEMORY;
    }
    oc_tensor_widen(&tensor, 0, count, wide);
    ocelli_status status =
        loader->has_sink ? put(loader, name, OC_FORMAT_F32, 1, count, wide, bytes, err) : OCELLI_OK;
    if (status == OCELLI_OK) {
        status = count_done(loader, count, err);
    }
    loader->bytes += status == OCELLI_OK ? bytes : 0;
    if (status != OCELLI_OK || loader->has_sink) {
        drop_block(loader);
        return status;
    }
    loader->owned_bytes += bytes;
    *out = wide;
    return OCELLI_OK;
}
