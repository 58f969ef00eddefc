/* synth_values.h - random weights that any language can make again: a counter-based generator.
 *
 * Value i of the tensor called name, with a seed, all integers of 64 bits that wrap:
 *
 *     key   = FNV-1a(name) xor seed                  FNV-1a with 64 bits, over the bytes of the name
 *     word  = mix(key + (i / 2 + 1) * 0x9E3779B97F4A7C15)
 *     mix:    z ^= z >> 30; z *= 0xBF58476D1CE4E5B9;  the output function of splitmix64
 *             z ^= z >> 27; z *= 0x94D049BB133111EB; z ^= z >> 31
 *     level = sum of four bytes of word: of bits 0 to 31 where i is even, 32 to 63 where it is odd
 *     step  = deviation / sqrt(21845)                in float64
 *     value = mean + (level - 510) * step            in float64, product and sum rounded one by one,
 *                                                    then to float32, then to bfloat16, each to
 *                                                    nearest, ties to even
 *
 * The sum of four even bytes is close to normal, out to 3.45 deviations (510 / sqrt(21845)). Two
 * values need one word and no state, so that any part of any tensor can be made alone.
 */
#ifndef OCELLI_TOOLS_SYNTH_VALUES_H
#define OCELLI_TOOLS_SYNTH_VALUES_H

#include <stddef.h>
#include <stdint.h>

enum { SYNTH_LEVELS = 4 * 255 + 1 };

typedef struct synth_source {
    uint64_t key;
    uint16_t values[SYNTH_LEVELS]; /* bfloat16 of each level */
} synth_source;

void synth_source_open(synth_source *out, const char *name, uint64_t seed, double mean,
                       double deviation);

/* Writes count bfloat16 values, little-endian, from value begin on, which is even. */
void synth_source_fill(const synth_source *source, uint64_t begin, size_t count, uint8_t *out);

#endif
