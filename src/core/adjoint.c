#include "core/adjoint.h"

typedef struct hessian_at {
    blv_run *run;
    const blv_batch *batch;
    const blv_vec *x, *y;
} hessian_at;

static int apply_hessian(void *context, const blv_vec *in, blv_vec *out) {
    const hessian_at *h = context;
    return (int)blv_oracle_hvp(h->run, h->batch, h->x, h->y, in, out);
}

blv_flow blv_adjoint_cg(blv_run *run, blv_cg *cg, const blv_batch *batch, const blv_vec *x,
                        const blv_vec *y, const blv_vec *fy, blv_vec *v, size_t products,
                        double *r_norm) {
    hessian_at h = {run, batch, x, y};
    blv_linear_result result = blv_cg_solve(cg, apply_hessian, &h, fy, v, false, 0.0, products);
    *r_norm = result.residual;
    if (result.end == BLV_LINEAR_OPERATOR)
        return (blv_flow)result.code;
    if (result.end == BLV_LINEAR_NONFINITE)
        return BLV_NONFINITE;
    if (result.end == BLV_LINEAR_SINGULAR)
        return BLV_NO_INVERSE;
    if (result.end == BLV_LINEAR_INDEFINITE)
        blv_run_note(run, "CG met a direction in which g curves down, and stopped there");
    return BLV_GO;
}
