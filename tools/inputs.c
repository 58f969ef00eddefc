/* inputs.c - see inputs.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/inputs.h"
#include "tools/flags.h"
#include "tools/interrupt.h"
#include "tools/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* As for files: what is larger is no picture, and no list of them. */
#define MOST_READ_BYTES ((size_t)1 << 30)

static bool is_address(const char *path)
{
    static const char *const schemes[] = {"http://", "https://", "file://", "data:", "ftp://"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (strncasecmp(path, schemes[i], strlen(schemes[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool input_refused(const char *path, char *why, size_t size)
{
    struct stat about;
    *why = '\0';
    if (is_address(path)) {
        snprintf(why, size, "'%.200s' is an address, and ocelli does not fetch; download it first",
                 path);
    } else if (*path == '\0') {
        snprintf(why, size, "the name of a picture is empty");
    } else if (stat(path, &about) != 0) {
        snprintf(why, size, "cannot open picture '%s': %s", path, strerror(errno));
    } else if (S_ISDIR(about.st_mode)) {
        snprintf(why, size,
                 "'%s' is a folder, not a picture; a folder of frames is for 'ocelli video', a "
                 "folder of photos for 'ocelli caption'",
                 path);
    }
    return *why != '\0';
}

int input_check(const char *path)
{
    char why[1500];
    if (strcmp(path, "-") == 0 || !input_refused(path, why, sizeof why)) {
        return EXIT_DONE;
    }
    report_error("%s", why);
    return EXIT_FAILED;
}

int input_check_stdin(const char *command, const char *const *paths, size_t count)
{
    size_t uses = 0;
    for (size_t i = 0; i < count; i++) {
        uses += strcmp(paths[i], "-") == 0;
    }
    if (uses > 1) {
        return flags_misuse(command, "'-' is there %zu times, but stdin can be read only once",
                            uses);
    }
    if (uses == 1 && isatty(STDIN_FILENO)) {
        return flags_misuse(command, "'-' reads a picture from stdin, which is a terminal here");
    }
    return EXIT_DONE;
}

/* All that descriptor gives, a new buffer for the caller to free, with room for one byte more. what
 * names it in messages. Returns an exit code. */
static int read_all(int descriptor, const char *what, unsigned char **out, size_t *size)
{
    unsigned char *bytes = NULL;
    size_t used = 0;
    size_t room = 0;
    *out = NULL;
    *size = 0;
    for (;;) {
        if (used == room) {
            size_t more = room == 0 ? 65536 : room * 2;
            unsigned char *larger = more <= 2 * MOST_READ_BYTES ? realloc(bytes, more + 1) : NULL;
            if (larger == NULL) {
                free(bytes);
                report_error("%s: no memory for more than %zu bytes", what, room);
                return EXIT_FAILED;
            }
            bytes = larger;
            room = more;
        }
        if (!interrupt_wait(descriptor)) {
            free(bytes);
            return EXIT_INTERRUPTED;
        }
        ssize_t got = read(descriptor, bytes + used, room - used);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (got < 0) {
            report_error("cannot read %s: %s", what, strerror(errno));
            free(bytes);
            return EXIT_FAILED;
        }
        if (got == 0) {
            break;
        }
        used += (size_t)got;
        if (used > MOST_READ_BYTES) {
            free(bytes);
            report_error("%s: more than 1 GiB", what);
            return EXIT_FAILED;
        }
    }
    *out = bytes;
    *size = used;
    return EXIT_DONE;
}

/* A picture from stdin. Returns an exit code. */
static int read_stdin(unsigned char **out, size_t *size)
{
    int code = read_all(STDIN_FILENO, "stdin", out, size);
    if (code == EXIT_DONE && *size == 0) {
        free(*out);
        *out = NULL;
        report_error("stdin: empty, where a picture was expected");
        code = EXIT_FAILED;
    }
    return code;
}

int input_read_file(const char *path, const char *flag, char **out, size_t *size)
{
    char what[700];
    unsigned char *bytes = NULL;
    *out = NULL;
    if (strcmp(path, "-") == 0) {
        int code = read_all(STDIN_FILENO, "stdin", &bytes, size);
        *out = (char *)bytes;
        return code;
    }
    snprintf(what, sizeof what, "'%.600s' (%s)", path, flag);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        report_error("cannot open %s: %s", what, strerror(errno));
        return EXIT_FAILED;
    }
    int code = read_all(descriptor, what, &bytes, size);
    close(descriptor);
    *out = (char *)bytes;
    return code;
}

ocelli_image_options input_image_options(const cli_options *options)
{
    ocelli_image_options image_options = OCELLI_IMAGE_OPTIONS_INIT;
    image_options.max_pixels = options->max_input_pixels;
    image_options.alpha =
        strcmp(options->alpha, "drop") == 0 ? OCELLI_ALPHA_DROP : OCELLI_ALPHA_WHITE;
    image_options.background[0] = (uint8_t)(options->background >> 16 & 0xFF);
    image_options.background[1] = (uint8_t)(options->background >> 8 & 0xFF);
    image_options.background[2] = (uint8_t)(options->background & 0xFF);
    image_options.enough_pixels = options->fast_decode ? options->max_pixels : 0;
    return image_options;
}

int input_decode(const char *path, const cli_options *options, ocelli_image **out)
{
    ocelli_image_options image_options = input_image_options(options);
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_status status;
    *out = NULL;
    int code = input_check(path);
    if (code != EXIT_DONE) {
        return code;
    }
    if (strcmp(path, "-") == 0) {
        unsigned char *bytes = NULL;
        size_t size = 0;
        code = read_stdin(&bytes, &size);
        if (code != EXIT_DONE) {
            return code;
        }
        status = ocelli_image_decode(out, bytes, size, "stdin", &image_options, &err);
        free(bytes);
    } else {
        status = ocelli_image_load(out, path, &image_options, &err);
    }
    return status == OCELLI_OK ? EXIT_DONE : report_failure(&err);
}
