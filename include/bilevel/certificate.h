/* The certificate: how good a point is, computed from the problem's oracles, independent of the
 * solver. And solving the lower level alone. */
#ifndef BILEVEL_CERTIFICATE_H
#define BILEVEL_CERTIFICATE_H

#include "bilevel/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computed after a tight solve of the lower level. */
typedef enum blv_answer { BLV_UNKNOWN, BLV_YES, BLV_NO } blv_answer;

typedef struct blv_certificate {
    double phi;             /* f(x, y*(x)) */
    double grad_norm;       /* |grad Phi(x)|; on a set X |x - P_X(x - t grad Phi(x))|/t, with
                               t |grad Phi| = |x|/64, or |Phi|/(64 |grad Phi|) where x = 0 */
    double inner_residual;  /* |gy| at the given y */
    double solve_residual;  /* |gy| after the tight solve */
    double linear_residual; /* |r| after the tight solve */
    double estimate_error;  /* |d(x, y, v) - grad Phi(x)| for the given v; NaN without v */
    bool projected;         /* grad_norm is that of the gradient mapping */
    bool singular;          /* d2g/dy2 is singular: grad_norm and estimate_error are NaN */
    bool tight;             /* both solves reached the limit of the precision */
    blv_answer minimum;     /* whether H is positive definite there: y is a minimum of g(x, .) */
    double start_phi;       /* Phi where the run began; NaN unless it is a run's that has ended */
    bool above_start;       /* phi is higher, by more than a millionth */
} blv_certificate;
#define BLV_NO_CERTIFICATE                                                                         \
    ((blv_certificate){.phi = NAN,                                                                 \
                       .grad_norm = NAN,                                                           \
                       .inner_residual = NAN,                                                      \
                       .solve_residual = NAN,                                                      \
                       .linear_residual = NAN,                                                     \
                       .estimate_error = NAN,                                                      \
                       .start_phi = NAN})

/* v may be NULL. counts may be NULL. */
BLV_API blv_error blv_certify(const blv_problem *problem, const blv_vec *x, const blv_vec *y,
                              const blv_vec *v, blv_certificate *certificate, blv_counts *counts,
                              blv_message *why);
/* The certificate of the run's current x, y and v. Adds a note where a run has ended above its
 * start. */
BLV_API blv_error blv_run_certify(blv_run *run, blv_certificate *certificate);

/* ---- The lower level alone ---- */

/* Called before every oracle call; non-zero stops the work. */
typedef int (*blv_stop_fn)(void *context);
/* y becomes y*(x), starting from the given y: |gy| <= tol, or as small as rounding allows. gy_norm
 * is what was reached; NaN when stop, which may be NULL, stopped it. */
BLV_API blv_error blv_solve_lower(const blv_problem *problem, const blv_vec *x, blv_vec *y,
                                  double tol, blv_stop_fn stop, void *context, double *gy_norm,
                                  blv_message *why);
/* v becomes H^-1 b at x and y, starting from the given v: |H v - b| <= tol, or as small as rounding
 * allows. The gradient of b'y*(x) is then -J v. residual is what was reached; NaN when stop stopped
 * it. BLV_E_UNSUPPORTED when H is singular. */
BLV_API blv_error blv_solve_adjoint(const blv_problem *problem, const blv_vec *x, const blv_vec *y,
                                    const blv_vec *b, blv_vec *v, double tol, blv_stop_fn stop,
                                    void *context, double *residual, blv_message *why);

#ifdef __cplusplus
}
#endif
#endif
