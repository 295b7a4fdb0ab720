/* The lower level alone, for a user's call. */
#include "base/message.h"
#include "bilevel/certificate.h"
#include "core/implicit.h"

#include <math.h>

typedef struct asking {
    const blv_space *space;
    blv_stop_fn stop;
    void *context;
} asking;

static blv_flow ask(void *context) {
    const asking *a = context;
    return blv_space_agree(a->space, a->stop(a->context) != 0) != 0.0 ? BLV_HALT : BLV_GO;
}

blv_error blv_solve_lower(const blv_problem *problem, const blv_vec *x, blv_vec *y, double tol,
                          blv_stop_fn stop, void *context, double *gy_norm, blv_message *why) {
    if (!problem || !x || !y || !gy_norm || !(tol >= 0.0))
        return blv_explain(why, BLV_E_ARGUMENT, "blv_solve_lower: a bad argument");
    const blv_problem_def *def = blv_problem_definition(problem);
    if (blv_vec_space(x) != def->space_x || blv_vec_space(y) != def->space_y)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "blv_solve_lower: vectors are not of the problem's spaces");
    blv_counts counts = {0, 0, 0, 0, 0};
    asking asked = {def->space_y, stop, context};
    blv_eval eval;
    blv_implicit *implicit = NULL;
    blv_flow flow = BLV_GO;
    *gy_norm = NAN;
    blv_error error = blv_eval_open(&eval, problem, &counts);
    if (error == BLV_OK)
        error = blv_implicit_create(&implicit, &eval);
    if (error == BLV_OK && stop) {
        eval.interrupt = ask;
        eval.interrupt_context = &asked;
    }
    if (error == BLV_OK)
        flow = blv_implicit_inner(implicit, x, y, tol, gy_norm);
    blv_implicit_destroy(implicit);
    blv_eval_close(&eval);
    if (error != BLV_OK)
        return blv_explain(why, error, "lower level: %s", blv_error_text(error));
    if (flow == BLV_GO || flow == BLV_HALT)
        return BLV_OK;
    return blv_explain(why, BLV_E_ORACLE, "lower level: %s",
                       flow == BLV_NONFINITE ? "a value was not finite" : "an oracle failed");
}
