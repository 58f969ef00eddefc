/* decode_heif.c - HEIC, and what else libheif reads, to RGB: the primary picture of the file.
 *
 * libheif obeys the picture's turning and cropping properties itself. The orientation in an EXIF
 * block beside them is for information and must not be applied again, as in the reference's loader
 * (pillow-heif). 10 and 12 bits become 8 in libheif's way. */
#include "vision/decode.h"

#include "vision/alpha.h"

#include <libheif/heif.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
    const oc_decode_input *in;
    struct heif_context *context;
    struct heif_image_handle *handle;
    struct heif_image *image;
    struct heif_decoding_options *options;
} reader;

static void close_reader(reader *heif)
{
    heif_decoding_options_free(heif->options);
    heif_image_release(heif->image);
    heif_image_handle_release(heif->handle);
    heif_context_free(heif->context);
}

static ocelli_status explain(const reader *heif, struct heif_error problem, ocelli_error *err)
{
    char what[128];
    if (problem.code == heif_error_Unsupported_filetype ||
        problem.code == heif_error_Unsupported_feature) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: the libheif of this machine cannot decode this HEIC picture (%s); "
                       "convert it to PNG or JPEG",
                       heif->in->name, problem.message != NULL ? problem.message : "no reason");
    }
    if (problem.code == heif_error_Memory_allocation_error &&
        problem.subcode != heif_suberror_Security_limit_exceeded) {
        return oc_fail_memory(err, "picture");
    }
    snprintf(what, sizeof what, "libheif says: %s",
             problem.message != NULL ? problem.message : "no reason");
    for (char *at = what; *at != '\0'; at++) {
        *at = *at == '\n' ? ' ' : *at;
    }
    return oc_decode_damaged(heif->in, "HEIC", what, err);
}

#define HEIF_TRY(heif, call, err)                                                                  \
    do {                                                                                           \
        struct heif_error problem_ = (call);                                                       \
        if (problem_.code != heif_error_Ok) {                                                      \
            return explain((heif), problem_, (err));                                               \
        }                                                                                          \
    } while (0)

static ocelli_status check_sides(const oc_decode_input *in, int width, int height,
                                 ocelli_error *err)
{
    return oc_decode_check_size(in, width > 0 ? (uint64_t)width : 0,
                                height > 0 ? (uint64_t)height : 0, err);
}

/* Reads the boxes; no pixel is decoded. */
static ocelli_status read_header(reader *heif, ocelli_error *err)
{
    const oc_decode_input *in = heif->in;
    heif->context = heif_context_alloc();
    heif->options = heif_decoding_options_alloc();
    if (heif->context == NULL || heif->options == NULL) {
        return oc_fail_memory(err, "picture");
    }
    heif_context_set_max_decoding_threads(heif->context, 0); /* this thread, and no other */
    HEIF_TRY(heif,
             heif_context_read_from_memory_without_copy(heif->context, in->bytes, in->size, NULL),
             err);
    HEIF_TRY(heif, heif_context_get_primary_image_handle(heif->context, &heif->handle), err);
    OC_TRY(check_sides(in, heif_image_handle_get_width(heif->handle),
                       heif_image_handle_get_height(heif->handle), err));
    /* In front of cropping and turning: what is decoded. */
    return check_sides(in, heif_image_handle_get_ispe_width(heif->handle),
                       heif_image_handle_get_ispe_height(heif->handle), err);
}

static ocelli_status decode(ocelli_image **out, reader *heif, ocelli_error *err)
{
    const oc_decode_input *in = heif->in;
    OC_TRY(read_header(heif, err));
    bool has_alpha = heif_image_handle_has_alpha_channel(heif->handle) != 0;
    size_t channels = has_alpha ? 4 : 3;
    heif->options->convert_hdr_to_8bit = 1;
    HEIF_TRY(
        heif,
        heif_decode_image(heif->handle, &heif->image, heif_colorspace_RGB,
                          has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB,
                          heif->options),
        err);
    int width = heif_image_get_width(heif->image, heif_channel_interleaved);
    int height = heif_image_get_height(heif->image, heif_channel_interleaved);
    int stride = 0;
    const uint8_t *rows =
        heif_image_get_plane_readonly(heif->image, heif_channel_interleaved, &stride);
    OC_TRY(check_sides(in, width, height, err));
    if (rows == NULL || stride < 0 || (size_t)stride < (size_t)width * channels) {
        return oc_decode_damaged(in, "HEIC", "it has no pixels", err);
    }
    OC_TRY(oc_image_new(out, width, height, err));
    for (int y = 0; y < height; y++) {
        const uint8_t *row = rows + (size_t)y * (size_t)stride;
        uint8_t *to = (*out)->rgb + (size_t)y * (size_t)width * 3;
        if (!has_alpha) {
            memcpy(to, row, (size_t)width * 3);
            continue;
        }
        for (int x = 0; x < width; x++, row += 4, to += 3) {
            oc_alpha_settle(to, row, &in->options);
        }
    }
    return OCELLI_OK;
}

ocelli_status oc_decode_heif(ocelli_image **out, const oc_decode_input *in, ocelli_error *err)
{
    reader heif = {.in = in};
    *out = NULL;
    ocelli_status status = decode(out, &heif, err);
    close_reader(&heif);
    return status;
}
