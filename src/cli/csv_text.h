/* Fields of CSV files that the command writes. */
#ifndef CLI_CSV_TEXT_H
#define CLI_CSV_TEXT_H

#include "cli_outputs.h"

#include <stdio.h>

/* A text, in quotes where it needs them. */
void cli_csv_text(FILE *file, const char *text);
/* The shortest number that reads back as the same; nothing for NaN. */
void cli_csv_number(FILE *file, double value);

#endif
