/* Writing a solver.
 *
 * A solver is a descriptor and a step function. The run owns stopping, counting, timing, tracing
 * and memory: a step contains the algorithm and nothing else. Vectors and scalars are registered by
 * name in `open`; the struct that holds them is allocated by the run. See examples/own_solver.c. */
#ifndef BILEVEL_SOLVER_H
#define BILEVEL_SOLVER_H

#include "bilevel/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct blv_run blv_run;
typedef struct blv_sampler blv_sampler;

/* What a step, or anything that calls an oracle, returns. Pass on whatever is not BLV_GO. */
typedef enum blv_flow {
    BLV_GO = 0,
    BLV_RETRY,      /* an oracle rejected the point: the run halves the last move and retries */
    BLV_FINISHED,   /* the solver's own test is met: see blv_run_finished */
    BLV_STUCK,      /* no further progress in this precision */
    BLV_HALT,       /* a limit or a stop request came inside the step */
    BLV_NONFINITE,  /* a value was not finite */
    BLV_NO_INVERSE, /* the lower-level Hessian is singular */
    BLV_FATAL       /* an oracle failed fatally */
} blv_flow;

#define BLV_TRY(call)                                                                              \
    do {                                                                                           \
        blv_flow blv_try_flow = (call);                                                            \
        if (blv_try_flow != BLV_GO)                                                                \
            return blv_try_flow;                                                                   \
    } while (0)

/* ---- The descriptor ---- */

enum {
    BLV_USES_HVP = 1,     /* calls Hv; falls back to differences of gy when the problem has none */
    BLV_USES_CROSS = 2,   /* calls Jv; falls back to differences of gx when the problem has none */
    BLV_USES_INVERSE = 4, /* needs the inverse of the lower-level Hessian */
    BLV_IS_STOCHASTIC = 8 /* draws batches unless told otherwise */
};

typedef struct blv_solver {
    size_t size; /* of this struct: a descriptor begins with BLV_SIZED(blv_solver) */
    const char *name;
    const char *summary;  /* one line */
    const char *citation; /* paper and algorithm */
    const char *group;    /* "tuning-free", "single-loop", "double-loop", "reference", ... */
    const char *hint;     /* what to change when it diverges: one line */
    const char *bias;     /* where it ends, if not at stationary points of Phi: one line */
    unsigned uses;
    size_t state_size; /* of the struct that `state` points to; allocated zero-filled by the run */
    const blv_param *params;                        /* fields of that struct; NULL: none */
    blv_error (*open)(blv_run *run, void *state);   /* register state; parameters are set already */
    blv_flow (*prepare)(blv_run *run, void *state); /* optional: before the first step; its oracle
                                                       calls are counted apart */
    blv_flow (*step)(blv_run *run, void *state);
    void (*close)(blv_run *run, void *state); /* optional: registered state needs none */
} blv_solver;

/* ---- In `open` ---- */

typedef enum blv_level { BLV_LEVEL_X, BLV_LEVEL_Y } blv_level;

/* A vector that is part of the state, all zero. Owned by the run. */
BLV_API blv_error blv_state_vec(blv_run *run, const char *name, blv_level level, blv_vec **vec);
/* A vector that moves (see blv_move): it keeps its previous value, so that a move can be halved. */
BLV_API blv_error blv_state_iterate(blv_run *run, const char *name, blv_level level, blv_vec **vec);
/* A scalar of the state struct; it gets a column in the trace. */
BLV_API blv_error blv_state_scalar(blv_run *run, const char *name, double *scalar);
/* The same without a column. */
BLV_API blv_error blv_state_hidden(blv_run *run, const char *name, double *scalar);
/* An array of count numbers, all zero: dense matrices and the like. Owned by the run. */
BLV_API blv_error blv_state_block(blv_run *run, const char *name, size_t count, double **block);
/* A vector whose content does not survive a step. Owned by the run. */
BLV_API blv_error blv_scratch_vec(blv_run *run, blv_level level, blv_vec **vec);
/* Batches of one level (BLV_LEVEL_X: f, BLV_LEVEL_Y: g). Streams of different names are
 * independent. size: 0 for what the run's `batch` says. */
BLV_API blv_error blv_state_sampler(blv_run *run, const char *name, blv_level level, size_t size,
                                    blv_sampler **sampler);
/* Makes the run the owner of an object: counted as memory, destroyed with the run, and destroyed at
 * once when this call fails. */
BLV_API blv_error blv_run_own(blv_run *run, void *object, void (*destroy)(void *object),
                              size_t bytes);
/* Leaves a readable message and returns the error, for `return blv_run_fail(...)`. */
BLV_API blv_error blv_run_fail(blv_run *run, blv_error error, const char *format, ...)
    BLV_PRINTF(3, 4);

/* ---- In `prepare` and `step` ---- */

BLV_API blv_vec *blv_run_x(blv_run *run);
BLV_API blv_vec *blv_run_y(blv_run *run);
BLV_API const blv_problem *blv_run_problem(const blv_run *run);
BLV_API uint64_t blv_run_iteration(const blv_run *run); /* 0 in the first step */
BLV_API uint64_t blv_run_limit(const blv_run *run);     /* iteration limit, 0: none */

/* The next batch; NULL when the whole sum is to be used. Valid until the next draw. */
BLV_API const blv_batch *blv_sampler_next(blv_sampler *sampler);

/* The problem's oracles, counted, with central differences where the problem has no Hv or Jv.
 * blv_oracle_cross is the product with the cross derivative, jv = (d2g/dxdy) v. */
BLV_API blv_flow blv_oracle_upper(blv_run *run, const blv_batch *batch, const blv_vec *x,
                                  const blv_vec *y, double *f, blv_vec *fx, blv_vec *fy);
BLV_API blv_flow blv_oracle_lower(blv_run *run, const blv_batch *batch, const blv_vec *x,
                                  const blv_vec *y, double *g, blv_vec *gx, blv_vec *gy);
BLV_API blv_flow blv_oracle_hvp(blv_run *run, const blv_batch *batch, const blv_vec *x,
                                const blv_vec *y, const blv_vec *v, blv_vec *hv);
BLV_API blv_flow blv_oracle_cross(blv_run *run, const blv_batch *batch, const blv_vec *x,
                                  const blv_vec *y, const blv_vec *v, blv_vec *jv);
BLV_API blv_flow blv_oracle_all(blv_run *run, const blv_batch *batch, const blv_vec *x,
                                const blv_vec *y, const blv_vec *v, blv_vec *gy, blv_vec *hv,
                                blv_vec *jv);
/* x = P_X(x); nothing to do where X is the whole space. blv_move does this by itself. */
BLV_API blv_flow blv_oracle_project(blv_run *run, blv_vec *x);

/* All scalars that a step needs, in one reduction: blv_run_reduce(run, BLV_SCALARS(BLV_NORM(&norm,
 * gy), ...)). BLV_NONFINITE when one of them is not finite, or when a move since the last reduction
 * was not: that one is undone, so the iterates that a run shows are always finite. */
BLV_API blv_flow blv_run_reduce(blv_run *run, size_t count, const blv_scalar *scalars);

/* iterate = iterate - step * direction, projected onto X when the iterate is the run's x. The next
 * reduction checks it, or it is BLV_NONFINITE at once where the space can tell. */
BLV_API blv_flow blv_move(blv_run *run, blv_vec *iterate, double step, const blv_vec *direction);
/* iterate = sum_i coef[i] terms[i], likewise. */
BLV_API blv_flow blv_move_to(blv_run *run, blv_vec *iterate, size_t count, const double *coef,
                             const blv_vec *const *terms);

/* What a step reports for stopping, trace and display. NaN: not reported. */
typedef struct blv_metrics {
    double gy_norm;                /* |gy| */
    double r_norm;                 /* |r|, residual of the linear system */
    double d_norm;                 /* |d|, hypergradient estimate */
    double step_y, step_v, step_x; /* step sizes in effect */
} blv_metrics;
BLV_API blv_metrics *blv_run_metrics(blv_run *run);

/* For `return blv_run_finished(run, tolerance)`: the solver has met its own test, and claims that
 * |grad Phi| is at most the tolerance. The run converged if the certificate says so too. */
BLV_API blv_flow blv_run_finished(blv_run *run, double tolerance);

/* Adds a line to the notes of the result, once for each format string. */
BLV_API void blv_run_note(blv_run *run, const char *format, ...) BLV_PRINTF(2, 3);
/* Takes it back: it is no longer true. */
BLV_API void blv_run_unnote(blv_run *run, const char *format);

#ifdef __cplusplus
}
#endif
#endif
