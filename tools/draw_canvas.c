/* draw_canvas.c - see draw_canvas.h. cairo writes PNG, libjpeg JPEG. */
#include "tools/draw_canvas.h"
#include "tools/cli_options.h"
#include "tools/draw.h"
#include "tools/draw_format.h"
#include "tools/file_replace.h"
#include "tools/report.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum {
    MOST_SIDE = 32767, /* of a cairo surface */
    JPEG_QUALITY = 92
};

int draw_check_build(void)
{
    return EXIT_DONE;
}

cairo_surface_t *canvas_open(const ocelli_image *image, const char *path)
{
    int width, height;
    ocelli_image_size(image, &width, &height);
    if (width > MOST_SIDE || height > MOST_SIDE) {
        report_error("cannot draw '%s': the picture is %d x %d, and more than %d a side cannot be "
                     "drawn",
                     path, width, height, MOST_SIDE);
        return NULL;
    }
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) {
        report_error("cannot draw '%s': %s", path,
                     cairo_status_to_string(cairo_surface_status(surface)));
        cairo_surface_destroy(surface);
        return NULL;
    }
    const uint8_t *rgb = ocelli_image_pixels(image);
    unsigned char *data = cairo_image_surface_get_data(surface);
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    for (size_t y = 0; y < (size_t)height; y++) {
        for (size_t x = 0; x < (size_t)width; x++, rgb += 3) {
            uint32_t pixel = (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
            memcpy(data + y * stride + x * sizeof pixel, &pixel, sizeof pixel);
        }
    }
    cairo_surface_mark_dirty(surface);
    return surface;
}

/* ---- PNG ------------------------------------------------------------------------------------ */

static cairo_status_t write_bytes(void *user, const unsigned char *bytes, unsigned length)
{
    return fwrite(bytes, 1, length, user) == length ? CAIRO_STATUS_SUCCESS
                                                    : CAIRO_STATUS_WRITE_ERROR;
}

/* ---- JPEG ----------------------------------------------------------------------------------- */

typedef struct jpeg_failure {
    struct jpeg_error_mgr manager; /* first: libjpeg gives it back */
    jmp_buf back;
} jpeg_failure;

static void leave_jpeg(j_common_ptr jpeg)
{
    longjmp(((jpeg_failure *)(void *)jpeg->err)->back, 1);
}

static void say_nothing(j_common_ptr jpeg)
{
    (void)jpeg;
}

static void take_row(unsigned char *out, const unsigned char *in, size_t width)
{
    for (size_t x = 0; x < width; x++) {
        uint32_t pixel;
        memcpy(&pixel, in + x * sizeof pixel, sizeof pixel);
        out[3 * x] = (unsigned char)(pixel >> 16 & 0xFF);
        out[3 * x + 1] = (unsigned char)(pixel >> 8 & 0xFF);
        out[3 * x + 2] = (unsigned char)(pixel & 0xFF);
    }
}

/* row: room for a line. libjpeg leaves by longjmp; nothing here is changed after setjmp and used
 * behind it. */
static bool write_jpeg(cairo_surface_t *surface, FILE *file, unsigned char *row)
{
    struct jpeg_compress_struct jpeg;
    jpeg_failure failure;
    size_t stride = (size_t)cairo_image_surface_get_stride(surface);
    const unsigned char *data = cairo_image_surface_get_data(surface);
    jpeg.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = leave_jpeg;
    failure.manager.output_message = say_nothing;
    if (setjmp(failure.back) != 0) {
        jpeg_destroy_compress(&jpeg);
        return false;
    }
    jpeg_create_compress(&jpeg);
    jpeg_stdio_dest(&jpeg, file);
    jpeg.image_width = (JDIMENSION)cairo_image_surface_get_width(surface);
    jpeg.image_height = (JDIMENSION)cairo_image_surface_get_height(surface);
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, JPEG_QUALITY, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        take_row(row, data + jpeg.next_scanline * stride, jpeg.image_width);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return true;
}

int canvas_write(cairo_surface_t *surface, const char *path)
{
    file_replace f;
    bool good;
    cairo_surface_flush(surface);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) {
        report_error("cannot draw '%s': %s", path,
                     cairo_status_to_string(cairo_surface_status(surface)));
        return EXIT_FAILED;
    }
    unsigned char *row = malloc((size_t)cairo_image_surface_get_width(surface) * 3);
    if (row == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    int code = file_replace_begin(&f, path);
    if (code == EXIT_DONE) {
        good = draw_format_of(path) == DRAW_JPEG
                   ? write_jpeg(surface, f.file, row)
                   : cairo_surface_write_to_png_stream(surface, write_bytes, f.file) ==
                         CAIRO_STATUS_SUCCESS;
        if (!good) {
            report_error("cannot write '%s'", path);
        }
        code = file_replace_end(&f, good);
    }
    free(row);
    return code;
}
