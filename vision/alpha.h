/* alpha.h - a pixel with alpha becomes one without, in Pillow's rounding. */
#ifndef OC_VISION_ALPHA_H
#define OC_VISION_ALPHA_H

#include "ocelli.h"

/* value over background with alpha of 255. The sum carries seven extra bits, as the reference's
 * alpha_composite does, so that the rounding is the same. */
static inline uint8_t oc_alpha_blend(uint8_t value, uint8_t alpha, uint8_t background)
{
    uint32_t sum = ((uint32_t)value * alpha + (uint32_t)background * (255u - alpha)) << 7;
    sum += 0x80u << 7;
    return (uint8_t)((((sum >> 8) + sum) >> 8) >> 7);
}

/* rgb [3] from rgba [4]: composited on options->background, or alpha ignored. */
static inline void oc_alpha_settle(uint8_t *rgb, const uint8_t *rgba,
                                   const ocelli_image_options *options)
{
    uint8_t alpha = options->alpha == OCELLI_ALPHA_DROP ? 255 : rgba[3];
    for (int channel = 0; channel < 3; channel++) {
        rgb[channel] = alpha == 255
                           ? rgba[channel]
                           : oc_alpha_blend(rgba[channel], alpha, options->background[channel]);
    }
}

#endif
