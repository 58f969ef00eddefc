/* test_animation.c - frames of GIF, WebP and AVIF as they are shown: disposal, delays, canvas, and
 * hostile ones. Pixels are hand-made: every colour below is one of a palette of four. */
#include "tests/unit/vision/vision_fixture.h"

#include "vision/decode.h"

#include <stdio.h>

static const uint8_t COLOURS[4][3] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {250, 250, 0}};
enum { RED, GREEN, BLUE, YELLOW, WHITE };

/* Whether this build reads such files. */
static bool is_read(const char *format)
{
    char word[16];
    snprintf(word, sizeof word, " %s", format);
    return strstr(OC_IMAGE_FORMATS, word) != NULL;
}

typedef struct gif_bytes {
    unsigned char bytes[4096];
    size_t size;
} gif_bytes;

static void put(gif_bytes *gif, const void *bytes, size_t size)
{
    cr_assert(gif->size + size <= sizeof gif->bytes);
    memcpy(gif->bytes + gif->size, bytes, size);
    gif->size += size;
}

static void put16(gif_bytes *gif, unsigned value)
{
    const unsigned char two[2] = {(unsigned char)(value & 255), (unsigned char)(value >> 8)};
    put(gif, two, 2);
}

static void begin_gif(gif_bytes *gif, unsigned width, unsigned height)
{
    gif->size = 0;
    put(gif, "GIF89a", 6);
    put16(gif, width);
    put16(gif, height);
    put(gif, "\x81\0\0", 3); /* a palette of four */
    put(gif, COLOURS, sizeof COLOURS);
}

/* A frame of one colour at (left, top). Codes of 3 bits, with a clear code in front of every second
 * pixel, so that they never grow. transparent: a colour, or -1. */
static void put_frame(gif_bytes *gif, unsigned left, unsigned top, unsigned width, unsigned height,
                      unsigned colour, unsigned disposal, unsigned delay, int transparent)
{
    put(gif, "!\xF9\x04", 3);
    unsigned char flags = (unsigned char)(disposal << 2 | (transparent >= 0));
    put(gif, &flags, 1);
    put16(gif, delay);
    unsigned char index = (unsigned char)(transparent >= 0 ? transparent : 0);
    put(gif, &index, 1);
    put(gif, "\0,", 2);
    put16(gif, left);
    put16(gif, top);
    put16(gif, width);
    put16(gif, height);
    put(gif, "\0\x02", 2);
    enum { CLEAR = 4, END = 5 };
    unsigned char data[255] = {0};
    size_t bit = 0;
    for (unsigned i = 0; i <= width * height; i++) {
        unsigned last = i == width * height;
        unsigned codes[2] = {last ? END : CLEAR, colour};
        for (unsigned k = 0; k < (last ? 1u : 2u); k++, bit += 3) {
            for (unsigned b = 0; b < 3; b++) {
                data[(bit + b) / 8] |= (unsigned char)((codes[k] >> b & 1u) << (bit + b) % 8);
            }
        }
    }
    unsigned char length = (unsigned char)((bit + 7) / 8);
    put(gif, &length, 1);
    put(gif, data, length);
    put(gif, "", 1);
}

static ocelli_animation *open_bytes(const void *bytes, size_t size)
{
    ocelli_error err = {0};
    ocelli_animation *animation;
    ocelli_status status = ocelli_animation_open(&animation, bytes, size, "test", NULL, &err);
    cr_assert_eq(status, OCELLI_OK, "%s", err.message);
    return animation;
}

/* The next frame's pixels, each as the number of its colour. */
static void expect_frame(ocelli_animation *animation, double at, const char *pixels)
{
    ocelli_error err = {0};
    ocelli_image *frame;
    double seconds;
    cr_assert_eq(ocelli_animation_next(animation, &frame, &seconds, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_not_null(frame);
    cr_assert_float_eq(seconds, at, 1e-9, "%g, not %g", seconds, at);
    cr_assert_eq(pixel_bytes(frame), 3 * strlen(pixels));
    for (size_t i = 0; i < strlen(pixels); i++) {
        static const uint8_t white[3] = {255, 255, 255};
        const uint8_t *expected = pixels[i] == '.' ? white : COLOURS[pixels[i] - '0'];
        cr_assert_arr_eq(frame->rgb + 3 * i, expected, 3, "pixel %zu of %s", i, pixels);
    }
    oc_image_free(frame);
}

static void expect_end(ocelli_animation *animation, double at)
{
    ocelli_image *frame;
    double seconds;
    for (int again = 0; again < 2; again++) {
        cr_assert_eq(ocelli_animation_next(animation, &frame, &seconds, NULL), OCELLI_OK);
        cr_assert_null(frame);
        cr_assert_float_eq(seconds, at, 1e-9, "%g, not %g", seconds, at);
    }
    ocelli_animation_close(animation);
}

Test(animation, gif_disposal_and_delays)
{
    if (!is_read("gif")) {
        cr_skip_test("no GIF in this build");
    }
    gif_bytes gif;
    begin_gif(&gif, 3, 2);
    put_frame(&gif, 0, 0, 3, 2, RED, 1, 20, -1);   /* stays */
    put_frame(&gif, 1, 0, 2, 1, GREEN, 3, 0, -1);  /* is taken back; 0 ms: 100 ms */
    put_frame(&gif, 0, 1, 2, 1, BLUE, 2, 1, -1);   /* is cleared; 10 ms: 100 ms */
    put_frame(&gif, 2, 1, 1, 1, YELLOW, 0, 2, -1); /* 20 ms are 20 ms */
    put_frame(&gif, 0, 0, 3, 2, YELLOW, 0, 50, YELLOW);
    put(&gif, ";", 1);
    ocelli_animation *animation = open_bytes(gif.bytes, gif.size);
    cr_assert_eq(ocelli_animation_frames(animation), 5);
    expect_frame(animation, 0, "000000");
    expect_frame(animation, 0.2, "011000");
    expect_frame(animation, 0.3, "000220");
    expect_frame(animation, 0.4, "000..3");
    expect_frame(animation, 0.42, "000..3"); /* all of it is transparent */
    expect_end(animation, 0.92);
}

Test(animation, gif_frames_at_the_edge)
{
    if (!is_read("gif")) {
        cr_skip_test("no GIF in this build");
    }
    gif_bytes gif;
    begin_gif(&gif, 2, 1);
    put_frame(&gif, 1, 1, 1, 1, RED, 0, 10, -1);  /* the first makes the canvas larger */
    put_frame(&gif, 1, 0, 3, 3, BLUE, 2, 10, -1); /* others are cut */
    put_frame(&gif, 40, 40, 1, 1, BLUE, 2, 10, -1);
    ocelli_animation *animation = open_bytes(gif.bytes, gif.size); /* no end mark either */
    expect_frame(animation, 0, "...0");
    expect_frame(animation, 0.1, ".2.2");
    expect_frame(animation, 0.2, "....");
    expect_end(animation, 0.3);
    /* As a picture: the rest is the palette's first colour, as Pillow has it. */
    begin_gif(&gif, 2, 1);
    put_frame(&gif, 1, 0, 1, 1, BLUE, 0, 10, -1);
    ocelli_image *image;
    cr_assert_eq(oc_image_decode(&image, gif.bytes, gif.size, "g", NULL, NULL), OCELLI_OK);
    cr_assert_arr_eq(image->rgb, COLOURS[RED], 3);
    cr_assert_arr_eq(image->rgb + 3, COLOURS[BLUE], 3);
    oc_image_free(image);
}

Test(animation, gif_hostile)
{
    if (!is_read("gif")) {
        cr_skip_test("no GIF in this build");
    }
    gif_bytes gif;
    ocelli_animation *animation;
    ocelli_image *frame = NULL;
    ocelli_error err;
    double seconds;
    begin_gif(&gif, 2, 2);
    cr_assert_eq(ocelli_animation_open(&animation, gif.bytes, gif.size, "g", NULL, &err),
                 OCELLI_E_FORMAT);
    cr_assert_null(animation);
    put_frame(&gif, 0, 0, 2, 2, RED, 0, 10, -1);
    put_frame(&gif, 0, 0, 2, 2, GREEN, 0, 10, -1);
    size_t whole = gif.size;
    for (size_t size = 13; size < whole; size++) { /* from a block of exactly its size */
        unsigned char *cut = oc_alloc(size, 1);
        memcpy(cut, gif.bytes, size);
        if (ocelli_animation_open(&animation, cut, size, "g", NULL, &err) == OCELLI_OK) {
            while (ocelli_animation_next(animation, &frame, &seconds, &err) == OCELLI_OK &&
                   frame != NULL) {
                oc_image_free(frame);
            }
            cr_assert_null(frame);
            ocelli_animation_close(animation);
        }
        oc_free(cut);
    }
    /* A later frame may not ask for more than the limit either. */
    gif.size = whole;
    put(&gif, ",\0\0\0\0\xFF\xFF\xFF\xFF\0\x02\x01\x04\0", 14);
    animation = open_bytes(gif.bytes, gif.size);
    expect_frame(animation, 0, "0000");
    expect_frame(animation, 0.1, "1111");
    cr_assert_eq(ocelli_animation_next(animation, &frame, &seconds, &err), OCELLI_E_LIMIT);
    cr_assert_null(frame);
    expect_end(animation, 0.2);
}

/* Recorded files: what Pillow and the encoders' own tools say of them. */
static void expect_file(const char *format, const char *name, size_t frames, double end)
{
    if (!is_read(format)) {
        return;
    }
    size_t size, count = 0;
    char *bytes = read_under(PICTURES, name, &size);
    ocelli_animation *animation = open_bytes(bytes, size);
    ocelli_image *first, *frame;
    double seconds, last = -1;
    cr_assert_eq(ocelli_animation_frames(animation), frames, "%s: %zu frames", name,
                 ocelli_animation_frames(animation));
    cr_assert_eq(oc_image_decode(&first, bytes, size, name, NULL, NULL), OCELLI_OK);
    for (;;) {
        cr_assert_eq(ocelli_animation_next(animation, &frame, &seconds, NULL), OCELLI_OK);
        if (frame == NULL) {
            break;
        }
        cr_assert_gt(seconds, last);
        last = seconds;
        cr_assert(frame->width == first->width && frame->height == first->height);
        bool same = memcmp(frame->rgb, first->rgb, pixel_bytes(first)) == 0;
        cr_assert_eq(same, count == 0, "%s: frame %zu", name, count);
        oc_image_free(frame);
        count++;
    }
    cr_assert_eq(count, frames, "%s", name);
    cr_assert_float_eq(seconds, end, 1e-6, "%s ends at %g", name, seconds);
    oc_image_free(first);
    expect_end(animation, end);
    oc_free(bytes);
}

Test(animation, recorded_files)
{
    expect_file("webp", "formats/anim.webp", 3, 0.45);
    expect_file("avif", "formats/anim.avif", 3, 0.75);
    expect_file("gif", "formats/anim.gif", 3, 0.45);
    expect_file("png", "formats/upright.png", 1, 0.1);
}
