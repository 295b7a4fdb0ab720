/* A table of texts that is collected row by row and printed in one of several forms. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdio.h>

/* Start from {.align = "lrr"}. The first row has the titles of Markdown and HTML. */
typedef struct report_table {
    const char *align; /* 'l' or 'r' for each column */
    size_t rows;
    char **cells;    /* row by row */
    blv_arena arena; /* failed: the table is not complete */
} report_table;

/* Adds a row of strlen(align) texts, which are copied; NULL shows as "-". */
void report_table_row(report_table *table, const char *const *cells);
/* The same from a format whose cells have tabs between them: "%s\t%zu". */
void report_table_add(report_table *table, const char *format, ...) BLV_PRINTF(2, 3);
/* Adds a line across all columns. */
void report_table_heading(report_table *table, const char *text);

/* A number as text for a cell; NULL where it is NaN, or where memory is short. */
const char *report_number(blv_arena *arena, const char *format, double value);

typedef enum report_form { REPORT_AS_TEXT, REPORT_AS_MARKDOWN, REPORT_AS_HTML } report_form;
/* Prints all rows and empties the table. indent: blanks before each row of a text. An error when
 * memory was short for a row. */
blv_error report_table_print(report_table *table, report_form form, int indent, FILE *out);
/* Empties a table that is not printed. */
void report_table_free(report_table *table);

/* Text within Markdown: what has a meaning there is escaped; between backquotes only bars have
 * one. */
void report_markdown_text(FILE *out, const char *text);
/* Fields of a CSV file behind what is before them, "," or "": a text, in quotes where it needs
 * them; the shortest number that reads back as the same, nothing for NaN. */
void report_csv_text(FILE *out, const char *before, const char *text);
void report_csv_number(FILE *out, const char *before, double value);
