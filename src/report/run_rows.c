#include "report/run_rows.h"

#include <math.h>
#include <string.h>

static report_column *find_column(const report_rows *rows, const char *name) {
    for (size_t c = 0; c < rows->column_count; c++)
        if (strcmp(rows->columns[c].name, name) == 0)
            return &rows->columns[c];
    return NULL;
}

static report_column *add_column(report_rows *rows, const char *name) {
    report_column *columns =
        blv_arena_grow(&rows->arena, rows->columns, rows->column_count, sizeof *columns);
    report_column column = {.name = blv_arena_copy(&rows->arena, name),
                            .values = blv_arena_alloc(&rows->arena, rows->count, sizeof(double))};
    if (!columns || !column.name || !column.values)
        return NULL;
    for (size_t i = 0; i < rows->count; i++)
        column.values[i] = NAN;
    rows->columns = columns;
    columns[rows->column_count] = column;
    return &columns[rows->column_count++];
}

blv_error report_rows_set(report_rows *rows, size_t row, const char *name, double value) {
    report_column *column = find_column(rows, name);
    if (!column)
        column = add_column(rows, name);
    if (!column)
        return BLV_E_MEMORY;
    column->values[row] = value;
    return BLV_OK;
}

double report_rows_at(const report_rows *rows, size_t row, const char *name) {
    const report_column *column = find_column(rows, name);
    return column ? column->values[row] : NAN;
}

bool report_rows_have(const report_rows *rows, const char *name) {
    const report_column *column = find_column(rows, name);
    for (size_t i = 0; column && i < rows->count; i++)
        if (isfinite(column->values[i]))
            return true;
    return false;
}

void report_rows_free(report_rows *rows) {
    blv_arena_free(&rows->arena);
    *rows = (report_rows){0};
}
