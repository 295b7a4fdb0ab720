/* A program that gets a text on its standard input and whose output is kept. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_bytes {
    char *data; /* to be freed; a zero stands behind the last byte */
    size_t size;
} cli_bytes;

typedef struct cli_child {
    cli_bytes out, err;
    int code; /* exit code, or -1 when a signal ended it */
} cli_child;

/* Runs argv[0], looked up in PATH, without a shell. Returns 0, or the errno that says why it could
 * not be started or its output not be read. Either way cli_child_free releases what it wrote. */
int cli_child_run(cli_child *child, char *const argv[], const char *input, size_t size);
void cli_child_free(cli_child *child);

#endif
