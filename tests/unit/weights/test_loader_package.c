/* test_loader_package.c - a package written through the loader's sink, and damaged ones. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/loader.h"

#include "runtime/base/memory.h"
#include "runtime/weights/weights_write.h"
#include "tests/unit/weights/scratch.h"

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
    oc_loader_options options = {.weights = weights, .compute = {.pool = pool}, .format = format};
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

/* Packed through a sink and mapped back, a model is what quantising on the way in gives; and
 * packing a package again copies it. */
Test(loader_package, package_round_trip)
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

static ocelli_status refuse(void *user, const char *name, oc_format format, size_t rows,
                            size_t cols, const void *data, size_t bytes, ocelli_error *err)
{
    (void)user;
    (void)format;
    (void)rows;
    (void)cols;
    (void)data;
    (void)bytes;
    return oc_fail(err, OCELLI_E_IO, "no room for %s", name);
}

Test(loader_package, sink_that_fails)
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

/* A packed tensor of bytes [size] with a note; asked for as [20, 70]. Q8 of that is 2 tiles of 16
 * rows x 128 columns: 2 * (2 groups * 16 scales * 2 + 2048) = 4224 bytes. */
Test(loader_package, damaged_package)
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
            cr_assert_eq(
                oc_weights_open_file(&weights, scratch_path(&folder, "p.safetensors", path), &err),
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
