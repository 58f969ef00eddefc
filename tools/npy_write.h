/* npy_write.h - arrays of float32 as NumPy files, format 1.0: C order, this machine's byte order. */
#ifndef OCELLI_TOOLS_NPY_WRITE_H
#define OCELLI_TOOLS_NPY_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { NPY_MOST_DIMS = 4 };

/* The header of an array [shape[0], ..., shape[dims - 1]]; its values follow, as many as the product
 * says. False: it was not written. */
bool npy_write_header(FILE *out, const uint64_t *shape, size_t dims);
bool npy_write_values(FILE *out, const float *values, size_t count);

#endif
