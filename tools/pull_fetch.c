/* pull_fetch.c - see pull_fetch.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/pull_fetch.h"
#include "tools/cli_options.h"
#include "tools/interrupt.h"
#include "tools/model_shape.h"
#include "tools/progress.h"
#include "tools/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Coming so much further counts as success between two cuts. */
#define WORTH_ANOTHER ((uint64_t)1 << 20)

typedef struct fetch {
    pull_hub *hub;
    const remote_file *file;
    pull_tally *tally;
    char *path, *partial;
    int descriptor; /* of partial */
    pull_digest *digest;
    uint64_t received; /* bytes in partial, all of them in digest */
    bool resumed;      /* some of them are of an earlier run */
    bool hostile;      /* what is there is not to be kept */
} fetch;

/* Makes the folders that lead to path, below the folder's own path. */
static bool make_parents(char *path, size_t below)
{
    for (char *at = path + below; *at != '\0'; at++) {
        if (*at == '/' && at > path + below) {
            *at = '\0';
            bool good = mkdir(path, 0777) == 0 || errno == EEXIST;
            if (!good) {
                report_error("cannot make '%s': %s", path, strerror(errno));
            }
            *at = '/';
            if (!good) {
                return false;
            }
        }
    }
    return true;
}

/* Empties the partial file and begins a new hash. */
static bool start_again(fetch *f)
{
    pull_digest_close(f->digest);
    f->digest = pull_digest_open(f->file->kind, f->file->bytes);
    f->received = 0;
    f->resumed = false;
    if (f->digest == NULL) {
        return false;
    }
    if (ftruncate(f->descriptor, 0) != 0 || lseek(f->descriptor, 0, SEEK_SET) != 0) {
        report_error("cannot empty '%s': %s", f->partial, strerror(errno));
        return false;
    }
    return true;
}

static int open_partial(fetch *f)
{
    struct stat about;
    f->descriptor = open(f->partial, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (f->descriptor < 0 || fstat(f->descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
        report_error("cannot write '%s': %s", f->partial,
                     f->descriptor < 0 ? strerror(errno) : "it is no file");
        return EXIT_FAILED;
    }
    uint64_t there = (uint64_t)about.st_size;
    if (there == 0 || there > f->file->bytes) {
        return start_again(f) ? EXIT_DONE : EXIT_FAILED;
    }
    f->resumed = true;
    f->received = there;
    return pull_digest_begin_with(f->descriptor, f->partial, f->file->kind, f->file->bytes, there,
                                  &f->digest);
}

/* ---- receiving ----------------------------------------------------------------------------- */

static bool on_begin(void *user, const pull_head *head)
{
    fetch *f = user;
    if (!head->is_range &&
        f->received > 0) { /* the server has no ranges, or the file has changed */
        if (!start_again(f)) {
            return false;
        }
    }
    if (head->is_range && head->first != f->received) {
        report_error("%s: the server sends '%s' from byte %" PRIu64 " where %" PRIu64
                     " was asked for",
                     f->hub->repository, f->file->path, head->first, f->received);
        return false;
    }
    if (head->has_total && head->total != f->file->bytes) {
        report_error("%s: the server's '%s' has %" PRIu64
                     " bytes, but the list of files says %" PRIu64,
                     f->hub->repository, f->file->path, head->total, f->file->bytes);
        f->hostile = true;
        return false;
    }
    return true;
}

static bool write_all(fetch *f, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(f->descriptor, bytes, size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            report_error("cannot write '%s': %s; a rerun goes on from here", f->partial,
                         strerror(written < 0 ? errno : ENOSPC));
            return false;
        }
        pull_digest_add(f->digest, bytes, (size_t)written);
        f->received += (uint64_t)written;
        f->tally->received += (uint64_t)written;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static bool on_bytes(void *user, const void *bytes, size_t size)
{
    fetch *f = user;
    if (size > f->file->bytes - f->received) {
        report_error("%s: the server sends more of '%s' than the %" PRIu64
                     " bytes that the list of files says",
                     f->hub->repository, f->file->path, f->file->bytes);
        f->hostile = true;
        return false;
    }
    bool good = write_all(f, bytes, size);
    progress_transfer(f->file->path, f->tally->finished + f->received, f->tally->total,
                      f->tally->received);
    return good;
}

/* Until all bytes are there. */
static int receive(fetch *f)
{
    pull_patience patience = {0};
    uint64_t furthest = f->received;
    char *url = pull_hub_file_url(f->hub, f->file->path);
    int code = url != NULL ? EXIT_DONE : EXIT_FAILED;
    while (code == EXIT_DONE && f->received < f->file->bytes) {
        pull_result result;
        const pull_request request = {url, f->received, on_begin, on_bytes, f};
        pull_http_get(f->hub->http, &request, &result);
        if (f->received >= furthest + WORTH_ANOTHER) {
            patience.failures = 0;
        }
        furthest = f->received > furthest ? f->received : furthest;
        if (result.end == PULL_STOPPED) {
            code = EXIT_INTERRUPTED;
        } else if (result.end == PULL_TAKER) {
            code = EXIT_FAILED;
        } else if (result.end == PULL_STATUS && result.status == 416 && f->received > 0) {
            code = start_again(f) ? EXIT_DONE : EXIT_FAILED; /* its file is shorter than ours */
        } else if (result.end != PULL_DONE || f->received < f->file->bytes) {
            if (result.end == PULL_DONE) { /* it ended early, in good order */
                result.end = PULL_CUT;
                snprintf(result.message, sizeof result.message,
                         "the connection ends after %" PRIu64 " of %" PRIu64 " bytes", f->received,
                         f->file->bytes);
            }
            if (!pull_hub_again(&patience, &result)) {
                code = interrupt_pending() ? EXIT_INTERRUPTED
                                           : pull_hub_failure(f->hub, &result, f->file->path);
            }
        }
    }
    free(url);
    return code;
}

/* ---- the end ------------------------------------------------------------------------------- */

static const char *hash_name(const remote_file *file)
{
    return file->kind == PULL_SHA256 ? "SHA-256" : "git hash";
}

/* Renames the partial file, so that it survives the machine's failing, too. */
static int finish(fetch *f, char time[DOWNLOAD_TIME_SIZE])
{
    struct stat about;
    if (fsync(f->descriptor) != 0 || fstat(f->descriptor, &about) != 0 ||
        rename(f->partial, f->path) != 0) {
        report_error("cannot finish '%s': %s", f->path, strerror(errno));
        return EXIT_FAILED;
    }
    download_time_format(&about, time);
    return EXIT_DONE;
}

static int fetch_and_check(fetch *f, char time[DOWNLOAD_TIME_SIZE])
{
    char hash[DOWNLOAD_HASH_SIZE];
    int code = open_partial(f);
    while (code == EXIT_DONE) {
        code = receive(f);
        if (code != EXIT_DONE) {
            break;
        }
        pull_digest_finish(f->digest, hash);
        if (strcmp(hash, f->file->hash) == 0) {
            return finish(f, time);
        }
        if (!f->resumed) {
            report_error(
                "%s: '%s' has the %s %s where the list of files says %s; it is removed, and "
                "a rerun fetches it anew",
                f->hub->repository, f->file->path, hash_name(f->file), hash, f->file->hash);
            f->hostile = true;
            return EXIT_FAILED;
        }
        report_note(
            "what an earlier run left of '%s' does not fit; it is fetched from its beginning",
            f->file->path);
        code = start_again(f) ? EXIT_DONE : EXIT_FAILED;
    }
    return code;
}

int pull_fetch(pull_hub *hub, const char *folder, const remote_file *file, pull_tally *tally,
               char time[DOWNLOAD_TIME_SIZE])
{
    fetch f = {.hub = hub, .file = file, .tally = tally, .descriptor = -1};
    int code = EXIT_FAILED;
    f.path = path_join(folder, file->path);
    f.partial = f.path != NULL ? path_with_suffix(f.path, DOWNLOAD_PARTIAL) : NULL;
    if (f.partial != NULL && make_parents(f.partial, strlen(folder))) {
        code = fetch_and_check(&f, time);
    }
    if (f.descriptor >= 0) {
        close(f.descriptor);
    }
    if (f.hostile) {
        (void)unlink(f.partial);
    }
    if (code == EXIT_DONE) {
        tally->finished += file->bytes;
    }
    pull_digest_close(f.digest);
    free(f.partial);
    free(f.path);
    return code;
}

int pull_compare(const char *folder, const remote_file *file, bool *same,
                 char time[DOWNLOAD_TIME_SIZE])
{
    char *path = path_join(folder, file->path);
    int descriptor = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    pull_digest *digest = NULL;
    char hash[DOWNLOAD_HASH_SIZE];
    struct stat about;
    int code = EXIT_DONE;
    *same = false;
    if (descriptor >= 0 && fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
        (uint64_t)about.st_size == file->bytes) {
        code =
            pull_digest_begin_with(descriptor, path, file->kind, file->bytes, file->bytes, &digest);
        if (code == EXIT_DONE) {
            pull_digest_finish(digest, hash);
            *same = strcmp(hash, file->hash) == 0;
            download_time_format(&about, time);
        }
    }
    pull_digest_close(digest);
    if (descriptor >= 0) {
        close(descriptor);
    }
    free(path);
    return path != NULL ? code : EXIT_FAILED;
}

uint64_t pull_left_over(const char *folder, const remote_file *file)
{
    char *path = path_join(folder, file->path);
    char *partial = path != NULL ? path_with_suffix(path, DOWNLOAD_PARTIAL) : NULL;
    struct stat about;
    uint64_t bytes = 0;
    if (partial != NULL && lstat(partial, &about) == 0 && S_ISREG(about.st_mode) &&
        (uint64_t)about.st_size <= file->bytes) {
        bytes = (uint64_t)about.st_size;
    }
    free(partial);
    free(path);
    return bytes;
}
