/* What every linear solver does first: the residual of the starting point. */
#include "linsolve/operator.h"
#include "space/distance.h"

#include <float.h>
#include <math.h>

double blv_linear_roundoff(const blv_space *space) {
    return 0.5 * (blv_space_precision(space) == BLV_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
}

bool blv_linear_begin(blv_linear_result *result, blv_operator_fn apply, void *context,
                      const blv_vec *b, blv_vec *x, bool x_is_zero, double tol_abs,
                      size_t max_products, blv_vec *r) {
    *result = (blv_linear_result){.end = BLV_LINEAR_LIMIT, .residual = NAN};
    if (x_is_zero) {
        blv_vec_fill(x, 0.0);
        blv_vec_copy(r, b);
        result->residual = blv_vec_norm(r);
    } else {
        if (max_products == 0)
            return false;
        result->products = 1;
        result->code = apply(context, x, r);
        if (result->code != 0) {
            result->end = BLV_LINEAR_OPERATOR;
            return false;
        }
        result->residual = blv_distance(r, b, r);
    }
    if (!isfinite(result->residual)) {
        result->end = BLV_LINEAR_NONFINITE;
        return false;
    }
    if (result->residual <= tol_abs) {
        result->end = BLV_LINEAR_CONVERGED;
        return false;
    }
    return true;
}
