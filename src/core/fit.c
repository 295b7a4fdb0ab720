/* Which solvers suit a problem. */
#include "base/message.h"
#include "core/problem_private.h"

#include "bilevel/registry.h"
#include "bilevel/run.h"

static const char *products_missing(const blv_solver *solver, const blv_problem_def *def) {
    bool hvp = (solver->uses & BLV_USES_HVP) && blv_lacks_hvp(def);
    bool cross = (solver->uses & BLV_USES_CROSS) && blv_lacks_cross(def);
    return hvp && cross ? "Hv and Jv" : hvp ? "Hv" : cross ? "Jv" : NULL;
}

blv_fit blv_solver_fit(const blv_solver *solver, const blv_problem *problem, blv_message *remark) {
    const blv_problem_def *def = blv_problem_definition(problem);
    if (!solver || !def) {
        blv_explain(remark, BLV_OK, "a solver and a problem are needed");
        return BLV_FIT_REJECTED;
    }
    if (def->singular_lower && (solver->uses & BLV_USES_INVERSE)) {
        blv_explain(remark, BLV_OK,
                    "d2g/dy2 is singular (the lower level has many solutions), and its inverse is "
                    "needed");
        return BLV_FIT_REJECTED;
    }
    const char *missing = products_missing(solver, def);
    bool is_sum = def->upper_samples > 1 || def->lower_samples > 1;
    bool whole = (solver->uses & BLV_IS_STOCHASTIC) && !is_sum;
    blv_explain(remark, BLV_OK, "%s%s%s%s", missing ? "finite differences of gradients for " : "",
                missing ? missing : "", missing && whole ? "; " : "",
                whole ? "no batches, as the problem is not a sum of samples" : "");
    return missing ? BLV_FIT_DIFFERENCES : BLV_FIT_SUITED;
}
