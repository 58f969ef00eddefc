/* npy_write.c - see npy_write.h. The format: numpy.lib.format, version 1.0. */
#include "tools/npy_write.h"

#include <inttypes.h>
#include <string.h>

bool npy_write_header(FILE *out, const uint64_t *shape, size_t dims)
{
    /* Magic, version, two bytes of length, then the text, so that all is a multiple of 64. */
    enum { BEFORE = 10, WHOLE = 192 };
    char header[WHOLE];
    const uint16_t one = 1;
    unsigned char low;
    memcpy(&low, &one, 1);
    if (dims > NPY_MOST_DIMS) {
        return false;
    }
    int used = snprintf(header + BEFORE, WHOLE - BEFORE,
                        "{'descr': '%cf4', 'fortran_order': False, 'shape': (", low ? '<' : '>');
    for (size_t i = 0; i < dims; i++) {
        used += snprintf(header + BEFORE + used, (size_t)(WHOLE - BEFORE - used), "%" PRIu64 "%s",
                         shape[i],
                         dims == 1      ? ","
                         : i + 1 < dims ? ", "
                                        : "");
    }
    used += snprintf(header + BEFORE + used, (size_t)(WHOLE - BEFORE - used), "), }");
    size_t whole = ((size_t)used + BEFORE + 1 + 63) / 64 * 64, text = whole - BEFORE;
    memset(header + BEFORE + used, ' ', text - (size_t)used);
    header[whole - 1] = '\n';
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)(text & 0xFF);
    header[9] = (char)(text >> 8);
    return fwrite(header, 1, whole, out) == whole;
}

bool npy_write_values(FILE *out, const float *values, size_t count)
{
    return fwrite(values, sizeof *values, count, out) == count;
}
