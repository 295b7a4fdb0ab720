/* Running a solver on a problem: create, set, solve, look at the result. */
#ifndef BILEVEL_RUN_H
#define BILEVEL_RUN_H

#include "bilevel/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The simple call ---- */

/* The problem and the solver are borrowed and must outlive the run. x and y start where the problem
 * says, or at zero. */
BLV_API blv_error blv_run_create(blv_run **run, const blv_problem *problem,
                                 const blv_solver *solver, blv_message *why);
/* Sets a parameter of the solver or an option of the run (see blv_run_options), from text. */
BLV_API blv_error blv_run_set(blv_run *run, const char *key, const char *value);
/* The same from numbers, exactly: blv_run_set_real(run, "tol", 1e-8). */
BLV_API blv_error blv_run_set_real(blv_run *run, const char *key, double value);
BLV_API blv_error blv_run_set_int(blv_run *run, const char *key, int64_t value);
/* Runs to the end. BLV_OK means that the run could be made; how it ended is in the result. */
BLV_API blv_error blv_run_solve(blv_run *run);
/* NULL is allowed. Called from within (a monitor, a pause, a function for rows, an oracle, a
 * solver) it asks the run to stop and does no more: who called the run destroys it, once that call
 * has returned. */
BLV_API void blv_run_destroy(blv_run *run);

/* Oracle calls, counted for each sample. In JSON and traces `cross` has the key "jvp". */
typedef struct blv_counts {
    uint64_t f_grad, g_grad; /* gradients of f and g */
    uint64_t hvp;            /* products with the lower-level Hessian, H v */
    uint64_t cross;          /* products with the cross derivative, J v */
    uint64_t values;         /* values of f or g alone */
} blv_counts;
BLV_API uint64_t blv_counts_total(const blv_counts *counts); /* of all kinds */

typedef struct blv_result {
    blv_outcome outcome;
    uint64_t iterations;
    double seconds;          /* on the solver's clock: evaluation and tracing are not on it */
    blv_counts counts;       /* by the solver's steps */
    blv_counts setup_counts; /* by automatic constants, before the first step */
    blv_counts check_counts; /* by tracing, targets and certificates */
    blv_metrics metrics;     /* of the last step */
} blv_result;

/* Valid until the run is destroyed; up to date after every call. */
BLV_API const blv_result *blv_run_result(const blv_run *run);
/* Why the last call failed, or how the run ended. Valid until the next call on this run. */
BLV_API const char *blv_run_message(const blv_run *run);
/* Remarks on the run, one line each: i = 0, 1, ... until NULL. */
BLV_API const char *blv_run_notes(const blv_run *run, size_t i);

/* Reads a state vector by name into host doubles: "x", "y" and what the solver registered, such as
 * "v". BLV_E_NAME when there is none of that name. */
BLV_API blv_error blv_run_read(const blv_run *run, const char *name, double *host);
/* Writes one: before the first step it sets the start. Not from within a call of the run
 * (BLV_E_ORDER). On error the vector is as it was. */
BLV_API blv_error blv_run_write(blv_run *run, const char *name, const double *host);
/* Size of a state vector, 0 when there is none of that name. */
BLV_API size_t blv_run_dim(const blv_run *run, const char *name);
/* Sets x and y to normal numbers times scale, from the run's seed; x is projected onto X. */
BLV_API blv_error blv_run_start_random(blv_run *run, double scale);

/* ---- Full control ---- */

/* Allocates everything and opens the solver; implied by the first step. After it nothing is
 * allocated until the run is destroyed, certificates, targets and checkpoints apart. */
BLV_API blv_error blv_run_open(blv_run *run);
/* Bytes that the run holds. Exact after blv_run_open. The problem's own data are not in it. */
BLV_API size_t blv_run_memory(const blv_run *run);
/* One step, and the tests for stopping. Nothing happens once the run has ended. */
BLV_API blv_error blv_run_step(blv_run *run);
/* Asks the run to stop, from another thread or a signal handler. Reaches inner loops. */
BLV_API void blv_run_stop(blv_run *run);

typedef struct blv_progress {
    const blv_run *run;
    uint64_t iteration;
    double seconds;
    blv_counts counts;
    double f, g;          /* at the present x and y, whole sums */
    size_t measure_count; /* of the problem's measures */
    double measures[BLV_MEASURES_MAX];
    double phi, grad_norm; /* certified, when the option `certify` asks for it; else NaN */
    blv_metrics metrics;
} blv_progress;

/* Non-zero ends the run. It may look at the run, certify and save it, stop it and set the monitor
 * anew; to step, change, load or set the run is refused with BLV_E_ORDER, and to destroy it stops
 * it. The same holds for pauses and functions for rows. Calls that are refused leave no trace in
 * the run's message. */
typedef int (*blv_monitor_fn)(void *context, const blv_progress *progress);
/* Calls monitor after every `iterations` steps (0: never) and when `seconds` have passed since the
 * last call (0: never), and at the end. One monitor; NULL removes it. */
BLV_API blv_error blv_run_monitor(blv_run *run, blv_monitor_fn monitor, void *context,
                                  uint64_t iterations, double seconds);
/* Writes the trace to a file while it runs, one JSON object on a line for every `every` steps.
 * After blv_run_load the file goes on where it stood when the run was saved. */
BLV_API blv_error blv_run_trace(blv_run *run, const char *path);
/* Gets a row of the trace: text is the JSON object, valid during the call. */
typedef void (*blv_trace_fn)(void *context, const blv_progress *progress, const char *text);
/* Hands rows of the trace to a function, beside the file or without one. all: every row. Else few
 * of them, enough for a picture: after the row of iteration k the next comes at 1.02 k at the
 * earliest, and none comes while the rows have taken more than a tenth of the time so far; the
 * first and the last always come. Unlike the file, they have no say in how the run ends. Before the
 * run is opened; NULL: none. */
BLV_API blv_error blv_run_trace_callback(blv_run *run, blv_trace_fn row, void *context, bool all);

/* Called between two steps, off the clock. It may do what a monitor may. */
typedef void (*blv_every_fn)(void *context, blv_run *run);
/* Calls pause whenever `seconds` of real time have passed since the last call. One pause; NULL
 * removes it. */
BLV_API blv_error blv_run_every(blv_run *run, blv_every_fn pause, void *context, double seconds);

/* The options of every run, and the struct that they are in, for listing them. */
BLV_API const blv_param *blv_run_options(void);
BLV_API const void *blv_run_option_fields(const blv_run *run);
BLV_API const blv_solver *blv_run_solver(const blv_run *run);
BLV_API const void *blv_run_solver_fields(const blv_run *run);

#ifdef __cplusplus
}
#endif
#endif
