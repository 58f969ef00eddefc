/* synth_values.c - see synth_values.h. */
#include "tools/synth_values.h"
#include "tools/stable_hash.h"

#include <math.h>
#include <string.h>

#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

static uint16_t to_bf16(double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

void synth_source_open(synth_source *out, const char *name, uint64_t seed, double mean,
                       double deviation)
{
    double step = deviation / sqrt(21845.0);
    out->key = stable_hash_text(name) ^ seed;
    for (int level = 0; level < SYNTH_LEVELS; level++) {
        double offset = (double)(level - 510) * step; /* a statement of its own: never fused */
        double value = mean + offset;
        out->values[level] = to_bf16(value);
    }
}

static inline void put(uint8_t *out, uint16_t value)
{
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
}

void synth_source_fill(const synth_source *source, uint64_t begin, size_t count, uint8_t *out)
{
    uint64_t state = source->key + begin / 2 * GOLDEN;
    for (size_t i = 0; i < count; i += 2) {
        state += GOLDEN;
        uint64_t word = stable_mix(state);
        uint64_t pairs =
            (word & UINT64_C(0x00ff00ff00ff00ff)) + ((word >> 8) & UINT64_C(0x00ff00ff00ff00ff));
        uint64_t sums =
            (pairs & UINT64_C(0x0000ffff0000ffff)) + ((pairs >> 16) & UINT64_C(0x0000ffff0000ffff));
        put(out + 2 * i, source->values[(uint32_t)sums]);
        if (i + 1 < count) {
            put(out + 2 * i + 2, source->values[sums >> 32]);
        }
    }
}
