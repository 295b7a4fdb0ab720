/* STABLE: its iterates by a second computation in plain dense arrays, oracle counts, defaults, and
 * that y is carried along with x. See test_replay.c for the method of the replay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mgbio_model.h"

/* ---- Replay ---- */

static void step_stable(model *m) {
    replay *r = &m->r;
    seen_matrices *seen = &m->seen[r->t];
    bool twice = r->t > 0, fused = blv_problem_definition(r->watched)->lower_all;
    double tau = twice ? setting(r, "tau", 0.1) : 1.0;
    take(r, 'u');
    upper(r);
    const spy_call *g = take(r, 'l');
    lower(r);
    dense_matrices(r, seen->H, seen->G);
    swap_points(m);
    dense_matrices(r, seen->H_old, seen->G_old);
    swap_points(m);
    assert_int_equal(mark(r, "ahj", g), (twice ? 2U : 1U) * (fused ? 1U : 2U) * r->dy);
    renew(m, r->dy * r->dy, tau, seen->H, seen->H_old, m->Hm);
    renew(m, r->dx * r->dy, tau, seen->G, seen->G_old, m->G);
    indefinite_solve(r->dy, m->Hm, r->fy, r->v);
    dense_times(r->dx, r->dy, m->G, r->v, r->jv);
    make_d(r);
    memcpy(m->x_old, r->x, r->dx * sizeof *r->x);
    memcpy(m->y_old, r->y, r->dy * sizeof *r->y);
    move_x(r, setting(r, "step_x", NAN), r->fx);
    for (size_t j = 0; j < r->dx; j++)
        r->jv[j] = r->x[j] - m->x_old[j];
    dense_transposed_times(r->dx, r->dy, m->G, r->jv, r->p);
    indefinite_solve(r->dy, m->Hm, r->p, r->q);
    move(r->dy, r->y, setting(r, "step_y", NAN), r->gy);
    move(r->dy, r->y, 1.0, r->q);
}

static void check_from(const blv_problem *problem, formulas kind, const char *const *settings,
                       int hidden, const double *x0, const double *y0) {
    model m;
    open_model(&m, problem, kind, "stable", settings, hidden);
    replay *r = &m.r;
    start_at(r, x0, y0);
    assert_int_equal(blv_run_open(r->run), BLV_OK);
    write_state(r->run, "x", r->x);
    write_state(r->run, "y", r->y);
    for (r->t = 0; r->t < STEPS; r->t++) {
        spy_forget(&r->watch);
        step_run(r->run);
        step_stable(&m);
        compare(r, "x", r->dx, r->x);
        compare(r, "y", r->dy, r->y);
        compare(r, "v", r->dy, r->v);
        expect_all_needed(r);
    }
    close_model(&m);
}

static const shape shapes[] = {{"7", "5", "10", "1", "0.09"},
                               {"4", "9", "100", "1", "0.009"},
                               {"1", "6", "50", "1", "0.015"},
                               {"12", "1", "1", "1", "0.8"},
                               {"11", "13", "300", "1", "0.003"}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void test_replay(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "iid", "shuffle"};
    for (size_t i = 0; i < SHAPES; i++) {
        blv_problem *p = make_quadratic(&shapes[i], "1"), *sum = make_quadratic(&shapes[i], "23");
        const char *step = shapes[i].step;
        check_from(p, QUADRATIC, SETTINGS("step_x", "0.3", "step_y", step), 0, NULL, NULL);
        check_from(p, QUADRATIC, SETTINGS("step_x", "0.2", "step_y", step, "tau", "1"),
                   SPY_HIDES_ALL, NULL, NULL);
        for (size_t k = 0; k < 3; k++)
            check_from(sum, QUADRATIC,
                       SETTINGS("step_x", "0.1", "step_y", step, "tau", "0.3", "batch", "5",
                                "sampler", samplers[k]),
                       0, NULL, NULL);
        blv_problem_destroy(p);
        blv_problem_destroy(sum);
    }
}

static void test_toys_with_projection(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(toy_starts); i++) {
        blv_problem *p = make_problem(toy_starts[i].name, NULL);
        check_from(p, toy_starts[i].kind, SETTINGS("step_x", "0.02", "step_y", "0.1"), 0,
                   &toy_starts[i].x, &toy_starts[i].y);
        blv_problem_destroy(p);
    }
}

/* ---- Counts ---- */

static void test_counts(void **state) {
    (void)state;
    for (uint64_t batch = 0; batch < 2; batch++) {
        blv_problem *inner =
            make_problem("quadratic", SETTINGS("dx", "6", "dy", "9", "kappa", "30", "terms", "8"));
        spy watch;
        blv_problem *watched = spy_on(&watch, inner, 0);
        blv_run *run =
            make_run(watched, "stable",
                     SETTINGS("step_x", "0.1", "step_y", "0.02", "batch", batch ? "2" : "full"));
        uint64_t size = batch ? 2 : 8;
        for (uint64_t t = 1; t <= 6; t++) {
            step_run(run);
            uint64_t matrices = 9 * (2 * t - 1) * size;
            assert_counts_equal(watch.counts,
                                (blv_counts){t * size, t * size, matrices, matrices, 0});
            assert_counts_equal(blv_run_result(run)->counts, watch.counts);
        }
        blv_run_destroy(run);
        blv_problem_destroy(watched);
        blv_problem_destroy(inner);
        spy_free(&watch);
    }
}

/* ---- y is carried along ---- */

/* On a quadratic y*(x) is linear: from y*(x0) on, y stays at y*(x) whatever x does. */
static void test_y_keeps_up(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "6", "dy", "8", "kappa", "1000"));
    blv_run *run = make_run(p, "stable", SETTINGS("step_x", "0.4", "step_y", "1e-4"));
    double x[6], y[8], best[8];
    fill_start(6, 5, 1.0, x);
    quadratic_truth(p, x, best, NULL, NULL);
    assert_int_equal(blv_run_open(run), BLV_OK);
    write_state(run, "x", x);
    write_state(run, "y", best);
    for (int t = 0; t < 40; t++) {
        step_run(run);
        read_state(run, "x", x);
        read_state(run, "y", y);
        quadratic_truth(p, x, best, NULL, NULL);
        assert_at_most(dense_gap(8, y, best), 1e-12);
    }
    double gradient[6];
    quadratic_truth(p, x, NULL, NULL, gradient);
    assert_at_most(dense_size(6, gradient), 1e-6); /* at the speed of Phi alone */
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

/* ---- Defaults ---- */

static double true_gradient(const blv_problem *problem, const blv_run *run) {
    size_t dx = blv_run_dim(run, "x");
    double *x = make_numbers(dx), *gradient = make_numbers(dx);
    read_state(run, "x", x);
    quadratic_truth(problem, x, NULL, NULL, gradient);
    double norm = dense_size(dx, gradient);
    free(x);
    free(gradient);
    return norm;
}

static const char *const seeds[] = {"0", "1", "2"};

static void test_defaults(void **state) {
    (void)state;
    static const struct {
        const char *dx, *dy;
    } sizes[] = {{"2", "2"}, {"7", "30"}, {"30", "7"}, {"60", "60"}};
    static const char *const kappas[] = {"2", "20", "100"};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 3; j++) {
            double worst = 0.0;
            for (size_t seed = 0; seed < 3; seed++) {
                blv_problem *p =
                    make_problem("quadratic", SETTINGS("dx", sizes[i].dx, "dy", sizes[i].dy,
                                                       "kappa", kappas[j], "seed", seeds[seed]));
                blv_run *run = make_run(p, "stable", SETTINGS("iters", "300"));
                double before = true_gradient(p, run);
                solve_run(run);
                assert_int_equal(blv_run_result(run)->outcome, BLV_LIMIT_ITERATIONS);
                worst = fmax(worst, true_gradient(p, run) / before);
                blv_run_destroy(run);
                blv_problem_destroy(p);
            }
            print_message("stable (%s, %s), kappa %s: %.2g of the first gradient\n", sizes[i].dx,
                          sizes[i].dy, kappas[j], worst);
            assert_at_most(worst, 0.1);
        }
}

static void test_defaults_on_batches(void **state) {
    (void)state;
    for (size_t seed = 0; seed < 3; seed++) {
        blv_problem *p = make_problem("quadratic", SETTINGS("dx", "8", "dy", "10", "kappa", "50",
                                                            "terms", "200", "seed", seeds[seed]));
        blv_problem *logistic = make_problem("synthetic-logistic", SETTINGS("seed", seeds[seed]));
        blv_run *run = make_run(p, "stable", SETTINGS("iters", "3000", "batch", "20"));
        double before = true_gradient(p, run);
        solve_run(run);
        assert_int_equal(blv_run_result(run)->outcome, BLV_LIMIT_ITERATIONS);
        assert_at_most(true_gradient(p, run), 0.2 * before);
        blv_run_destroy(run);
        run = make_run(logistic, "stable", SETTINGS("iters", "2000"));
        before = certify_run(run).grad_norm;
        solve_run(run);
        assert_int_equal(blv_run_result(run)->outcome, BLV_LIMIT_ITERATIONS);
        assert_at_most(certify_run(run).grad_norm, 0.2 * before);
        blv_run_destroy(run);
        blv_problem_destroy(logistic);
        blv_problem_destroy(p);
    }
}

static void test_limits(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "5", "dy", "6", "kappa", "10"));
    blv_run *run = make_run(p, "stable", SETTINGS("step_x", "1e3", "step_y", "1e3"));
    double x[5], y[6];
    assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
    solve_run(run);
    assert_int_equal(blv_run_result(run)->outcome, BLV_DIVERGED);
    assert_non_null(strstr(blv_run_message(run), "lower step_x or step_y"));
    read_state(run, "x", x);
    read_state(run, "y", y);
    assert_true(isfinite(dense_size(5, x)) && isfinite(dense_size(6, y)));
    blv_run_destroy(run);
    blv_problem_destroy(p);
    p = make_problem("pl-shift", SETTINGS("dim", "1001"));
    run = make_run(p, "stable", NULL);
    assert_int_equal(blv_run_open(run), BLV_E_UNSUPPORTED);
    assert_non_null(strstr(blv_run_message(run), "1001"));
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

static void test_float_against_double(void **state) {
    (void)state;
    double x[2][10];
    for (int single = 0; single < 2; single++) {
        blv_problem *p =
            make_problem_as("quadratic", SETTINGS("dx", "10", "dy", "12", "kappa", "20"),
                            single ? BLV_F32 : BLV_F64, 1);
        blv_run *run =
            make_run(p, "stable", SETTINGS("iters", "200", "step_x", "0.1", "step_y", "0.05"));
        assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
        solve_run(run);
        read_state(run, "x", x[single]);
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
    double off = dense_gap(10, x[0], x[1]);
    assert_at_most(off, 1e-5 * (1.0 + dense_size(10, x[0])));
    assert_true(off > 0.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay),   cmocka_unit_test(test_toys_with_projection),
        cmocka_unit_test(test_counts),   cmocka_unit_test(test_y_keeps_up),
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_defaults_on_batches),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_float_against_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
