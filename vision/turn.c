/* turn.c - see turn.h. */
#include "vision/turn.h"

#include "runtime/base/memory.h"

#include <stdbool.h>
#include <string.h>

enum { PIXEL = 3, TILE = 32 }; /* a tile's rows and columns both stay in the cache */

static void swap_pixels(uint8_t *a, uint8_t *b)
{
    uint8_t kept[PIXEL];
    memcpy(kept, a, PIXEL);
    memcpy(a, b, PIXEL);
    memcpy(b, kept, PIXEL);
}

/* Reverses a run of pixels: one row mirrors it, all rows together turn the picture round. */
static void reverse(uint8_t *first, size_t count)
{
    uint8_t *last = first + PIXEL * (count - 1);
    for (; first < last; first += PIXEL, last -= PIXEL) {
        swap_pixels(first, last);
    }
}

static void mirror(ocelli_image *image)
{
    size_t row_bytes = (size_t)image->width * PIXEL;
    for (int y = 0; y < image->height; y++) {
        reverse(image->rgb + (size_t)y * row_bytes, (size_t)image->width);
    }
}

static void rotate_half(ocelli_image *image)
{
    reverse(image->rgb, (size_t)image->width * (size_t)image->height);
}

/* out [width, height, 3] from image [height, width, 3]: out(row, column) is image(column, row), with
 * the image read from its far end down or across where said. */
static void transpose(uint8_t *out, const ocelli_image *image, bool from_bottom, bool from_right)
{
    int rows = image->width, columns = image->height;
    for (int tile_row = 0; tile_row < rows; tile_row += TILE) {
        for (int tile_column = 0; tile_column < columns; tile_column += TILE) {
            for (int row = tile_row; row < rows && row < tile_row + TILE; row++) {
                for (int column = tile_column; column < columns && column < tile_column + TILE;
                     column++) {
                    size_t y = (size_t)(from_bottom ? columns - 1 - column : column);
                    size_t x = (size_t)(from_right ? rows - 1 - row : row);
                    memcpy(out + PIXEL * ((size_t)row * (size_t)columns + (size_t)column),
                           image->rgb + PIXEL * (y * (size_t)rows + x), PIXEL);
                }
            }
        }
    }
}

ocelli_status oc_image_turn(ocelli_image *image, int orientation, ocelli_error *err)
{
    if (orientation < 5) {
        if (orientation == 2) {
            mirror(image);
        } else if (orientation == 3) {
            rotate_half(image);
        } else if (orientation == 4) {
            rotate_half(image);
            mirror(image);
        }
        return OCELLI_OK;
    }
    uint8_t *turned = oc_alloc((size_t)image->width * (size_t)image->height, PIXEL);
    if (turned == NULL) {
        return oc_fail_memory(err, "turned picture");
    }
    bool from_bottom = orientation == 6 || orientation == 7;
    bool from_right = orientation == 7 || orientation == 8;
    transpose(turned, image, from_bottom, from_right);
    oc_free(image->rgb);
    *image = (ocelli_image){.rgb = turned,
                            .width = image->height,
                            .height = image->width,
                            .full_width = image->full_height,
                            .full_height = image->full_width};
    return OCELLI_OK;
}
