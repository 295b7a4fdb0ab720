/* Text in memory, as base/text_stream.h has it; the command ends where memory is short. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include "base/text_stream.h"
#include "bilevel/status.h"

typedef blv_text_stream cli_text;

FILE *cli_text_begin(cli_text *text);
/* Closes the stream. Never NULL, to be freed. */
char *cli_text_end(cli_text *text);

/* As printf does; never NULL, to be freed. */
char *cli_print(const char *format, ...) BLV_PRINTF(1, 2);

#endif
