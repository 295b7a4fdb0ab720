/* A point of a bench: what is noted of a run between two of its steps, off its clock. */
#ifndef CLI_BENCH_POINT_H
#define CLI_BENCH_POINT_H

#include "cli_report.h"

/* Of the steps and the setup. */
uint64_t cli_point_calls(const blv_result *result);
/* {iteration, seconds, calls of each kind, f, measures, and if it is certified phi and grad_norm};
 * a new reference. The certificate is kept in the report. */
json_t *cli_point_look(cli_report *report, bool certify);

#endif
