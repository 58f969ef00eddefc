/* vit_positions.c - see vit_positions.h. */
#include "vision/vit_positions.h"

#include <math.h>

void oc_vit_patch_place(size_t index, size_t grid_w, size_t merge, size_t *row, size_t *column)
{
    size_t in_block = index % (merge * merge);
    size_t block = index / (merge * merge);
    size_t blocks_across = grid_w / merge;
    *row = block / blocks_across * merge + in_block / merge;
    *column = block % blocks_across * merge + in_block % merge;
}

/* One axis: the two table lines and the weight of the second. The reference takes float32
 * linspace(0, side - 1, length): computed from both ends, so that both are exact. */
static void sample_axis(size_t at, size_t length, size_t side, size_t *low, size_t *high,
                        float *weight)
{
    float last = (float)(side - 1);
    float step = length > 1 ? last / (float)(length - 1) : 0.0f;
    float place = at < length / 2 ? step * (float)at : last - step * (float)(length - 1 - at);
    *low = place > 0.0f ? (size_t)place : 0;
    if (*low > side - 1) {
        *low = side - 1;
    }
    *high = *low + 1 < side ? *low + 1 : side - 1;
    *weight = place - (float)*low;
}

void oc_vit_add_positions(float *rows, size_t first, size_t count, const float *table, size_t side,
                          size_t hidden, size_t grid_h, size_t grid_w, size_t merge)
{
    for (size_t i = 0; i < count; i++) {
        size_t row, column, top, bottom, left, right;
        float down, across;
        oc_vit_patch_place(first + i, grid_w, merge, &row, &column);
        sample_axis(row, grid_h, side, &top, &bottom, &down);
        sample_axis(column, grid_w, side, &left, &right, &across);
        const float *top_left = table + (top * side + left) * hidden;
        const float *top_right = table + (top * side + right) * hidden;
        const float *bottom_left = table + (bottom * side + left) * hidden;
        const float *bottom_right = table + (bottom * side + right) * hidden;
        float w0 = (1.0f - down) * (1.0f - across);
        float w1 = (1.0f - down) * across;
        float w2 = down * (1.0f - across);
        float w3 = down * across;
        float *out = rows + i * hidden;
        for (size_t j = 0; j < hidden; j++) {
            out[j] +=
                w0 * top_left[j] + w1 * top_right[j] + w2 * bottom_left[j] + w3 * bottom_right[j];
        }
    }
}

void oc_vit_rope_angles(float *angles, size_t row, size_t column, size_t head_dim)
{
    size_t half = head_dim / 2;
    size_t quarter = half / 2;
    for (size_t i = 0; i < quarter; i++) {
        float inverse = 1.0f / powf(10000.0f, (float)(2 * i) / (float)half);
        angles[i] = (float)row * inverse;
        angles[quarter + i] = (float)column * inverse;
    }
}
