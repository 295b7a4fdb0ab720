/* The penalty family and the accelerated solvers beyond their formulas: what they cost, that they
 * ask for no second derivative, the constants that they find from gradients, their bias and how
 * fast they are. True gradients are recomputed from the instances' arrays with LAPACK. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blocks/constants.h"
#include "blv_testing.h"

#include <float.h>

enum { ROOM = 64 };

static const char *const first_order[] = {"f2sa",       "f2ba", "accf2ba", "ragd-gs",
                                          "minimaxopt", "pbgd", "pbsgd",   "bome"};
enum { FIRST_ORDER = sizeof first_order / sizeof *first_order };

static double true_gradient(const blv_problem *problem, const blv_run *run) {
    double x[ROOM], gradient[ROOM];
    read_state(run, "x", x);
    quadratic_truth(problem, x, NULL, NULL, gradient);
    return dense_size(blv_run_dim(run, "x"), gradient);
}

/* ---- G, from its formula, at y and z that are far apart ---- */

/* The gradient of f + lambda (g(.,y) - g(.,z)) in x on the quadratic: ridge x + lambda C'(y - z).
 */
static void test_direction(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "5", "dy", "8", "kappa", "7"));
    const blv_problem_def *def = blv_problem_definition(p);
    const double *C = array_of(p, "C"), ridge = *array_of(p, "ridge"), lambda = 13.0;
    double x[5], y[8], z[8], G[5], between[8], expected[5];
    blv_vec *vx, *vy, *vz, *vG;
    blv_run *run = make_run(p, "f2ba", NULL);
    blv_penalty penalty;
    blv_penalty_look look;
    assert_int_equal(blv_vec_create(&vx, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&vG, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&vy, def->space_y), BLV_OK);
    assert_int_equal(blv_vec_create(&vz, def->space_y), BLV_OK);
    for (size_t i = 0; i < 8; i++) {
        y[i] = cos((double)i);
        z[i] = 0.3 - 0.2 * (double)i;
        between[i] = y[i] - z[i];
    }
    for (size_t j = 0; j < 5; j++)
        x[j] = 1.0 - 0.7 * (double)j;
    blv_vec_write(vx, x);
    blv_vec_write(vy, y);
    blv_vec_write(vz, z);
    assert_int_equal(blv_penalty_open(run, &penalty), BLV_OK);
    assert_int_equal(blv_penalty_direction(run, &penalty, (blv_batches){NULL, NULL}, lambda, vx, vy,
                                           vz, true, vG, NULL, &look),
                     BLV_GO);
    blv_vec_read(vG, G);
    dense_transposed_times(8, 5, C, between, expected);
    for (size_t j = 0; j < 5; j++)
        assert_near(G[j], ridge * x[j] + lambda * expected[j], 1e-12);
    assert_near(look.G_norm, dense_size(5, G), 1e-12);
    assert_int_equal(blv_run_result(run)->counts.f_grad, 1);
    assert_int_equal(blv_run_result(run)->counts.g_grad, 2);
    blv_vec_destroy(vx);
    blv_vec_destroy(vG);
    blv_vec_destroy(vy);
    blv_vec_destroy(vz);
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

/* ---- Constants from gradients ---- */

typedef struct probe {
    double lambda;
    blv_penalty penalty;
    blv_constants_work *work;
    blv_constants found;
} probe;

static const blv_param probe_params[] = {
    {"lambda", BLV_REAL, offsetof(probe, lambda), "300", DBL_MIN, DBL_MAX, NULL, "penalty"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

static blv_error probe_open(blv_run *run, void *state) {
    probe *s = state;
    BLV_CHECK(blv_penalty_open(run, &s->penalty));
    return blv_constants_open(run, &s->work);
}

static blv_flow probe_prepare(blv_run *run, void *state) {
    probe *s = state;
    return blv_constants_penalized(run, s->work, &s->penalty, &s->lambda, 1.0, true, &s->found);
}

static blv_flow probe_step(blv_run *run, void *state) {
    (void)run;
    (void)state;
    return BLV_GO;
}

static const blv_solver probe_solver = {BLV_SIZED(blv_solver),       .name = "probe",
                                        .state_size = sizeof(probe), .params = probe_params,
                                        .open = probe_open,          .prepare = probe_prepare,
                                        .step = probe_step};

/* The largest eigenvalue of ridge I + C'M C, where M = lambda A^-1 - lambda^2 (I + lambda A)^-1
 * with y at its minimizer, and lambda A^-1 with y held. */
static double curvature(const blv_problem *p, double lambda, bool held) {
    size_t dx = blv_problem_definition(p)->dim_x, dy = blv_problem_definition(p)->dim_y;
    const double *A = array_of(p, "A"), *C = array_of(p, "C");
    double *B = make_numbers(dy * dy), *m = make_numbers(dx * dx), *values = make_numbers(dx);
    for (size_t i = 0; i < dy * dy; i++)
        B[i] = lambda * A[i] + (i % (dy + 1) == 0 ? 1.0 : 0.0);
    for (size_t k = 0; k < dx; k++) {
        double first[ROOM], second[ROOM], column[ROOM];
        for (size_t i = 0; i < dy; i++)
            first[i] = second[i] = C[i * dx + k];
        dense_solve(dy, A, first);
        dense_solve(dy, B, second);
        for (size_t i = 0; i < dy; i++)
            first[i] = lambda * first[i] - (held ? 0.0 : lambda * lambda * second[i]);
        dense_transposed_times(dy, dx, C, first, column);
        for (size_t j = 0; j < dx; j++)
            m[j * dx + k] = column[j] + (j == k ? *array_of(p, "ridge") : 0.0);
    }
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', (int)dx, m, (int)dx, values), 0);
    double largest = values[dx - 1];
    free(B);
    free(m);
    free(values);
    return largest;
}

static void test_constants(void **state) {
    (void)state;
    static const struct {
        const char *dx, *dy, *kappa, *scale, *lambda;
    } cases[] = {{"12", "9", "10", "1", "300"},
                 {"12", "9", "10", "1", "2"},
                 {"40", "30", "100", "0.5", "30"},
                 {"3", "50", "1000", "2", "300"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        blv_problem *inner =
            make_problem("quadratic", SETTINGS("dx", cases[i].dx, "dy", cases[i].dy, "kappa",
                                               cases[i].kappa, "scale", cases[i].scale));
        double lambda = strtod(cases[i].lambda, NULL), kappa = strtod(cases[i].kappa, NULL);
        spy watch;
        blv_problem *watched = spy_on(&watch, inner, 0);
        blv_run *run = NULL;
        assert_int_equal(blv_run_create(&run, watched, &probe_solver, NULL), BLV_OK);
        assert_int_equal(blv_run_set(run, "lambda", cases[i].lambda), BLV_OK);
        step_run(run);
        const probe *s = blv_run_solver_fields(run);
        double L_phi = curvature(inner, lambda, false), L_x = curvature(inner, lambda, true);
        print_message("kappa %g, lambda %g: L %.4g, mu %.4g, L_f %.4g, L_phi %.4g of %.4g, "
                      "L_x %.4g of %.4g\n",
                      kappa, lambda, s->found.L, s->found.mu, s->found.L_f, s->found.L_phi, L_phi,
                      s->found.L_x, L_x);
        assert_near(s->found.L, kappa, 0.01 * kappa);
        assert_true(s->found.mu <= 1.0001 && s->found.mu >= (kappa > 500.0 ? 0.1 : 0.4));
        assert_near(s->found.L_f, 1.0, 1e-4);
        assert_near(s->found.mu_f, 1.0, 1e-4);
        /* the power method comes from below; the inner solves leave errors, more of them where
         * they are cut off after 300 steps */
        double over = kappa > 500.0 ? 1.2 : 1.03;
        assert_true(s->found.L_phi <= over * L_phi && s->found.L_phi >= 0.8 * L_phi);
        assert_true(s->found.L_x <= 1.05 * L_x && s->found.L_x >= 0.8 * L_x);
        assert_int_equal(watch.counts.hvp + watch.counts.cross, 0);
        assert_counts_equal(watch.counts, blv_run_result(run)->setup_counts);
        blv_run_destroy(run);
        blv_problem_destroy(watched);
        blv_problem_destroy(inner);
        spy_free(&watch);
    }
}

/* ---- Costs ---- */

enum { STEPS = 25 };

static blv_counts per_sample(blv_counts a, blv_counts before, uint64_t terms) {
    return (blv_counts){(a.f_grad - before.f_grad) / terms, (a.g_grad - before.g_grad) / terms,
                        (a.hvp - before.hvp) / terms, (a.cross - before.cross) / terms,
                        (a.values - before.values) / terms};
}

/* Every step costs `each`; values may be asked for as well, three at most. */
static void check_costs(const char *solver, const char *const *settings, blv_counts each) {
    static const char *const terms[] = {"1", "8"};
    for (size_t i = 0; i < 2; i++) {
        uint64_t n = i == 0 ? 1 : 8;
        blv_problem *inner = make_problem(
            "quadratic", SETTINGS("dx", "6", "dy", "20", "kappa", "30", "terms", terms[i]));
        spy watch;
        blv_problem *watched = spy_on(&watch, inner, 0);
        blv_run *run = make_run(watched, solver, settings);
        assert_int_equal(blv_run_set(run, "batch", "full"), BLV_OK);
        blv_counts before = {0};
        for (uint64_t t = 1; t <= STEPS; t++) {
            step_run(run);
            const blv_result *result = blv_run_result(run);
            assert_int_equal(result->iterations, t);
            blv_counts step = per_sample(result->counts, before, n);
            assert_true(step.values <= 3);
            step.values = 0;
            assert_counts_equal(step, each);
            before = result->counts;
            assert_int_equal(watch.counts.f_grad, before.f_grad + result->setup_counts.f_grad);
            assert_int_equal(watch.counts.g_grad, before.g_grad + result->setup_counts.g_grad);
            assert_int_equal(watch.counts.hvp, before.hvp + result->setup_counts.hvp);
            assert_int_equal(watch.counts.cross, before.cross + result->setup_counts.cross);
        }
        blv_run_destroy(run);
        blv_problem_destroy(watched);
        blv_problem_destroy(inner);
        spy_free(&watch);
    }
}

static void test_costs(void **state) {
    (void)state;
    check_costs("ragd-gs", SETTINGS("inner", "7", "L", "4", "Hc", "0.1", "Lg", "31", "mu", "1"),
                (blv_counts){8, 16, 0, 0, 0});
    check_costs("ragd-gs", SETTINGS("inner", "7"), (blv_counts){8, 16, 0, 0, 0});
    check_costs("ragd-gs", SETTINGS("inner", "20", "inner_y", "30", "output", "average"),
                (blv_counts){31, 52, 0, 0, 0});
    check_costs("f2ba", SETTINGS("inner", "7"), (blv_counts){8, 16, 0, 0, 0});
    check_costs("f2ba", SETTINGS("inner", "3", "inner_y", "5"), (blv_counts){6, 10, 0, 0, 0});
    check_costs("accf2ba", SETTINGS("inner", "20"), (blv_counts){21, 42, 0, 0, 0});
    check_costs("minimaxopt", NULL, (blv_counts){2, 4, 0, 0, 0});
    check_costs("minimaxopt", SETTINGS("inner", "5"), (blv_counts){6, 12, 0, 0, 0});
    check_costs("minimaxopt", SETTINGS("order", "simultaneous"), (blv_counts){1, 2, 0, 0, 0});
    check_costs("minimaxopt", SETTINGS("optimizer", "adam"), (blv_counts){2, 4, 0, 0, 0});
    check_costs("f2sa", SETTINGS("inner", "4"), (blv_counts){5, 10, 0, 0, 0});
    check_costs("pbgd", SETTINGS("inner", "4"), (blv_counts){1, 6, 0, 0, 0});
    check_costs("pbsgd", SETTINGS("inner", "4"), (blv_counts){1, 6, 0, 0, 0});
    check_costs("bome", SETTINGS("inner", "4"), (blv_counts){1, 6, 0, 0, 0});
    check_costs("rahgd",
                SETTINGS("inner", "6", "linear", "3", "L", "4", "B", "9", "Lg", "31", "mu", "1"),
                (blv_counts){1, 6, 3, 1, 0});
}

/* Neither the steps nor the automatic constants call Hv or Jv, though the problem has them; and
 * without them nothing changes. */
static void test_no_second_order_call(void **state) {
    (void)state;
    static const char *const problems[] = {"quadratic", "pl-shift", "synthetic-logistic"};
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < FIRST_ORDER; i++) {
            double x[2][ROOM];
            for (int hidden = 0; hidden < 2; hidden++) {
                blv_problem *inner = make_problem(problems[k], NULL);
                spy watch;
                blv_problem *watched = spy_on(
                    &watch, inner, hidden ? SPY_HIDES_ALL | SPY_HIDES_HVP | SPY_HIDES_CROSS : 0);
                blv_run *run = make_run(watched, first_order[i], SETTINGS("iters", "12"));
                assert_int_equal(blv_run_solver(run)->uses & (BLV_USES_HVP | BLV_USES_CROSS), 0);
                solve_run(run);
                const blv_result *result = blv_run_result(run);
                assert_int_equal(result->iterations, 12);
                assert_int_equal(watch.counts.hvp + watch.counts.cross, 0);
                assert_int_equal(result->counts.hvp + result->counts.cross, 0);
                assert_int_equal(result->setup_counts.hvp + result->setup_counts.cross, 0);
                assert_true(result->setup_counts.g_grad > 0);
                assert_int_equal(watch.counts.g_grad,
                                 result->counts.g_grad + result->setup_counts.g_grad);
                assert_false(has_note(run, "by central differences"));
                read_state(run, "x", x[hidden]);
                blv_run_destroy(run);
                blv_problem_destroy(watched);
                blv_problem_destroy(inner);
                spy_free(&watch);
            }
            size_t dim = k == 0 ? 50 : k == 1 ? 10 : 20;
            assert_memory_equal(x[0], x[1], dim * sizeof(double));
        }
}

/* ---- Bias and output ---- */

/* The gradient of the penalized function at x, with both inner problems solved by LAPACK. */
static double penalized_gradient(const blv_problem *p, const double *x, double lambda) {
    size_t dx = blv_problem_definition(p)->dim_x, dy = blv_problem_definition(p)->dim_y;
    const double *A = array_of(p, "A"), *C = array_of(p, "C"), *b = array_of(p, "b");
    double *B = make_numbers(dy * dy), y[ROOM], z[ROOM], G[ROOM];
    dense_times(dy, dx, C, x, z);
    for (size_t i = 0; i < dy; i++) {
        z[i] = -(z[i] + array_of(p, "c")[i]);
        y[i] = b[i] + lambda * z[i];
    }
    for (size_t i = 0; i < dy * dy; i++)
        B[i] = lambda * A[i] + (i % (dy + 1) == 0 ? 1.0 : 0.0);
    dense_solve(dy, A, z);
    dense_solve(dy, B, y);
    for (size_t i = 0; i < dy; i++)
        y[i] -= z[i];
    dense_transposed_times(dy, dx, C, y, G);
    for (size_t j = 0; j < dx; j++)
        G[j] = *array_of(p, "ridge") * x[j] + lambda * G[j];
    free(B);
    return dense_size(dx, G);
}

static blv_problem *ill_conditioned(void) {
    return make_problem("quadratic", SETTINGS("dx", "30", "dy", "30", "kappa", "5", "scale", "1",
                                              "ridge", "0.001", "seed", "3"));
}

/* The penalized function is minimized to rounding, and what is left of |grad Phi| falls as
 * 1/lambda. */
static void test_bias(void **state) {
    (void)state;
    static const char *const lambdas[] = {"30", "300", "3000"};
    double before = INFINITY;
    for (size_t i = 0; i < 3; i++) {
        blv_problem *p = make_problem("quadratic", SETTINGS("dx", "10", "dy", "12", "kappa", "10"));
        blv_run *run = make_run(p, "ragd-gs", SETTINGS("iters", "200", "lambda", lambdas[i]));
        double x[ROOM];
        solve_run(run);
        read_state(run, "x", x);
        double bias = true_gradient(p, run);
        print_message("ragd-gs, lambda %s: |grad Phi| = %.3g\n", lambdas[i], bias);
        assert_at_most(penalized_gradient(p, x, strtod(lambdas[i], NULL)), 1e-10);
        assert_true(bias < before / 8.0 && (i == 0 || bias > before / 12.0));
        before = bias;
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

/* With output = average x is wbar, and a run that stops by tol does so at a wbar whose gradient,
 * computed anew, is that small. */
static void test_average(void **state) {
    (void)state;
    static const char *const Hc[] = {"auto", "0", "0.001"};
    for (size_t i = 0; i < 3; i++) {
        blv_problem *p = ill_conditioned();
        blv_run *run = make_run(p, "ragd-gs",
                                SETTINGS("output", "average", "tol", "1e-3", "Hc", Hc[i], "iters",
                                         "20000", "lambda", "100"));
        double x[ROOM], wbar[ROOM];
        solve_run(run);
        read_state(run, "x", x);
        read_state(run, "wbar", wbar);
        print_message("Hc %s: wbar meets 1e-3 after %llu iterations\n", Hc[i],
                      (unsigned long long)blv_run_result(run)->iterations);
        assert_int_equal(blv_run_result(run)->outcome, BLV_CONVERGED);
        assert_memory_equal(x, wbar, 30 * sizeof *x);
        assert_at_most(penalized_gradient(p, x, 100.0), 1.01e-3);
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

/* ---- Rates ---- */

static size_t steps_to(const blv_problem *p, const char *solver, double goal) {
    blv_run *run = make_run(p, solver, SETTINGS("lambda", "1e4"));
    double before = true_gradient(p, run);
    size_t steps = 0;
    while (true_gradient(p, run) > goal * before && steps < 20000) {
        step_run(run);
        steps++;
    }
    blv_run_destroy(run);
    return steps;
}

/* Condition number of Phi: above a thousand. */
static void test_acceleration(void **state) {
    (void)state;
    blv_problem *p = ill_conditioned();
    size_t plain = steps_to(p, "f2ba", 1e-3);
    size_t restarted = steps_to(p, "ragd-gs", 1e-3), accelerated = steps_to(p, "accf2ba", 1e-3);
    print_message("to a thousandth: f2ba %zu, ragd-gs %zu, accf2ba %zu iterations\n", plain,
                  restarted, accelerated);
    assert_true(plain < 20000);
    assert_true(5 * restarted < plain);
    assert_true(3 * accelerated < plain);
    blv_problem_destroy(p);
}

/* The least-squares slope of log |grad Phi| over log k, k = 10 ... 300: the smallest gradient so
 * far, as in the theorems. */
static double slope(const blv_problem *p, const char *solver) {
    blv_run *run = make_run(p, solver, SETTINGS("lambda", "1e5"));
    double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0, least = INFINITY;
    for (size_t k = 1; k <= 300; k++) {
        step_run(run);
        least = fmin(least, true_gradient(p, run));
        if (k < 10)
            continue;
        double x = log((double)k), y = log(least);
        n += 1.0;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    blv_run_destroy(run);
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

/* eps^-2 iterations: a slope of -1/2. eps^(-7/4): -4/7. */
static void test_rates(void **state) {
    (void)state;
    static const char *const seeds[] = {"0", "1", "2"};
    for (size_t i = 0; i < 3; i++) {
        blv_problem *p =
            make_problem("quadratic", SETTINGS("dx", "40", "dy", "30", "kappa", "5", "scale", "1",
                                               "ridge", "1e-4", "seed", seeds[i]));
        double plain = slope(p, "f2ba"), restarted = slope(p, "ragd-gs");
        print_message("seed %s: slopes f2ba %.2f, ragd-gs %.2f\n", seeds[i], plain, restarted);
        assert_at_most(plain, -0.5);
        assert_at_most(restarted, -4.0 / 7.0);
        assert_at_most(restarted, plain);
        blv_problem_destroy(p);
    }
}

/* ---- Steps that are too long ---- */

static void test_divergence(void **state) {
    (void)state;
    const struct {
        const char *solver;
        const char *const *settings;
        const char *to_change;
    } cases[] = {
        {"ragd-gs", SETTINGS("L", "1e-3", "Hc", "0"), "L"},
        {"ragd-gs", SETTINGS("Lg", "1", "mu", "0.5", "inner", "50"), "Lg"},
        {"f2ba", SETTINGS("step_x", "1e4"), "step_x"},
        {"accf2ba", SETTINGS("L", "1e-3", "B", "1e300"), "L"},
        {"rahgd", SETTINGS("L", "1e-3", "B", "1e300"), "L"},
        {"minimaxopt", SETTINGS("eta0", "10"), "eta0"},
        {"f2sa", SETTINGS("step_y", "1e6"), "step_y"},
        {"pbgd", SETTINGS("step_y", "10"), "step_y"},
        {"pbsgd", SETTINGS("step_z", "10"), "step_z"},
        {"bome", SETTINGS("Lg", "1", "inner", "20"), "Lg"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        blv_problem *p = make_problem("quadratic", SETTINGS("dx", "6", "dy", "8"));
        blv_run *run = make_run(p, cases[i].solver, cases[i].settings);
        double x[6], y[8];
        solve_run(run);
        if (blv_run_result(run)->outcome != BLV_DIVERGED)
            fail_msg("%s (case %zu): %s", cases[i].solver, i, blv_run_message(run));
        const char *hint = strrchr(blv_run_message(run), ';');
        assert_non_null(hint);
        if (!strstr(hint, cases[i].to_change))
            fail_msg("%s: the hint '%s' does not name %s", cases[i].solver, hint,
                     cases[i].to_change);
        read_state(run, "x", x);
        read_state(run, "y", y);
        assert_true(isfinite(dense_size(6, x)) && isfinite(dense_size(8, y)));
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

/* The cosine schedule ends the run; the constant one goes on at the last stage. */
static void test_minimaxopt_end(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "6", "dy", "8", "kappa", "5"));
    blv_run *run =
        make_run(p, "minimaxopt",
                 SETTINGS("schedule", "cosine", "stages", "4", "steps", "50", "iters", "1000"));
    solve_run(run);
    assert_int_equal(blv_run_result(run)->iterations, 200);
    assert_int_equal(blv_run_result(run)->outcome, BLV_STALLED);
    assert_non_null(strstr(blv_run_message(run), "cosine"));
    blv_run_destroy(run);
    run = make_run(p, "minimaxopt",
                   SETTINGS("schedule", "cosine", "stages", "4", "steps", "50", "iters", "200"));
    solve_run(run);
    assert_int_equal(blv_run_result(run)->outcome, BLV_LIMIT_ITERATIONS);
    assert_at_most(blv_run_result(run)->metrics.step_x, 1e-12);
    blv_run_destroy(run);
    run = make_run(p, "minimaxopt", SETTINGS("stages", "4", "steps", "50", "iters", "1000"));
    solve_run(run);
    assert_int_equal(blv_run_result(run)->iterations, 1000);
    double x[6];
    read_state(run, "x", x);
    assert_at_most(penalized_gradient(p, x, 1.5 * 1.5 * 1.5), 1e-10);
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_direction),    cmocka_unit_test(test_constants),
        cmocka_unit_test(test_costs),        cmocka_unit_test(test_no_second_order_call),
        cmocka_unit_test(test_bias),         cmocka_unit_test(test_average),
        cmocka_unit_test(test_acceleration), cmocka_unit_test(test_rates),
        cmocka_unit_test(test_divergence),   cmocka_unit_test(test_minimaxopt_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
