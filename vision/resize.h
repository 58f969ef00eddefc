/* resize.h - Pillow's bicubic resize with antialiasing, bit for bit. */
#ifndef OC_VISION_RESIZE_H
#define OC_VISION_RESIZE_H

#include "runtime/base/pool.h"
#include "vision/image.h"

/* QWEN3VL.md's rule as in README: width pass, then height pass, each rounded and clipped to 8 bits;
 * a pass whose length does not change is skipped. out [height, width, 3], the caller's. Memory: one
 * intermediate of source height (only the rows that are read) x width. */
ocelli_status oc_resize(uint8_t *out, int width, int height, const ocelli_image *source,
                        oc_pool *pool, ocelli_error *err);

#endif
