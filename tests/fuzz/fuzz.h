/* fuzz.h - what the fuzz targets share: the entry point, and an input as a file of a scratch
 * folder, for readers that take a path. */
#ifndef OC_TESTS_FUZZ_H
#define OC_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* One input; always 0. libFuzzer calls it, or replay.c with the files of a corpus. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes data as the file name in this process's scratch folder, and gives the path of the folder.
 * What it made is removed at exit. Ends the program when that cannot be done. */
const char *fuzz_write(const char *name, const void *data, size_t size);
/* The path of a file in it, valid until the next call. */
const char *fuzz_path(const char *name);

/* Ends the program with a message: the target has found what must not be. */
void fuzz_require(int holds, const char *what);

#endif
