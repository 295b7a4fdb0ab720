/* A run of one solver with all that belongs to it: where it starts or resumes, its trace, its
 * record in the store, its report. The two functions are what blv_solve and blv_compare call before
 * and after a run (bilevel/solve.h), so that `solve`, `resume` and suites drive runs in one way:
 *
 *     blv_execution e = {.recorder = &recorder, .facts = {...}, .start = "zero"};
 *     begin: blv_execution_begin(&e, run, why)
 *     end:   blv_execution_end(&e, run, solution, error, why); ... use e.report ...
 *            blv_execution_finish(&e, BLV_STATUS_FINISHED); */
#pragma once

#include "bilevel/solve.h"
#include "store/record.h"
#include "store/run_recorder.h"

/* ---- The vectors of a run as host doubles: where it starts, where it ends, both in files ---- */

enum { BLV_VECTOR_X, BLV_VECTOR_Y, BLV_VECTOR_V, BLV_VECTORS };

typedef struct blv_vectors {
    size_t dim[BLV_VECTORS];
    double *values[BLV_VECTORS]; /* NULL: the solver has none of that name */
} blv_vectors;

/* A start is "zero", "random", or a file with x, y and v as far as present. A file is read and
 * checked before the run is opened; v can be compared with the solver's only afterwards. */
blv_error blv_start_load(blv_vectors *loaded, const char *start, const blv_problem *problem,
                         blv_message *why);

/* Whether a file can be written at path. */
blv_error blv_vectors_expect_writable(const char *path, blv_message *why);
/* Writes the end as x, y, v and the start as x0, y0, v0. */
blv_error blv_vectors_save(const char *path, const blv_vectors *end, const blv_vectors *start,
                           blv_message *why);

/* ---- The run ---- */

typedef struct blv_distances {
    double x, y;
} blv_distances;

/* What came out of it: what `solve` prints, and the store keeps as its result. */
typedef struct blv_run_report {
    int64_t run; /* its number in the store; 0: none */
    const char *problem, *solver, *precision;
    bool gradients_only;
    const char *status;    /* the word of the outcome */
    blv_solution solution; /* what it points to is borrowed */
    size_t memory_bytes;
    bool solution_known;
    blv_distances distance; /* to the known solution */
    blv_values measures;    /* of the problem, at the end */
    blv_values parameters, options, problem_parameters;
    size_t note_count;
    double *x, *y, *v; /* NULL where there are many elements; borrowed */
    size_t dim_v;
} blv_run_report;

/* As `solve --json` prints it. A report that was read with it is freed with blv_record_free. */
extern const blv_field blv_run_report_fields[];

typedef struct blv_execution {
    blv_recorder *recorder; /* without a store nothing is recorded */
    /* Of a new record: kind, command, request, problem, problem_parameters, fingerprint; borrowed.
     * The rest is found from the run. */
    blv_run_info facts;
    bool gradients_only;
    const char *start;         /* "zero", "random" or the file of: */
    const blv_vectors *loaded; /* blv_start_load; NULL: none */
    bool is_one_of_several;    /* then v may be missing from the solver */
    const char *trace;         /* a file; NULL: none */
    bool all_rows;             /* of the trace go to the store */
    bool own_rows;             /* the caller adds the rows that the store gets */

    int64_t resumed; /* the number of a run that is resumed; 0: a new one */
    uint64_t resumed_iteration;
    const void *checkpoint; /* NULL: it starts again */
    size_t checkpoint_size;

    /* after the end */
    bool ran; /* there is a report */
    blv_vectors start_vectors, end_vectors;
    blv_run_report report; /* as long as the solution */
    blv_message message;   /* how it ended, or why it did not run */
    blv_run_status status;
} blv_execution;

blv_error blv_execution_begin(blv_execution *execution, blv_run *run, blv_message *why);
void blv_execution_end(blv_execution *execution, blv_run *run, const blv_solution *solution,
                       blv_error error, const char *why);
/* Ends the record. failed: something after the run has failed, such as writing its files. */
void blv_execution_finish(blv_execution *execution, bool failed);
void blv_execution_free(blv_execution *execution);
