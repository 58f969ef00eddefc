/* draw_format.h - what the ending of a drawing's name says about its bytes. */
#ifndef OCELLI_TOOLS_DRAW_FORMAT_H
#define OCELLI_TOOLS_DRAW_FORMAT_H

typedef enum draw_format {
    DRAW_NONE, /* no ending that is known */
    DRAW_PNG,
    DRAW_JPEG
} draw_format;

draw_format draw_format_of(const char *path);

#endif
