/* picture_files.c - see picture_files.h.
 *
 * What counts as a picture is asked of the content, because tools name files as they like; the name
 * decides only for a file whose content is no picture: "f003.png" full of zeros is a damaged picture,
 * to be reported, while "notes.txt" is no picture at all.
 */
#define _POSIX_C_SOURCE 200809L

#include "tools/picture_files.h"

#include <fcntl.h>
#include <ocelli.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool picture_has_name(const char *name)
{
    static const char *const endings[] = {"png", "jpg",  "jpeg", "jpe",  "jfif", "bmp", "dib",
                                          "gif", "webp", "heic", "heif", "avif", "tif", "tiff",
                                          "ppm", "pgm",  "pbm",  "pnm",  "jxl",  "jp2"};
    const char *dot = strrchr(name, '.');
    if (dot == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (strcasecmp(dot + 1, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool picture_has_bytes(const unsigned char *head, size_t size)
{
    /* What photos and frames are kept in. Others that the library can name begin with so few bytes
     * that any file may; in a folder they are no pictures. */
    static const char *const kept[] = {"png",  "jpeg", "gif",  "bmp", "tiff", "pnm",
                                       "webp", "heic", "avif", "jxl", "jp2"};
    const char *format = ocelli_image_format(head, size);
    for (size_t i = 0; format != NULL && i < sizeof kept / sizeof kept[0]; i++) {
        if (strcmp(format, kept[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A file that cannot be read is judged by its name, and reported when it is decoded. */
bool picture_is_file(int folder, const char *name)
{
    unsigned char head[PICTURE_HEAD];
    struct stat about;
    bool picture = picture_has_name(name);
    /* O_NONBLOCK: opening a pipe must not wait for its other end. */
    int file = openat(folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (file < 0) {
        return picture && fstatat(folder, name, &about, 0) == 0 && S_ISREG(about.st_mode);
    }
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        picture = false;
    } else if (!picture) {
        ssize_t got = read(file, head, sizeof head);
        picture = got > 0 && picture_has_bytes(head, (size_t)got);
    }
    close(file);
    return picture;
}
