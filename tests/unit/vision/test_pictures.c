/* test_pictures.c - every picture of tests/pictures: exactly the right pixels, or a refusal in the
 * right words. And the goldens of the reference's own loader. */
#include "tests/unit/vision/md5.h"
#include "tests/unit/vision/vision_fixture.h"

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

static void expect_refusal(const cJSON *entry)
{
    const char *name = text_at(entry, "file"), *says = text_at(entry, "says");
    size_t size;
    char *bytes = read_under(PICTURES, name, &size);
    ocelli_image_options options = options_of(entry);
    ocelli_image *image = (ocelli_image *)&options; /* must be overwritten */
    ocelli_error err = {0};
    ocelli_status status = oc_image_decode(&image, bytes, size, name, &options, &err);
    oc_free(bytes);
    cr_assert_eq(status, status_of(text_at(entry, "refused")), "%s: %d %s", name, (int)status,
                 err.message);
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
        if (text_at(entry, "refused") != NULL) {
            expect_refusal(entry);
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
