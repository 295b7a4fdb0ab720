/* Figures drawn by gnuplot, which runs as a child process. */
#pragma once

#include "report/figure.h"
#include "report/html.h"

#include <stdio.h>

typedef enum report_drawing { REPORT_SVG, REPORT_PNG, REPORT_PDF, REPORT_TEXT } report_drawing;

/* Draws a figure into bytes, to be freed. columns and lines: the size of a text. */
blv_error report_gnuplot_draw(const report_figure *figure, report_drawing kind, int columns,
                              int lines, report_bytes *bytes, blv_message *why);
/* Figures of the same curves side by side, with one legend, as SVG. */
blv_error report_gnuplot_panels(const report_figure *panels, size_t count, report_bytes *bytes,
                                blv_message *why);

/* A range of values, and one within it. */
typedef struct report_bar {
    const char *label;
    double low, middle, high;
} report_bar;
/* Bars above each other, the first one on top, as SVG; on a logarithmic axis where the values are
 * positive and of very different size. */
blv_error report_gnuplot_bars(const report_bar *bars, size_t count, const char *x_label,
                              report_bytes *bytes, blv_message *why);
/* Draws a figure as a part of a page, with a caption that says what is over what. */
blv_error report_figure_embed(const report_figure *figure, FILE *out, blv_message *why);
