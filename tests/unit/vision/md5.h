/* md5.h - MD5 of a buffer (RFC 1321), for comparing pixels with digests another decoder gave. */
#ifndef OC_TESTS_UNIT_VISION_MD5_H
#define OC_TESTS_UNIT_VISION_MD5_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void md5_block(uint32_t state[4], const unsigned char *block)
{
    static const int ROTATE[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t words[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 16; i++) {
        const unsigned char *at = block + 4 * i;
        words[i] = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    }
    for (int i = 0; i < 64; i++) {
        uint32_t mixed;
        int word;
        switch (i / 16) {
        case 0:
            mixed = (b & c) | (~b & d);
            word = i;
            break;
        case 1:
            mixed = (d & b) | (~d & c);
            word = (5 * i + 1) % 16;
            break;
        case 2:
            mixed = b ^ c ^ d;
            word = (3 * i + 5) % 16;
            break;
        default:
            mixed = c ^ (b | ~d);
            word = (7 * i) % 16;
            break;
        }
        uint32_t sum = a + mixed + (uint32_t)(fabs(sin(i + 1)) * 4294967296.0) + words[word];
        int by = ROTATE[i / 16][i % 4];
        a = d;
        d = c;
        c = b;
        b += sum << by | sum >> (32 - by);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

/* text: 32 hex digits and a NUL. */
static void md5_text(char text[33], const void *bytes, size_t size)
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    const unsigned char *at = bytes;
    size_t left = size;
    for (; left >= 64; at += 64, left -= 64) {
        md5_block(state, at);
    }
    unsigned char tail[128] = {0};
    memcpy(tail, at, left);
    tail[left] = 0x80;
    size_t tail_bytes = left < 56 ? 64 : 128;
    for (int i = 0; i < 8; i++) {
        tail[tail_bytes - 8 + (size_t)i] = (unsigned char)((uint64_t)size * 8 >> (8 * i));
    }
    for (size_t done = 0; done < tail_bytes; done += 64) {
        md5_block(state, tail + done);
    }
    for (int i = 0; i < 16; i++) {
        snprintf(text + 2 * i, 3, "%02x", (unsigned)(state[i / 4] >> (8 * (i % 4)) & 0xFF));
    }
}

#endif
