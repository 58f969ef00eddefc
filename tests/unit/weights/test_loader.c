/* test_loader.c - requests of a tower: in place, widened, quantised, refused. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/loader.h"

#include "runtime/base/memory.h"
#include "tests/unit/weights/scratch.h"
#include "tests/unit/weights/smaps.h"

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
        {MODELS "t1_f32", OC_FORMAT_F32, true},   {MODELS "t1_bf16", OC_FORMAT_BF16, false},
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
        cr_assert_eq(oc_loader_made_bytes(loader), oc_loader_owned_bytes(loader));
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
        {GATE, 160, 63, "asks for [160, 63]"},
        {"model.visual.patch_embed.proj.weight", 48, 1535, "is [48, 3, 2, 16, 16], but"},
        {"model.visual.patch_embed.proj.weight", 96, 768, "is [48, 3, 2, 16, 16], but"},
        {"absent", 1, 1, "no tensor \"absent\""},
    };
    oc_weights *weights = open_weights(MODELS "t1_bf16");
    oc_loader *loader = open_loader(weights, OC_FORMAT_Q8, NULL);
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        oc_matrix matrix = {.data = asks};
        ocelli_error err = {0};
        cr_assert_eq(
            oc_loader_matrix(loader, asks[i].name, asks[i].rows, asks[i].cols, &matrix, &err),
            OCELLI_E_FORMAT, "%zu", i);
        cr_assert_not_null(strstr(err.message, asks[i].words), "%s", err.message);
        cr_assert_null(matrix.data);
    }
    take_matrix(loader, GATE, 1, 10240); /* all axes may be columns */
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
            /* float32 is used in place where it can be; bfloat16 is packed into tiles always. */
            cr_assert_eq((uintptr_t)matrix.data % (is_wide ? sizeof(float) : OC_ALIGNMENT), 0);
            cr_assert_eq(oc_loader_owned_bytes(loader) == 0, is_wide && misalign % 4 == 0);
            cr_assert_eq(oc_loader_made_bytes(loader), oc_loader_owned_bytes(loader));
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

/* bfloat16 to bfloat16 is a move: the numbers of the file, wherever they stand in it, in the places
 * that packing puts them; and what is not finite is found in every place. */
Test(loader, moves_bfloat16)
{
    enum { ROWS = 37, COLS = 70 };
    static uint16_t halves[ROWS * COLS];
    static float wide[ROWS * COLS];
    static const uint16_t bad[] = {0x7f80, 0xff80, 0x7fc0, 0xffff};
    static const size_t places[] = {0, 1, 69, 16 * COLS + 34, 16 * COLS + 35, ROWS * COLS - 1};
    scratch folder = scratch_open();
    oc_pool *pool;
    ocelli_error err = {0};
    cr_assert_eq(oc_pool_open(&pool, 2, &err), OCELLI_OK);
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) {
        uint32_t bits = (uint32_t)(i * 2654435761u);
        halves[i] = (uint16_t)(bits >> 16);
        halves[i] &= (halves[i] & 0x7f80) == 0x7f80 ? 0xff7f : 0xffff; /* finite, large ones too */
        bits = (uint32_t)halves[i] << 16;
        memcpy(&wide[i], &bits, sizeof bits);
    }
    size_t bytes;
    cr_assert(oc_matrix_bytes(OC_FORMAT_BF16, ROWS, COLS, &bytes));
    void *expected = oc_alloc(bytes, 1);
    oc_matrix_pack(OC_FORMAT_BF16, expected, ROWS, COLS, 0, ROWS, wide);
    for (size_t misalign = 0; misalign < 4; misalign++) {
        oc_weights *weights =
            write_one(&folder, "BF16", ROWS, COLS, halves, sizeof halves, misalign);
        oc_loader *loader = open_loader(weights, OC_FORMAT_BF16, pool);
        oc_matrix matrix = take_matrix(loader, "w", ROWS, COLS);
        cr_assert_eq(memcmp(matrix.data, expected, bytes), 0, "%zu", misalign);
        oc_loader_close(loader);
        oc_weights_close(weights);
    }
    oc_free(expected);
    for (size_t i = 0; i < sizeof places / sizeof *places * 4; i++) {
        size_t place = places[i / 4];
        uint16_t kept = halves[place];
        char words[64];
        halves[place] = bad[i % 4];
        snprintf(words, sizeof words, "the weight at row %zu, column %zu is ", place / COLS,
                 place % COLS);
        oc_weights *weights = write_one(&folder, "BF16", ROWS, COLS, halves, sizeof halves, 0);
        oc_loader *loader = open_loader(weights, OC_FORMAT_BF16, pool);
        oc_matrix matrix;
        cr_assert_eq(oc_loader_matrix(loader, "w", ROWS, COLS, &matrix, &err), OCELLI_E_FORMAT);
        cr_assert_not_null(strstr(err.message, words), "%s", err.message);
        cr_assert_not_null(strstr(err.message, "cannot be held as bf16; the file is damaged"), "%s",
                           err.message);
        oc_loader_close(loader);
        oc_weights_close(weights);
        halves[place] = kept;
    }
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
    /* What was packed does not stay in memory a second time: 10 MB were read. */
    oc_tensor tensor;
    smaps memory;
    cr_assert(oc_weights_find(weights, "w", &tensor, NULL));
    if (smaps_read(tensor.data, &memory)) {
        cr_assert_lt(memory.rss, 256, "%lu KiB", memory.rss);
    }
    oc_loader_close(loader);
    oc_weights_close(weights);
    scratch_close(&folder);
}

/* Asked for sizes only, a loader tells them and reads nothing: a weight that cannot be is not seen. */
Test(loader, only_sizes)
{
    static float values[100 * 70];
    scratch folder = scratch_open();
    values[7] = NAN;
    oc_weights *weights = write_one(&folder, "F32", 100, 70, values, sizeof values, 0);
    for (int format = 0; format < OC_FORMATS; format++) {
        oc_loader *loader = open_loader(weights, (oc_format)format, NULL);
        size_t bytes;
        cr_assert(oc_matrix_bytes((oc_format)format, 100, 70, &bytes));
        oc_loader_only_sizes(loader);
        oc_matrix matrix = take_matrix(loader, "w", 100, 70);
        cr_assert_eq((int)matrix.format, format);
        cr_assert_null(matrix.data);
        cr_assert_eq(oc_loader_bytes(loader), bytes);
        cr_assert_eq(oc_loader_owned_bytes(loader), 0);
        cr_assert_eq(oc_loader_made_bytes(loader), format == OC_FORMAT_F32 ? 0 : bytes);
        cr_assert_eq(oc_loader_elements(loader), 7000);
        oc_loader_close(loader);
    }
    oc_weights_close(weights);
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
