/* positions.h - three rotary position axes per token. */
#ifndef OC_FUSION_POSITIONS_H
#define OC_FUSION_POSITIONS_H

#include "fusion/media.h"

/* Text advances all axes by one. A picture or one frame pair begins at the current position c: token
 * (y, x) gets (c, c + y, c + x), and c advances by max(h, w), not by h * w. Every frame pair is a block
 * of its own. medium, row [count] as oc_scatter_map gives them; positions [count][3] = t, h, w.
 * Returns the next free position: a generated token goes there, on all axes. */
int32_t oc_positions_assign(int32_t (*positions)[3], const int32_t *medium, const int32_t *row,
                            size_t count, const oc_medium *media);

#endif
