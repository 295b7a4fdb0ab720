/* What came out of a run of one solver: what `solve` prints, and the store keeps as its result. */
#ifndef BLV_STORE_RUN_REPORT_H
#define BLV_STORE_RUN_REPORT_H

#include "bilevel/solve.h"
#include "store/record.h"
#include "store/start_vectors.h"

typedef struct blv_distances {
    double x, y;
} blv_distances;

typedef struct blv_run_report {
    int64_t run; /* its number in the store; 0: none */
    const char *problem;
    size_t dim_x, dim_y;
    const char *solver, *precision;
    bool gradients_only;
    const char *status;  /* the word of the outcome */
    const char *message; /* how it ended */
    uint64_t iterations;
    double seconds;
    size_t memory_bytes;
    blv_counts counts, setup_counts, check_counts;
    bool certified;
    blv_certificate certificate;
    bool solution_known;
    blv_distances distance; /* to the known solution */
    blv_values measures;    /* of the problem, at the end */
    blv_values parameters, options, problem_parameters;
    size_t note_count;
    char **notes;
    double *x, *y, *v; /* NULL where there are many elements */
    size_t dim_v;
} blv_run_report;

/* As `solve --json` prints it. A report that was read with it is freed with blv_record_free. */
extern const blv_field blv_run_report_fields[];

/* From a run that has ended. Its texts are borrowed from the run's solver, from `problem` and
 * `message`, which is kept. end: the vectors of the run. */
blv_error blv_run_report_make(blv_run_report *report, blv_run *run, const blv_solution *solution,
                              const blv_vectors *end);
/* Frees what blv_run_report_make has allocated. */
void blv_run_report_free(blv_run_report *report);

#endif
