/* vit_windows.h - the order in which a tower with window attention works on its cells.
 *
 * A cell is one merge block, merge^2 neighbouring rows; a temporal group has cells_h x cells_w of
 * them. The grid is cut into side x side windows from the top left corner; those at the right and
 * the bottom are smaller where it does not divide, and nothing is padded. In window order all cells
 * of a window follow one another, so that a window's rows are one run of memory. */
#ifndef OC_VISION_VIT_WINDOWS_H
#define OC_VISION_VIT_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>

/* How many windows. side >= 1. */
size_t oc_vit_window_count(size_t cells_h, size_t cells_w, size_t side);

/* order [cells_h * cells_w]: the raster index of the cell that stands there. ends [windows]: how
 * many cells stand in this window and those before it. Windows, and cells inside one, in raster
 * order. */
void oc_vit_window_order(size_t *order, size_t *ends, size_t cells_h, size_t cells_w, size_t side);

/* Rows of count cells of width floats each: from raster to window order, or back. out is not x. */
void oc_vit_window_move(float *out, const float *x, const size_t *order, size_t count, size_t width,
                        bool back);

#endif
