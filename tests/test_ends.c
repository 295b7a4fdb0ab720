/* Where runs end, and what they say about it: the sampler does not move the end, notes are true,
 * "converged" is what the certificate says, and a run that goes astray says so. */
#include "registry/builtin.h"
#include "run_testing.h"

#include <math.h>

/* ---- Samplers ---- */

static double end_with(const blv_problem *problem, const char *solver, const char *sampler) {
    blv_run *run = make_run(
        problem, solver, SETTINGS("batch", "64", "sampler", sampler, "seed", "3", "iters", "5000"));
    blv_certificate c;
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_run_certify(run, &c), BLV_OK);
    blv_run_destroy(run);
    return c.phi;
}

/* 65 terms in batches of 64: a last block of one term that counted like a full one moved the end
 * of each from 3.331 to 3.63 or more. The noise of batches moves it by less than 1e-4. */
static void test_block_ends_where_iid_ends(void **state) {
    (void)state;
    static const char *const solvers[] = {"soba", "s-tfbo", "msgbio", "vr-msgbio",
                                          "fsla", "f2sa",   "mrbo"};
    blv_problem *problem = make_problem(
        "quadratic", SETTINGS("terms", "65", "dx", "5", "dy", "5", "kappa", "5", "scale", "1"));
    size_t failures = 0;
    for (size_t i = 0; i < LENGTH(solvers); i++) {
        double block = end_with(problem, solvers[i], "block");
        double iid = end_with(problem, solvers[i], "iid");
        print_message("%s: Phi %.5f with blocks, %.5f with replacement\n", solvers[i], block, iid);
        failures += !(fabs(block - iid) <= 1e-3);
    }
    assert_int_equal(failures, 0);
    blv_problem_destroy(problem);
}

/* ---- The note on collapsed steps ---- */

/* scale: "auto" or "off". */
static bool notes_collapse(const char *const *quadratic, const char *batch, const char *scale,
                           const char *iters, double *left) {
    blv_problem *problem = make_problem("quadratic", quadratic);
    blv_run *run =
        make_run(problem, "s-tfbo", SETTINGS("batch", batch, "scale", scale, "iters", iters));
    blv_certificate before, after;
    assert_int_equal(blv_run_certify(run, &before), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_run_certify(run, &after), BLV_OK);
    bool noted = has_note(run, "collapsed");
    *left = after.grad_norm / before.grad_norm;
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    return noted;
}

/* The advice is `scale=auto`: it is no advice where that is on. */
static void test_no_advice_that_was_followed(void **state) {
    (void)state;
    double left;
    assert_false(notes_collapse(SETTINGS("kappa", "1000"), "full", "auto", "10000", &left));
    assert_false(notes_collapse(SETTINGS("scale", "5"), "full", "auto", "4000", &left));
    assert_true(notes_collapse(SETTINGS("scale", "5"), "full", "off", "4000", &left));
}

/* Neither where |d| falls in the end, nor where it does not because it is the noise of batches. */
static void test_no_note_on_solved_runs(void **state) {
    (void)state;
    double left;
    const char *const *slow = SETTINGS("dx", "2", "dy", "2", "kappa", "10", "scale", "6");
    assert_true(notes_collapse(slow, "full", "off", "3000", &left));
    assert_true(left > 0.05);
    assert_false(notes_collapse(slow, "full", "off", "100000", &left));
    assert_true(left < 1e-3);
    assert_false(
        notes_collapse(SETTINGS("kappa", "1000", "terms", "200"), "16", "off", "20000", &left));
    assert_true(left < 1e-3);
}

/* ---- The method's own test, and the certificate ---- */

static bool says(const blv_solution *s, const char *part) {
    for (size_t i = 0; s->notes[i]; i++)
        if (strstr(s->notes[i], part))
            return true;
    return false;
}

static blv_solution *solve(const blv_problem *problem, const blv_solve_options *options) {
    blv_message why = {""};
    blv_solution *s = NULL;
    if (blv_solve(&s, problem, options, &why) != BLV_OK)
        fail_msg("%s: %s", options->solver, why.text);
    return s;
}

#define OPTIONS(...) (&(const blv_solve_options){BLV_SIZED(blv_solve_options), __VA_ARGS__})

/* Every solver to 1e-6: what is called converged is certified to 1e-6, and what meets its own test
 * without that is biased and says so. */
static void test_converged_is_certified(void **state) {
    (void)state;
    static const char *const biased[] = {"t1-t2", "pbgd", "itd"};
    blv_problem *problem =
        make_problem("quadratic", SETTINGS("dx", "5", "dy", "5", "kappa", "5", "scale", "1"));
    for (size_t i = 0; blv_builtin_solvers[i]; i++) {
        const blv_solver *solver = blv_builtin_solvers[i];
        blv_solution *s =
            solve(problem, OPTIONS(.solver = solver->name, .tol = 1e-6, .iters = 5000));
        assert_int_equal(s->converged, s->outcome == BLV_CONVERGED);
        if (s->converged ? !(s->grad_norm <= 1e-6)
                         : s->outcome == BLV_UNCERTIFIED && !(s->grad_norm > 1e-6))
            fail_msg("%s: %s at %g", solver->name, s->message.text, s->grad_norm);
        if (s->outcome == BLV_UNCERTIFIED && !solver->bias)
            fail_msg("%s ends at %g and is not known as biased", solver->name, s->grad_norm);
        assert_true(!solver->bias || says(s, solver->bias));
        for (size_t k = 0; k < LENGTH(biased); k++)
            if (strcmp(solver->name, biased[k]) == 0) {
                assert_int_equal(s->outcome, BLV_UNCERTIFIED);
                assert_true(s->grad_norm > 1e-3);
                expect_text(s->message.text, "not certified");
            }
        blv_solution_destroy(s);
    }
    blv_problem_destroy(problem);
}

/* |d| falls below the tolerance before |grad Phi| does: the run goes on until both have. */
static void test_nearly_there_goes_on(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "5", "dy", "5", "kappa", "5"));
    static const char *const tols[] = {"1e-2", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7"};
    static const char *const solvers[] = {"soba", "s-tfbo", "msgbio", "fsla", "saba", "mgbio"};
    for (size_t i = 0; i < LENGTH(solvers); i++)
        for (size_t k = 0; k < LENGTH(tols); k++) {
            blv_run *run = make_run(problem, solvers[i], SETTINGS("tol", tols[k], "batch", "full"));
            assert_int_equal(blv_run_solve(run), BLV_OK);
            expect_outcome(run, BLV_CONVERGED);
            blv_run_destroy(run);
        }
    blv_problem_destroy(problem);
}

/* On badly conditioned lower levels g is too rough for a line search long before gy is: the
 * certificate must not stop there, or nothing would be called converged. */
static void test_certificate_where_g_is_rough(void **state) {
    (void)state;
    static const char *const kappas[] = {"1e5", "1e6", "1e7"};
    for (size_t i = 0; i < LENGTH(kappas); i++) {
        blv_problem *problem = make_problem("quadratic", SETTINGS("kappa", kappas[i]));
        blv_solution *s = solve(problem, OPTIONS(.solver = "exact", .iters = 200));
        assert_true(s->certificate.tight && s->converged);
        blv_solution_destroy(s);
        blv_problem_destroy(problem);
    }
}

/* Without a certificate nothing is called converged. */
static void test_no_certificate_no_convergence(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_solution *s =
        solve(problem, OPTIONS(.solver = "exact", .no_certificate = true, .iters = 100));
    assert_int_equal(s->outcome, BLV_UNCERTIFIED);
    assert_false(s->converged);
    assert_int_equal(s->check_counts.g_grad, 0);
    blv_solution_destroy(s);
    blv_problem_destroy(problem);
}

/* ---- Pairs of one number each ---- */

/* g = y^2/2 + cross x y, or sin(x + y) where cross is 0; f = ridge x^2/2 + weight (y - b)^2/2. */
typedef struct pair {
    double cross, ridge, weight, b;
} pair;

static int pair_upper(void *user, const blv_batch *batch, const blv_vec *xv, const blv_vec *yv,
                      double *f, blv_vec *fx, blv_vec *fy) {
    const pair *p = user;
    double x = blv_vec_at(xv, 0), off = blv_vec_at(yv, 0) - p->b;
    (void)batch;
    if (f)
        *f = (p->ridge * x * x + p->weight * off * off) / 2.0;
    blv_vec_put(fx, 0, p->ridge * x);
    blv_vec_put(fy, 0, p->weight * off);
    return 0;
}

static int pair_lower(void *user, const blv_batch *batch, const blv_vec *xv, const blv_vec *yv,
                      double *g, blv_vec *gx, blv_vec *gy) {
    const pair *p = user;
    double x = blv_vec_at(xv, 0), y = blv_vec_at(yv, 0), c = p->cross;
    (void)batch;
    if (g)
        *g = c != 0.0 ? y * y / 2.0 + c * x * y : sin(x + y);
    blv_vec_put(gx, 0, c != 0.0 ? c * y : cos(x + y));
    blv_vec_put(gy, 0, c != 0.0 ? y + c * x : cos(x + y));
    return 0;
}

static int pair_products(void *user, const blv_batch *batch, const blv_vec *xv, const blv_vec *yv,
                         const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    const pair *p = user;
    double curve = -sin(blv_vec_at(xv, 0) + blv_vec_at(yv, 0)), c = p->cross;
    blv_vec_put(hv, 0, (c != 0.0 ? 1.0 : curve) * blv_vec_at(v, 0));
    blv_vec_put(jv, 0, (c != 0.0 ? c : curve) * blv_vec_at(v, 0));
    return gy ? pair_lower(user, batch, xv, yv, NULL, NULL, gy) : 0;
}

static blv_problem *make_pair(pair *p) {
    blv_problem *problem = NULL;
    const blv_problem_def def = {BLV_SIZED(blv_problem_def),
                                 .name = "pair",
                                 .dim_x = 1,
                                 .dim_y = 1,
                                 .threads = 1,
                                 .user = p,
                                 .upper = pair_upper,
                                 .lower = pair_lower,
                                 .lower_all = pair_products};
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    return problem;
}

/* The top of g = sin(x + y) satisfies every test on gradients: neither tolerance nor target make it
 * a solution. */
static void test_a_top_is_not_converged(void **state) {
    (void)state;
    pair top = {.ridge = 1.0};
    blv_problem *problem = make_pair(&top);
    const double x = 0.0, ys[] = {asin(1.0), -asin(1.0)};
    static const char *const target[] = {"target", "1", "every", "1", NULL};
    for (int minimum = 0; minimum < 2; minimum++) {
        blv_solution *s = solve(problem, OPTIONS(.solver = "mgbio", .tol = 1e-6, .iters = 10,
                                                 .x = &x, .y = &ys[minimum]));
        assert_int_equal(s->outcome, minimum ? BLV_CONVERGED : BLV_UNCERTIFIED);
        if (!minimum)
            expect_text(s->message.text, "not a minimum of g");
        blv_solution_destroy(s);
        s = solve(problem, OPTIONS(.solver = "mgbio", .iters = 10, .x = &x, .y = &ys[minimum],
                                   .settings = target));
        assert_int_equal(s->outcome, minimum ? BLV_TARGET_REACHED : BLV_LIMIT_ITERATIONS);
        blv_solution_destroy(s);
    }
    blv_problem_destroy(problem);
}

/* ---- Runs that go astray ---- */

/* A large cross derivative in units in which x is small, and steps that are too long: |x| doubles
 * in every step. The run ends early and keeps the start. */
static void test_blow_up(void **state) {
    (void)state;
    const struct {
        const char *solver;
        const char *const *settings;
    } runs[] = {{"msgbio", SETTINGS("gamma", "3e-10", "lambda", "1", "k", "1000", "m", "1")},
                {"aid-cg", SETTINGS("step_x", "3e-10")},
                {"soba", SETTINGS("step_x", "3e-9", "step_y", "1", "step_v", "1")}};
    pair steep = {.cross = 1e5, .ridge = 1.0, .weight = 1.0, .b = 1.0};
    blv_problem *problem = make_pair(&steep);
    const double x = 1e-3, y = 0.5;
    for (size_t i = 0; i < LENGTH(runs); i++) {
        blv_solution *s = solve(problem, OPTIONS(.solver = runs[i].solver, .iters = 400, .x = &x,
                                                 .y = &y, .settings = runs[i].settings));
        print_message("%s: %s\n", runs[i].solver, s->message.text);
        assert_int_equal(s->outcome, BLV_DIVERGED);
        expect_text(s->message.text, "left every scale");
        expect_text(s->message.text, "best seen");
        assert_true(s->iterations < 400);
        assert_true(s->phi <= s->certificate.start_phi * (1.0 + 1e-6) &&
                    !s->certificate.above_start);
        blv_solution_destroy(s);
    }
    blv_problem_destroy(problem);
}

/* The last finite x is no better than the next one. */
static void test_not_finite_keeps_the_best(void **state) {
    (void)state;
    blv_problem *problem = make_problem("parabola", NULL);
    const double x = 0.3;
    blv_solution *s = solve(problem, OPTIONS(.solver = "soba", .iters = 10, .x = &x,
                                             .settings = SETTINGS("step_x", "1e120")));
    print_message("soba: %s\n", s->message.text);
    assert_int_equal(s->outcome, BLV_DIVERGED);
    expect_text(s->message.text, "not finite");
    expect_text(s->message.text, "best seen");
    assert_true(s->phi <= s->certificate.start_phi * (1.0 + 1e-6));
    blv_solution_destroy(s);
    blv_problem_destroy(problem);
}

/* rahgd goes from one minimum of sin(x + y) to the next, uphill, and reports small gradients. */
static void test_astray_on_a_wave(void **state) {
    (void)state;
    pair wave = {.ridge = 0.1, .weight = 1.0, .b = 0.3831871523446262};
    blv_problem *problem = make_pair(&wave);
    const double x = 2.8496209482179857, y = -2.303939586187294;
    blv_solution *s = solve(problem, OPTIONS(.solver = "rahgd", .iters = 3000, .x = &x, .y = &y));
    print_message("rahgd: %s\n", s->message.text);
    assert_int_equal(s->outcome, BLV_DIVERGED);
    assert_true(s->phi <= s->certificate.start_phi * (1.0 + 1e-6));
    blv_solution_destroy(s);
    blv_problem_destroy(problem);
}

/* A run that ends above its start, but not out of every scale, keeps its end and says so. */
static void test_above_the_start(void **state) {
    (void)state;
    pair plain = {.cross = 1.0, .ridge = 1.0, .weight = 1.0, .b = 1.0};
    blv_problem *problem = make_pair(&plain);
    static const char *const too_long[] = {"step_x", "1.1", "step_y", "1", NULL};
    const double x = 1.0, y = -1.0;
    blv_solution *s = solve(
        problem, OPTIONS(.solver = "aid-cg", .iters = 5, .x = &x, .y = &y, .settings = too_long));
    assert_int_equal(s->outcome, BLV_LIMIT_ITERATIONS);
    assert_true(s->certificate.above_start && s->phi > s->certificate.start_phi);
    assert_true(fabs(s->certificate.start_phi - 2.5) < 1e-12);
    assert_true(says(s, "above its start"));
    blv_solution_destroy(s);
    s = solve(problem, OPTIONS(.solver = "aid-cg", .iters = 5, .x = &x, .y = &y));
    assert_false(s->certificate.above_start || says(s, "above its start"));
    blv_solution_destroy(s);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_ends_where_iid_ends),
        cmocka_unit_test(test_no_advice_that_was_followed),
        cmocka_unit_test(test_no_note_on_solved_runs),
        cmocka_unit_test(test_converged_is_certified),
        cmocka_unit_test(test_nearly_there_goes_on),
        cmocka_unit_test(test_certificate_where_g_is_rough),
        cmocka_unit_test(test_no_certificate_no_convergence),
        cmocka_unit_test(test_a_top_is_not_converged),
        cmocka_unit_test(test_blow_up),
        cmocka_unit_test(test_not_finite_keeps_the_best),
        cmocka_unit_test(test_astray_on_a_wave),
        cmocka_unit_test(test_above_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
