/* jpeg_colour.c - from planes to RGB, see jpeg_planes.h. Upsampling is libjpeg's "fancy" one: a
 * triangle filter for planes halved in one or both directions, repetition otherwise. */
#include "vision/jpeg_planes.h"

#include "runtime/base/memory.h"
#include "vision/ink.h"

static uint8_t clip(int value)
{
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

/* The two rows that a pixel row lies between, the nearer one first. */
static void find_rows(const uint8_t **near_row, const uint8_t **far_row, const oc_jpeg_plane *plane,
                      int y)
{
    int nearest = y / 2, other = y % 2 == 0 ? nearest - 1 : nearest + 1;
    if (other < 0 || other >= plane->height) {
        other = nearest;
    }
    *near_row = plane->samples + (size_t)nearest * plane->stride;
    *far_row = plane->samples + (size_t)other * plane->stride;
}

/* Doubled across: three parts of the nearer sample, one of the farther; rounding alternates. */
static void double_across(uint8_t *out, const uint8_t *in, int width)
{
    int last = width - 1;
    out[0] = in[0];
    out[1] = (uint8_t)((3 * in[0] + in[1] + 2) >> 2);
    for (int i = 1; i < last; i++) {
        out[2 * i] = (uint8_t)((3 * in[i] + in[i - 1] + 1) >> 2);
        out[2 * i + 1] = (uint8_t)((3 * in[i] + in[i + 1] + 2) >> 2);
    }
    out[2 * last] = (uint8_t)((3 * in[last] + in[last - 1] + 1) >> 2);
    out[2 * last + 1] = in[last];
}

static void double_down(uint8_t *out, const oc_jpeg_plane *plane, int y)
{
    const uint8_t *near_row, *far_row;
    find_rows(&near_row, &far_row, plane, y);
    int bias = y % 2 == 0 ? 1 : 2;
    for (int i = 0; i < plane->width; i++) {
        out[i] = (uint8_t)((3 * near_row[i] + far_row[i] + bias) >> 2);
    }
}

static void double_both(uint8_t *out, const oc_jpeg_plane *plane, int y)
{
    const uint8_t *near_row, *far_row;
    find_rows(&near_row, &far_row, plane, y);
    int last = plane->width - 1;
    int here = 3 * near_row[0] + far_row[0], before = here;
    for (int i = 0; i <= last; i++) {
        int after = i < last ? 3 * near_row[i + 1] + far_row[i + 1] : here;
        out[2 * i] = (uint8_t)((3 * here + before + 8) >> 4);
        out[2 * i + 1] = (uint8_t)((3 * here + after + 7) >> 4);
        before = here;
        here = after;
    }
}

/* A plane's row at the picture's width; line [across x width] is used unless it is there already. */
static const uint8_t *widen_row(uint8_t *line, const oc_jpeg_plane *plane, int y)
{
    const uint8_t *in = plane->samples + (size_t)(y / plane->down) * plane->stride;
    if (plane->across == 1 && plane->down == 1) {
        return in;
    }
    bool wide = plane->width > 2; /* the reference repeats narrower ones */
    if (plane->across == 2 && plane->down == 1 && wide) {
        double_across(line, in, plane->width);
    } else if (plane->across == 2 && plane->down == 2 && wide) {
        double_both(line, plane, y);
    } else if (plane->across == 1 && plane->down == 2) {
        double_down(line, plane, y);
    } else {
        for (int i = 0; i < plane->width; i++) {
            for (int copy = 0; copy < plane->across; copy++) {
                line[i * plane->across + copy] = in[i];
            }
        }
    }
    return line;
}

/* The constants of JFIF, times 2^16. */
static void convert_ycc(uint8_t rgb[3], int y, int cb, int cr)
{
    enum { BITS = 16, HALF = 1 << (BITS - 1) };
    cb -= 128;
    cr -= 128;
    rgb[0] = clip(y + ((91881 * cr + HALF) >> BITS));               /* 1.402 */
    rgb[1] = clip(y + ((-22554 * cb - 46802 * cr + HALF) >> BITS)); /* 0.34414, 0.71414 */
    rgb[2] = clip(y + ((116130 * cb + HALF) >> BITS));              /* 1.772 */
}

static void convert_row(uint8_t *rgb, const uint8_t *const rows[4], int width,
                        oc_jpeg_colour colour)
{
    if (colour == OC_JPEG_YCC || colour == OC_JPEG_YCCK) {
        for (int x = 0; x < width; x++) {
            convert_ycc(rgb + 3 * (size_t)x, rows[0][x], rows[1][x], rows[2][x]);
        }
    } else {
        for (int x = 0; x < width; x++) {
            for (int i = 0; i < 3; i++) {
                rgb[3 * (size_t)x + (size_t)i] = rows[colour == OC_JPEG_GREY ? 0 : i][x];
            }
        }
    }
    if (colour == OC_JPEG_CMYK || colour == OC_JPEG_YCCK) {
        /* libjpeg turns the converted YCC of YCCK round: it is ink, not light. */
        uint8_t turn = colour == OC_JPEG_YCCK ? 255 : 0;
        for (int x = 0; x < width; x++) {
            for (int i = 0; i < 3; i++) {
                uint8_t *ink = &rgb[3 * (size_t)x + (size_t)i];
                *ink = oc_ink_light((uint8_t)(*ink ^ turn), rows[3][x]);
            }
        }
    }
}

bool oc_jpeg_planes_to_rgb(uint8_t *rgb, const oc_jpeg_planes *picture, oc_jpeg_colour colour)
{
    uint8_t *lines[4] = {NULL, NULL, NULL, NULL};
    bool room = true;
    for (int i = 0; i < picture->count; i++) {
        const oc_jpeg_plane *plane = &picture->planes[i];
        lines[i] = oc_alloc((size_t)plane->width, (size_t)plane->across);
        room = room && lines[i] != NULL;
    }
    for (int y = 0; room && y < picture->height; y++) {
        const uint8_t *rows[4] = {NULL, NULL, NULL, NULL};
        for (int i = 0; i < picture->count; i++) {
            rows[i] = widen_row(lines[i], &picture->planes[i], y);
        }
        convert_row(rgb + (size_t)y * (size_t)picture->width * 3, rows, picture->width, colour);
    }
    for (int i = 0; i < 4; i++) {
        oc_free(lines[i]);
    }
    return room;
}
