/* line_file.c - see line_file.h. Locks are those of fcntl, which shared file systems of clusters know;
 * where there are none, the file is used without. */
#define _POSIX_C_SOURCE 200809L

#include "tools/line_file.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No caption comes near. */
#define LONGEST ((size_t)64 << 20)

static bool fail(char *why, size_t size, const char *what, const char *path)
{
    snprintf(why, size, "cannot %s '%.300s': %s", what, path, strerror(errno));
    return false;
}

/* The path still names the file that was opened: nobody has removed or replaced it meanwhile. */
static bool is_still(int descriptor, const char *path)
{
    struct stat opened, named;
    return fstat(descriptor, &opened) == 0 && stat(path, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* One try: 1 locked, 0 again, -1 failed. */
static int open_locked(line_file *file, bool *busy, char *why, size_t size)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat about;
    file->made = stat(file->path, &about) != 0;
    file->descriptor = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    if (file->descriptor < 0) {
        fail(why, size, "write", file->path);
        return -1;
    }
    if (fstat(file->descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
        snprintf(why, size, "cannot write '%.300s': it is no regular file", file->path);
        return -1;
    }
    if (fcntl(file->descriptor, F_SETLK, &whole) != 0 && (errno == EAGAIN || errno == EACCES)) {
        *busy = true;
        snprintf(why, size, "another ocelli is at work here: it holds '%.300s'", file->path);
        return -1;
    }
    if (is_still(file->descriptor, file->path)) {
        return 1;
    }
    close(file->descriptor);
    file->descriptor = -1;
    return 0;
}

bool line_file_open(line_file *file, const char *path, bool looking, bool *busy, char *why,
                    size_t size)
{
    int result = 0;
    memset(file, 0, sizeof *file);
    file->descriptor = -1;
    file->looking = looking;
    *busy = false;
    file->path = text_copy(path);
    if (file->path == NULL) {
        snprintf(why, size, "no memory");
        return false;
    }
    if (looking) {
        file->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        result = file->descriptor >= 0 || errno == ENOENT ? 1 : -1;
        if (result < 0) {
            fail(why, size, "read", path);
        }
    }
    while (result == 0) {
        result = open_locked(file, busy, why, size);
    }
    if (result < 0) {
        line_file_close(file, false);
    }
    return result > 0;
}

/* ---- reading ------------------------------------------------------------------------------- */

typedef struct reader {
    char *bytes; /* [room] */
    size_t used, room;
    uint64_t offset; /* of bytes in the file */
} reader;

/* Reads on behind what is there. 1: more, 0: the end, -1: failed. */
static int more(reader *r, const line_file *file, char *why, size_t size)
{
    if (r->used == r->room) {
        size_t room = r->room == 0 ? 1 << 16 : r->room * 2;
        char *larger = room <= LONGEST ? realloc(r->bytes, room + 1) : NULL;
        if (larger == NULL) {
            snprintf(why, size, "'%.300s' has a line of more than %zu bytes, which is none of ours",
                     file->path, r->room);
            return -1;
        }
        r->bytes = larger;
        r->room = room;
    }
    for (;;) {
        ssize_t got = pread(file->descriptor, r->bytes + r->used, r->room - r->used,
                            (off_t)(r->offset + r->used));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            fail(why, size, "read", file->path);
            return -1;
        }
        r->used += (size_t)got;
        return got > 0;
    }
}

/* NULL where the bytes are no whole object. */
static cJSON *parse(char *text, size_t length)
{
    const char *end = NULL;
    cJSON *object = cJSON_ParseWithLengthOpts(text, length, &end, 0);
    if (object != NULL &&
        (!cJSON_IsObject(object) || (size_t)(end - text) + strspn(end, " \t\r\n") != length)) {
        cJSON_Delete(object);
        object = NULL;
    }
    return object;
}

/* Gives the whole lines that the reader holds, and moves past them. */
static bool give_lines(reader *r, const line_file *file, size_t *number, line_fn fn, void *user,
                       char *why, size_t size)
{
    size_t start = 0;
    for (;;) {
        char *line = r->bytes + start;
        char *newline = memchr(line, '\n', r->used - start);
        if (newline == NULL) {
            break;
        }
        size_t length = (size_t)(newline - line);
        char kept = newline[0];
        ++*number;
        *newline = '\0';
        cJSON *object = parse(line, length);
        *newline = kept;
        if (object == NULL) {
            snprintf(why, size,
                     "line %zu of '%.300s' is no JSON object, so this is not a file that "
                     "'ocelli caption' wrote",
                     *number, file->path);
            return false;
        }
        bool good = fn(user, object, r->offset + start, length + 1, why, size);
        cJSON_Delete(object);
        if (!good) {
            return false;
        }
        start += length + 1;
    }
    memmove(r->bytes, r->bytes + start, r->used - start);
    r->used -= start;
    r->offset += start;
    return true;
}

/* What stands behind the last newline: a whole object lacks only that, anything else is cut. */
static bool mend_end(line_file *file, reader *r, line_fn fn, void *user, char *why, size_t size)
{
    cJSON *object = NULL;
    if (r->used == 0) {
        return true;
    }
    r->bytes[r->used] = '\0';
    object = parse(r->bytes, r->used);
    if (object == NULL && r->offset == 0 && r->bytes[0] != '{' && r->bytes[0] != '\0') {
        snprintf(why, size, "'%.300s' is no file of JSON lines", file->path);
        return false;
    }
    if (file->looking) {
        cJSON_Delete(object);
        return true;
    }
    if (object == NULL) {
        return ftruncate(file->descriptor, (off_t)file->end) == 0 ||
               fail(why, size, "write", file->path);
    }
    bool good = fn(user, object, r->offset, r->used + 1, why, size);
    cJSON_Delete(object);
    file->end += r->used;
    return good && line_file_append(file, "\n", 1, why, size);
}

bool line_file_read(line_file *file, line_fn fn, void *user, char *why, size_t size)
{
    reader r = {NULL, 0, 0, 0};
    size_t number = 0;
    bool good = true;
    while (good && file->descriptor >= 0) {
        int got = more(&r, file, why, size);
        good = got >= 0;
        if (got <= 0) {
            break;
        }
        good = give_lines(&r, file, &number, fn, user, why, size);
    }
    file->end = r.offset;
    good = good && mend_end(file, &r, fn, user, why, size);
    free(r.bytes);
    return good;
}

/* ---- writing ------------------------------------------------------------------------------- */

bool line_file_append(line_file *file, const char *lines, size_t length, char *why, size_t size)
{
    size_t done = 0;
    int error = 0;
    while (done < length && error == 0) {
        ssize_t put =
            pwrite(file->descriptor, lines + done, length - done, (off_t)(file->end + done));
        if (put < 0 && errno != EINTR) {
            error = errno;
        }
        done += put > 0 ? (size_t)put : 0;
    }
    if (error == 0 && fsync(file->descriptor) != 0) {
        error = errno;
    }
    if (error != 0) {
        int cut = ftruncate(file->descriptor, (off_t)file->end);
        (void)cut; /* the next open cuts what is torn */
        errno = error;
        return fail(why, size, "write", file->path);
    }
    file->end += length;
    return true;
}

char *line_file_text(const line_file *file, uint64_t offset, size_t length)
{
    char *text = length < SIZE_MAX ? malloc(length + 1) : NULL;
    size_t used = 0;
    while (text != NULL && used < length) {
        ssize_t got = pread(file->descriptor, text + used, length - used, (off_t)(offset + used));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            free(text);
            return NULL;
        }
        used += (size_t)got;
    }
    if (text != NULL) {
        text[used] = '\0';
    }
    return text;
}

void line_file_close(line_file *file, bool removed)
{
    if (file->descriptor >= 0) {
        if (removed && !file->looking) {
            unlink(file->path); /* before the lock falls: nobody waits for it */
        }
        close(file->descriptor);
    }
    free(file->path);
    memset(file, 0, sizeof *file);
    file->descriptor = -1;
}
