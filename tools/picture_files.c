/* picture_files.c - see picture_files.h.
 *
 * What counts as a picture is asked of the content, because tools name files as they like; the name
 * decides only for a file whose content is no picture: "f003.png" full of zeros is a damaged picture,
 * to be reported, while "notes.txt" is no picture at all.
 */
#define _POSIX_C_SOURCE 200809L

#include "tools/picture_files.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool picture_has_name(const char *name)
{
    static const char *const endings[] = {"png", "jpg",  "jpeg", "jpe",  "jfif", "bmp",
                                          "dib", "gif",  "webp", "heic", "heif", "avif",
                                          "tif", "tiff", "ppm",  "pgm",  "pbm",  "pnm"};
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

/* "P6" alone begins many a text; a PNM has a blank, then a number or a comment. */
static bool is_pnm(const unsigned char head[16])
{
    size_t at = 2;
    if (head[0] != 'P' || head[1] < '1' || head[1] > '6') {
        return false;
    }
    while (at < 15 && head[at] != 0 && strchr(" \t\r\n\v\f", head[at]) != NULL) {
        at++;
    }
    return head[at] == '#' || (at > 2 && (head[at] >= '0' && head[at] <= '9'));
}

bool picture_has_bytes(const unsigned char head[16])
{
    static const char *const brands[] = {"heic", "heix", "heim", "heis", "hevc",
                                         "hevx", "mif1", "msf1", "avif", "avis"};
    if (memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0 || memcmp(head, "\xff\xd8\xff", 3) == 0 ||
        memcmp(head, "GIF87a", 6) == 0 || memcmp(head, "GIF89a", 6) == 0 ||
        memcmp(head, "II*\0", 4) == 0 || memcmp(head, "MM\0*", 4) == 0) {
        return true;
    }
    /* "BM" alone begins many a text; a BMP has four reserved zero bytes after its size. */
    if (memcmp(head, "BM", 2) == 0 && memcmp(head + 6, "\0\0\0\0", 4) == 0) {
        return true;
    }
    if (is_pnm(head)) {
        return true;
    }
    if (memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WEBP", 4) == 0) {
        return true;
    }
    if (memcmp(head + 4, "ftyp", 4) == 0) {
        for (size_t i = 0; i < sizeof brands / sizeof brands[0]; i++) {
            if (memcmp(head + 8, brands[i], 4) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* A file that cannot be read is judged by its name, and reported when it is decoded. */
bool picture_is_file(int folder, const char *name)
{
    unsigned char head[16] = {0};
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
        picture = got > 0 && picture_has_bytes(head);
    }
    close(file);
    return picture;
}
