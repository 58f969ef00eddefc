/* test_pnm.c - all six kinds of PNM, their comments and scales, and damaged ones. */
#include "tests/unit/vision/vision_fixture.h"

#define BYTES(literal) literal, sizeof literal - 1

static ocelli_status decode(ocelli_image **out, const char *bytes, size_t size, ocelli_error *err)
{
    char *exact = malloc(size);
    memcpy(exact, bytes, size);
    ocelli_status status = oc_image_decode(out, exact, size, "x.pnm", NULL, err);
    free(exact);
    return status;
}

/* expected: width x height pixels, three samples each if colour, else one. */
static void expect(const char *bytes, size_t size, int width, int height, bool colour,
                   const uint8_t *expected)
{
    ocelli_image *image;
    ocelli_error err = {0};
    cr_assert_eq(decode(&image, bytes, size, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(image->width, width);
    cr_assert_eq(image->height, height);
    for (size_t i = 0; i < pixel_bytes(image); i++) {
        cr_assert_eq(image->rgb[i], expected[colour ? i : i / 3], "%.9s: sample %zu is %d", bytes,
                     i, image->rgb[i]);
    }
    oc_image_free(image);
}

static void refuse(const char *bytes, size_t size, ocelli_status status, const char *says)
{
    ocelli_image *image;
    ocelli_error err = {0};
    cr_assert_eq(decode(&image, bytes, size, &err), status, "%.20s: %s", bytes, err.message);
    cr_assert_null(image);
    cr_assert_not_null(strstr(err.message, says), "%s", err.message);
}

Test(pnm, bits)
{
    const uint8_t expected[6] = {255, 0, 255, 0, 0, 255};
    expect(BYTES("P1 3 2 010110"), 3, 2, false, expected);
    expect(BYTES("P1\n# why\n3 2\n0 1 0\n1 1 0\n"), 3, 2, false, expected);
    expect(BYTES("P4\n3 2\n\x40\xC0"), 3, 2, false, expected);
    const uint8_t wide[9] = {0, 255, 255, 255, 255, 255, 255, 255, 0};
    expect(BYTES("P4 9 1 \x80\x80"), 9, 1, false, wide);
}

Test(pnm, greys_and_colours)
{
    expect(BYTES("P2 3 1 255 0 128 255"), 3, 1, false, (const uint8_t[]){0, 128, 255});
    expect(BYTES("P5 3 1 255\n\0\x80\xFF"), 3, 1, false, (const uint8_t[]){0, 128, 255});
    expect(BYTES("P3 2 1 255 1 2 3 4 5 6"), 2, 1, true, (const uint8_t[]){1, 2, 3, 4, 5, 6});
    expect(BYTES("P6\t2\n1\r255 \1\2\3\4\5\6 and more"), 2, 1, true,
           (const uint8_t[]){1, 2, 3, 4, 5, 6});
}

/* round(value / most x 255), half to even: 25.5 is 26, 76.5 is 76. */
Test(pnm, other_scales)
{
    expect(BYTES("P5 3 1 10 \1\3\x0A"), 3, 1, false, (const uint8_t[]){26, 76, 255});
    expect(BYTES("P5 2 1 65535 \x80\0\xFF\xFF"), 2, 1, false, (const uint8_t[]){128, 255});
    expect(BYTES("P5 2 1 10 \x0B\xFF"), 2, 1, false, (const uint8_t[]){255, 255});
    expect(BYTES("P2 2 1 1 0 1"), 2, 1, false, (const uint8_t[]){0, 255});
}

Test(pnm, damaged)
{
    refuse(BYTES("P6 2 1 255 \1\2\3\4\5"), OCELLI_E_FORMAT, "cut off");
    refuse(BYTES("P6 2 1 255"), OCELLI_E_FORMAT, "cut off");
    refuse(BYTES("P6 2"), OCELLI_E_FORMAT, "cut off");
    refuse(BYTES("P3 2 1 255 1 2 3 4 5 "), OCELLI_E_FORMAT, "cut off");
    refuse(BYTES("P3 2 1 255 1 2 3 4 5 999"), OCELLI_E_FORMAT, "above");
    refuse(BYTES("P1 2 1 02"), OCELLI_E_FORMAT, "neither");
    refuse(BYTES("P2 2 1 255 1 x"), OCELLI_E_FORMAT, "number");
    refuse(BYTES("P5 -2 1 255 ab"), OCELLI_E_FORMAT, "number");
    refuse(BYTES("P5 9999999999 1 255 ab"), OCELLI_E_FORMAT, "too long");
    refuse(BYTES("P5 999999999 999999999 255 ab"), OCELLI_E_LIMIT, "999999999");
    refuse(BYTES("P5 9000 9000 255 ab"), OCELLI_E_FORMAT, "cut off");
    refuse(BYTES("P5 0 1 255 ab"), OCELLI_E_FORMAT, "0 x 1");
    refuse(BYTES("P5 1 1 0 a"), OCELLI_E_FORMAT, "largest");
    refuse(BYTES("P5 1 1 65536 aa"), OCELLI_E_FORMAT, "largest");
}
