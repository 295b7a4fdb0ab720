/* Figures of stored runs: curves over time, iterations or oracle calls, one for each group of runs
 * that differ in the seed only. */
#ifndef CLI_FIGURE_H
#define CLI_FIGURE_H

#include "cli_stored.h"

typedef struct cli_curve {
    char *label;
    size_t runs;                     /* it is made from */
    size_t count;                    /* of points */
    double *x, *median, *low, *high; /* low and high: quantiles of 20 and 80 % */
} cli_curve;

typedef struct cli_figure {
    char title[160], x_label[80], y_label[120];
    bool log_y;
    size_t count;
    cli_curve *curves;
} cli_figure;

typedef enum cli_axis { CLI_OVER_TIME, CLI_OVER_ITERATIONS, CLI_OVER_CALLS } cli_axis;

/* What is drawn: "phi", "grad", "accuracy" or a column of the trace. Runs that do not have it are
 * left out, after a remark on stderr unless quiet. Returns an exit code, after a message (unless
 * quiet): refused when none has it. */
int cli_figure_make(cli_figure *figure, const cli_stored *stored, cli_axis over, const char *what,
                    bool quiet);
void cli_figure_free(cli_figure *figure);

/* The value below which a share of the sorted values lies, between two of them interpolated. */
double cli_quantile(const double *sorted, size_t count, double share);

#endif
