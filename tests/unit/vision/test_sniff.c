/* test_sniff.c - bytes are told by their content, and short or odd ones by nothing. */
#include "vision/sniff.h"

#include <criterion/criterion.h>
#include <ocelli.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(literal) literal, sizeof literal - 1

static const struct {
    const char *bytes;
    size_t size;
    oc_sniff_kind kind;
    const char *what; /* part of it */
} CASES[] = {
    {BYTES("\x89PNG\r\n\x1A\n"), OC_SNIFF_PNG, "PNG"},
    {BYTES("\x89PNG\n\x1A\n\0"), OC_SNIFF_OTHER, "text mode"},
    {BYTES("\xFF\xD8"), OC_SNIFF_JPEG, "JPEG"},
    {BYTES("BM"), OC_SNIFF_BMP, "BMP"},
    {BYTES("BMW cars are made in Munich."), OC_SNIFF_OTHER, "text"},
    {BYTES("P6\n1 1 255\nabc"), OC_SNIFF_PNM, "PNM"},
    {BYTES("P1#"), OC_SNIFF_PNM, "PNM"},
    {BYTES("P7\nWIDTH 1\n"), OC_SNIFF_PICTURE, "PAM"},
    {BYTES("Pf\n1 1\n"), OC_SNIFF_PICTURE, "PFM"},
    {BYTES("P60 is not a picture"), OC_SNIFF_OTHER, "text"},
    {BYTES("P2 is a star's rank"), OC_SNIFF_OTHER, "text"},
    {BYTES("P2\n"), OC_SNIFF_PNM, "PNM"},
    {BYTES("P3   7 9"), OC_SNIFF_PNM, "PNM"},
    {BYTES("II+\0\x08\0\0\0"), OC_SNIFF_TIFF, "BigTIFF"},
    {BYTES("\0\0\0\x1C"
           "ftypmif1\0\0\0\0mif1avif"),
     OC_SNIFF_AVIF, "AVIF"},
    {BYTES("\0\0\0\x14"
           "ftypmif1\0\0\0\0mif1avif"),
     OC_SNIFF_HEIC, "HEIC"}, /* the box ends in front of the second brand */
    {BYTES("GIF89a"), OC_SNIFF_GIF, "GIF"},
    {BYTES("GIF87a\1\0\1\0"), OC_SNIFF_GIF, "GIF"},
    {BYTES("RIFF\x10\0\0\0WEBPVP8 "), OC_SNIFF_WEBP, "WebP"},
    {BYTES("RIFF\x10\0\0\0AVI LIST"), OC_SNIFF_CLIP, "AVI"},
    {BYTES("RIFF\x10\0\0\0WAVEfmt "), OC_SNIFF_OTHER, "RIFF"},
    {BYTES("\0\0\0\x1C"
           "ftypavif\0\0\0\0"),
     OC_SNIFF_AVIF, "AVIF"},
    {BYTES("\0\0\0\x1C"
           "ftypheic\0\0\0\0"),
     OC_SNIFF_HEIC, "HEIC"},
    {BYTES("\0\0\0\x1C"
           "ftypmif1\0\0\0\0"),
     OC_SNIFF_HEIC, "HEIC"},
    {BYTES("\0\0\0\x1C"
           "ftypisom\0\0\0\0"),
     OC_SNIFF_CLIP, "MP4"},
    {BYTES("II*\0\x08\0\0\0"), OC_SNIFF_TIFF, "TIFF"},
    {BYTES("MM\0*\0\0\0\x08"), OC_SNIFF_TIFF, "TIFF"},
    {BYTES("8BPS\0\1"), OC_SNIFF_PICTURE, "PSD"},
    {BYTES("\0\0\0\x0CjP  \r\n\x87\n"), OC_SNIFF_PICTURE, "JPEG 2000"},
    {BYTES("\xFF\x0A\x01"), OC_SNIFF_PICTURE, "JPEG XL"},
    {BYTES("\0\0\1\0\1\0"), OC_SNIFF_PICTURE, "ICO"},
    {BYTES("qoif\0\0\0\1"), OC_SNIFF_PICTURE, "QOI"},
    {BYTES("#?RADIANCE\n"), OC_SNIFF_PICTURE, "HDR"},
    {BYTES("\0\0\x02\0\0\0\0\0\0\0\0\0\1\0\1\0\x18\0"), OC_SNIFF_PICTURE, "TGA"},
    {BYTES("\0\0\x0A\0\0\0\0\0\0\0\0\0\1\0\1\0\x20\x08"), OC_SNIFF_PICTURE, "TGA"},
    {BYTES("<?xml version='1.0'?>\n<svg xmlns='x'/>"), OC_SNIFF_PICTURE, "SVG"},
    {BYTES("\xEF\xBB\xBF  <SVG>"), OC_SNIFF_PICTURE, "SVG"},
    {BYTES("<!DOCTYPE html><p>404"), OC_SNIFF_OTHER, "HTML"},
    {BYTES("<Error><Code>AccessDenied</Code></Error>"), OC_SNIFF_OTHER, "XML"},
    {BYTES("{\"error\": \"not found\"}"), OC_SNIFF_OTHER, "JSON"},
    {BYTES("version https://git-lfs.github.com/spec/v1\n"), OC_SNIFF_OTHER, "LFS"},
    {BYTES("data:image/png;base64,iVBORw0KGgo="), OC_SNIFF_OTHER, "data: URL"},
    {BYTES("%PDF-1.4\n"), OC_SNIFF_OTHER, "PDF"},
    {BYTES("PK\3\4"), OC_SNIFF_OTHER, "ZIP"},
    {BYTES("\x1F\x8B\x08"), OC_SNIFF_OTHER, "gzip"},
    {BYTES("\x1A\x45\xDF\xA3"), OC_SNIFF_CLIP, "Matroska"},
    {BYTES("\0\0\0\x14"
           "moov"),
     OC_SNIFF_CLIP, "QuickTime"},
    {BYTES(""), OC_SNIFF_OTHER, "empty"},
    {BYTES(" \n\t "), OC_SNIFF_OTHER, "blanks"},
    {BYTES("caf\xC3\xA9"), OC_SNIFF_OTHER, "text"},
    {BYTES("\x01\x02\x03"), OC_SNIFF_UNKNOWN, NULL},
    {BYTES("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), OC_SNIFF_UNKNOWN, NULL},
};

/* From a block of exactly its size, so that AddressSanitizer sees a byte too far. */
static oc_sniff sniff_exactly(const char *bytes, size_t size)
{
    char *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, bytes, size);
    oc_sniff found = oc_sniff_bytes(exact, size);
    free(exact);
    return found;
}

Test(sniff, kinds_and_names)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        oc_sniff found = sniff_exactly(CASES[i].bytes, CASES[i].size);
        cr_assert_eq(found.kind, CASES[i].kind, "case %zu: %d %s", i, (int)found.kind,
                     found.what != NULL ? found.what : "-");
        if (CASES[i].what == NULL) {
            cr_assert_null(found.what);
        } else {
            cr_assert_not_null(strstr(found.what, CASES[i].what), "case %zu: %s", i, found.what);
        }
    }
}

Test(sniff, every_cut_is_safe)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        for (size_t size = 0; size < CASES[i].size; size++) {
            oc_sniff found = sniff_exactly(CASES[i].bytes, size);
            cr_assert((found.kind == OC_SNIFF_UNKNOWN) == (found.what == NULL));
        }
    }
}

/* The public name of a format, from 64 bytes at most. */
Test(sniff, names_of_formats)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *format;
    } cases[] = {
        {BYTES("\x89PNG\r\n\x1A\n"), "png"},
        {BYTES("\xFF\xD8\xFF"), "jpeg"},
        {BYTES("GIF89a"), "gif"},
        {BYTES("RIFF\x10\0\0\0WEBPVP8 "), "webp"},
        {BYTES("\0\0\0\x1C"
               "ftypavif"),
         "avif"},
        {BYTES("\0\0\0\x1C"
               "ftypheic"),
         "heic"},
        {BYTES("MM\0*\0\0\0\x08"), "tiff"},
        {BYTES("BM"), "bmp"},
        {BYTES("P6 # made by hand"), "pnm"},
        {BYTES("8BPS\0\1"), "psd"},
        {BYTES("<svg xmlns='x'/>"), "svg"},
        {BYTES("P6 holds the pump's report"), NULL},
        {BYTES("BMW cars are made in Munich."), NULL},
        {BYTES("\x89PNG\n\x1A\n\0"), NULL},
        {BYTES("RIFF\x10\0\0\0WAVEfmt "), NULL},
        {BYTES("\0\0\0\x1C"
               "ftypisom\0\0\0\0"),
         NULL},
        {BYTES("%PDF-1.4\n"), NULL},
        {BYTES(""), NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *format = ocelli_image_format(cases[i].bytes, cases[i].size);
        if (cases[i].format == NULL) {
            cr_assert_null(format, "case %zu: %s", i, format);
        } else {
            cr_assert_not_null(format, "case %zu", i);
            cr_assert_str_eq(format, cases[i].format);
        }
    }
    cr_assert_null(ocelli_image_format(NULL, 0));
}
