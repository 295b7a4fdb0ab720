/* The runs of a suite with a command: a method chooses rows, and a network that is trained on them
 * is tested. `coreset`: once, of all rows. `continual`: for the memory of tasks that come one after
 * the other. Settings are chosen by rows that are held out; the test rows have no part in it. */
#ifndef BENCH_ROW_CHOICE_RUNS_H
#define BENCH_ROW_CHOICE_RUNS_H

#include "bench/bench.h"
#include "bilevel/dataset.h"

/* The rows of a variant, kept until a job needs another. Start from {0}. */
typedef struct bench_rows {
    size_t variant;
    blv_dataset *rows, *test;
    blv_dataset *fitted, *held_out; /* parts of rows, for choosing settings; NULL until needed */
} bench_rows;

/* The metric, what is shown, what tuned settings are chosen by and the data are right. */
blv_error bench_check_choices(const bench *b);
/* The settings of a job are. */
blv_error bench_check_choice(const bench *b, const bench_job *job);
/* Makes a run and adds its points to the record. */
blv_error bench_choose_rows(bench_rows *kept, const bench *b, const bench_job *job,
                            bench_record *record);
void bench_rows_free(bench_rows *kept);

#endif
