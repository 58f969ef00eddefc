/* file_replace.c - see file_replace.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/file_replace.h"
#include "tools/cli_options.h"
#include "tools/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *path, int error)
{
    report_error("cannot write '%s': %s", path, strerror(error != 0 ? error : EIO));
    return EXIT_FAILED;
}

int file_replace_begin(file_replace *f, const char *path)
{
    char why[512];
    if (!draft_open(&f->draft, path, why, sizeof why)) {
        report_error("%s", why);
        return EXIT_FAILED;
    }
    int descriptor = dup(f->draft.descriptor); /* fclose closes its own */
    f->file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (f->file == NULL) {
        int error = errno;
        if (descriptor >= 0) {
            close(descriptor);
        }
        draft_abandon(&f->draft);
        return fail(path, error);
    }
    return EXIT_DONE;
}

int file_replace_end(file_replace *f, bool good)
{
    char why[512];
    errno = 0;
    bool failed = ferror(f->file) != 0;
    int error = errno;
    if (fclose(f->file) != 0 && !failed) {
        failed = true;
        error = errno;
    }
    if (good && failed) {
        fail(f->draft.target, error);
    }
    if (!good || failed) {
        draft_abandon(&f->draft);
        return EXIT_FAILED;
    }
    if (!draft_commit(&f->draft, why, sizeof why)) {
        report_error("%s", why);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}
