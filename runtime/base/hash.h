/* hash.h - 128-bit content hashes (XXH3): identity of pixels, fingerprints of files.
 * They tell accidents apart, not attacks: not a signature. */
#ifndef OC_BASE_HASH_H
#define OC_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct oc_hash {
    uint64_t high, low;
} oc_hash;

/* A running hash; opaque, free with oc_hasher_close. NULL: no memory. */
typedef struct oc_hasher oc_hasher;

oc_hash oc_hash_bytes(const void *bytes, size_t size);
bool oc_hash_equal(oc_hash a, oc_hash b);
/* 32 lower-case hex digits and a NUL. */
void oc_hash_format(oc_hash hash, char text[33]);

oc_hasher *oc_hasher_open(void);
void oc_hasher_update(oc_hasher *hasher, const void *bytes, size_t size);
oc_hash oc_hasher_digest(const oc_hasher *hasher);
void oc_hasher_close(oc_hasher *hasher);

#endif
