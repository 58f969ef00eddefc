/* pull_digest.c - see pull_digest.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/pull_digest.h"
#include "tools/cli_options.h"
#include "tools/progress.h"
#include "tools/report.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 20)

struct pull_digest {
    EVP_MD_CTX *context;
    bool good;
};

pull_digest *pull_digest_open(pull_hash kind, uint64_t size)
{
    pull_digest *digest = calloc(1, sizeof *digest);
    if (digest != NULL) {
        digest->context = EVP_MD_CTX_new();
    }
    if (digest == NULL || digest->context == NULL ||
        EVP_DigestInit_ex(digest->context, kind == PULL_SHA256 ? EVP_sha256() : EVP_sha1(), NULL) !=
            1) {
        report_error("libcrypto has no %s", kind == PULL_SHA256 ? "SHA-256" : "SHA-1");
        pull_digest_close(digest);
        return NULL;
    }
    digest->good = true;
    if (kind == PULL_GIT_BLOB) {
        char head[40];
        int length = snprintf(head, sizeof head, "blob %" PRIu64, size);
        pull_digest_add(digest, head, (size_t)length + 1);
    }
    return digest;
}

void pull_digest_add(pull_digest *digest, const void *bytes, size_t size)
{
    digest->good = digest->good && EVP_DigestUpdate(digest->context, bytes, size) == 1;
}

void pull_digest_finish(pull_digest *digest, char out[DOWNLOAD_HASH_SIZE])
{
    unsigned char value[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    out[0] = '\0';
    if (!digest->good || EVP_DigestFinal_ex(digest->context, value, &length) != 1) {
        return;
    }
    for (unsigned i = 0; i < length && 2 * i + 2 < DOWNLOAD_HASH_SIZE; i++) {
        snprintf(out + (size_t)2 * i, 3, "%02x", value[i]);
    }
}

void pull_digest_close(pull_digest *digest)
{
    if (digest != NULL) {
        EVP_MD_CTX_free(digest->context);
        free(digest);
    }
}

int pull_digest_begin_with(int descriptor, const char *path, pull_hash kind, uint64_t size,
                           uint64_t bytes, pull_digest **digest)
{
    unsigned char *piece = malloc(PIECE);
    uint64_t done = 0;
    int code = EXIT_DONE;
    *digest = pull_digest_open(kind, size);
    if (piece == NULL || *digest == NULL || lseek(descriptor, 0, SEEK_SET) != 0) {
        report_error("cannot read '%s': %s", path, piece == NULL ? "no memory" : strerror(errno));
        code = EXIT_FAILED;
    }
    while (code == EXIT_DONE && done < bytes) {
        size_t want = bytes - done < PIECE ? (size_t)(bytes - done) : PIECE;
        ssize_t got = read(descriptor, piece, want);
        if (got > 0) {
            pull_digest_add(*digest, piece, (size_t)got);
            done += (uint64_t)got;
        } else if (got == 0 || errno != EINTR) {
            report_error("cannot read '%s': %s", path,
                         got == 0 ? "it became shorter" : strerror(errno));
            code = EXIT_FAILED;
        }
        if (progress_show(NULL, "checking", done, bytes) != 0) {
            code = EXIT_INTERRUPTED;
        }
    }
    progress_end();
    free(piece);
    if (code != EXIT_DONE) {
        pull_digest_close(*digest);
        *digest = NULL;
    }
    return code;
}
