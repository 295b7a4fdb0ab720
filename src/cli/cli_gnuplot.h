/* Figures drawn by gnuplot, which runs as a program of its own. */
#ifndef CLI_GNUPLOT_H
#define CLI_GNUPLOT_H

#include "cli_child.h"
#include "cli_figure.h"

typedef enum cli_drawing { CLI_SVG, CLI_PNG, CLI_PDF, CLI_TEXT } cli_drawing;

/* Draws a figure into bytes, to be freed. columns and lines: the size of a text. Returns an exit
 * code, after a message. */
int cli_gnuplot_draw(cli_bytes *bytes, const cli_figure *figure, cli_drawing kind, int columns,
                     int lines);

#endif
