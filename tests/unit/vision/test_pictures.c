/* test_pictures.c - every picture of tests/pictures: exactly the right pixels, or a refusal in the
 * right words. And the goldens of the reference's own loader. */
#define _POSIX_C_SOURCE 200809L

#include "tests/unit/vision/md5.h"
#include "tests/unit/vision/vision_fixture.h"

#include "vision/decode.h"
#include "vision/resize.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static ocelli_image_options options_of(const cJSON *entry)
{
    ocelli_image_options options = OCELLI_IMAGE_OPTIONS_INIT;
    if (text_at(entry, "alpha") != NULL) {
        cr_assert_str_eq(text_at(entry, "alpha"), "drop");
        options.alpha = OCELLI_ALPHA_DROP;
    }
    return options;
}

static ocelli_status status_of(const char *name)
{
    if (strcmp(name, "format") == 0) {
        return OCELLI_E_FORMAT;
    }
    if (strcmp(name, "limit") == 0) {
        return OCELLI_E_LIMIT;
    }
    cr_assert_str_eq(name, "unsupported");
    return OCELLI_E_UNSUPPORTED;
}

/* Whether this build has the decoder that the entry needs. */
static bool is_readable(const cJSON *entry)
{
    char word[16];
    const char *needs = text_at(entry, "needs");
    if (needs == NULL) {
        return true;
    }
    snprintf(word, sizeof word, " %s", needs);
    return strstr(OC_IMAGE_FORMATS, word) != NULL;
}

/* Without its decoder a picture is refused by naming what it takes. */
static void expect_refusal(const cJSON *entry, const char *kind, const char *says)
{
    const char *name = text_at(entry, "file");
    size_t size;
    char *bytes = read_under(PICTURES, name, &size);
    ocelli_image_options options = options_of(entry);
    ocelli_image *image = (ocelli_image *)&options; /* must be overwritten */
    ocelli_error err = {0};
    ocelli_status status = oc_image_decode(&image, bytes, size, name, &options, &err);
    oc_free(bytes);
    cr_assert_eq(status, status_of(kind), "%s: %d %s", name, (int)status, err.message);
    cr_assert_eq(err.status, status);
    cr_assert_null(image);
    cr_assert_not_null(strstr(err.message, says), "\"%s\" does not say \"%s\"", err.message, says);
    cr_assert_eq(strncmp(err.message, name, strlen(name)), 0, "%s", err.message);
    cr_assert_null(strchr(err.message, '\n'));
}

static void expect_pixels(const cJSON *entry)
{
    const char *name = text_at(entry, "file");
    ocelli_image_options options = options_of(entry);
    ocelli_image *image = decode_under(PICTURES, name, &options);
    const char *other = text_at(entry, "same_as");
    if (other != NULL) {
        ocelli_image *same = decode_under(PICTURES, other, NULL);
        cr_assert(image->width == same->width && image->height == same->height, "%s", name);
        cr_assert_arr_eq(image->rgb, same->rgb, pixel_bytes(same), "%s is not %s", name, other);
        oc_image_free(same);
    } else {
        const cJSON *size = cJSON_GetObjectItemCaseSensitive(entry, "size");
        cr_assert_eq(image->width, cJSON_GetArrayItem(size, 0)->valueint, "%s", name);
        cr_assert_eq(image->height, cJSON_GetArrayItem(size, 1)->valueint, "%s", name);
    }
    if (text_at(entry, "md5") != NULL) {
        char digest[33];
        md5_text(digest, image->rgb, pixel_bytes(image));
        cr_assert_str_eq(digest, text_at(entry, "md5"), "%s has other pixels", name);
    }
    oc_image_free(image);
}

Test(pictures, md5_is_right)
{
    char digest[33];
    md5_text(digest, "", 0);
    cr_assert_str_eq(digest, "d41d8cd98f00b204e9800998ecf8427e");
    const char *text =
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890";
    md5_text(digest, text, strlen(text));
    cr_assert_str_eq(digest, "57edf4a22be3c955ac49da2e2107b67a");
}

Test(pictures, all_of_the_index)
{
    cJSON *index = read_json(PICTURES, "index.json");
    const cJSON *entry;
    int count = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(index, "pictures"))
    {
        if (!is_readable(entry)) {
            expect_refusal(entry, "unsupported", "=ON");
        } else if (text_at(entry, "refused") != NULL) {
            expect_refusal(entry, text_at(entry, "refused"), text_at(entry, "says"));
        } else {
            expect_pixels(entry);
        }
        count++;
    }
    cr_assert_gt(count, 300);
    cJSON_Delete(index);
}

/* What the reference's loader gives: EXIF applied, alpha dropped. */
Test(pictures, goldens_of_the_reference)
{
    cJSON *list = read_json(GOLDEN "functions/", "decode.json");
    ocelli_image_options options = OCELLI_IMAGE_OPTIONS_INIT;
    options.alpha = OCELLI_ALPHA_DROP;
    const cJSON *entry;
    int count = 0;
    cJSON_ArrayForEach(entry, list)
    {
        const char *name = text_at(entry, "file");
        char *file;
        size_t expected_count;
        const uint8_t *expected =
            read_npy(&file, GOLDEN "functions/", text_at(entry, "rgb"), "u1", 1, &expected_count);
        ocelli_image *image = decode_under(GOLDEN "functions/", name, &options);
        const cJSON *shape = cJSON_GetObjectItemCaseSensitive(entry, "shape");
        cr_assert_eq(image->height, cJSON_GetArrayItem(shape, 0)->valueint);
        cr_assert_eq(image->width, cJSON_GetArrayItem(shape, 1)->valueint);
        cr_assert_eq(pixel_bytes(image), expected_count);
        cr_assert_arr_eq(image->rgb, expected, expected_count, "%s", name);
        oc_image_free(image);
        oc_free(file);
        count++;
    }
    cr_assert_eq(count, 15);
    cJSON_Delete(list);
}

/* JPEG's two decoders, ours and the library's in front of it: the same pixels, or the same refusal. */
Test(pictures, jpeg_by_both_decoders)
{
    cJSON *index = read_json(PICTURES, "index.json");
    const cJSON *entry;
    int compared = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(index, "pictures"))
    {
        const char *name = text_at(entry, "file");
        size_t size;
        char *bytes = read_under(PICTURES, name, &size);
        ocelli_image *one, *other;
        ocelli_error err = {0}, other_err = {0};
        const char *format = ocelli_image_format(bytes, size);
        if (format != NULL && strcmp(format, "jpeg") == 0) {
            const oc_decode_input in = {.bytes = (const unsigned char *)bytes,
                                        .size = size,
                                        .name = name,
                                        .options = OCELLI_IMAGE_OPTIONS_INIT};
            ocelli_status status = oc_decode_jpeg(&one, &in, &err);
            cr_assert_eq(status, oc_decode_jpeg_plain(&other, &in, &other_err), "%s", name);
            cr_assert_str_eq(err.message, other_err.message);
            if (status == OCELLI_OK) {
                cr_assert(one->width == other->width && one->height == other->height, "%s", name);
                bool fixed = text_at(entry, "md5") != NULL || text_at(entry, "same_as") != NULL;
                if (fixed) { /* else it is damaged, and what it shows is anyone's */
                    cr_assert_arr_eq(one->rgb, other->rgb, pixel_bytes(one), "%s", name);
                    compared++;
                }
            }
            oc_image_free(one);
            oc_image_free(other);
        }
        oc_free(bytes);
    }
    cr_assert_geq(compared, 40, "%d", compared);
    cJSON_Delete(index);
}

/* A photo decoded smaller and then resized is nearly the photo resized; its size stays told. */
Test(pictures, jpeg_decoded_smaller)
{
    enum { WIDTH = 288, HEIGHT = 192 };
    static uint8_t exact[HEIGHT * WIDTH * 3], fast[HEIGHT * WIDTH * 3];
    static const char *const name = "exif/Landscape_3.jpg"; /* 1800 x 1200 */
    ocelli_image_options options = OCELLI_IMAGE_OPTIONS_INIT;
    ocelli_image *whole = decode_under(PICTURES, name, NULL);
    ocelli_error err = {0};
    options.enough_pixels = WIDTH * HEIGHT;
    ocelli_image *less = decode_under(PICTURES, name, &options);
    int width, height;
    ocelli_image_size(less, &width, &height);
    cr_assert(width == 1800 && height == 1200);
    if (strstr(OC_IMAGE_FORMATS, "libjpeg") != NULL) {
        cr_assert(less->width == 900 && less->height == 600, "%d x %d", less->width, less->height);
        cr_assert_null(ocelli_image_pixels(less));
    }
    cr_assert_eq(oc_resize(exact, WIDTH, HEIGHT, whole, NULL, &err), OCELLI_OK);
    cr_assert_eq(oc_resize(fast, WIDTH, HEIGHT, less, NULL, &err), OCELLI_OK);
    double sum = 0;
    int most = 0;
    for (size_t i = 0; i < sizeof exact; i++) {
        int difference = abs(exact[i] - fast[i]);
        most = difference > most ? difference : most;
        sum += difference;
    }
    cr_assert(sum / sizeof exact < 0.5 && most <= 12, "mean %g, most %d", sum / sizeof exact, most);
    oc_image_free(less);
    /* Where it would be too few, nothing changes: the pixels are the reference's. */
    options.enough_pixels = 900 * 600 / 4 + 1;
    less = decode_under(PICTURES, name, &options);
    cr_assert_eq(pixel_bytes(less), pixel_bytes(whole));
    cr_assert_arr_eq(less->rgb, whole->rgb, pixel_bytes(whole));
    oc_image_free(less);
    oc_image_free(whole);
}

/* What a file claims is refused in front of any allocation that grows with it. */
Test(pictures, claims_are_refused_at_once)
{
    static const char *const files[] = {"claims_20000.gif",  "claims_16383.webp",
                                        "claims_20000.webp", "claims_20000.avif",
                                        "claims_20000.heic", "claims_20000.tif"};
    struct rlimit before, tight;
    cr_assert_eq(getrlimit(RLIMIT_AS, &before), 0);
#if !defined(__SANITIZE_ADDRESS__)
    tight = before;
    tight.rlim_cur = (rlim_t)900 << 20; /* a picture of 20000 x 20000 is 1200 MB */
    cr_assert_eq(setrlimit(RLIMIT_AS, &tight), 0);
#else
    (void)tight;
#endif
    ocelli_image_options options = OCELLI_IMAGE_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t size;
        ocelli_image *image;
        ocelli_error err = {0};
        char *bytes = read_under(PICTURES "formats/", files[i], &size);
        ocelli_status status = oc_image_decode(&image, bytes, size, files[i], &options, &err);
        cr_assert(status == OCELLI_E_LIMIT || status == OCELLI_E_UNSUPPORTED, "%s", err.message);
        cr_assert_null(image);
        oc_free(bytes);
    }
    cr_assert_eq(setrlimit(RLIMIT_AS, &before), 0);
}
