/* L-BFGS for the minimum of a smooth function, over the whole space or over a closed convex set
 * that is given by its projection. One iteration at a time, or all of them. */
#pragma once

#include "bilevel/space.h"
#include "linsolve/stationarity.h"

#define BLV_LBFGS_MEMORY_MAX 64

/* Value and gradient at x. 0; > 0: not possible here, the trial step is shortened; < 0: fatal. A
 * NaN or infinity, in the value or in the gradient, is taken as > 0. */
typedef int (*blv_objective_fn)(void *context, const blv_vec *x, double *value, blv_vec *gradient);

/* context goes to both callbacks. project may be NULL: the whole space. */
typedef struct blv_lbfgs_problem {
    blv_objective_fn objective;
    blv_projection_fn project;
    void *context;
} blv_lbfgs_problem;

typedef enum blv_lbfgs_end {
    BLV_LBFGS_ITERATING,
    BLV_LBFGS_CONVERGED, /* stationarity <= tolerance */
    BLV_LBFGS_LIMIT,     /* blv_lbfgs_minimize took all its iterations */
    BLV_LBFGS_STALLED,   /* no step makes progress that can be told from rounding */
    BLV_LBFGS_NONFINITE, /* the value or gradient at the starting point is not finite */
    BLV_LBFGS_CALLBACK   /* a callback failed; > 0 only at the starting point */
} blv_lbfgs_end;

typedef struct blv_lbfgs_result {
    blv_lbfgs_end end;
    int code; /* the callback's, when end is CALLBACK, else 0 */
    double value;
    double stationarity; /* as stationarity.h has it; |gradient| in the whole space */
    size_t iterations;   /* steps taken since the start */
    size_t evaluations;  /* calls of the objective since the start, failed ones included */
} blv_lbfgs_result;

typedef struct blv_lbfgs blv_lbfgs;

/* memory: number of pairs, 1 to BLV_LBFGS_MEMORY_MAX; 5 to 20 is usual. 2 memory + 7 vectors. */
blv_error blv_lbfgs_create(blv_lbfgs **lbfgs, const blv_space *space, size_t memory);
void blv_lbfgs_destroy(blv_lbfgs *lbfgs); /* NULL is allowed */
size_t blv_lbfgs_bytes(const blv_lbfgs *lbfgs);

/* Minimizes from x, in place. Whatever the end, x is the best point that the descent has accepted,
 * in the set, and the result's value and stationarity are its own. */
blv_lbfgs_result blv_lbfgs_minimize(blv_lbfgs *lbfgs, const blv_lbfgs_problem *problem, blv_vec *x,
                                    double tolerance, size_t max_iterations);

/* The same in pieces. start projects x, evaluates there once and forgets earlier runs; x is
 * borrowed, holds the current iterate after each call, and must not be changed from outside in
 * between. iterate takes one step, line search included; after an end other than ITERATING or
 * CONVERGED it only repeats that result. (After CONVERGED it goes on, below the tolerance.) */
blv_lbfgs_result blv_lbfgs_start(blv_lbfgs *lbfgs, const blv_lbfgs_problem *problem, blv_vec *x,
                                 double tolerance);
blv_lbfgs_result blv_lbfgs_iterate(blv_lbfgs *lbfgs);

/* After start: the length of the first step, in place of one. */
void blv_lbfgs_first_step(blv_lbfgs *lbfgs, double length);
/* Evaluates again at the current iterate, whatever the end was, and keeps what was learned: for an
 * objective that has become more accurate. */
blv_lbfgs_result blv_lbfgs_refresh(blv_lbfgs *lbfgs);

/* What start does without evaluating or forgetting: for a memory that is put back (below). */
void blv_lbfgs_bind(blv_lbfgs *lbfgs, const blv_lbfgs_problem *problem, blv_vec *x,
                    double tolerance);

/* The gradient at the current iterate. Borrowed, valid until the next call. */
const blv_vec *blv_lbfgs_gradient(const blv_lbfgs *lbfgs);

/* ---- What it carries from one iteration to the next ---- */

/* Its vectors: i = 0, 1, ... until NULL. Borrowed; always the same ones. */
blv_vec *blv_lbfgs_vector(blv_lbfgs *lbfgs, size_t i);
/* Its numbers, that many; the arguments are a blv_lbfgs. fits: whether they can be put into this
 * one. Once vectors and numbers are those of another one, of the same space and memory, bind and
 * iterate go on as it would have. */
size_t blv_lbfgs_number_count(const blv_lbfgs *lbfgs);
void blv_lbfgs_get(const void *lbfgs, double *numbers);
bool blv_lbfgs_fits(const void *lbfgs, const double *numbers);
void blv_lbfgs_put(void *lbfgs, const double *numbers);
