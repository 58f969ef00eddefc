/* replay.c - a main for the targets where libFuzzer is not: runs each file that is named, and each
 * of the folders that are. Prints how many. */
#define _POSIX_C_SOURCE 200809L
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void run_file(const char *path)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    fuzz_require(file != NULL && fstat(fileno(file), &status) == 0, path);
    size_t size = (size_t)status.st_size;
    uint8_t *data = malloc(size > 0 ? size : 1); /* exactly: a read beyond it is found */
    fuzz_require(data != NULL && fread(data, 1, size, file) == size, path);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
}

static size_t run_folder(const char *path)
{
    char name[4096];
    size_t count = 0;
    DIR *folder = opendir(path);
    fuzz_require(folder != NULL, path);
    for (struct dirent *item = readdir(folder); item != NULL; item = readdir(folder)) {
        if (item->d_name[0] != '.') {
            snprintf(name, sizeof name, "%s/%s", path, item->d_name);
            run_file(name);
            count++;
        }
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        struct stat status;
        fuzz_require(stat(argv[i], &status) == 0, argv[i]);
        if (S_ISDIR(status.st_mode)) {
            count += run_folder(argv[i]);
        } else {
            run_file(argv[i]);
            count++;
        }
    }
    printf("%zu inputs\n", count);
    return count > 0 ? 0 : 1;
}
