/* decode.h - what image.c and the decoders share: one row of the decoder table each. */
#ifndef OC_VISION_DECODE_H
#define OC_VISION_DECODE_H

#include "vision/image.h"

/* The bytes to decode; name is for messages, options are complete. */
typedef struct oc_decode_input {
    const unsigned char *bytes;
    size_t size;
    const char *name;
    ocelli_image_options options;
} oc_decode_input;

/* A decoder gives 8-bit RGB, alpha already settled. Turning by what oc_exif_orientation finds is the
 * caller's; what else tells how to turn (TIFF's tag, AVIF's and HEIC's properties) the decoder has
 * obeyed. It checks the size in the header with oc_decode_check_size before it allocates anything that grows with the picture. */
typedef ocelli_status (*oc_decode_fn)(ocelli_image **out, const oc_decode_input *in,
                                      ocelli_error *err);

/* Frames of an animation, one after another. in must live as long. count is at least 1. next gives
 * NULL behind the last; *seconds is how long the frame is shown, as the file says it. */
typedef struct oc_frame_reader {
    void *state;
    size_t count;
    ocelli_status (*next)(void *state, ocelli_image **frame, double *seconds, ocelli_error *err);
    void (*close)(void *state);
} oc_frame_reader;
typedef ocelli_status (*oc_frames_fn)(oc_frame_reader *out, const oc_decode_input *in,
                                      ocelli_error *err);

ocelli_status oc_decode_jpeg(ocelli_image **out, const oc_decode_input *in, ocelli_error *err);
/* The same, never by a library. */
ocelli_status oc_decode_jpeg_plain(ocelli_image **out, const oc_decode_input *in,
                                   ocelli_error *err);
ocelli_status oc_decode_png(ocelli_image **out, const oc_decode_input *in, ocelli_error *err);
ocelli_status oc_decode_bmp(ocelli_image **out, const oc_decode_input *in, ocelli_error *err);
ocelli_status oc_decode_pnm(ocelli_image **out, const oc_decode_input *in, ocelli_error *err);

/* Each of these only in a build with its library. */
ocelli_status oc_decode_gif(ocelli_image **out, const oc_decode_input *in, ocelli_error *err);
ocelli_status oc_decode_webp(ocelli_image **out, const oc_decode_input *in, ocelli_error *err);
ocelli_status oc_decode_tiff(ocelli_image **out, const oc_decode_input *in, ocelli_error *err);
ocelli_status oc_decode_avif(ocelli_image **out, const oc_decode_input *in, ocelli_error *err);
ocelli_status oc_decode_heif(ocelli_image **out, const oc_decode_input *in, ocelli_error *err);
ocelli_status oc_frames_gif(oc_frame_reader *out, const oc_decode_input *in, ocelli_error *err);
ocelli_status oc_frames_webp(oc_frame_reader *out, const oc_decode_input *in, ocelli_error *err);
ocelli_status oc_frames_avif(oc_frame_reader *out, const oc_decode_input *in, ocelli_error *err);

/* OCELLI_E_LIMIT when width x height is above options.max_pixels or a side above INT_MAX;
 * OCELLI_E_FORMAT when a side is 0. */
ocelli_status oc_decode_check_size(const oc_decode_input *in, uint64_t width, uint64_t height,
                                   ocelli_error *err);

/* "NAME: the FORMAT picture is damaged: WHAT", or "... is cut off". OCELLI_E_FORMAT. */
ocelli_status oc_decode_damaged(const oc_decode_input *in, const char *format, const char *what,
                                ocelli_error *err);
ocelli_status oc_decode_cut_off(const oc_decode_input *in, const char *format, ocelli_error *err);
/* "NAME: this build cannot decode FORMAT pictures WHAT; ...". OCELLI_E_UNSUPPORTED. */
ocelli_status oc_decode_unsupported(const oc_decode_input *in, const char *format, const char *what,
                                    ocelli_error *err);

#endif
