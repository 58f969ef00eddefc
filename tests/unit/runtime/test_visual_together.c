/* Pictures encoded in one call have the rows they have alone: of one size and of several, once and
 * twice; and what one refuses, the call refuses as a whole. */
#include "tests/unit/runtime/talk.h"

#include <stdio.h>
#include <string.h>

enum { COUNT = 7 };

static void load(ocelli_image *images[COUNT])
{
    /* 1, 4 and 8 have one size, too large for one pass; 2 comes twice. */
    static const int names[COUNT] = {1, 2, 5, 10, 4, 2, 8};
    for (size_t i = 0; i < COUNT; i++) {
        char path[512];
        ocelli_error err;
        snprintf(path, sizeof path, OCELLI_SAMPLES "/pictures/picture%02d.png", names[i]);
        cr_assert_eq(ocelli_image_load(&images[i], path, NULL, &err), OCELLI_OK, "%s", err.message);
    }
}

static void check_same(const ocelli_visual *together, const ocelli_visual *alone, size_t which)
{
    size_t tokens, width, expected_tokens, expected_width;
    const float *rows = ocelli_visual_rows(together, &tokens, &width);
    const float *expected = ocelli_visual_rows(alone, &expected_tokens, &expected_width);
    cr_assert_eq(tokens, expected_tokens);
    cr_assert_eq(width, expected_width);
    cr_assert_arr_eq(rows, expected, tokens * width * sizeof *rows, "picture %zu", which);
    for (size_t tap = 0; (expected = ocelli_visual_deepstack(alone, tap, NULL, NULL)) != NULL;
         tap++) {
        rows = ocelli_visual_deepstack(together, tap, NULL, NULL);
        cr_assert_arr_eq(rows, expected, tokens * width * sizeof *rows, "picture %zu, tap %zu",
                         which, tap);
    }
}

Test(together, pictures_have_the_rows_they_have_alone)
{
    ocelli_error err;
    ocelli_image *images[COUNT];
    ocelli_visual *visuals[COUNT];
    ocelli_model *model = open_model(OCELLI_SAMPLES "/model", OCELLI_QUANT_Q8);
    load(images);
    cr_assert_eq(ocelli_encode_images(visuals, model, (const ocelli_image *const *)images, COUNT,
                                      NULL, &err),
                 OCELLI_OK, "%s", err.message);
    for (size_t i = 0; i < COUNT; i++) {
        ocelli_visual *alone;
        cr_assert_eq(ocelli_encode_image(&alone, model, images[i], NULL, &err), OCELLI_OK);
        check_same(visuals[i], alone, i);
        ocelli_visual_free(alone);
    }
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_visual_describe(visuals[0], &info);
    cr_assert_gt(info.encode_seconds, 0);
    for (size_t i = 0; i < COUNT; i++) {
        ocelli_visual_free(visuals[i]);
    }

    /* One that the size rule refuses: none is encoded. */
    uint8_t line[3 * 300];
    memset(line, 7, sizeof line);
    ocelli_image_free(images[3]);
    cr_assert_eq(ocelli_image_from_rgb(&images[3], line, 300, 1, sizeof line, &err), OCELLI_OK);
    cr_assert_eq(ocelli_encode_images(visuals, model, (const ocelli_image *const *)images, COUNT,
                                      NULL, &err),
                 OCELLI_E_LIMIT);
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert_null(visuals[i]);
        ocelli_image_free(images[i]);
    }
    ocelli_model_close(model);
}
