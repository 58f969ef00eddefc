/* npy.h - reads .npy arrays: little-endian f4, f8, i4, i8 and u1. What is stored in Fortran order (a
 * transposed view that was saved) is given in C order like the rest. The files come from elsewhere, so a header that lies about its size is refused before anything is allocated. */
#ifndef OC_TESTS_NPY_H
#define OC_TESTS_NPY_H

#include "runtime/base/status.h"

enum { NPY_RANK = 8 };

/* Exactly one of floats and integers is set (both may be, of no elements). */
typedef struct npy {
    int rank;
    size_t shape[NPY_RANK]; /* unused axes are 1 */
    size_t count;           /* product of shape */
    float *floats;          /* f4, f8: [count], owned */
    int64_t *integers;      /* i4, i8, u1: [count], owned */
} npy;

/* OCELLI_E_IO, OCELLI_E_FORMAT or OCELLI_E_UNSUPPORTED, naming the file. */
ocelli_status npy_read(npy *out, const char *path, ocelli_error *err);
/* The same from memory; name is for messages. */
ocelli_status npy_parse(npy *out, const char *name, const unsigned char *bytes, size_t size,
                        ocelli_error *err);
void npy_close(npy *array);

#endif
