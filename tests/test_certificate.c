/* The certificate against closed forms and own computations: it may never look better than the
 * truth. */
#include "bilevel/certificate.h"
#include "run_testing.h"

#include "base/random.h"

#include <float.h>

/* Vectors of a problem, all zero. */
typedef struct point {
    const blv_problem *problem;
    const blv_problem_def *def;
    blv_vec *x, *y, *v, *gx, *gy, *gradient;
} point;

static point make_point(const blv_problem *problem) {
    point p = {.problem = problem, .def = blv_problem_definition(problem)};
    blv_vec **of_x[] = {&p.x, &p.gx, &p.gradient}, **of_y[] = {&p.y, &p.v, &p.gy};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(blv_vec_create(of_x[i], p.def->space_x), BLV_OK);
        assert_int_equal(blv_vec_create(of_y[i], p.def->space_y), BLV_OK);
    }
    return p;
}

static void free_point(point *p) {
    blv_vec *all[] = {p->x, p->y, p->v, p->gx, p->gy, p->gradient};
    for (size_t i = 0; i < LENGTH(all); i++)
        blv_vec_destroy(all[i]);
}

static void randomize(blv_vec *v, uint64_t seed, const char *purpose, double scale) {
    double host[DIM_MAX];
    blv_stream stream = blv_stream_make(seed, purpose);
    size_t dim = blv_vec_dim(v);
    assert_in_range(dim, 1, DIM_MAX);
    blv_random_normals(&stream, 0, dim, host);
    for (size_t i = 0; i < dim; i++)
        host[i] *= scale;
    blv_vec_write(v, host);
}

static blv_certificate certify(const point *p, const blv_vec *v) {
    blv_certificate c;
    blv_message why = {""};
    if (blv_certify(p->problem, p->x, p->y, v, &c, NULL, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return c;
}

static void expect_near(const char *what, double got, double truth, double allowed) {
    if (!(fabs(got - truth) <= allowed))
        fail_msg("%s: %.17g, the truth is %.17g, allowed %.2g", what, got, truth, allowed);
}

/* Phi and |grad Phi| in closed form; the residual of y as handed in. */
static void expect_truth(point *p, const blv_certificate *c, double relative) {
    double phi;
    assert_int_equal(p->def->known_phi(p->def->user, p->x, &phi, p->gradient), 0);
    double norm = blv_vec_norm(p->gradient);
    double size = norm + blv_vec_norm(p->x) + 1.0; /* of the terms that cancel in the gradient */
    expect_near("phi", c->phi, phi, relative * (1.0 + fabs(phi)));
    expect_near("grad_norm", c->grad_norm, norm, relative * size);
    assert_int_equal(p->def->lower(p->def->user, NULL, p->x, p->y, NULL, NULL, p->gy), 0);
    expect_near("inner_residual", c->inner_residual, blv_vec_norm(p->gy),
                1e-6 * blv_vec_norm(p->gy));
    assert_true(c->solve_residual <= c->inner_residual);
}

/* ---- Closed form ---- */

static void closed_form(blv_precision precision, const char *kappa, double scale_y,
                        double relative) {
    blv_problem *problem =
        make_problem_in("quadratic", SETTINGS("dx", "20", "dy", "30", "kappa", kappa), precision);
    point p = make_point(problem);
    for (uint64_t seed = 0; seed < 20; seed++) {
        randomize(p.x, seed, "x", pow(10.0, (double)(seed % 4) - 2.0));
        randomize(p.y, seed, "y", scale_y);
        blv_certificate c = certify(&p, NULL);
        assert_true(c.tight && !c.projected && !c.singular);
        assert_true(isnan(c.estimate_error));
        expect_truth(&p, &c, relative);
    }
    free_point(&p);
    blv_problem_destroy(problem);
}

static void test_quadratic_f64(void **state) {
    (void)state;
    closed_form(BLV_F64, "10", 1.0, 1e-13);
    closed_form(BLV_F64, "100", 1.0, 1e-12);
}

/* `tight` says that rounding alone is left, and that is kappa times eps. */
static void test_ill_conditioned(void **state) {
    (void)state;
    closed_form(BLV_F64, "1e4", 1.0, 1e-10);
    closed_form(BLV_F64, "1e6", 1.0, 1e-8);
}

static void test_quadratic_f32(void **state) {
    (void)state;
    closed_form(BLV_F32, "10", 1.0, 2e-5);
    closed_form(BLV_F32, "100", 1.0, 2e-4);
}

static void test_y_far_away(void **state) {
    (void)state;
    closed_form(BLV_F64, "100", 1e3, 1e-11);
}

/* The accuracy may not depend on where y comes from: |gy| has to be small against y*(x). */
static void test_y_very_far_away(void **state) {
    (void)state;
    closed_form(BLV_F64, "100", 1e8, 1e-9);
}

static void test_at_the_solution(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "20", "dy", "30"));
    point p = make_point(problem);
    assert_int_equal(p.def->known_solution(p.def->user, p.x, p.y), 0);
    blv_certificate c = certify(&p, NULL);
    assert_true(c.grad_norm < 1e-12 && c.inner_residual < 1e-12 && c.tight);
    free_point(&p);
    blv_problem_destroy(problem);
}

/* ---- A set X ---- */

/* scalar-penalty: f falls towards x = 0.45, X = {x >= 0}. */
static void test_gradient_mapping(void **state) {
    (void)state;
    static const double starts[] = {0.0, 1e-3, 0.2, 0.45, 2.0};
    blv_problem *problem = make_problem("scalar-penalty", NULL);
    point p = make_point(problem);
    for (size_t i = 0; i < LENGTH(starts); i++) {
        blv_vec_fill(p.x, starts[i]);
        blv_vec_fill(p.y, 0.3);
        blv_certificate c = certify(&p, NULL);
        double slope;
        assert_int_equal(p.def->known_phi(p.def->user, p.x, NULL, p.gradient), 0);
        blv_vec_read(p.gradient, &slope);
        double value, t = starts[i] / 64 / fabs(slope);
        assert_int_equal(p.def->known_phi(p.def->user, p.x, &value, NULL), 0);
        if (starts[i] == 0.0)
            t = value / 64 / (slope * slope);
        double mapping = fabs(starts[i] - fmax(0.0, starts[i] - t * slope)) / t;
        assert_true(c.projected);
        expect_near("mapping", c.grad_norm, mapping, 1e-12 * (1.0 + fabs(slope)));
    }
    free_point(&p);
    blv_problem_destroy(problem);
}

static int push_out(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                    double *f, blv_vec *fx, blv_vec *fy) {
    (void)user;
    (void)batch;
    double at_x, at_y;
    blv_vec_read(x, &at_x);
    blv_vec_read(y, &at_y);
    if (f)
        *f = 3.0 * at_x + 0.0 * at_y;
    if (fx)
        blv_vec_fill(fx, 3.0);
    if (fy)
        blv_vec_fill(fy, 0.0);
    return 0;
}

/* f = 3 x pushes out of x >= 0: at x = 0 the gradient is 3 and the mapping 0; at x = 1 the bound is
 * far away. */
static void test_active_bound(void **state) {
    (void)state;
    blv_problem *base = make_problem("scalar-penalty", NULL), *problem;
    blv_problem_def def = *blv_problem_definition(base);
    def.free_user = NULL;
    def.upper = push_out;
    def.space_x = def.space_y = NULL;
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    point p = make_point(problem);
    blv_certificate c = certify(&p, NULL);
    assert_true(c.projected && c.grad_norm == 0.0 && c.phi == 0.0);
    blv_vec_fill(p.x, 1.0);
    c = certify(&p, NULL);
    expect_near("mapping", c.grad_norm, 3.0, 1e-14);
    blv_vec_fill(p.x, 10.0);
    c = certify(&p, NULL);
    expect_near("mapping", c.grad_norm, 3.0, 1e-14);
    free_point(&p);
    blv_problem_destroy(problem);
    blv_problem_destroy(base);
}

/* ---- The solver's own estimate ---- */

static void test_estimate_error(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "20", "dy", "30"));
    point p = make_point(problem);
    for (uint64_t seed = 0; seed < 10; seed++) {
        randomize(p.x, seed, "x", 1.0);
        randomize(p.y, seed, "y", 1.0);
        randomize(p.v, seed, "v", 1.0);
        blv_certificate c = certify(&p, p.v);
        /* d = fx - J v at the y and v handed in */
        double d[DIM_MAX], jv[DIM_MAX], gradient[DIM_MAX], sum = 0.0;
        assert_int_equal(p.def->upper(p.def->user, NULL, p.x, p.y, NULL, p.gx, NULL), 0);
        blv_vec_read(p.gx, d);
        assert_int_equal(p.def->lower_cross(p.def->user, NULL, p.x, p.y, p.v, p.gx), 0);
        blv_vec_read(p.gx, jv);
        assert_int_equal(p.def->known_phi(p.def->user, p.x, NULL, p.gradient), 0);
        blv_vec_read(p.gradient, gradient);
        for (size_t i = 0; i < p.def->dim_x; i++)
            sum += pow(d[i] - jv[i] - gradient[i], 2.0);
        expect_near("estimate_error", c.estimate_error, sqrt(sum), 1e-10);
    }
    free_point(&p);
    blv_problem_destroy(problem);
}

/* ---- Lower levels that are not convex, singular, or without products ---- */

static void test_pl_problems(void **state) {
    (void)state;
    blv_problem *problem = make_problem("pl-shift", NULL);
    point p = make_point(problem);
    for (uint64_t seed = 0; seed < 30; seed++) { /* |y - x| up to several periods of the sine */
        randomize(p.x, seed, "x", 1.0);
        randomize(p.y, seed, "y", seed < 15 ? 1.0 : 10.0);
        blv_certificate c = certify(&p, NULL);
        assert_true(!c.singular);
        expect_truth(&p, &c, 1e-10);
    }
    free_point(&p);
    blv_problem_destroy(problem);

    problem = make_problem("pl-sine", NULL); /* best y is -x */
    p = make_point(problem);
    for (int i = 1; i < 30; i++) {
        double phi, slope, x = 0.1 * i;
        blv_vec_fill(p.x, x);
        blv_vec_fill(p.y, 1.0 - x);
        blv_certificate c = certify(&p, NULL);
        assert_int_equal(p.def->known_phi(p.def->user, p.x, &phi, p.gradient), 0);
        blv_vec_read(p.gradient, &slope);
        expect_near("phi", c.phi, phi, 1e-12);
        expect_near("mapping", c.grad_norm, fabs(slope), 1e-9); /* x / 64 is not too far */
    }
    free_point(&p);
    blv_problem_destroy(problem);
}

static void test_singular(void **state) {
    (void)state;
    blv_problem *problem = make_problem("non-singleton", NULL);
    point p = make_point(problem);
    blv_vec_fill(p.x, 2.0);
    blv_vec_fill(p.y, 0.5);
    blv_vec_fill(p.v, 0.5);
    blv_certificate c = certify(&p, p.v);
    assert_true(c.singular);
    assert_true(isnan(c.grad_norm) && isnan(c.estimate_error));
    expect_near("phi", c.phi, 0.5 * 1.5 * 1.5 + 0.5, 1e-12); /* y becomes (2, 0.5) */
    expect_near("inner_residual", c.inner_residual, 1.5, 1e-15);
    assert_true(c.solve_residual < 1e-12);
    free_point(&p);
    blv_problem_destroy(problem);
}

/* The same when nobody has said that it is singular. */
static void test_singular_unannounced(void **state) {
    (void)state;
    blv_problem *base = make_problem("non-singleton", NULL), *problem;
    blv_problem_def def = *blv_problem_definition(base);
    def.singular_lower = false;
    def.space_x = def.space_y = NULL;
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    point p = make_point(problem);
    blv_vec_fill(p.x, 2.0);
    blv_vec_fill(p.y, 0.5);
    blv_certificate c = certify(&p, NULL);
    assert_true(c.singular && isnan(c.grad_norm));
    free_point(&p);
    blv_problem_destroy(problem);
    blv_problem_destroy(base);
}

static void test_differences(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, make_problem("quadratic", SETTINGS("dx", "20", "dy", "30", "kappa", "10")),
         BY_DIFFERENCES);
    point p = make_point(w.problem);
    for (uint64_t seed = 0; seed < 10; seed++) {
        double phi;
        randomize(p.x, seed, "x", 1.0);
        randomize(p.y, seed, "y", 1.0);
        blv_certificate c = certify(&p, NULL);
        assert_int_equal(w.def->known_phi(w.def->user, p.x, &phi, p.gradient), 0);
        expect_near("phi", c.phi, phi, 1e-10);
        expect_near("grad_norm", c.grad_norm, blv_vec_norm(p.gradient), 1e-7);
    }
    free_point(&p);
    unwrap(&w);
}

/* ---- Never better than the truth; arguments ---- */

/* Points near the solution, where a wrong certificate would look best. */
static void test_never_too_good(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "20", "dy", "30"));
    point p = make_point(problem);
    blv_vec *best;
    assert_int_equal(blv_vec_create(&best, p.def->space_x), BLV_OK);
    assert_int_equal(p.def->known_solution(p.def->user, best, NULL), 0);
    for (uint64_t seed = 0; seed < 200; seed++) {
        randomize(p.x, seed, "x", pow(10.0, -(double)(seed % 15)));
        blv_vec_axpy(p.x, 1.0, best);
        randomize(p.y, seed, "y", pow(10.0, (double)(seed % 3) - 2.0));
        blv_certificate c = certify(&p, NULL);
        assert_int_equal(p.def->known_phi(p.def->user, p.x, NULL, p.gradient), 0);
        double truth = blv_vec_norm(p.gradient);
        if (c.grad_norm < truth - 1e-13)
            fail_msg("certified %.6g, the truth is %.6g", c.grad_norm, truth);
    }
    blv_vec_destroy(best);
    free_point(&p);
    blv_problem_destroy(problem);
}

static void test_arguments_and_counts(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    point p = make_point(problem);
    blv_certificate c;
    blv_message why = {""};
    blv_counts counts = {0, 0, 0, 0, 0};
    assert_int_equal(blv_certify(NULL, p.x, p.y, NULL, &c, NULL, &why), BLV_E_ARGUMENT);
    expect_text(why.text, "NULL");
    assert_int_equal(blv_certify(problem, NULL, p.y, NULL, &c, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_certify(problem, p.x, NULL, NULL, &c, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_certify(problem, p.x, p.y, NULL, NULL, NULL, NULL), BLV_E_ARGUMENT);
    randomize(p.x, 1, "x", 1.0);
    randomize(p.y, 1, "y", 1.0);
    blv_vec_copy(p.v, p.y);
    assert_int_equal(blv_certify(problem, p.x, p.y, NULL, &c, &counts, NULL), BLV_OK);
    assert_true(counts.f_grad > 0 && counts.g_grad > 0 && counts.hvp > 0 && counts.cross > 0);
    double a[4], b[4];
    blv_vec_read(p.y, a);
    blv_vec_read(p.v, b);
    assert_memory_equal(a, b, sizeof a); /* y is not touched */
    free_point(&p);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quadratic_f64),
        cmocka_unit_test(test_ill_conditioned),
        cmocka_unit_test(test_quadratic_f32),
        cmocka_unit_test(test_y_far_away),
        cmocka_unit_test(test_y_very_far_away),
        cmocka_unit_test(test_at_the_solution),
        cmocka_unit_test(test_gradient_mapping),
        cmocka_unit_test(test_active_bound),
        cmocka_unit_test(test_estimate_error),
        cmocka_unit_test(test_pl_problems),
        cmocka_unit_test(test_singular),
        cmocka_unit_test(test_singular_unannounced),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_never_too_good),
        cmocka_unit_test(test_arguments_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
