/* test_loader.c - requests of a tower: in place, widened, quantised, out of a package, into one. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/loader.h"

#include "runtime/base/memory.h"
#include "runtime/weights/weights_write.h"
#include "tests/unit/weights/scratch.h"

#include <math.h>

#define MODELS OCELLI_TEST_DATA "/golden/qwen3vl/models/"
#define TEXT "model.language_model."
#define GATE TEXT "layers.0.mlp.gate_proj.weight"
#define NORM TEXT "norm.weight"

static oc_weights *open_weights(const char *directory)
{
    oc_weights *weights;
    ocelli_error err = {0};
    cr_assert_eq(oc_weights_open(&weights, directory, &err), OCELLI_OK, "%s", err.message);
    return weights;
}

static oc_loader *open_loader(const oc_weights *weights, oc_format format, oc_pool *pool)
{
    oc_loader *loader;
    ocelli_error err = {0};
    oc_loader_options options = {
        .weights = weights, .compute = {.pool = pool}, .format = format};
    cr_assert_eq(oc_loader_open(&loader, &options, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(oc_loader_format(loader), format);
    return loader;
}

static oc_matrix take_matrix(oc_loader *loader, const char *name, size_t rows, size_t cols)
{
    oc_matrix matrix;
    ocelli_error err = {0};
    cr_assert_eq(oc_loader_matrix(loader, name, rows, cols, &matrix, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(matrix.rows, rows);
    cr_assert_eq(matrix.cols, cols);
    return matrix;
}

/* The tensor as float32, widened whole: what the packer must have seen. */
static float *whole(const oc_weights *weights, const char *name, size_t *count)
{
    oc_tensor tensor;
    cr_assert(oc_weights_find(weights, name, &tensor, NULL));
    *count = tensor.bytes / oc_dtype_size(tensor.dtype);
    float *values = malloc(*count * sizeof *values);
    oc_tensor_widen(&tensor, 0, *count, values);
    return values;
}

Test(loader, in_place)
{
    static const struct {
        const char *directory;
        oc_format format;
        bool mapped;
    } forms[] = {
        {MODELS "t1_f32", OC_FORMAT_F32, true},   {MODELS "t1_bf16", OC_FORMAT_BF16, true},
        {MODELS "t1_f32", OC_FORMAT_BF16, false}, {MODELS "t1_bf16", OC_FORMAT_F32, false},
        {MODELS "t1_bf16", OC_FORMAT_F16, false}, {MODELS "t1_bf16", OC_FORMAT_Q8, false},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        oc_weights *weights = open_weights(forms[i].directory);
        oc_loader *loader = open_loader(weights, forms[i].format, NULL);
        oc_matrix matrix = take_matrix(loader, GATE, 160, 64);
        oc_tensor tensor;
        size_t bytes;
        cr_assert(oc_weights_find(weights, GATE, &tensor, NULL));
        cr_assert_eq(matrix.format, forms[i].format);
        cr_assert_eq(matrix.data == tensor.data, forms[i].mapped);
        cr_assert(oc_matrix_bytes(forms[i].format, 160, 64, &bytes));
        cr_assert_eq(oc_loader_bytes(loader), bytes);
        cr_assert_eq(oc_loader_owned_bytes(loader), forms[i].mapped ? 0 : bytes);
        oc_loader_close(loader);
        oc_weights_close(weights);
    }
    oc_loader_close(NULL);
}

/* Whatever the threads and the pieces, the bytes are those of packing the widened whole at once. */
Test(loader, packs_like_one_call)
{
    static const struct {
        const char *name;
        size_t rows, cols;
    } matrices[] = {
        {TEXT "embed_tokens.weight", 512, 64},
        {GATE, 160, 64},
        {"model.visual.patch_embed.proj.weight", 48, 1536}, /* [48, 3, 2, 16, 16] */
        {"model.visual.patch_embed.proj.weight", 48 * 3, 512},
    };
    oc_weights *weights = open_weights(MODELS "t1_bf16");
    ocelli_error err = {0};
    for (int threads = 1; threads <= 3; threads++) {
        oc_pool *pool;
        cr_assert_eq(oc_pool_open(&pool, threads, &err), OCELLI_OK);
        for (int format = 0; format < OC_FORMATS; format++) {
            oc_loader *loader = open_loader(weights, (oc_format)format, pool);
            for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++) {
                size_t rows = matrices[i].rows;
                size_t cols = matrices[i].cols;
                size_t count;
                size_t bytes;
                float *values = whole(weights, matrices[i].name, &count);
                cr_assert_eq(count, rows * cols);
                cr_assert(oc_matrix_bytes((oc_format)format, rows, cols, &bytes));
                void *expected = oc_alloc(bytes, 1);
                oc_matrix_pack((oc_format)format, expected, rows, cols, 0, rows, values);
                oc_matrix matrix = take_matrix(loader, matrices[i].name, rows, cols);
                cr_assert_eq(memcmp(matrix.data, expected, bytes), 0, "%s %s", matrices[i].name,
                             oc_format_name((oc_format)format));
                oc_free(expected);
                free(values);
            }
            oc_loader_close(loader);
        }
        oc_pool_close(pool);
    }
    oc_weights_close(weights);
}

Test(loader, vectors)
{
    oc_weights *wide = open_weights(MODELS "t1_f32");
    oc_weights *narrow = open_weights(MODELS "t1_bf16");
    oc_loader *from_wide = open_loader(wide, OC_FORMAT_Q8, NULL);
    oc_loader *from_narrow = open_loader(narrow, OC_FORMAT_Q8, NULL);
    const float *a;
    const float *b;
    oc_tensor tensor;
    ocelli_error err = {0};
    cr_assert_eq(oc_loader_vector(from_wide, NORM, 64, &a, &err), OCELLI_OK);
    cr_assert_eq(oc_loader_vector(from_narrow, NORM, 64, &b, &err), OCELLI_OK);
    cr_assert(oc_weights_find(wide, NORM, &tensor, NULL));
    cr_assert_eq((const void *)a, tensor.data);
    cr_assert_eq(oc_loader_owned_bytes(from_wide), 0);
    cr_assert_eq(oc_loader_owned_bytes(from_narrow), 256);
    cr_assert_eq(memcmp(a, b, 256), 0); /* the two forms hold the same numbers */
    cr_assert_eq(oc_loader_vector(from_wide, NORM, 65, &a, &err), OCELLI_E_FORMAT);
    cr_assert_not_null(strstr(err.message, "is [64], but the configuration asks for [65]"));
    cr_assert_null(a);
    cr_assert_eq(oc_loader_vector(from_wide, "absent", 65, &a, &err), OCELLI_E_FORMAT);
    oc_loader_close(from_wide);
    oc_loader_close(from_narrow);
    oc_weights_close(wide);
    oc_weights_close(narrow);
}

Test(loader, wrong_shapes)
{
    static const struct {
        const char *name;
        size_t rows, cols;
        const char *words;
    } asks[] = {
        {GATE, 64, 160, "is [160, 64], but the configuration asks for [64, 160]"},
        {GATE, 1, 10240, "asks for [1, 10240]"},
        {GATE, 160, 63, "asks for [160, 63]"},
        {"model.visual.patch_embed.proj.weight", 48, 1535, "is [48, 3, 2, 16, 16], but"},
        {"model.visual.patch_embed.proj.weight", 96, 768, "is [48, 3, 2, 16, 16], but"},
        {"absent", 1, 1, "no tensor \"absent\""},
    };
    oc_weights *weights = open_weights(MODELS "t1_bf16");
    oc_loader *loader = open_loader(weights, OC_FORMAT_Q8, NULL);
    for (size_t i = 0; i < sizeof asks / sizeof asks[0] - 1; i++) {
        oc_matrix matrix = {.data = asks};
        ocelli_error err = {0};
        bool flattens = asks[i].rows == 1 || asks[i].rows == 96;
        ocelli_status status =
            oc_loader_matrix(loader, asks[i].name, asks[i].rows, asks[i].cols, &matrix, &err);
        /* All axes may be columns, and a split may fall between any two axes; nowhere else. */
        if (flattens && asks[i].rows == 1) {
            cr_assert_eq(status, OCELLI_OK);
            continue;
        }
        cr_assert_eq(status, OCELLI_E_FORMAT, "%zu", i);
        cr_assert_not_null(strstr(err.message, asks[i].words), "%s", err.message);
        cr_assert_null(matrix.data);
    }
    oc_loader_close(loader);
    oc_weights_close(weights);
}

/* ---- files of our own ----------------------------------------------------------------------- */

/* A single F32 or BF16 tensor "w" [rows, cols], its data at a chosen misalignment. */
static oc_weights *write_one(const scratch *folder, const char *dtype, size_t rows, size_t cols,
                             const void *data, size_t bytes, size_t misalign)
{
    char header[256];
    char path[SCRATCH_PATH];
    oc_weights *weights;
    ocelli_error err = {0};
    int length = snprintf(header, sizeof header,
                          "{\"w\":{\"dtype\":\"%s\",\"shape\":[%zu,%zu],\"data_offsets\":[0,%zu]}}",
                          dtype, rows, cols, bytes);
    while ((8 + (size_t)length) % 64 != misalign) {
        header[length++] = ' ';
    }
    scratch_write_safetensors(folder, "w.safetensors", (uint64_t)length, header, (size_t)length,
                              data, bytes);
    cr_assert_eq(oc_weights_open_file(&weights, scratch_path(folder, "w.safetensors", path), &err),
                 OCELLI_OK, "%s", err.message);
    return weights;
}

/* Tensors stand anywhere in a file: kernels must not be handed what is not on their alignment. */
Test(loader, misaligned)
{
    scratch folder = scratch_open();
    float wide[20 * 3];
    uint16_t narrow[20 * 3];
    for (size_t i = 0; i < 60; i++) {
        wide[i] = (float)i - 30.0f;
        uint32_t bits;
        memcpy(&bits, &wide[i], sizeof bits);
        narrow[i] = (uint16_t)(bits >> 16); /* small whole numbers: exact */
    }
    for (size_t misalign = 0; misalign < 8; misalign++) {
        for (int is_wide = 0; is_wide < 2; is_wide++) {
            oc_weights *weights =
                is_wide ? write_one(&folder, "F32", 20, 3, wide, sizeof wide, misalign)
                        : write_one(&folder, "BF16", 20, 3, narrow, sizeof narrow, misalign);
            oc_format format = is_wide ? OC_FORMAT_F32 : OC_FORMAT_BF16;
            oc_loader *loader = open_loader(weights, format, NULL);
            oc_matrix matrix = take_matrix(loader, "w", 20, 3);
            size_t element = is_wide ? 4 : 2;
            cr_assert_eq((uintptr_t)matrix.data % element, 0);
            cr_assert_eq(oc_loader_owned_bytes(loader) == 0, misalign % element == 0);
            for (size_t r = 0; r < 20; r++) {
                float row[3];
                oc_matrix_row(&matrix, r, row);
                cr_assert_eq(memcmp(row, wide + 3 * r, sizeof row), 0);
            }
            oc_loader_close(loader);
            oc_weights_close(weights);
        }
    }
    scratch_close(&folder);
}

static void expect_refusal(const oc_weights *weights, oc_format format, oc_pool *pool,
                           const char *words)
{
    oc_loader *loader = open_loader(weights, format, pool);
    oc_matrix matrix;
    ocelli_error err = {0};
    cr_assert_eq(oc_loader_matrix(loader, "w", 100, 70, &matrix, &err), OCELLI_E_FORMAT);
    cr_assert_not_null(strstr(err.message, words), "%s", err.message);
    cr_assert_null(matrix.data);
    cr_assert_eq(oc_loader_bytes(loader), 0);
    cr_assert_eq(oc_loader_owned_bytes(loader), 0);
    oc_loader_close(loader);
}

Test(loader, weights_that_cannot_be)
{
    static float values[100 * 70];
    scratch folder = scratch_open();
    oc_pool *pool;
    ocelli_error err = {0};
    cr_assert_eq(oc_pool_open(&pool, 3, &err), OCELLI_OK);
    for (size_t i = 0; i < 7000; i++) {
        values[i] = (float)(i % 13) - 6.0f;
    }
    values[37 * 70 + 69] = NAN;
    values[90 * 70] = INFINITY;
    oc_weights *weights = write_one(&folder, "F32", 100, 70, values, sizeof values, 0);
    expect_refusal(weights, OC_FORMAT_Q8, pool,
                   "tensor \"w\": the weight at row 37, column 69 is nan and cannot be held as q8; "
                   "the file is damaged");
    expect_refusal(weights, OC_FORMAT_Q4, NULL, "row 37, column 69 is nan");
    expect_refusal(weights, OC_FORMAT_F16, NULL, "row 37, column 69 is nan");
    oc_loader *loader = open_loader(weights, OC_FORMAT_F32, NULL);
    cr_assert(isnan(((const float *)take_matrix(loader, "w", 100, 70).data)[37 * 70 + 69]));
    oc_loader_close(loader);
    oc_weights_close(weights);

    values[37 * 70 + 69] = 65519.0f; /* rounds to 65504, the largest half */
    values[90 * 70] = -65520.0f;     /* would not */
    weights = write_one(&folder, "F32", 100, 70, values, sizeof values, 0);
    expect_refusal(weights, OC_FORMAT_F16, pool,
                   "row 90, column 0 is -65520 and cannot be held as f16; use another format");
    loader = open_loader(weights, OC_FORMAT_Q8, NULL);
    take_matrix(loader, "w", 100, 70);
    oc_loader_close(loader);
    oc_weights_close(weights);

    values[90 * 70] = 3.4e38f;
    weights = write_one(&folder, "F32", 100, 70, values, sizeof values, 0);
    expect_refusal(weights, OC_FORMAT_BF16, pool, "row 90, column 0 is 3.4e+38");
    expect_refusal(weights, OC_FORMAT_Q4, pool, "row 90, column 0 is 3.4e+38");
    oc_weights_close(weights);
    oc_pool_close(pool);
    scratch_close(&folder);
}

/* ---- progress ------------------------------------------------------------------------------- */

typedef struct progress_log {
    uint64_t done, total;
    int calls, stop_at;
} progress_log;

static int note_progress(void *user, const char *what, uint64_t done, uint64_t total)
{
    progress_log *log = user;
    cr_assert_str_eq(what, "quantising");
    cr_assert_geq(done, log->done);
    log->done = done;
    log->total = total;
    return ++log->calls == log->stop_at;
}

Test(loader, progress_and_cancel)
{
    oc_weights *weights = open_weights(MODELS "t1_bf16");
    progress_log log = {0};
    oc_loader_options options = {.weights = weights,
                                 .format = OC_FORMAT_Q8,
                                 .progress = note_progress,
                                 .progress_user = &log,
                                 .progress_what = "quantising",
                                 .progress_total = 160 * 64 + 64 + 512 * 64};
    oc_loader *loader;
    ocelli_error err = {0};
    oc_matrix matrix;
    const float *vector;
    cr_assert_eq(oc_loader_open(&loader, &options, &err), OCELLI_OK);
    take_matrix(loader, GATE, 160, 64);
    cr_assert_eq(log.done, 160 * 64);
    cr_assert_eq(oc_loader_vector(loader, NORM, 64, &vector, &err), OCELLI_OK);
    cr_assert_eq(log.done, 160 * 64 + 64);
    take_matrix(loader, TEXT "embed_tokens.weight", 512, 64);
    cr_assert_eq(log.done, options.progress_total);
    cr_assert_eq(log.total, options.progress_total);
    uint64_t bytes = oc_loader_bytes(loader);
    log.stop_at = log.calls + 1;
    cr_assert_eq(oc_loader_matrix(loader, GATE, 160, 64, &matrix, &err), OCELLI_E_CANCELLED);
    cr_assert_eq(log.done, options.progress_total); /* never beyond the total */
    cr_assert_null(matrix.data);
    cr_assert_eq(oc_loader_bytes(loader), bytes);
    log.stop_at = log.calls + 1;
    cr_assert_eq(oc_loader_vector(loader, NORM, 64, &vector, &err), OCELLI_E_CANCELLED);
    cr_assert_null(vector);
    oc_loader_close(loader);
    oc_weights_close(weights);
}

/* Between the slices of one large matrix there is a chance to stop. */
Test(loader, cancel_within_a_matrix)
{
    enum { ROWS = 5000, COLS = 1024 }; /* more than one slice of 4 million */
    scratch folder = scratch_open();
    uint16_t *values = calloc((size_t)ROWS * COLS, sizeof *values);
    oc_weights *weights =
        write_one(&folder, "BF16", ROWS, COLS, values, (size_t)ROWS * COLS * 2, 0);
    free(values);
    progress_log log = {.stop_at = 1};
    oc_loader_options options = {.weights = weights,
                                 .format = OC_FORMAT_Q8,
                                 .progress = note_progress,
                                 .progress_user = &log,
                                 .progress_what = "quantising"};
    oc_loader *loader;
    oc_matrix matrix;
    ocelli_error err = {0};
    cr_assert_eq(oc_loader_open(&loader, &options, &err), OCELLI_OK);
    cr_assert_eq(oc_loader_matrix(loader, "w", ROWS, COLS, &matrix, &err), OCELLI_E_CANCELLED);
    cr_assert_not_null(strstr(err.message, "cancelled while quantising"));
    cr_assert_eq(log.done, 4096 * COLS);
    cr_assert_eq(oc_loader_owned_bytes(loader), 0);
    log.stop_at = 0;
    log.done = 0;
    cr_assert_eq(oc_loader_matrix(loader, "w", ROWS, COLS, &matrix, &err), OCELLI_OK);
    cr_assert_eq(log.calls, 3);
    oc_loader_close(loader);
    oc_weights_close(weights);
    scratch_close(&folder);
}

/* ---- packages ------------------------------------------------------------------------------- */

/* What a package's writer does with a sink: vectors as F32, matrices as packed bytes and a note. */
static ocelli_status put_into_file(void *user, const char *name, oc_format format, size_t rows,
                                   size_t cols, const void *data, size_t bytes, ocelli_error *err)
{
    oc_weights_writer *writer = user;
    if (data != NULL) {
        return oc_weights_writer_data(writer, name, data, bytes, err);
    }
    char note[64];
    int64_t count = (int64_t)bytes;
    int64_t vector[1] = {(int64_t)cols};
    if (format == OC_FORMAT_F32 && rows == 1) {
        return oc_weights_writer_announce(writer, name, OC_F32, 1, vector, err);
    }
    snprintf(note, sizeof note, "%s %zu %zu", oc_format_name(format), rows, cols);
    OC_TRY(oc_weights_writer_metadata(writer, name, note, err));
    return oc_weights_writer_announce(writer, name, OC_U8, 1, &count, err);
}

static void request(oc_loader *loader, oc_matrix matrices[2], const float **norm)
{
    ocelli_error err = {0};
    matrices[0] = take_matrix(loader, GATE, 160, 64);
    cr_assert_eq(oc_loader_vector(loader, NORM, 64, norm, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(oc_loader_matrix_as(loader, TEXT "embed_tokens.weight", 512, 64, OC_FORMAT_Q8,
                                     &matrices[1], &err),
                 OCELLI_OK, "%s", err.message);
}

static void write_package(const char *path, const oc_weights *source, oc_format format)
{
    oc_weights_writer *writer;
    ocelli_error err = {0};
    cr_assert_eq(oc_weights_writer_open(&writer, path, &err), OCELLI_OK, "%s", err.message);
    oc_loader *loader = open_loader(source, format, NULL);
    uint64_t announced = 0;
    for (int pass = 0; pass < 2; pass++) {
        oc_loader_sink sink = {.user = writer, .put = put_into_file, .announce_only = pass == 0};
        oc_matrix matrices[2];
        const float *norm;
        oc_loader_set_sink(loader, &sink);
        request(loader, matrices, &norm);
        cr_assert_null(matrices[0].data);
        cr_assert_null(matrices[1].data);
        cr_assert_null(norm);
        cr_assert_eq(oc_loader_owned_bytes(loader), 0);
        if (pass == 0) {
            announced = oc_loader_bytes(loader);
        }
    }
    cr_assert_eq(oc_loader_bytes(loader), 2 * announced);
    uint64_t size;
    oc_hash hash;
    cr_assert_eq(oc_weights_writer_finish(writer, &size, &hash, &err), OCELLI_OK, "%s",
                 err.message);
    oc_weights_writer_close(writer);
    oc_loader_close(loader);
}

/* Packed through a sink and mapped back, a model is what quantising on the way in gives; and packing
 * a package again copies it. */
Test(loader, package_round_trip)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    char again[SCRATCH_PATH];
    ocelli_error err = {0};
    scratch_path(&folder, "decoder.safetensors", path);
    scratch_path(&folder, "again.safetensors", again);
    for (int format = 0; format < OC_FORMATS; format++) {
        oc_weights *source = open_weights(MODELS "t1_bf16");
        oc_weights *package;
        oc_weights *copy;
        write_package(path, source, (oc_format)format);
        cr_assert_eq(oc_weights_open_file(&package, path, &err), OCELLI_OK, "%s", err.message);
        write_package(again, package, OC_FORMAT_F32);
        cr_assert_eq(oc_weights_open_file(&copy, again, &err), OCELLI_OK, "%s", err.message);

        oc_loader *from_source = open_loader(source, (oc_format)format, NULL);
        oc_loader *from_package = open_loader(package, OC_FORMAT_F32, NULL); /* not asked */
        oc_loader *from_copy = open_loader(copy, OC_FORMAT_F32, NULL);
        oc_matrix a[2];
        oc_matrix b[2];
        oc_matrix c[2];
        const float *norm_a;
        const float *norm_b;
        const float *norm_c;
        request(from_source, a, &norm_a);
        request(from_package, b, &norm_b);
        request(from_copy, c, &norm_c);
        for (int i = 0; i < 2; i++) {
            size_t bytes;
            cr_assert(oc_matrix_bytes(a[i].format, a[i].rows, a[i].cols, &bytes));
            cr_assert_eq(b[i].format, a[i].format);
            cr_assert_eq(memcmp(a[i].data, b[i].data, bytes), 0);
            cr_assert_eq(memcmp(a[i].data, c[i].data, bytes), 0);
            cr_assert_eq((uintptr_t)b[i].data % OC_ALIGNMENT, 0);
        }
        cr_assert_eq(memcmp(norm_a, norm_b, 256), 0);
        cr_assert_eq(memcmp(norm_a, norm_c, 256), 0);
        cr_assert_eq(oc_loader_owned_bytes(from_package), 0);
        cr_assert_eq(oc_loader_bytes(from_package), oc_loader_bytes(from_source));
        oc_loader_close(from_source);
        oc_loader_close(from_package);
        oc_loader_close(from_copy);
        oc_weights_close(source);
        oc_weights_close(package);
        oc_weights_close(copy);
    }
    scratch_close(&folder);
}

static ocelli_status refuse(void *user, const char *name, oc_format format, size_t rows, size_t cols,
                            const void *data, size_t bytes, ocelli_error *err)
{
    (void)user;
    (void)format;
    (void)rows;
    (void)cols;
    (void)data;
    (void)bytes;
    return oc_fail(err, OCELLI_E_IO, "no room for %s", name);
}

Test(loader, sink_that_fails)
{
    oc_weights *weights = open_weights(MODELS "t1_bf16");
    for (int announce = 0; announce < 2; announce++) {
        oc_loader *loader = open_loader(weights, OC_FORMAT_Q8, NULL);
        oc_loader_sink sink = {.put = refuse, .announce_only = announce == 1};
        oc_matrix matrix;
        const float *vector;
        ocelli_error err = {0};
        oc_loader_set_sink(loader, &sink);
        cr_assert_eq(oc_loader_matrix(loader, GATE, 160, 64, &matrix, &err), OCELLI_E_IO);
        cr_assert_str_eq(err.message, "no room for " GATE);
        cr_assert_eq(matrix.rows, 0);
        cr_assert_eq(oc_loader_vector(loader, NORM, 64, &vector, &err), OCELLI_E_IO);
        cr_assert_eq(oc_loader_bytes(loader), 0);
        oc_loader_set_sink(loader, NULL);
        cr_assert_not_null(take_matrix(loader, GATE, 160, 64).data);
        oc_loader_close(loader);
    }
    oc_weights_close(weights);
}

/* A packed tensor of bytes [size] with a note; asked for as [20, 70]. Q8 of that is 2 tiles of 16 rows
 * x 128 columns: 2 * (2 groups * 16 scales * 2 + 2048) = 4224 bytes. */
Test(loader, damaged_package)
{
    static const struct {
        const char *note;
        size_t size;
        const char *words; /* NULL: sound */
    } cases[] = {
        {"q8 20 70", 4224, NULL},
        {"q8 20 70", 4223, "has 4223 bytes, which is not what q8 of [20, 70] takes"},
        {"q8 20 70", 4225, "has 4225 bytes"},
        {"q4 20 70", 4224, "has 4224 bytes, which is not what q4"},
        {"q8 70 20", 4224, "is [70, 20], but the configuration asks for [20, 70]"},
        {"q8 20 71", 4224, "is [20, 71]"},
        {"q9 20 70", 4224, "\"q9 20 70\" is not a known format, rows and columns"},
        {"q8 20", 4224, "is not a known format"},
        {"q8 20 70 ", 4224, "is not a known format"},
        {"q8  20 70", 4224, "is not a known format"},
        {"q8 -20 70", 4224, "is not a known format"},
        {"q8 20 99999999999999999999", 4224, "is not a known format"},
        {"q8", 4224, "is not a known format"},
        {"", 4224, "is not a known format"},
        {"qqqqqqqqqqqqqqqqqqqqqqq 20 70", 4224, "is not a known format"},
    };
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    unsigned char *data = calloc(5000, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t misalign = 0; misalign < 2; misalign++) {
            char header[320];
            ocelli_error err = {0};
            oc_weights *weights;
            oc_matrix matrix;
            int length =
                snprintf(header, sizeof header,
                         "{\"__metadata__\":{\"w\":\"%s\"},\"w\":{\"dtype\":\"U8\",\"shape\":[%zu],"
                         "\"data_offsets\":[0,%zu]}}",
                         cases[i].note, cases[i].size, cases[i].size);
            while ((8 + (size_t)length) % 64 != misalign) {
                header[length++] = ' ';
            }
            scratch_write_safetensors(&folder, "p.safetensors", (uint64_t)length, header,
                                      (size_t)length, data, cases[i].size);
            cr_assert_eq(oc_weights_open_file(&weights,
                                              scratch_path(&folder, "p.safetensors", path), &err),
                         OCELLI_OK, "%s", err.message);
            oc_loader *loader = open_loader(weights, OC_FORMAT_Q4, NULL);
            ocelli_status status = oc_loader_matrix(loader, "w", 20, 70, &matrix, &err);
            if (cases[i].words == NULL) {
                cr_assert_eq(status, OCELLI_OK, "%s", err.message);
                cr_assert_eq(matrix.format, OC_FORMAT_Q8);
                cr_assert_eq((uintptr_t)matrix.data % OC_ALIGNMENT, 0);
                cr_assert_eq(oc_loader_owned_bytes(loader), misalign == 0 ? 0 : 4224);
            } else {
                cr_assert_eq(status, OCELLI_E_FORMAT);
                cr_assert_not_null(strstr(err.message, cases[i].words), "%s", err.message);
                cr_assert_not_null(strstr(err.message, "p.safetensors: packed tensor \"w\""), "%s",
                                   err.message);
                cr_assert_null(matrix.data);
            }
            oc_loader_close(loader);
            oc_weights_close(weights);
        }
    }
    free(data);
    scratch_close(&folder);
}

/* U8 without a note is no matrix. */
Test(loader, bytes_are_no_weights)
{
    scratch folder = scratch_open();
    oc_weights *weights = write_one(&folder, "U8", 20, 70, NULL, 1400, 0);
    oc_loader *loader = open_loader(weights, OC_FORMAT_F32, NULL);
    oc_matrix matrix;
    ocelli_error err = {0};
    cr_assert_eq(oc_loader_matrix(loader, "w", 20, 70, &matrix, &err), OCELLI_E_FORMAT);
    cr_assert_not_null(strstr(err.message, "is u8, but weights must be"), "%s", err.message);
    oc_loader_close(loader);
    oc_weights_close(weights);
    scratch_close(&folder);
}
