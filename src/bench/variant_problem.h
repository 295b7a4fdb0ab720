/* The problem of a variant, made once for all of its runs. */
#ifndef BENCH_VARIANT_PROBLEM_H
#define BENCH_VARIANT_PROBLEM_H

#include "bench/bench.h"
#include "bilevel/registry.h"

typedef struct bench_problem {
    const blv_problem_family *family;
    void *params; /* the struct that family->params describes */
    blv_problem *problem;
    size_t variant;
    const blv_values *settings; /* that it was made with; borrowed */
} bench_problem;

/* Finds the family and sets its parameters: settings, and the data files of the variant. */
blv_error bench_problem_find(bench_problem *p, const bench *b, size_t variant,
                             const blv_values *settings);
/* Makes the problem of a job, unless it is there already. */
blv_error bench_problem_take(bench_problem *p, const bench *b, const bench_job *job);
void bench_problem_free(bench_problem *p);

/* The limit, seed and settings of a job. */
blv_error bench_configure(blv_run *run, const bench_job *job);

#endif
