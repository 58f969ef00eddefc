/* draw_heat.c - a coarse map as colours over a picture; see draw.h. */
#include "tools/cli_options.h"
#include "tools/draw.h"
#include "tools/draw_canvas.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct heat {
    const float *map; /* [rows, columns] */
    size_t rows, columns;
    double highest;
} heat;

/* Between the two nearest of count cells to place, 0 to 1 along the side. */
static void find_cells(double place, size_t count, size_t *first, size_t *second, double *share)
{
    double at = place * (double)count - 0.5;
    at = at < 0 ? 0 : at > (double)(count - 1) ? (double)(count - 1) : at;
    *first = (size_t)at;
    *second = *first + 1 < count ? *first + 1 : *first;
    *share = at - (double)*first;
}

/* 0 to 1: the map at a place, bilinear, as a share of its highest. */
static double value_at(const heat *h, double x, double y)
{
    size_t left, right, above, below;
    double across, down;
    find_cells(x, h->columns, &left, &right, &across);
    find_cells(y, h->rows, &above, &below, &down);
    const float *a = h->map + above * h->columns, *b = h->map + below * h->columns;
    double upper = a[left] * (1 - across) + a[right] * across;
    double lower = b[left] * (1 - across) + b[right] * across;
    return h->highest > 0 ? (upper * (1 - down) + lower * down) / h->highest : 0;
}

/* Blue, cyan, yellow, red. */
static void colour_of(double value, double *rgb)
{
    static const double stops[][3] = {
        {0.05, 0.05, 0.45}, {0.0, 0.65, 0.9}, {1.0, 0.9, 0.1}, {0.9, 0.05, 0.0}};
    enum { STEPS = sizeof stops / sizeof stops[0] - 1 };
    double at = value * STEPS;
    size_t first = at < STEPS ? (size_t)at : STEPS - 1;
    for (size_t i = 0; i < 3; i++) {
        rgb[i] = stops[first][i] + (stops[first + 1][i] - stops[first][i]) * (at - (double)first);
    }
}

static uint32_t blend(uint32_t pixel, double value)
{
    double rgb[3], weight = 0.35 + 0.3 * value; /* the picture is seen through everywhere */
    uint32_t out = 0;
    colour_of(value, rgb);
    for (int i = 0; i < 3; i++) {
        double old = (double)(pixel >> (16 - 8 * i) & 0xFF) / 255;
        out = out << 8 | (uint32_t)lrint((old * (1 - weight) + rgb[i] * weight) * 255);
    }
    return out;
}

int draw_heat(const char *path, const ocelli_image *image, const float *map, size_t rows,
              size_t columns)
{
    heat h = {map, rows, columns, 0};
    cairo_surface_t *surface = canvas_open(image, path);
    if (surface == NULL) {
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < rows * columns; i++) {
        h.highest = map[i] > h.highest ? map[i] : h.highest;
    }
    size_t width = (size_t)cairo_image_surface_get_width(surface);
    size_t height = (size_t)cairo_image_surface_get_height(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    unsigned char *data = cairo_image_surface_get_data(surface);
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            uint32_t pixel;
            memcpy(&pixel, data + y * stride + x * sizeof pixel, sizeof pixel);
            pixel = blend(pixel, value_at(&h, ((double)x + 0.5) / (double)width,
                                          ((double)y + 0.5) / (double)height));
            memcpy(data + y * stride + x * sizeof pixel, &pixel, sizeof pixel);
        }
    }
    cairo_surface_mark_dirty(surface);
    int code = canvas_write(surface, path);
    cairo_surface_destroy(surface);
    return code;
}
