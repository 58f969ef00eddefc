/* sniff.c - see sniff.h. The table is asked in order; text comes last, since some picture formats
 * begin with text. */
#include "vision/sniff.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct signature {
    uint8_t offset, length;
    const char *bytes;
    oc_sniff_kind kind;
    const char *what, *advice, *format;
} signature;

static const char CONVERT[] = "convert it to PNG or JPEG first, for example: "
                              "ffmpeg -i in -frames:v 1 out.png";
static const char CONVERT_HEIC[] = "convert it to PNG or JPEG first, for example: "
                                   "heif-convert in.heic out.png";
static const char CONVERT_SVG[] =
    "draw it to PNG first, for example: rsvg-convert in.svg -o out.png";
static const char CONVERT_PDF[] = "turn its pages into pictures first, for example: "
                                  "pdftoppm -png in.pdf page";
static const char EXTRACT[] = "unpack it and give the pictures inside";
static const char TAKE_FRAMES[] = "take frames out of it first, for example: "
                                  "ffmpeg -i in -vf fps=2 frame%04d.png";
static const char SAVE_AGAIN[] = "download or save the picture itself again";

static const signature SIGNATURES[] = {
    {0, 8, "\x89PNG\r\n\x1A\n", OC_SNIFF_PNG, "PNG", NULL, "png"},
    {0, 4, "\x89PNG", OC_SNIFF_OTHER,
     "a PNG picture whose first bytes were changed, as a transfer in text mode does", SAVE_AGAIN,
     NULL},
    {0, 2, "\xFF\xD8", OC_SNIFF_JPEG, "JPEG", NULL, "jpeg"},
    {0, 6, "GIF87a", OC_SNIFF_GIF, "GIF", CONVERT, "gif"},
    {0, 6, "GIF89a", OC_SNIFF_GIF, "GIF", CONVERT, "gif"},
    {0, 4, "II*\0", OC_SNIFF_TIFF, "TIFF", CONVERT, "tiff"},
    {0, 4, "MM\0*", OC_SNIFF_TIFF, "TIFF", CONVERT, "tiff"},
    {0, 4, "II+\0", OC_SNIFF_TIFF, "BigTIFF", CONVERT, "tiff"},
    {0, 4, "MM\0+", OC_SNIFF_TIFF, "BigTIFF", CONVERT, "tiff"},
    {0, 4, "8BPS", OC_SNIFF_PICTURE, "PSD (Photoshop)", CONVERT, "psd"},
    {0, 12, "\0\0\0\x0CjP  \r\n\x87\n", OC_SNIFF_PICTURE, "JPEG 2000", CONVERT, "jp2"},
    {0, 4, "\xFF\x4F\xFF\x51", OC_SNIFF_PICTURE, "JPEG 2000", CONVERT, "jp2"},
    {0, 12, "\0\0\0\x0CJXL \r\n\x87\n", OC_SNIFF_PICTURE, "JPEG XL", CONVERT, "jxl"},
    {0, 2, "\xFF\x0A", OC_SNIFF_PICTURE, "JPEG XL", CONVERT, "jxl"},
    {0, 4, "\0\0\1\0", OC_SNIFF_PICTURE, "ICO (icon)", CONVERT, "ico"},
    {0, 4, "\0\0\2\0", OC_SNIFF_PICTURE, "TGA (or CUR)", CONVERT, "tga"},
    {0, 4, "icns", OC_SNIFF_PICTURE, "ICNS (icon)", CONVERT, "icns"},
    {0, 4, "qoif", OC_SNIFF_PICTURE, "QOI", CONVERT, "qoi"},
    {0, 10, "#?RADIANCE", OC_SNIFF_PICTURE, "HDR (Radiance)", CONVERT, "hdr"},
    {0, 6, "#?RGBE", OC_SNIFF_PICTURE, "HDR (Radiance)", CONVERT, "hdr"},
    {0, 4, "\x76\x2F\x31\x01", OC_SNIFF_PICTURE, "OpenEXR", CONVERT, "exr"},
    {0, 4, "\x53\x80\xF6\x34", OC_SNIFF_PICTURE, "PIC (Softimage)", CONVERT, "pic"},
    {0, 4, "DDS ", OC_SNIFF_PICTURE, "DDS", CONVERT, "dds"},
    {0, 8, "FUJIFILM", OC_SNIFF_PICTURE, "RAF (raw photo)", CONVERT, "raf"},
    {0, 9, "gimp xcf ", OC_SNIFF_PICTURE, "XCF (GIMP)", CONVERT, "xcf"},
    {0, 2, "\x01\xDA", OC_SNIFF_PICTURE, "SGI", CONVERT, "sgi"},
    {0, 3, "BPG", OC_SNIFF_PICTURE, "BPG", CONVERT, "bpg"},
    {0, 4, "%!PS", OC_SNIFF_PICTURE, "PostScript", CONVERT_PDF, "ps"},
    {0, 5, "%PDF-", OC_SNIFF_OTHER, "a PDF document", CONVERT_PDF, NULL},
    {0, 4, "PK\3\4", OC_SNIFF_OTHER, "a ZIP archive (or an office document)", EXTRACT, NULL},
    {0, 4, "PK\5\6", OC_SNIFF_OTHER, "an empty ZIP archive", EXTRACT, NULL},
    {0, 2, "\x1F\x8B", OC_SNIFF_OTHER, "a gzip archive", EXTRACT, NULL},
    {0, 6,
     "\xFD"
     "7zXZ\0",
     OC_SNIFF_OTHER, "an xz archive", EXTRACT, NULL},
    {0, 4, "\x28\xB5\x2F\xFD", OC_SNIFF_OTHER, "a Zstandard archive", EXTRACT, NULL},
    {0, 6, "7z\xBC\xAF\x27\x1C", OC_SNIFF_OTHER, "a 7z archive", EXTRACT, NULL},
    {0, 4, "Rar!", OC_SNIFF_OTHER, "a RAR archive", EXTRACT, NULL},
    {0, 4,
     "\x7F"
     "ELF",
     OC_SNIFF_OTHER, "a program", NULL, NULL},
    {0, 4, "GGUF", OC_SNIFF_OTHER, "a GGUF model file", NULL, NULL},
    {0, 4, "\x1A\x45\xDF\xA3", OC_SNIFF_CLIP, "Matroska or WebM", TAKE_FRAMES, NULL},
    {0, 4, "\0\0\1\xBA", OC_SNIFF_CLIP, "MPEG", TAKE_FRAMES, NULL},
    {0, 4, "\0\0\1\xB3", OC_SNIFF_CLIP, "MPEG", TAKE_FRAMES, NULL},
    {0, 4, "OggS", OC_SNIFF_CLIP, "Ogg", TAKE_FRAMES, NULL},
    {0, 3, "FLV", OC_SNIFF_CLIP, "Flash Video", TAKE_FRAMES, NULL},
    {0, 4, "\x30\x26\xB2\x75", OC_SNIFF_CLIP, "Windows Media", TAKE_FRAMES, NULL},
    {4, 4, "moov", OC_SNIFF_CLIP, "QuickTime or MP4", TAKE_FRAMES, NULL},
    {4, 4, "mdat", OC_SNIFF_CLIP, "QuickTime or MP4", TAKE_FRAMES, NULL},
    {4, 4, "wide", OC_SNIFF_CLIP, "QuickTime or MP4", TAKE_FRAMES, NULL},
};

static bool has(const unsigned char *bytes, size_t size, size_t offset, const char *what,
                size_t length)
{
    return size >= offset + length && memcmp(bytes + offset, what, length) == 0;
}

/* Of a file type box: its brand, and where size reaches further, those it is compatible with. */
static bool has_brand(const unsigned char *bytes, size_t size, const char *const *brands,
                      size_t count)
{
    enum { MAJOR = 8, VERSION = 12, MOST_BYTES = 64 };
    size_t length = size < 4 ? 0 : (size_t)bytes[2] << 8 | bytes[3]; /* of the box; it is short */
    size_t end = length < MOST_BYTES ? length : MOST_BYTES;
    end = end > MAJOR + 4 ? end : MAJOR + 4;
    for (size_t at = MAJOR; at + 4 <= end; at += 4) {
        for (size_t i = 0; at != VERSION && i < count; i++) {
            if (has(bytes, size, at, brands[i], 4)) {
                return true;
            }
        }
    }
    return false;
}

/* RIFF and ISO media files say further on what they hold. */
static bool sniff_container(oc_sniff *out, const unsigned char *bytes, size_t size)
{
    if (has(bytes, size, 0, "RIFF", 4)) {
        if (has(bytes, size, 8, "WEBP", 4)) {
            *out = (oc_sniff){OC_SNIFF_WEBP, "WebP", CONVERT, "webp"};
        } else if (has(bytes, size, 8, "AVI ", 4)) {
            *out = (oc_sniff){OC_SNIFF_CLIP, "AVI", TAKE_FRAMES, NULL};
        } else {
            *out = (oc_sniff){OC_SNIFF_OTHER, "a RIFF file without a picture", NULL, NULL};
        }
        return true;
    }
    if (!has(bytes, size, 4, "ftyp", 4)) {
        return false;
    }
    static const char *const AVIF_BRANDS[] = {"avif", "avis"};
    static const char *const HEIC_BRANDS[] = {"heic", "heix", "heim", "heis", "hevc",
                                              "hevx", "mif1", "msf1", "heif"};
    bool general = has(bytes, size, 8, "mif1", 4) || has(bytes, size, 8, "msf1", 4);
    if (has_brand(bytes, general ? size : (size < 12 ? size : 12), AVIF_BRANDS,
                  sizeof AVIF_BRANDS / sizeof *AVIF_BRANDS)) {
        *out = (oc_sniff){OC_SNIFF_AVIF, "AVIF", CONVERT, "avif"};
    } else if (has_brand(bytes, size < 12 ? size : 12, HEIC_BRANDS,
                         sizeof HEIC_BRANDS / sizeof *HEIC_BRANDS)) {
        *out = (oc_sniff){OC_SNIFF_HEIC, "HEIC", CONVERT_HEIC, "heic"};
    } else {
        *out = (oc_sniff){OC_SNIFF_CLIP, "QuickTime or MP4", TAKE_FRAMES, NULL};
    }
    return true;
}

/* Behind "P1" to "P6": blanks, then a number, a comment or the end of what there is to see. A text
 * that begins so goes on with something else. */
static bool looks_like_pnm(const unsigned char *bytes, size_t size)
{
    if (size < 3 || bytes[0] != 'P' || bytes[1] < '1' || bytes[1] > '6') {
        return false;
    }
    size_t at = 2;
    while (at < size && at < 64 && (bytes[at] == ' ' || (bytes[at] >= '\t' && bytes[at] <= '\r'))) {
        at++;
    }
    bool is_number = at < size && bytes[at] >= '0' && bytes[at] <= '9';
    bool is_negative = size - at > 1 && bytes[at] == '-' && bytes[at + 1] >= '0' &&
                       bytes[at + 1] <= '9'; /* to be refused as what it is */
    return at == size || bytes[at] == '#' || (at > 2 && (at == 64 || is_number || is_negative));
}

/* "BM" and "P6" are short: the next bytes must make sense too. */
static bool sniff_short(oc_sniff *out, const unsigned char *bytes, size_t size)
{
    if (has(bytes, size, 0, "BM", 2) && (size < 18 || (bytes[15] | bytes[16] | bytes[17]) == 0)) {
        *out = (oc_sniff){OC_SNIFF_BMP, "BMP", NULL, "bmp"};
        return true;
    }
    if (looks_like_pnm(bytes, size)) {
        *out = (oc_sniff){OC_SNIFF_PNM, "PNM", NULL, "pnm"};
        return true;
    }
    if (size >= 3 && bytes[0] == 'P' && memchr("7fF", bytes[1], 3) != NULL && bytes[2] == '\n') {
        bool pam = bytes[1] == '7';
        *out = (oc_sniff){OC_SNIFF_PICTURE, pam ? "PAM" : "PFM", CONVERT, pam ? "pam" : "pfm"};
        return true;
    }
    return false;
}

/* TGA has no signature at its start: believe a header all of whose fields make sense. */
static bool looks_like_tga(const unsigned char *bytes, size_t size)
{
    if (size >= 26 && memcmp(bytes + size - 18, "TRUEVISION-XFILE.", 18) == 0) {
        return true;
    }
    if (size < 18 || bytes[1] > 1 || (bytes[2] & ~8u) < 1 || (bytes[2] & ~8u) > 3 ||
        bytes[2] > 11) {
        return false;
    }
    unsigned depth = bytes[16];
    bool has_map = bytes[1] == 1, wants_map = (bytes[2] & 7u) == 1;
    return has_map == wants_map && (bytes[12] | bytes[13]) != 0 && (bytes[14] | bytes[15]) != 0 &&
           (depth == 8 || depth == 15 || depth == 16 || depth == 24 || depth == 32) &&
           (bytes[17] & 0xC0) == 0;
}

static bool begins_with(const unsigned char *bytes, size_t size, const char *lower_case)
{
    size_t length = strlen(lower_case);
    if (size < length) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = bytes[i];
        if (byte >= 'A' && byte <= 'Z') {
            byte = (unsigned char)(byte + ('a' - 'A'));
        }
        if (byte != (unsigned char)lower_case[i]) {
            return false;
        }
    }
    return true;
}

static bool contains(const unsigned char *bytes, size_t size, const char *lower_case)
{
    for (size_t i = 0; i < size; i++) {
        if (begins_with(bytes + i, size - i, lower_case)) {
            return true;
        }
    }
    return false;
}

static bool is_text(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool space = bytes[i] >= '\t' && bytes[i] <= '\r';
        if ((bytes[i] < ' ' && !space) || bytes[i] == 0x7F) {
            return false;
        }
    }
    return true;
}

static oc_sniff sniff_text(const unsigned char *bytes, size_t size)
{
    if (begins_with(bytes, size, "version https://git-lfs")) {
        return (oc_sniff){OC_SNIFF_OTHER, "a Git LFS pointer to one",
                          "fetch the picture with: git lfs pull", NULL};
    }
    if (has(bytes, size, 0, "\xEF\xBB\xBF", 3)) {
        bytes += 3;
        size -= 3;
    }
    while (size > 0 && (bytes[0] == ' ' || (bytes[0] >= '\t' && bytes[0] <= '\r'))) {
        bytes++;
        size--;
    }
    if (size == 0) {
        return (oc_sniff){OC_SNIFF_OTHER, "a file of blanks", SAVE_AGAIN, NULL};
    }
    if (bytes[0] == '<') {
        if (contains(bytes, size, "<svg")) {
            return (oc_sniff){OC_SNIFF_PICTURE, "SVG", CONVERT_SVG, "svg"};
        }
        if (contains(bytes, size, "<html") || contains(bytes, size, "<!doctype html")) {
            return (oc_sniff){OC_SNIFF_OTHER, "an HTML page", SAVE_AGAIN, NULL};
        }
        return (oc_sniff){OC_SNIFF_OTHER, "an XML or HTML text", SAVE_AGAIN, NULL};
    }
    if (bytes[0] == '{' || bytes[0] == '[') {
        return (oc_sniff){OC_SNIFF_OTHER, "a JSON text", SAVE_AGAIN, NULL};
    }
    if (begins_with(bytes, size, "data:image/")) {
        return (oc_sniff){OC_SNIFF_OTHER, "a data: URL", "decode its base64 part into a file first",
                          NULL};
    }
    return (oc_sniff){OC_SNIFF_OTHER, "a text", SAVE_AGAIN, NULL};
}

oc_sniff oc_sniff_bytes(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    oc_sniff found = {OC_SNIFF_UNKNOWN, NULL, NULL, NULL};
    if (size == 0) {
        return (oc_sniff){OC_SNIFF_OTHER, "an empty file", SAVE_AGAIN, NULL};
    }
    for (size_t i = 0; i < sizeof SIGNATURES / sizeof *SIGNATURES; i++) {
        const signature *entry = &SIGNATURES[i];
        if (has(bytes, size, entry->offset, entry->bytes, entry->length)) {
            return (oc_sniff){entry->kind, entry->what, entry->advice, entry->format};
        }
    }
    if (sniff_container(&found, bytes, size) || sniff_short(&found, bytes, size)) {
        return found;
    }
    if (looks_like_tga(bytes, size)) {
        return (oc_sniff){OC_SNIFF_PICTURE, "TGA", CONVERT, "tga"};
    }
    size_t looked_at = size < 512 ? size : 512;
    if (is_text(bytes, looked_at)) {
        return sniff_text(bytes, looked_at);
    }
    return found;
}
