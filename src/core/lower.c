/* The lower level alone, for a user's call. */
#include "base/message.h"
#include "bilevel/certificate.h"
#include "core/implicit.h"

#include <math.h>

/* What a call works with; it must stay where it is. */
typedef struct lower_work {
    blv_counts counts;
    blv_stop_fn stop;
    void *context;
    blv_eval eval;
    blv_implicit *implicit;
} lower_work;

static blv_flow ask(void *work) {
    const lower_work *w = work;
    const double stop = w->stop(w->context) != 0;
    return blv_space_agree(w->eval.def->space_y, stop) != 0.0 ? BLV_HALT : BLV_GO;
}

static blv_error open_work(lower_work *w, const blv_problem *problem, blv_stop_fn stop,
                           void *context) {
    *w = (lower_work){.stop = stop, .context = context};
    BLV_CHECK(blv_eval_open(&w->eval, problem, &w->counts));
    if (stop) {
        w->eval.interrupt = ask;
        w->eval.interrupt_context = w;
    }
    BLV_CHECK(blv_implicit_create(&w->implicit, &w->eval));
    return blv_implicit_form(w->implicit);
}

static blv_error close_work(lower_work *w, blv_error error, blv_flow flow, const char *what,
                            blv_message *why) {
    blv_implicit_destroy(w->implicit);
    blv_eval_close(&w->eval);
    if (error != BLV_OK)
        return blv_explain(why, error, "%s: %s", what, blv_error_text(error));
    if (flow == BLV_GO || flow == BLV_HALT)
        return BLV_OK;
    if (flow == BLV_NO_INVERSE)
        return blv_explain(why, BLV_E_UNSUPPORTED, "%s: the lower-level Hessian is singular", what);
    return blv_explain(why, BLV_E_ORACLE, "%s: %s", what,
                       flow == BLV_NONFINITE ? "a value was not finite" : "an oracle failed");
}

static bool fits(const blv_problem *problem, const blv_vec *x, const blv_vec *y) {
    const blv_problem_def *def = blv_problem_definition(problem);
    return blv_vec_space(x) == def->space_x && blv_vec_space(y) == def->space_y;
}

blv_error blv_solve_lower(const blv_problem *problem, const blv_vec *x, blv_vec *y, double tol,
                          blv_stop_fn stop, void *context, double *gy_norm, blv_message *why) {
    if (!problem || !x || !y || !gy_norm || !(tol >= 0.0))
        return blv_explain(why, BLV_E_ARGUMENT, "blv_solve_lower: a bad argument");
    if (!fits(problem, x, y))
        return blv_explain(why, BLV_E_ARGUMENT,
                           "blv_solve_lower: vectors are not of the problem's spaces");
    lower_work w;
    blv_flow flow = BLV_GO;
    *gy_norm = NAN;
    blv_error error = open_work(&w, problem, stop, context);
    if (error == BLV_OK)
        flow = blv_implicit_inner(w.implicit, x, y, tol, gy_norm);
    return close_work(&w, error, flow, "lower level", why);
}

blv_error blv_solve_adjoint(const blv_problem *problem, const blv_vec *x, const blv_vec *y,
                            const blv_vec *b, blv_vec *v, double tol, blv_stop_fn stop,
                            void *context, double *residual, blv_message *why) {
    if (!problem || !x || !y || !b || !v || !residual || !(tol >= 0.0))
        return blv_explain(why, BLV_E_ARGUMENT, "blv_solve_adjoint: a bad argument");
    if (!fits(problem, x, y) || !fits(problem, x, b) || !fits(problem, x, v))
        return blv_explain(why, BLV_E_ARGUMENT,
                           "blv_solve_adjoint: vectors are not of the problem's spaces");
    lower_work w;
    blv_flow flow = BLV_GO;
    *residual = NAN;
    blv_error error = open_work(&w, problem, stop, context);
    if (error == BLV_OK)
        flow = blv_implicit_adjoint(w.implicit, x, y, b, v, tol, residual);
    return close_work(&w, error, flow, "adjoint", why);
}
