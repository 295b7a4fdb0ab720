/* The solver `exact` where the lower level has several minima, and the certificate at a point that
 * is no minimum of it. */
#include "run_testing.h"

/* g = (y^2 - 1)^2/4 + x y has two minima, near y = 1 and y = -1, while |x| < 0.385; beyond that one
 * of them is gone. f = (x - 2)^2 + 10 (y - 1)^2 pulls x over that edge: a first trial of length 1
 * ends in the other minimum. */
static int well_upper(void *user, const blv_batch *batch, const blv_vec *xv, const blv_vec *yv,
                      double *f, blv_vec *fx, blv_vec *fy) {
    double x = blv_vec_at(xv, 0), y = blv_vec_at(yv, 0);
    (void)user, (void)batch;
    if (f)
        *f = (x - 2) * (x - 2) + 10 * (y - 1) * (y - 1);
    blv_vec_put(fx, 0, 2 * (x - 2));
    blv_vec_put(fy, 0, 20 * (y - 1));
    return 0;
}

static int well_lower(void *user, const blv_batch *batch, const blv_vec *xv, const blv_vec *yv,
                      double *g, blv_vec *gx, blv_vec *gy) {
    double x = blv_vec_at(xv, 0), y = blv_vec_at(yv, 0);
    (void)user, (void)batch;
    if (g)
        *g = (y * y - 1) * (y * y - 1) / 4 + x * y;
    blv_vec_put(gx, 0, y);
    blv_vec_put(gy, 0, y * (y * y - 1) + x);
    return 0;
}

static int well_hvp(void *user, const blv_batch *batch, const blv_vec *xv, const blv_vec *yv,
                    const blv_vec *v, blv_vec *hv) {
    double y = blv_vec_at(yv, 0);
    (void)user, (void)batch, (void)xv;
    blv_vec_put(hv, 0, (3 * y * y - 1) * blv_vec_at(v, 0));
    return 0;
}

static int well_cross(void *user, const blv_batch *batch, const blv_vec *xv, const blv_vec *yv,
                      const blv_vec *v, blv_vec *jv) {
    (void)user, (void)batch, (void)xv, (void)yv;
    blv_vec_put(jv, 0, blv_vec_at(v, 0));
    return 0;
}

static blv_problem *make_wells(void) {
    blv_problem *problem = NULL;
    const blv_problem_def def = {
        BLV_SIZED(blv_problem_def), .dim_x = 1,          .dim_y = 1,
        .upper = well_upper,        .lower = well_lower, .lower_hvp = well_hvp,
        .lower_cross = well_cross};
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    return problem;
}

/* The minimum of g(x, .) on the side where y is, by plain Newton steps of its own. */
static double minimum_near(double x, double y) {
    for (int k = 0; k < 12; k++)
        y -= (y * (y * y - 1) + x) / (3 * y * y - 1);
    return y;
}

/* The x of the least Phi with y > 0, by trying many. */
static double best_on_the_upper_side(void) {
    double best = INFINITY, at = NAN;
    for (double x = 0.0; x < 0.38; x += 1e-6) {
        double y = minimum_near(x, 1.0), phi = (x - 2) * (x - 2) + 10 * (y - 1) * (y - 1);
        if (phi < best) {
            best = phi;
            at = x;
        }
    }
    return at;
}

/* Phi never rises, y stays on its side, and the run ends at the best point of it. */
static void test_keeps_its_branch(void **state) {
    (void)state;
    blv_problem *problem = make_wells();
    const double best = best_on_the_upper_side();
    for (int k = 0; k < 40; k++) {
        blv_run *run = make_run(problem, "exact", NULL);
        double x = 0.3 * sin(3.0 * k), y = 1.0, last = INFINITY;
        assert_int_equal(blv_run_write(run, "x", &x), BLV_OK);
        assert_int_equal(blv_run_write(run, "y", &y), BLV_OK);
        for (int step = 0; step < 30 && blv_run_result(run)->outcome == BLV_RUNNING; step++) {
            assert_int_equal(blv_run_step(run), BLV_OK);
            double now = blv_vec_at(blv_run_y(run), 0);
            x = blv_vec_at(blv_run_x(run), 0);
            double phi = (x - 2) * (x - 2) + 10 * (now - 1) * (now - 1);
            assert_true(phi <= last * (1.0 + 1e-12));
            assert_true(now > 0.0);
            assert_true(fabs(now - minimum_near(x, now)) <= 1e-9);
            last = phi;
        }
        assert_true(fabs(x - best) < 2e-6);
        blv_run_destroy(run);
    }
    blv_problem_destroy(problem);
}

/* g = sin(x + y), whose gradient vanishes at its top as well. */
static int wave_lower(void *user, const blv_batch *batch, const blv_vec *xv, const blv_vec *yv,
                      double *g, blv_vec *gx, blv_vec *gy) {
    double s = blv_vec_at(xv, 0) + blv_vec_at(yv, 0);
    (void)user, (void)batch;
    if (g)
        *g = sin(s);
    blv_vec_put(gx, 0, cos(s));
    blv_vec_put(gy, 0, cos(s));
    return 0;
}

static blv_answer minimum_at(double y) {
    const blv_problem_def def = {BLV_SIZED(blv_problem_def), .dim_x = 1, .dim_y = 1,
                                 .upper = well_upper, .lower = wave_lower};
    blv_problem *problem = NULL;
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    blv_run *run = make_run(problem, "exact", NULL);
    assert_int_equal(blv_run_write(run, "y", &y), BLV_OK);
    blv_certificate c;
    assert_int_equal(blv_run_certify(run, &c), BLV_OK);
    assert_true(c.tight && !c.singular);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    return c.minimum;
}

static void test_a_top_is_no_minimum(void **state) {
    (void)state;
    const double half_pi = asin(1.0);
    assert_int_equal(minimum_at(half_pi), BLV_NO);
    assert_int_equal(minimum_at(-half_pi), BLV_YES);
    assert_int_equal(minimum_at(-half_pi + 0.3), BLV_YES);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_keeps_its_branch),
                                       cmocka_unit_test(test_a_top_is_no_minimum)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
