/* test_vit_older.c - the towers of Qwen2.5-VL (windows, RMSNorm, SwiGLU) and Qwen2-VL (quick GELU)
 * with their awkward widths: rows of 1176 pixels, heads of 80, a feed-forward that is no multiple
 * of 32, as 3420 is none. Every form of the weights on every tier against float32 on the plain one;
 * and that the bits do not depend on the threads. That the numbers are right is golden_siblings'
 * matter. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/base/memory.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/weights/weights_write.h"
#include "tests/unit/weights/scratch.h"
#include "vision/vit.h"

#include <math.h>

enum { HIDDEN = 160, WIDE = 220, OUT = 96, LAYERS = 3, MOST_TENSORS = 64 };

/* 11 x 6 cells: ragged windows on two sides. */
enum { GRID_H = 22, GRID_W = 12, PATCH = 14 };

static oc_vit_config config_of(bool windows)
{
    oc_vit_config config = {.layers = LAYERS,
                            .hidden = HIDDEN,
                            .heads = 2,
                            .head_dim = HIDDEN / 2,
                            .intermediate = WIDE,
                            .out_hidden = OUT,
                            .plain_patches = true,
                            .numbered_merger = true,
                            .mlp = OC_VIT_GELU_QUICK,
                            .patch = {.patch_size = PATCH,
                                      .temporal_patch_size = 2,
                                      .merge_size = 2,
                                      .channels = 3,
                                      .mean = {0.48f, 0.46f, 0.41f},
                                      .deviation = {0.27f, 0.26f, 0.28f}}};
    if (windows) {
        config.norm = OC_VIT_RMS_NORM;
        config.mlp = OC_VIT_SWIGLU;
        config.window = 4;
        config.whole[1] = true;
    }
    return config;
}

/* ---- a file of random weights ---------------------------------------------------------------- */

typedef struct listed {
    char name[96];
    int64_t shape[2]; /* a vector: [1] is 0 */
} listed;

typedef struct list {
    listed items[MOST_TENSORS];
    size_t count;
} list;

static void add(list *all, const char *group, const char *name, int64_t rows, int64_t cols)
{
    listed *item = &all->items[all->count++];
    cr_assert_leq(all->count, MOST_TENSORS);
    snprintf(item->name, sizeof item->name, OC_VIT_PREFIX "%s%s", group, name);
    item->shape[0] = rows;
    item->shape[1] = cols;
}

static void add_linear(list *all, const char *group, const char *name, int64_t rows, int64_t cols)
{
    char full[64];
    snprintf(full, sizeof full, "%s.weight", name);
    add(all, group, full, rows, cols);
    snprintf(full, sizeof full, "%s.bias", name);
    add(all, group, full, rows, 0);
}

static void add_norm(list *all, const char *group, const char *name, bool windows)
{
    char full[64];
    snprintf(full, sizeof full, "%s.weight", name);
    add(all, group, full, HIDDEN, 0);
    if (!windows) {
        snprintf(full, sizeof full, "%s.bias", name);
        add(all, group, full, HIDDEN, 0);
    }
}

static void list_tensors(list *all, bool windows)
{
    all->count = 0;
    add(all, "patch_embed.", "proj.weight", HIDDEN, 3 * 2 * PATCH * PATCH);
    for (int i = 0; i < LAYERS; i++) {
        char group[32];
        snprintf(group, sizeof group, "blocks.%d.", i);
        add_norm(all, group, "norm1", windows);
        add_norm(all, group, "norm2", windows);
        add_linear(all, group, "attn.qkv", 3 * HIDDEN, HIDDEN);
        add_linear(all, group, "attn.proj", HIDDEN, HIDDEN);
        if (windows) {
            add_linear(all, group, "mlp.gate_proj", WIDE, HIDDEN);
        }
        add_linear(all, group, windows ? "mlp.up_proj" : "mlp.fc1", WIDE, HIDDEN);
        add_linear(all, group, windows ? "mlp.down_proj" : "mlp.fc2", HIDDEN, WIDE);
    }
    add_norm(all, "merger.", "ln_q", windows);
    add_linear(all, "merger.", "mlp.0", 4 * HIDDEN, 4 * HIDDEN);
    add_linear(all, "merger.", "mlp.2", OUT, 4 * HIDDEN);
}

/* About normal, of deviation 1. */
static float draw(uint64_t *state)
{
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (int)(*state >> 48);
    }
    return (float)(sum - 2 * 65535) / 37837.0f;
}

static void write_values(oc_weights_writer *writer, const listed *item, uint64_t *state)
{
    ocelli_error err = {.message = ""};
    bool norm = strstr(item->name, "norm") != NULL || strstr(item->name, "ln_q") != NULL;
    bool bias = strstr(item->name, ".bias") != NULL;
    size_t count = (size_t)(item->shape[0] * (item->shape[1] > 0 ? item->shape[1] : 1));
    float scale = item->shape[1] > 0 ? 1.0f / sqrtf((float)item->shape[1]) : 0.05f;
    float *values = malloc(count * sizeof *values);
    cr_assert_not_null(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = scale * draw(state) + (norm && !bias ? 1.0f : 0.0f);
    }
    cr_assert_eq(oc_weights_writer_data(writer, item->name, values, count * sizeof *values, &err),
                 OCELLI_OK, "%s", err.message);
    free(values);
}

static void write_weights(const char *path, bool windows)
{
    ocelli_error err = {.message = ""};
    oc_weights_writer *writer;
    uint64_t size, state = 7;
    oc_hash hash;
    list *all = malloc(sizeof *all);
    cr_assert_not_null(all);
    list_tensors(all, windows);
    cr_assert_eq(oc_weights_writer_open(&writer, path, &err), OCELLI_OK, "%s", err.message);
    for (size_t i = 0; i < all->count; i++) {
        const listed *item = &all->items[i];
        cr_assert_eq(oc_weights_writer_announce(writer, item->name, OC_F32,
                                                item->shape[1] > 0 ? 2 : 1, item->shape, &err),
                     OCELLI_OK, "%s", err.message);
    }
    for (size_t i = 0; i < all->count; i++) {
        write_values(writer, &all->items[i], &state);
    }
    cr_assert_eq(oc_weights_writer_finish(writer, &size, &hash, &err), OCELLI_OK);
    oc_weights_writer_close(writer);
    free(all);
}

/* ---- one encode ------------------------------------------------------------------------------ */

static void fill_picture(uint8_t *rgb)
{
    uint64_t state = 3;
    for (size_t i = 0; i < (size_t)GRID_H * GRID_W * PATCH * PATCH * 3; i++) {
        float level = 128.0f + 50.0f * draw(&state);
        rgb[i] = (uint8_t)fminf(fmaxf(level, 0.0f), 255.0f);
    }
}

/* Two temporal groups in one pass, windows and all, have the rows [count] of one alone: exactly, but
 * where OpenBLAS multiplies, which cuts products by their size. */
static void check_together(const oc_vit *vit, const oc_compute *compute, const uint8_t *rgb,
                           const float *rows, size_t count, bool exact)
{
    ocelli_error err = {.message = ""};
    oc_arena arena = {0};
    size_t bytes;
    const uint8_t *frames[] = {rgb, rgb, rgb, rgb};
    const oc_vit_input input = {.frames = frames, .groups = 2, .grid_h = GRID_H, .grid_w = GRID_W};
    float *both = malloc(2 * count * sizeof *both);
    cr_assert_not_null(both);
    cr_assert(oc_vit_scratch(vit, compute, 2, GRID_H, GRID_W, &bytes));
    cr_assert_eq(oc_arena_reserve(&arena, bytes, "test", &err), OCELLI_OK);
    cr_assert_eq(oc_vit_encode(vit, compute, &arena, &input, both, NULL, 0, NULL, &err), OCELLI_OK,
                 "%s", err.message);
    cr_assert_eq(arena.peak, bytes);
    for (size_t i = 0; i < 2 * count; i++) {
        float apart = fabsf(both[i] - rows[i % count]);
        cr_assert(apart <= (exact ? 0.0f : 1e-5f), "value %zu: %g apart", i, (double)apart);
    }
    oc_arena_close(&arena);
    free(both);
}

/* The visual rows, [tokens, OUT], by these kernels and threads; free them. What was planned as
 * scratch is what is used. */
static float *encode_as(const char *path, const oc_vit_config *config, const char *tier,
                        int threads, oc_format format, size_t *count)
{
    static uint8_t rgb[(size_t)GRID_H * GRID_W * PATCH * PATCH * 3];
    ocelli_error err = {.message = ""};
    oc_kernels kernels;
    oc_compute compute = {.kernels = &kernels};
    oc_weights *weights;
    oc_loader *loader;
    oc_vit *vit;
    oc_arena arena = {0};
    size_t bytes;
    cr_assert_eq(oc_kernels_choose(&kernels, tier, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(oc_pool_open(&compute.pool, threads, &err), OCELLI_OK);
    cr_assert_eq(oc_weights_open_file(&weights, path, &err), OCELLI_OK, "%s", err.message);
    const oc_loader_options options = {.weights = weights, .compute = compute, .format = format};
    cr_assert_eq(oc_loader_open(&loader, &options, &err), OCELLI_OK);
    cr_assert_eq(oc_vit_load(&vit, config, loader, &err), OCELLI_OK, "%s", err.message);
    fill_picture(rgb);
    const uint8_t *frames[] = {rgb, rgb};
    const oc_vit_input input = {.frames = frames, .groups = 1, .grid_h = GRID_H, .grid_w = GRID_W};
    *count = (size_t)GRID_H * GRID_W / 4 * OUT;
    float *rows = malloc(*count * sizeof *rows);
    cr_assert_not_null(rows);
    cr_assert(oc_vit_scratch(vit, &compute, 1, GRID_H, GRID_W, &bytes));
    cr_assert_eq(oc_arena_reserve(&arena, bytes, "test", &err), OCELLI_OK);
    cr_assert_eq(oc_vit_encode(vit, &compute, &arena, &input, rows, NULL, 0, NULL, &err), OCELLI_OK,
                 "%s", err.message);
    cr_assert_eq(arena.peak, bytes);
    oc_arena_close(&arena);
    check_together(vit, &compute, rgb, rows, *count, format != OC_FORMAT_F32);
    oc_vit_close(vit);
    oc_loader_close(loader);
    oc_weights_close(weights);
    oc_pool_close(compute.pool);
    return rows;
}

static float *encode(const char *path, bool windows, const char *tier, int threads,
                     oc_format format, size_t *count)
{
    const oc_vit_config config = config_of(windows);
    return encode_as(path, &config, tier, threads, format, count);
}

static double least_cosine(const float *a, const float *b, size_t count)
{
    double least = 1.0;
    for (size_t r = 0; r < count; r += OUT) {
        double products = 0.0, a_squares = 0.0, b_squares = 0.0;
        for (size_t i = r; i < r + OUT; i++) {
            products += (double)a[i] * (double)b[i];
            a_squares += (double)a[i] * (double)a[i];
            b_squares += (double)b[i] * (double)b[i];
        }
        least = fmin(least, products / sqrt(a_squares * b_squares));
    }
    return least;
}

static void check_forms(const char *path, bool windows)
{
    static const struct {
        oc_format format;
        double cosine;
    } forms[] = {{OC_FORMAT_F32, 0.999999}, {OC_FORMAT_BF16, 0.999}, {OC_FORMAT_Q8, 0.99}};
    size_t count, again;
    float *wanted = encode(path, windows, "scalar", 1, OC_FORMAT_F32, &count);
    for (int tier = 0; oc_kernels_tier(tier) != NULL; tier++) {
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            float *rows = encode(path, windows, oc_kernels_tier(tier), 2, forms[f].format, &again);
            cr_assert_eq(count, again);
            double cosine = least_cosine(rows, wanted, count);
            cr_assert(cosine >= forms[f].cosine, "%s %s: %f", oc_kernels_tier(tier),
                      oc_format_name(forms[f].format), cosine);
            free(rows);
        }
    }
    free(wanted);
}

static void check_threads(const char *path, bool windows)
{
    static const oc_format formats[] = {OC_FORMAT_BF16, OC_FORMAT_Q8};
    for (size_t f = 0; f < 2; f++) {
        size_t count;
        float *first = encode(path, windows, NULL, 1, formats[f], &count);
        for (int threads = 2; threads < 4; threads++) {
            float *rows = encode(path, windows, NULL, threads, formats[f], &count);
            cr_assert_eq(memcmp(rows, first, count * sizeof *rows), 0, "%s, %d threads",
                         oc_format_name(formats[f]), threads);
            free(rows);
        }
        free(first);
    }
}

static void check_tower(bool windows)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    scratch_path(&folder, "vision.safetensors", path);
    write_weights(path, windows);
    check_forms(path, windows);
    check_threads(path, windows);
    scratch_close(&folder);
}

Test(vit_older, windows_and_a_gate)
{
    check_tower(true);
}

Test(vit_older, quick_gelu)
{
    check_tower(false);
}

/* One window as large as the picture, and blocks that attend to all, are the same tower. */
Test(vit_older, a_window_of_all_is_no_window)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    scratch_path(&folder, "vision.safetensors", path);
    write_weights(path, true);
    float *rows[2];
    size_t count;
    for (int i = 0; i < 2; i++) {
        oc_vit_config config = config_of(true);
        config.window = i == 0 ? 1000 : 0;
        config.whole[1] = false;
        rows[i] = encode_as(path, &config, "scalar", 1, OC_FORMAT_BF16, &count);
    }
    cr_assert_eq(memcmp(rows[0], rows[1], count * sizeof(float)), 0);
    free(rows[0]);
    free(rows[1]);
    scratch_close(&folder);
}
