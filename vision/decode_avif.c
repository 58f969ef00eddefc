/* decode_avif.c - AVIF to RGB through libavif: still pictures and sequences, 8 to 12 bits, with
 * alpha.
 *
 * How to turn a picture is told by its irot and imir properties and by nothing else: an EXIF block
 * beside them is for information (ISO/IEC 23008-12), and the reference's loader ignores its
 * orientation as well.
 *
 * About a damaged stream dav1d, which stands behind libavif, may write a line to stderr; nothing in
 * libavif's interface stops it. */
#include "vision/decode.h"

#include "runtime/base/memory.h"
#include "vision/alpha.h"
#include "vision/turn.h"

#include <avif/avif.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

static ocelli_status explain(avifResult result, const oc_decode_input *in, ocelli_error *err)
{
    switch (result) {
    case AVIF_RESULT_OUT_OF_MEMORY: return oc_fail_memory(err, "picture");
    case AVIF_RESULT_TRUNCATED_DATA: return oc_decode_cut_off(in, "AVIF", err);
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: the libavif of this machine was made without a decoder of AV1; convert "
                       "the picture to PNG or JPEG",
                       in->name);
    default: return oc_decode_damaged(in, "AVIF", avifResultToString(result), err);
    }
}

/* What is above the library's bounds, which are ours, it calls damaged. */
static ocelli_status explain_header(const avifDecoder *decoder, avifResult result,
                                    const oc_decode_input *in, ocelli_error *err)
{
    if (strstr(decoder->diag.error, "too large") != NULL) {
        return oc_fail(err, OCELLI_E_LIMIT,
                       "%s: the AVIF picture is larger than the limit of %llu pixels in all "
                       "(libavif says: %.100s); shrink it or raise the limit (--max-input-pixels)",
                       in->name, (unsigned long long)in->options.max_pixels, decoder->diag.error);
    }
    return explain(result, in, err);
}

/* The decoder with its header read and its size checked. */
static ocelli_status open_decoder(avifDecoder **out, const oc_decode_input *in, ocelli_error *err)
{
    avifDecoder *decoder = avifDecoderCreate();
    *out = NULL;
    if (decoder == NULL) {
        return oc_fail_memory(err, "picture");
    }
    decoder->maxThreads = 1;
    decoder->ignoreExif = AVIF_TRUE;
    decoder->ignoreXMP = AVIF_TRUE;
    /* Older encoders leave out "pixi", and write clean apertures that are none. */
    decoder->strictFlags &=
        ~((avifStrictFlags)AVIF_STRICT_CLAP_VALID | (avifStrictFlags)AVIF_STRICT_PIXI_REQUIRED);
    /* So that a coded frame larger than the header says is refused as well. */
    if (in->options.max_pixels < decoder->imageSizeLimit) {
        decoder->imageSizeLimit = in->options.max_pixels > 0 ? (uint32_t)in->options.max_pixels : 1;
    }
    avifResult result = avifDecoderSetIOMemory(decoder, in->bytes, in->size);
    if (result == AVIF_RESULT_OK) {
        result = avifDecoderParse(decoder);
    }
    ocelli_status status =
        result != AVIF_RESULT_OK
            ? explain_header(decoder, result, in, err)
            : oc_decode_check_size(in, decoder->image->width, decoder->image->height, err);
    if (status != OCELLI_OK) {
        avifDecoderDestroy(decoder);
        return status;
    }
    *out = decoder;
    return OCELLI_OK;
}

/* Converts into rgb [height, width, 3], through four channels where there is alpha. */
static ocelli_status convert(uint8_t *rgb, const avifImage *yuv, const oc_decode_input *in,
                             ocelli_error *err)
{
    avifRGBImage target;
    avifRGBImageSetDefaults(&target, yuv);
    target.depth = 8;
    bool has_alpha = yuv->alphaPlane != NULL;
    unsigned channels = has_alpha ? 4 : 3;
    target.format = has_alpha ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
    size_t pixels = (size_t)yuv->width * yuv->height;
    if (yuv->width > UINT32_MAX / 4) {
        return oc_fail_memory(err, "picture");
    }
    uint8_t *rgba = has_alpha ? oc_alloc(pixels, 4) : NULL;
    if (has_alpha && rgba == NULL) {
        return oc_fail_memory(err, "picture");
    }
    target.pixels = has_alpha ? rgba : rgb;
    target.rowBytes = yuv->width * channels;
    avifResult result = avifImageYUVToRGB(yuv, &target);
    for (size_t i = 0; has_alpha && result == AVIF_RESULT_OK && i < pixels; i++) {
        oc_alpha_settle(rgb + 3 * i, rgba + 4 * i, &in->options);
    }
    oc_free(rgba);
    return result == AVIF_RESULT_OK ? OCELLI_OK : explain(result, in, err);
}

/* irot turns anti-clockwise by quarters, then imir mirrors: as one of EXIF's eight. */
static int orientation_of(const avifImage *image)
{
    static const uint8_t TURNED[4] = {1, 8, 3, 6};
    static const uint8_t TOP_TO_BOTTOM[4] = {4, 5, 2, 7}; /* turned, then mirrored */
    static const uint8_t LEFT_TO_RIGHT[4] = {2, 7, 4, 5};
    unsigned quarters =
        (image->transformFlags & AVIF_TRANSFORM_IROT) != 0 ? image->irot.angle & 3u : 0;
    if ((image->transformFlags & AVIF_TRANSFORM_IMIR) == 0) {
        return TURNED[quarters];
    }
#if AVIF_VERSION_MAJOR >= 1
    return image->imir.axis == 0 ? TOP_TO_BOTTOM[quarters] : LEFT_TO_RIGHT[quarters];
#else
    return image->imir.mode == 0 ? TOP_TO_BOTTOM[quarters] : LEFT_TO_RIGHT[quarters];
#endif
}

/* The picture that the decoder stands at. */
static ocelli_status take_image(ocelli_image **out, const avifImage *yuv, const oc_decode_input *in,
                                ocelli_error *err)
{
    ocelli_image *image;
    *out = NULL;
    OC_TRY(oc_decode_check_size(in, yuv->width, yuv->height, err));
    OC_TRY(oc_image_new(&image, (int)yuv->width, (int)yuv->height, err));
    ocelli_status status = convert(image->rgb, yuv, in, err);
    if (status == OCELLI_OK) {
        status = oc_image_turn(image, orientation_of(yuv), err);
    }
    if (status != OCELLI_OK) {
        oc_image_free(image);
        return status;
    }
    *out = image;
    return OCELLI_OK;
}

/* ---- sequences ----------------------------------------------------------------------------- */

typedef struct avif_frames {
    const oc_decode_input *in;
    avifDecoder *decoder;
    int given;
} avif_frames;

static void close_frames(void *state)
{
    avif_frames *frames = state;
    avifDecoderDestroy(frames->decoder);
    oc_free(frames);
}

static ocelli_status next_frame(void *state, ocelli_image **frame, double *seconds,
                                ocelli_error *err)
{
    avif_frames *frames = state;
    *frame = NULL;
    *seconds = 0;
    if (frames->given == frames->decoder->imageCount) {
        return OCELLI_OK;
    }
    avifResult result = avifDecoderNextImage(frames->decoder);
    if (result != AVIF_RESULT_OK) {
        return explain(result, frames->in, err);
    }
    frames->given++;
    double shown = frames->decoder->imageTiming.duration;
    *seconds = shown > 0 && shown < 1e6 ? shown : 0;
    return take_image(frame, frames->decoder->image, frames->in, err);
}

ocelli_status oc_frames_avif(oc_frame_reader *out, const oc_decode_input *in, ocelli_error *err)
{
    *out = (oc_frame_reader){0};
    avif_frames *frames = oc_alloc(1, sizeof *frames);
    if (frames == NULL) {
        return oc_fail_memory(err, "animation");
    }
    frames->in = in;
    ocelli_status status = open_decoder(&frames->decoder, in, err);
    if (status == OCELLI_OK && frames->decoder->imageCount < 1) {
        avifDecoderDestroy(frames->decoder);
        status = oc_decode_damaged(in, "AVIF", "it holds no picture", err);
    }
    if (status != OCELLI_OK) {
        oc_free(frames);
        return status;
    }
    *out = (oc_frame_reader){.state = frames,
                             .count = (size_t)frames->decoder->imageCount,
                             .next = next_frame,
                             .close = close_frames};
    return OCELLI_OK;
}

ocelli_status oc_decode_avif(ocelli_image **out, const oc_decode_input *in, ocelli_error *err)
{
    avifDecoder *decoder;
    *out = NULL;
    OC_TRY(open_decoder(&decoder, in, err));
    avifResult result = avifDecoderNextImage(decoder);
    ocelli_status status = result == AVIF_RESULT_OK ? take_image(out, decoder->image, in, err)
                                                    : explain(result, in, err);
    avifDecoderDestroy(decoder);
    return status;
}
