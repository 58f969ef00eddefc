/* vit_windows.c - see vit_windows.h. */
#include "vision/vit_windows.h"

#include <string.h>

static size_t windows_along(size_t cells, size_t side)
{
    return cells / side + (cells % side != 0);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t oc_vit_window_count(size_t cells_h, size_t cells_w, size_t side)
{
    return windows_along(cells_h, side) * windows_along(cells_w, side);
}

void oc_vit_window_order(size_t *order, size_t *ends, size_t cells_h, size_t cells_w, size_t side)
{
    size_t next = 0, across = windows_along(cells_w, side);
    for (size_t window = 0; window < oc_vit_window_count(cells_h, cells_w, side); window++) {
        size_t top = window / across * side, left = window % across * side;
        size_t height = smaller(side, cells_h - top), width = smaller(side, cells_w - left);
        for (size_t i = 0; i < height * width; i++) {
            order[next++] = (top + i / width) * cells_w + left + i % width;
        }
        ends[window] = next;
    }
}

void oc_vit_window_move(float *out, const float *x, const size_t *order, size_t count, size_t width,
                        bool back)
{
    for (size_t i = 0; i < count; i++) {
        size_t from = back ? i : order[i], to = back ? order[i] : i;
        memcpy(out + to * width, x + from * width, width * sizeof *out);
    }
}
