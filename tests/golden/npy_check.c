/* npy_check.c - the reader of recorded arrays: values of every type, and headers that lie. */
#include "tests/golden/npy.h"

#include "runtime/base/memory.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void expect(int condition, const char *what)
{
    if (!condition) {
        printf("FAIL  %s\n", what);
        failures++;
    }
}

/* A version 1 file of this header and these data bytes. */
static ocelli_status parse(npy *out, const char *header, const void *data, size_t size)
{
    unsigned char file[512] = "\x93NUMPY\x01";
    ocelli_error err = {0};
    size_t length = strlen(header);
    file[8] = (unsigned char)length;
    memcpy(file + 10, header, length);
    memcpy(file + 10 + length, data, size);
    return npy_parse(out, "made", file, 10 + length + size, &err);
}

static void check_values(void)
{
    static const unsigned char bytes[] = {1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0,
                                          4, 0, 0, 0, 5,    0,    0,    0,    6, 0, 0, 0};
    const float singles[2] = {1.5f, -2.0f};
    const double doubles[1] = {0.25};
    npy a;
    expect(parse(&a, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", bytes, 24) ==
                   OCELLI_OK &&
               a.rank == 2 && a.count == 6 && a.shape[1] == 3 && a.integers[1] == -1 &&
               a.integers[3] == 4,
           "i4 in C order");
    npy_close(&a);
    /* Columns first: 1 -1 | 3 4 | 5 6 are the columns of [[1, 3, 5], [-1, 4, 6]]. */
    expect(parse(&a, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }", bytes, 24) ==
                   OCELLI_OK &&
               a.integers[1] == 3 && a.integers[2] == 5 && a.integers[3] == -1,
           "i4 in Fortran order");
    npy_close(&a);
    expect(parse(&a, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", singles, 8) ==
                   OCELLI_OK &&
               a.floats[0] == 1.5f && a.floats[1] == -2.0f && a.integers == NULL,
           "f4");
    npy_close(&a);
    expect(parse(&a, "{'shape': (), 'descr': '<f8', 'fortran_order': False}", doubles, 8) ==
                   OCELLI_OK &&
               a.rank == 0 && a.count == 1 && a.floats[0] == 0.25f,
           "a lone f8, keys in another order");
    npy_close(&a);
    expect(parse(&a, "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 0, 7), }", "", 0) ==
                   OCELLI_OK &&
               a.count == 0,
           "an empty array");
    npy_close(&a);
}

static void check_lies(void)
{
    static const struct {
        const char *header;
        size_t size;
    } lies[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 8},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905,), }", 4},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }", 4},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 4},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,", 4},
        {"{'descr': '<f4', 'fortran_order': False, }", 4},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8},
        {"{'fortran_order': False, 'shape': (1,), }", 8},
        {"", 8},
    };
    static const unsigned char zeros[16];
    npy a;
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        expect(parse(&a, lies[i].header, zeros, lies[i].size) != OCELLI_OK && a.floats == NULL &&
                   a.integers == NULL && a.count == 0,
               lies[i].header);
    }
    static const unsigned char cut[][12] = {"\x93NUMPY\x01\x00\xff\xff",
                                            "\x93NUMPY\x02\x00\x01\x00",
                                            "\x93NUMPY\x09\x00\x01\x00", "GIF89a\x01\x00\x01\x00"};
    for (size_t i = 0; i < 4; i++) {
        for (size_t size = 0; size < sizeof cut[i]; size++) {
            expect(npy_parse(&a, "cut", cut[i], size, NULL) != OCELLI_OK, "a file that is cut");
        }
    }
}

int main(void)
{
    check_values();
    check_lies();
    puts(failures == 0 ? "npy_check: ok" : "npy_check: failed");
    return failures != 0;
}
