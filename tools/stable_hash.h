/* stable_hash.h - 64-bit hashes that every machine, version and language gets the same: FNV-1a over
 * bytes, and the output function of splitmix64. For values made again elsewhere (synth_values.h) and
 * work divided without talking (shard.h). Not for hash tables that an attacker can fill. */
#ifndef OCELLI_TOOLS_STABLE_HASH_H
#define OCELLI_TOOLS_STABLE_HASH_H

#include <stdint.h>

#define STABLE_HASH_START UINT64_C(0xCBF29CE484222325)

/* One more byte of FNV-1a; begin with STABLE_HASH_START. Integers wrap. */
static inline uint64_t stable_hash_byte(uint64_t hash, uint8_t byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001B3);
}

/* FNV-1a of the bytes of text, without its NUL. */
static inline uint64_t stable_hash_text(const char *text)
{
    uint64_t hash = STABLE_HASH_START;
    for (; *text != '\0'; text++) {
        hash = stable_hash_byte(hash, (uint8_t)*text);
    }
    return hash;
}

/* Every bit of the result depends on every bit of z. */
static inline uint64_t stable_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

#endif
