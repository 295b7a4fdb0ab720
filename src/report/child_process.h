/* A program that gets a text on its standard input and whose output is kept. */
#ifndef REPORT_CHILD_PROCESS_H
#define REPORT_CHILD_PROCESS_H

#include <stddef.h>

typedef struct report_bytes {
    char *data; /* to be freed; a zero follows the last byte */
    size_t size;
} report_bytes;

typedef struct report_child {
    report_bytes out, err;
    int code; /* exit code, or -1 when a signal ended it */
} report_child;

/* Runs argv[0], looked up in PATH, without a shell. Returns 0, or the errno that says why it could
 * not be started or its output not be read. Either way report_child_free releases what it wrote. */
int report_child_run(report_child *child, char *const argv[], const char *input, size_t size);
void report_child_free(report_child *child);

#endif
