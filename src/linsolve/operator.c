/* What linear solvers share: their workspace, and the residual of the starting point. */
#include "linsolve/operator.h"
#include "base/precision.h"
#include "space/distance.h"

#include <math.h>
#include <stdlib.h>

blv_error blv_linear_work_create(blv_linear_work **work, const blv_space *space, size_t count) {
    blv_linear_work *w = *work = calloc(1, sizeof *w + count * sizeof *w->vec);
    if (!w)
        return BLV_E_MEMORY;
    w->space = space;
    blv_error error = BLV_OK;
    while (error == BLV_OK && w->count < count)
        error = blv_vec_create(&w->vec[w->count++], space);
    if (error != BLV_OK) {
        blv_linear_work_destroy(w);
        *work = NULL;
    }
    return error;
}

void blv_linear_work_destroy(blv_linear_work *work) {
    for (size_t i = 0; work && i < work->count; i++)
        blv_vec_destroy(work->vec[i]);
    free(work);
}

size_t blv_linear_work_bytes(const blv_linear_work *work) {
    return sizeof *work + work->count * (sizeof *work->vec + blv_space_vec_bytes(work->space));
}

double blv_linear_roundoff(const blv_space *space) {
    return 0.5 * blv_epsilon(blv_space_precision(space));
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
        if (result->code == 0)
            result->residual = blv_distance(r, b, r);
    }
    if (result->code != 0)
        result->end = BLV_LINEAR_OPERATOR;
    else if (!isfinite(result->residual))
        result->end = BLV_LINEAR_NONFINITE;
    else if (result->residual <= tol_abs)
        result->end = BLV_LINEAR_CONVERGED;
    return result->end == BLV_LINEAR_LIMIT;
}
