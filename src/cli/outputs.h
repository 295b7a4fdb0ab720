/* Several files that appear together or not at all. Temporary files are removed however the command
 * ends. One such set at a time.
 *
 *     cli_outputs outputs = {0};
 *     cli_outputs_print(&outputs, "a.csv", print_rows, rows);
 *     cli_outputs_bytes(&outputs, "a.npz", bytes, size);
 *     return cli_outputs_finish(&outputs); */
#pragma once

#include "base/atomic_file.h"
#include "bilevel/dataset.h"
#include "cli/common.h"

#include <stdio.h>

typedef struct cli_outputs {
    size_t count;
    blv_atomic_file **files;
    int code; /* CLI_DONE until something has failed, after a complaint */
} cli_outputs;

/* These write a file; path NULL: none. Once something has failed they do nothing. From the first
 * one on outputs must stay where it is. */
void cli_outputs_write(cli_outputs *outputs, const char *path, const blv_dataset *dataset,
                       const char *format);
typedef void (*cli_print_fn)(FILE *file, const void *context);
void cli_outputs_print(cli_outputs *outputs, const char *path, cli_print_fn print,
                       const void *context);
void cli_outputs_bytes(cli_outputs *outputs, const char *path, const void *first, size_t size);
/* A place for the caller to write to, NULL after a complaint. */
const char *cli_outputs_add(cli_outputs *outputs, const char *path);
/* Moves all files to their places unless something has failed, removes what was not moved, frees
 * and returns the exit code. */
int cli_outputs_finish(cli_outputs *outputs);
/* The same; ends the command where something has failed. */
void cli_outputs_commit(cli_outputs *outputs);
/* One whole file; the command ends where it cannot be written. */
void cli_output_whole(const char *path, const void *bytes, size_t size);
/* Ends the command where files could not be written to these paths, before hours are spent; NULL:
 * no file. */
void cli_outputs_try(const char *first, const char *second);
