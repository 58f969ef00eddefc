/* scratch.h - files for a test: a folder of its own that goes away with everything in it, and bytes
 * written into it. Include after _POSIX_C_SOURCE is set. */
#ifndef OC_TESTS_SCRATCH_H
#define OC_TESTS_SCRATCH_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCRATCH_PATH = 600 };

typedef struct scratch {
    char path[256];
} scratch;

static inline scratch scratch_open(void)
{
    scratch folder;
    const char *base = getenv("TMPDIR");
    snprintf(folder.path, sizeof folder.path, "%s/ocelli-test-XXXXXX",
             base != NULL && strlen(base) < 200 ? base : "/tmp");
    cr_assert_not_null(mkdtemp(folder.path));
    return folder;
}

static inline void scratch_close(scratch *folder)
{
    char path[SCRATCH_PATH];
    DIR *list = opendir(folder->path);
    cr_assert_not_null(list);
    for (struct dirent *item = readdir(list); item != NULL; item = readdir(list)) {
        snprintf(path, sizeof path, "%s/%s", folder->path, item->d_name);
        unlink(path);
    }
    closedir(list);
    rmdir(folder->path);
}

static inline const char *scratch_path(const scratch *folder, const char *name,
                                       char path[SCRATCH_PATH])
{
    snprintf(path, SCRATCH_PATH, "%s/%s", folder->path, name);
    return path;
}

static inline void scratch_write(const scratch *folder, const char *name, const void *bytes,
                                 size_t size)
{
    char path[SCRATCH_PATH];
    FILE *file = fopen(scratch_path(folder, name, path), "wb");
    cr_assert_not_null(file);
    cr_assert_eq(size == 0 ? 0 : fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

/* A safetensors file: the length field, header [header_size], then data. */
static inline void scratch_write_safetensors(const scratch *folder, const char *name,
                                             uint64_t length, const char *header,
                                             size_t header_size, const void *data, size_t data_size)
{
    unsigned char *bytes = calloc(8 + header_size + data_size, 1);
    cr_assert_not_null(bytes);
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(length >> (8 * i));
    }
    memcpy(bytes + 8, header, header_size);
    if (data != NULL && data_size > 0) {
        memcpy(bytes + 8 + header_size, data, data_size);
    }
    scratch_write(folder, name, bytes, 8 + header_size + data_size);
    free(bytes);
}

#endif
