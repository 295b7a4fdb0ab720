/* The rows of a run's trace, or the points of a benchmark, as columns of numbers. */
#ifndef REPORT_RUN_ROWS_H
#define REPORT_RUN_ROWS_H

#include "base/arena.h"

#include <stdbool.h>

typedef struct report_column {
    char *name;
    double *values; /* NaN: no number in this row */
} report_column;

/* Start from {.count = rows}. */
typedef struct report_rows {
    size_t count, column_count;
    report_column *columns;
    blv_arena arena;
} report_rows;

/* Sets a number; a column of that name is added where there is none. */
blv_error report_rows_set(report_rows *rows, size_t row, const char *column, double value);
/* NaN where there is no number. */
double report_rows_at(const report_rows *rows, size_t row, const char *column);
/* Whether any row has a number in the column. */
bool report_rows_have(const report_rows *rows, const char *column);
void report_rows_free(report_rows *rows);

#endif
