/* frames_folder.c - see frames_folder.h. What counts as a frame is what is a picture. */
#define _POSIX_C_SOURCE 200809L

#include "tools/frames_folder.h"
#include "tools/cli_options.h"
#include "tools/picture_files.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- order --------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static unsigned char fold(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

int natural_compare(const char *a, const char *b)
{
    const char *whole_a = a;
    const char *whole_b = b;
    while (*a != '\0' && *b != '\0') {
        if (is_digit(*a) && is_digit(*b)) {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t a_digits = strspn(a, "0123456789");
            size_t b_digits = strspn(b, "0123456789");
            if (a_digits != b_digits) {
                return a_digits < b_digits ? -1 : 1;
            }
            int order = strncmp(a, b, a_digits);
            if (order != 0) {
                return order;
            }
            a += a_digits;
            b += b_digits;
        } else {
            if (fold(*a) != fold(*b)) {
                return fold(*a) < fold(*b) ? -1 : 1;
            }
            a++;
            b++;
        }
    }
    if (*a != *b) { /* one has ended */
        return *a == '\0' ? -1 : 1;
    }
    return strcmp(whole_a, whole_b);
}

static int compare_names(const void *a, const void *b)
{
    return natural_compare(*(char *const *)a, *(char *const *)b);
}

/* ---- the list ------------------------------------------------------------------------------ */

static bool append(frames_folder *frames, size_t *room, const char *name)
{
    if (frames->count == *room) {
        size_t more = *room == 0 ? 64 : *room * 2;
        char **larger = more <= SIZE_MAX / sizeof *larger
                            ? realloc(frames->names, more * sizeof *larger)
                            : NULL;
        if (larger == NULL) {
            return false;
        }
        frames->names = larger;
        *room = more;
    }
    frames->names[frames->count] = text_copy(name);
    if (frames->names[frames->count] == NULL) {
        return false;
    }
    frames->count++;
    return true;
}

int frames_folder_list(const char *folder, frames_folder *out)
{
    size_t room = 0;
    struct dirent *entry;
    memset(out, 0, sizeof *out);
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        if (errno == ENOTDIR) {
            report_error(
                "'%s' is not a folder of frames; for a video file make one: 'mkdir frames && "
                "ffmpeg -i FILE -vf fps=2 frames/%%04d.png'; one picture is for 'ocelli ask'",
                folder);
        } else {
            report_error("cannot open folder '%s': %s", folder, strerror(errno));
        }
        return EXIT_FAILED;
    }
    for (;;) {
        errno = 0;
        entry = readdir(entries);
        if (entry == NULL) {
            break;
        }
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (!picture_is_file(dirfd(entries), entry->d_name)) {
            out->others++;
        } else if (!append(out, &room, entry->d_name)) {
            errno = ENOMEM;
            break;
        }
    }
    if (errno != 0) {
        report_error("cannot list folder '%s': %s", folder, strerror(errno));
        closedir(entries);
        frames_folder_free(out);
        return EXIT_FAILED;
    }
    closedir(entries);
    if (out->count == 0) {
        if (out->others == 0) {
            report_error("no pictures in '%s': the folder is empty", folder);
        } else {
            report_error("no pictures in '%s': none of its %zu entries is one", folder,
                         out->others);
        }
        frames_folder_free(out);
        return EXIT_FAILED;
    }
    qsort(out->names, out->count, sizeof out->names[0], compare_names);
    return EXIT_DONE;
}

void frames_folder_free(frames_folder *frames)
{
    for (size_t i = 0; i < frames->count; i++) {
        free(frames->names[i]);
    }
    free(frames->names);
    memset(frames, 0, sizeof *frames);
}

char *folder_path(const char *folder, const char *name)
{
    size_t folder_length = strlen(folder);
    size_t name_size = strlen(name) + 1;
    char *path = malloc(folder_length + 1 + name_size);
    if (path == NULL) {
        return NULL;
    }
    memcpy(path, folder, folder_length);
    if (folder_length > 0 && folder[folder_length - 1] != '/') {
        path[folder_length++] = '/';
    }
    memcpy(path + folder_length, name, name_size);
    return path;
}
