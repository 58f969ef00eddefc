/* decode_jpeg.c - JPEG to RGB: the markers are checked first, then stb_image decodes. */
#include "vision/decode.h"

#include "runtime/base/memory.h"
#include "vision/decode_stb.h"
#include "vision/jpeg_check.h"

#include <stdio.h>

ocelli_status oc_decode_jpeg(ocelli_image **out, const oc_decode_input *in, ocelli_error *err)
{
    *out = NULL;
    oc_jpeg jpeg;
    OC_TRY(oc_jpeg_check(&jpeg, in, err));
    ocelli_image *image = oc_alloc(1, sizeof *image);
    if (image == NULL) {
        return oc_fail_memory(err, "picture");
    }
    const char *reason;
    image->rgb = oc_stb_jpeg(in->bytes, in->size, &image->width, &image->height, &reason);
    if (image->rgb == NULL) {
        oc_image_free(image);
        char what[96];
        snprintf(what, sizeof what, "its coded data cannot be read (%s)",
                 reason != NULL ? reason : "no reason given");
        return oc_decode_damaged(in, "JPEG", what, err);
    }
    if (image->width != jpeg.width || image->height != jpeg.height) {
        oc_image_free(image);
        return oc_decode_damaged(in, "JPEG", "its size is given twice and differs", err);
    }
    *out = image;
    return OCELLI_OK;
}
