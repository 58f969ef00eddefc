/* image.c - see image.h. */
#include "vision/image.h"

#include "runtime/base/memory.h"
#include "vision/decode.h"
#include "vision/exif.h"
#include "vision/sniff.h"
#include "vision/turn.h"

#include <limits.h>
#include <string.h>

/* A decoder for each kind that this build reads: OC_IMAGE_FORMATS names them. */
static const struct {
    oc_sniff_kind kind;
    oc_decode_fn decode;
} DECODERS[] = {
    {OC_SNIFF_PNG, oc_decode_png},
    {OC_SNIFF_JPEG, oc_decode_jpeg},
    {OC_SNIFF_BMP, oc_decode_bmp},
    {OC_SNIFF_PNM, oc_decode_pnm},
};

ocelli_status oc_image_new(ocelli_image **out, int width, int height, ocelli_error *err)
{
    *out = NULL;
    if (width < 1 || height < 1) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "a picture of %d x %d pixels: both must be at least 1", width, height);
    }
    size_t pixels;
    ocelli_image *image = NULL;
    if (oc_size_mul((size_t)width, (size_t)height, &pixels)) {
        image = oc_alloc(1, sizeof *image);
    }
    if (image != NULL) {
        *image = (ocelli_image){.rgb = oc_alloc(pixels, 3), .width = width, .height = height};
    }
    if (image == NULL || image->rgb == NULL) {
        oc_free(image);
        return oc_fail_memory(err, "picture");
    }
    *out = image;
    return OCELLI_OK;
}

void oc_image_free(ocelli_image *image)
{
    if (image != NULL) {
        oc_free(image->rgb);
        oc_free(image);
    }
}

oc_hash oc_image_hash(const ocelli_image *image)
{
    size_t bytes = (size_t)image->width * (size_t)image->height * 3;
    struct {
        oc_hash pixels;
        uint64_t width, height;
    } identity = {oc_hash_bytes(image->rgb, bytes), (uint64_t)image->width,
                  (uint64_t)image->height};
    return oc_hash_bytes(&identity, sizeof identity);
}

ocelli_status oc_decode_check_size(const oc_decode_input *in, uint64_t width, uint64_t height,
                                   ocelli_error *err)
{
    if (width == 0 || height == 0) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: the picture is damaged: it says that it is %llu x %llu pixels",
                       in->name, (unsigned long long)width, (unsigned long long)height);
    }
    if (width > INT_MAX || height > INT_MAX || width > in->options.max_pixels / height) {
        return oc_fail(
            err, OCELLI_E_LIMIT,
            "%s: the picture says that it is %llu x %llu pixels, the limit is %llu pixels "
            "in all; shrink it or raise the limit (--max-input-pixels)",
            in->name, (unsigned long long)width, (unsigned long long)height,
            (unsigned long long)in->options.max_pixels);
    }
    return OCELLI_OK;
}

ocelli_status oc_decode_damaged(const oc_decode_input *in, const char *format, const char *what,
                                ocelli_error *err)
{
    return oc_fail(err, OCELLI_E_FORMAT, "%s: the %s picture is damaged: %s", in->name, format,
                   what);
}

ocelli_status oc_decode_cut_off(const oc_decode_input *in, const char *format, ocelli_error *err)
{
    return oc_fail(err, OCELLI_E_FORMAT,
                   "%s: the %s picture is cut off: the file (%zu bytes) ends before the picture "
                   "does; download or copy it again",
                   in->name, format, in->size);
}

ocelli_status oc_decode_unsupported(const oc_decode_input *in, const char *format, const char *what,
                                    ocelli_error *err)
{
    return oc_fail(
        err, OCELLI_E_UNSUPPORTED,
        "%s: this build cannot decode %s pictures %s; save it again as a common PNG or JPEG",
        in->name, format, what);
}

/* Says what the bytes are, since they are not a picture that can be read. */
static ocelli_status refuse(const oc_sniff *found, const char *name, ocelli_error *err)
{
    const char *advice = found->advice != NULL ? found->advice : "give a PNG or JPEG picture";
    switch (found->kind) {
    case OC_SNIFF_PICTURE:
        return oc_fail(err, OCELLI_E_UNSUPPORTED, "%s: this build cannot decode %s pictures; %s",
                       name, found->what, advice);
    case OC_SNIFF_CLIP:
        return oc_fail(err, OCELLI_E_UNSUPPORTED, "%s: this is not a picture but a clip (%s); %s",
                       name, found->what, advice);
    case OC_SNIFF_OTHER:
        return oc_fail(err, OCELLI_E_FORMAT, "%s: this is not a picture but %s; %s", name,
                       found->what, advice);
    default:
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: not a picture of a known format (this build reads %s)", name,
                       OC_IMAGE_FORMATS);
    }
}

/* Defaults for what the caller's older or absent options lack. */
static ocelli_status take_options(ocelli_image_options *out, const ocelli_image_options *given,
                                  ocelli_error *err)
{
    *out = (ocelli_image_options)OCELLI_IMAGE_OPTIONS_INIT;
    if (given != NULL) {
        size_t known = given->struct_size < sizeof *out ? given->struct_size : sizeof *out;
        memcpy(out, given, known);
        out->struct_size = sizeof *out;
    }
    if (out->alpha != OCELLI_ALPHA_WHITE && out->alpha != OCELLI_ALPHA_DROP) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "image options: alpha %d is not a known value",
                       (int)out->alpha);
    }
    return OCELLI_OK;
}

ocelli_status oc_image_decode(ocelli_image **out, const void *bytes, size_t size, const char *name,
                              const ocelli_image_options *options, ocelli_error *err)
{
    *out = NULL;
    oc_decode_input in = {.bytes = bytes, .size = size, .name = name != NULL ? name : "image"};
    OC_TRY(take_options(&in.options, options, err));
    oc_sniff found = oc_sniff_bytes(bytes, size);
    oc_decode_fn decode = NULL;
    for (size_t i = 0; i < sizeof DECODERS / sizeof *DECODERS; i++) {
        if (DECODERS[i].kind == found.kind) {
            decode = DECODERS[i].decode;
        }
    }
    if (decode == NULL) {
        return refuse(&found, in.name, err);
    }
    ocelli_image *image;
    OC_TRY(decode(&image, &in, err));
    ocelli_status status = oc_image_turn(image, oc_exif_orientation(bytes, size), err);
    if (status != OCELLI_OK) {
        oc_image_free(image);
        return status;
    }
    *out = image;
    return OCELLI_OK;
}
