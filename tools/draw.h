/* draw.h - pictures with something drawn on them, written as PNG or JPEG by the name's ending.
 *
 * Needs cairo and libjpeg; where the program was built without them, no_draw.c says so (CMakeLists).
 * draw_names.c is there in any case. */
#ifndef OCELLI_TOOLS_DRAW_H
#define OCELLI_TOOLS_DRAW_H

#include "tools/grounding.h"

/* Functions return an exit code, and have said why unless it is EXIT_DONE. */

/* Whether this program can draw. */
int draw_check_build(void);

/* --draw FILE for count pictures: FILE ends with .png, .jpg or .jpeg, or is a folder if there are
 * several, which is made. Before anything costs time. */
int draw_check(const char *command, const char *draw, size_t count);

/* Boxes and points with their labels, over the whole picture. */
int draw_grounding(const char *path, const ocelli_image *image, const grounding *g);

/* A map [rows, columns] of numbers from 0 on, laid over the whole picture as colours. */
int draw_heat(const char *path, const ocelli_image *image, const float *map, size_t rows,
              size_t columns);

#endif
