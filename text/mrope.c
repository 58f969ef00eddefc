/* mrope.c - see mrope.h. float32 throughout, as the reference computes it. */
#include "text/mrope.h"

#include <math.h>

static uint8_t axis_of(const oc_mrope_config *config, int64_t i)
{
    if (config->interleaved) {
        if (i % 3 == 1 && i < 3 * config->sections[1]) {
            return 1;
        }
        return i % 3 == 2 && i < 3 * config->sections[2] ? 2 : 0;
    }
    if (i < config->sections[0]) {
        return 0;
    }
    return i < config->sections[0] + config->sections[1] ? 1 : 2;
}

void oc_mrope_plan(const oc_mrope_config *config, float *inverse, uint8_t *axis)
{
    size_t half = config->head_dim / 2;
    for (size_t i = 0; i < half; i++) {
        float exponent = (float)(2 * i) / (float)config->head_dim;
        inverse[i] = 1.0f / powf((float)config->theta, exponent);
        axis[i] = axis_of(config, (int64_t)i);
    }
}

void oc_mrope_fill(float *cosine, float *sine, const float *inverse, const uint8_t *axis,
                   size_t half, const int32_t position[3])
{
    for (size_t i = 0; i < half; i++) {
        float angle = (float)position[axis[i]] * inverse[i];
        cosine[i] = cosf(angle);
        sine[i] = sinf(angle);
    }
}
