/* hash.c - see hash.h. xxHash is compiled in from its header: nothing to link. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/base/hash.h"
#include "runtime/base/memory.h"

#include <stdio.h>

struct oc_hasher {
    XXH3_state_t state;
};

static oc_hash from_xxh(XXH128_hash_t value)
{
    return (oc_hash){.high = value.high64, .low = value.low64};
}

oc_hash oc_hash_bytes(const void *bytes, size_t size)
{
    return from_xxh(XXH3_128bits(bytes, size));
}

bool oc_hash_equal(oc_hash a, oc_hash b)
{
    return a.high == b.high && a.low == b.low;
}

void oc_hash_format(oc_hash hash, char text[33])
{
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)hash.high,
             (unsigned long long)hash.low);
}

oc_hasher *oc_hasher_open(void)
{
    oc_hasher *hasher = oc_alloc(1, sizeof *hasher);
    if (hasher != NULL) {
        XXH3_128bits_reset(&hasher->state);
    }
    return hasher;
}

void oc_hasher_update(oc_hasher *hasher, const void *bytes, size_t size)
{
    XXH3_128bits_update(&hasher->state, bytes, size);
}

oc_hash oc_hasher_digest(const oc_hasher *hasher)
{
    return from_xxh(XXH3_128bits_digest(&hasher->state));
}

void oc_hasher_close(oc_hasher *hasher)
{
    oc_free(hasher);
}
