/* decode_jpeg.c - JPEG to RGB: markers are checked; then libjpeg-turbo decodes, where there is one
 * and it finds nothing to remark, else stb_image reads the coded data and the planes are made RGB. */
#include "vision/decode.h"

#include "vision/decode_stb.h"
#include "vision/jpeg_check.h"
#include "vision/jpeg_turbo.h"

#include <stdio.h>

/* planes is what the decoder saw; jpeg what the check saw. */
static ocelli_status convert(ocelli_image **out, const oc_jpeg_planes *planes, const oc_jpeg *jpeg,
                             const oc_decode_input *in, ocelli_error *err)
{
    if (planes->width != jpeg->width || planes->height != jpeg->height ||
        planes->count != jpeg->components) {
        return oc_decode_damaged(in, "JPEG", "its size is given twice and differs", err);
    }
    ocelli_image *image;
    OC_TRY(oc_image_new(&image, planes->width, planes->height, err));
    if (!oc_jpeg_planes_to_rgb(image->rgb, planes, jpeg->colour)) {
        oc_image_free(image);
        return oc_fail_memory(err, "picture");
    }
    *out = image;
    return OCELLI_OK;
}

static ocelli_status decode_by_stb(ocelli_image **out, const oc_decode_input *in,
                                   const oc_jpeg *jpeg, ocelli_error *err)
{
    oc_jpeg_planes planes;
    const char *reason;
    oc_stb_jpeg *decoder = oc_stb_jpeg_open(&planes, in->bytes, in->size, &reason);
    if (decoder == NULL) {
        char what[96];
        snprintf(what, sizeof what, "its coded data cannot be read (%s)",
                 reason != NULL ? reason : "no reason given");
        return oc_decode_damaged(in, "JPEG", what, err);
    }
    ocelli_status status = convert(out, &planes, jpeg, in, err);
    oc_stb_jpeg_close(decoder);
    return status;
}

#ifdef OCELLI_HAVE_JPEG
/* The smallest size that is large enough: twice the sides of a picture of enough pixels. */
static int choose_shrink(const oc_jpeg *jpeg, uint64_t enough)
{
    for (int shrink = 8; enough > 0 && shrink > 1; shrink /= 2) {
        uint64_t width = (uint64_t)jpeg->width / (unsigned)shrink;
        uint64_t height = (uint64_t)jpeg->height / (unsigned)shrink;
        if (width * height / 4 >= enough) {
            return shrink;
        }
    }
    return 1;
}
#endif

ocelli_status oc_decode_jpeg_plain(ocelli_image **out, const oc_decode_input *in, ocelli_error *err)
{
    *out = NULL;
    oc_jpeg jpeg;
    OC_TRY(oc_jpeg_check(&jpeg, in, err));
    return decode_by_stb(out, in, &jpeg, err);
}

ocelli_status oc_decode_jpeg(ocelli_image **out, const oc_decode_input *in, ocelli_error *err)
{
    *out = NULL;
    oc_jpeg jpeg;
    OC_TRY(oc_jpeg_check(&jpeg, in, err));
#ifdef OCELLI_HAVE_JPEG
    int shrink = choose_shrink(&jpeg, in->options.enough_pixels);
    OC_TRY(oc_jpeg_turbo_decode(out, in, &jpeg, shrink, err));
    if (*out != NULL) {
        return OCELLI_OK;
    }
#endif
    return decode_by_stb(out, in, &jpeg, err);
}
