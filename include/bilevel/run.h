/* A run: one solver on one problem. Create it, set it, solve, look at the result.
 *
 * solve.h has the same in one call; with a run you choose the start, watch it, step it one
 * iteration at a time, save it and resume it. */
#ifndef BILEVEL_RUN_H
#define BILEVEL_RUN_H

#include "bilevel/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Create, set, solve ---- */

/* Problem and solver are borrowed and must outlive the run. x and y start where the problem says,
 * or at zero. */
BLV_API blv_error blv_run_create(blv_run **run, const blv_problem *problem,
                                 const blv_solver *solver, blv_message *why);
/* Sets a parameter of the solver or an option of the run from text, before the run is opened. Keys:
 * blv_run_options(), solver->params, docs/library.md. */
BLV_API blv_error blv_run_set(blv_run *run, const char *key, const char *value);
/* The same from a number, exactly: blv_run_set_real(run, "tol", 1e-8). */
BLV_API blv_error blv_run_set_real(blv_run *run, const char *key, double value);
BLV_API blv_error blv_run_set_int(blv_run *run, const char *key, int64_t value);
/* Runs to the end. BLV_OK says that the run was carried out; how it ended is in the result. */
BLV_API blv_error blv_run_solve(blv_run *run);
/* NULL is allowed. Called from within the run (a monitor, an oracle, a solver) it only asks the run
 * to stop: destroy the run again when the call that runs it has returned. */
BLV_API void blv_run_destroy(blv_run *run);

/* ---- The result ---- */

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
    blv_counts counts;       /* of the solver's steps */
    blv_counts setup_counts; /* of automatic constants, before the first step */
    blv_counts check_counts; /* of tracing, targets and certificates */
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
/* Size of a state vector, 0 when there is none of that name. */
BLV_API size_t blv_run_dim(const blv_run *run, const char *name);

/* ---- The start ---- */

/* Writes a state vector: before the first step it sets the start. x is projected onto X. Not from
 * within a call of the run (BLV_E_ORDER). On error the vector is as it was. */
BLV_API blv_error blv_run_write(blv_run *run, const char *name, const double *host);
/* Sets x and y to normal numbers times scale, from the run's seed; x is projected onto X. */
BLV_API blv_error blv_run_start_random(blv_run *run, double scale);

/* ---- Full control ---- */

/* Allocates everything and opens the solver; the first step implies it. After it nothing is
 * allocated until the run is destroyed, except by certificates, targets and checkpoints. */
BLV_API blv_error blv_run_open(blv_run *run);
/* Bytes that the run holds, exact after blv_run_open. The problem's own data are not counted. */
BLV_API size_t blv_run_memory(const blv_run *run);
/* One step, and the tests for stopping. Does nothing once the run has ended. */
BLV_API blv_error blv_run_step(blv_run *run);
/* Asks the run to stop, from another thread or a signal handler. Reaches inner loops. */
BLV_API void blv_run_stop(blv_run *run);

/* ---- Watching ---- */

typedef struct blv_progress {
    const blv_run *run;
    uint64_t iteration;
    double seconds;
    blv_counts counts;
    double f, g;          /* at the current x and y, whole sums */
    size_t measure_count; /* of the problem's measures */
    double measures[BLV_MEASURES_MAX];
    double phi, grad_norm; /* certified, when the option `certify` asks for it; else NaN */
    blv_metrics metrics;
} blv_progress;

/* Non-zero ends the run. Callbacks may look at the run, certify, save and stop it, and replace the
 * monitor. Stepping, changing, loading or setting the run is rejected with BLV_E_ORDER and leaves
 * the run's message as it is; destroying the run stops it. This holds for all callbacks here. */
typedef int (*blv_monitor_fn)(void *context, const blv_progress *progress);
/* Calls monitor after every `iterations` steps (0: never), when `seconds` have passed since the
 * last call (0: never), and at the end. There is one monitor; NULL removes it. */
BLV_API blv_error blv_run_monitor(blv_run *run, blv_monitor_fn monitor, void *context,
                                  uint64_t iterations, double seconds);

/* Writes the trace to a file while the run goes, one JSON object on a line, after every `every`
 * steps. After blv_run_load the file continues where it was when the run was saved. */
BLV_API blv_error blv_run_trace(blv_run *run, const char *path);
/* Gets a row of the trace: text is the JSON object, valid during the call. */
typedef void (*blv_trace_fn)(void *context, const blv_progress *progress, const char *text);
/* Passes rows of the trace to a function, with or without a file; before the run is opened. all:
 * every row. Else a selection that is enough for a picture: after the row of iteration k the next
 * comes at 1.02 k at the earliest, and none while rows have taken more than a tenth of the time;
 * the first and the last always come. Unlike the file, the rows cannot make the run fail. NULL:
 * none. */
BLV_API blv_error blv_run_trace_callback(blv_run *run, blv_trace_fn row, void *context, bool all);

/* Called between two steps, off the clock. */
typedef void (*blv_every_fn)(void *context, blv_run *run);
/* Calls a function whenever `seconds` of real time have passed since the last call; 0: after every
 * step. There is one such function; NULL removes it. */
BLV_API blv_error blv_run_every(blv_run *run, blv_every_fn function, void *context, double seconds);

/* ---- Listing what is set ---- */

/* The options that every run has, and the struct that holds them. */
BLV_API const blv_param *blv_run_options(void);
BLV_API const void *blv_run_option_fields(const blv_run *run);
BLV_API const blv_solver *blv_run_solver(const blv_run *run);
BLV_API const void *blv_run_solver_fields(const blv_run *run);

#ifdef __cplusplus
}
#endif
#endif
