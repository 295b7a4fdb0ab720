/* The actions of `bilevel data`, and how all of them begin: the files that are named, how data are
 * read, what is printed. */
#ifndef CLI_DATA_H
#define CLI_DATA_H

#include "cli_dataset.h"

/* argv[0] is "bilevel data NAME"; the return value is the exit code. */
int cmd_data_info(int argc, char **argv);
int cmd_data_stats(int argc, char **argv);
int cmd_data_convert(int argc, char **argv);
int cmd_data_split(int argc, char **argv);
int cmd_data_corrupt(int argc, char **argv);

typedef struct cli_files {
    blv_read_options reading;
    bool json;
    const char *in;
    const char *format; /* of what is written; NULL: by its name */
    size_t out_count, most_out;
    const char **out;
} cli_files;

/* Parses IN and up to most_out times OUT, --format, --json and the options for reading. It is used
 * as a child of an action's own parser. */
extern const struct argp cli_files_argp;

/* Reads IN, once every OUT is known to have a format. These return an exit code, after a message.
 */
int cli_files_read(const cli_files *files, blv_dataset **dataset);
void cli_files_free(cli_files *files);

/* An action that only looks at one FILE: parses, reads, and shows the set as text or as JSON. */
typedef void (*cli_show_fn)(const cli_files *files, const blv_dataset *dataset);
int cli_look(int argc, char **argv, const char *doc, cli_show_fn show);

#endif
