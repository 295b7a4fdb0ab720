/* What `bilevel clean` and `bilevel tune` found, as a part of the page about stored runs. */
#pragma once

#include "bilevel/store.h"

#include <stdio.h>

/* Whether the run is one of these. */
bool report_is_task(const blv_run_info *run);
/* These write nothing where it is none. The question in a sentence: */
void report_task_question(FILE *out, const blv_run_info *run);
/* The answer. */
blv_error report_task_answer(FILE *out, const blv_run_info *run);
/* A title for a page about this run. */
void report_task_title(const blv_run_info *run, char *title, size_t size);
