/* Tables on standard output. */
#pragma once

#include "bilevel/param.h"
#include "report/table.h"

/* Prints every row behind indent spaces, and empties the table; the command ends where memory is
 * short. */
void cli_table_print(report_table *table, int indent, FILE *out);
void cli_table_markdown(report_table *table);

/* Prints the entries of a parameter table: key, value, allowed values, help. With fields the values
 * in effect are shown, else the defaults. option: what sets them, "--set"; NULL: as Markdown. */
void cli_print_params(const blv_param *params, const void *fields, const char *option);

/* Prints a word behind those before it, ", " between them, on a new line where this one is full;
 * every line is indented. column is 0 for the first word; the column that it ends in is returned.
 */
int cli_print_word(int column, const char *word);
