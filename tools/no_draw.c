/* no_draw.c - drawing in a program that was built without cairo or libjpeg: says how to get it. Where
 * they are, draw_canvas.c, draw_boxes.c and draw_heat.c stand in its place (CMakeLists.txt). */
#include "tools/cli_options.h"
#include "tools/draw.h"
#include "tools/report.h"

int draw_check_build(void)
{
    report_error("this program was built without cairo, so it cannot --draw; install "
                 "libcairo2-dev and libjpeg62-turbo-dev and build again, or take --json and draw "
                 "with another program");
    return EXIT_FAILED;
}

int draw_grounding(const char *path, const ocelli_image *image, const grounding *g)
{
    (void)path;
    (void)image;
    (void)g;
    return draw_check_build();
}

int draw_heat(const char *path, const ocelli_image *image, const float *map, size_t rows,
              size_t columns)
{
    (void)path;
    (void)image;
    (void)map;
    (void)rows;
    (void)columns;
    return draw_check_build();
}
