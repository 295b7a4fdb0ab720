#include "blocks/adjoint.h"
#include "core/implicit.h"

typedef struct hessian_at {
    blv_run *run;
    const blv_batch *batch;
    const blv_vec *x, *y;
} hessian_at;

static int apply_hessian(void *context, const blv_vec *in, blv_vec *out) {
    const hessian_at *h = context;
    return (int)blv_oracle_hvp(h->run, h->batch, h->x, h->y, in, out);
}

blv_flow blv_adjoint_cg(blv_run *run, blv_linear_work *cg, const blv_batch *batch, const blv_vec *x,
                        const blv_vec *y, const blv_vec *fy, blv_vec *v, size_t products,
                        double *r_norm) {
    hessian_at h = {run, batch, x, y};
    blv_linear_result result = blv_cg_solve(cg, apply_hessian, &h, fy, v, false, 0.0, products);
    *r_norm = result.residual;
    BLV_TRY(blv_linear_flow(result.end, result.code));
    if (result.end == BLV_LINEAR_SINGULAR)
        return BLV_NO_INVERSE;
    if (result.end == BLV_LINEAR_INDEFINITE)
        blv_run_note(run, "CG met a direction in which g curves down, and stopped there");
    return BLV_GO;
}

blv_flow blv_adjoint_minres_of(blv_linear_work *minres, blv_operator_fn apply, void *context,
                               const blv_vec *fy, blv_vec *v, const blv_adjoint_limits *limits,
                               blv_adjoint_result *result) {
    double fy_norm = blv_vec_norm(fy), tolerance = limits->tolerance * fy_norm;
    size_t products = (size_t)limits->products;
    bool cold = blv_vec_norm(v) == 0.0;
    blv_linear_result r =
        blv_minres_solve(minres, apply, context, fy, v, cold, tolerance, products);
    BLV_TRY(blv_linear_flow(r.end, r.code));
    if (!cold && r.residual > fy_norm) {
        r = blv_minres_solve(minres, apply, context, fy, v, true, tolerance, products);
        BLV_TRY(blv_linear_flow(r.end, r.code));
    }
    /* MINRES takes badly conditioned systems for singular too; those it has solved as well */
    bool singular = r.end == BLV_LINEAR_SINGULAR && r.residual > 1e-3 * fy_norm;
    *result = (blv_adjoint_result){r.residual, singular};
    return BLV_GO;
}

blv_flow blv_adjoint_minres(blv_run *run, blv_linear_work *minres, const blv_batch *batch,
                            const blv_vec *x, const blv_vec *y, const blv_vec *fy, blv_vec *v,
                            const blv_adjoint_limits *limits, blv_adjoint_result *result) {
    hessian_at h = {run, batch, x, y};
    return blv_adjoint_minres_of(minres, apply_hessian, &h, fy, v, limits, result);
}

blv_flow blv_adjoint_singular(blv_run *run, const blv_batch *batch, bool singular,
                              double *in_a_row) {
    enum { TOO_MANY = 20 };
    *in_a_row = singular && !batch ? *in_a_row + 1.0 : 0.0;
    if (singular)
        blv_run_note(run, "d2g/dy2 was singular at an iterate, first in iteration %llu",
                     (unsigned long long)blv_run_iteration(run) + 1);
    return *in_a_row >= TOO_MANY ? BLV_NO_INVERSE : BLV_GO;
}
