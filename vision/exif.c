/* exif.c - see exif.h. Reads one tag of the first directory and nothing else: no thumbnails, no
 * maker notes, no chains of directories, hence no loops to fall into. */
#include "vision/exif.h"

#include <stdbool.h>
#include <string.h>

typedef struct span {
    const unsigned char *bytes;
    size_t size;
} span;

enum { ORIENTATION_TAG = 0x0112, ENTRY_BYTES = 12 };

static uint32_t read16(const unsigned char *at, bool big)
{
    return big ? (uint32_t)at[0] << 8 | at[1] : (uint32_t)at[1] << 8 | at[0];
}

static uint32_t read32(const unsigned char *at, bool big)
{
    uint32_t first = read16(at, big), second = read16(at + 2, big);
    return big ? first << 16 | second : second << 16 | first;
}

static uint32_t read_big32(const unsigned char *at)
{
    return read32(at, true);
}

/* The value if the entry is one whole number; types 3 and 8 have two bytes, 4 and 9 four. */
static uint32_t entry_value(const unsigned char *entry, bool big)
{
    uint32_t type = read16(entry + 2, big);
    if (read32(entry + 4, big) != 1) {
        return 0;
    }
    if (type == 3 || type == 8) {
        return read16(entry + 8, big);
    }
    return type == 4 || type == 9 ? read32(entry + 8, big) : 0;
}

/* block: a TIFF header and what follows. */
static int orientation_of_tiff(span block)
{
    if (block.size < 8) {
        return 1;
    }
    bool big = block.bytes[0] == 'M';
    if (memcmp(block.bytes, big ? "MM" : "II", 2) != 0 || read16(block.bytes + 2, big) != 42) {
        return 1;
    }
    size_t directory = read32(block.bytes + 4, big);
    if (directory > block.size || block.size - directory < 2) {
        return 1;
    }
    size_t entries = read16(block.bytes + directory, big);
    size_t room = (block.size - directory - 2) / ENTRY_BYTES;
    if (entries > room) {
        entries = room; /* a cut directory: what is there still counts */
    }
    uint32_t value = 1;
    for (size_t i = 0; i < entries; i++) {
        const unsigned char *entry = block.bytes + directory + 2 + i * ENTRY_BYTES;
        if (read16(entry, big) == ORIENTATION_TAG) {
            value = entry_value(entry, big); /* of several, the last */
        }
    }
    return value >= 1 && value <= 8 ? (int)value : 1;
}

/* Takes "Exif" and its two following bytes away, if they are there. */
static bool skip_exif_name(span *block)
{
    if (block->size < 6 || memcmp(block->bytes, "Exif\0", 5) != 0) {
        return false;
    }
    block->bytes += 6;
    block->size -= 6;
    return true;
}

/* The first APP1 that says Exif decides, as in the reference's decoder; XMP is APP1 too. */
static int orientation_of_jpeg(span file)
{
    size_t at = 2;
    while (file.size - at >= 4) {
        if (file.bytes[at] != 0xFF) {
            return 1;
        }
        unsigned marker = file.bytes[at + 1];
        if (marker == 0xFF) {
            at++; /* fill byte */
            continue;
        }
        if (marker == 0xDA || marker == 0xD9) {
            return 1;
        }
        size_t length = read16(file.bytes + at + 2, true);
        size_t left = file.size - at - 2;
        if (length < 2 || length > left) {
            return 1;
        }
        span segment = {file.bytes + at + 4, length - 2};
        if (marker == 0xE1 && skip_exif_name(&segment)) {
            return orientation_of_tiff(segment);
        }
        at += 2 + length;
    }
    return 1;
}

/* The eXIf chunk may stand anywhere, behind the pixels too. */
static int orientation_of_png(span file)
{
    size_t at = 8;
    while (file.size - at >= 12) {
        size_t length = read_big32(file.bytes + at);
        if (length > file.size - at - 12) {
            return 1;
        }
        if (memcmp(file.bytes + at + 4, "eXIf", 4) == 0) {
            span chunk = {file.bytes + at + 8, length};
            skip_exif_name(&chunk);
            return orientation_of_tiff(chunk);
        }
        at += 12 + length;
    }
    return 1;
}

static uint32_t read_little32(const unsigned char *at)
{
    return read32(at, false);
}

/* The EXIF chunk stands behind the pixels, as a rule; chunks are padded to an even length. */
static int orientation_of_webp(span file)
{
    size_t at = 12;
    while (file.size > at && file.size - at >= 8) {
        size_t length = read_little32(file.bytes + at + 4);
        if (length > file.size - at - 8) {
            return 1;
        }
        if (memcmp(file.bytes + at, "EXIF", 4) == 0) {
            span chunk = {file.bytes + at + 8, length};
            skip_exif_name(&chunk);
            return orientation_of_tiff(chunk);
        }
        at += 8 + length + (length & 1);
    }
    return 1;
}

int oc_exif_orientation(const void *bytes, size_t size)
{
    span file = {bytes, size};
    if (size >= 4 && memcmp(bytes, "\xFF\xD8", 2) == 0) {
        return orientation_of_jpeg(file);
    }
    if (size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1A\n", 8) == 0) {
        return orientation_of_png(file);
    }
    if (size >= 12 && memcmp(file.bytes, "RIFF", 4) == 0 &&
        memcmp(file.bytes + 8, "WEBP", 4) == 0) {
        return orientation_of_webp(file);
    }
    return 1;
}
