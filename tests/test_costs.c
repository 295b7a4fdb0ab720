/* Oracle counts: by the table of costs, by the run's counters, and by a spy that counts the calls
 * that really arrive. All three must agree to the last call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bilevel/certificate.h"
#include "blv_testing.h"

enum { STEPS = 17 };

static blv_problem *quadratic(const char *terms) {
    return make_problem("quadratic",
                        SETTINGS("dx", "6", "dy", "20", "kappa", "30", "terms", terms));
}

static blv_counts scaled(blv_counts one, uint64_t times) {
    return (blv_counts){one.f_grad * times, one.g_grad * times, one.hvp * times, one.cross * times,
                        one.values * times};
}

static blv_counts sum(blv_counts a, blv_counts b) {
    return (blv_counts){a.f_grad + b.f_grad, a.g_grad + b.g_grad, a.hvp + b.hvp, a.cross + b.cross,
                        a.values + b.values};
}

static const blv_counts none = {0, 0, 0, 0, 0};

/* Runs STEPS steps and compares both counts with `each` per step and sample. */
static void check_costs(const char *solver, const char *const *settings, int hidden,
                        blv_counts each) {
    static const char *const terms[] = {"1", "8"};
    for (size_t i = 0; i < 2; i++) {
        blv_problem *inner = quadratic(terms[i]);
        spy watch;
        blv_problem *watched = spy_on(&watch, inner, hidden);
        blv_run *run = make_run(watched, solver, settings);
        for (uint64_t t = 1; t <= STEPS; t++) {
            step_run(run);
            const blv_result *result = blv_run_result(run);
            assert_int_equal(result->iterations, t);
            assert_counts_equal(watch.counts, scaled(each, t * (i == 0 ? 1 : 8)));
            assert_counts_equal(result->counts, watch.counts);
            assert_counts_equal(result->setup_counts, none);
            assert_counts_equal(result->check_counts, none);
        }
        blv_run_destroy(run);
        blv_problem_destroy(watched);
        blv_problem_destroy(inner);
        spy_free(&watch);
    }
}

static void test_table(void **state) {
    (void)state;
    const blv_counts single = {1, 1, 1, 1, 0};
    check_costs("s-tfbo", NULL, 0, single);
    check_costs("s-tfbo", NULL, SPY_HIDES_ALL, single);
    check_costs("soba",
                SETTINGS("batch", "full", "step_x", "0.1", "step_y", "0.02", "step_v", "0.02"), 0,
                single);
    check_costs("d-tfbo", SETTINGS("inner", "fixed"), 0, (blv_counts){1, 10, 10, 1, 0});
    check_costs("d-tfbo", SETTINGS("inner", "fixed", "n_y", "5", "n_v", "3"), 0,
                (blv_counts){1, 5, 3, 1, 0});
    check_costs("aid-cg", SETTINGS("step_x", "0.1", "step_y", "0.02"), 0,
                (blv_counts){1, 10, 10, 1, 0});
    check_costs("aid-cg", SETTINGS("step_x", "0.1", "step_y", "0.02", "inner", "3", "linear", "4"),
                0, (blv_counts){1, 3, 4, 1, 0});
    check_costs("aid-cg", SETTINGS("step_x", "0.1", "step_y", "0.02", "inner", "1", "linear", "2"),
                0, (blv_counts){1, 1, 2, 1, 0});
}

/* Loops by tolerance: one gradient and one product more than steps, one upper call, one Jv. */
static void test_d_tfbo_by_tolerance(void **state) {
    (void)state;
    blv_problem *inner = quadratic("1");
    spy watch;
    blv_problem *watched = spy_on(&watch, inner, 0);
    watch.record = true;
    blv_run *run = make_run(watched, "d-tfbo", SETTINGS("T", "1000"));
    double y0[20], y1[20];
    uint64_t moved = 0;
    for (uint64_t t = 1; t <= STEPS; t++) {
        blv_counts before = watch.counts;
        read_state(run, "y", y0);
        spy_forget(&watch);
        step_run(run);
        read_state(run, "y", y1);
        assert_counts_equal(blv_run_result(run)->counts, watch.counts);
        assert_int_equal(watch.counts.f_grad - before.f_grad, 1);
        assert_int_equal(watch.counts.cross - before.cross, 1);
        assert_int_equal(watch.counts.values, 0);
        uint64_t gradients = watch.counts.g_grad - before.g_grad;
        assert_true(gradients >= 1);
        assert_true(watch.counts.hvp - before.hvp >= 1);
        /* y has moved if and only if there was more than the gradient that passed the test */
        assert_int_equal(gradients > 1, dense_gap(20, y0, y1) > 0.0);
        moved += gradients > 1;
        assert_int_equal(watch.size, gradients + (watch.counts.hvp - before.hvp) + 2);
    }
    assert_true(moved > 0);
    assert_true(blv_run_result(run)->metrics.gy_norm <= sqrt(1e-3));
    assert_true(blv_run_result(run)->metrics.r_norm <= sqrt(1e-3));
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(inner);
    spy_free(&watch);
}

/* ---- Batches ---- */

/* 23 samples in batches of 5: an epoch of a shuffle is 5, 5, 5, 5, 3 and counts 23; blocks are full
 * and count 25 in as many steps. */
static void test_size_of_batches(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "shuffle"};
    for (size_t i = 0; i < 2; i++) {
        blv_problem *inner = quadratic("23");
        spy watch;
        blv_problem *watched = spy_on(&watch, inner, 0);
        watch.record = true;
        blv_run *run = make_run(watched, "s-tfbo", SETTINGS("batch", "5", "sampler", samplers[i]));
        for (uint64_t epoch = 1; epoch <= 4; epoch++) {
            size_t shorter = 0;
            spy_forget(&watch);
            for (int k = 0; k < 5; k++)
                step_run(run);
            for (size_t k = 0; k < watch.size; k++) {
                assert_true(watch.calls[k].count == 5 || watch.calls[k].count == 3);
                shorter += watch.calls[k].count == 3;
            }
            assert_int_equal(shorter, i ? 2 : 0); /* one for f, one for g */
            assert_counts_equal(watch.counts,
                                scaled((blv_counts){1, 1, 1, 1, 0}, (i ? 23 : 25) * epoch));
            assert_counts_equal(blv_run_result(run)->counts, watch.counts);
        }
        blv_run_destroy(run);
        blv_problem_destroy(watched);
        blv_problem_destroy(inner);
        spy_free(&watch);
    }
}

static void test_batches_by_solver(void **state) {
    (void)state;
    static const struct {
        const char *solver, *inner, *n_y, *n_v;
        uint64_t g, h;
    } cases[] = {{"d-tfbo", "fixed", "n_y", "n_v", 4, 3}, {"aid-cg", "4", NULL, NULL, 4, 3}};
    for (size_t i = 0; i < 2; i++) {
        blv_problem *inner = quadratic("30");
        spy watch;
        blv_problem *watched = spy_on(&watch, inner, 0);
        blv_run *run = make_run(watched, cases[i].solver,
                                SETTINGS("batch", "6", "sampler", "iid", "inner", cases[i].inner));
        if (cases[i].n_y) {
            assert_int_equal(blv_run_set(run, "n_y", "4"), BLV_OK);
            assert_int_equal(blv_run_set(run, "n_v", "3"), BLV_OK);
        } else {
            assert_int_equal(blv_run_set(run, "linear", "3"), BLV_OK);
            assert_int_equal(blv_run_set(run, "step_x", "0.1"), BLV_OK);
            assert_int_equal(blv_run_set(run, "step_y", "0.02"), BLV_OK);
        }
        for (int t = 0; t < STEPS; t++)
            step_run(run);
        const blv_counts each = {1, cases[i].g, cases[i].h, 1, 0};
        assert_counts_equal(watch.counts, scaled(each, (uint64_t)6 * STEPS));
        assert_counts_equal(blv_run_result(run)->counts, watch.counts);
        blv_run_destroy(run);
        blv_problem_destroy(watched);
        blv_problem_destroy(inner);
        spy_free(&watch);
    }
}

/* ---- Differences ---- */

/* Without Hv and Jv both come from the same two gradients; with one of them, from two of its own.
 * The start is not zero: products with v = 0 ask for nothing. */
static void test_fallback_counts_gradients(void **state) {
    (void)state;
    static const struct {
        int hidden;
        blv_counts each;
        bool note_h, note_j;
    } cases[] = {
        {SPY_HIDES_ALL | SPY_HIDES_HVP | SPY_HIDES_CROSS, {1, 3, 0, 0, 0}, true, true},
        {SPY_HIDES_ALL | SPY_HIDES_HVP, {1, 3, 0, 1, 0}, true, false},
        {SPY_HIDES_ALL | SPY_HIDES_CROSS, {1, 3, 1, 0, 0}, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        blv_problem *inner = quadratic("4");
        spy watch;
        blv_problem *watched = spy_on(&watch, inner, cases[i].hidden);
        blv_run *run = make_run(watched, "s-tfbo", NULL);
        double v[20];
        for (size_t k = 0; k < 20; k++)
            v[k] = 0.1 * (double)k - 0.3;
        assert_int_equal(blv_run_open(run), BLV_OK);
        write_state(run, "v", v);
        for (int t = 0; t < STEPS; t++)
            step_run(run);
        blv_counts expected = scaled(cases[i].each, (uint64_t)4 * STEPS);
        expected.f_grad += 4; /* for a length in y, once: f and g with their gradients */
        expected.g_grad += 4;
        expected.values += 8;
        assert_counts_equal(watch.counts, expected);
        assert_counts_equal(blv_run_result(run)->counts, watch.counts);
        assert_int_equal(has_note(run, "Hv by central differences"), cases[i].note_h);
        assert_int_equal(has_note(run, "Jv by central differences"), cases[i].note_j);
        blv_run_destroy(run);
        blv_problem_destroy(watched);
        blv_problem_destroy(inner);
        spy_free(&watch);
    }
}

static void test_fallback_of_zero_asks_nothing(void **state) {
    (void)state;
    blv_problem *inner = quadratic("1");
    spy watch;
    blv_problem *watched = spy_on(&watch, inner, SPY_HIDES_ALL | SPY_HIDES_HVP | SPY_HIDES_CROSS);
    blv_run *run = make_run(watched, "s-tfbo", NULL);
    step_run(run);
    assert_counts_equal(watch.counts, (blv_counts){1, 1, 0, 0, 0});
    assert_counts_equal(blv_run_result(run)->counts, watch.counts);
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(inner);
    spy_free(&watch);
}

/* ---- Setup, checks and values ---- */

static void check_setup(const char *solver, const char *const *settings, blv_counts each) {
    blv_problem *inner = quadratic("1");
    spy watch;
    blv_problem *watched = spy_on(&watch, inner, 0);
    blv_run *run = make_run(watched, solver, settings);
    step_run(run);
    const blv_result *result = blv_run_result(run);
    assert_counts_equal(result->counts, each);
    assert_true(result->setup_counts.hvp > 0 && result->setup_counts.g_grad > 0);
    assert_counts_equal(sum(result->setup_counts, result->counts), watch.counts);
    blv_counts setup = result->setup_counts;
    step_run(run);
    assert_counts_equal(result->setup_counts, setup);
    assert_counts_equal(result->counts, scaled(each, 2));
    assert_counts_equal(result->check_counts, none);
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(inner);
    spy_free(&watch);
}

static void test_setup_is_counted_apart(void **state) {
    (void)state;
    check_setup("aid-cg", NULL, (blv_counts){1, 10, 10, 1, 0});
    check_setup("aid-cg", SETTINGS("step_x", "0.1"), (blv_counts){1, 10, 10, 1, 0});
    check_setup("soba", NULL, (blv_counts){1, 1, 1, 1, 0});
    check_setup("s-tfbo", SETTINGS("scale", "auto"), (blv_counts){1, 1, 1, 1, 0});
}

static int monitor(void *context, const blv_progress *progress) {
    ++*(int *)context;
    (void)progress;
    return 0;
}

/* A row is f and g on the whole sums; a certificate is counted with the checks too. */
static void test_checks_are_counted_apart(void **state) {
    (void)state;
    blv_problem *inner = quadratic("8");
    spy watch;
    blv_problem *watched = spy_on(&watch, inner, 0);
    blv_run *run = make_run(watched, "s-tfbo", SETTINGS("iters", "10", "batch", "2"));
    int rows = 0;
    assert_int_equal(blv_run_monitor(run, monitor, &rows, 5, 0.0), BLV_OK);
    solve_run(run);
    const blv_result *result = blv_run_result(run);
    assert_counts_equal(result->counts, (blv_counts){20, 20, 20, 20, 0});
    assert_true(rows >= 2);
    assert_int_equal(result->check_counts.f_grad, 0);
    assert_int_equal(result->check_counts.hvp, 0);
    assert_int_equal(result->check_counts.values, (uint64_t)rows * 16);
    assert_counts_equal(sum(result->counts, result->check_counts), watch.counts);
    blv_counts before = result->check_counts;
    blv_certificate certificate = certify_run(run);
    assert_true(certificate.tight);
    assert_counts_equal(result->counts, (blv_counts){20, 20, 20, 20, 0});
    assert_true(result->check_counts.hvp > before.hvp);
    assert_counts_equal(sum(result->counts, result->check_counts), watch.counts);
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(inner);
    spy_free(&watch);
}

/* exact looks at f and g: values count, each for every sample. */
static void test_values_are_counted(void **state) {
    (void)state;
    blv_problem *inner = quadratic("8");
    spy watch;
    blv_problem *watched = spy_on(&watch, inner, 0);
    blv_run *run = make_run(watched, "exact", SETTINGS("certify", "never"));
    solve_run(run);
    const blv_result *result = blv_run_result(run);
    assert_true(result->counts.values > 0);
    assert_int_equal(result->counts.values % 8, 0);
    assert_counts_equal(result->counts, watch.counts);
    assert_counts_equal(result->check_counts, none);
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(inner);
    spy_free(&watch);
}

/* exact with a limit on products: two more to see the scale of gy, and a solve of y may begin its
 * last round just below the limit. */
static void test_limit_on_products(void **state) {
    (void)state;
    enum { LIMIT = 5 };
    double each[2], grad_norm[2];
    for (size_t i = 0; i < 2; i++) {
        blv_problem *p = make_problem("quadratic", SETTINGS("dx", "6", "dy", "40", "kappa", "300"));
        blv_run *run = make_run(p, "exact", SETTINGS("iters", "30", "products", i ? "auto" : "5"));
        solve_run(run);
        blv_certificate c;
        assert_int_equal(blv_run_certify(run, &c), BLV_OK);
        const blv_counts counts = blv_run_result(run)->counts;
        each[i] = (double)counts.hvp / (double)counts.f_grad;
        grad_norm[i] = c.grad_norm;
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
    assert_true(each[0] <= 2 + (2 * LIMIT - 1) + (LIMIT + 1));
    assert_true(each[1] > each[0]);
    assert_true(grad_norm[1] < 1e-6);
    assert_true(isfinite(grad_norm[0]));
}

/* The certificate alone, with counts of the caller's. */
static void test_certificate_counts(void **state) {
    (void)state;
    blv_problem *inner = quadratic("3");
    spy watch;
    blv_problem *watched = spy_on(&watch, inner, 0);
    const blv_problem_def *def = blv_problem_definition(watched);
    blv_vec *x, *y;
    blv_certificate certificate;
    blv_counts counts = none;
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    assert_int_equal(blv_certify(watched, x, y, NULL, &certificate, &counts, NULL), BLV_OK);
    assert_true(counts.hvp > 0);
    assert_counts_equal(counts, watch.counts);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_problem_destroy(watched);
    blv_problem_destroy(inner);
    spy_free(&watch);
}

/* A budget is on these counts: the run ends with the first step that uses it up. */
static void test_budget(void **state) {
    (void)state;
    blv_problem *inner = quadratic("8");
    blv_run *run = make_run(inner, "s-tfbo", SETTINGS("budget", "100", "batch", "2"));
    solve_run(run);
    const blv_result *result = blv_run_result(run);
    assert_int_equal(result->outcome, BLV_LIMIT_BUDGET);
    assert_int_equal(result->iterations, 13); /* 8 a step */
    blv_run_destroy(run);
    blv_problem_destroy(inner);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_d_tfbo_by_tolerance),
        cmocka_unit_test(test_size_of_batches),
        cmocka_unit_test(test_batches_by_solver),
        cmocka_unit_test(test_fallback_counts_gradients),
        cmocka_unit_test(test_fallback_of_zero_asks_nothing),
        cmocka_unit_test(test_setup_is_counted_apart),
        cmocka_unit_test(test_checks_are_counted_apart),
        cmocka_unit_test(test_values_are_counted),
        cmocka_unit_test(test_limit_on_products),
        cmocka_unit_test(test_certificate_counts),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
