/* Data sets as named on the command line: how a file is read, and what it is written as. A
 * name that does not serve ends the command, after a complaint. */
#ifndef CLI_DATA_FILES_H
#define CLI_DATA_FILES_H

#include "bilevel/dataset.h"
#include "cli/arguments.h"

/* --label, --header, --labels, --real, --precision, --dense and --sparse of a blv_read_options. */
extern const cli_argument cli_reading_table[];

/* "libsvm", "csv" or "npz": the one that is given, else by the end of the path. */
const char *cli_output_format(const char *path, const char *given);
/* The same for a part of another set: its format where the name does not tell one and it can be
 * written. */
const char *cli_part_format(const char *path, const blv_dataset_view *whole);
/* Whether a table and a part of a set could be written, as cli_outputs_try. */
void cli_part_try(const char *table, const char *part, const blv_dataset *whole);

/* Where the stored values of a row begin, and how many there are. Zeros of a sparse set are not
 * stored. */
size_t cli_row_values(const blv_dataset_view *view, size_t row, size_t *start);
double cli_dataset_value(const blv_dataset_view *view, size_t i);

#endif
