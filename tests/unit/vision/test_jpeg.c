/* test_jpeg.c - the inverse DCT against its definition, and which files are refused for their
 * markers. Whole pictures are compared in test_pictures.c. */
#include "tests/unit/vision/vision_fixture.h"

#include "vision/jpeg_check.h"

#include <math.h>

/* Straight from the definition, in double. */
static double idct_at(const short coefficients[64], int x, int y)
{
    double sum = 0;
    for (int v = 0; v < 8; v++) {
        for (int u = 0; u < 8; u++) {
            double scale = (u == 0 ? sqrt(0.5) : 1) * (v == 0 ? sqrt(0.5) : 1) / 4;
            sum += scale * coefficients[8 * v + u] * cos((2 * x + 1) * u * acos(-1.0) / 16) *
                   cos((2 * y + 1) * v * acos(-1.0) / 16);
        }
    }
    return sum + 128;
}

Test(jpeg, inverse_dct_is_the_definition)
{
    uint32_t state = 7;
    for (int round = 0; round < 200; round++) {
        short coefficients[64];
        for (int i = 0; i < 64; i++) {
            state = state * 1664525u + 1013904223u;
            int most = i == 0 ? 1000 : 1 + 400 / (1 + i);
            coefficients[i] = (short)((int)(state >> 8) % (2 * most + 1) - most);
            if (round % 3 == 0 && i % 8 != 0) {
                coefficients[i] = 0; /* flat columns */
            }
        }
        uint8_t out[8 * 11];
        oc_jpeg_idct(out, 11, coefficients);
        for (int y = 0; y < 8; y++) {
            for (int x = 0; x < 8; x++) {
                double exact = fmin(fmax(idct_at(coefficients, x, y), 0), 255);
                cr_assert_float_eq(out[11 * y + x], exact, 0.6, "round %d at %d, %d: %d, not %f",
                                   round, x, y, out[11 * y + x], exact);
            }
        }
    }
}

Test(jpeg, inverse_dct_takes_any_coefficients)
{
    short coefficients[64];
    for (int i = 0; i < 64; i++) {
        coefficients[i] = i % 3 == 0 ? INT16_MIN : INT16_MAX;
    }
    uint8_t out[64];
    oc_jpeg_idct(out, 8, coefficients); /* nothing to compare: sanitizers watch */
    memset(coefficients, 0, sizeof coefficients);
    coefficients[0] = INT16_MAX;
    oc_jpeg_idct(out, 8, coefficients);
    for (int i = 0; i < 64; i++) {
        cr_assert_eq(out[i], 255);
    }
}

typedef struct jpeg_file {
    unsigned char bytes[70000];
    size_t size;
} jpeg_file;

static void put(jpeg_file *file, const void *bytes, size_t size)
{
    cr_assert_leq(file->size + size, sizeof file->bytes);
    memcpy(file->bytes + file->size, bytes, size);
    file->size += size;
}

#define PUT(file, literal) put(file, literal, sizeof literal - 1)

/* A grey picture of 8 x 8 pixels, up to its scan. frame: its marker. */
static jpeg_file *begin(const char *frame, bool with_tables)
{
    jpeg_file *file = calloc(1, sizeof *file);
    PUT(file, "\xFF\xD8");
    if (with_tables) {
        unsigned char quant[69] = {0xFF, 0xDB, 0, 67, 0};
        memset(quant + 5, 1, 64);
        put(file, quant, sizeof quant);
        PUT(file, "\xFF\xC4\0\x14\x00\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"); /* DC: 0 is size 0 */
        PUT(file, "\xFF\xC4\0\x14\x10\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"); /* AC: 0 is end */
    }
    put(file, frame, 2);
    PUT(file, "\0\x0B\x08\0\x08\0\x08\1\1\x11\0");
    return file;
}

#define SCAN "\xFF\xDA\0\x08\1\1\0\0\x3F\0"

static ocelli_status decode(ocelli_image **out, jpeg_file *file, ocelli_error *err)
{
    unsigned char *exact = malloc(file->size);
    memcpy(exact, file->bytes, file->size);
    ocelli_status status = oc_image_decode(out, exact, file->size, "x.jpg", NULL, err);
    free(exact);
    free(file);
    return status;
}

static void refuse(jpeg_file *file, ocelli_status status, const char *says)
{
    ocelli_image *image;
    ocelli_error err = {0};
    cr_assert_eq(decode(&image, file, &err), status, "%s", err.message);
    cr_assert_null(image);
    cr_assert_not_null(strstr(err.message, says), "%s", err.message);
}

Test(jpeg, smallest_picture)
{
    jpeg_file *file = begin("\xFF\xC0", true);
    PUT(file, SCAN "\x3F\xFF\xD9");
    ocelli_image *image;
    ocelli_error err = {0};
    cr_assert_eq(decode(&image, file, &err), OCELLI_OK, "%s", err.message);
    cr_assert(image->width == 8 && image->height == 8);
    for (int i = 0; i < 192; i++) {
        cr_assert_eq(image->rgb[i], 128);
    }
    oc_image_free(image);
}

Test(jpeg, other_codings_are_named)
{
    refuse(begin("\xFF\xC3", true), OCELLI_E_UNSUPPORTED, "without loss");
    refuse(begin("\xFF\xC5", true), OCELLI_E_UNSUPPORTED, "hierarchically");
    refuse(begin("\xFF\xC9", true), OCELLI_E_UNSUPPORTED, "arithmetically");
    refuse(begin("\xFF\xCA", true), OCELLI_E_UNSUPPORTED, "arithmetically");
}

Test(jpeg, tables_must_be_there_and_fit)
{
    jpeg_file *none = begin("\xFF\xC0", false);
    PUT(none, SCAN "\x3F\xFF\xD9");
    refuse(none, OCELLI_E_FORMAT, "not defined");
    /* 512 codes: more than the decoder has room for. */
    jpeg_file *large = begin("\xFF\xC0", true);
    unsigned char table[2 + 2 + 17 + 512] = {0xFF, 0xC4, 2, 19};
    memset(table + 5 + 12, 128, 4);
    put(large, table, sizeof table);
    PUT(large, SCAN "\x3F\xFF\xD9");
    refuse(large, OCELLI_E_FORMAT, "Huffman table");
    jpeg_file *second = begin("\xFF\xC0", true);
    PUT(second, "\xFF\xC4\0\x14\x04\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"); /* table 4 of 0 to 3 */
    PUT(second, SCAN "\x3F\xFF\xD9");
    refuse(second, OCELLI_E_FORMAT, "Huffman table");
}

Test(jpeg, no_end_is_cut_off_and_no_marker_is_damaged)
{
    jpeg_file *cut = begin("\xFF\xC0", true);
    PUT(cut, SCAN "\x3F\x3F\x3F");
    refuse(cut, OCELLI_E_FORMAT, "cut off");
    jpeg_file *junk = begin("\xFF\xC0", true);
    PUT(junk, "junk" SCAN "\x3F\xFF\xD9");
    refuse(junk, OCELLI_E_FORMAT, "a marker is missing");
    jpeg_file *early = begin("\xFF\xC0", true);
    PUT(early, "\xFF\xD9");
    refuse(early, OCELLI_E_FORMAT, "no scan");
}

/* Scans without end cost time: 500 and more are refused from a quick look. */
Test(jpeg, scans_are_counted)
{
    jpeg_file *many = begin("\xFF\xC2", true);
    for (int i = 0; i < 501; i++) {
        PUT(many, "\xFF\xDA\0\x08\1\1\0\0\0\0"
                  "\x7F");
    }
    PUT(many, "\xFF\xD9");
    refuse(many, OCELLI_E_LIMIT, "500 scans");
    /* 31 scans of a picture of 100 million pixels: more work than any picture is. */
    jpeg_file *large = begin("\xFF\xC2", true);
    memcpy(large->bytes + large->size - 8, "\x27\x10\x27\x10", 4); /* 10000 x 10000 */
    for (int i = 0; i < 31; i++) {
        PUT(large, "\xFF\xDA\0\x08\1\1\0\0\0\0"
                   "\x7F");
    }
    PUT(large, "\xFF\xD9");
    refuse(large, OCELLI_E_LIMIT, "30 scans");
}
