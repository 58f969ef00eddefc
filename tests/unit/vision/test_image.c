/* test_image.c - options, limits and small hand-made pictures: what files of others do not cover. */
#include "tests/unit/vision/vision_fixture.h"

#include "vision/alpha.h"
#include "vision/turn.h"

static ocelli_status decode(ocelli_image **out, const void *bytes, size_t size,
                            const ocelli_image_options *options, ocelli_error *err)
{
    return oc_image_decode(out, bytes, size, "x", options, err);
}

Test(image, limit_is_the_product_of_the_sides)
{
    size_t size;
    char *bytes = read_under(PICTURES, "made/good.png", &size); /* 256 x 192 */
    ocelli_image_options options = OCELLI_IMAGE_OPTIONS_INIT;
    ocelli_image *image;
    ocelli_error err = {0};
    options.max_pixels = 256 * 192;
    cr_assert_eq(decode(&image, bytes, size, &options, &err), OCELLI_OK);
    oc_image_free(image);
    options.max_pixels--;
    cr_assert_eq(decode(&image, bytes, size, &options, &err), OCELLI_E_LIMIT);
    cr_assert_not_null(strstr(err.message, "256 x 192"));
    cr_assert_not_null(strstr(err.message, "49151"));
    oc_free(bytes);
}

Test(image, turned_size_is_reported)
{
    ocelli_image *image = decode_under(PICTURES, "exif/Portrait_6.jpg", NULL);
    cr_assert_eq(image->width, 1200);
    cr_assert_eq(image->height, 1800);
    oc_image_free(image);
}

Test(image, options_of_an_older_caller_keep_defaults)
{
    struct {
        size_t struct_size;
        uint64_t max_pixels;
    } old = {sizeof old, 1000000};
    size_t size;
    char *bytes = read_under(PICTURES, "made/all_transparent.png", &size);
    ocelli_image *image;
    ocelli_error err = {0};
    union {
        const void *given;
        const ocelli_image_options *taken;
    } options = {&old};
    cr_assert_eq(decode(&image, bytes, size, options.taken, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(image->rgb[0], 255); /* on white */
    oc_image_free(image);
    oc_free(bytes);
}

Test(image, unknown_alpha_is_an_argument_error)
{
    ocelli_image_options options = OCELLI_IMAGE_OPTIONS_INIT;
    options.alpha = (ocelli_alpha)7;
    ocelli_image *image;
    ocelli_error err = {0};
    cr_assert_eq(decode(&image, "P5 1 1 255 x", 12, &options, &err), OCELLI_E_ARGUMENT);
    cr_assert_null(image);
}

Test(image, background_shows_through)
{
    size_t size;
    char *bytes = read_under(PICTURES, "made/all_transparent.png", &size);
    ocelli_image_options options = OCELLI_IMAGE_OPTIONS_INIT;
    options.background[0] = 1;
    options.background[1] = 2;
    options.background[2] = 3;
    ocelli_image *image;
    cr_assert_eq(decode(&image, bytes, size, &options, NULL), OCELLI_OK);
    for (size_t i = 0; i < pixel_bytes(image); i++) {
        cr_assert_eq(image->rgb[i], 1 + i % 3);
    }
    oc_image_free(image);
    oc_free(bytes);
}

/* round(value x alpha / 255 + background x (255 - alpha) / 255) for every value there is: the seven
 * extra bits make the reference's rounding that one. */
Test(image, alpha_rounds_to_nearest)
{
    const int backgrounds[3] = {0, 255, 77};
    for (int which = 0; which < 3; which++) {
        for (int value = 0; value < 256; value++) {
            for (int alpha = 0; alpha < 256; alpha++) {
                int sum = value * alpha + backgrounds[which] * (255 - alpha);
                int expected = (sum + 127) / 255;
                int got =
                    oc_alpha_blend((uint8_t)value, (uint8_t)alpha, (uint8_t)backgrounds[which]);
                cr_assert_eq(got, expected, "%d at %d on %d: %d, not %d", value, alpha,
                             backgrounds[which], got, expected);
            }
        }
    }
}

Test(image, new_pictures_are_black_and_sizes_checked)
{
    ocelli_image *image;
    ocelli_error err = {0};
    cr_assert_eq(oc_image_new(&image, 3, 2, &err), OCELLI_OK);
    for (size_t i = 0; i < 18; i++) {
        cr_assert_eq(image->rgb[i], 0);
    }
    oc_image_free(image);
    cr_assert_eq(oc_image_new(&image, 0, 2, &err), OCELLI_E_ARGUMENT);
    cr_assert_null(image);
    cr_assert_eq(oc_image_new(&image, 2, -1, &err), OCELLI_E_ARGUMENT);
    oc_image_free(NULL);
}

Test(image, hash_tells_shapes_apart)
{
    ocelli_image *wide, *tall, *again;
    cr_assert_eq(oc_image_new(&wide, 6, 2, NULL), OCELLI_OK);
    cr_assert_eq(oc_image_new(&tall, 2, 6, NULL), OCELLI_OK);
    cr_assert_eq(oc_image_new(&again, 6, 2, NULL), OCELLI_OK);
    cr_assert(oc_hash_equal(oc_image_hash(wide), oc_image_hash(again)));
    cr_assert_not(oc_hash_equal(oc_image_hash(wide), oc_image_hash(tall)));
    again->rgb[35] = 1;
    cr_assert_not(oc_hash_equal(oc_image_hash(wide), oc_image_hash(again)));
    oc_image_free(wide);
    oc_image_free(tall);
    oc_image_free(again);
}

/* The picture  a b c   stands upright after turning as EXIF's table says.
 *              d e f                                                        */
Test(image, all_eight_orientations)
{
    static const char *const EXPECTED[9] = {NULL,     "abcdef", "cbafed", "fedcba", "defabc",
                                            "adbecf", "daebfc", "fcebda", "cfbead"};
    for (int orientation = 1; orientation <= 8; orientation++) {
        ocelli_image *image;
        cr_assert_eq(oc_image_new(&image, 3, 2, NULL), OCELLI_OK);
        for (int i = 0; i < 6; i++) {
            memset(image->rgb + 3 * i, 'a' + i, 3);
        }
        cr_assert_eq(oc_image_turn(image, orientation, NULL), OCELLI_OK);
        cr_assert_eq(image->width, orientation < 5 ? 3 : 2);
        cr_assert_eq(image->height, orientation < 5 ? 2 : 3);
        for (int i = 0; i < 18; i++) {
            cr_assert_eq(image->rgb[i], EXPECTED[orientation][i / 3], "orientation %d",
                         orientation);
        }
        oc_image_free(image);
    }
}

/* Larger than a tile, so that its edges are crossed. */
Test(image, turning_twice_gives_the_picture_back)
{
    static const int INVERSE[9] = {0, 1, 2, 3, 4, 5, 8, 7, 6};
    for (int orientation = 1; orientation <= 8; orientation++) {
        ocelli_image *image = decode_under(PICTURES, "pngsuite/PngSuite.png", NULL);
        ocelli_image *same = decode_under(PICTURES, "pngsuite/PngSuite.png", NULL);
        image->height = same->height = 199;
        cr_assert_eq(oc_image_turn(image, orientation, NULL), OCELLI_OK);
        cr_assert_eq(oc_image_turn(image, INVERSE[orientation], NULL), OCELLI_OK);
        cr_assert_arr_eq(image->rgb, same->rgb, pixel_bytes(same));
        oc_image_free(image);
        oc_image_free(same);
    }
}

/* A PNG without its end chunk, or with other bytes behind its pixels, has all its pixels. */
Test(image, png_without_end_chunk)
{
    size_t size;
    char *bytes = read_under(PICTURES, "pngsuite/basn2c08.png", &size);
    ocelli_image *whole = decode_under(PICTURES, "pngsuite/basn2c08.png", NULL);
    ocelli_image *image;
    ocelli_error err = {0};
    cr_assert_eq(decode(&image, bytes, size - 12, NULL, &err), OCELLI_OK, "%s", err.message);
    cr_assert_arr_eq(image->rgb, whole->rgb, pixel_bytes(whole));
    oc_image_free(image);
    memset(bytes + size - 12, 7, 12);
    cr_assert_eq(decode(&image, bytes, size, NULL, &err), OCELLI_OK, "%s", err.message);
    cr_assert_arr_eq(image->rgb, whole->rgb, pixel_bytes(whole));
    oc_image_free(image);
    oc_image_free(whole);
    oc_free(bytes);
}

/* No prefix of a picture crashes or gives pixels before they are all there. */
Test(image, every_cut_is_refused)
{
    static const struct {
        const char *name;
        size_t missing; /* bytes at the end that pixels do not need */
    } FILES[] = {{"pngsuite/basn6a08.png", 12},
                 {"pngsuite/basi3p04.png", 12},
                 {"made/bmp24.bmp", 0},
                 {"made/grey.jpg", 0}};
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        size_t size;
        char *bytes = read_under(PICTURES, FILES[i].name, &size);
        for (size_t cut = 0; cut + FILES[i].missing < size; cut++) {
            /* Exactly so many bytes, for AddressSanitizer to watch the end. */
            char *prefix = malloc(cut + 1);
            memcpy(prefix, bytes, cut);
            prefix = realloc(prefix, cut > 0 ? cut : 1);
            ocelli_image *image;
            ocelli_error err = {0};
            ocelli_status status = decode(&image, prefix, cut, NULL, &err);
            free(prefix);
            if (status == OCELLI_OK) {
                /* The last row's padding of a BMP, or a checksum's bytes. */
                cr_assert(size - cut <= FILES[i].missing + 4, "%s at %zu", FILES[i].name, cut);
                oc_image_free(image);
            } else {
                cr_assert_neq(err.message[0], '\0');
            }
        }
        oc_free(bytes);
    }
}
