/* ink.h - a pixel of printing inks becomes one of light, in Pillow's rounding. */
#ifndef OC_VISION_INK_H
#define OC_VISION_INK_H

#include <stdint.h>

/* colour is an ink's inverse (255: none of it), black the black's. */
static inline uint8_t oc_ink_light(uint8_t colour, uint8_t black)
{
    unsigned product = (255u - colour) * black + 128;
    return (uint8_t)(black - ((product + (product >> 8)) >> 8));
}

#endif
