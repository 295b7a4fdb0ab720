/* Aligned columns on a stream. */
#ifndef CLI_TEXT_TABLE_H
#define CLI_TEXT_TABLE_H

#include "bilevel/param.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct cli_table {
    const char *align; /* 'l' or 'r' for each column */
    bool markdown;     /* is printed as Markdown; the first row is the title */
    size_t rows;
    char **cells; /* row after row */
} cli_table;

/* Adds a row of strlen(align) strings, which are copied; NULL shows as "-". */
void cli_table_row(cli_table *table, const char *const *cells);
/* The same from a format whose cells have tabs between them: "%s\t%zu". */
void cli_table_add(cli_table *table, const char *format, ...) BLV_PRINTF(2, 3);
/* Adds a line that stands across all columns. */
void cli_table_heading(cli_table *table, const char *text);
/* Prints every row behind indent spaces, and empties the table. */
void cli_table_print(cli_table *table, int indent, FILE *out);
/* Empties a table that is not to be printed. */
void cli_table_free(cli_table *table);

/* Prints the entries of a parameter table: key, value, allowed values, help. With fields the values
 * in effect are shown, else the defaults. */
void cli_print_params(const blv_param *params, const void *fields, bool markdown);

/* Prints a word behind those before it, ", " between them, on a new line where this one is full;
 * every line is indented. column is 0 for the first word; the column that it ends in is returned.
 */
int cli_print_word(int column, const char *word);

#endif
