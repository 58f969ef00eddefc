/* test_patches.c - patch rows of the golden cases, from files to floats, bit for bit. */
#include "tests/unit/vision/vision_fixture.h"

#include "vision/patches.h"
#include "vision/resize.h"
#include "vision/smart_size.h"

#include <math.h>
#include <stdio.h>

static const oc_patch_rule RULE = {.patch_size = 16,
                                   .temporal_patch_size = 2,
                                   .merge_size = 2,
                                   .channels = 3,
                                   .mean = {0.5f, 0.5f, 0.5f},
                                   .deviation = {0.5f, 0.5f, 0.5f}};
enum { ROW = 3 * 2 * 16 * 16 };

/* frames: of the clip that the picture is one of; 0: none. */
static uint8_t *load_resized(const char *name, int *height, int *width, size_t frames,
                             uint64_t max_pixels)
{
    const oc_size_rule rule = {
        .factor = 32, .temporal = 2, .min_pixels = 4096, .max_pixels = max_pixels};
    ocelli_image *image = decode_under(GOLDEN "media/", name, NULL);
    ocelli_error err = {0};
    ocelli_status status =
        frames > 0
            ? oc_smart_size_video(&rule, frames, image->height, image->width, height, width, &err)
            : oc_smart_size_image(&rule, image->height, image->width, height, width, &err);
    cr_assert_eq(status, OCELLI_OK, "%s", err.message);
    uint8_t *out = malloc((size_t)*height * (size_t)*width * 3);
    cr_assert_eq(oc_resize(out, *width, *height, image, NULL, NULL), OCELLI_OK);
    oc_image_free(image);
    return out;
}

/* most: how far a value may be off. */
static void expect_rows(const float *rows, const float *expected, size_t count, float most,
                        const char *name)
{
    for (size_t i = 0; i < count; i++) {
        float golden = expected[i];
        cr_assert(fabsf(rows[i] - golden) <= most, "%s: row %zu, value %zu: %.9g, not %.9g", name,
                  i / ROW, i % ROW, (double)rows[i], (double)golden);
    }
}

/* The rows of all pictures of a case, one behind the other. */
static void check_pictures(const char *folder, uint64_t max_pixels, const char *const *media,
                           size_t pictures)
{
    char *file;
    size_t count, done = 0;
    const float *expected =
        read_npy(&file, folder, "pixel_values.npy", "f4", sizeof(float), &count);
    for (size_t i = 0; i < pictures; i++) {
        int height, width;
        uint8_t *pixels = load_resized(media[i], &height, &width, 0, max_pixels);
        size_t values = (size_t)height * (size_t)width * 6;
        cr_assert_leq(done + values, count, "%s", media[i]);
        float *rows = malloc(values * sizeof *rows);
        const uint8_t *frames[2] = {pixels, pixels};
        oc_patches_cut(rows, &RULE, frames, height, width);
        expect_rows(rows, expected + done, values, 0.0f, media[i]);
        done += values;
        free(rows);
        free(pixels);
    }
    cr_assert_eq(done, count);
    oc_free(file);
}

/* frames of one clip; an odd count repeats the last. */
static void check_clip(const char *folder, const char *clip, size_t frames)
{
    char *file;
    size_t count;
    const float *expected =
        read_npy(&file, folder, "pixel_values_videos.npy", "f4", sizeof(float), &count);
    uint8_t *pixels[16];
    int height = 0, width = 0;
    cr_assert_leq(frames, 16);
    for (size_t i = 0; i < frames; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/frame_%04zu.png", clip, i);
        pixels[i] = load_resized(name, &height, &width, frames, 24576);
    }
    size_t group = (size_t)height * (size_t)width * 6, groups = (frames + 1) / 2;
    cr_assert_eq(count, group * groups);
    float *rows = malloc(group * sizeof *rows);
    for (size_t i = 0; i < groups; i++) {
        const uint8_t *pair[2] = {pixels[2 * i], pixels[2 * i + 1 < frames ? 2 * i + 1 : 2 * i]};
        oc_patches_cut(rows, &RULE, pair, height, width);
        /* The reference scales frames in another order than pictures: a last bit differs. */
        expect_rows(rows, expected + i * group, group, 1.2e-7f, clip);
    }
    for (size_t i = 0; i < frames; i++) {
        free(pixels[i]);
    }
    free(rows);
    oc_free(file);
}

Test(patches, pictures_of_the_reference)
{
    check_pictures(GOLDEN "cases/c02_t1_image_identity/", 16384, (const char *[]){"square96.png"},
                   1);
    check_pictures(GOLDEN "cases/c03_t1_image_downscale/", 16384,
                   (const char *[]){"land140x250.png"}, 1);
    check_pictures(GOLDEN "cases/c04_t1_image_upscale/", 16384, (const char *[]){"small20x50.png"},
                   1);
    check_pictures(GOLDEN "cases/c10_t2_image_wide/", 12288, (const char *[]){"wide36x300.png"}, 1);
}

/* One of them a JPEG: decoded bit for bit as well. */
Test(patches, several_pictures_of_the_reference)
{
    check_pictures(GOLDEN "cases/c05_t1_two_images_jpeg/", 16384,
                   (const char *[]){"tall190x60.png", "photo120x100.jpg"}, 2);
    check_pictures(GOLDEN "cases/c11_t2_three_images/", 12288,
                   (const char *[]){"odd77x91.png", "small20x50.png", "tall190x60.png"}, 3);
}

Test(patches, clips_of_the_reference)
{
    check_clip(GOLDEN "cases/c06_t1_video_even/", "clip6", 6);
    check_clip(GOLDEN "cases/c07_t1_video_odd/", "clip5", 5);
}
/* Channel, time, y, x inside a row; blocks of 2 x 2 patches. By hand: patches of one pixel. */
Test(patches, order_by_hand)
{
    const oc_patch_rule rule = {.patch_size = 1,
                                .temporal_patch_size = 2,
                                .merge_size = 2,
                                .channels = 3,
                                .mean = {0, 0, 0},
                                .deviation = {1 / 255.0f, 1 / 255.0f, 1 / 255.0f}};
    uint8_t first[2 * 4 * 3], second[2 * 4 * 3];
    for (int i = 0; i < 24; i++) {
        first[i] = (uint8_t)i;
        second[i] = (uint8_t)(100 + i);
    }
    float out[8 * 6];
    const uint8_t *frames[2] = {first, second};
    oc_patches_cut(out, &rule, frames, 2, 4);
    const int order[8] = {0, 1, 4, 5, 2, 3, 6, 7}; /* pixels of a 2 x 4 picture, block by block */
    for (int row = 0; row < 8; row++) {
        for (int channel = 0; channel < 3; channel++) {
            int value = 3 * order[row] + channel;
            cr_assert_float_eq(out[6 * row + 2 * channel], value, 1e-4);
            cr_assert_float_eq(out[6 * row + 2 * channel + 1], 100 + value, 1e-4);
        }
    }
}

/* Means and deviations differ by channel in other checkpoints. */
Test(patches, every_channel_has_its_own_mean)
{
    const oc_patch_rule rule = {.patch_size = 1,
                                .temporal_patch_size = 1,
                                .merge_size = 1,
                                .channels = 3,
                                .mean = {0.25f, 0.5f, 0.75f},
                                .deviation = {0.5f, 0.25f, 2.0f}};
    const uint8_t pixel[3] = {255, 0, 255};
    const uint8_t *frames[1] = {pixel};
    float out[3];
    oc_patches_cut(out, &rule, frames, 1, 1);
    cr_assert_eq(out[0], 1.5f);
    cr_assert_eq(out[1], -2.0f);
    cr_assert_eq(out[2], 0.125f);
}
