/* pull_digest.h - the two hashes by which a repository names its files' content, over libcrypto. */
#ifndef OCELLI_TOOLS_PULL_DIGEST_H
#define OCELLI_TOOLS_PULL_DIGEST_H

#include "tools/download_record.h"

typedef enum pull_hash {
    PULL_SHA256,  /* of large files: of the bytes */
    PULL_GIT_BLOB /* of the others: SHA-1 of "blob SIZE", a NUL and the bytes, as git does */
} pull_hash;

typedef struct pull_digest pull_digest;

/* size: of the whole file. NULL after a message. */
pull_digest *pull_digest_open(pull_hash kind, uint64_t size);
void pull_digest_add(pull_digest *digest, const void *bytes, size_t size);
/* Ends it: hexadecimal digits, "" on failure. */
void pull_digest_finish(pull_digest *digest, char out[DOWNLOAD_HASH_SIZE]);
void pull_digest_close(pull_digest *digest);

/* Hashes the first bytes of an open file of the whole size, at its beginning after the call's seek.
 * Draws progress. EXIT_DONE with *digest holding them, EXIT_INTERRUPTED, or EXIT_FAILED after a
 * message; *digest is NULL then. */
int pull_digest_begin_with(int descriptor, const char *path, pull_hash kind, uint64_t size,
                           uint64_t bytes, pull_digest **digest);

#endif
