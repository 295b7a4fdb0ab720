/* What `bilevel clean` and `bilevel tune` found, as a part of the page about stored runs. */
#pragma once

#include "bilevel/store.h"

#include <stdio.h>

/* Whether the run is one of these. */
bool report_is_task(const blv_run_info *run);
/* The answer; nothing where it is none. */
blv_error report_task_answer(FILE *out, const blv_run_info *run);
/* A title for a page about this run; left alone where it is none. */
void report_task_title(const blv_run_info *run, char *title, size_t size);
