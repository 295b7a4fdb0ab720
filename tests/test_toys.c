/* The toys, from several starts, against the answers that are known on paper; and lower levels with
 * many solutions, which implicit methods must refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bilevel/certificate.h"
#include "bilevel/registry.h"
#include "blv_testing.h"

/* ---- One unknown ---- */

typedef struct answer {
    double x, y, phi;
} answer;

static const answer parabola[] = {{0.5, 0.5, 0.5}};
static const answer penalty[] = {{0.45, 0.1, 0.0}};
static const answer saddle[] = {{0.0, 0.0, 0.0}};
static const answer sine[] = {
    {0.38236, -0.38236, 0.44271}, {1.21515, -1.21515, 0.19991}, {2.82964, -2.82964, 1.24346}};

static const double starts[][2] = {{0.0, 0.0}, {1.0, 0.0},  {0.2, 0.1},  {0.5, 0.0}, {1.5, -1.0},
                                   {1.0, 2.0}, {3.0, -2.0}, {2.2, -3.0}, {-2.0, 5.0}};
enum { STARTS = sizeof starts / sizeof *starts };

/* Solves from one start and compares x with the nearest answer, then y, Phi and the gradient by the
 * certificate. Answers are rounded to 5 digits where they are roots: hence the 6e-6. */
static void check_end(const char *problem, const answer *answers, size_t count, const char *solver,
                      const char *const *settings, const double start[2], double tolerance) {
    blv_problem *p = make_problem(problem, NULL);
    blv_run *run = make_run(p, solver, settings);
    double x, y;
    write_state(run, "x", &start[0]);
    write_state(run, "y", &start[1]);
    solve_run(run);
    assert_true(blv_run_result(run)->outcome > BLV_DIVERGED);
    read_state(run, "x", &x);
    read_state(run, "y", &y);
    const answer *nearest = answers;
    for (size_t i = 1; i < count; i++)
        if (fabs(x - answers[i].x) < fabs(x - nearest->x))
            nearest = &answers[i];
    double rounding = count > 1 ? 6e-6 : 0.0;
    if (!(fabs(x - nearest->x) <= tolerance + rounding))
        fail_msg("%s by %s from (%g, %g): x is %.9g, off by %.2g, allowed %.2g", problem, solver,
                 start[0], start[1], x, fabs(x - nearest->x), tolerance);
    blv_certificate certificate = certify_run(run);
    assert_near(y, nearest->y, 20.0 * tolerance + rounding);
    assert_near(certificate.phi, nearest->phi, 50.0 * tolerance + rounding);
    assert_at_most(certificate.grad_norm, 100.0 * tolerance);
    assert_true(certificate.tight && !certificate.singular);
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

/* count of the starts above, from the first on. */
static void check_starts(const char *problem, const answer *answers, size_t answer_count,
                         const char *solver, const char *const *settings, size_t count,
                         double tolerance) {
    for (size_t i = 0; i < count; i++)
        check_end(problem, answers, answer_count, solver, settings, starts[i], tolerance);
}

/* D-TFBO ends its loops at |gy|, |r| <= 1/sqrt(T), and is as accurate as that. With beta0 = 1 and
 * H = 2 its steps are just short of 2/L, which makes tight loops very long: hence beta0 = 3. */
static void check_line(const char *problem, const answer *answers) {
    check_starts(problem, answers, 1, "exact", NULL, STARTS, 1e-10);
    check_starts(problem, answers, 1, "s-tfbo", SETTINGS("iters", "20000"), STARTS, 1e-10);
    check_starts(problem, answers, 1, "s-tfbo", SETTINGS("iters", "20000", "scale", "auto"), STARTS,
                 1e-10);
    check_starts(problem, answers, 1, "d-tfbo", SETTINGS("iters", "5000", "T", "10000"), STARTS,
                 1e-2);
    check_starts(problem, answers, 1, "d-tfbo",
                 SETTINGS("iters", "500", "T", "1000000000000", "beta0", "3", "gamma0", "3"),
                 STARTS, 1e-5);
    check_starts(problem, answers, 1, "aid-cg", SETTINGS("iters", "2000"), STARTS, 1e-10);
    check_starts(problem, answers, 1, "soba", SETTINGS("iters", "20000"), STARTS, 1e-3);
}

static void test_parabola(void **state) {
    (void)state;
    check_line("parabola", parabola);
}

static void test_saddle(void **state) {
    (void)state;
    check_line("saddle", saddle);
}

/* Phi is nearly flat for large x and steep at 0, so tuning-free and fixed steps are slow from far
 * away: the first six starts only. */
static void test_scalar_penalty(void **state) {
    (void)state;
    check_starts("scalar-penalty", penalty, 1, "exact", SETTINGS("accuracy", "1e-13"), STARTS,
                 1e-9);
    check_starts("scalar-penalty", penalty, 1, "s-tfbo", SETTINGS("iters", "20000"), 6, 1e-10);
    check_starts("scalar-penalty", penalty, 1, "d-tfbo", SETTINGS("iters", "5000", "T", "10000"), 6,
                 1e-1);
    check_starts("scalar-penalty", penalty, 1, "aid-cg",
                 SETTINGS("iters", "5000", "step_x", "0.5", "step_y", "0.3"), 6, 1e-8);
    check_starts("scalar-penalty", penalty, 1, "soba",
                 SETTINGS("iters", "20000", "step_x", "2", "step_y", "0.5", "step_v", "0.5"), 6,
                 1e-3);
    static const double near[][2] = {{0.2, 0.1}, {0.5, 0.0}, {1.5, -1.0}};
    for (size_t i = 0; i < 3; i++)
        check_end("scalar-penalty", penalty, 1, "aid-cg", SETTINGS("iters", "2000"), near[i], 1e-8);
}

/* Some of the starts are where g curves down in y: 2 + 2x cos(2(x+y)) < 0. */
static void test_pl_sine(void **state) {
    (void)state;
    check_starts("pl-sine", sine, 3, "exact", NULL, STARTS, 1e-9);
    check_starts("pl-sine", sine, 3, "s-tfbo", SETTINGS("iters", "20000"), STARTS, 1e-9);
    check_starts("pl-sine", sine, 3, "d-tfbo", SETTINGS("iters", "5000", "T", "10000"), STARTS,
                 1e-2);
    check_starts("pl-sine", sine, 3, "d-tfbo", SETTINGS("iters", "500", "T", "1000000000000"),
                 STARTS, 1e-5);
    check_starts("pl-sine", sine, 3, "aid-cg", SETTINGS("iters", "2000"), 6, 1e-9);
    check_starts("pl-sine", sine, 3, "soba", SETTINGS("iters", "100000"), 6, 1e-2);
}

/* Automatic steps where the start is not convex: mu has to come from somewhere else. */
static void test_auto_steps_where_g_curves_down(void **state) {
    (void)state;
    static const double start[2] = {3.0, -2.0};
    check_end("pl-sine", sine, 3, "aid-cg", SETTINGS("iters", "2000"), start, 1e-6);
}

/* No default diverges. The starts have x <= 3 and the answer is 0.45. While y and v settle, x may
 * be carried out to where Phi is nearly flat, but not on and on. */
static void test_auto_steps_do_not_diverge(void **state) {
    (void)state;
    static const char *const solvers[] = {"aid-cg", "soba"};
    size_t wrong = 0;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < STARTS; i++) {
            blv_problem *p = make_problem("scalar-penalty", NULL);
            blv_run *run = make_run(p, solvers[k], SETTINGS("iters", "5000"));
            double x;
            write_state(run, "x", &starts[i][0]);
            write_state(run, "y", &starts[i][1]);
            solve_run(run);
            read_state(run, "x", &x);
            blv_outcome outcome = blv_run_result(run)->outcome;
            if (outcome == BLV_DIVERGED || x > 30.0) {
                print_error("scalar-penalty by %s from (%g, %g): %s, x = %.3g\n", solvers[k],
                            starts[i][0], starts[i][1], blv_outcome_word(outcome), x);
                wrong++;
            }
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
    assert_int_equal(wrong, 0);
}

/* ---- pl-shift, in any dimension ---- */

/* start: 0 for zeros, else the scale of random numbers. */
static void check_shift(const char *dim, const char *solver, const char *const *settings,
                        double start, double tolerance) {
    blv_problem *p = make_problem("pl-shift", SETTINGS("dim", dim));
    blv_run *run = make_run(p, solver, settings);
    size_t n = blv_problem_definition(p)->dim_x;
    const double *a = array_of(p, "a"), *b = array_of(p, "b");
    double *x = make_numbers(n), *y = make_numbers(n), worst_x = 0.0, worst_y = 0.0;
    if (start > 0.0)
        assert_int_equal(blv_run_start_random(run, start), BLV_OK);
    solve_run(run);
    read_state(run, "x", x);
    read_state(run, "y", y);
    for (size_t i = 0; i < n; i++) {
        worst_x = fmax(worst_x, fabs(x[i] - 0.5 * (a[i] + b[i])));
        worst_y = fmax(worst_y, fabs(y[i] - 0.5 * (a[i] + b[i])));
    }
    if (!(worst_x <= tolerance && worst_y <= 2.0 * tolerance))
        fail_msg("pl-shift of %s by %s from scale %g: x off by %.2g, y by %.2g, allowed %.2g", dim,
                 solver, start, worst_x, worst_y, tolerance);
    assert_at_most(certify_run(run).grad_norm, 10.0 * sqrt((double)n) * tolerance);
    free(x);
    free(y);
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

/* At the larger starts t = y - x is where g curves down. Sums of gradient norms grow with the
 * dimension, so S-TFBO needs scale = auto for many coordinates. */
static void test_pl_shift(void **state) {
    (void)state;
    static const char *const dims[] = {"1", "10", "1000"};
    static const double scales[] = {0.0, 0.3, 2.0};
    for (size_t d = 0; d < 3; d++) {
        for (size_t s = 0; s < 3; s++) {
            check_shift(dims[d], "exact", NULL, scales[s], 1e-10);
            check_shift(dims[d], "s-tfbo", SETTINGS("iters", "4000", "scale", "auto"), scales[s],
                        1e-3);
            if (d < 2)
                check_shift(dims[d], "d-tfbo", SETTINGS("iters", "5000", "T", "10000"), scales[s],
                            1e-2);
            if (d < 2 && s < 2)
                check_shift(dims[d], "s-tfbo", SETTINGS("iters", "20000"), scales[s], 1e-9);
        }
        check_shift(dims[d], "aid-cg", SETTINGS("iters", "500"), 0.0, 1e-9);
        check_shift(dims[d], "soba", SETTINGS("iters", "2000"), 0.0, 1e-2);
    }
    check_shift("1000", "d-tfbo", SETTINGS("iters", "1500", "T", "10000"), 0.3, 1e-1);
}

static void test_pl_shift_auto_steps_from_random_starts(void **state) {
    (void)state;
    check_shift("10", "aid-cg", SETTINGS("iters", "2000"), 0.3, 1e-6);
    check_shift("10", "aid-cg", SETTINGS("iters", "2000"), 2.0, 1e-6);
    check_shift("10", "soba", SETTINGS("iters", "20000"), 0.3, 1e-2);
}

/* ---- Lower levels with many solutions ---- */

static void test_non_singleton_is_refused(void **state) {
    (void)state;
    blv_problem *p = make_problem("non-singleton", NULL);
    const blv_problem_def *def = blv_problem_definition(p);
    const blv_solver *solver;
    size_t refused = 0;
    for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++) {
        blv_run *run = NULL;
        blv_message why;
        if (!(solver->uses & BLV_USES_INVERSE))
            continue;
        refused++;
        assert_int_equal(blv_run_create(&run, p, solver, &why), BLV_E_UNSUPPORTED);
        assert_null(run);
        assert_non_null(strstr(why.text, "non-singleton"));
        assert_non_null(strstr(why.text, "singular"));
        assert_non_null(strstr(why.text, solver->name));
    }
    assert_true(refused >= 5);

    blv_vec *x, *y;
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    for (int at = 0; at < 2; at++) { /* at zero and at the solution */
        blv_certificate certificate;
        blv_message why;
        if (at == 1)
            assert_int_equal(def->known_solution(def->user, x, y), 0);
        assert_int_equal(blv_certify(p, x, y, NULL, &certificate, NULL, &why), BLV_OK);
        assert_true(certificate.singular);
        assert_true(isnan(certificate.grad_norm));
        assert_near(certificate.phi, at == 1 ? 0.0 : 0.5, 1e-12);
    }
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_problem_destroy(p);
}

/* The same problem by a user who does not say so. */
static blv_problem *make_undeclared(blv_problem **inner) {
    blv_problem *p = NULL;
    *inner = make_problem("non-singleton", NULL);
    blv_problem_def def = *blv_problem_definition(*inner);
    def.name = "undeclared";
    def.singular_lower = false;
    assert_int_equal(blv_problem_create(&p, &def, NULL), BLV_OK);
    return p;
}

static void test_undeclared_singular_lower_level(void **state) {
    (void)state;
    static const char *const solvers[] = {"exact", "aid-cg"};
    static const double from[][3] = {{0.5, 0.0, 0.0}, {-1.0, 2.0, 0.3}, {0.0, 0.0, 0.0}};
    blv_problem *inner, *p = make_undeclared(&inner);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < 3; i++) {
            blv_run *run = make_run(p, solvers[k], SETTINGS("iters", "200"));
            write_state(run, "x", from[i]);
            write_state(run, "y", from[i] + 1);
            solve_run(run);
            if (blv_run_result(run)->outcome != BLV_SINGULAR)
                fail_msg("%s from (%g; %g, %g): %s", solvers[k], from[i][0], from[i][1], from[i][2],
                         blv_run_message(run));
            assert_non_null(strstr(blv_run_message(run), "singular"));
            if (from[i][0] != 0.0) {
                assert_true(certify_run(run).singular);
                assert_true(isnan(certify_run(run).grad_norm));
            }
            blv_run_destroy(run);
        }
    blv_problem_destroy(p);
    blv_problem_destroy(inner);
}

/* At x = y = 0 the system H v = fy has a solution although H is singular: fy is in its range. */
static void test_certificate_sees_singular_where_system_is_solvable(void **state) {
    (void)state;
    blv_problem *inner, *p = make_undeclared(&inner);
    const blv_problem_def *def = blv_problem_definition(p);
    blv_vec *x, *y;
    blv_certificate certificate;
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    assert_int_equal(blv_certify(p, x, y, NULL, &certificate, NULL, NULL), BLV_OK);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_problem_destroy(p);
    blv_problem_destroy(inner);
    assert_true(certificate.singular);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parabola),
        cmocka_unit_test(test_saddle),
        cmocka_unit_test(test_scalar_penalty),
        cmocka_unit_test(test_pl_sine),
        cmocka_unit_test(test_auto_steps_where_g_curves_down),
        cmocka_unit_test(test_auto_steps_do_not_diverge),
        cmocka_unit_test(test_pl_shift),
        cmocka_unit_test(test_pl_shift_auto_steps_from_random_starts),
        cmocka_unit_test(test_non_singleton_is_refused),
        cmocka_unit_test(test_undeclared_singular_lower_level),
        cmocka_unit_test(test_certificate_sees_singular_where_system_is_solvable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
