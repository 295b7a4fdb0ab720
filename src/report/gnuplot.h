/* Figures drawn by gnuplot, which runs as a child process. */
#pragma once

#include "report/figure.h"
#include "report/html.h"

#include <stdio.h>

typedef enum report_drawing { REPORT_SVG, REPORT_PNG, REPORT_PDF, REPORT_TEXT } report_drawing;

/* Draws a figure into bytes, to be freed. columns and lines: the size of a text. */
blv_error report_gnuplot_draw(const report_figure *figure, report_drawing kind, int columns,
                              int lines, report_bytes *bytes, blv_message *why);
/* Draws a figure as a part of a page, with a caption that says what is over what. */
blv_error report_figure_embed(const report_figure *figure, FILE *out, blv_message *why);
