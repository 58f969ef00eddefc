/* test_matrix.c - packing and reading back: what each format may lose, at the edges too. */
#include "runtime/kernels/half.h"
#include "runtime/kernels/matrix.h"
#include "runtime/kernels/quant_format.h"

#include "tests/unit/kernels/kernel_fixture.h"

#include <string.h>

static oc_matrix pack(oc_format format, const float *source, size_t rows, size_t cols)
{
    size_t bytes;
    cr_assert(oc_matrix_bytes(format, rows, cols, &bytes));
    unsigned char *data = oc_alloc(bytes, 1);
    cr_assert_not_null(data);
    memset(data, 0xa5, bytes); /* whatever was there must not shine through */
    oc_matrix_pack(format, data, rows, cols, 0, rows, source);
    return (oc_matrix){.data = data, .rows = rows, .cols = cols, .format = format};
}

Test(matrix, names)
{
    for (int f = 0; f < OC_FORMATS; f++) {
        oc_format back;
        cr_assert(oc_format_from_name(oc_format_name((oc_format)f), &back));
        cr_assert_eq((int)back, f);
    }
    oc_format untouched = OC_FORMAT_Q4;
    cr_assert(!oc_format_from_name("Q8", &untouched));
    cr_assert(!oc_format_from_name("", &untouched));
    cr_assert_eq(untouched, OC_FORMAT_Q4);
    cr_assert_str_eq(oc_format_name(OC_FORMAT_Q8), "q8");
}

Test(matrix, bytes)
{
    size_t bytes = 0;
    cr_assert(oc_matrix_bytes(OC_FORMAT_F32, 3, 5, &bytes) && bytes == 60);
    /* One tile of three steps. */
    cr_assert(oc_matrix_bytes(OC_FORMAT_BF16, 3, 5, &bytes) && bytes == 3 * 64);
    cr_assert(oc_matrix_bytes(OC_FORMAT_BF16, 17, 64, &bytes) && bytes == 2 * 32 * 64);
    /* One tile, half a block: 64 bytes of scales, 16 x 64 codes. */
    cr_assert(oc_matrix_bytes(OC_FORMAT_Q8, 3, 5, &bytes) && bytes == 64 + 1024);
    cr_assert(oc_matrix_bytes(OC_FORMAT_Q8, 3, 130, &bytes) && bytes == 64 + 2048 + 64 + 1024);
    /* 2048 columns: 8.25 bits a weight; Q4: 4.5. */
    cr_assert(oc_matrix_bytes(OC_FORMAT_Q8, 2048, 2048, &bytes) && bytes == 2048 * 2048 / 32 * 33);
    cr_assert(oc_matrix_bytes(OC_FORMAT_Q4, 2048, 2048, &bytes) && bytes == 2048 * 2048 / 16 * 9);
    cr_assert(oc_matrix_bytes(OC_FORMAT_Q4, 17, 65, &bytes) && bytes == 2 * 2 * (64 + 512));
    cr_assert(oc_matrix_bytes(OC_FORMAT_Q8, 0, 64, &bytes) && bytes == 0);
    for (int f = 0; f < OC_FORMATS; f++) {
        bytes = 1234;
        cr_assert(!oc_matrix_bytes((oc_format)f, SIZE_MAX / 8, 1024, &bytes));
        cr_assert(!oc_matrix_bytes((oc_format)f, 1024, SIZE_MAX / 8, &bytes));
        cr_assert(!oc_matrix_bytes((oc_format)f, SIZE_MAX, SIZE_MAX, &bytes));
        cr_assert_eq(bytes, 1234);
    }
}

/* BF16: numbers of a bfloat16 checkpoint come back bit by bit, others rounded to nearest even; they
 * stand where bf16_format.h says, and what is padded is zero. */
Test(matrix, bf16_places)
{
    enum { ROWS = 37, COLS = 203, TILE_BYTES = (COLS + 1) / 2 * 64, TILES = 3 };
    uint64_t seed = 21;
    float *source = test_floats(ROWS * COLS, &seed), row[COLS];
    for (size_t i = 0; i < ROWS * COLS; i += 2) {
        source[i] = oc_bf16_widen(oc_bf16_narrow(source[i]));
    }
    source[COLS] = 1.0f + 0x1p-8f; /* half way: to the even one */
    oc_matrix matrix = pack(OC_FORMAT_BF16, source, ROWS, COLS);
    const unsigned char *data = matrix.data;
    for (size_t r = 0; r < TILES * 16; r++) {
        if (r < ROWS) {
            oc_matrix_row(&matrix, r, row);
        }
        for (size_t c = 0; c < COLS + 1; c++) {
            bool inside = r < ROWS && c < COLS;
            uint16_t half, expected = inside ? oc_bf16_narrow(source[r * COLS + c]) : 0;
            memcpy(&half, data + r / 16 * TILE_BYTES + c / 2 * 64 + r % 16 * 4 + c % 2 * 2, 2);
            cr_assert_eq(half, expected, "row %zu, column %zu", r, c);
            cr_assert(!inside || row[c] == oc_bf16_widen(expected));
        }
    }
    oc_matrix_row(&matrix, 1, row);
    cr_assert_eq(row[0], 1.0f);
    oc_free(source);
    oc_free((void *)matrix.data);
}

/* Each Q8 weight is off by at most half its scale, which is largest / 127 rounded up by less than
 * 1 in 128. */
Test(matrix, q8_error)
{
    enum { ROWS = 37, COLS = 203 };
    uint64_t seed = 11;
    float *source = test_floats(ROWS * COLS, &seed), row[COLS];
    oc_matrix matrix = pack(OC_FORMAT_Q8, source, ROWS, COLS);
    for (size_t r = 0; r < ROWS; r++) {
        oc_matrix_row(&matrix, r, row);
        for (size_t g = 0; g < COLS; g += OC_Q8_GROUP) {
            size_t end = g + OC_Q8_GROUP < COLS ? g + OC_Q8_GROUP : COLS;
            float largest = 0.0f;
            for (size_t i = g; i < end; i++) {
                largest = fmaxf(largest, fabsf(source[r * COLS + i]));
            }
            for (size_t i = g; i < end; i++) {
                cr_assert(fabsf(row[i] - source[r * COLS + i]) <=
                          largest / 127.0f * (1.0f + 1.0f / 128.0f) * 0.5001f);
            }
        }
    }
    oc_free(source);
    oc_free((void *)matrix.data);
}

/* Root mean square error of normal weights in Q4: better than 16 even steps between the extremes of
 * each 32, which lose 8.0 % (4.1 standard deviations / 15 / sqrt(12)). */
Test(matrix, q4_error)
{
    enum { ROWS = 64, COLS = 512 };
    uint64_t seed = 12;
    float *source = test_floats(ROWS * COLS, &seed), row[COLS];
    oc_matrix matrix = pack(OC_FORMAT_Q4, source, ROWS, COLS);
    double error = 0.0, power = 0.0;
    for (size_t r = 0; r < ROWS; r++) {
        oc_matrix_row(&matrix, r, row);
        for (size_t i = 0; i < COLS; i++) {
            double difference = (double)row[i] - (double)source[r * COLS + i];
            error += difference * difference;
            power += (double)source[r * COLS + i] * (double)source[r * COLS + i];
        }
    }
    cr_assert(sqrt(error / power) < 0.075, "%g", sqrt(error / power));
    cr_assert(sqrt(error / power) > 0.05, "%g", sqrt(error / power)); /* 4 bits cannot do better */
    oc_free(source);
    oc_free((void *)matrix.data);
}

/* Rows packed in parts, in any order, give the bytes of rows packed at once. */
Test(matrix, parts)
{
    enum { ROWS = 55, COLS = 100 };
    uint64_t seed = 13;
    float *source = test_floats(ROWS * COLS, &seed);
    for (int f = 0; f < OC_FORMATS; f++) {
        size_t bytes;
        cr_assert(oc_matrix_bytes((oc_format)f, ROWS, COLS, &bytes));
        oc_matrix whole = pack((oc_format)f, source, ROWS, COLS);
        unsigned char *parts = oc_alloc(bytes, 1);
        memset(parts, 0x5a, bytes);
        oc_matrix_pack((oc_format)f, parts, ROWS, COLS, 48, 7, source + 48 * COLS);
        oc_matrix_pack((oc_format)f, parts, ROWS, COLS, 0, 16, source);
        oc_matrix_pack((oc_format)f, parts, ROWS, COLS, 16, 32, source + 16 * COLS);
        cr_assert_eq(memcmp(parts, whole.data, bytes), 0, "%s", oc_format_name((oc_format)f));
        oc_free(parts);
        oc_free((void *)whole.data);
    }
    oc_free(source);
}

/* The bytes of a package do not depend on the machine or the compiler: these sums were taken once and
 * hold everywhere. Should the layout or the choice of codes change on purpose, old packages are void. */
Test(matrix, packed_bytes_are_the_same_everywhere)
{
    enum { ROWS = 50, COLS = 330 };
    static const struct {
        oc_format format;
        uint64_t sum;
    } expected[] = {{OC_FORMAT_F16, 0x11d1fe47b1febd60ull},
                    {OC_FORMAT_BF16, 0x60a6a3e20e5d4f21ull},
                    {OC_FORMAT_Q8, 0xa1ef6bfbba277527ull},
                    {OC_FORMAT_Q4, 0xcadf8010dbec7a02ull}};
    uint64_t seed = 14;
    float *source = test_floats(ROWS * COLS, &seed);
    for (size_t f = 0; f < sizeof expected / sizeof expected[0]; f++) {
        size_t bytes;
        cr_assert(oc_matrix_bytes(expected[f].format, ROWS, COLS, &bytes));
        oc_matrix matrix = pack(expected[f].format, source, ROWS, COLS);
        uint64_t sum = 0xcbf29ce484222325ull; /* FNV-1a */
        for (size_t i = 0; i < bytes; i++) {
            sum = (sum ^ ((const unsigned char *)matrix.data)[i]) * 0x100000001b3ull;
        }
        cr_assert_eq(sum, expected[f].sum, "%s: %llx", oc_format_name(expected[f].format),
                     (unsigned long long)sum);
        oc_free((void *)matrix.data);
    }
    oc_free(source);
}

/* Zero, constant, huge, tiny and non-finite groups. */
Test(matrix, edges)
{
    static const oc_format formats[] = {OC_FORMAT_Q8, OC_FORMAT_Q4};
    for (int f = 0; f < 2; f++) {
        float source[16 * 64], row[64];
        for (int i = 0; i < 64; i++) {
            source[i] = 0.0f;
            source[64 + i] = 0.3f;
            source[128 + i] = -7.0f;
            source[192 + i] = i % 2 == 0 ? 3.4e38f : -3.4e38f;
            source[256 + i] = 1e-20f * (float)(i - 32);
            source[320 + i] = 1e-44f;
            source[384 + i] = i == 5 ? NAN : 1.0f;
            source[448 + i] = i == 6 ? INFINITY : i == 7 ? -INFINITY : 0.0f;
        }
        oc_matrix matrix = pack(formats[f], source, 8, 64);
        oc_matrix_row(&matrix, 0, row);
        for (int i = 0; i < 64; i++) {
            cr_assert_eq(row[i], 0.0f);
        }
        for (int r = 1; r < 3; r++) { /* constant: the scale's 8 bits, half a unit */
            oc_matrix_row(&matrix, (size_t)r, row);
            for (int i = 0; i < 64; i++) {
                cr_assert_float_eq(row[i], source[r * 64], fabsf(source[r * 64]) / 127.0f);
                cr_assert_eq(row[i], row[0]);
            }
        }
        oc_matrix_row(&matrix, 3, row); /* clamped to 1e38 */
        for (int i = 0; i < 64; i++) {
            cr_assert(isfinite(row[i]));
            cr_assert_float_eq(row[i] / 1e38f, i % 2 == 0 ? 1.0f : -1.0f, 0.1f);
        }
        oc_matrix_row(&matrix, 4, row); /* Q4: the widest gap of its table is 34 of 127 */
        for (int i = 0; i < 64; i++) {
            cr_assert_float_eq(row[i] / 1e-20f, (float)(i - 32),
                               formats[f] == OC_FORMAT_Q8 ? 0.2f : 4.5f);
        }
        oc_matrix_row(&matrix, 5, row);
        cr_assert_eq(row[0], 0.0f);
        oc_matrix_row(&matrix, 6, row); /* NaN became zero, its group is as it was */
        cr_assert_float_eq(row[5], 0.0f, 0.01f);
        cr_assert_float_eq(row[4], 1.0f, 0.01f);
        oc_matrix_row(&matrix, 7, row);
        cr_assert(isfinite(row[6]) && row[6] > 9e37f);
        cr_assert(isfinite(row[7]) && row[7] < -8e37f);
        oc_free((void *)matrix.data);
    }
}

/* All 65536 halves survive the way there and back; rounding is to nearest even. */
Test(matrix, half_numbers)
{
    for (unsigned h = 0; h < 65536; h++) {
        float wide = oc_f16_widen((uint16_t)h);
        if (isnan(wide)) {
            cr_assert(isnan(oc_f16_widen(oc_f16_narrow(wide))));
        } else if (isinf(wide)) {
            cr_assert_eq(oc_f16_narrow(wide), (h & 0x8000u) | 0x7bffu);
        } else {
            cr_assert_eq(oc_f16_narrow(wide), h);
        }
        float brain = oc_bf16_widen((uint16_t)h);
        cr_assert(isnan(brain) ? isnan(oc_bf16_widen(oc_bf16_narrow(brain)))
                               : oc_bf16_narrow(brain) == h);
    }
    cr_assert_eq(oc_f16_narrow(1.0f + 0x1p-11f), 0x3c00); /* half way: to the even one */
    cr_assert_eq(oc_f16_narrow(1.0f + 3 * 0x1p-11f), 0x3c02);
    cr_assert_eq(oc_f16_narrow(1.0f + 0x1.002p-11f), 0x3c01);
    cr_assert_eq(oc_f16_narrow(0x1p-25f), 0);
    cr_assert_eq(oc_f16_narrow(0x1.8p-24f), 2);
    cr_assert_eq(oc_f16_narrow(0x1.002p-25f), 1);
    cr_assert_eq(oc_f16_narrow(65520.0f), 0x7bff);
    cr_assert_eq(oc_bf16_narrow(1.0f + 0x1p-8f), 0x3f80);
    cr_assert_eq(oc_bf16_narrow(1.0f + 3 * 0x1p-8f), 0x3f82);
    cr_assert_eq(oc_bf16_narrow(INFINITY), 0x7f80);
}
