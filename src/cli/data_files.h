/* Data sets as named on the command line: how a file is read, what it is written as, and what is
 * said about it. */
#ifndef CLI_DATA_FILES_H
#define CLI_DATA_FILES_H

#include "bilevel/dataset.h"
#include "cli/arguments.h"
#include "cli/json.h"

/* --label, --header, --labels, --real, --precision, --dense and --sparse of a blv_read_options. */
extern const cli_argument cli_reading_table[];

/* What the actions of `bilevel data` begin with: the file that is read, and what is printed. */
typedef struct cli_source {
    blv_read_options reading;
    const char *in;
    const char *format; /* of what is written; NULL: by its name */
    bool json;
} cli_source;
extern const cli_argument cli_source_table[]; /* --json and how it is read */
extern const cli_argument cli_format_table[]; /* --format */

/* Reads a set, or complains and returns the exit code. */
int cli_dataset_read(blv_dataset **dataset, const char *path, const blv_read_options *options);

/* "libsvm", "csv" or "npz": the one that is given, else by the end of the path; NULL after a
 * complaint. */
const char *cli_output_format(const char *path, const char *given);
/* The same for a part of another set: its format where the name does not tell one and it can be
 * written. */
const char *cli_part_format(const char *path, const blv_dataset_view *whole);

/* Whether a table and a part of a set could be written, as cli_outputs_try. */
int cli_part_try(const char *table, const char *part, const blv_dataset *whole);

/* The keys that describe a set: file, format, rows, columns, ... and history. */
json_t *cli_json_dataset(const char *path, const blv_dataset *dataset);
/* "1000 rows, 20 features, 3 classes" */
void cli_print_shape(const blv_dataset_view *view);
const char *cli_layout_word(const blv_dataset_view *view);

/* An action that only looks at one FILE: parses, reads, and shows the set as text or as JSON. */
typedef void (*cli_show_fn)(const cli_source *source, const blv_dataset *dataset);
int cli_look(int argc, char **argv, const cli_arguments *arguments, cli_show_fn show);
extern const cli_argument cli_look_table[]; /* of those arguments */

/* Where the stored values of a row begin, and how many there are. Zeros of a sparse set are not
 * stored. */
size_t cli_row_values(const blv_dataset_view *view, size_t row, size_t *start);
double cli_dataset_value(const blv_dataset_view *view, size_t i);
/* Rows of each class; to be freed. */
size_t *cli_class_rows(const blv_dataset_view *view);
json_t *cli_json_class_rows(const blv_dataset_view *view, const size_t *class_rows);

#endif
