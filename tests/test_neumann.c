/* Neumann estimates and recursive estimators: what the series is off by, which points and batches
 * its oracles are asked for, what an iteration costs, and where the noise ends up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blv_testing.h"

#define FROZEN "step_x", "1e-300", "step_y", "1e-300"

/* ---- The series, against LAPACK ---- */

enum { DY = 12 };

static blv_problem *series_problem(const char *seed) {
    return make_problem("quadratic", SETTINGS("dx", "5", "dy", "12", "kappa", "40", "seed", seed));
}

/* v of one step of stocbio or of the mean over many of ttsa, at y and x = 0, which do not move. */
static void series_at(const blv_problem *p, const char *solver, const char *Q, const char *eta,
                      const double *y, size_t steps, double *mean) {
    double v[DY];
    blv_run *run = make_run(p, solver, SETTINGS(FROZEN, "Q", Q, "eta", eta, "iters", "1e9"));
    assert_int_equal(blv_run_open(run), BLV_OK);
    write_state(run, "y", y);
    memset(mean, 0, DY * sizeof *mean);
    for (size_t t = 0; t < steps; t++) {
        step_run(run);
        read_state(run, "v", v);
        for (size_t i = 0; i < DY; i++)
            mean[i] += v[i] / (double)steps;
    }
    blv_run_destroy(run);
}

/* v - A^-1 fy = -(I - eta A)^(Q+1) A^-1 fy to rounding: a sum without its first term, or with one
 * term too many, is off by far more. */
static void test_error_of_the_sum(void **state) {
    (void)state;
    static const char *const Q[] = {"1", "2", "3", "17", "120"};
    for (size_t k = 0; k < sizeof Q / sizeof *Q; k++) {
        blv_problem *p = series_problem("1");
        const double eta = 0.02, *A = array_of(p, "A"), *b = array_of(p, "b");
        double y[DY], v[DY], best[DY], rest[DY], product[DY];
        for (size_t i = 0; i < DY; i++) {
            y[i] = cos((double)i);
            best[i] = y[i] - b[i];
        }
        dense_solve(DY, A, best);
        memcpy(rest, best, sizeof rest);
        for (size_t q = 0; q <= strtoul(Q[k], NULL, 10); q++) {
            dense_times(DY, DY, A, rest, product);
            for (size_t i = 0; i < DY; i++)
                rest[i] -= eta * product[i];
        }
        series_at(p, "stocbio", Q[k], "0.02", y, 1, v);
        for (size_t i = 0; i < DY; i++)
            assert_near(v[i], best[i] - rest[i], 1e-12);
        blv_problem_destroy(p);
    }
}

/* Along the eigenvector of mu the relative error is (1 - mu eta)^(Q+1). */
static void test_relative_bias(void **state) {
    (void)state;
    static const char *const Q[] = {"1", "4", "30", "100"};
    blv_problem *p = series_problem("3");
    double vectors[DY * DY], values[DY], y[DY], v[DY], best[DY];
    memcpy(vectors, array_of(p, "A"), sizeof vectors);
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'V', 'U', DY, vectors, DY, values), 0);
    assert_near(values[0], 1.0, 1e-10);
    for (size_t i = 0; i < DY; i++) {
        y[i] = array_of(p, "b")[i] + vectors[i * DY]; /* fy = y - b */
        best[i] = vectors[i * DY] / values[0];
    }
    for (size_t k = 0; k < sizeof Q / sizeof *Q; k++) {
        double factors = strtod(Q[k], NULL);
        series_at(p, "stocbio", Q[k], "0.025", y, 1, v);
        assert_near(dense_gap(DY, v, best) / dense_size(DY, best), pow(1.0 - 0.025, factors + 1.0),
                    1e-11);
    }
    blv_problem_destroy(p);
}

/* In the mean the randomized form is the sum up to r_{Q-1}; its noise goes down with the number of
 * draws. */
static void test_mean_of_the_randomized_form(void **state) {
    (void)state;
    blv_problem *p = series_problem("2");
    double y[DY], sum[DY], mean[DY];
    for (size_t i = 0; i < DY; i++)
        y[i] = sin((double)i);
    series_at(p, "stocbio", "19", "0.025", y, 1, sum);
    series_at(p, "ttsa", "20", "0.025", y, 60000, mean);
    assert_at_most(dense_gap(DY, sum, mean), 0.02 * dense_size(DY, sum));
    series_at(p, "ttsa", "20", "0.025", y, 20, mean);
    assert_true(dense_gap(DY, sum, mean) > 0.02 * dense_size(DY, sum));
    blv_problem_destroy(p);
}

/* p shows in the number of products. */
static void test_p_is_uniform(void **state) {
    (void)state;
    enum { Q = 13, DRAWS = 26000 };
    blv_problem *inner = series_problem("0");
    uint64_t first[2][50];
    for (int seed = 0; seed < 2; seed++) {
        size_t seen[Q] = {0};
        spy watch;
        blv_problem *watched = spy_on(&watch, inner, 0);
        blv_run *run = make_run(
            watched, "ttsa",
            SETTINGS(FROZEN, "eta", "0.02", "Q", "13", "iters", "1e9", "seed", seed ? "1" : "0"));
        for (size_t t = 0; t < DRAWS; t++) {
            uint64_t before = watch.counts.hvp;
            step_run(run);
            uint64_t p = watch.counts.hvp - before;
            assert_true(p < Q);
            seen[p]++;
            if (t < 50)
                first[seed][t] = p;
        }
        double chi = 0.0, expected = (double)DRAWS / Q;
        for (size_t p = 0; p < Q; p++)
            chi += pow((double)seen[p] - expected, 2.0) / expected;
        assert_at_most(chi, 32.9); /* 12 degrees of freedom: 0.1% */
        blv_run_destroy(run);
        blv_problem_destroy(watched);
    }
    assert_memory_not_equal(first[0], first[1], sizeof first[0]);
    blv_problem_destroy(inner);
}

/* ---- Automatic eta and Q ---- */

static void test_automatic_factors(void **state) {
    (void)state;
    static const struct {
        const char *kappa;
        uint64_t Q; /* smallest with (1 - 1/kappa)^Q <= 0.05, from 10 to 300 */
    } cases[] = {{"1", 10}, {"2", 10}, {"5", 14}, {"20", 59}, {"50", 149}, {"1000", 300}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        blv_problem *p = make_problem(
            "quadratic", SETTINGS("dx", "4", "dy", "10", "kappa", cases[k].kappa, "seed", "3"));
        blv_run *run = make_run(p, "stocbio", NULL);
        for (uint64_t t = 1; t <= 5; t++) {
            step_run(run);
            assert_int_equal(blv_run_result(run)->counts.hvp, t * cases[k].Q);
        }
        assert_true(blv_run_result(run)->setup_counts.hvp > 0);
        if (k > 0) /* 1/L, as eta is; with kappa = 1 nothing but rounding is left to step along */
            assert_near(blv_run_result(run)->metrics.step_y, 1.0 / strtod(cases[k].kappa, NULL),
                        1e-6);
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

/* H is 0.1 at the start and 1 at the solution. With eta = 1/0.1 to the end, series would grow from
 * term to term and x be driven back to 0, where Phi = 0.08. */
static void test_eta_follows_the_curvature(void **state) {
    (void)state;
    static const char *const solvers[] = {"stocbio", "mrbo", "mstsa", "vrbo"};
    for (size_t k = 0; k < 4; k++) {
        blv_problem *p = make_problem("scalar-penalty", NULL);
        blv_run *run = make_run(p, solvers[k], SETTINGS("iters", k == 3 ? "1000" : "20000"));
        solve_run(run);
        assert_true(certify_run(run).phi < 0.02);
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

/* ---- Where the oracles are asked ---- */

enum { DIM = 6, CALLS = 4096 };

typedef struct witnessed {
    char kind;
    double x[DIM], y[DIM];
    size_t count, first; /* of the batch: blocks are contiguous here */
} witnessed;

typedef struct witness {
    const blv_problem_def *inner;
    witnessed calls[CALLS];
    size_t size;
} witness;

static void testify(witness *w, char kind, const blv_batch *batch, const blv_vec *x,
                    const blv_vec *y) {
    assert_true(w->size < CALLS);
    witnessed *call = &w->calls[w->size++];
    call->kind = kind;
    call->count = batch ? batch->count : 0;
    call->first = batch ? batch->first : 0;
    assert_true(!batch || !batch->index);
    blv_vec_read(x, call->x);
    blv_vec_read(y, call->y);
}

static int see_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     double *f, blv_vec *fx, blv_vec *fy) {
    witness *w = user;
    testify(w, 'u', batch, x, y);
    return w->inner->upper(w->inner->user, batch, x, y, f, fx, fy);
}

static int see_lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     double *g, blv_vec *gx, blv_vec *gy) {
    witness *w = user;
    testify(w, 'l', batch, x, y);
    return w->inner->lower(w->inner->user, batch, x, y, g, gx, gy);
}

static int see_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                   const blv_vec *v, blv_vec *hv) {
    witness *w = user;
    testify(w, 'h', batch, x, y);
    return w->inner->lower_hvp(w->inner->user, batch, x, y, v, hv);
}

static int see_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *jv) {
    witness *w = user;
    testify(w, 'j', batch, x, y);
    return w->inner->lower_cross(w->inner->user, batch, x, y, v, jv);
}

static blv_problem *watch_points(witness *w, const blv_problem *problem) {
    blv_problem *watched;
    w->inner = blv_problem_definition(problem);
    w->size = 0;
    blv_problem_def def = *w->inner;
    def.user = w;
    def.free_user = NULL;
    def.upper = see_upper;
    def.lower = see_lower;
    def.lower_hvp = see_hvp;
    def.lower_cross = see_cross;
    def.lower_all = NULL;
    def.known_phi = NULL;
    def.known_solution = NULL;
    assert_int_equal(blv_problem_create(&watched, &def, NULL), BLV_OK);
    return watched;
}

static bool same_point(const witnessed *a, const double *x, const double *y) {
    return memcmp(a->x, x, sizeof a->x) == 0 && memcmp(a->y, y, sizeof a->y) == 0;
}

static void assert_one_batch(const witnessed *a, const witnessed *b) {
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->first, b->first);
}

/* 12600 is divided by every batch size below: no block is short. */
static blv_problem *sum_problem(void) {
    return make_problem(
        "quadratic", SETTINGS("dx", "6", "dy", "6", "kappa", "10", "terms", "12600", "seed", "5"));
}

#define NEUMANN "eta", "0.1", "Q", "4", "batch", "5"

/* Calls come in pairs: at z_k and at z_{k-1}, bit for bit, on one batch. */
static void check_pairs(const char *solver, const char *const *settings, size_t single) {
    static witness w;
    blv_problem *p = sum_problem(), *watched = watch_points(&w, p);
    blv_run *run = make_run(watched, solver, settings);
    double x[2][DIM], y[2][DIM];
    assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
    for (size_t k = 0; k < 30; k++) {
        w.size = 0;
        read_state(run, "x", x[k % 2]);
        read_state(run, "y", y[k % 2]);
        step_run(run);
        for (size_t i = single; k > 0 && i < w.size; i += 2) {
            assert_one_batch(&w.calls[i], &w.calls[i + 1]);
            assert_true(same_point(&w.calls[i], x[k % 2], y[k % 2]));
            assert_true(same_point(&w.calls[i + 1], x[1 - k % 2], y[1 - k % 2]));
            assert_false(same_point(&w.calls[i], w.calls[i + 1].x, w.calls[i + 1].y));
        }
    }
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(p);
}

static void test_same_batch_at_both_points(void **state) {
    (void)state;
    check_pairs("mrbo", SETTINGS(NEUMANN, "step_x", "0.3", "step_y", "0.1"), 0);
    check_pairs("sustain", SETTINGS(NEUMANN, "step_x", "0.3", "step_y", "0.1"), 0);
    check_pairs("mstsa", SETTINGS(NEUMANN, "step_x", "0.3", "step_y", "0.1"), 1);
}

/* B_y, B_1 .. B_Q and B_G of one iteration: all different, since an epoch has enough blocks. */
static void test_batch_of_its_own_for_every_factor(void **state) {
    (void)state;
    static witness w;
    blv_problem *p = sum_problem(), *watched = watch_points(&w, p);
    blv_run *run = make_run(watched, "mrbo", SETTINGS(NEUMANN, "step_x", "0.3", "step_y", "0.1"));
    for (size_t k = 0; k < 10; k++) {
        w.size = 0;
        step_run(run);
        for (size_t i = 0; i < w.size; i++)
            for (size_t j = i + 2; j < w.size; j++)
                if (k > 0 && w.calls[i].kind != 'u' && w.calls[j].kind != 'u' && j / 2 > i / 2)
                    assert_true(w.calls[i].first != w.calls[j].first);
    }
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(p);
}

/* An inner iteration of vrbo is a run of calls on two points. At t = 0 these are (x_{k+1}, y_k) and
 * (x_k, y_k); later both have x_{k+1}, and the second is the first of the one before. */
static void test_vrbo_differences(void **state) {
    (void)state;
    enum { PER_STEP = 2 * (1 + 1 + 4 + 1), INNER = 3 };
    static witness w;
    blv_problem *p = sum_problem(), *watched = watch_points(&w, p);
    blv_run *run =
        make_run(watched, "vrbo",
                 SETTINGS(NEUMANN, "step_x", "0.2", "step_y", "0.1", "inner", "3", "S1", "60"));
    double x0[DIM], y0[DIM], x1[DIM], y1[DIM];
    assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
    for (size_t k = 0; k < 12; k++) {
        const size_t refresh = k % 3 == 0 ? 1 + 1 + 4 + 1 : 0;
        w.size = 0;
        read_state(run, "x", x0);
        read_state(run, "y", y0);
        step_run(run);
        read_state(run, "x", x1);
        read_state(run, "y", y1);
        assert_int_equal(w.size, refresh + (INNER + 2) * PER_STEP);
        for (size_t i = 0; i < refresh; i++) {
            assert_true(same_point(&w.calls[i], x0, y0));
            assert_int_equal(w.calls[i].count, 60);
        }
        assert_true(dense_gap(DIM, x0, x1) > 0.0);
        const witnessed *before = NULL;
        for (size_t t = 0; t < INNER + 2; t++) {
            const witnessed *calls = w.calls + refresh + t * PER_STEP;
            for (size_t i = 0; i < PER_STEP; i += 2) {
                assert_one_batch(&calls[i], &calls[i + 1]);
                assert_int_equal(calls[i].count, 5);
                assert_true(same_point(&calls[i], x1, calls[0].y));
                assert_true(same_point(&calls[i + 1], t == 0 ? x0 : x1, t == 0 ? y0 : before->y));
            }
            if (t == 0)
                assert_memory_equal(calls[0].y, y0, sizeof y0);
            before = calls;
        }
        assert_memory_equal(before->y, y1, sizeof y1); /* the last y asked for is the one kept */
    }
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(p);
}

static void test_vrbo_batch_sizes(void **state) {
    (void)state;
    static const struct {
        const char *settings[9];
        size_t large, small;
    } cases[] = {{{"batch", "7", NULL}, 7 * 3 * 4, 7},
                 {{"batch", "7", "S1", "50", NULL}, 50, 7},
                 {{"batch", "7", "S1", "50", "S2", "9", NULL}, 50, 9},
                 {{"S2", "3", "period", "2", NULL}, 3 * 2 * 4, 3},
                 {{"batch", "full", NULL}, 0, 0},
                 {{"batch", "7", "S1", "12600", NULL}, 0, 7},
                 {{"batch", "5", "S2", "12600", NULL}, 0, 0}};
    static witness w;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        blv_problem *p = sum_problem(), *watched = watch_points(&w, p);
        blv_run *run = make_run(watched, "vrbo", cases[k].settings);
        for (size_t i = 0; i < 5; i++) {
            static const char *const fixed[][2] = {
                {"step_x", "0.1"}, {"step_y", "0.1"}, {"eta", "0.1"}, {"Q", "2"}, {"inner", "2"}};
            assert_int_equal(blv_run_set(run, fixed[i][0], fixed[i][1]), BLV_OK);
        }
        step_run(run);
        for (size_t i = 0; i < w.size; i++)
            assert_int_equal(w.calls[i].count, i < 5 ? cases[k].large : cases[k].small);
        blv_run_destroy(run);
        blv_problem_destroy(watched);
        blv_problem_destroy(p);
    }
}

/* ---- Costs ---- */

static blv_counts plus(blv_counts a, blv_counts b, uint64_t times) {
    return (blv_counts){a.f_grad + times * b.f_grad, a.g_grad + times * b.g_grad,
                        a.hvp + times * b.hvp, a.cross + times * b.cross,
                        a.values + times * b.values};
}

/* first: of iteration 0; each: of the others. */
static void check_costs(const char *solver, const char *const *settings, const char *terms,
                        uint64_t samples, blv_counts first, blv_counts each) {
    blv_problem *inner =
        make_problem("quadratic", SETTINGS("dx", "6", "dy", "7", "kappa", "9", "terms", terms));
    spy watch;
    blv_problem *watched = spy_on(&watch, inner, 0);
    blv_run *run = make_run(watched, solver, settings);
    blv_counts expected = {0};
    for (int t = 0; t < 17; t++) {
        expected = plus(expected, t == 0 ? first : each, samples);
        step_run(run);
        assert_counts_equal(watch.counts, expected);
        assert_counts_equal(blv_run_result(run)->counts, expected);
        assert_counts_equal(blv_run_result(run)->setup_counts, (blv_counts){0});
    }
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(inner);
    spy_free(&watch);
}

static void check_both(const char *solver, const char *const *settings, blv_counts first,
                       blv_counts each) {
    const char *with_batch[24];
    size_t n = 0;
    for (; settings[n]; n++)
        with_batch[n] = settings[n];
    with_batch[n] = "batch";
    with_batch[n + 1] = "5";
    with_batch[n + 2] = NULL;
    check_costs(solver, settings, "1", 1, first, each);
    check_costs(solver, with_batch, "40", 5, first, each);
}

#define STEPS_AND_SERIES "step_x", "0.1", "step_y", "0.1", "eta", "0.1", "Q", "6"

static void test_costs(void **state) {
    (void)state;
    const blv_counts one = {1, 1, 6, 1, 0};
    check_both("mrbo", SETTINGS(STEPS_AND_SERIES), one, (blv_counts){2, 2, 12, 2, 0});
    check_both("mstsa", SETTINGS(STEPS_AND_SERIES), one, (blv_counts){2, 1, 12, 2, 0});
    check_both("stocbio", SETTINGS(STEPS_AND_SERIES), (blv_counts){1, 10, 6, 1, 0},
               (blv_counts){1, 10, 6, 1, 0});
    check_both("stocbio", SETTINGS(STEPS_AND_SERIES, "inner", "3"), (blv_counts){1, 3, 6, 1, 0},
               (blv_counts){1, 3, 6, 1, 0});
    check_both("fsla", SETTINGS("step_x", "0.1", "step_y", "0.1", "step_v", "0.1"),
               (blv_counts){1, 1, 1, 1, 0}, (blv_counts){2, 1, 1, 2, 0});
}

/* Without refresh 2(m+2) of each, and Q times as many products; a refresh is one more of each on
 * its large batch. */
static void test_costs_of_vrbo(void **state) {
    (void)state;
    static const uint64_t m = 3, Q = 6, small = 5, large = 20;
    blv_problem *inner =
        make_problem("quadratic", SETTINGS("dx", "6", "dy", "7", "kappa", "9", "terms", "40"));
    spy watch;
    blv_problem *watched = spy_on(&watch, inner, 0);
    blv_run *run =
        make_run(watched, "vrbo",
                 SETTINGS(STEPS_AND_SERIES, "inner", "3", "period", "4", "batch", "5", "S1", "20"));
    blv_counts expected = {0};
    for (uint64_t t = 0; t < 13; t++) {
        const uint64_t pairs = 2 * (m + 2);
        expected = plus(expected, (blv_counts){pairs, pairs, Q * pairs, pairs, 0}, small);
        if (t % 4 == 0)
            expected = plus(expected, (blv_counts){1, 1, Q, 1, 0}, large);
        step_run(run);
        assert_counts_equal(watch.counts, expected);
        assert_counts_equal(blv_run_result(run)->counts, expected);
    }
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(inner);
    spy_free(&watch);
}

/* The randomized ones: p products at each point. */
static void test_costs_of_the_randomized(void **state) {
    (void)state;
    static const struct {
        const char *solver;
        uint64_t inner, points;
    } cases[] = {{"bsa", 10, 1}, {"ttsa", 1, 1}, {"sustain", 1, 2}};
    for (size_t k = 0; k < 3; k++) {
        blv_problem *inner =
            make_problem("quadratic", SETTINGS("dx", "6", "dy", "7", "kappa", "9"));
        spy watch;
        blv_problem *watched = spy_on(&watch, inner, 0);
        blv_run *run = make_run(watched, cases[k].solver, SETTINGS(STEPS_AND_SERIES));
        uint64_t products = 0;
        for (int t = 0; t < 60; t++) {
            blv_counts before = watch.counts;
            uint64_t points = t == 0 ? 1 : cases[k].points;
            step_run(run);
            assert_int_equal(watch.counts.f_grad - before.f_grad, points);
            assert_int_equal(watch.counts.cross - before.cross, points);
            assert_int_equal(watch.counts.g_grad - before.g_grad, points * cases[k].inner);
            assert_int_equal((watch.counts.hvp - before.hvp) % points, 0);
            assert_in_range((watch.counts.hvp - before.hvp) / points, 0, 5);
            assert_counts_equal(blv_run_result(run)->counts, watch.counts);
            products += (watch.counts.hvp - before.hvp) / points;
        }
        assert_in_range(products, 60 * 3 / 2, 60 * 7 / 2);
        blv_run_destroy(run);
        blv_problem_destroy(watched);
        blv_problem_destroy(inner);
        spy_free(&watch);
    }
}

/* ---- Noise ---- */

/* Mean of the true |grad Phi| over the last quarter of the steps. */
static double floor_of(const char *solver, const char *seed, const char *const *settings,
                       size_t steps) {
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "20", "dy", "20", "kappa", "50",
                                                        "terms", "1000", "seed", seed));
    blv_run *run = make_run(p, solver, settings);
    const char *const common[][2] = {{"batch", "2"},  {"step_x", "0.4"}, {"step_y", "0.02"},
                                     {"eta", "0.02"}, {"Q", "250"},      {"seed", seed}};
    double x[20], gradient[20], sum = 0.0;
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        assert_int_equal(blv_run_set(run, common[i][0], common[i][1]), BLV_OK);
    for (size_t t = 0; t < steps; t++) {
        step_run(run);
        if (4 * t < 3 * steps)
            continue;
        read_state(run, "x", x);
        quadratic_truth(p, x, NULL, NULL, gradient);
        sum += dense_size(20, gradient) / (double)(steps - (3 * steps + 3) / 4);
    }
    blv_run_destroy(run);
    blv_problem_destroy(p);
    return sum;
}

/* The same constant steps for all. */
static void test_lower_floors(void **state) {
    (void)state;
    static const char *const seeds[] = {"0", "1", "2"};
    for (size_t k = 0; k < 3; k++) {
        double plain = floor_of("stocbio", seeds[k], SETTINGS("inner", "1"), 600);
        double mrbo = floor_of("mrbo", seeds[k],
                               SETTINGS("m", "1e9", "dd", "1000", "c1", "0.05", "c2", "0.05"), 600);
        double mstsa =
            floor_of("mstsa", seeds[k], SETTINGS("m", "1e9", "dd", "1000", "c1", "0.05"), 600);
        double vrbo = floor_of("vrbo", seeds[k], SETTINGS("S1", "1000"), 32);
        print_message("floors, seed %s: stocbio %.3g, mrbo %.3g, mstsa %.3g, vrbo %.3g\n", seeds[k],
                      plain, mrbo, mstsa, vrbo);
        assert_at_most(mrbo, 0.5 * plain);
        assert_at_most(mstsa, 0.5 * plain);
        assert_at_most(vrbo, 0.1 * plain);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_of_the_sum),
        cmocka_unit_test(test_relative_bias),
        cmocka_unit_test(test_mean_of_the_randomized_form),
        cmocka_unit_test(test_p_is_uniform),
        cmocka_unit_test(test_automatic_factors),
        cmocka_unit_test(test_eta_follows_the_curvature),
        cmocka_unit_test(test_same_batch_at_both_points),
        cmocka_unit_test(test_batch_of_its_own_for_every_factor),
        cmocka_unit_test(test_vrbo_differences),
        cmocka_unit_test(test_vrbo_batch_sizes),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_costs_of_vrbo),
        cmocka_unit_test(test_costs_of_the_randomized),
        cmocka_unit_test(test_lower_floors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
