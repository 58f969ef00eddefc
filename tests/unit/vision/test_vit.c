/* test_vit.c - the tower in bfloat16 and in Q8 against the same tower in float32, on a sample picture;
 * its scratch; and that its bits do not depend on the threads. */
#include "runtime/config.h"
#include "runtime/kernels/dispatch.h"
#include "tests/unit/vision/vision_fixture.h"
#include "vision/vit.h"

#include <math.h>

#define MODEL OCELLI_SAMPLES "/model"

typedef struct tower {
    oc_config config;
    oc_weights *weights;
    oc_loader *loader;
    oc_vit *vit;
    oc_kernels kernels;
    oc_compute compute;
} tower;

static void tower_open(tower *t, const char *tier, int threads, oc_format format)
{
    ocelli_error err = {0};
    *t = (tower){.compute = {.pool = NULL}};
    cr_assert_eq(oc_kernels_choose(&t->kernels, tier, &err), OCELLI_OK, "%s", err.message);
    t->compute.kernels = &t->kernels;
    cr_assert_eq(oc_pool_open(&t->compute.pool, threads, &err), OCELLI_OK);
    cr_assert_eq(oc_config_read(&t->config, MODEL, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(oc_weights_open(&t->weights, MODEL, &err), OCELLI_OK, "%s", err.message);
    oc_loader_options options = {.weights = t->weights, .compute = t->compute, .format = format};
    cr_assert_eq(oc_loader_open(&t->loader, &options, &err), OCELLI_OK);
    cr_assert_eq(oc_vit_load(&t->vit, &t->config.vit, t->loader, &err), OCELLI_OK, "%s",
                 err.message);
}

static void tower_close(tower *t)
{
    oc_vit_close(t->vit);
    oc_loader_close(t->loader);
    oc_weights_close(t->weights);
    oc_config_close(&t->config);
    oc_pool_close(t->compute.pool);
}

/* Of temporal groups whose pictures are rgb [groups]: the visual rows, then those of each tap; *count
 * values, oc_free them. The scratch that was planned is what is used. */
static float *encode_groups(const tower *t, uint8_t *const *rgb, size_t groups, size_t grid_h,
                            size_t grid_w, size_t *count)
{
    enum { MOST = 8 };
    const oc_vit_config *config = oc_vit_get_config(t->vit);
    size_t tokens = groups * grid_h * grid_w / 4, bytes, part = tokens * config->out_hidden;
    const uint8_t *frames[MOST];
    cr_assert_leq(2 * groups, MOST);
    for (size_t i = 0; i < 2 * groups; i++) {
        frames[i] = rgb[i / 2];
    }
    oc_vit_input input = {.frames = frames, .groups = groups, .grid_h = grid_h, .grid_w = grid_w};
    oc_arena arena = {0};
    ocelli_error err = {0};
    *count = part * (1 + config->tap_count);
    float *rows = oc_alloc(*count, sizeof *rows);
    cr_assert(oc_vit_scratch(t->vit, &t->compute, groups, grid_h, grid_w, &bytes));
    cr_assert_eq(oc_arena_reserve(&arena, bytes, "test", &err), OCELLI_OK);
    cr_assert_eq(
        oc_vit_encode(t->vit, &t->compute, &arena, &input, rows, rows + part, part, NULL, &err),
        OCELLI_OK, "%s", err.message);
    cr_assert_eq(arena.peak, bytes);
    oc_arena_close(&arena);
    return rows;
}

static float *encode(const tower *t, uint8_t *rgb, size_t grid_h, size_t grid_w, size_t *count)
{
    return encode_groups(t, &rgb, 1, grid_h, grid_w, count);
}

/* grid_h x grid_w patches of a sample picture, repeated where it ends. oc_free it. */
static uint8_t *take_picture(size_t grid_h, size_t grid_w)
{
    ocelli_image *image;
    ocelli_error err = {0};
    size_t size, width = grid_w * 16, height = grid_h * 16;
    char *bytes = read_whole(OCELLI_SAMPLES "/pictures/picture03.jpg", &size);
    cr_assert_eq(oc_image_decode(&image, bytes, size, "picture03.jpg", NULL, &err), OCELLI_OK, "%s",
                 err.message);
    uint8_t *rgb = oc_alloc(width * height, 3);
    for (size_t i = 0; i < width * height * 3; i++) {
        size_t y = i / 3 / width % (size_t)image->height, x = i / 3 % width % (size_t)image->width;
        rgb[i] = image->rgb[(y * (size_t)image->width + x) * 3 + i % 3];
    }
    oc_image_free(image);
    oc_free(bytes);
    return rgb;
}

/* The least cosine of a row with its counterpart. */
static double least_cosine(const float *a, const float *b, size_t count, size_t width)
{
    double least = 1.0;
    for (size_t r = 0; r < count; r += width) {
        double products = 0.0, a_squares = 0.0, b_squares = 0.0;
        for (size_t i = r; i < r + width; i++) {
            products += (double)a[i] * (double)b[i];
            a_squares += (double)a[i] * (double)a[i];
            b_squares += (double)b[i] * (double)b[i];
        }
        least = fmin(least, products / sqrt(a_squares * b_squares));
    }
    return least;
}

/* Every visual row and every deepstack row. 38 x 28 patches are two chunks; 2 x 2 are one token. */
Test(vit, narrow_towers_see_the_same)
{
    static const struct {
        oc_format format;
        double cosine;
    } towers[] = {{OC_FORMAT_BF16, 0.999}, {OC_FORMAT_Q8, 0.99}};
    static const size_t grids[][2] = {{2, 2}, {14, 14}, {38, 28}};
    for (int tier = 1; oc_kernels_tier(tier) != NULL; tier++) {
        tower exact;
        tower_open(&exact, oc_kernels_tier(tier), 2, OC_FORMAT_F32);
        for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
            size_t count, again;
            uint8_t *rgb = take_picture(grids[g][0], grids[g][1]);
            float *expected = encode(&exact, rgb, grids[g][0], grids[g][1], &count);
            for (size_t i = 0; i < sizeof towers / sizeof towers[0]; i++) {
                tower narrow;
                tower_open(&narrow, oc_kernels_tier(tier), 2, towers[i].format);
                float *rows = encode(&narrow, rgb, grids[g][0], grids[g][1], &again);
                cr_assert_eq(count, again);
                double cosine = least_cosine(rows, expected, count, exact.config.vit.out_hidden);
                cr_assert(cosine >= towers[i].cosine, "%s %s %zu x %zu: %f", oc_kernels_tier(tier),
                          oc_format_name(towers[i].format), grids[g][0], grids[g][1], cosine);
                oc_free(rows);
                tower_close(&narrow);
            }
            oc_free(expected);
            oc_free(rgb);
        }
        tower_close(&exact);
    }
}

Test(vit, bits_do_not_depend_on_the_threads)
{
    static const oc_format formats[] = {OC_FORMAT_BF16, OC_FORMAT_Q8};
    uint8_t *rgb = take_picture(38, 28);
    for (size_t f = 0; f < 2; f++) {
        float *first = NULL;
        for (int threads = 1; threads < 4; threads++) {
            tower t;
            size_t count;
            tower_open(&t, NULL, threads, formats[f]);
            float *rows = encode(&t, rgb, 38, 28, &count);
            if (first == NULL) {
                first = rows;
            } else {
                cr_assert_eq(memcmp(rows, first, count * sizeof *rows), 0, "%s, %d threads",
                             oc_format_name(formats[f]), threads);
                oc_free(rows);
            }
            tower_close(&t);
        }
        oc_free(first);
    }
    oc_free(rgb);
}

/* Three pictures in one pass, each its rows alone, bit for bit; with windows test_vit_older.c. */
Test(vit, pictures_in_one_pass_are_those_alone)
{
    enum { GROUPS = 3, GRID_H = 14, GRID_W = 10 };
    static const oc_format formats[] = {OC_FORMAT_BF16, OC_FORMAT_Q8};
    for (int tier = 1; oc_kernels_tier(tier) != NULL; tier++) {
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
            tower t;
            uint8_t *rgb[GROUPS];
            size_t count, all;
            tower_open(&t, oc_kernels_tier(tier), 2, formats[f]);
            for (size_t g = 0; g < GROUPS; g++) {
                rgb[g] = take_picture(GRID_H, GRID_W);
                for (size_t i = 0; i < (size_t)GRID_H * GRID_W * 16 * 16 * 3; i++) {
                    rgb[g][i] = (uint8_t)(rgb[g][i] + 40 * g); /* another one */
                }
            }
            float *together = encode_groups(&t, rgb, GROUPS, GRID_H, GRID_W, &all);
            for (size_t g = 0; g < GROUPS; g++) {
                float *alone = encode(&t, rgb[g], GRID_H, GRID_W, &count);
                size_t parts = 1 + oc_vit_get_config(t.vit)->tap_count, part = count / parts;
                cr_assert_eq(all, GROUPS * count);
                for (size_t k = 0; k < parts; k++) {
                    cr_assert_arr_eq(together + (k * GROUPS + g) * part, alone + k * part,
                                     part * sizeof *alone, "%s, picture %zu, part %zu",
                                     oc_kernels_tier(tier), g, k);
                }
                oc_free(alone);
            }
            for (size_t g = 0; g < GROUPS; g++) {
                oc_free(rgb[g]);
            }
            oc_free(together);
            tower_close(&t);
        }
    }
}
