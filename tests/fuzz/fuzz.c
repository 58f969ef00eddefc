/* fuzz.c - see fuzz.h. POSIX. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FILES = 16, MOST_NAME = 64 };

static char folder[256];
static char names[MOST_FILES][MOST_NAME];
static size_t name_count;

static void remove_all(void)
{
    for (size_t i = 0; i < name_count; i++) {
        unlink(fuzz_path(names[i]));
    }
    rmdir(folder);
}

void fuzz_require(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz: this must hold: %s\n", what);
        abort();
    }
}

const char *fuzz_path(const char *name)
{
    static char path[sizeof folder + MOST_NAME + 2];
    snprintf(path, sizeof path, "%s/%.63s", folder, name);
    return path;
}

static void remember(const char *name)
{
    for (size_t i = 0; i < name_count; i++) {
        if (strcmp(names[i], name) == 0) {
            return;
        }
    }
    fuzz_require(name_count < MOST_FILES && strlen(name) < MOST_NAME, "few files of short names");
    snprintf(names[name_count++], MOST_NAME, "%s", name);
}

const char *fuzz_write(const char *name, const void *data, size_t size)
{
    if (folder[0] == '\0') {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/ocelli-fuzz-XXXXXX",
                 base != NULL && strlen(base) < 200 ? base : "/tmp");
        fuzz_require(mkdtemp(folder) != NULL, "a scratch folder");
        fuzz_require(atexit(remove_all) == 0, "room for an exit handler");
    }
    remember(name);
    FILE *file = fopen(fuzz_path(name), "wb");
    fuzz_require(file != NULL, "a file in the scratch folder");
    fuzz_require(size == 0 || fwrite(data, 1, size, file) == size, "room on the disk");
    fuzz_require(fclose(file) == 0, "room on the disk");
    return folder;
}
