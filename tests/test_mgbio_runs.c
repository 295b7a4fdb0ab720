/* The MGBiO family: output rules, defaults, rates and noise. True gradients are recomputed from the
 * instances' arrays or closed forms. */
#include "mgbio_testing.h"

/* ---- Clipping ---- */

/* Automatic bounds are wide: on a well-behaved problem they change nothing. Tight ones do. */
static void test_clip(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "5", "dy", "6", "kappa", "10"));
    for (size_t k = 1; k < 3; k++) {
        double x[3][5];
        const char *const *settings[] = {
            SETTINGS("iters", "100"), SETTINGS("iters", "100", "clip", "on"),
            SETTINGS("iters", "100", "clip", "on", "clip_mu", "3", "clip_L", "4")};
        for (int i = 0; i < 3; i++) {
            blv_run *run = make_run(p, family[k], settings[i]);
            solve_run(run);
            read_state(run, "x", x[i]);
            blv_run_destroy(run);
        }
        assert_memory_equal(x[0], x[1], sizeof x[0]);
        assert_true(dense_gap(5, x[0], x[2]) > 1e-3 * dense_size(5, x[0]));
    }
    blv_problem_destroy(p);
}

/* ---- What is handed out ---- */

/* The iterates do not depend on the rule; the best one is the best of them. */
static void test_output_best(void **state) {
    (void)state;
    enum { ITERATIONS = 300, DIM = 4 };
    blv_problem *p = make_problem(
        "quadratic", SETTINGS("dx", "4", "dy", "4", "kappa", "5", "terms", "60", "seed", "2"));
    for (size_t k = 0; k < 3; k++) {
        blv_run *last = make_run(p, family[k], SETTINGS("batch", "4"));
        blv_run *best = make_run(p, family[k], SETTINGS("batch", "4", "output", "best"));
        assert_int_equal(blv_run_start_random(last, 1.0), BLV_OK);
        assert_int_equal(blv_run_start_random(best, 1.0), BLV_OK);
        double smallest = INFINITY, expected[DIM], before[DIM], x[DIM], iterate[DIM];
        size_t kept = 0;
        for (int t = 0; t < ITERATIONS; t++) {
            read_state(last, "x", before);
            step_run(last);
            step_run(best);
            const blv_metrics *m = &blv_run_result(last)->metrics;
            double score = fmax(m->d_norm, m->gy_norm);
            kept += score >= smallest;
            if (score < smallest) {
                smallest = score;
                memcpy(expected, before, sizeof expected);
            }
            read_state(best, "x", x);
            assert_memory_equal(x, expected, sizeof x);
            read_state(best, "x iterate", iterate);
            read_state(last, "x", x);
            assert_memory_equal(iterate, x, sizeof x);
        }
        assert_true(kept > 5); /* not simply the last one */
        blv_run_destroy(last);
        blv_run_destroy(best);
    }
    blv_problem_destroy(p);
}

/* Which of the iterates was handed out, over many seeds: each about as often as any other. */
static void test_output_random(void **state) {
    (void)state;
    enum { ITERATIONS = 8, SEEDS = 800 };
    blv_problem *p = make_problem("parabola", NULL);
    double trail[ITERATIONS], start = 3.0;
    size_t hits[ITERATIONS] = {0};
    blv_run *plain = make_run(p, "mgbio", SETTINGS("gamma", "0.1", "lambda", "0.1"));
    write_state(plain, "x", &start);
    for (int t = 0; t < ITERATIONS; t++) {
        read_state(plain, "x", &trail[t]);
        step_run(plain);
    }
    blv_run_destroy(plain);
    for (int seed = 0; seed < SEEDS; seed++) {
        char text[16];
        snprintf(text, sizeof text, "%d", seed);
        blv_run *run = make_run(p, "mgbio",
                                SETTINGS("gamma", "0.1", "lambda", "0.1", "output", "random",
                                         "iters", "8", "seed", text));
        double x;
        write_state(run, "x", &start);
        solve_run(run);
        read_state(run, "x", &x);
        size_t which = 0;
        while (which < ITERATIONS && trail[which] != x)
            which++;
        assert_true(which < ITERATIONS);
        hits[which]++;
        blv_run_destroy(run);
    }
    double expected = (double)SEEDS / ITERATIONS, chi = 0.0;
    for (size_t i = 0; i < ITERATIONS; i++)
        chi += ((double)hits[i] - expected) * ((double)hits[i] - expected) / expected;
    assert_at_most(chi, 24.3); /* 7 degrees of freedom: one in a thousand is above */
    blv_problem_destroy(p);
}

/* x stays in X whatever is handed out, in both precisions, and the tolerance is that of the
 * gradient mapping: at x = 3 the gradient itself does not vanish. */
static int bound_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       double *f, blv_vec *fx, blv_vec *fy) {
    (void)user;
    (void)batch;
    double t = blv_vec_at(x, 0) - 5.0, s = blv_vec_at(y, 0) - 5.0;
    if (f)
        *f = 0.5 * (t * t + s * s);
    blv_vec_put(fx, 0, t);
    blv_vec_put(fy, 0, s);
    return 0;
}

static int bound_lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       double *g, blv_vec *gx, blv_vec *gy) {
    (void)user;
    (void)batch;
    double t = blv_vec_at(y, 0) - blv_vec_at(x, 0);
    if (g)
        *g = 0.5 * t * t;
    blv_vec_put(gx, 0, -t);
    blv_vec_put(gy, 0, t);
    return 0;
}

static int to_bound(void *user, blv_vec *x) {
    (void)user;
    blv_vec_clamp(x, -3.0, 3.0);
    return 0;
}

static void test_projection(void **state) {
    (void)state;
    static const char *const rules[] = {"last", "random", "best"};
    for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_message why;
        blv_problem *p = NULL;
        const blv_problem_def def = {BLV_SIZED(blv_problem_def),
                                     .dim_x = 1,
                                     .dim_y = 1,
                                     .precision = (blv_precision)precision,
                                     .upper = bound_upper,
                                     .lower = bound_lower,
                                     .project_x = to_bound};
        assert_int_equal(blv_problem_create(&p, &def, &why), BLV_OK);
        for (size_t k = 0; k < 3; k++)
            for (size_t rule = 0; rule < 3; rule++) {
                blv_run *run = make_run(
                    p, family[k], SETTINGS("iters", "3000", "tol", "1e-4", "output", rules[rule]));
                double x = 0.0;
                solve_run(run);
                read_state(run, "x", &x);
                assert_true(x >= -3.0 && x <= 3.0);
                if (rule != 1)
                    assert_near(x, 3.0, 1e-3);
                blv_outcome outcome = blv_run_result(run)->outcome;
                bool random_ends = rule == 1 && outcome == BLV_UNCERTIFIED;
                if (outcome != BLV_CONVERGED && !random_ends)
                    fail_msg("%s, %s: %s", family[k], rules[rule], blv_run_message(run));
                blv_run_destroy(run);
            }
        blv_problem_destroy(p);
    }
}

/* ---- Defaults ---- */

static const struct {
    const char *dx, *dy;
} sizes[] = {{"2", "2"}, {"7", "30"}, {"30", "7"}, {"60", "60"}};
static const char *const kappas[] = {"2", "20", "100"};
static const char *const seeds[] = {"0", "1", "2"};

/* A tenth of the first gradient within so many iterations, nothing set. Where H is dense an
 * iteration takes at most a millisecond. */
static void test_defaults(void **state) {
    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < 3; j++) {
                double worst = 0.0;
                for (size_t seed = 0; seed < (i == 3 && j < 2 ? 1 : 3); seed++) {
                    blv_problem *p = make_problem(
                        "quadratic", SETTINGS("dx", sizes[i].dx, "dy", sizes[i].dy, "kappa",
                                              kappas[j], "seed", seeds[seed]));
                    blv_run *run = make_run(p, family[k], SETTINGS("iters", k ? "600" : "1200"));
                    double before = true_gradient(p, run);
                    solve_run(run);
                    assert_true(ended_well(run));
                    worst = fmax(worst, true_gradient(p, run) / before);
                    blv_run_destroy(run);
                    blv_problem_destroy(p);
                }
                print_message("%s (%s, %s), kappa %s: %.2g of the first gradient\n", family[k],
                              sizes[i].dx, sizes[i].dy, kappas[j], worst);
                assert_at_most(worst, 0.1);
            }
}

/* Sums on batches: no divergence, and a fifth of the first gradient at least. */
static void test_defaults_on_batches(void **state) {
    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (size_t j = 0; j < 3; j++)
            for (size_t seed = 0; seed < 3; seed++) {
                blv_problem *p =
                    make_problem("quadratic", SETTINGS("dx", "8", "dy", "10", "kappa", kappas[j],
                                                       "terms", "200", "seed", seeds[seed]));
                blv_run *run = make_run(
                    p, family[k], SETTINGS("iters", "3000", "batch", "20", "seed", seeds[seed]));
                double before = true_gradient(p, run);
                solve_run(run);
                assert_true(ended_well(run));
                assert_at_most(true_gradient(p, run), 0.2 * before);
                blv_run_destroy(run);
                blv_problem_destroy(p);
            }
}

static void test_defaults_on_logistic(void **state) {
    (void)state;
    static const char *const batches[] = {"64", "8", "full"};
    for (size_t k = 0; k < 3; k++)
        for (size_t b = 0; b < 3; b++)
            for (size_t seed = 0; seed < 3; seed++) {
                blv_problem *p = make_problem("synthetic-logistic", SETTINGS("seed", seeds[seed]));
                blv_run *run = make_run(p, family[k],
                                        SETTINGS("iters", b == 2 ? "300" : "2000", "batch",
                                                 batches[b], "seed", seeds[seed]));
                double before = certify_run(run).grad_norm;
                solve_run(run);
                if (!ended_well(run))
                    fail_msg("%s, batch %s: %s", family[k], batches[b], blv_run_message(run));
                assert_at_most(certify_run(run).grad_norm, (b == 2 ? 0.1 : 0.5) * before);
                blv_run_destroy(run);
                blv_problem_destroy(p);
            }
}

/* Steps far too long: it ends as diverged, names what to lower, and x and y stay finite. */
static void test_divergence(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "5", "dy", "6", "kappa", "10"));
    for (size_t k = 0; k < 3; k++) {
        blv_run *run = make_run(p, family[k], SETTINGS("gamma", "1e3", "lambda", "1e3"));
        double x[5], y[6];
        assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
        solve_run(run);
        assert_int_equal(blv_run_result(run)->outcome, BLV_DIVERGED);
        assert_non_null(strstr(blv_run_message(run), "lower gamma or lambda"));
        read_state(run, "x", x);
        read_state(run, "y", y);
        assert_true(isfinite(dense_size(5, x)) && isfinite(dense_size(6, y)));
        blv_run_destroy(run);
    }
    blv_problem_destroy(p);
}

/* ---- Rates ---- */

/* Theorem 1: the mean of |grad Phi| over T iterations falls like T^-1/2 or faster. */
static void test_rate(void **state) {
    (void)state;
    enum { ITERATIONS = 2000 };
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "20", "dy", "20", "kappa", "50"));
    blv_run *run = make_run(p, "mgbio", NULL);
    double sum = 0.0, first = 0.0, sxx = 0.0, sxy = 0.0, sx = 0.0, sy = 0.0, n = 0.0;
    assert_int_equal(blv_run_start_random(run, 3.0), BLV_OK);
    for (size_t T = 1; T <= ITERATIONS; T++) {
        sum += true_gradient(p, run);
        step_run(run);
        if (T == 1)
            first = sum;
        if ((T & (T - 1)) != 0 || T < 64)
            continue;
        double lx = log((double)T), ly = log(sum / (double)T);
        sx += lx;
        sy += ly;
        sxx += lx * lx;
        sxy += lx * ly;
        n += 1.0;
    }
    double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx), end = true_gradient(p, run);
    print_message("mgbio: mean gradient falls like T^%.2f; %.3g to %.3g\n", slope, first, end);
    assert_at_most(slope, -0.5);
    assert_at_most(end, 1e-3 * first); /* and the last ones linearly, g being strongly convex */
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

/* ---- Noise ---- */

/* |grad Phi| at the end, the mean over the last quarter of the iterations. */
static double floor_of(const blv_problem *p, const char *solver, const char *const *settings,
                       const char *seed, size_t iterations) {
    blv_run *run = make_run(p, solver, settings);
    assert_int_equal(blv_run_set(run, "seed", seed), BLV_OK);
    double sum = 0.0, count = 0.0;
    for (size_t t = 0; t < iterations; t++) {
        step_run(run);
        if (t < 3 * iterations / 4 || t % 10 != 0)
            continue;
        sum += true_gradient(p, run);
        count += 1.0;
    }
    blv_run_destroy(run);
    return sum / count;
}

/* The recursive estimator ends lower than plain SGD with constant steps of the same size, and than
 * averages do; batches divide the sum, so that no batch is short. */
static void test_floors(void **state) {
    (void)state;
    enum { ITERATIONS = 3000 };
    blv_problem *p =
        make_problem("quadratic", SETTINGS("dx", "20", "dy", "20", "kappa", "50", "terms", "1000"));
    for (size_t s = 0; s < 3; s++) {
        double sgd =
            floor_of(p, "soba", SETTINGS("batch", "20", "decay", "0"), seeds[s], ITERATIONS);
        double average = floor_of(p, "msgbio", SETTINGS("batch", "20"), seeds[s], ITERATIONS);
        double reduced = floor_of(p, "vr-msgbio", SETTINGS("batch", "20"), seeds[s], ITERATIONS);
        print_message("seed %s: soba %.3g, msgbio %.3g, vr-msgbio %.3g\n", seeds[s], sgd, average,
                      reduced);
        assert_at_most(reduced, 0.5 * sgd);
    }
    blv_problem_destroy(p);
}

/* ---- float against double ---- */

static void test_float_against_double(void **state) {
    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (int form = 0; form < 2; form++) {
            double x[2][10];
            for (int single = 0; single < 2; single++) {
                blv_problem *p =
                    make_problem_as("quadratic", SETTINGS("dx", "10", "dy", "12", "kappa", "20"),
                                    single ? BLV_F32 : BLV_F64, 1);
                blv_run *run =
                    make_run(p, family[k],
                             k == 0 ? SETTINGS("iters", "300", "gamma", "0.1", "lambda", "0.05",
                                               "linear", form ? "minres" : "explicit")
                                    : SETTINGS("iters", "300", "gamma", "0.1", "lambda", "0.05",
                                               "representation", form ? "operator" : "explicit"));
                assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
                solve_run(run);
                assert_true(ended_well(run));
                read_state(run, "x", x[single]);
                blv_run_destroy(run);
                blv_problem_destroy(p);
            }
            double off = dense_gap(10, x[0], x[1]);
            assert_at_most(off, 1e-5 * (1.0 + dense_size(10, x[0])));
            assert_true(off > 0.0);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clip),
        cmocka_unit_test(test_output_best),
        cmocka_unit_test(test_output_random),
        cmocka_unit_test(test_projection),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_defaults_on_batches),
        cmocka_unit_test(test_defaults_on_logistic),
        cmocka_unit_test(test_divergence),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_floors),
        cmocka_unit_test(test_float_against_double),
    };
    leave_out_under_sanitizers("test_defaults*");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
