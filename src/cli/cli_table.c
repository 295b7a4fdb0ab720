#include "cli_table.h"
#include "cli_common.h"

#include <stdlib.h>
#include <string.h>

void cli_table_row(cli_table *table, const char *const *cells) {
    size_t columns = strlen(table->align), first = table->rows * columns;
    table->cells = cli_grow(table->cells, first + columns, sizeof table->cells[0]);
    for (size_t i = 0; i < columns; i++) {
        const char *text = cells[i] ? cells[i] : "-";
        size_t size = strlen(text) + 1;
        table->cells[first + i] = memcpy(cli_alloc(size, 1), text, size);
    }
    table->rows++;
}

static int column_width(const cli_table *table, size_t columns, size_t column) {
    size_t width = 0;
    for (size_t row = 0; row < table->rows; row++) {
        size_t length = strlen(table->cells[row * columns + column]);
        width = length > width ? length : width;
    }
    return (int)width;
}

void cli_table_print(cli_table *table, int indent, FILE *out) {
    size_t columns = strlen(table->align);
    int *width = cli_alloc(columns, sizeof *width);
    for (size_t i = 0; i < columns; i++)
        width[i] = column_width(table, columns, i);
    for (size_t row = 0; row < table->rows; row++) {
        char **cells = table->cells + row * columns;
        fprintf(out, "%*s", indent, "");
        for (size_t i = 0; i < columns; i++) {
            bool last = i + 1 == columns;
            if (table->align[i] == 'r')
                fprintf(out, "%*s%s", width[i], cells[i], last ? "" : "  ");
            else if (last)
                fputs(cells[i], out);
            else
                fprintf(out, "%-*s  ", width[i], cells[i]);
            free(cells[i]);
        }
        fputc('\n', out);
    }
    free(width);
    free(table->cells);
    *table = (cli_table){.align = table->align};
}

void cli_print_params(const blv_param *params, const void *fields, FILE *out) {
    cli_table table = {.align = "llll"};
    const char *title[] = {"KEY", fields ? "VALUE" : "DEFAULT", "ALLOWED", "MEANING"};
    cli_table_row(&table, title);
    for (const blv_param *p = params; p && p->key; p++) {
        char value[128] = "", range[256] = "";
        if (fields)
            blv_params_format(p, fields, value, sizeof value);
        blv_params_range(p, range, sizeof range);
        const char *cells[] = {p->key, fields ? value : p->value, range, p->help};
        cli_table_row(&table, cells);
    }
    cli_table_print(&table, 2, out);
}
