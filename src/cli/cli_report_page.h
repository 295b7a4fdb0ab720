/* A page about stored runs: the question, the answer, curves, and all that is known of each run. */
#ifndef CLI_REPORT_PAGE_H
#define CLI_REPORT_PAGE_H

#include "cli_stored.h"

#include <stdio.h>

typedef struct cli_report_page {
    const cli_stored *stored;
    blv_store *store;  /* attachments are read from */
    const char *title; /* NULL: one is made */
    bool no_figures;
} cli_report_page;

/* Returns an exit code, after a message. */
int cli_report_page_put(const cli_report_page *page, FILE *out);

#endif
