/* file_replace.c - see file_replace.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/file_replace.h"
#include "tools/cli_options.h"
#include "tools/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path, int error)
{
    report_error("cannot write '%s': %s", path, strerror(error != 0 ? error : EIO));
    return EXIT_FAILED;
}

/* A name in the folder of path for mkstemp; NULL: no memory. */
static char *name_partial(const char *path)
{
    static const char pattern[] = ".ocelli-XXXXXX";
    const char *slash = strrchr(path, '/');
    size_t folder = slash != NULL ? (size_t)(slash + 1 - path) : 0;
    char *name = malloc(folder + sizeof pattern);
    if (name != NULL) {
        memcpy(name, path, folder);
        memcpy(name + folder, pattern, sizeof pattern);
    }
    return name;
}

int file_replace_begin(file_replace *f, const char *path)
{
    struct stat about;
    *f = (file_replace){.path = path};
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) {
        report_error("cannot write '%s': it is there and is no regular file", path);
        return EXIT_FAILED;
    }
    f->partial = name_partial(path);
    if (f->partial == NULL) {
        return fail(path, ENOMEM);
    }
    int descriptor = mkstemp(f->partial);
    if (descriptor >= 0) {
        mode_t mask = umask(0); /* mkstemp's file is its owner's alone */
        umask(mask);
        (void)fchmod(descriptor, 0666 & ~mask);
        f->file = fdopen(descriptor, "wb");
    }
    if (f->file == NULL) {
        int error = errno;
        if (descriptor >= 0) {
            close(descriptor);
            unlink(f->partial);
        }
        free(f->partial);
        return fail(path, error);
    }
    return EXIT_DONE;
}

int file_replace_end(file_replace *f, bool good)
{
    errno = 0;
    bool written = fflush(f->file) == 0 && !ferror(f->file) && fsync(fileno(f->file)) == 0;
    int error = errno;
    if (fclose(f->file) != 0 && written) {
        written = false;
        error = errno;
    }
    if (good && written && rename(f->partial, f->path) != 0) {
        written = false;
        error = errno;
    }
    if (!good || !written) {
        unlink(f->partial);
    }
    free(f->partial);
    if (good && !written) {
        return fail(f->path, error);
    }
    return good ? EXIT_DONE : EXIT_FAILED;
}
