/* The kinds of arguments: what a text must be, and how it gets into the request. */
#ifndef CLI_ARGUMENT_VALUES_H
#define CLI_ARGUMENT_VALUES_H

#include "cli/arguments.h"

/* Puts the value into the field, for any kind but CLI_ARG_CUSTOM; text is NULL for a flag. False
 * where the text is not what is expected. */
bool cli_value_take(const cli_placed_argument *to, char *text);
/* What is expected: "a whole number from 1 to 9", "auto, unit or none". */
void cli_value_expected(FILE *out, const cli_argument *argument);

#endif
