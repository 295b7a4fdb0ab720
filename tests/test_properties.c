/* Properties of oracles, projections and certificates that hold for every problem, tried on random
 * instances. */
#include "bilevel/certificate.h"
#include "properties_testing.h"

#include "space/projection.h"

#include <float.h>

/* ---- Oracles ---- */

static bool hessian_is_symmetric(const instance *of, finding *why) {
    point p = open_point(of);
    hv(&p, NULL, p.v, p.ay[0]);
    hv(&p, NULL, p.u, p.ay[1]);
    double size =
        blv_vec_norm(p.u) * blv_vec_norm(p.ay[0]) + blv_vec_norm(p.v) * blv_vec_norm(p.ay[1]);
    double error = fabs(blv_vec_dot(p.u, p.ay[0]) - blv_vec_dot(p.v, p.ay[1]));
    return close_point(&p, refute(why, "u'Hv - v'Hu", error, rounding(&p) * size));
}

/* With coefficients a, b: P(a u + b v) = a P u + b P v. */
static bool products_are_linear(const instance *of, finding *why) {
    point p = open_point(of);
    double a = draw_normal(&p.draws), b = draw_normal(&p.draws);
    blv_vec_combine(p.ay[7], a, p.u, b, p.v);
    hv(&p, NULL, p.u, p.ay[0]);
    hv(&p, NULL, p.v, p.ay[1]);
    hv(&p, NULL, p.ay[7], p.ay[2]);
    double size = fabs(a) * blv_vec_norm(p.ay[0]) + fabs(b) * blv_vec_norm(p.ay[1]);
    blv_vec_combine(p.ay[3], a, p.ay[0], b, p.ay[1]);
    blv_vec_combine(p.ay[3], 1.0, p.ay[3], -1.0, p.ay[2]);
    double error = blv_vec_norm(p.ay[3]);
    bool ok = refute(why, "H(au + bv)", error, rounding(&p) * size);
    jv(&p, NULL, p.u, p.ax[0]);
    jv(&p, NULL, p.v, p.ax[1]);
    jv(&p, NULL, p.ay[7], p.ax[2]);
    size = fabs(a) * blv_vec_norm(p.ax[0]) + fabs(b) * blv_vec_norm(p.ax[1]);
    blv_vec_combine(p.ax[3], a, p.ax[0], b, p.ax[1]);
    blv_vec_combine(p.ax[3], 1.0, p.ax[3], -1.0, p.ax[2]);
    error = blv_vec_norm(p.ax[3]);
    return close_point(&p, ok && refute(why, "J(au + bv)", error, rounding(&p) * size));
}

static bool fused_equals_separate(const instance *of, finding *why) {
    point p = open_point(of);
    const blv_problem_def *d = p.def;
    size_t half = (d->lower_samples + 1) / 2;
    const blv_batch part = {.first = d->lower_samples - half, .count = half};
    bool ok = true;
    for (int i = 0; i < 2 && ok; i++) {
        const blv_batch *batch = i == 0 ? NULL : &part;
        assert_int_equal(d->lower_all(d->user, batch, p.x, p.y, p.v, p.ay[0], p.ay[1], p.ax[0]), 0);
        assert_int_equal(d->lower(d->user, batch, p.x, p.y, NULL, p.ax[1], p.ay[2]), 0);
        hv(&p, batch, p.v, p.ay[3]);
        jv(&p, batch, p.v, p.ax[2]);
        ok = refute(why, "gy", apart(p.ay[0], p.ay[2], p.ay[4]), rounding(&p)) &&
             refute(why, "Hv", apart(p.ay[1], p.ay[3], p.ay[4]), rounding(&p)) &&
             refute(why, "Jv", apart(p.ax[0], p.ax[2], p.ax[3]), rounding(&p));
    }
    return close_point(&p, ok);
}

/* Adds up the parts of a mean over samples: ranges one after another, or lists of a permutation. */
typedef struct parts_of {
    size_t samples;
    size_t *order; /* NULL: ranges */
} parts_of;

static blv_batch part_at(const parts_of *s, size_t first, size_t count) {
    if (s->order)
        return (blv_batch){.count = count, .index = s->order + first};
    return (blv_batch){.first = first, .count = count};
}

static double add_lower(const point *p, const parts_of *s, size_t first, size_t count) {
    blv_batch batch = part_at(s, first, count);
    double share = (double)count / (double)s->samples, g;
    assert_int_equal(p->def->lower(p->def->user, &batch, p->x, p->y, &g, p->ax[4], p->ay[4]), 0);
    blv_vec_axpy(p->ax[0], share, p->ax[4]);
    blv_vec_axpy(p->ay[0], share, p->ay[4]);
    hv(p, &batch, p->v, p->ay[4]);
    jv(p, &batch, p->v, p->ax[4]);
    blv_vec_axpy(p->ay[1], share, p->ay[4]);
    blv_vec_axpy(p->ax[1], share, p->ax[4]);
    return share * g;
}

static double add_upper(const point *p, const parts_of *s, size_t first, size_t count) {
    blv_batch batch = part_at(s, first, count);
    double share = (double)count / (double)s->samples, f;
    assert_int_equal(p->def->upper(p->def->user, &batch, p->x, p->y, &f, p->ax[4], p->ay[4]), 0);
    blv_vec_axpy(p->ax[0], share, p->ax[4]);
    blv_vec_axpy(p->ay[0], share, p->ay[4]);
    return share * f;
}

static double add_parts(point *p, const parts_of *s,
                        double (*add)(const point *, const parts_of *, size_t, size_t)) {
    double sum = 0.0;
    for (size_t i = 0; i < 2; i++) {
        blv_vec_fill(p->ax[i], 0.0);
        blv_vec_fill(p->ay[i], 0.0);
    }
    for (size_t first = 0; first < s->samples;) {
        size_t left = s->samples - first, count = 1 + draw_below(&p->draws, left);
        sum += add(p, s, first, count);
        first += count;
    }
    return sum;
}

static bool same_mean_lower(point *p, const parts_of *s, finding *why) {
    const blv_problem_def *d = p->def;
    double g, sum = add_parts(p, s, add_lower), eps = 10.0 * rounding(p);
    assert_int_equal(d->lower(d->user, NULL, p->x, p->y, &g, p->ax[2], p->ay[2]), 0);
    hv(p, NULL, p->v, p->ay[3]);
    jv(p, NULL, p->v, p->ax[3]);
    return refute(why, "mean of g", fabs(g - sum), eps * (1.0 + fabs(g))) &&
           refute(why, "mean of gx", apart(p->ax[0], p->ax[2], p->ax[4]), eps) &&
           refute(why, "mean of gy", apart(p->ay[0], p->ay[2], p->ay[4]), eps) &&
           refute(why, "mean of Hv", apart(p->ay[1], p->ay[3], p->ay[4]), eps) &&
           refute(why, "mean of Jv", apart(p->ax[1], p->ax[3], p->ax[4]), eps);
}

static bool same_mean_upper(point *p, const parts_of *s, finding *why) {
    const blv_problem_def *d = p->def;
    double f, sum = add_parts(p, s, add_upper), eps = 10.0 * rounding(p);
    assert_int_equal(d->upper(d->user, NULL, p->x, p->y, &f, p->ax[2], p->ay[2]), 0);
    return refute(why, "mean of f", fabs(f - sum), eps * (1.0 + fabs(f))) &&
           refute(why, "mean of fx", apart(p->ax[0], p->ax[2], p->ax[4]), eps) &&
           refute(why, "mean of fy", apart(p->ay[0], p->ay[2], p->ay[4]), eps);
}

static bool batches_make_the_mean(const instance *of, finding *why) {
    point p = open_point(of);
    bool ok = true;
    for (int listed = 0; listed < 2 && ok; listed++)
        for (int upper = 0; upper < 2 && ok; upper++) {
            parts_of s = {.samples = upper ? p.def->upper_samples : p.def->lower_samples};
            if (listed) {
                s.order = malloc(s.samples * sizeof *s.order);
                assert_non_null(s.order);
                blv_random_permutation(&p.draws.stream, 0, s.samples, s.order);
            }
            ok = upper ? same_mean_upper(&p, &s, why) : same_mean_lower(&p, &s, why);
            free(s.order);
        }
    return close_point(&p, ok);
}

/* f or g at (x, y) + t (a, b). */
static double value_at(const point *p, value_fn ask, double t) {
    double value;
    blv_vec_combine(p->ax[4], 1.0, p->x, t, p->ax[5]);
    blv_vec_combine(p->ay[4], 1.0, p->y, t, p->v);
    assert_int_equal(ask(p->def->user, NULL, p->ax[4], p->ay[4], &value, NULL, NULL), 0);
    return value;
}

/* Central differences of fourth order: the error is that of rounding, eps |f| / h. */
static bool slope_is_right(const point *p, value_fn ask, const char *what, finding *why) {
    const double h = 1e-3;
    double value;
    assert_int_equal(ask(p->def->user, NULL, p->x, p->y, &value, p->ax[0], p->ay[0]), 0);
    double slope = blv_vec_dot(p->ax[0], p->ax[5]) + blv_vec_dot(p->ay[0], p->v);
    double near = (value_at(p, ask, h) - value_at(p, ask, -h)) / (2 * h);
    double far = (value_at(p, ask, 2 * h) - value_at(p, ask, -2 * h)) / (4 * h);
    double size = 1.0 + fabs(value) + blv_vec_norm(p->ax[0]) * blv_vec_norm(p->ax[5]) +
                  blv_vec_norm(p->ay[0]) * blv_vec_norm(p->v);
    return refute(why, what, fabs((4 * near - far) / 3 - slope), 1e-7 * size);
}

static void gradients_at(const point *p, double t, blv_vec *gx, blv_vec *gy) {
    blv_vec_combine(p->ay[4], 1.0, p->y, t, p->v);
    assert_int_equal(p->def->lower(p->def->user, NULL, p->x, p->ay[4], NULL, gx, gy), 0);
}

/* Hv and Jv against differences of gy and gx along v, likewise of fourth order. */
static bool products_are_right(const point *p, finding *why) {
    const double h = 1e-3, coef[] = {2 / (3 * h), -2 / (3 * h), -1 / (12 * h), 1 / (12 * h)};
    const double at[] = {h, -h, 2 * h, -2 * h};
    for (size_t i = 0; i < 4; i++)
        gradients_at(p, at[i], p->ax[i], p->ay[i]);
    blv_vec_lincomb(p->ax[0], 4, coef, (const blv_vec *const *)p->ax);
    blv_vec_lincomb(p->ay[0], 4, coef, (const blv_vec *const *)p->ay);
    hv(p, NULL, p->v, p->ay[1]);
    jv(p, NULL, p->v, p->ax[1]);
    double size_y = 1.0 + blv_vec_norm(p->ay[1]), size_x = 1.0 + blv_vec_norm(p->ax[1]);
    blv_vec_combine(p->ay[2], 1.0, p->ay[0], -1.0, p->ay[1]);
    double error_y = blv_vec_norm(p->ay[2]);
    blv_vec_combine(p->ax[2], 1.0, p->ax[0], -1.0, p->ax[1]);
    double error_x = blv_vec_norm(p->ax[2]);
    return refute(why, "Hv against differences", error_y, 1e-7 * size_y) &&
           refute(why, "Jv against differences", error_x, 1e-7 * size_x);
}

static bool derivatives_are_right(const instance *of, finding *why) {
    instance exact = *of;
    exact.precision = BLV_F64;
    point p = open_point(&exact);
    fill_normal(&p.draws, p.ax[5], 1.0);
    if (of->family == CORESET) /* f is smoothed over a narrow range in x: along y alone */
        blv_vec_fill(p.ax[5], 0.0);
    blv_vec_scale(p.v, 1.0 / blv_vec_norm(p.v));
    blv_vec_scale(p.ax[5], of->family == CORESET ? 0.0 : 1.0 / blv_vec_norm(p.ax[5]));
    return close_point(&p, slope_is_right(&p, p.def->upper, "slope of f", why) &&
                               slope_is_right(&p, p.def->lower, "slope of g", why) &&
                               products_are_right(&p, why));
}

static void test_oracles_agree(void **state) {
    (void)state;
    try_families(hessian_is_symmetric, "symmetry of H", INSTANCES);
    try_families(products_are_linear, "linearity of Hv and Jv", INSTANCES);
    try_families(fused_equals_separate, "fused oracle", INSTANCES);
    try_families(batches_make_the_mean, "mean of batches", INSTANCES);
    try_families(derivatives_are_right, "derivatives", INSTANCES);
}

/* ---- Projections ---- */

/* Idempotent, nonexpansive, and the angle at the nearest point is obtuse: (a - Pa)'(Pb - Pa) <= 0.
 */
static bool projects(const instance *of, finding *why) {
    draws d = draws_of(of, "set");
    const size_t dim = of->size[0];
    const double total = exp(draw_normal(&d));
    double *room = malloc(dim * sizeof *room);
    assert_non_null(room);
    blv_space *space;
    assert_int_equal(blv_space_create_host(&space, dim, of->precision, 1), BLV_OK);
    blv_vec *v[5];
    for (size_t i = 0; i < 5; i++)
        v[i] = vec_of(space);
    double eps = 64.0 * (of->precision == BLV_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
    fill_normal(&d, v[0], 2.0);
    fill_normal(&d, v[1], 2.0);
    blv_vec_combine(v[4], 1.0, v[0], -1.0, v[1]);
    double before = blv_vec_norm(v[4]);
    double size = 1.0 + blv_vec_norm(v[0]) + blv_vec_norm(v[1]) + total;
    blv_vec_copy(v[2], v[0]);
    blv_vec_copy(v[3], v[1]);
    blv_project_simplex(v[2], total, room);
    blv_project_simplex(v[3], total, room);
    blv_vec_combine(v[4], 1.0, v[2], -1.0, v[3]);
    double after = blv_vec_norm(v[4]);
    bool ok = refute(why, "nonexpansive", after - before, eps * size);
    blv_vec_combine(v[0], 1.0, v[0], -1.0, v[2]);
    blv_vec_combine(v[4], 1.0, v[3], -1.0, v[2]);
    ok = ok && refute(why, "nearest point", blv_vec_dot(v[0], v[4]), eps * size * size);
    blv_vec_copy(v[4], v[2]);
    blv_project_simplex(v[4], total, room);
    blv_vec_combine(v[4], 1.0, v[4], -1.0, v[2]);
    double moved = blv_vec_norm(v[4]);
    ok = ok && refute(why, "idempotent", moved, eps * size);
    for (size_t i = 0; i < 5; i++)
        blv_vec_destroy(v[i]);
    blv_space_destroy(space);
    free(room);
    return ok;
}

/* The same of a problem's own set X. */
static bool problem_projects(const instance *of, finding *why) {
    point p = open_point(of);
    if (!p.def->project_x)
        return close_point(&p, true);
    fill_normal(&p.draws, p.ax[0], 2.0);
    fill_normal(&p.draws, p.ax[1], 2.0);
    blv_vec_combine(p.ax[4], 1.0, p.ax[0], -1.0, p.ax[1]);
    double before = blv_vec_norm(p.ax[4]);
    double size = 1.0 + blv_vec_norm(p.ax[0]) + blv_vec_norm(p.ax[1]);
    assert_int_equal(p.def->project_x(p.def->user, p.ax[0]), 0);
    assert_int_equal(p.def->project_x(p.def->user, p.ax[1]), 0);
    blv_vec_combine(p.ax[4], 1.0, p.ax[0], -1.0, p.ax[1]);
    double after = blv_vec_norm(p.ax[4]);
    blv_vec_copy(p.ax[2], p.ax[0]);
    assert_int_equal(p.def->project_x(p.def->user, p.ax[2]), 0);
    blv_vec_combine(p.ax[4], 1.0, p.ax[2], -1.0, p.ax[0]);
    double moved = blv_vec_norm(p.ax[4]);
    double eps = 0.01 * rounding(&p) * size;
    return close_point(&p, refute(why, "nonexpansive", after - before, eps) &&
                               refute(why, "idempotent", moved, eps));
}

static void test_projections(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        instance of = draw_instance(PL_SHIFT, seed);
        try_instance(&of, projects, "projection");
    }
    try_families(problem_projects, "projection onto X", INSTANCES);
}

/* ---- Certificates ---- */

static const double *array_named(const blv_problem_def *def, const char *name, size_t *count) {
    const blv_named_array *a = def->arrays;
    while (a->name && strcmp(a->name, name) != 0)
        a++;
    assert_non_null(a->name);
    *count = 1;
    for (size_t d = 0; d < a->ndim; d++)
        *count *= a->shape[d];
    return a->data;
}

static double size_of_array(const blv_problem_def *def, const char *name) {
    size_t count;
    const double *data = array_named(def, name, &count);
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += data[i] * data[i];
    return sqrt(sum);
}

/* The quadratic's eigenvalues are at least 1, so |y - y*| <= |gy| and |v - v*| <= |r| + |y - y*|:
 * errors of Phi and its gradient follow from the residuals that the certificate states, besides
 * rounding. The estimate d(x, y, v) is computed here from its definition. */
static bool certificate_is_honest(const instance *of, finding *why) {
    point p = open_point(of);
    const blv_problem_def *d = p.def;
    blv_certificate c;
    double phi, eps = rounding(&p);
    assert_int_equal(blv_certify(p.problem, p.x, p.y, p.v, &c, NULL, NULL), BLV_OK);
    assert_int_equal(d->known_phi(d->user, p.x, &phi, p.ax[0]), 0);
    assert_int_equal(d->lower(d->user, NULL, p.x, p.y, NULL, NULL, p.ay[0]), 0);
    assert_int_equal(d->upper(d->user, NULL, p.x, p.y, NULL, p.ax[1], p.ay[1]), 0);
    jv(&p, NULL, p.v, p.ax[2]);
    blv_vec_combine(p.ax[1], 1.0, p.ax[1], -1.0, p.ax[2]);
    double truth = blv_vec_norm(p.ax[0]);
    blv_vec_combine(p.ax[2], 1.0, p.ax[1], -1.0, p.ax[0]);
    double off = blv_vec_norm(p.ax[2]);
    double cross = size_of_array(d, "C"), slope = sqrt(2.0 * fabs(phi));
    double scale = 1.0 + fabs(phi) + truth + cross * (1.0 + slope);
    double in_y = c.solve_residual;
    double allowed_phi = slope * in_y + in_y * in_y + eps * scale;
    double allowed_grad = cross * (c.linear_residual + in_y) + 30.0 * eps * scale;
    double residual = blv_vec_norm(p.ay[0]);
    bool ok =
        refute(why, "Phi", fabs(c.phi - phi), allowed_phi) &&
        refute(why, "|grad Phi|", fabs(c.grad_norm - truth), allowed_grad) &&
        refute(why, "|gy|", fabs(c.inner_residual - residual), eps * (1.0 + residual)) &&
        refute(why, "error of d", fabs(c.estimate_error - off), allowed_grad + eps * (1.0 + off)) &&
        refute(why, "tight", c.tight ? 0.0 : 1.0, 0.0);
    return close_point(&p, ok);
}

/* What a run says of itself at the end is not better than the truth either: Phi of the closed form
 * at its x is that of the certificate, and never below the least Phi there is. */
static bool end_is_honest(const instance *of, finding *why) {
    instance exact = *of;
    exact.precision = BLV_F64;
    blv_problem *problem = problem_of(&exact);
    const blv_problem_def *d = blv_problem_definition(problem);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", "200", "batch", "full"));
    blv_certificate c;
    double phi, best;
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_run_certify(run, &c), BLV_OK);
    blv_vec *x = vec_of(d->space_x), *gradient = vec_of(d->space_x);
    assert_int_equal(d->known_phi(d->user, blv_run_x(run), &phi, gradient), 0);
    assert_int_equal(d->known_solution(d->user, x, NULL), 0);
    assert_int_equal(d->known_phi(d->user, x, &best, NULL), 0);
    double eps = 1e-10 * (1.0 + fabs(phi));
    bool ok = refute(why, "Phi at the end", fabs(c.phi - phi), eps) &&
              refute(why, "Phi below the least", best - c.phi, eps) &&
              refute(why, "gradient at the end", fabs(c.grad_norm - blv_vec_norm(gradient)), eps);
    blv_vec_destroy(x);
    blv_vec_destroy(gradient);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    return ok;
}

static void test_certificates(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        instance of = draw_instance(QUADRATIC, seed);
        try_instance(&of, certificate_is_honest, "certificate");
        try_instance(&of, end_is_honest, "certificate of a run");
    }
}

/* ---- The search itself ---- */

static bool no_more_than_five(const instance *of, finding *why) {
    return refute(why, "size", (double)of->size[0], 5.0);
}

/* From any start the smallest failing instance is what halving leads to. */
static void test_shrinking(void **state) {
    (void)state;
    finding why;
    instance of = {.family = QUADRATIC, .size = {24, 24, 9, 1}};
    instance s = shrink(of, no_more_than_five, &why);
    assert_int_equal(s.size[0], 6);
    assert_int_equal(s.size[1], 1);
    assert_int_equal(s.size[2], 1);
    expect_text(why.text, "size: off by 6, allowed 5");
    assert_false(refute(&why, "not a number", NAN, 1.0));
}

static void test_count(void **state) {
    (void)state;
    print_message("%ld instances tried\n", tried);
    assert_true(tried > 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracles_agree), cmocka_unit_test(test_projections),
        cmocka_unit_test(test_certificates),  cmocka_unit_test(test_shrinking),
        cmocka_unit_test(test_count),
    };
    atexit(remove_files);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
