/* test_resize.c - Pillow's bicubic, bit for bit: the goldens, and digests of Pillow's output for
 * shapes at the edges. */
#include "tests/unit/vision/md5.h"
#include "tests/unit/vision/vision_fixture.h"

#include "vision/resize.h"

Test(resize, goldens)
{
    cJSON *list = read_json(GOLDEN "functions/", "resize.json");
    const cJSON *entry;
    int cases = 0;
    cJSON_ArrayForEach(entry, list)
    {
        ocelli_image *image = decode_under(GOLDEN "functions/", text_at(entry, "in"), NULL);
        int width = (int)number_at(entry, "W"), height = (int)number_at(entry, "H");
        char *file;
        size_t count;
        const uint8_t *expected =
            read_npy(&file, GOLDEN "functions/", text_at(entry, "out"), "u1", 1, &count);
        cr_assert_eq(count, (size_t)width * (size_t)height * 3);
        uint8_t *out = malloc(count);
        cr_assert_eq(oc_resize(out, width, height, image, NULL, NULL), OCELLI_OK);
        cr_assert_arr_eq(out, expected, count, "%s", text_at(entry, "in"));
        free(out);
        oc_free(file);
        oc_image_free(image);
        cases++;
    }
    cr_assert_eq(cases, 5);
    cJSON_Delete(list);
}

/* Noise of extremes and middles, the same as the script that asked Pillow made. */
static ocelli_image *make_noise(int width, int height, uint32_t seed)
{
    ocelli_image *image;
    cr_assert_eq(oc_image_new(&image, width, height, NULL), OCELLI_OK);
    uint32_t state = seed;
    for (size_t i = 0; i < pixel_bytes(image); i++) {
        state = state * 1664525u + 1013904223u;
        uint32_t byte = state >> 24;
        image->rgb[i] = (uint8_t)(byte < 64 ? 0 : byte > 192 ? 255 : byte);
    }
    return image;
}

static const struct {
    int width, height, out_width, out_height;
    const char *digest; /* MD5 of Image.resize(size, Image.BICUBIC) by Pillow 9.4 */
} SHAPES[] = {
    {1, 1, 32, 32, "780d29fefc0f0b0afd1f516892049dc7"},
    {1, 100, 64, 1024, "bed3e34ec553773879f860ede91abe7c"},
    {100, 1, 7, 1, "3c1d7cf7424af7984a5e7f80969ac3a6"},
    {2, 3, 5, 4, "9bdd5d5618629938f06b7c7db66f215e"},
    {640, 480, 640, 480, "72ac6eff2918adecfce4f0d438784757"},
    {640, 480, 320, 480, "9bd5c9ab3847a1f91ada7a7b4fdb6f15"},
    {640, 480, 640, 96, "5f2bc013b5825dff7b700c4fdb3ef1dd"},
    {333, 217, 96, 64, "dfa5ccc0184c6b5a863e835677267972"},
    {65600, 3, 96, 32, "1a5a1fbf909e0a10c16415eee19648b6"},
    {3, 70000, 32, 64, "289b9d7e7e25d675d30f6a59010db13f"},
    {97, 61, 1024, 33, "4ea46d5018218e356668f5a577e2b7c4"},
    {61, 97, 61, 640, "d860cc6d0d339034853a2151363cc392"},
    {512, 512, 32, 32, "bd6bc589ee1c63178ca16bb13e48d2bf"},
    {33, 300, 32, 288, "ecafda2d6a7e84946b3b8849e4cd4c8b"},
    {13, 2000, 416, 32, "52de0cf00c62a65206f6ba391f12ef98"},
};

static void check_shapes(oc_pool *pool)
{
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) {
        int width = SHAPES[i].out_width, height = SHAPES[i].out_height;
        ocelli_image *image = make_noise(SHAPES[i].width, SHAPES[i].height, (uint32_t)i + 1);
        size_t bytes = (size_t)width * (size_t)height * 3;
        uint8_t *out = malloc(bytes);
        ocelli_error err = {0};
        cr_assert_eq(oc_resize(out, width, height, image, pool, &err), OCELLI_OK, "%s",
                     err.message);
        char digest[33];
        md5_text(digest, out, bytes);
        cr_assert_str_eq(digest, SHAPES[i].digest, "%d x %d to %d x %d", SHAPES[i].width,
                         SHAPES[i].height, width, height);
        free(out);
        oc_image_free(image);
    }
}

Test(resize, shapes_at_the_edges)
{
    check_shapes(NULL);
}

Test(resize, threads_do_not_matter)
{
    oc_pool *pool;
    cr_assert_eq(oc_pool_open(&pool, 3, NULL), OCELLI_OK);
    check_shapes(pool);
    oc_pool_close(pool);
}

Test(resize, flat_pictures_stay_flat)
{
    for (int level = 0; level < 256; level += 51) {
        ocelli_image *image;
        cr_assert_eq(oc_image_new(&image, 37, 23, NULL), OCELLI_OK);
        memset(image->rgb, level, pixel_bytes(image));
        uint8_t out[11 * 90 * 3];
        cr_assert_eq(oc_resize(out, 11, 90, image, NULL, NULL), OCELLI_OK);
        for (size_t i = 0; i < sizeof out; i++) {
            cr_assert_eq(out[i], level);
        }
        oc_image_free(image);
    }
}

Test(resize, sizes_below_one_are_refused)
{
    ocelli_image *image = make_noise(4, 4, 1);
    uint8_t out[48];
    cr_assert_eq(oc_resize(out, 0, 4, image, NULL, NULL), OCELLI_E_ARGUMENT);
    cr_assert_eq(oc_resize(out, 4, -4, image, NULL, NULL), OCELLI_E_ARGUMENT);
    oc_image_free(image);
}
