/* vit_positions.h - where a patch is: the learned table, interpolated, and the rotary angles. */
#ifndef OC_VISION_VIT_POSITIONS_H
#define OC_VISION_VIT_POSITIONS_H

#include <stddef.h>

/* Visits patches in merge-block order: 2x2 blocks in raster order, inside a block row by row. Row and
 * column of patch index. */
void oc_vit_patch_place(size_t index, size_t grid_w, size_t merge, size_t *row, size_t *column);

/* Adds to rows [count, hidden] (patches first .. first + count of the grid) the table [side * side,
 * hidden] sampled bilinearly with aligned corners: y = row * (side - 1) / (grid_h - 1). */
void oc_vit_add_positions(float *rows, size_t first, size_t count, const float *table, size_t side,
                          size_t hidden, size_t grid_h, size_t grid_w, size_t merge);

/* Angles of one patch, [head_dim / 2]: row * inv[i], then column * inv[i], with
 * inv[i] = 10000^(-2i / (head_dim / 2)), i < head_dim / 4. */
void oc_vit_rope_angles(float *angles, size_t row, size_t column, size_t head_dim);

#endif
