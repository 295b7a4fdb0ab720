/* Fields of CSV files that the command writes. */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include "cli_outputs.h"

#include <stdio.h>

/* A text, in quotes where it needs them. */
void cli_csv_text(FILE *file, const char *text);
/* The shortest number that reads back as the same; nothing for NaN. */
void cli_csv_number(FILE *file, double value);

/* Writes one of the files: print returns false when it could not. Returns an exit code, after a
 * complaint. */
typedef bool (*cli_csv_fn)(FILE *file, const void *context);
int cli_csv_write(cli_outputs *outputs, const char *path, cli_csv_fn print, const void *context);

#endif
