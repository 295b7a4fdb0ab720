#include "blocks/dense_derivatives.h"
#include "base/precision.h"
#include "core/run_private.h"
#include "core/workspace.h"
#include "linsolve/dense_symmetric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

blv_error blv_matrices_fit(blv_run *run, bool with_cross) {
    size_t dx = run->def->dim_x, dy = run->def->dim_y;
    if (dy > BLV_MATRICES_DIM_MAX)
        return blv_run_fail(run, BLV_E_UNSUPPORTED,
                            "solver %s: a dense d2g/dy2 is kept for at most %d unknowns, y has "
                            "%zu; use products",
                            run->solver->name, BLV_MATRICES_DIM_MAX, dy);
    if (with_cross && dx > BLV_MATRICES_ENTRIES_MAX / dy)
        return blv_run_fail(run, BLV_E_UNSUPPORTED,
                            "solver %s: a dense d2g/dxdy is kept for at most %d entries, this one "
                            "has %zu x %zu; use products",
                            run->solver->name, BLV_MATRICES_ENTRIES_MAX, dx, dy);
    return BLV_OK;
}

blv_error blv_matrices_open(blv_run *run, blv_matrices *m) {
    size_t dx = run->def->dim_x, dy = run->def->dim_y;
    BLV_CHECK(blv_scratch_vecs(run, BLV_LEVEL_Y, &m->unit, &m->hv, NULL));
    BLV_CHECK(blv_scratch_vec(run, BLV_LEVEL_X, &m->jv));
    return blv_scratch_block(run, dx > dy ? dx : dy, &m->host);
}

/* Columns of the matrices that are asked for, one unit vector after the other. */
static blv_flow fill_by_products(blv_run *run, blv_matrices *m, const blv_batch *batch,
                                 const blv_vec *x, const blv_vec *y, double *H, double *J) {
    size_t dx = run->def->dim_x, dy = run->def->dim_y;
    for (size_t k = 0; k < dy; k++) {
        memset(m->host, 0, dy * sizeof *m->host);
        m->host[k] = 1.0;
        blv_vec_write(m->unit, m->host);
        BLV_TRY(
            blv_oracle_all(run, batch, x, y, m->unit, NULL, H ? m->hv : NULL, J ? m->jv : NULL));
        if (H)
            blv_vec_read(m->hv, H + k * dy); /* a column of H is a row */
        if (!J)
            continue;
        blv_vec_read(m->jv, m->host);
        for (size_t i = 0; i < dx; i++)
            J[i * dy + k] = m->host[i];
    }
    return BLV_GO;
}

static void make_symmetric(size_t n, double *a) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            a[i * n + j] = a[j * n + i] = 0.5 * (a[i * n + j] + a[j * n + i]);
}

blv_flow blv_matrices_fill(blv_run *run, blv_matrices *m, const blv_batch *batch, const blv_vec *x,
                           const blv_vec *y, double *H, double *J) {
    size_t dx = run->def->dim_x, dy = run->def->dim_y;
    bool own_H = run->def->lower_hessian_matrix, own_J = J && run->def->lower_cross_matrix;
    if (own_H)
        BLV_TRY(blv_eval_matrix(&run->eval, BLV_ORACLE_HESSIAN, batch, x, y, H));
    if (own_J)
        BLV_TRY(blv_eval_matrix(&run->eval, BLV_ORACLE_CROSS_MATRIX, batch, x, y, J));
    if (!own_H || (J && !own_J))
        BLV_TRY(fill_by_products(run, m, batch, x, y, own_H ? NULL : H, own_J ? NULL : J));
    if (!blv_all_finite(H, dy * dy) || (J && !blv_all_finite(J, dx * dy)))
        return BLV_NONFINITE;
    make_symmetric(dy, H);
    return BLV_GO;
}

blv_error blv_dense_system_open(blv_run *run, blv_dense_system *s) {
    s->n = run->def->dim_y;
    BLV_CHECK(blv_scratch_block(run, s->n * s->n, &s->factors));
    BLV_CHECK(blv_scratch_block(run, 2 * s->n, &s->host));
    BLV_CHECK(blv_scratch_block(run, 2 * s->n, &s->work));
    s->order = malloc(s->n * sizeof *s->order);
    if (!s->order)
        return blv_run_fail(run, BLV_E_MEMORY, "dense system: out of memory");
    return blv_run_own(run, s->order, free, s->n * sizeof *s->order);
}

blv_flow blv_dense_system_factor(blv_dense_system *s, const double *H, const blv_vec *fy,
                                 blv_vec *v, blv_adjoint_result *result) {
    memcpy(s->factors, H, s->n * s->n * sizeof *H);
    result->r_norm = NAN;
    result->singular = !blv_dense_factor(s->n, s->factors, s->order, s->work);
    return result->singular ? BLV_GO : blv_dense_system_solve(s, H, fy, v, &result->r_norm);
}

blv_flow blv_dense_system_solve(blv_dense_system *s, const double *H, const blv_vec *fy, blv_vec *v,
                                double *r_norm) {
    double *b = s->host, *solution = s->host + s->n, square = 0.0;
    blv_vec_read(fy, b);
    blv_dense_solve(s->n, s->factors, s->order, b, solution, s->work);
    if (!blv_all_finite(solution, s->n))
        return BLV_NONFINITE;
    blv_vec_write(v, solution);
    for (size_t i = 0; i < s->n; i++) {
        double r = b[i];
        for (size_t j = 0; j < s->n; j++)
            r -= H[i * s->n + j] * solution[j];
        square += r * r;
    }
    *r_norm = sqrt(square);
    return BLV_GO;
}
