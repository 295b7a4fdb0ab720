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

/* ---- What `bilevel clean` and `bilevel tune` found: task_result.c ---- */

/* Whether the run is one of these. */
bool report_is_task(const blv_run_info *run);
/* The answer of one, as a part of the page. */
blv_error report_task_answer(FILE *out, const blv_run_info *run);
/* A title for a page about this run; left alone where it is none. */
void report_task_title(const blv_run_info *run, char *title, size_t size);
