/* Solving a problem in one call, and comparing solvers on it.
 *
 *     blv_solution *s;
 *     blv_message why;
 *     if (blv_solve(&s, problem, NULL, &why) != BLV_OK)
 *         fail(why.text);
 *     use(s->x, s->phi);
 *     blv_solution_destroy(s);
 *
 * For steps one at a time, checkpoints and traces make the run yourself: run.h. */
#ifndef BILEVEL_SOLVE_H
#define BILEVEL_SOLVE_H

#include "bilevel/certificate.h"
#include "bilevel/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- One call ---- */

typedef struct blv_solution blv_solution;

/* Everything but the size may be 0 or NULL, which means the default. */
typedef struct blv_solve_options {
    size_t size;                  /* sizeof(blv_solve_options) */
    const char *solver;           /* NULL: BLV_DEFAULT_SOLVER */
    const blv_registry *registry; /* where solvers are looked up; NULL: the built-in ones */

    /* Options of the run, by their names (blv_run_options lists them). */
    double tol; /* stop when the solver's residuals are at most this; converged if the certificate
                   says so too */
    double seconds; /* limit on the solver's clock */
    int64_t iters;  /* limit on iterations */
    int64_t budget; /* limit on oracle calls */
    int64_t seed;
    /* Other options of the run and parameters of the solver: {"key", "value", ..., NULL}. A key
     * "SOLVER.KEY" is for that solver alone and wins over "KEY". */
    const char *const *settings;

    const double *x, *y; /* where to start; NULL: where the problem says, or at zero */
    /* Saves the tight solves at the end: phi and grad_norm are then NaN, and no run is called
     * converged. */
    bool no_certificate;

    void *context; /* for the functions below */
    /* Called every progress_seconds (0: half a second) and at the end. Non-zero stops the run. */
    blv_monitor_fn progress;
    double progress_seconds;
    /* The run is created and set and will be opened next: attach a trace, load a checkpoint, keep
     * the run for blv_run_stop. An error ends the call. */
    blv_error (*begin)(void *context, blv_run *run, blv_message *why);
    /* The run is about to be destroyed; follows every `begin`. error and why: what the call will
     * return; solution: NULL when there is none. */
    void (*end)(void *context, blv_run *run, const blv_solution *solution, blv_error error,
                const char *why);
} blv_solve_options;

struct blv_solution {
    const blv_solver *solver; /* the one that was used */
    size_t dim_x, dim_y;
    double *x, *y;
    double phi, grad_norm; /* certified f(x, y*(x)) and |grad Phi(x)|; NaN without certificate */
    bool converged;        /* outcome > 0: certified to the tolerance, or the target was reached */
    blv_outcome outcome;
    blv_message message; /* how the run ended, in a sentence */
    uint64_t iterations;
    double seconds;                                /* on the solver's clock */
    blv_counts counts, setup_counts, check_counts; /* as in blv_result */
    blv_metrics metrics;                           /* of the last step */
    const char *const *notes;                      /* remarks on the run, then NULL */
    size_t measure_count;                          /* of the problem's measures at x and y */
    double measures[BLV_MEASURES_MAX];
    bool certified;
    blv_certificate certificate; /* NaN where it is not certified */
    blv_message no_certificate;  /* why not; empty when it is certified */
};

/* Solves the problem and certifies the result; options may be NULL. A run that diverges or reaches
 * a limit is not an error: see outcome. On an error *solution is NULL, unless the run had ended:
 * memory for the certificate was short, or a trace could not be written to the end. The same
 * problem and options give a bitwise identical solution, here and in the command `bilevel solve`.
 */
BLV_API blv_error blv_solve(blv_solution **solution, const blv_problem *problem,
                            const blv_solve_options *options, blv_message *why);
/* NULL is allowed. */
BLV_API void blv_solution_destroy(blv_solution *solution);

/* ---- Several solvers on one problem ---- */

typedef struct blv_comparison_row {
    const blv_solver *solver;
    blv_solution *solution; /* NULL: it did not run */
    blv_error error;        /* of its run; BLV_OK also for a solver that does not suit */
    blv_message remark;     /* why it did not run, or a remark on the fit; often empty */
} blv_comparison_row;

typedef struct blv_comparison {
    size_t count; /* a row for each solver */
    size_t ran;   /* the first `ran` rows have a solution: lowest certified Phi first */
    blv_comparison_row *rows;
} blv_comparison;

/* Solves the problem with each of the solvers, one after the other, from the same start and with
 * the same limits. solvers: names, the last followed by NULL; NULL: all that suit the problem
 * without finite differences. A setting must be known to one of them, and goes to those that know
 * it. What a solver rejects (a value, a name) is found before the first one runs. When `progress`
 * or blv_run_stop stops a run, the solvers after it do not run. BLV_E_UNSUPPORTED when none can.
 * options may be NULL; its `solver` must be. */
BLV_API blv_error blv_compare(blv_comparison **comparison, const blv_problem *problem,
                              const char *const *solvers, const blv_solve_options *options,
                              blv_message *why);
/* NULL is allowed. */
BLV_API void blv_comparison_destroy(blv_comparison *comparison);

#ifdef __cplusplus
}
#endif
#endif
