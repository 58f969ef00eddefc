/* sniff.h - what some bytes are, by their first bytes and never by a file's name. */
#ifndef OC_VISION_SNIFF_H
#define OC_VISION_SNIFF_H

#include <stddef.h>

typedef enum oc_sniff_kind {
    OC_SNIFF_UNKNOWN,
    OC_SNIFF_JPEG,
    OC_SNIFF_PNG,
    OC_SNIFF_BMP,
    OC_SNIFF_PNM,
    OC_SNIFF_GIF,
    OC_SNIFF_WEBP,
    OC_SNIFF_TIFF,
    OC_SNIFF_AVIF,
    OC_SNIFF_HEIC,
    OC_SNIFF_PICTURE, /* a picture format that no decoder here reads */
    OC_SNIFF_CLIP,    /* a video container */
    OC_SNIFF_OTHER    /* no picture at all */
} oc_sniff_kind;

typedef struct oc_sniff {
    oc_sniff_kind kind;
    const char *what;   /* with its article for OTHER ("an HTML page"), else a name ("WebP") */
    const char *advice; /* what to do where it cannot be read; NULL: nothing in particular */
    const char *format; /* of a picture: "webp"; else NULL */
} oc_sniff;

/* Never fails; an empty buffer is OTHER. Looks at a few hundred bytes at most; 64 are enough but for
 * the pictures that are text (SVG) and for TGA's, which sign at their end. */
oc_sniff oc_sniff_bytes(const void *bytes, size_t size);

#endif
