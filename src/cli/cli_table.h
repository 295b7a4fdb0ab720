/* Aligned columns on a stream. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "bilevel/param.h"

#include <stdio.h>

typedef struct cli_table {
    const char *align; /* 'l' or 'r' for each column */
    size_t rows;
    char **cells; /* row after row */
} cli_table;

/* Adds a row of strlen(align) strings, which are copied; NULL shows as "-". */
void cli_table_row(cli_table *table, const char *const *cells);
/* Prints every row behind indent spaces, and empties the table. */
void cli_table_print(cli_table *table, int indent, FILE *out);

/* The entries of a parameter table: key, value, allowed values, help. With fields the values in
 * effect are shown, else the defaults. */
void cli_print_params(const blv_param *params, const void *fields, FILE *out);

#endif
