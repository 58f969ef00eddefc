/* mrope.h - three-axis rotary position tables of the decoder. */
#ifndef OC_TEXT_MROPE_H
#define OC_TEXT_MROPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct oc_mrope_config {
    double theta;
    size_t head_dim;
    int64_t sections[3]; /* t, h, w; interleaved: h takes i = 1, 4, 7.. < 3 * sections[1], w takes
                          * i = 2, 5, 8.. < 3 * sections[2], t the rest */
    bool interleaved;    /* false: chunked, as in Qwen2-VL */
} oc_mrope_config;

/* inverse [head_dim / 2] = theta^(-2i / head_dim), axis [head_dim / 2] = 0, 1 or 2. */
void oc_mrope_plan(const oc_mrope_config *config, float *inverse, uint8_t *axis);

/* One row's tables, [head_dim / 2] each: angle_i = position[axis_i] * inverse_i, in float32. */
void oc_mrope_fill(float *cosine, float *sine, const float *inverse, const uint8_t *axis,
                   size_t half, const int32_t position[3]);

#endif
