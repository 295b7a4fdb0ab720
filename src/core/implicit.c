/* The lower level by Newton-CG, the linear system by CG or MINRES.
 *
 *   H p = gy by CG, to |H p - gy| <= min(1/2, sqrt(|gy|/|gy_0|)) |gy|;   y <- y - t p
 *
 * with t from backtracking on g. Where CG meets a direction that does not curve up, what it has so
 * far (or the direction itself, at the first step) is used: g falls along it as well, so lower
 * levels that are not convex but have no bad stationary point (PL) are solved too. Near the
 * solution differences of g drown in rounding; there a step counts when it makes |gy| smaller.
 * Truncated Newton because it needs Hv only, and because a certificate wants |gy| at rounding
 * level, which first-order methods reach slowly on ill-conditioned problems. */
#include "core/implicit.h"
#include "base/precision.h"
#include "base/random.h"
#include "space/distance.h"

#include <math.h>
#include <stdlib.h>

enum { NEWTON_MAX = 500, HALVINGS_MAX = 60, FLAT_STEPS_MAX = 3 };

struct blv_implicit {
    blv_eval *eval;
    double eps;
    double g_scale; /* size of the terms that cancel in g */
    blv_linear_work *cg;
    blv_linear_work *minres;
    const blv_vec *x, *y; /* where the operator takes H */
    size_t budget;        /* products for the two solves of a gradient; 0: no limit */
    size_t spent;         /* of it */
    blv_answer minimum;   /* see blv_implicit_minimum */
    blv_vec *gy, *gy_trial, *y_trial, *p;
    blv_vec *fy, *jv;
    blv_vec *unit, *column; /* of H, where it is formed; NULL: never */
    blv_recycled matrix;    /* H, formed where solves with it are long; see blv_implicit_form */
    size_t *rows;           /* of the samples */
    blv_batch sample;       /* that it is formed from; none: all */
};

blv_error blv_implicit_create(blv_implicit **implicit, blv_eval *eval) {
    *implicit = NULL;
    blv_implicit *m = calloc(1, sizeof *m);
    if (!m)
        return BLV_E_MEMORY;
    const blv_space *space_y = eval->def->space_y;
    m->eval = eval;
    m->eps = blv_epsilon(blv_space_precision(space_y));
    blv_vec **vectors[] = {&m->gy, &m->gy_trial, &m->y_trial, &m->p, &m->fy};
    blv_error error = blv_linear_work_create(&m->cg, space_y, BLV_CG_VECTORS);
    if (error == BLV_OK)
        error = blv_linear_work_create(&m->minres, space_y, BLV_MINRES_VECTORS);
    for (size_t i = 0; error == BLV_OK && i < sizeof vectors / sizeof *vectors; i++)
        error = blv_vec_create(vectors[i], space_y);
    if (error == BLV_OK)
        error = blv_vec_create(&m->jv, eval->def->space_x);
    if (error != BLV_OK) {
        blv_implicit_destroy(m);
        return error;
    }
    *implicit = m;
    return BLV_OK;
}

void blv_implicit_destroy(blv_implicit *m) {
    if (!m)
        return;
    blv_linear_work_destroy(m->cg);
    blv_linear_work_destroy(m->minres);
    blv_vec *all[] = {m->gy, m->gy_trial, m->y_trial, m->p, m->fy, m->jv, m->unit, m->column};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        blv_vec_destroy(all[i]);
    free(m->matrix.upper);
    free(m->matrix.room);
    free(m->rows);
    free(m);
}

blv_error blv_implicit_recycle(blv_implicit *m, blv_recycled *recycled) {
    m->cg->recycled = recycled;
    if (!recycled->upper)
        return BLV_OK;
    BLV_CHECK(blv_vec_create(&m->unit, m->eval->def->space_y));
    return blv_vec_create(&m->column, m->eval->def->space_y);
}

/* Every n-th sample, 10 for each dimension of y: enough for a preconditioner. */
static blv_error take_sample(blv_implicit *m) {
    enum { FOR_EACH_DIM = 10, LEAST_STRIDE = 4 };
    const blv_problem_def *def = m->eval->def;
    const size_t count = FOR_EACH_DIM * def->dim_y, stride = def->lower_samples / count;
    if (stride < LEAST_STRIDE)
        return BLV_OK;
    m->rows = malloc(count * sizeof *m->rows);
    for (size_t i = 0; m->rows && i < count; i++)
        m->rows[i] = i * stride;
    m->sample = (blv_batch){.count = count, .index = m->rows, .memory = BLV_MEMORY_HOST};
    return m->rows ? BLV_OK : BLV_E_MEMORY;
}

blv_error blv_implicit_form(blv_implicit *m) {
    const size_t dim = m->eval->def->dim_y;
    if (!blv_implicit_may_form(m->eval->def))
        return BLV_OK;
    m->matrix.upper = malloc(dim * dim * sizeof *m->matrix.upper);
    m->matrix.room = malloc(dim * sizeof *m->matrix.room);
    if (!m->matrix.upper || !m->matrix.room)
        return BLV_E_MEMORY;
    BLV_CHECK(take_sample(m));
    return blv_implicit_recycle(m, &m->matrix);
}

void blv_implicit_forget(blv_implicit *m) {
    m->matrix.is_dense = m->matrix.products = 0.0;
}

bool blv_implicit_may_form(const blv_problem_def *def) {
    return def->dim_y <= BLV_DENSE_MAX && blv_space_memory(def->space_y) == BLV_MEMORY_HOST;
}

size_t blv_implicit_bytes(const blv_implicit *m) {
    return sizeof *m + blv_linear_work_bytes(m->cg) + blv_linear_work_bytes(m->minres) +
           5 * blv_space_vec_bytes(m->eval->def->space_y) +
           blv_space_vec_bytes(m->eval->def->space_x) + m->sample.count * sizeof *m->rows +
           (m->matrix.upper ? (m->eval->def->dim_y + 1) * m->eval->def->dim_y * sizeof(double) : 0);
}

/* The Hessian as an operator; a flow other than BLV_GO is the code that ends the solve. */
static int apply_hessian(void *context, const blv_vec *in, blv_vec *out) {
    blv_implicit *m = context;
    m->spent++;
    if (m->cg->recycled)
        m->cg->recycled->products++;
    return (int)blv_eval_hvp(m->eval, NULL, m->x, m->y, in, out);
}

/* Half of a budget is for y, half for v. */
static size_t products_max(const blv_implicit *m) {
    size_t dim = m->eval->def->dim_y;
    return m->budget > 0 ? m->budget / 2 : dim < 10000 ? 20 * dim + 100 : 200000;
}

/* What forming H costs, in products with all of it. */
static double matrix_cost(const blv_implicit *m) {
    const blv_problem_def *def = m->eval->def;
    const double share = m->rows ? (double)m->sample.count / (double)def->lower_samples : 1.0;
    return share * (double)def->dim_y;
}

static blv_flow form_matrix(blv_implicit *m) {
    blv_recycled *r = m->cg->recycled;
    const blv_batch *batch = m->rows ? &m->sample : NULL;
    const size_t n = m->eval->def->dim_y;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n; i++)
            r->room[i] = i == j ? 1.0 : 0.0;
        blv_vec_write(m->unit, r->room);
        BLV_TRY(blv_eval_hvp(m->eval, batch, m->x, m->y, m->unit, m->column));
        blv_vec_read(m->column, r->upper + j * n);
    }
    blv_recycled_take_matrix(r, n);
    return BLV_GO;
}

/* Whether CG came to its end for a reason that factors of H do not know: H seems singular to it, or
 * rounding errors of |H| are large beside b. Penalties that are decades apart look like that. */
static bool factors_would_help(const blv_implicit *m, const blv_linear_result *r, const blv_vec *b,
                               double tol) {
    const double coarse = m->eps < 1e-10 ? 1e-10 : 1e-5;
    return r->end == BLV_LINEAR_SINGULAR ||
           (r->end == BLV_LINEAR_STALLED && r->residual > fmax(tol, coarse * blv_vec_norm(b)));
}

/* H(x, y) out = b by CG. H itself becomes its preconditioner where past solves were hard, and where
 * factors would help. */
static blv_flow solve(blv_implicit *m, const blv_vec *x, const blv_vec *y, const blv_vec *b,
                      blv_vec *out, bool out_is_zero, double tol, blv_linear_result *result) {
    blv_recycled *r = m->cg->recycled;
    const size_t products = products_max(m);
    m->x = x;
    m->y = y;
    bool may_form = r && r->upper;
    if (may_form && blv_recycled_wants_matrix(r, matrix_cost(m))) {
        BLV_TRY(form_matrix(m));
        may_form = false;
    }
    *result = blv_cg_solve(m->cg, apply_hessian, m, b, out, out_is_zero, tol, products);
    if (!may_form || !factors_would_help(m, result, b, tol))
        return BLV_GO;
    BLV_TRY(form_matrix(m));
    if (r->is_dense != 0.0)
        *result = blv_cg_solve(m->cg, apply_hessian, m, b, out, true, tol, products);
    return BLV_GO;
}

void blv_implicit_budget(blv_implicit *m, size_t products) {
    m->budget = products;
}

static bool budget_left(const blv_implicit *m) {
    return m->budget == 0 || m->spent < m->budget / 2;
}

/* p = approximate H^-1 gy, or another direction along which g falls from y to y - p. */
static blv_flow newton_direction(blv_implicit *m, const blv_vec *x, const blv_vec *y, double tol) {
    blv_linear_result r;
    BLV_TRY(solve(m, x, y, m->gy, m->p, true, tol, &r));
    BLV_TRY(blv_linear_flow(r.end, r.code));
    if (!m->cg->moved)
        blv_vec_copy(m->p, m->gy);
    return BLV_GO;
}

/* Finds t with y - t p acceptable and takes it; *moved tells whether there was one. */
static blv_flow line_search(blv_implicit *m, const blv_vec *x, blv_vec *y, double *g,
                            double *gy_norm, bool *moved) {
    double slope = blv_vec_dot(m->gy, m->p);
    double noise = 16.0 * m->eps * (fabs(*g) + m->g_scale + m->eps);
    blv_flow trouble = BLV_GO; /* why the last trial gave no value */
    *moved = false;
    for (int halvings = 0; halvings < HALVINGS_MAX; halvings++) {
        double t = ldexp(1.0, -halvings), g_trial, norm;
        blv_vec_combine(m->y_trial, 1.0, y, -t, m->p);
        blv_flow flow = blv_eval_lower(m->eval, NULL, x, m->y_trial, &g_trial, NULL, m->gy_trial);
        if (flow != BLV_GO && flow != BLV_RETRY)
            return flow;
        norm = blv_vec_norm(m->gy_trial);
        if (flow == BLV_GO && (!isfinite(g_trial) || !isfinite(norm)))
            flow = BLV_NONFINITE;
        trouble = flow;
        if (flow != BLV_GO)
            continue;
        bool falls = g_trial <= *g - 1e-4 * t * slope;
        bool drowns = t * fabs(slope) < noise; /* what g falls by, in its rounding */
        bool level = norm < *gy_norm && (drowns || g_trial <= *g + noise);
        if (falls || level) {
            blv_vec_swap(y, m->y_trial);
            blv_vec_swap(m->gy, m->gy_trial);
            *g = g_trial;
            *gy_norm = norm;
            *moved = true;
            return BLV_GO;
        }
        if (drowns && norm >= *gy_norm)
            return BLV_GO;
    }
    return trouble;
}

/* Newton steps until |gy| <= tol. reduce: until it has fallen to that share at least, each linear
 * solve going there at once: y is near its end; 0: the linear solves get tighter on the way. */
static blv_flow descend(blv_implicit *m, const blv_vec *x, blv_vec *y, double tol, double reduce,
                        double *gy_norm, double *left) {
    double g;
    BLV_TRY(blv_eval_lower(m->eval, NULL, x, y, &g, NULL, m->gy));
    double norm = blv_vec_norm(m->gy), first = norm;
    tol = fmax(tol, reduce * first);
    m->spent = 0;
    int flat = 0; /* steps in a row that hardly made |gy| smaller and did not lower g */
    for (int k = 0; k < NEWTON_MAX && norm > tol && flat < FLAT_STEPS_MAX && budget_left(m); k++) {
        double before = norm, g_before = g;
        double forcing = reduce > 0.0 ? fmax(0.5 * tol / norm, 0.01) : sqrt(norm / first);
        bool moved;
        BLV_TRY(newton_direction(m, x, y, fmin(0.5, forcing) * norm));
        BLV_TRY(line_search(m, x, y, &g, &norm, &moved));
        if (!moved)
            break;
        bool falls = g < g_before - 16.0 * m->eps * fabs(g_before);
        flat = norm > 0.5 * before && !falls ? flat + 1 : 0;
    }
    *gy_norm = norm;
    *left = first > 0.0 ? norm / first : 0.0;
    return isfinite(norm) && isfinite(g) ? BLV_GO : BLV_NONFINITE;
}

blv_flow blv_implicit_inner(blv_implicit *m, const blv_vec *x, blv_vec *y, double tol,
                            double *gy_norm) {
    double left;
    return descend(m, x, y, tol, 0.0, gy_norm, &left);
}

static blv_flow flow_of(const blv_linear_result *r) {
    bool none = r->end == BLV_LINEAR_SINGULAR || r->end == BLV_LINEAR_INDEFINITE;
    return none ? BLV_NO_INVERSE : blv_linear_flow(r->end, r->code);
}

blv_flow blv_implicit_adjoint(blv_implicit *m, const blv_vec *x, const blv_vec *y, const blv_vec *b,
                              blv_vec *v, double tol, double *r_norm) {
    size_t limit = products_max(m);
    blv_linear_result r;
    BLV_TRY(solve(m, x, y, b, v, false, tol, &r));
    bool solved = r.end == BLV_LINEAR_CONVERGED || r.end == BLV_LINEAR_STALLED;
    m->minimum = r.end == BLV_LINEAR_INDEFINITE ? BLV_NO : solved ? BLV_YES : BLV_UNKNOWN;
    if (flow_of(&r) == BLV_GO &&
        m->budget == 0) /* once more from there: the first product shows the true residual */
        r = blv_cg_solve(m->cg, apply_hessian, m, b, v, false, tol, limit);
    if (r.end == BLV_LINEAR_INDEFINITE || r.end == BLV_LINEAR_SINGULAR)
        r = blv_minres_solve(m->minres, apply_hessian, m, b, v, true, tol, limit);
    *r_norm = r.residual;
    return flow_of(&r);
}

blv_error blv_vec_normals(blv_vec *vec, uint64_t seed, const char *purpose) {
    const size_t dim = blv_vec_dim(vec);
    const blv_stream stream = blv_stream_make(seed, purpose);
    double *host = malloc(dim * sizeof *host);
    if (!host)
        return BLV_E_MEMORY;
    blv_random_normals(&stream, 0, dim, host);
    blv_vec_write(vec, host);
    free(host);
    return BLV_OK;
}

blv_answer blv_implicit_minimum(const blv_implicit *m) {
    return m->minimum;
}

/* The size of the terms that cancel in gy at a solution, |H y| + |gy|; sets that of g as well. */
static blv_flow gradient_scale(blv_implicit *m, const blv_vec *x, const blv_vec *y, double *scale) {
    BLV_TRY(blv_eval_hvp(m->eval, NULL, x, y, y, m->p));
    BLV_TRY(blv_eval_lower(m->eval, NULL, x, y, NULL, NULL, m->gy));
    double hy_norm = blv_vec_norm(m->p);
    m->g_scale = hy_norm * blv_vec_norm(y);
    *scale = hy_norm + blv_vec_norm(m->gy);
    return isfinite(*scale) ? BLV_GO : BLV_NONFINITE;
}

blv_flow blv_implicit_value(blv_implicit *m, const blv_vec *x, blv_vec *y, double rel, blv_vec *fx,
                            double *scale, blv_implicit_result *result) {
    *result = (blv_implicit_result){.phi = NAN, .gy_norm = NAN, .r_norm = NAN};
    double scale_there;
    rel = fmax(rel, m->eps);
    BLV_TRY(gradient_scale(m, x, y, scale));
    BLV_TRY(blv_implicit_inner(m, x, y, rel * *scale, &result->gy_norm));
    BLV_TRY(gradient_scale(m, x, y, &scale_there));
    if (scale_there < 0.1 * *scale &&
        m->budget == 0) { /* y came from far away: once more, against the size here */
        *scale = scale_there;
        BLV_TRY(blv_implicit_inner(m, x, y, rel * *scale, &result->gy_norm));
    }
    BLV_TRY(blv_eval_upper(m->eval, NULL, x, y, &result->phi, fx, m->fy));
    return isfinite(result->phi) ? BLV_GO : BLV_NONFINITE;
}

blv_flow blv_implicit_gradient(blv_implicit *m, const blv_vec *x, blv_vec *y, blv_vec *v,
                               double rel, blv_vec *gradient, blv_implicit_result *result) {
    double tight = m->eps < 1e-10 ? 1e-9 : 1e-4; /* what counts as tight, relative */
    double scale;
    BLV_TRY(blv_implicit_value(m, x, y, rel, gradient, &scale, result));
    double fy_norm = blv_vec_norm(m->fy), tol = fmax(rel, m->eps) * fy_norm;
    BLV_TRY(blv_implicit_adjoint(m, x, y, m->fy, v, tol, &result->r_norm));
    BLV_TRY(blv_eval_cross(m->eval, NULL, x, y, v, m->jv));
    double norm = blv_distance(gradient, gradient, m->jv);
    result->tight = result->gy_norm <= tight * scale && result->r_norm <= tight * fy_norm;
    return isfinite(norm) ? BLV_GO : BLV_NONFINITE;
}

/* v += H^-1 (fy - H v), to a residual of that share. */
static blv_flow correct_v(blv_implicit *m, const blv_vec *x, const blv_vec *y, blv_vec *v,
                          double reduce, double *r_norm, double *left) {
    blv_vec *r = m->p, *dv = m->y_trial;
    m->x = x;
    m->y = y;
    if (blv_vec_norm(v) > 0.0) {
        BLV_TRY((blv_flow)apply_hessian(m, v, r));
        blv_vec_combine(r, 1.0, m->fy, -1.0, r);
    } else {
        blv_vec_copy(r, m->fy);
    }
    double first = blv_vec_norm(r);
    blv_linear_result result;
    BLV_TRY(solve(m, x, y, r, dv, true, reduce * first, &result));
    m->minimum = result.end == BLV_LINEAR_INDEFINITE ? BLV_NO : BLV_UNKNOWN;
    *r_norm = result.residual;
    *left = first > 0.0 ? result.residual / first : 0.0;
    BLV_TRY(flow_of(&result));
    blv_vec_axpy(v, 1.0, dv);
    return BLV_GO;
}

blv_flow blv_implicit_follow(blv_implicit *m, const blv_vec *x, blv_vec *y, blv_vec *v,
                             double reduce, blv_vec *gradient, blv_implicit_result *result) {
    *result = (blv_implicit_result){.phi = NAN, .gy_norm = NAN, .r_norm = NAN};
    double f, change, of_y, of_v;
    BLV_TRY(descend(m, x, y, 0.0, reduce, &result->gy_norm, &of_y));
    BLV_TRY(blv_eval_upper(m->eval, NULL, x, y, &f, gradient, m->fy));
    BLV_TRY(correct_v(m, x, y, v, reduce, &result->r_norm, &of_v));
    BLV_TRY(blv_eval_cross(m->eval, NULL, x, y, v, m->jv));
    blv_reduce(BLV_SCALARS(BLV_DOT(&change, v, m->gy)));
    result->phi = f - change;
    result->corrected = -change;
    result->left = fmax(of_y, of_v);
    double norm = blv_distance(gradient, gradient, m->jv);
    return isfinite(norm) && isfinite(result->phi) ? BLV_GO : BLV_NONFINITE;
}
