/* positions.h - three rotary position axes per token. */
#ifndef OC_FUSION_POSITIONS_H
#define OC_FUSION_POSITIONS_H

#include "fusion/media.h"
#include "runtime/base/status.h"

/* Text advances all axes by one. A picture or one frame pair begins at the current position c:
 * token (y, x) gets (c, c + y, c + x), and c advances by max(h, w), not by h * w. Every frame pair
 * is a block of its own; but a clip with times is one: its token (k, y, x) gets (c + times[k], c +
 * y, c + x), and c advances to one more than the largest of them on any axis. medium, row [count]
 * as oc_scatter_map gives them; positions [count][3] = t, h, w. *next gets the next free position:
 * a generated token goes there, on all axes. OCELLI_E_LIMIT: beyond 32 bits. */
ocelli_status oc_positions_assign(int32_t (*positions)[3], int32_t *next, const int32_t *medium,
                                  const int32_t *row, size_t count, const oc_medium *media,
                                  ocelli_error *err);

/* times [pairs] of a clip: trunc(k * seconds * per_second), every product in float32; seconds is
 * that of one step of the grid. per_second 0: k itself. OCELLI_E_LIMIT: a clip of more than 2^24
 * positions. */
ocelli_status oc_positions_times(int32_t *times, size_t pairs, double seconds, double per_second,
                                 ocelli_error *err);

#endif
