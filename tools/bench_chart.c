/* bench_chart.c - the chart; see bench_report.h. Written by hand: bars, lines and text. */
#include "tools/bench_report.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 900,
    LEFT = 250,  /* where bars begin */
    SCALE = 340, /* pixels of the whole limit */
    TOP = 96,
    STEP = 26,
    BAR = 16
};

/* Text of XML, invalid bytes mended and control characters left out. */
static void put_text(FILE *out, const char *text)
{
    char *valid = text_valid(text);
    for (const char *c = valid != NULL ? valid : ""; *c != '\0'; c++) {
        if (*c == '<') {
            fputs("&lt;", out);
        } else if (*c == '>') {
            fputs("&gt;", out);
        } else if (*c == '&') {
            fputs("&amp;", out);
        } else if ((unsigned char)*c >= ' ') {
            fputc(*c, out);
        }
    }
    free(valid);
}

/* anchor: "start", "middle" or "end". */
static void put_label(FILE *out, int x, int y, const char *anchor, const char *colour,
                      const char *text)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor, colour);
    put_text(out, text);
    fputs("</text>\n", out);
}

static void put_axis(FILE *out, int bottom)
{
    for (int percent = 0; percent <= 100; percent += 25) {
        char label[16];
        int x = LEFT + SCALE * percent / 100;
        fprintf(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\"/>\n", x, TOP - 8,
                x, bottom, percent == 100 ? "#b03030" : "#d8d8d8");
        snprintf(label, sizeof label, percent == 100 ? "limit" : "%d %%", percent);
        put_label(out, x, TOP - 14, "middle", percent == 100 ? "#b03030" : "#666666", label);
    }
}

static void put_row(FILE *out, const bench_row *row, int y)
{
    char label[96], figure[32], limit[32];
    double share = row->share < 0 ? 0 : row->share > 1.15 ? 1.15 : row->share;
    int baseline = y + BAR - 3;
    snprintf(label, sizeof label, "%s %s", bench_group_names[row->group], row->name);
    put_label(out, LEFT - 10, baseline, "end", "#222222", label);
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#3b6ea5\"/>\n", LEFT,
            y, share * SCALE, BAR);
    bench_format(figure, sizeof figure, row->unit, row->median);
    bench_format(limit, sizeof limit, row->unit, row->limit);
    snprintf(label, sizeof label, "%.0f %%: %s of %s", row->share * 100, figure, limit);
    put_label(out, LEFT + SCALE * 23 / 20 + 6, baseline, "start", "#222222", label);
}

static void put_chart(FILE *out, const bench *b)
{
    const ocelli_model_info *info = &b->shape.info;
    char line[200];
    int limited = 0, others = 0;
    for (size_t i = 0; i < b->rows.count; i++) {
        limited += b->rows.items[i].limited;
        others += !b->rows.items[i].limited;
    }
    int bottom = TOP + limited * STEP;
    int height = bottom + 24 + others * 18 + 12;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
            WIDTH, height, WIDTH, height, WIDTH, height);
    fputs("<g font-size=\"17\">", out);
    put_label(out, 20, 28, "start", "#111111", "ocelli: share of the machine's limit");
    fputs("</g>\n", out);
    const char *name = strrchr(b->path, '/');
    snprintf(line, sizeof line, "%.80s, %s, vision %s, %s, %d threads",
             name != NULL && name[1] != '\0' ? name + 1 : b->path, ocelli_quant_name(info->quant),
             ocelli_vision_name(info->vision), info->cpu_tier, info->threads);
    put_label(out, 20, 46, "start", "#666666", line);
    bench_machine_line(b, line, sizeof line);
    put_label(out, 20, 63, "start", "#666666", line);
    put_axis(out, bottom);
    int y = TOP;
    for (size_t i = 0; i < b->rows.count; i++) {
        if (b->rows.items[i].limited) {
            put_row(out, &b->rows.items[i], y);
            y += STEP;
        }
    }
    y += 24;
    for (size_t i = 0; i < b->rows.count; i++) {
        const bench_row *row = &b->rows.items[i];
        if (!row->limited) {
            char figure[32];
            snprintf(line, sizeof line, "%s %s", bench_group_names[row->group], row->name);
            put_label(out, LEFT - 10, y, "end", "#222222", line);
            bench_format(figure, sizeof figure, row->unit, row->median);
            put_label(out, LEFT, y, "start", "#222222", figure);
            y += 18;
        }
    }
    fputs("</svg>\n", out);
}

bool bench_write_chart(const bench *b, const char *path)
{
    errno = 0;
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        report_error("cannot write '%s': %s", path, strerror(errno));
        return false;
    }
    put_chart(out, b);
    bool good = fflush(out) == 0 && !ferror(out);
    int error = errno;
    if (fclose(out) != 0 && good) {
        good = false;
        error = errno;
    }
    if (!good) {
        report_error("cannot write '%s': %s", path, strerror(error));
    }
    return good;
}
