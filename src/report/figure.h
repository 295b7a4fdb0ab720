/* Figures of runs: curves over time, iterations or oracle calls, one for each group of runs that
 * differ in the seed only. */
#pragma once

#include "base/arena.h"
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
