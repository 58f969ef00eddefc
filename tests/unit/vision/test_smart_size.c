/* test_smart_size.c - the reference's answers, its refusals, and sizes beyond sense. */
#include "tests/unit/vision/vision_fixture.h"

#include "vision/smart_size.h"

#include <limits.h>

static void check(const char *name, bool video)
{
    cJSON *list = read_json(GOLDEN "functions/", name);
    const cJSON *entry;
    int count = 0, refusals = 0;
    cJSON_ArrayForEach(entry, list)
    {
        oc_size_rule rule = {.factor = (int)number_at(entry, "factor"),
                             .temporal = video ? (int)number_at(entry, "temporal_factor") : 2,
                             .min_pixels = (uint64_t)number_at(entry, "min_pixels"),
                             .max_pixels = (uint64_t)number_at(entry, "max_pixels")};
        int height = (int)number_at(entry, "h"), width = (int)number_at(entry, "w");
        int out_height = -1, out_width = -1;
        ocelli_error err = {0};
        ocelli_status status =
            video ? oc_smart_size_video(&rule, (size_t)number_at(entry, "frames"), height, width,
                                        &out_height, &out_width, &err)
                  : oc_smart_size_image(&rule, height, width, &out_height, &out_width, &err);
        const cJSON *expected = cJSON_GetObjectItemCaseSensitive(entry, "out");
        if (cJSON_IsArray(expected)) {
            cr_assert_eq(status, OCELLI_OK, "%s", err.message);
            cr_assert_eq(out_height, cJSON_GetArrayItem(expected, 0)->valueint, "%d x %d", height,
                         width);
            cr_assert_eq(out_width, cJSON_GetArrayItem(expected, 1)->valueint, "%d x %d", height,
                         width);
        } else {
            cr_assert_eq(status, OCELLI_E_LIMIT, "%d x %d", height, width);
            cr_assert(out_height == 0 && out_width == 0);
            refusals++;
        }
        count++;
    }
    cr_assert_gt(count, 50);
    cr_assert_gt(refusals, 0);
    cJSON_Delete(list);
}

Test(smart_size, pictures_of_the_reference)
{
    check("smart_resize_image.json", false);
}

Test(smart_size, clips_of_the_reference)
{
    check("smart_resize_video.json", true);
}

static const oc_size_rule RULE = {
    .factor = 32, .temporal = 2, .min_pixels = 65536, .max_pixels = 16777216};

Test(smart_size, refusals_name_both_sides_and_the_limit)
{
    int height, width;
    ocelli_error err = {0};
    cr_assert_eq(oc_smart_size_image(&RULE, 5, 1005, &height, &width, &err), OCELLI_E_LIMIT);
    cr_assert_not_null(strstr(err.message, "1005 x 5"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "200"));
    cr_assert_eq(oc_smart_size_image(&RULE, 5, 1000, &height, &width, &err), OCELLI_OK);
    cr_assert_eq(oc_smart_size_video(&RULE, 3, 31, 64, &height, &width, &err), OCELLI_E_LIMIT);
    cr_assert_not_null(strstr(err.message, "64 x 31"), "%s", err.message);
    cr_assert_not_null(strstr(err.message, "32"));
}

Test(smart_size, frames_may_be_sized_as_pictures)
{
    int height, width, alone_height, alone_width;
    oc_size_rule rule = {.factor = 28, .temporal = 2, .min_pixels = 3136, .max_pixels = 602112};
    cr_assert_eq(oc_smart_size_image(&rule, 720, 1280, &alone_height, &alone_width, NULL),
                 OCELLI_OK);
    rule.by_frame = true;
    cr_assert_eq(oc_smart_size_video(&rule, 768, 720, 1280, &height, &width, NULL), OCELLI_OK);
    cr_assert(height == alone_height && width == alone_width && height == 560 && width == 1008);
    /* No least side of a frame. */
    cr_assert_eq(oc_smart_size_video(&rule, 2, 20, 60, &height, &width, NULL), OCELLI_OK);
    cr_assert_eq(oc_smart_size_video(&rule, 2, 5, 1005, &height, &width, NULL), OCELLI_E_LIMIT);
}

Test(smart_size, no_picture_has_zero_tokens)
{
    oc_size_rule rule = {.factor = 32, .temporal = 2, .min_pixels = 0, .max_pixels = 1000000};
    int height, width;
    cr_assert_eq(oc_smart_size_image(&rule, 3, 40, &height, &width, NULL), OCELLI_OK);
    cr_assert_eq(height, 32);
    cr_assert_eq(width, 32);
    rule.max_pixels = 1;
    cr_assert_eq(oc_smart_size_image(&rule, 300, 400, &height, &width, NULL), OCELLI_OK);
    cr_assert_eq(height, 32);
    cr_assert_eq(width, 32);
}

Test(smart_size, absurd_sizes_do_not_overflow)
{
    int height, width;
    ocelli_error err = {0};
    cr_assert_eq(oc_smart_size_image(&RULE, INT_MAX, INT_MAX, &height, &width, &err), OCELLI_OK);
    cr_assert(height == 4096 && width == 4096, "%d x %d", height, width);
    cr_assert_eq(oc_smart_size_video(&RULE, SIZE_MAX, INT_MAX, INT_MAX, &height, &width, &err),
                 OCELLI_OK);
    cr_assert(height == 32 && width == 32, "%d x %d", height, width);
    oc_size_rule rule = RULE;
    rule.min_pixels = rule.max_pixels = UINT64_MAX;
    cr_assert_eq(oc_smart_size_image(&rule, 10, 10, &height, &width, &err), OCELLI_E_LIMIT);
    cr_assert_eq(height, 0);
    rule.min_pixels = 0;
    cr_assert_eq(oc_smart_size_image(&rule, 10, 10, &height, &width, &err), OCELLI_OK);
}

Test(smart_size, arguments_are_checked)
{
    int height, width;
    oc_size_rule rule = RULE;
    cr_assert_eq(oc_smart_size_image(&rule, 0, 10, &height, &width, NULL), OCELLI_E_ARGUMENT);
    cr_assert_eq(oc_smart_size_video(&rule, 0, 40, 40, &height, &width, NULL), OCELLI_E_ARGUMENT);
    rule.factor = 0;
    cr_assert_eq(oc_smart_size_image(&rule, 10, 10, &height, &width, NULL), OCELLI_E_ARGUMENT);
}
