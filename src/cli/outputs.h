/* Several files that appear together or not at all. Temporary files are removed also where memory
 * is short and the command ends on the spot. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "base/atomic_file.h"
#include "bilevel/dataset.h"
#include "cli/common.h"

#include <stdio.h>

typedef struct cli_outputs {
    size_t count;
    blv_atomic_file **files;
    struct cli_outputs *next; /* that is not finished either */
} cli_outputs;

/* A place to write to, NULL after a complaint. From here on outputs must stay where it is. */
const char *cli_outputs_add(cli_outputs *outputs, const char *path);
/* Writes a set as one of the files; returns an exit code, after a complaint. */
int cli_outputs_write(cli_outputs *outputs, const char *path, const blv_dataset *dataset,
                      const char *format);
/* The same for what is printed; print may return false where it has failed. */
typedef bool (*cli_print_fn)(FILE *file, const void *context);
int cli_outputs_print(cli_outputs *outputs, const char *path, cli_print_fn print,
                      const void *context);
/* The same for bytes. */
int cli_outputs_bytes(cli_outputs *outputs, const char *path, const void *first, size_t size);
/* With CLI_DONE: moves all files to their places. In any case removes what was not moved, frees and
 * returns the exit code. */
int cli_outputs_finish(cli_outputs *outputs, int code);
/* One file alone. */
int cli_write_file(const char *path, const void *first, size_t size);
/* Whether files could be written to these paths, before hours are spent; NULL: no file. Returns an
 * exit code, after a complaint. */
int cli_outputs_try(const char *first, const char *second);
/* Removes what was not moved. */
void cli_outputs_free(cli_outputs *outputs);

#endif
