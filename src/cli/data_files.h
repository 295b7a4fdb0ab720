/* Data sets as named on the command line: how a file is read, and what it is written as. A
 * name that does not serve ends the command, after a complaint. */
#pragma once

#include "bilevel/dataset.h"
#include "cli/arguments.h"
#include "cli/printing.h"

#include <stdio.h>

/* --label, --header, --labels, --real, --precision, --dense and --sparse of a blv_read_options. */
extern const cli_argument cli_reading_table[];

/* "libsvm", "csv" or "npz": the one that is given, else by the end of the path. */
const char *cli_output_format(const char *path, const char *given);
/* The same for a part of another set: "source", its rows as they are, where they are text and the
 * name tells no other format; else its format where the name does not tell one. */
const char *cli_part_format(const char *path, const char *given, const blv_dataset_view *whole);
/* Whether a table and a part of a set could be written, as cli_outputs_try. */
void cli_part_try(const char *table, const char *part, const blv_dataset *whole);

/* At the top of a task, on standard error: the kinds of the columns, and a warning. */
void cli_print_kinds(const char *name, const char *kinds);
void cli_print_warning(void *unused, const char *line);
/* What blv_dataset_warn says about sets: there, or in a list of JSON where that is not NULL. */
blv_error cli_warn(const blv_dataset *const *sets, const char *const *names, size_t count,
                   json_t *list, blv_message *why);

/* The texts of the rows; NULL: they have none. The command ends where they cannot be read. */
blv_row_texts *cli_row_texts_open(const blv_dataset *rows);
/* The last column of a table of rows: its head, and the text of a row with the line end. */
const char *cli_row_texts_head(const blv_row_texts *texts);
void cli_row_texts_print(const blv_row_texts *texts, size_t row, FILE *file);

/* Where the stored values of a row begin, and how many there are. Zeros of a sparse set are not
 * stored. */
size_t cli_row_values(const blv_dataset_view *view, size_t row, size_t *start);
double cli_dataset_value(const blv_dataset_view *view, size_t i);
