/* Data sets as named on the command line: how a file is read, and what it is written as. */
#ifndef CLI_DATASET_H
#define CLI_DATASET_H

#include "bilevel/dataset.h"
#include "cli_common.h"
#include "cli_json.h"

/* Parses --label, --header, --labels, --real, --precision, --dense and --sparse into a
 * blv_read_options. It is used as a child of a subcommand's own parser. */
extern const struct argp cli_reading_argp;

/* Reads a set, or complains and returns the exit code. */
int cli_dataset_read(blv_dataset **dataset, const char *path, const blv_read_options *options);

/* "libsvm", "csv" or "npz": the one that is given, else by the end of the path; NULL after a
 * complaint. */
const char *cli_output_format(const char *path, const char *given);
/* The same for a part of another set: its format where the name does not tell one and it can be
 * written. */
const char *cli_part_format(const char *path, const blv_dataset_view *whole);
/* Ends the command with a message when the word is no format. */
void cli_check_format(const char *word, const struct argp_state *state);

/* The keys that describe a set: file, format, rows, columns, ... and history. */
json_t *cli_json_dataset(const char *path, const blv_dataset *dataset);
/* "1000 rows, 20 features, 3 classes" */
void cli_print_shape(const blv_dataset_view *view);
const char *cli_layout_word(const blv_dataset_view *view);
double cli_dataset_value(const blv_dataset_view *view, size_t i);

#endif
