/* Text in memory. The command ends where memory is short: a stream of open_memstream loses what it
 * has no memory for without a word, neither ferror nor fclose tell. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include "bilevel/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct cli_text {
    char *bytes;
    size_t size, room;
    bool lost;
    FILE *out;
} cli_text;

/* A stream into the text, which stays where it is until the end. */
FILE *cli_text_begin(cli_text *text);
/* Closes the stream. What was written, followed by a zero; never NULL, to be freed. Its size is in
 * text->size. */
char *cli_text_end(cli_text *text);

/* As printf does; never NULL, to be freed. */
char *cli_print(const char *format, ...) BLV_PRINTF(1, 2);

#endif
