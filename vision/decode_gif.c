/* decode_gif.c - GIF to RGB through giflib: the first frame as a picture, or all of an animation,
 * drawn over one another on their canvas.
 *
 * As a picture, what the first frame does not cover is the first colour of its palette, unless it has
 * a transparent one: so the reference's decoder shows it. In an animation it is transparent, as in
 * browsers. */
#include "vision/decode.h"

#include "runtime/base/memory.h"
#include "vision/alpha.h"

#include <gif_lib.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum { PIXEL = 4 };

typedef struct rectangle {
    int left, top, width, height;
} rectangle;

typedef struct gif_frames {
    const oc_decode_input *in;
    size_t at; /* what the library has read */
    GifFileType *file;
    int width, height;
    uint8_t *canvas; /* [height, width, 4] */
    uint8_t *kept;   /* the same, in front of a frame that is taken away again; or NULL */
    uint8_t *line;   /* [line_room]: indices of a row */
    size_t line_room;
    rectangle drawn; /* the last frame's, within the canvas */
    int disposal;    /* of the last frame */
    bool started, as_picture;
} gif_frames;

static int read_bytes(GifFileType *file, GifByteType *out, int count)
{
    gif_frames *gif = file->UserData;
    size_t left = gif->in->size - gif->at;
    size_t got = count < 0 ? 0 : (size_t)count < left ? (size_t)count : left;
    memcpy(out, gif->in->bytes + gif->at, got);
    gif->at += got;
    return (int)got;
}

static ocelli_status explain(const gif_frames *gif, const char *what, ocelli_error *err)
{
    return gif->at == gif->in->size ? oc_decode_cut_off(gif->in, "GIF", err)
                                    : oc_decode_damaged(gif->in, "GIF", what, err);
}

static void close_gif(gif_frames *gif)
{
    int ignored;
    if (gif->file != NULL) {
        DGifCloseFile(gif->file, &ignored);
    }
    oc_free(gif->canvas);
    oc_free(gif->kept);
    oc_free(gif->line);
}

static ocelli_status open_gif(gif_frames *gif, const oc_decode_input *in, ocelli_error *err)
{
    int reason;
    *gif = (gif_frames){.in = in};
    gif->file = DGifOpen(gif, read_bytes, &reason);
    return gif->file != NULL ? OCELLI_OK : explain(gif, "its header cannot be read", err);
}

/* Up to the next frame's description, with what was said about it. *found false: there is none. */
static ocelli_status find_frame(gif_frames *gif, GraphicsControlBlock *control, bool *found,
                                ocelli_error *err)
{
    *control = (GraphicsControlBlock){.TransparentColor = NO_TRANSPARENT_COLOR};
    *found = false;
    for (;;) {
        GifRecordType kind;
        GifByteType *block;
        int code;
        if (DGifGetRecordType(gif->file, &kind) != GIF_OK) {
            /* Many an animation lacks its last byte. */
            return gif->at == gif->in->size && gif->started
                       ? OCELLI_OK
                       : explain(gif, "an unknown block stands in it", err);
        }
        if (kind == TERMINATE_RECORD_TYPE) {
            return OCELLI_OK;
        }
        if (kind == IMAGE_DESC_RECORD_TYPE) {
            *found = true;
            return DGifGetImageDesc(gif->file) == GIF_OK
                       ? OCELLI_OK
                       : explain(gif, "a frame's description cannot be read", err);
        }
        if (DGifGetExtension(gif->file, &code, &block) != GIF_OK) {
            return explain(gif, "an extension cannot be read", err);
        }
        while (block != NULL) {
            if (code == GRAPHICS_EXT_FUNC_CODE) {
                (void)DGifExtensionToGCB(block[0], block + 1, control);
            }
            if (DGifGetExtensionNext(gif->file, &block) != GIF_OK) {
                return explain(gif, "an extension cannot be read", err);
            }
        }
    }
}

/* The screen, made larger where the first frame reaches beyond it. */
static ocelli_status make_canvas(gif_frames *gif, ocelli_error *err)
{
    const GifImageDesc *frame = &gif->file->Image;
    int width = gif->file->SWidth, height = gif->file->SHeight;
    int right = frame->Left + frame->Width, bottom = frame->Top + frame->Height;
    gif->width = right > width ? right : width;
    gif->height = bottom > height ? bottom : height;
    OC_TRY(oc_decode_check_size(gif->in, (uint64_t)gif->width, (uint64_t)gif->height, err));
    gif->canvas = oc_alloc((size_t)gif->width * (size_t)gif->height, PIXEL);
    return gif->canvas != NULL ? OCELLI_OK : oc_fail_memory(err, "picture");
}

static uint8_t *pixel_at(uint8_t *canvas, const gif_frames *gif, int x, int y)
{
    return canvas + PIXEL * ((size_t)y * (size_t)gif->width + (size_t)x);
}

/* What the last frame asked to be done in front of the next. */
static void dispose(gif_frames *gif)
{
    const rectangle *drawn = &gif->drawn;
    for (int y = 0; y < drawn->height; y++) {
        uint8_t *row = pixel_at(gif->canvas, gif, drawn->left, drawn->top + y);
        size_t bytes = PIXEL * (size_t)drawn->width;
        if (gif->disposal == DISPOSE_BACKGROUND) {
            memset(row, 0, bytes);
        } else if (gif->disposal == DISPOSE_PREVIOUS && gif->kept != NULL) {
            memcpy(row, pixel_at(gif->kept, gif, drawn->left, drawn->top + y), bytes);
        }
    }
}

static int clamp(int value, int most)
{
    return value < most ? value : most;
}

/* colours [256]: RGB of the frame's indices; those that its palette lacks are grey, as Pillow has
 * them. */
static void read_palette(uint8_t colours[256][3], const GifFileType *file)
{
    const ColorMapObject *map =
        file->Image.ColorMap != NULL ? file->Image.ColorMap : file->SColorMap;
    for (int i = 0; i < 256; i++) {
        bool given = map != NULL && i < map->ColorCount;
        colours[i][0] = given ? map->Colors[i].Red : (uint8_t)i;
        colours[i][1] = given ? map->Colors[i].Green : (uint8_t)i;
        colours[i][2] = given ? map->Colors[i].Blue : (uint8_t)i;
    }
}

static void place_line(gif_frames *gif, int y, uint8_t colours[256][3], int transparent)
{
    uint8_t *to = pixel_at(gif->canvas, gif, gif->drawn.left, y);
    for (int x = 0; x < gif->drawn.width; x++, to += PIXEL) {
        int index = gif->line[x];
        /* What is transparent keeps a colour of its own only where nothing is below. */
        if (index != transparent || to[3] == 0) {
            memcpy(to, colours[index], 3);
            to[3] = index != transparent ? 255 : 0;
        }
    }
}

/* Lines of an interlaced frame come in four rounds. */
static ocelli_status draw_lines(gif_frames *gif, uint8_t colours[256][3], int transparent,
                                ocelli_error *err)
{
    static const struct {
        int first, step;
    } WHOLE[1] = {{0, 1}}, ROUNDS[4] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    const GifImageDesc *frame = &gif->file->Image;
    bool interlaced = frame->Interlace;
    for (int round = 0; round < (interlaced ? 4 : 1); round++) {
        int first = interlaced ? ROUNDS[round].first : WHOLE[round].first;
        int step = interlaced ? ROUNDS[round].step : WHOLE[round].step;
        for (int y = first; y < frame->Height; y += step) {
            if (DGifGetLine(gif->file, gif->line, frame->Width) != GIF_OK) {
                return explain(gif, "a frame's coded data cannot be read", err);
            }
            if (y < gif->drawn.height) {
                place_line(gif, gif->drawn.top + y, colours, transparent);
            }
        }
    }
    return OCELLI_OK;
}

/* Room for a line, and for what a frame that is taken away again hides. */
static ocelli_status make_room(gif_frames *gif, int disposal, ocelli_error *err)
{
    size_t width = (size_t)gif->file->Image.Width;
    if (width > gif->line_room) {
        oc_free(gif->line);
        gif->line = oc_alloc(width, 1);
        gif->line_room = gif->line != NULL ? width : 0;
    }
    size_t pixels = (size_t)gif->width * (size_t)gif->height;
    if (disposal == DISPOSE_PREVIOUS && gif->kept == NULL) {
        gif->kept = oc_alloc(pixels, PIXEL);
    }
    if (gif->line == NULL || (disposal == DISPOSE_PREVIOUS && gif->kept == NULL)) {
        return oc_fail_memory(err, "picture");
    }
    if (disposal == DISPOSE_PREVIOUS) {
        memcpy(gif->kept, gif->canvas, pixels * PIXEL);
    }
    return OCELLI_OK;
}

/* What the first frame of a picture does not cover. */
static void fill_canvas(gif_frames *gif, uint8_t colours[256][3], int transparent)
{
    size_t pixels = (size_t)gif->width * (size_t)gif->height;
    int index = transparent >= 0 ? transparent : 0;
    for (size_t i = 0; i < pixels; i++) {
        memcpy(gif->canvas + PIXEL * i, colours[index], 3);
        gif->canvas[PIXEL * i + 3] = transparent >= 0 ? 0 : 255;
    }
}

/* The frame that find_frame has found, onto the canvas. */
static ocelli_status draw_frame(gif_frames *gif, const GraphicsControlBlock *control,
                                ocelli_error *err)
{
    const GifImageDesc *frame = &gif->file->Image;
    OC_TRY(oc_decode_check_size(gif->in, (uint64_t)frame->Width, (uint64_t)frame->Height, err));
    if (!gif->started) {
        OC_TRY(make_canvas(gif, err));
    } else {
        dispose(gif);
    }
    OC_TRY(make_room(gif, gif->as_picture ? DISPOSAL_UNSPECIFIED : control->DisposalMode, err));
    gif->drawn.left = clamp(frame->Left, gif->width);
    gif->drawn.top = clamp(frame->Top, gif->height);
    gif->drawn.width = clamp(frame->Width, gif->width - gif->drawn.left);
    gif->drawn.height = clamp(frame->Height, gif->height - gif->drawn.top);
    gif->disposal = control->DisposalMode;
    gif->started = true;
    uint8_t colours[256][3];
    read_palette(colours, gif->file);
    if (gif->as_picture) {
        fill_canvas(gif, colours, control->TransparentColor);
    }
    return draw_lines(gif, colours, control->TransparentColor, err);
}

static ocelli_status settle(ocelli_image **out, const gif_frames *gif, ocelli_error *err)
{
    OC_TRY(oc_image_new(out, gif->width, gif->height, err));
    size_t pixels = (size_t)gif->width * (size_t)gif->height;
    for (size_t i = 0; i < pixels; i++) {
        oc_alpha_settle((*out)->rgb + 3 * i, gif->canvas + PIXEL * i, &gif->in->options);
    }
    return OCELLI_OK;
}

static ocelli_status next_frame(void *state, ocelli_image **out, double *seconds, ocelli_error *err)
{
    gif_frames *gif = state;
    GraphicsControlBlock control;
    bool found;
    *out = NULL;
    *seconds = 0;
    OC_TRY(find_frame(gif, &control, &found, err));
    if (!found) {
        return OCELLI_OK;
    }
    OC_TRY(draw_frame(gif, &control, err));
    *seconds = control.DelayTime > 0 ? control.DelayTime / 100.0 : 0;
    return settle(out, gif, err);
}

ocelli_status oc_decode_gif(ocelli_image **out, const oc_decode_input *in, ocelli_error *err)
{
    gif_frames gif;
    double seconds;
    *out = NULL;
    ocelli_status status = open_gif(&gif, in, err);
    if (status == OCELLI_OK) {
        gif.as_picture = true;
        status = next_frame(&gif, out, &seconds, err);
    }
    if (status == OCELLI_OK && *out == NULL) {
        status = oc_decode_damaged(in, "GIF", "it holds no frame", err);
    }
    close_gif(&gif);
    return status;
}

/* ---- animations ---------------------------------------------------------------------------- */

/* Passes over blocks of data, each behind its length, up to the empty one. False: the end. */
static bool skip_blocks(const oc_decode_input *in, size_t *at)
{
    while (*at < in->size) {
        size_t length = in->bytes[*at];
        *at += 1 + length;
        if (length == 0) {
            return true;
        }
    }
    return false;
}

static size_t palette_bytes(unsigned flags)
{
    return (flags & 0x80u) != 0 ? (size_t)3 << ((flags & 7u) + 1) : 0;
}

/* Frames whose description is there, by the file's blocks alone. */
static size_t count_frames(const oc_decode_input *in)
{
    enum { SCREEN_BYTES = 13, FRAME_BYTES = 10, EXTENSION = 0x21, FRAME = 0x2C };
    size_t count = 0, at = SCREEN_BYTES;
    if (in->size < SCREEN_BYTES) {
        return 0;
    }
    at += palette_bytes(in->bytes[10]);
    while (at < in->size) {
        if (in->bytes[at] == EXTENSION) {
            at += 2;
        } else if (in->bytes[at] == FRAME && in->size - at >= FRAME_BYTES) {
            count++;
            at += FRAME_BYTES + palette_bytes(in->bytes[at + 9]) + 1; /* and the code size */
        } else {
            break;
        }
        if (!skip_blocks(in, &at)) {
            break;
        }
    }
    return count;
}

static void close_frames(void *state)
{
    close_gif(state);
    oc_free(state);
}

ocelli_status oc_frames_gif(oc_frame_reader *out, const oc_decode_input *in, ocelli_error *err)
{
    *out = (oc_frame_reader){0};
    size_t count = count_frames(in);
    if (count == 0) {
        return oc_decode_damaged(in, "GIF", "it is cut off or holds no frame", err);
    }
    gif_frames *gif = oc_alloc(1, sizeof *gif);
    if (gif == NULL) {
        return oc_fail_memory(err, "animation");
    }
    ocelli_status status = open_gif(gif, in, err);
    if (status != OCELLI_OK) {
        close_frames(gif);
        return status;
    }
    *out =
        (oc_frame_reader){.state = gif, .count = count, .next = next_frame, .close = close_frames};
    return OCELLI_OK;
}
