/* jpeg_check.h - walks a JPEG's markers before the decoder does. */
#ifndef OC_VISION_JPEG_CHECK_H
#define OC_VISION_JPEG_CHECK_H

#include "vision/decode.h"
#include "vision/jpeg_planes.h"

#include <stdbool.h>

typedef struct oc_jpeg {
    int width, height;
    int components; /* 1, 3 or 4 */
    bool progressive;
    int scans;
    oc_jpeg_colour colour; /* by libjpeg's rules: JFIF, then Adobe, then the components' names */
} oc_jpeg;

/* Refuses what the decoder behind it does not read (12 bits, arithmetic coding, four components of
 * unknown meaning), what it does not check (oversized or missing Huffman tables, missing scans), a
 * picture above the size limit, scans without end, and a file that stops before its end marker.
 * Reads markers in the decoder's way, so that both see the same ones. OCELLI_E_FORMAT,
 * _UNSUPPORTED, _LIMIT. */
ocelli_status oc_jpeg_check(oc_jpeg *out, const oc_decode_input *in, ocelli_error *err);

#endif
