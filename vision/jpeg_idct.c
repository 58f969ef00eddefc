/* jpeg_idct.c - the inverse DCT of jpeg_planes.h.
 *
 * The method of Loeffler, Ligtenberg and Moschytz, with 13-bit constants and 2 extra bits between
 * the passes, as libjpeg does it. Sums are 64 bits wide so that no coefficient of a damaged file can
 * overflow them. */
#include "vision/jpeg_planes.h"

enum { CONSTANT_BITS = 13, EXTRA_BITS = 2 };

/* Round(x * 2^13). */
enum {
    C_0_298631336 = 2446,
    C_0_390180644 = 3196,
    C_0_541196100 = 4433,
    C_0_765366865 = 6270,
    C_0_899976223 = 7373,
    C_1_175875602 = 9633,
    C_1_501321110 = 12299,
    C_1_847759065 = 15137,
    C_1_961570560 = 16069,
    C_2_053119869 = 16819,
    C_2_562915447 = 20995,
    C_3_072711026 = 25172
};

/* One line of eight: in and out are step apart; out is rounded down by shift bits. */
static void transform(int64_t out[8], const int64_t in[8])
{
    int64_t z1 = (in[2] + in[6]) * C_0_541196100;
    int64_t even2 = z1 - in[6] * C_1_847759065;
    int64_t even3 = z1 + in[2] * C_0_765366865;
    int64_t even0 = (in[0] + in[4]) * (1 << CONSTANT_BITS);
    int64_t even1 = (in[0] - in[4]) * (1 << CONSTANT_BITS);
    int64_t sum0 = even0 + even3, sum3 = even0 - even3;
    int64_t sum1 = even1 + even2, sum2 = even1 - even2;

    int64_t z5 = (in[7] + in[3] + in[5] + in[1]) * C_1_175875602;
    int64_t z3 = z5 - (in[7] + in[3]) * C_1_961570560;
    int64_t z4 = z5 - (in[5] + in[1]) * C_0_390180644;
    int64_t z2 = (in[5] + in[3]) * C_2_562915447;
    z1 = (in[7] + in[1]) * C_0_899976223;
    int64_t odd0 = in[7] * C_0_298631336 - z1 + z3;
    int64_t odd1 = in[5] * C_2_053119869 - z2 + z4;
    int64_t odd2 = in[3] * C_3_072711026 - z2 + z3;
    int64_t odd3 = in[1] * C_1_501321110 - z1 + z4;

    out[0] = sum0 + odd3;
    out[7] = sum0 - odd3;
    out[1] = sum1 + odd2;
    out[6] = sum1 - odd2;
    out[2] = sum2 + odd1;
    out[5] = sum2 - odd1;
    out[3] = sum3 + odd0;
    out[4] = sum3 - odd0;
}

/* Rounds half up; the shift of a negative number is arithmetic on every compiler we build with. */
static int64_t descale(int64_t value, int bits)
{
    return (value + (INT64_C(1) << (bits - 1))) >> bits;
}

static uint8_t to_sample(int64_t value)
{
    value += 128;
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

/* Column first, then rows; between [8, 8] has EXTRA_BITS of fraction. */
void oc_jpeg_idct(uint8_t *out, int stride, short coefficients[64])
{
    int64_t between[64], line[8], result[8];
    for (int column = 0; column < 8; column++) {
        const short *in = coefficients + column;
        if ((in[8] | in[16] | in[24] | in[32] | in[40] | in[48] | in[56]) == 0) {
            for (int row = 0; row < 8; row++) { /* flat, as most columns are: the same result */
                between[8 * row + column] = (int64_t)in[0] * (1 << EXTRA_BITS);
            }
            continue;
        }
        for (int row = 0; row < 8; row++) {
            line[row] = in[8 * row];
        }
        transform(result, line);
        for (int row = 0; row < 8; row++) {
            between[8 * row + column] = descale(result[row], CONSTANT_BITS - EXTRA_BITS);
        }
    }
    for (int row = 0; row < 8; row++, out += stride) {
        transform(result, between + 8 * row);
        for (int column = 0; column < 8; column++) {
            out[column] = to_sample(descale(result[column], CONSTANT_BITS + EXTRA_BITS + 3));
        }
    }
}
