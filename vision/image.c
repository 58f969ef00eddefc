/* image.c - see image.h. */
#include "vision/image.h"

#include "runtime/base/memory.h"
#include "vision/decode.h"
#include "vision/exif.h"
#include "vision/sniff.h"
#include "vision/turn.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

/* Decoders that stand on a library: NULL in a build without it. */
#ifdef OCELLI_HAVE_GIF
#define GIF_DECODERS oc_decode_gif, oc_frames_gif
#else
#define GIF_DECODERS NULL, NULL
#endif
#ifdef OCELLI_HAVE_WEBP
#define WEBP_DECODERS oc_decode_webp, oc_frames_webp
#else
#define WEBP_DECODERS NULL, NULL
#endif
#ifdef OCELLI_HAVE_TIFF
#define TIFF_DECODERS oc_decode_tiff, NULL
#else
#define TIFF_DECODERS NULL, NULL
#endif
#ifdef OCELLI_HAVE_AVIF
#define AVIF_DECODERS oc_decode_avif, oc_frames_avif
#else
#define AVIF_DECODERS NULL, NULL
#endif
#ifdef OCELLI_HAVE_HEIF
#define HEIC_DECODERS oc_decode_heif, NULL
#else
#define HEIC_DECODERS NULL, NULL
#endif

/* OC_IMAGE_FORMATS names those that this build reads. */
typedef struct picture_format {
    oc_sniff_kind kind;
    oc_decode_fn decode;
    oc_frames_fn frames;                    /* NULL: of this kind only the first picture is read */
    const char *library, *option, *package; /* what it takes; NULL: nothing */
} picture_format;

static const picture_format FORMATS[] = {
    {OC_SNIFF_PNG, oc_decode_png, NULL, NULL, NULL, NULL},
    {OC_SNIFF_JPEG, oc_decode_jpeg, NULL, NULL, NULL, NULL},
    {OC_SNIFF_BMP, oc_decode_bmp, NULL, NULL, NULL, NULL},
    {OC_SNIFF_PNM, oc_decode_pnm, NULL, NULL, NULL, NULL},
    {OC_SNIFF_GIF, GIF_DECODERS, "giflib", "OCELLI_GIF", "libgif-dev"},
    {OC_SNIFF_WEBP, WEBP_DECODERS, "libwebp", "OCELLI_WEBP", "libwebp-dev"},
    {OC_SNIFF_TIFF, TIFF_DECODERS, "libtiff", "OCELLI_TIFF", "libtiff-dev"},
    {OC_SNIFF_AVIF, AVIF_DECODERS, "libavif", "OCELLI_AVIF", "libavif-dev"},
    {OC_SNIFF_HEIC, HEIC_DECODERS, "libheif", "OCELLI_HEIF", "libheif-dev"},
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
        *image = (ocelli_image){.rgb = oc_alloc(pixels, 3),
                                .width = width,
                                .height = height,
                                .full_width = width,
                                .full_height = height};
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

/* Says what the bytes are, since they are not a picture that can be read. entry: of a kind that
 * another build reads; else NULL. */
static ocelli_status refuse(const oc_sniff *found, const picture_format *entry, const char *name,
                            ocelli_error *err)
{
    if (entry != NULL) {
        return oc_fail(
            err, OCELLI_E_UNSUPPORTED,
            "%s: this build cannot decode %s pictures, as it was made without %s (Debian "
            "package %s; build with -D%s=ON); %s",
            name, found->what, entry->library, entry->package, entry->option, found->advice);
    }
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

/* Completes *in and finds the row of what it holds. */
static ocelli_status find_format(const picture_format **out, oc_decode_input *in,
                                 const ocelli_image_options *options, ocelli_error *err)
{
    OC_TRY(take_options(&in->options, options, err));
    oc_sniff found = oc_sniff_bytes(in->bytes, in->size);
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
        if (FORMATS[i].kind == found.kind) {
            *out = &FORMATS[i];
            return (*out)->decode != NULL ? OCELLI_OK : refuse(&found, *out, in->name, err);
        }
    }
    return refuse(&found, NULL, in->name, err);
}

/* Turns a decoder's picture upright; frees it on failure. */
static ocelli_status take_upright(ocelli_image **out, ocelli_image *image,
                                  const oc_decode_input *in, ocelli_error *err)
{
    *out = NULL;
    ocelli_status status = oc_image_turn(image, oc_exif_orientation(in->bytes, in->size), err);
    if (status != OCELLI_OK) {
        oc_image_free(image);
        return status;
    }
    *out = image;
    return OCELLI_OK;
}

ocelli_status oc_image_decode(ocelli_image **out, const void *bytes, size_t size, const char *name,
                              const ocelli_image_options *options, ocelli_error *err)
{
    *out = NULL;
    oc_decode_input in = {.bytes = bytes, .size = size, .name = name != NULL ? name : "image"};
    const picture_format *found = NULL;
    OC_TRY(find_format(&found, &in, options, err));
    ocelli_image *image;
    OC_TRY(found->decode(&image, &in, err));
    return take_upright(out, image, &in, err);
}

/* ---- animations ---------------------------------------------------------------------------- */

struct ocelli_animation {
    oc_decode_input in; /* its name is own_name */
    char *own_name;
    const picture_format *format;
    oc_frame_reader reader; /* of a kind with frames; else all zero */
    size_t given;           /* frames so far */
    double seconds;         /* of all of them */
    bool ended;
};

ocelli_status oc_animation_open(ocelli_animation **out, const void *bytes, size_t size,
                                const char *name, const ocelli_image_options *options,
                                ocelli_error *err)
{
    *out = NULL;
    ocelli_animation *animation = oc_alloc(1, sizeof *animation);
    char *own_name = oc_strdup(name != NULL ? name : "image");
    if (animation == NULL || own_name == NULL) {
        oc_free(animation);
        oc_free(own_name);
        return oc_fail_memory(err, "animation");
    }
    *animation = (ocelli_animation){.in = {.bytes = bytes, .size = size, .name = own_name},
                                    .own_name = own_name};
    ocelli_status status = find_format(&animation->format, &animation->in, options, err);
    if (status == OCELLI_OK && animation->format->frames != NULL) {
        status = animation->format->frames(&animation->reader, &animation->in, err);
    }
    if (status != OCELLI_OK) {
        oc_animation_close(animation);
        return status;
    }
    *out = animation;
    return OCELLI_OK;
}

/* As the picture itself, for a kind without frames. */
static ocelli_status next_frame(ocelli_animation *animation, ocelli_image **frame, double *seconds,
                                ocelli_error *err)
{
    *frame = NULL;
    *seconds = 0;
    if (animation->ended) {
        return OCELLI_OK;
    }
    if (animation->reader.next != NULL) {
        OC_TRY(animation->reader.next(animation->reader.state, frame, seconds, err));
    } else if (animation->given == 0) {
        OC_TRY(animation->format->decode(frame, &animation->in, err));
    }
    return *frame != NULL ? take_upright(frame, *frame, &animation->in, err) : OCELLI_OK;
}

ocelli_status oc_animation_next(ocelli_animation *animation, ocelli_image **frame, double *seconds,
                                ocelli_error *err)
{
    static const double LEAST_SHOWN = 0.0105, SHOWN_INSTEAD = 0.1; /* browsers do so */
    double shown;
    *seconds = animation->seconds;
    ocelli_status status = next_frame(animation, frame, &shown, err);
    if (*frame == NULL) {
        animation->ended = true;
        return status;
    }
    animation->seconds += shown < LEAST_SHOWN ? SHOWN_INSTEAD : shown;
    animation->given++;
    return OCELLI_OK;
}

size_t oc_animation_frames(const ocelli_animation *animation)
{
    return animation->reader.next != NULL ? animation->reader.count : 1;
}

void oc_animation_close(ocelli_animation *animation)
{
    if (animation != NULL) {
        if (animation->reader.close != NULL) {
            animation->reader.close(animation->reader.state);
        }
        oc_free(animation->own_name);
        oc_free(animation);
    }
}
