/* png_chunks.h - reads a PNG's chunks: all that must hold before a pixel is touched. */
#ifndef OC_VISION_PNG_CHUNKS_H
#define OC_VISION_PNG_CHUNKS_H

#include "vision/decode.h"

#include <stdbool.h>

typedef enum oc_png_colour {
    OC_PNG_GREY = 0,
    OC_PNG_RGB = 2,
    OC_PNG_PALETTE = 3,
    OC_PNG_GREY_ALPHA = 4,
    OC_PNG_RGBA = 6
} oc_png_colour;

typedef struct oc_png {
    uint32_t width, height;
    int depth; /* bits a sample: 1, 2, 4, 8, 16 */
    oc_png_colour colour;
    int samples; /* a pixel: 1 to 4 */
    bool interlaced;
    uint8_t palette[256][4];     /* RGBA; entries that the file lacks are opaque black */
    bool has_key;                /* a grey or RGB value that means transparent */
    uint16_t key[3];             /* at the file's own depth */
    size_t data_begin, data_end; /* offsets of the first IDAT chunk and behind the last */
    size_t data_size;            /* bytes in all IDAT chunks */
} oc_png;

/* Checks the signature, the order, length and CRC of the chunks that decide pixels (IHDR, PLTE,
 * tRNS, IDAT), the header's values and the size limit. Other chunks are passed over unread: no text
 * is inflated, no profile parsed. OCELLI_E_FORMAT, _UNSUPPORTED, _LIMIT. */
ocelli_status oc_png_read_chunks(oc_png *out, const oc_decode_input *in, ocelli_error *err);

/* Copies the payload of all IDAT chunks to out [data_size]. */
void oc_png_gather_data(unsigned char *out, const oc_png *png, const oc_decode_input *in);

#endif
