/* test_loader_experts.c - one expert's matrices out of fused tensors, in either orientation, and
 * out of a package. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/loader.h"

#include "runtime/base/memory.h"
#include "runtime/weights/weights_write.h"
#include "tests/unit/weights/scratch.h"

#define MODELS OCELLI_TEST_DATA "/golden/qwen3vl/models/"
#define LAYER "model.language_model.layers.0.mlp.experts."

static oc_loader *open_loader(const oc_weights *weights, oc_format format, oc_pool *pool)
{
    oc_loader *loader;
    ocelli_error err = {0};
    oc_loader_options options = {.weights = weights, .compute = {.pool = pool}, .format = format};
    cr_assert_eq(oc_loader_open(&loader, &options, &err), OCELLI_OK, "%s", err.message);
    return loader;
}

/* The numbers of an expert e: gate[i][h], up[i][h], down[h][i]; no two alike, all exact in bf16. */
static float gate_of(size_t e, size_t i, size_t h)
{
    return (float)(1 + (e * 7 + i * 13 + h * 29) % 251);
}
static float up_of(size_t e, size_t i, size_t h)
{
    return -(float)(1 + (e * 11 + i * 31 + h * 17) % 251);
}
static float down_of(size_t e, size_t h, size_t i)
{
    return 0.5f * (float)(1 + (e * 5 + h * 19 + i * 23) % 251);
}

typedef struct experts {
    size_t count, hidden, inter;
    bool input_major;
} experts;

/* Both fused tensors as a file; F32, or BF16 when narrow. */
static oc_weights *write_fused(const scratch *folder, const experts *x, bool narrow)
{
    size_t each = x->hidden * x->inter;
    size_t total = x->count * each * 3;
    float *values = malloc(total * sizeof *values);
    float *down = values + x->count * each * 2;
    for (size_t e = 0; e < x->count; e++) {
        for (size_t h = 0; h < x->hidden; h++) {
            for (size_t i = 0; i < x->inter; i++) {
                float *gate_up = values + e * each * 2;
                float *rows = down + e * each;
                if (x->input_major) {
                    gate_up[h * 2 * x->inter + i] = gate_of(e, i, h);
                    gate_up[h * 2 * x->inter + x->inter + i] = up_of(e, i, h);
                    rows[i * x->hidden + h] = down_of(e, h, i);
                } else {
                    gate_up[i * x->hidden + h] = gate_of(e, i, h);
                    gate_up[(x->inter + i) * x->hidden + h] = up_of(e, i, h);
                    rows[h * x->inter + i] = down_of(e, h, i);
                }
            }
        }
    }
    unsigned char *bytes = malloc(total * 4);
    size_t size = narrow ? 2 : 4;
    for (size_t k = 0; k < total; k++) {
        uint32_t bits;
        memcpy(&bits, &values[k], sizeof bits);
        if (narrow) {
            cr_assert_eq(bits & 0xffff, 0);
            bits >>= 16;
        }
        for (size_t b = 0; b < size; b++) {
            bytes[k * size + b] = (unsigned char)(bits >> (8 * b));
        }
    }
    char header[400];
    char path[SCRATCH_PATH];
    size_t a = x->hidden;
    size_t b = 2 * x->inter;
    size_t c = x->inter;
    size_t d = x->hidden;
    snprintf(header, sizeof header,
             "{\"gu\":{\"dtype\":\"%s\",\"shape\":[%zu,%zu,%zu],\"data_offsets\":[0,%zu]},"
             "\"dn\":{\"dtype\":\"%s\",\"shape\":[%zu,%zu,%zu],\"data_offsets\":[%zu,%zu]}}",
             narrow ? "BF16" : "F32", x->count, x->input_major ? a : b, x->input_major ? b : a,
             x->count * each * 2 * size, narrow ? "BF16" : "F32", x->count, x->input_major ? c : d,
             x->input_major ? d : c, x->count * each * 2 * size, total * size);
    scratch_write_safetensors(folder, "e.safetensors", strlen(header), header, strlen(header),
                              bytes, total * size);
    free(values);
    free(bytes);
    oc_weights *weights;
    ocelli_error err = {0};
    cr_assert_eq(oc_weights_open_file(&weights, scratch_path(folder, "e.safetensors", path), &err),
                 OCELLI_OK, "%s", err.message);
    return weights;
}

static void check_expert(const oc_expert *expert, const experts *x, size_t e)
{
    float *row = malloc((x->hidden + x->inter) * sizeof *row);
    cr_assert_eq(expert->gate.rows, x->inter);
    cr_assert_eq(expert->gate.cols, x->hidden);
    cr_assert_eq(expert->up.rows, x->inter);
    cr_assert_eq(expert->down.rows, x->hidden);
    cr_assert_eq(expert->down.cols, x->inter);
    for (size_t i = 0; i < x->inter; i++) {
        oc_matrix_row(&expert->gate, i, row);
        for (size_t h = 0; h < x->hidden; h++) {
            cr_assert_eq(row[h], gate_of(e, i, h));
        }
        oc_matrix_row(&expert->up, i, row);
        for (size_t h = 0; h < x->hidden; h++) {
            cr_assert_eq(row[h], up_of(e, i, h));
        }
    }
    for (size_t h = 0; h < x->hidden; h++) {
        oc_matrix_row(&expert->down, h, row);
        for (size_t i = 0; i < x->inter; i++) {
            cr_assert_eq(row[i], down_of(e, h, i));
        }
    }
    free(row);
}

/* Either orientation, either width, shapes with tails; where one shape fits both ways (hidden ==
 * 2*inter, inter == hidden) the other tensor's tells. */
Test(loader_experts, orientations)
{
    static const size_t shapes[][2] = {{8, 6}, {48, 37}, {64, 32}, {32, 32}, {33, 70}, {1, 3}};
    scratch folder = scratch_open();
    oc_pool *pool;
    ocelli_error err = {0};
    cr_assert_eq(oc_pool_open(&pool, 2, &err), OCELLI_OK);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (int form = 0; form < 4; form++) {
            experts x = {3, shapes[s][0], shapes[s][1], form % 2 == 1};
            oc_weights *weights = write_fused(&folder, &x, form >= 2);
            oc_loader *loader = open_loader(weights, OC_FORMAT_F32, pool);
            for (size_t e = 0; e < 3; e++) {
                oc_expert expert;
                cr_assert_eq(
                    oc_loader_expert(loader, "gu", "dn", e, 3, x.hidden, x.inter, &expert, &err),
                    OCELLI_OK, "%s", err.message);
                check_expert(&expert, &x, e);
            }
            uint64_t bytes = 3ull * 3 * x.hidden * x.inter * 4;
            cr_assert_eq(oc_loader_bytes(loader), bytes);
            oc_loader_close(loader);
            oc_weights_close(weights);
        }
    }
    oc_pool_close(pool);
    scratch_close(&folder);
}

/* Both orientations of the same numbers give the same packed bytes. */
Test(loader_experts, packed_alike)
{
    scratch folder = scratch_open();
    ocelli_error err = {0};
    for (int format = 0; format < OC_FORMATS; format++) {
        oc_expert got[2];
        oc_loader *loaders[2];
        oc_weights *weights[2];
        for (int input_major = 0; input_major < 2; input_major++) {
            experts x = {2, 72, 40, input_major == 1};
            weights[input_major] = write_fused(&folder, &x, true);
            loaders[input_major] = open_loader(weights[input_major], (oc_format)format, NULL);
            cr_assert_eq(oc_loader_expert(loaders[input_major], "gu", "dn", 1, 2, 72, 40,
                                          &got[input_major], &err),
                         OCELLI_OK, "%s", err.message);
            unlink(scratch_path(&folder, "e.safetensors", (char[SCRATCH_PATH]){0}));
        }
        size_t wide;
        size_t tall;
        cr_assert(oc_matrix_bytes((oc_format)format, 40, 72, &wide));
        cr_assert(oc_matrix_bytes((oc_format)format, 72, 40, &tall));
        cr_assert_eq(memcmp(got[0].gate.data, got[1].gate.data, wide), 0);
        cr_assert_eq(memcmp(got[0].up.data, got[1].up.data, wide), 0);
        cr_assert_eq(memcmp(got[0].down.data, got[1].down.data, tall), 0);
        for (int i = 0; i < 2; i++) {
            oc_loader_close(loaders[i]);
            oc_weights_close(weights[i]);
        }
    }
    scratch_close(&folder);
}

/* The hub's form, from the recorded model: h = x @ gate_up[e], the first columns gate. */
Test(loader_experts, golden)
{
    oc_weights *weights;
    ocelli_error err = {0};
    oc_tensor gate_up;
    oc_tensor down;
    oc_expert expert;
    cr_assert_eq(oc_weights_open(&weights, MODELS "t3_bf16", &err), OCELLI_OK, "%s", err.message);
    cr_assert(oc_weights_find(weights, LAYER "gate_up_proj", &gate_up, NULL));
    cr_assert(oc_weights_find(weights, LAYER "down_proj", &down, NULL));
    oc_loader *loader = open_loader(weights, OC_FORMAT_F32, NULL);
    cr_assert_eq(oc_loader_expert(loader, LAYER "gate_up_proj", LAYER "down_proj", 5, 8, 64, 32,
                                  &expert, &err),
                 OCELLI_OK, "%s", err.message);
    for (size_t h = 0; h < 64; h++) {
        for (size_t i = 0; i < 32; i++) {
            float value;
            oc_tensor_widen(&gate_up, (5 * 64 + h) * 64 + i, 1, &value);
            cr_assert_eq(((const float *)expert.gate.data)[i * 64 + h], value);
            oc_tensor_widen(&gate_up, (5 * 64 + h) * 64 + 32 + i, 1, &value);
            cr_assert_eq(((const float *)expert.up.data)[i * 64 + h], value);
            oc_tensor_widen(&down, (5 * 32 + i) * 64 + h, 1, &value);
            cr_assert_eq(((const float *)expert.down.data)[h * 32 + i], value);
        }
    }
    oc_loader_close(loader);
    oc_weights_close(weights);
}

static ocelli_status put_into_file(void *user, const char *name, oc_format format, size_t rows,
                                   size_t cols, const void *data, size_t bytes, ocelli_error *err)
{
    oc_weights_writer *writer = user;
    int64_t count = (int64_t)bytes;
    char note[64];
    if (data != NULL) {
        return oc_weights_writer_data(writer, name, data, bytes, err);
    }
    snprintf(note, sizeof note, "%s %zu %zu", oc_format_name(format), rows, cols);
    OC_TRY(oc_weights_writer_metadata(writer, name, note, err));
    return oc_weights_writer_announce(writer, name, OC_U8, 1, &count, err);
}

Test(loader_experts, package)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    experts x = {3, 40, 24, true};
    oc_weights *weights = write_fused(&folder, &x, true);
    oc_loader *loader = open_loader(weights, OC_FORMAT_Q4, NULL);
    oc_weights_writer *writer;
    ocelli_error err = {0};
    oc_expert expert;
    scratch_path(&folder, "package.safetensors", path);
    cr_assert_eq(oc_weights_writer_open(&writer, path, &err), OCELLI_OK);
    for (int pass = 0; pass < 2; pass++) {
        oc_loader_sink sink = {.user = writer, .put = put_into_file, .announce_only = pass == 0};
        oc_loader_set_sink(loader, &sink);
        for (size_t e = 0; e < 3; e++) {
            cr_assert_eq(oc_loader_expert(loader, "gu", "dn", e, 3, 40, 24, &expert, &err),
                         OCELLI_OK, "%s", err.message);
            cr_assert_null(expert.up.data);
            cr_assert_eq(expert.up.rows, 24);
        }
    }
    uint64_t size;
    oc_hash hash;
    cr_assert_eq(oc_weights_writer_finish(writer, &size, &hash, &err), OCELLI_OK);
    oc_weights_writer_close(writer);
    oc_loader_set_sink(loader, NULL);

    oc_weights *package;
    oc_tensor tensor;
    cr_assert_eq(oc_weights_open_file(&package, path, &err), OCELLI_OK, "%s", err.message);
    cr_assert(oc_weights_find(package, "gu.2.gate", &tensor, NULL));
    cr_assert(oc_weights_find(package, "gu.2.up", &tensor, NULL));
    cr_assert(oc_weights_find(package, "dn.2", &tensor, NULL));
    cr_assert_str_eq(oc_weights_metadata(package, "dn.2"), "q4 40 24");
    oc_loader *mapped = open_loader(package, OC_FORMAT_Q8, NULL);
    for (size_t e = 0; e < 3; e++) {
        oc_expert fresh;
        size_t bytes;
        cr_assert_eq(oc_loader_expert(mapped, "gu", "dn", e, 3, 40, 24, &expert, &err), OCELLI_OK,
                     "%s", err.message);
        cr_assert_eq(oc_loader_expert(loader, "gu", "dn", e, 3, 40, 24, &fresh, &err), OCELLI_OK);
        cr_assert_eq(expert.gate.format, OC_FORMAT_Q4);
        cr_assert(oc_matrix_bytes(OC_FORMAT_Q4, 24, 40, &bytes));
        cr_assert_eq(memcmp(expert.gate.data, fresh.gate.data, bytes), 0);
        cr_assert_eq(memcmp(expert.up.data, fresh.up.data, bytes), 0);
        cr_assert(oc_matrix_bytes(OC_FORMAT_Q4, 40, 24, &bytes));
        cr_assert_eq(memcmp(expert.down.data, fresh.down.data, bytes), 0);
    }
    cr_assert_eq(oc_loader_owned_bytes(mapped), 0);
    oc_loader_close(mapped);
    oc_loader_close(loader);
    oc_weights_close(package);
    oc_weights_close(weights);
    scratch_close(&folder);
}

Test(loader_experts, what_is_wrong)
{
    static const struct {
        const char *gate_up, *down;
        size_t expert, experts, hidden, inter;
        const char *words;
    } asks[] = {
        {"gu", "dn", 3, 3, 40, 24, "expert 3 of 3"},
        {"gu", "dn", 0, 4, 40, 24,
         "\"gu\" is [3, 40, 48], but the configuration asks for "
         "[4, 40, 48]"},
        {"gu", "dn", 0, 3, 40, 20, "asks for [3, 40, 40]"},
        {"gu", "dn", 0, 3, 48, 20,
         "\"dn\" is [3, 24, 40], but the configuration asks for "
         "[3, 20, 48]"},
        {"gu", "nothing", 0, 3, 40, 24, "no tensor \"nothing\""},
        {"nothing", "dn", 0, 3, 40, 24, "no tensor \"nothing\""},
    };
    scratch folder = scratch_open();
    experts x = {3, 40, 24, true};
    oc_weights *weights = write_fused(&folder, &x, true);
    oc_loader *loader = open_loader(weights, OC_FORMAT_Q8, NULL);
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        oc_expert expert = {.gate = {.rows = 1}};
        ocelli_error err = {0};
        ocelli_status status =
            oc_loader_expert(loader, asks[i].gate_up, asks[i].down, asks[i].expert, asks[i].experts,
                             asks[i].hidden, asks[i].inter, &expert, &err);
        cr_assert_eq(status, i == 0 ? OCELLI_E_ARGUMENT : OCELLI_E_FORMAT, "%zu", i);
        cr_assert_not_null(strstr(err.message, asks[i].words), "%s", err.message);
        cr_assert_null(expert.gate.data);
        cr_assert_eq(expert.gate.rows, 0);
    }
    oc_loader_close(loader);
    oc_weights_close(weights);
    scratch_close(&folder);
}
