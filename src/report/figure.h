/* Figures of runs: curves over time, iterations or oracle calls, one for each group of runs that
 * differ in the seed only. */
#pragma once

#include "base/arena.h"
#include "report/html.h"
#include "store/run_groups.h"

typedef struct report_curve {
    char *label;
    size_t runs;                     /* it is made from */
    size_t count;                    /* of points */
    double *x, *median, *low, *high; /* low and high: quantiles of 20 and 80 % */
} report_curve;

typedef struct report_figure {
    char title[160], x_label[80], y_label[120];
    const char *column; /* of the rows that is drawn; borrowed */
    bool log_y;
    size_t count;
    report_curve *curves;
    blv_arena arena;
} report_figure;

typedef enum report_axis {
    REPORT_OVER_TIME,
    REPORT_OVER_ITERATIONS,
    REPORT_OVER_CALLS
} report_axis;

/* What is drawn: "phi", "grad", "accuracy" or a column of the rows. Runs that do not have the
 * column are left out. BLV_E_NAME when no run has it. On error nothing is left to be freed. */
blv_error report_figure_make(report_figure *figure, const blv_run_groups *set, report_axis over,
                             const char *what, blv_message *why);
/* Leaves at most so many points of each curve, the last one among them. */
void report_figure_thin(report_figure *figure, size_t most);
/* Whether a run has a number in this column. */
bool report_has_column(const blv_stored_run *run, const char *column);
void report_figure_free(report_figure *figure);

/* The value below which a share of the sorted values lies, interpolated between two of them. */
double report_quantile(const double *sorted, size_t count, double share);
/* Sorts numbers in place, the least first. */
void report_sort(double *values, size_t count);

/* ---- Drawn by gnuplot, which runs as a child process: gnuplot.c ---- */

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
