/* What `bilevel clean` and `bilevel tune` found, as a part of the page about stored runs. */
#ifndef CLI_REPORT_LEARNED_H
#define CLI_REPORT_LEARNED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Writes the question in a sentence, if the run is one of these. */
void cli_report_learned_question(FILE *out, const json_t *run);
/* Writes the answer. False, and nothing is written, where the run is of another kind. */
bool cli_report_learned(FILE *out, const json_t *run);
/* A title for a page about this run. False where the run is of another kind. */
bool cli_report_learned_title(const json_t *run, char *title, size_t size);

#endif
