/* draw_canvas.h - a picture as a cairo surface, and the file that is made of it. */
#ifndef OCELLI_TOOLS_DRAW_CANVAS_H
#define OCELLI_TOOLS_DRAW_CANVAS_H

#include <cairo.h>
#include <ocelli.h>

/* A copy of the picture to draw on; NULL after a message that names path. cairo_surface_destroy
 * takes it back. */
cairo_surface_t *canvas_open(const ocelli_image *image, const char *path);

/* Writes it in the format of path's ending, whole or not at all. Returns an exit code, with a message
 * unless EXIT_DONE. */
int canvas_write(cairo_surface_t *surface, const char *path);

#endif
