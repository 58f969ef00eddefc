/* draw_names.c - the names of drawings, checked before anything costs time; see draw.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/draw.h"
#include "tools/cli_options.h"
#include "tools/draw_format.h"
#include "tools/flags.h"
#include "tools/report.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

draw_format draw_format_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path, *dot = strrchr(name, '.');
    if (dot == NULL || dot == name) {
        return DRAW_NONE;
    }
    if (strcasecmp(dot, ".png") == 0) {
        return DRAW_PNG;
    }
    bool is_jpeg = strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0;
    return is_jpeg ? DRAW_JPEG : DRAW_NONE;
}

static int check_folder(const char *command, const char *draw)
{
    struct stat about;
    if (stat(draw, &about) == 0) {
        return S_ISDIR(about.st_mode)
                   ? EXIT_DONE
                   : flags_misuse(command,
                                  "--draw '%.200s' is a file; with several pictures it must be a "
                                  "folder",
                                  draw);
    }
    if (draw_format_of(draw) != DRAW_NONE) {
        return flags_misuse(
            command, "--draw '%.200s' is one file; with several pictures it must be a folder",
            draw);
    }
    if (mkdir(draw, 0777) != 0) {
        report_error("cannot make the folder '%s': %s", draw, strerror(errno));
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

int draw_check(const char *command, const char *draw, size_t count)
{
    struct stat about;
    int code = draw_check_build();
    if (code != EXIT_DONE) {
        return code;
    }
    if (count > 1) {
        return check_folder(command, draw);
    }
    if (stat(draw, &about) == 0 && S_ISDIR(about.st_mode)) {
        return flags_misuse(command, "--draw '%.200s' is a folder; for one picture name the file",
                            draw);
    }
    if (draw_format_of(draw) == DRAW_NONE) {
        return flags_misuse(
            command,
            "--draw '%.200s' must end with .png, .jpg or .jpeg, which says how it is "
            "written",
            draw);
    }
    return EXIT_DONE;
}
