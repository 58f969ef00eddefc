/* decode_webp.c - WebP to RGB through libwebp: lossy and lossless, with alpha, and animations
 * through libwebpdemux, which composites their frames. */
#include "vision/decode.h"

#include "runtime/base/memory.h"
#include "vision/alpha.h"

#include <limits.h>
#include <stdbool.h>
#include <webp/decode.h>
#include <webp/demux.h>

static ocelli_status read_header(WebPBitstreamFeatures *out, const oc_decode_input *in,
                                 ocelli_error *err)
{
    switch (WebPGetFeatures(in->bytes, in->size, out)) {
    case VP8_STATUS_OK: break;
    case VP8_STATUS_NOT_ENOUGH_DATA: return oc_decode_cut_off(in, "WebP", err);
    default: return oc_decode_damaged(in, "WebP", "its header cannot be read", err);
    }
    return oc_decode_check_size(in, (uint64_t)out->width, (uint64_t)out->height, err);
}

static ocelli_status explain(VP8StatusCode code, const oc_decode_input *in, ocelli_error *err)
{
    switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY: return oc_fail_memory(err, "picture");
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED: return oc_decode_cut_off(in, "WebP", err);
    default: return oc_decode_damaged(in, "WebP", "its coded data cannot be read", err);
    }
}

/* rgba [height, width, 4] onto the background. */
static ocelli_status settle(ocelli_image **out, const uint8_t *rgba, int width, int height,
                            const oc_decode_input *in, ocelli_error *err)
{
    OC_TRY(oc_image_new(out, width, height, err));
    size_t pixels = (size_t)width * (size_t)height;
    for (size_t i = 0; i < pixels; i++) {
        oc_alpha_settle((*out)->rgb + 3 * i, rgba + 4 * i, &in->options);
    }
    return OCELLI_OK;
}

static ocelli_status decode_opaque(ocelli_image **out, const WebPBitstreamFeatures *features,
                                   const oc_decode_input *in, ocelli_error *err)
{
    ocelli_image *image;
    WebPDecoderConfig config;
    OC_TRY(oc_image_new(&image, features->width, features->height, err));
    if (!WebPInitDecoderConfig(&config)) {
        oc_image_free(image);
        return oc_fail(err, OCELLI_E_INTERNAL, "libwebp has another version than its header");
    }
    config.output.colorspace = MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = image->rgb;
    config.output.u.RGBA.stride = 3 * image->width;
    config.output.u.RGBA.size = (size_t)3 * (size_t)image->width * (size_t)image->height;
    VP8StatusCode code = WebPDecode(in->bytes, in->size, &config);
    WebPFreeDecBuffer(&config.output);
    if (code != VP8_STATUS_OK) {
        oc_image_free(image);
        return explain(code, in, err);
    }
    *out = image;
    return OCELLI_OK;
}

static ocelli_status decode_alpha(ocelli_image **out, const WebPBitstreamFeatures *features,
                                  const oc_decode_input *in, ocelli_error *err)
{
    size_t pixels = (size_t)features->width * (size_t)features->height;
    uint8_t *rgba = oc_alloc(pixels, 4);
    WebPDecoderConfig config;
    if (rgba == NULL || !WebPInitDecoderConfig(&config)) {
        oc_free(rgba);
        return oc_fail_memory(err, "picture");
    }
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = rgba;
    config.output.u.RGBA.stride = 4 * features->width;
    config.output.u.RGBA.size = pixels * 4;
    VP8StatusCode code = WebPDecode(in->bytes, in->size, &config);
    WebPFreeDecBuffer(&config.output);
    ocelli_status status = code == VP8_STATUS_OK
                               ? settle(out, rgba, features->width, features->height, in, err)
                               : explain(code, in, err);
    oc_free(rgba);
    return status;
}

/* ---- animations ---------------------------------------------------------------------------- */

typedef struct webp_frames {
    const oc_decode_input *in;
    WebPAnimDecoder *decoder;
    WebPAnimInfo info;
    size_t given;
    int shown_until; /* milliseconds */
} webp_frames;

static void close_frames(void *state)
{
    webp_frames *frames = state;
    WebPAnimDecoderDelete(frames->decoder);
    oc_free(frames);
}

static ocelli_status next_frame(void *state, ocelli_image **frame, double *seconds,
                                ocelli_error *err)
{
    webp_frames *frames = state;
    *frame = NULL;
    *seconds = 0;
    if (frames->given == frames->info.frame_count) {
        return OCELLI_OK;
    }
    uint8_t *rgba; /* the decoder's */
    int until;
    if (!WebPAnimDecoderGetNext(frames->decoder, &rgba, &until)) {
        return oc_decode_damaged(frames->in, "WebP", "a frame cannot be read", err);
    }
    frames->given++;
    if (until > frames->shown_until) { /* a sum of delays without end would wrap */
        *seconds = (until - frames->shown_until) / 1000.0;
    }
    frames->shown_until = until;
    return settle(frame, rgba, (int)frames->info.canvas_width, (int)frames->info.canvas_height,
                  frames->in, err);
}

/* A frame of the size of the canvas at most; the demuxer has checked that. */
ocelli_status oc_frames_webp(oc_frame_reader *out, const oc_decode_input *in, ocelli_error *err)
{
    WebPBitstreamFeatures features;
    *out = (oc_frame_reader){0};
    OC_TRY(read_header(&features, in, err));
    webp_frames *frames = oc_alloc(1, sizeof *frames);
    if (frames == NULL) {
        return oc_fail_memory(err, "animation");
    }
    frames->in = in;
    WebPAnimDecoderOptions options;
    if (!WebPAnimDecoderOptionsInit(&options)) {
        oc_free(frames);
        return oc_fail(err, OCELLI_E_INTERNAL, "libwebpdemux has another version than its header");
    }
    const WebPData data = {in->bytes, in->size};
    frames->decoder = WebPAnimDecoderNew(&data, &options);
    if (frames->decoder == NULL || !WebPAnimDecoderGetInfo(frames->decoder, &frames->info) ||
        frames->info.frame_count == 0) {
        close_frames(frames);
        return oc_decode_damaged(in, "WebP", "it is cut off or holds no whole frame", err);
    }
    *out = (oc_frame_reader){.state = frames,
                             .count = frames->info.frame_count,
                             .next = next_frame,
                             .close = close_frames};
    return OCELLI_OK;
}

ocelli_status oc_decode_webp(ocelli_image **out, const oc_decode_input *in, ocelli_error *err)
{
    WebPBitstreamFeatures features;
    *out = NULL;
    OC_TRY(read_header(&features, in, err));
    if (features.has_animation) {
        oc_frame_reader frames;
        double seconds;
        OC_TRY(oc_frames_webp(&frames, in, err));
        ocelli_status status = frames.next(frames.state, out, &seconds, err);
        frames.close(frames.state);
        return status;
    }
    return features.has_alpha ? decode_alpha(out, &features, in, err)
                              : decode_opaque(out, &features, in, err);
}
