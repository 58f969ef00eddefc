/* test_bmp.c - bitmaps byte by byte: palettes, run-length codes, masks, old headers. */
#include "tests/unit/vision/vision_fixture.h"

typedef struct bitmap_file {
    unsigned char bytes[2048];
    size_t size;
} bitmap_file;

static void put(bitmap_file *file, uint32_t value, int size)
{
    for (int i = 0; i < size; i++) {
        file->bytes[file->size++] = (unsigned char)(value >> (8 * i));
    }
}

static void put_bytes(bitmap_file *file, const char *bytes, size_t size)
{
    memcpy(file->bytes + file->size, bytes, size);
    file->size += size;
}

#define PUT(file, literal) put_bytes(file, literal, sizeof literal - 1)

/* pixels_at counts from the end of the header: a palette or masks. */
static bitmap_file begin(uint32_t header_bytes, int width, int height, int bits,
                         uint32_t compression, uint32_t colours, uint32_t between)
{
    bitmap_file file = {.size = 0};
    PUT(&file, "BM\0\0\0\0\0\0\0\0");
    put(&file, 14 + header_bytes + between, 4);
    put(&file, header_bytes, 4);
    if (header_bytes == 12) {
        put(&file, (uint32_t)width, 2);
        put(&file, (uint32_t)height, 2);
        put(&file, 1, 2);
        put(&file, (uint32_t)bits, 2);
        return file;
    }
    put(&file, (uint32_t)width, 4);
    put(&file, (uint32_t)height, 4);
    put(&file, 1, 2);
    put(&file, (uint32_t)bits, 2);
    put(&file, compression, 4);
    put(&file, 0, 4);
    put(&file, 0, 4);
    put(&file, 0, 4);
    put(&file, colours, 4);
    put(&file, 0, 4);
    return file;
}

static ocelli_status decode(ocelli_image **out, const bitmap_file *file, ocelli_error *err)
{
    unsigned char *exact = malloc(file->size);
    memcpy(exact, file->bytes, file->size);
    ocelli_status status = oc_image_decode(out, exact, file->size, "x.bmp", NULL, err);
    free(exact);
    return status;
}

/* expected: a letter a pixel, row by row from the top. */
static void expect(const bitmap_file *file, int width, int height, const char *expected)
{
    static const struct {
        char letter;
        uint8_t rgb[3];
    } COLOURS[] = {{'k', {0, 0, 0}},   {'w', {255, 255, 255}}, {'r', {255, 0, 0}},
                   {'g', {0, 255, 0}}, {'b', {0, 0, 255}},     {'y', {255, 255, 0}}};
    ocelli_image *image;
    ocelli_error err = {0};
    cr_assert_eq(decode(&image, file, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(image->width, width);
    cr_assert_eq(image->height, height);
    for (int i = 0; i < width * height; i++) {
        char found = '?';
        for (size_t k = 0; k < sizeof COLOURS / sizeof *COLOURS; k++) {
            if (memcmp(image->rgb + 3 * i, COLOURS[k].rgb, 3) == 0) {
                found = COLOURS[k].letter;
            }
        }
        cr_assert_eq(found, expected[i], "pixel %d of %s is %c", i, expected, found);
    }
    oc_image_free(image);
}

static void refuse(const bitmap_file *file, ocelli_status status, const char *says)
{
    ocelli_image *image;
    ocelli_error err = {0};
    cr_assert_eq(decode(&image, file, &err), status, "%s", err.message);
    cr_assert_null(image);
    cr_assert_not_null(strstr(err.message, says), "%s", err.message);
}

/* black, red, green, blue as blue-green-red-unused */
#define FOUR_COLOURS                                                                               \
    "\0\0\0\0"                                                                                     \
    "\0\0\xFF\0"                                                                                   \
    "\0\xFF\0\0"                                                                                   \
    "\xFF\0\0\0"

Test(bmp, palettes_of_every_depth)
{
    bitmap_file one = begin(40, 10, 2, 1, 0, 2, 8);
    PUT(&one, "\0\0\0\0"
              "\xFF\xFF\xFF\0");
    PUT(&one, "\xF0\x40\0\0"
              "\x0F\x80\0\0");
    expect(&one, 10, 2,
           "kkkkwwwwwk"
           "wwwwkkkkkw");
    bitmap_file two = begin(40, 5, 1, 2, 0, 4, 16);
    PUT(&two, FOUR_COLOURS "\x1B\x40\0\0");
    expect(&two, 5, 1, "krgbr");
    bitmap_file four = begin(40, 3, 1, 4, 0, 4, 16);
    PUT(&four, FOUR_COLOURS "\x12\x30\0\0");
    expect(&four, 3, 1, "rgb");
    bitmap_file eight = begin(40, 3, 1, 8, 0, 4, 16);
    PUT(&eight, FOUR_COLOURS "\1\2\3\0");
    expect(&eight, 3, 1, "rgb");
    bitmap_file outside = begin(40, 3, 1, 8, 0, 4, 16);
    PUT(&outside, FOUR_COLOURS "\1\xFE\3\0"); /* no such colour: black */
    expect(&outside, 3, 1, "rkb");
}

Test(bmp, header_of_os2)
{
    bitmap_file palette = begin(12, 2, 1, 8, 0, 0, 3 * 256);
    PUT(&palette, "\0\0\xFF"
                  "\0\xFF\0");
    for (int i = 2; i < 256; i++) {
        PUT(&palette, "\0\0\0");
    }
    PUT(&palette, "\1\0\0\0");
    expect(&palette, 2, 1, "gr");
    bitmap_file plain = begin(12, 1, 2, 24, 0, 0, 0);
    PUT(&plain, "\xFF\0\0\0"
                "\0\0\xFF\0");
    expect(&plain, 1, 2, "rb");
}

Test(bmp, top_down_and_missing_padding)
{
    bitmap_file file = begin(40, 1, -2, 24, 0, 0, 0);
    PUT(&file, "\xFF\0\0\0"
               "\0\0\xFF"); /* the last row is not padded */
    expect(&file, 1, 2, "br");
}

Test(bmp, sixteen_bits)
{
    bitmap_file fives = begin(40, 4, 1, 16, 0, 0, 0); /* 5-5-5 */
    PUT(&fives, "\x00\x7C"
                "\xE0\x03"
                "\x1F\x00"
                "\xFF\xFF");
    expect(&fives, 4, 1, "rgbw");
    bitmap_file masks = begin(40, 4, 1, 16, 3, 0, 12); /* 5-6-5 */
    put(&masks, 0xF800, 4);
    put(&masks, 0x07E0, 4);
    put(&masks, 0x001F, 4);
    PUT(&masks, "\x00\xF8"
                "\xE0\x07"
                "\x1F\x00"
                "\xE0\xFF");
    expect(&masks, 4, 1, "rgby");
}

Test(bmp, levels_of_narrow_and_wide_masks)
{
    bitmap_file file = begin(40, 1, 1, 32, 3, 0, 12); /* 10, 10 and 2 bits */
    put(&file, 0x3FF00000, 4);
    put(&file, 0x000FFC00, 4);
    put(&file, 0x00000003, 4);
    put(&file, 0x20000000 | 0x000FFC00 | 0x1, 4);
    ocelli_image *image;
    ocelli_error err = {0};
    cr_assert_eq(decode(&image, &file, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(image->rgb[0], 127); /* 512 of 1023 */
    cr_assert_eq(image->rgb[1], 255);
    cr_assert_eq(image->rgb[2], 85); /* 1 of 3 */
    oc_image_free(image);
}

static bitmap_file begin_with_alpha(int width)
{
    bitmap_file file = begin(56, width, 1, 32, 3, 0, 0);
    put(&file, 0x00FF0000, 4);
    put(&file, 0x0000FF00, 4);
    put(&file, 0x000000FF, 4);
    put(&file, 0xFF000000, 4);
    return file;
}

Test(bmp, alpha_only_by_mask_and_not_if_always_zero)
{
    bitmap_file no_mask = begin(40, 2, 1, 32, 0, 0, 0);
    PUT(&no_mask, "\0\0\xFF\x01"
                  "\0\xFF\0\0");
    expect(&no_mask, 2, 1, "rg");
    bitmap_file mask = begin_with_alpha(2);
    PUT(&mask, "\0\0\xFF\xFF"
               "\0\xFF\0\0");
    expect(&mask, 2, 1, "rw");
    bitmap_file unset = begin_with_alpha(2);
    PUT(&unset, "\0\0\xFF\0"
                "\0\xFF\0\0");
    expect(&unset, 2, 1, "rg");
}

Test(bmp, run_length_codes_of_8_bits)
{
    bitmap_file file = begin(40, 5, 3, 8, 1, 4, 16);
    PUT(&file, FOUR_COLOURS);
    PUT(&file, "\2\1\0\3\2\3\2\0"); /* rr, then three plain: g b g, padded */
    PUT(&file, "\0\0");             /* end of the row */
    PUT(&file, "\1\3\0\2\1\0");     /* b, one to the right */
    PUT(&file, "\7\1\0\0");         /* more than the row holds */
    PUT(&file, "\0\2\3\0\1\2\0\1"); /* three to the right, g, end of the picture */
    expect(&file, 5, 3,
           "kkkgk"
           "bkrrr"
           "rrgbg");
}

Test(bmp, run_length_codes_of_4_bits)
{
    bitmap_file file = begin(40, 6, 1, 4, 2, 4, 16);
    PUT(&file, FOUR_COLOURS);
    PUT(&file, "\3\x12\0\3\x31\x20\0\1"); /* rgr, then three plain: b r g */
    expect(&file, 6, 1, "rgrbrg");
}

Test(bmp, damaged_run_length_codes)
{
    bitmap_file cut = begin(40, 5, 3, 8, 1, 4, 16);
    PUT(&cut, FOUR_COLOURS "\2\1\0");
    refuse(&cut, OCELLI_E_FORMAT, "cut off");
    bitmap_file plain = begin(40, 5, 3, 8, 1, 4, 16);
    PUT(&plain, FOUR_COLOURS "\0\xC8\1\1");
    refuse(&plain, OCELLI_E_FORMAT, "cut off");
    bitmap_file outside = begin(40, 5, 3, 8, 1, 4, 16);
    PUT(&outside, FOUR_COLOURS "\0\2\xFF\0\0\1");
    refuse(&outside, OCELLI_E_FORMAT, "leaves the picture");
    bitmap_file below = begin(40, 5, 3, 8, 1, 4, 16);
    PUT(&below, FOUR_COLOURS "\0\2\0\xFF\2\1\0\1");
    expect(&below, 5, 3,
           "kkkkk"
           "kkkkk"
           "kkkkk");
}

Test(bmp, refusals)
{
    bitmap_file jpeg = begin(40, 5, 3, 0, 4, 0, 0);
    refuse(&jpeg, OCELLI_E_UNSUPPORTED, "compression 4");
    bitmap_file bits = begin(40, 5, 3, 13, 0, 0, 0);
    refuse(&bits, OCELLI_E_UNSUPPORTED, "13 bits");
    bitmap_file holes = begin(40, 1, 1, 32, 3, 0, 12);
    put(&holes, 0x00F0F000, 4);
    PUT(&holes, "\0\0\0\0\0\0\0\0\0\0\0\0");
    refuse(&holes, OCELLI_E_FORMAT, "mask");
    bitmap_file header = begin(41, 5, 3, 24, 0, 0, 0);
    header.bytes[14] = 13;
    refuse(&header, OCELLI_E_FORMAT, "header");
    bitmap_file far = begin(40, 1, 1, 24, 0, 0, 1000);
    refuse(&far, OCELLI_E_FORMAT, "cut off");
    bitmap_file empty = begin(40, 0, 1, 24, 0, 0, 0);
    refuse(&empty, OCELLI_E_FORMAT, "0 x 1");
    /* Claims much and has little: refused before its pixels are allocated. */
    bitmap_file huge = begin(40, 9000, 9000, 24, 0, 0, 0);
    refuse(&huge, OCELLI_E_FORMAT, "cut off");
}
