/* SABA: its iterates by a second computation with tables of its own, oracle counts, convergence to
 * the optimum itself, defaults. See test_replay.c for the method of the replay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mgbio_model.h"

/* ---- Replay ---- */

enum { BLOCKS_MAX = 32 };

/* What the last visit of each block of one level showed; a block is known by its first sample. */
typedef struct tables {
    size_t count, samples, dims[3];
    size_t first[BLOCKS_MAX], size[BLOCKS_MAX];
    double *values[3][BLOCKS_MAX];
} tables;

static size_t find_block(tables *t, const spy_call *call, bool is_new) {
    size_t i = 0;
    while (i < t->count && t->first[i] != call->index[0])
        i++;
    assert_int_equal(i == t->count, is_new);
    assert_true(i < BLOCKS_MAX);
    if (!is_new) {
        assert_int_equal(t->size[i], call->count);
        return i;
    }
    t->first[i] = call->index[0];
    t->size[i] = call->count;
    for (size_t q = 0; q < 3; q++)
        t->values[q][i] = make_numbers(t->dims[q] + 1);
    return t->count++;
}

/* value becomes the estimate, and the table holds the value. The mean is summed up anew. */
static void visit(tables *t, size_t q, size_t block, double *value) {
    size_t n = t->dims[q];
    for (size_t k = 0; k < n; k++) {
        double mean = 0.0, seen = value[k];
        for (size_t i = 0; i < t->count; i++)
            mean += (double)t->size[i] * t->values[q][i][k] / (double)t->samples;
        double weight = (double)t->count * (double)t->size[block] / (double)t->samples;
        value[k] = weight * (seen - t->values[q][block][k]) + mean;
        t->values[q][block][k] = seen;
    }
}

static void keep(tables *t, size_t q, size_t block, const double *value) {
    memcpy(t->values[q][block], value, t->dims[q] * sizeof *value);
}

static void free_tables(tables *t) {
    for (size_t q = 0; q < 3; q++)
        for (size_t i = 0; i < t->count; i++)
            free(t->values[q][i]);
}

static void look_at_g(replay *r) {
    lower(r);
    hessian_times(r, r->v, r->hv);
    cross_times(r, r->v, r->jv);
}

/* Before the first step every block is visited once. */
static void fill_tables(replay *r, tables *f, tables *g, size_t blocks) {
    for (size_t i = 0; i < blocks; i++) {
        size_t block = find_block(f, take(r, 'u'), true);
        upper(r);
        keep(f, 0, block, r->fx);
        keep(f, 1, block, r->fy);
    }
    for (size_t i = 0; i < blocks; i++) {
        size_t block = find_block(g, take(r, 'a'), true);
        look_at_g(r);
        keep(g, 0, block, r->gy);
        keep(g, 1, block, r->hv);
        keep(g, 2, block, r->jv);
    }
}

static void step_saba(replay *r, tables *f, tables *g) {
    const spy_call *call = take(r, 'u');
    upper(r);
    if (!call->whole) {
        size_t block = find_block(f, call, false);
        visit(f, 0, block, r->fx);
        visit(f, 1, block, r->fy);
    }
    call = take(r, 'a');
    look_at_g(r);
    if (!call->whole) {
        size_t block = find_block(g, call, false);
        visit(g, 0, block, r->gy);
        visit(g, 1, block, r->hv);
        visit(g, 2, block, r->jv);
    }
    make_r(r);
    make_d(r);
    move(r->dy, r->y, setting(r, "step_y", NAN), r->gy);
    move(r->dy, r->v, setting(r, "step_v", NAN), r->hv);
    move_x(r, setting(r, "step_x", NAN), r->fx);
}

/* in_order: the samples are as they come, so the blocks are made of a shuffle and have indices. */
static void check(const blv_problem *problem, formulas kind, const char *const *settings,
                  bool in_order, const double *x0, const double *y0) {
    model m;
    open_model(&m, problem, kind, "saba", settings, 0);
    replay *r = &m.r;
    blv_problem *unshuffled = NULL;
    if (in_order) {
        blv_problem_def def = *blv_problem_definition(r->watched);
        def.shuffled = false;
        assert_int_equal(blv_problem_create(&unshuffled, &def, NULL), BLV_OK);
        blv_run_destroy(r->run);
        r->run = make_run(unshuffled, "saba", settings);
    }
    size_t samples = r->watch.inner->lower_samples, batch = count_setting(r, "batch", samples);
    size_t blocks = batch < samples ? (samples - 1) / batch + 1 : 0;
    tables f = {.samples = samples, .dims = {r->dx, r->dy, 0}};
    tables g = {.samples = samples, .dims = {r->dy, r->dy, r->dx}};
    start_at(r, x0, y0);
    assert_int_equal(blv_run_open(r->run), BLV_OK);
    write_state(r->run, "x", r->x);
    write_state(r->run, "y", r->y);
    write_state(r->run, "v", r->v);
    for (r->t = 0; r->t < STEPS; r->t++) {
        spy_forget(&r->watch);
        step_run(r->run);
        if (r->t == 0)
            fill_tables(r, &f, &g, blocks);
        step_saba(r, &f, &g);
        compare(r, "x", r->dx, r->x);
        compare(r, "y", r->dy, r->y);
        compare(r, "v", r->dy, r->v);
        expect_all_needed(r);
    }
    free_tables(&f);
    free_tables(&g);
    if (unshuffled) {
        blv_run_destroy(r->run);
        blv_problem_destroy(unshuffled);
        r->run = NULL;
    }
    close_model(&m);
}

static const shape shapes[] = {{"7", "5", "10", "1", "0.05"},
                               {"4", "9", "100", "1", "0.005"},
                               {"1", "6", "50", "1", "0.01"},
                               {"12", "1", "1", "1", "0.5"}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void test_replay(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const char *step = shapes[i].step;
        blv_problem *one = make_quadratic(&shapes[i], "1"), *sum = make_quadratic(&shapes[i], "23");
        check(one, QUADRATIC, SETTINGS("step_x", "0.1", "step_y", step, "step_v", step), false,
              NULL, NULL);
        static const char *const batches[] = {"5", "1", "12", "22"}; /* all with a short block */
        for (size_t b = 0; b < 4; b++)
            for (int in_order = 0; in_order < 2; in_order++)
                check(
                    sum, QUADRATIC,
                    SETTINGS("step_x", "0.05", "step_y", step, "step_v", step, "batch", batches[b]),
                    in_order, NULL, NULL);
        blv_problem_destroy(one);
        blv_problem_destroy(sum);
    }
    const double x0 = 2.9, y0 = -2.5;
    blv_problem *sine = make_problem("pl-sine", NULL);
    check(sine, PL_SINE, SETTINGS("step_x", "0.05", "step_y", "0.1", "step_v", "0.1"), false, &x0,
          &y0);
    blv_problem_destroy(sine);
}

/* ---- Counts ---- */

static void test_counts(void **state) {
    (void)state;
    blv_problem *inner =
        make_problem("quadratic", SETTINGS("dx", "6", "dy", "9", "kappa", "30", "terms", "11"));
    spy watch;
    blv_problem *watched = spy_on(&watch, inner, 0);
    blv_run *run = make_run(
        watched, "saba",
        SETTINGS("step_x", "0.1", "step_y", "0.02", "step_v", "0.02", "batch", "4", "iters", "30"));
    solve_run(run);
    const blv_result *result = blv_run_result(run);
    assert_counts_equal(result->setup_counts, (blv_counts){11, 11, 11, 11, 0});
    assert_counts_equal(result->counts, (blv_counts){110, 110, 110, 110, 0}); /* ten epochs */
    assert_true(has_note(run, "3 blocks of f and 3 of g"));
    blv_run_destroy(run);
    run = make_run(watched, "saba",
                   SETTINGS("step_x", "0.1", "step_y", "0.02", "step_v", "0.02", "batch", "full",
                            "iters", "3"));
    solve_run(run);
    result = blv_run_result(run);
    assert_counts_equal(result->setup_counts, (blv_counts){0, 0, 0, 0, 0});
    assert_counts_equal(result->counts, (blv_counts){33, 33, 33, 33, 0});
    assert_false(has_note(run, "blocks"));
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    blv_problem_destroy(inner);
    spy_free(&watch);
}

/* Another sampler has no fixed blocks: it is not used, and the run says so. */
static void test_other_samplers(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "iid", "shuffle"};
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", "20"));
    double x[3][3];
    for (int k = 0; k < 3; k++) {
        blv_run *run =
            make_run(p, "saba", SETTINGS("iters", "40", "batch", "6", "sampler", samplers[k]));
        solve_run(run);
        read_state(run, "x", x[k]);
        assert_int_equal(has_note(run, "sampler is not used"), k > 0);
        blv_run_destroy(run);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
    assert_memory_equal(x[0], x[2], sizeof x[0]);
    blv_problem_destroy(p);
}

/* ---- Convergence ---- */

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

/* Down to the optimum itself, at a constant rate, with constant steps on batches; a short block at
 * the end does no harm. soba with constant steps stays far above. */
static void test_linear_convergence(void **state) {
    (void)state;
    for (size_t s = 0; s < 3; s++)
        for (int shorter = 0; shorter < 2; shorter++) {
            blv_problem *p =
                make_problem("quadratic", SETTINGS("dx", "20", "dy", "20", "kappa", "50", "terms",
                                                   "1000", "seed", seeds[s]));
            const char *const *settings =
                SETTINGS("batch", shorter ? "64" : "50", "seed", seeds[s]);
            blv_run *run = make_run(p, "saba", settings);
            double at[4], best[20], x[20];
            for (int k = 0; k < 4; k++) {
                for (int t = 0; t < 1500; t++)
                    step_run(run);
                at[k] = true_gradient(p, run);
            }
            read_state(run, "x", x);
            quadratic_best_x(p, best);
            print_message("saba, seed %s, batch %s: %.2g, %.2g, %.2g, %.2g\n", seeds[s],
                          settings[1], at[0], at[1], at[2], at[3]);
            assert_at_most(at[1], 0.1 * at[0]);
            assert_at_most(at[2], 0.1 * at[1] + 1e-12);
            assert_at_most(at[3], 1e-10);
            assert_at_most(dense_gap(20, x, best), 1e-9);
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
    blv_problem *p =
        make_problem("quadratic", SETTINGS("dx", "20", "dy", "20", "kappa", "50", "terms", "1000"));
    blv_run *run = make_run(p, "soba", SETTINGS("batch", "50", "decay", "0", "iters", "6000"));
    solve_run(run);
    assert_true(true_gradient(p, run) > 1e-6);
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

static void test_defaults(void **state) {
    (void)state;
    static const struct {
        const char *dx, *dy;
    } sizes[] = {{"2", "2"}, {"7", "30"}, {"30", "7"}, {"60", "60"}};
    static const char *const kappas[] = {"2", "20", "100"}, *const terms[] = {"1", "300"};
    for (size_t n = 0; n < 2; n++)
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < 3; j++) {
                double worst = 0.0;
                for (size_t seed = 0; seed < 3; seed++) {
                    blv_problem *p = make_problem(
                        "quadratic", SETTINGS("dx", sizes[i].dx, "dy", sizes[i].dy, "kappa",
                                              kappas[j], "terms", terms[n], "seed", seeds[seed]));
                    blv_run *run = make_run(p, "saba", SETTINGS("iters", "2000"));
                    double before = true_gradient(p, run);
                    solve_run(run);
                    assert_int_equal(blv_run_result(run)->outcome, BLV_LIMIT_ITERATIONS);
                    worst = fmax(worst, true_gradient(p, run) / before);
                    blv_run_destroy(run);
                    blv_problem_destroy(p);
                }
                print_message("saba, %s terms (%s, %s), kappa %s: %.2g of the first gradient\n",
                              terms[n], sizes[i].dx, sizes[i].dy, kappas[j], worst);
                assert_at_most(worst, 0.1);
            }
}

static void test_logistic(void **state) {
    (void)state;
    static const char *const batches[] = {"64", "16", "full"};
    for (size_t b = 0; b < 3; b++)
        for (size_t seed = 0; seed < 3; seed++) {
            blv_problem *p = make_problem("synthetic-logistic", SETTINGS("seed", seeds[seed]));
            blv_run *run = make_run(p, "saba",
                                    SETTINGS("iters", b == 2 ? "500" : "4000", "batch", batches[b],
                                             "seed", seeds[seed]));
            double before = certify_run(run).grad_norm;
            solve_run(run);
            assert_int_equal(blv_run_result(run)->outcome, BLV_LIMIT_ITERATIONS);
            assert_at_most(certify_run(run).grad_norm, 0.22 * before);
            blv_run_destroy(run);
            blv_problem_destroy(p);
        }
}

static void test_divergence(void **state) {
    (void)state;
    blv_problem *p =
        make_problem("quadratic", SETTINGS("dx", "5", "dy", "6", "kappa", "10", "terms", "9"));
    blv_run *run = make_run(
        p, "saba", SETTINGS("step_x", "1e3", "step_y", "1e3", "step_v", "1e3", "batch", "2"));
    double x[5], y[6];
    assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
    solve_run(run);
    assert_int_equal(blv_run_result(run)->outcome, BLV_DIVERGED);
    assert_non_null(strstr(blv_run_message(run), "lower step_x, step_y or step_v"));
    read_state(run, "x", x);
    read_state(run, "y", y);
    assert_true(isfinite(dense_size(5, x)) && isfinite(dense_size(6, y)));
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

static void test_float_against_double(void **state) {
    (void)state;
    double x[2][10];
    for (int single = 0; single < 2; single++) {
        blv_problem *p = make_problem_as(
            "quadratic", SETTINGS("dx", "10", "dy", "12", "kappa", "20", "terms", "60"),
            single ? BLV_F32 : BLV_F64, 1);
        blv_run *run = make_run(p, "saba",
                                SETTINGS("iters", "600", "batch", "10", "step_x", "0.02", "step_y",
                                         "0.02", "step_v", "0.02"));
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
        cmocka_unit_test(test_replay),         cmocka_unit_test(test_counts),
        cmocka_unit_test(test_other_samplers), cmocka_unit_test(test_linear_convergence),
        cmocka_unit_test(test_defaults),       cmocka_unit_test(test_logistic),
        cmocka_unit_test(test_divergence),     cmocka_unit_test(test_float_against_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
