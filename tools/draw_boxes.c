/* draw_boxes.c - boxes and points with their labels over a picture; see draw.h. */
#include "tools/cli_options.h"
#include "tools/draw.h"
#include "tools/draw_canvas.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.28318530717958647692

/* Sizes that suit the picture. */
typedef struct pen {
    cairo_t *cairo;
    double width, height; /* of the picture */
    double line, text;    /* pixels */
} pen;

/* Told apart from one another, and dark enough under white text. */
static void set_colour(const pen *p, size_t index)
{
    static const double colours[][3] = {{0.86, 0.08, 0.16}, {0.00, 0.45, 0.85}, {0.00, 0.55, 0.20},
                                        {0.80, 0.35, 0.00}, {0.55, 0.15, 0.75}, {0.00, 0.50, 0.55}};
    const double *c = colours[index % (sizeof colours / sizeof colours[0])];
    cairo_set_source_rgb(p->cairo, c[0], c[1], c[2]);
}

/* The label on a ground of the item's colour, above y, or below it where there is no room. */
static void draw_label(const pen *p, const char *label, double x, double y)
{
    enum { MOST_BYTES = 256 };
    cairo_text_extents_t size;
    char shown[MOST_BYTES * 4];
    char *valid = text_valid(label);
    if (valid == NULL) {
        return; /* the lines are there */
    }
    text_visible(shown, sizeof shown, valid);
    free(valid);
    size_t bad;
    if (strlen(shown) > MOST_BYTES) {
        shown[MOST_BYTES] = '\0';
    }
    if (!text_is_utf8(shown, strlen(shown), &bad)) { /* cut inside a character */
        shown[bad] = '\0';
    }
    cairo_text_extents(p->cairo, shown, &size);
    double pad = p->text * 0.25, wide = size.x_advance + 2 * pad, high = p->text + 2 * pad;
    double left = fmax(0, fmin(x, p->width - wide)), top = y - high;
    top = top < 0 ? fmin(y, fmax(0, p->height - high)) : top;
    cairo_rectangle(p->cairo, left, top, wide, high);
    cairo_fill(p->cairo);
    cairo_set_source_rgb(p->cairo, 1, 1, 1);
    cairo_move_to(p->cairo, left + pad, top + pad + p->text * 0.82);
    cairo_show_text(p->cairo, shown);
}

static void draw_item(const pen *p, const grounding_item *item, size_t index)
{
    const double *at = item->at;
    if (item->is_point) {
        double radius = 2.5 * p->line;
        cairo_arc(p->cairo, at[0], at[1], radius + p->line, 0, TWO_PI);
        cairo_set_source_rgb(p->cairo, 1, 1, 1);
        cairo_fill(p->cairo);
        set_colour(p, index);
        cairo_arc(p->cairo, at[0], at[1], radius, 0, TWO_PI);
        cairo_fill(p->cairo);
        draw_label(p, item->label, at[0] + radius + p->line, at[1] - radius);
        return;
    }
    /* A wider white line below, so that it is seen on any ground. */
    cairo_rectangle(p->cairo, at[0], at[1], at[2] - at[0], at[3] - at[1]);
    cairo_set_source_rgb(p->cairo, 1, 1, 1);
    cairo_set_line_width(p->cairo, 2 * p->line);
    cairo_stroke_preserve(p->cairo);
    set_colour(p, index);
    cairo_set_line_width(p->cairo, p->line);
    cairo_stroke(p->cairo);
    draw_label(p, item->label, at[0] - p->line / 2, at[1] - p->line / 2);
}

int draw_grounding(const char *path, const ocelli_image *image, const grounding *g)
{
    cairo_surface_t *surface = canvas_open(image, path);
    if (surface == NULL) {
        return EXIT_FAILED;
    }
    double width = cairo_image_surface_get_width(surface);
    double height = cairo_image_surface_get_height(surface);
    double side = fmin(width, height);
    pen p = {.cairo = cairo_create(surface),
             .width = width,
             .height = height,
             .line = fmax(2, side / 250),
             .text = fmax(11, side / 32)};
    cairo_select_font_face(p.cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(p.cairo, p.text);
    for (size_t i = 0; i < g->count; i++) {
        draw_item(&p, &g->items[i], i);
    }
    cairo_status_t status = cairo_status(p.cairo);
    cairo_destroy(p.cairo);
    int code = EXIT_FAILED;
    if (status != CAIRO_STATUS_SUCCESS) {
        report_error("cannot draw '%s': %s", path, cairo_status_to_string(status));
    } else {
        code = canvas_write(surface, path);
    }
    cairo_surface_destroy(surface);
    return code;
}
