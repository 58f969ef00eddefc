/* test_exif.c - the orientation tag in both byte orders, and in damaged blocks. */
#include "vision/exif.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    unsigned char data[512];
    size_t size;
} bytes;

static void put(bytes *out, const void *data, size_t size)
{
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

static void put_number(bytes *out, uint32_t value, int size, bool big)
{
    for (int i = 0; i < size; i++) {
        int shift = 8 * (big ? size - 1 - i : i);
        out->data[out->size++] = (unsigned char)(value >> shift);
    }
}

static void put_entry(bytes *out, bool big, uint32_t tag, uint32_t type, uint32_t count,
                      uint32_t value)
{
    put_number(out, tag, 2, big);
    put_number(out, type, 2, big);
    put_number(out, count, 4, big);
    /* A short value stands in the first two of the four bytes. */
    put_number(out, value, type == 3 ? 2 : 4, big);
    put_number(out, 0, type == 3 ? 2 : 0, big);
}

static bytes tiff_header(bool big, uint32_t directory, uint32_t entries)
{
    bytes out = {.size = 0};
    put(&out, big ? "MM" : "II", 2);
    put_number(&out, 42, 2, big);
    put_number(&out, directory, 4, big);
    put_number(&out, entries, 2, big);
    return out;
}

static void put_segment(bytes *out, const bytes *tiff)
{
    put(out, "\xFF\xE1", 2);
    put_number(out, (uint32_t)(2 + 6 + tiff->size), 2, true);
    put(out, "Exif\0\0", 6);
    put(out, tiff->data, tiff->size);
}

/* Read from a block of exactly its size, so that AddressSanitizer sees a byte too far. */
static int orientation_of(const bytes *file)
{
    unsigned char *exact = malloc(file->size);
    memcpy(exact, file->data, file->size);
    int orientation = oc_exif_orientation(exact, file->size);
    free(exact);
    return orientation;
}

static int orientation_in_jpeg(const bytes *tiff)
{
    bytes file = {.size = 0};
    put(&file, "\xFF\xD8", 2);
    put_segment(&file, tiff);
    put(&file, "\xFF\xD9", 2);
    return orientation_of(&file);
}

static int orientation_in_png(const bytes *tiff)
{
    bytes file = {.size = 0};
    put(&file, "\x89PNG\r\n\x1A\n", 8);
    put_number(&file, 0, 4, true);
    put(&file, "teSt\0\0\0\0", 8);
    put_number(&file, (uint32_t)tiff->size, 4, true);
    put(&file, "eXIf", 4);
    put(&file, tiff->data, tiff->size);
    put_number(&file, 0, 4, true);
    return orientation_of(&file);
}

static void expect(const bytes *tiff, int orientation)
{
    cr_assert_eq(orientation_in_jpeg(tiff), orientation);
    cr_assert_eq(orientation_in_png(tiff), orientation);
}

Test(exif, all_values_in_both_orders)
{
    for (int big = 0; big < 2; big++) {
        for (uint32_t value = 0; value < 12; value++) {
            bytes tiff = tiff_header(big, 8, 2);
            put_entry(&tiff, big, 0x010F, 4, 1, 99);
            put_entry(&tiff, big, 0x0112, 3, 1, value);
            expect(&tiff, value >= 1 && value <= 8 ? (int)value : 1);
        }
    }
}

Test(exif, long_values_count_and_others_do_not)
{
    static const struct {
        uint32_t type, count;
        int orientation;
    } CASES[] = {{4, 1, 6}, {9, 1, 6}, {3, 2, 1}, {2, 1, 1}, {5, 1, 1}, {3, 0xFFFFFFFF, 1}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        bytes tiff = tiff_header(true, 8, 1);
        put_entry(&tiff, true, 0x0112, CASES[i].type, CASES[i].count, 6);
        expect(&tiff, CASES[i].orientation);
    }
}

Test(exif, last_of_several_entries)
{
    bytes tiff = tiff_header(false, 8, 2);
    put_entry(&tiff, false, 0x0112, 3, 1, 3);
    put_entry(&tiff, false, 0x0112, 3, 1, 8);
    expect(&tiff, 8);
}

Test(exif, damaged_blocks_are_upright)
{
    bytes outside = tiff_header(true, 0xFFFFFFFF, 1);
    put_entry(&outside, true, 0x0112, 3, 1, 6);
    expect(&outside, 1);
    bytes at_end = tiff_header(true, 21, 1);
    put_entry(&at_end, true, 0x0112, 3, 1, 6);
    expect(&at_end, 1);
    bytes bad_magic = tiff_header(true, 8, 1);
    put_entry(&bad_magic, true, 0x0112, 3, 1, 6);
    bad_magic.data[3] = 43;
    expect(&bad_magic, 1);
    bytes bad_order = tiff_header(true, 8, 1);
    put_entry(&bad_order, true, 0x0112, 3, 1, 6);
    bad_order.data[0] = 'X';
    expect(&bad_order, 1);
    bytes empty = {.size = 0};
    expect(&empty, 1);
}

/* A directory that says it has 65535 entries is read as far as it goes. */
Test(exif, cut_directory_counts_as_far_as_it_goes)
{
    bytes tiff = tiff_header(false, 8, 0xFFFF);
    put_entry(&tiff, false, 0x0112, 3, 1, 5);
    expect(&tiff, 5);
    tiff.size--;
    expect(&tiff, 1);
}

Test(exif, every_cut_of_a_file_is_safe)
{
    bytes tiff = tiff_header(true, 8, 1);
    put_entry(&tiff, true, 0x0112, 3, 1, 6);
    bytes file = {.size = 0};
    put(&file, "\xFF\xD8\xFF\xFF\xE0\0\4ab", 9); /* with a fill byte */
    put_segment(&file, &tiff);
    cr_assert_eq(orientation_of(&file), 6);
    while (file.size > 1) {
        file.size--;
        cr_assert_eq(orientation_of(&file), 1);
    }
}

Test(exif, first_block_of_several_and_not_xmp)
{
    bytes six = tiff_header(true, 8, 1), one = tiff_header(true, 8, 1);
    put_entry(&six, true, 0x0112, 3, 1, 6);
    put_entry(&one, true, 0x0112, 3, 1, 1);
    bytes file = {.size = 0};
    put(&file, "\xFF\xD8\xFF\xE1\0\x0Ahttp://x", 14);
    put_segment(&file, &six);
    put_segment(&file, &one);
    cr_assert_eq(orientation_of(&file), 6);
}

Test(exif, nothing_behind_the_start_of_the_scan)
{
    bytes six = tiff_header(true, 8, 1);
    put_entry(&six, true, 0x0112, 3, 1, 6);
    bytes file = {.size = 0};
    put(&file, "\xFF\xD8\xFF\xDA\0\2", 6);
    put_segment(&file, &six);
    cr_assert_eq(orientation_of(&file), 1);
}

Test(exif, other_formats_are_upright)
{
    cr_assert_eq(oc_exif_orientation("BM", 2), 1);
    cr_assert_eq(oc_exif_orientation("", 0), 1);
    cr_assert_eq(oc_exif_orientation(NULL, 0), 1);
}

/* WebP's chunk, behind another of an odd length, with and without the name in front. */
Test(exif, webp)
{
    bytes six = tiff_header(false, 8, 1);
    put_entry(&six, false, 0x0112, 3, 1, 6);
    for (int named = 0; named < 2; named++) {
        bytes file = {.size = 0};
        put(&file, "RIFF\0\0\0\0WEBPVP8 \3\0\0\0abc\0EXIF", 28);
        unsigned char length[4] = {(unsigned char)(six.size + (named ? 6 : 0)), 0, 0, 0};
        put(&file, length, 4);
        if (named) {
            put(&file, "Exif\0\0", 6);
        }
        put(&file, six.data, six.size);
        cr_assert_eq(orientation_of(&file), 6);
        while (file.size > 0) {
            file.size--;
            cr_assert_eq(orientation_of(&file), 1);
        }
    }
}
