/* A page about stored runs: the answer, curves, the problem, and everything that is known about
 * each run. */
#pragma once

#include "store/run_groups.h"

#include <stdio.h>

typedef struct report_run_page {
    const blv_run_groups *groups;
    blv_store *store;  /* attachments are read from */
    const char *title; /* NULL: one is made */
    bool no_figures;
} report_run_page;

blv_error report_run_page_put(const report_run_page *page, FILE *out, blv_message *why);
