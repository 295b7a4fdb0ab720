/* The Neumann and recursive-momentum solvers against a second computation of their iterates, as in
 * test_replay.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "neumann_model.h"

enum { STEPS = 40 };

/* ---- The algorithms ---- */

static void storm(family *f, bool random, bool momentum_y) {
    replay *r = &f->r;
    const size_t points = r->t == 0 ? 1 : 2;
    const double m = setting(r, "m", 1.0), dd = setting(r, "dd", cbrt(m));
    const double c1 = setting(r, "c1", 0.3 / (dd * dd)), c2 = setting(r, "c2", 0.3 / (dd * dd));
    const double eta = dd / cbrt(m + (double)r->t), before = dd / cbrt(m + (double)r->t - 1.0);
    const double alpha = r->t == 0 ? 1.0 : fmin(c1 * before * before, 1.0);
    const double beta = r->t == 0 || !momentum_y ? 1.0 : fmin(c2 * before * before, 1.0);
    lower_for_all(f, momentum_y ? points : 1);
    (random ? neumann_random : neumann_sum)(f, points);
    recursive(r->dy, f->u, beta, f->g[0], f->g[1]);
    recursive(r->dx, f->w, alpha, f->hg[0], f->hg[1]);
    keep_old(f);
    move(r->dy, r->y, setting(r, "step_y", NAN) * eta, f->u);
    move_x(r, setting(r, "step_x", NAN) * eta, f->w);
}

static void step_mrbo(family *f) {
    storm(f, false, true);
}

static void step_sustain(family *f) {
    storm(f, true, true);
}

static void step_mstsa(family *f) {
    storm(f, false, false);
}

static void step_vrbo(family *f) {
    replay *r = &f->r;
    const size_t m = count_setting(r, "inner", 20);
    double *accepted = make_numbers(r->dy);
    if (r->t % count_setting(r, "period", 3) == 0) {
        lower_for_all(f, 1);
        neumann_sum(f, 1);
        recursive(r->dy, f->u, 1.0, f->g[0], NULL);
        recursive(r->dx, f->w, 1.0, f->hg[0], NULL);
    }
    keep_old(f); /* z_old = (x, y), then x_new: at t = 0 the points differ in x */
    move_x(r, setting(r, "step_x", NAN), f->w);
    for (size_t t = 0; t <= m + 1; t++) {
        lower_for_all(f, 2);
        neumann_sum(f, 2);
        recursive(r->dy, f->u, 0.0, f->g[0], f->g[1]);
        recursive(r->dx, f->w, 0.0, f->hg[0], f->hg[1]);
        keep_old(f);
        memcpy(accepted, r->y, r->dy * sizeof *accepted);
        move(r->dy, r->y, setting(r, "step_y", NAN), f->u);
    }
    memcpy(r->y, accepted, r->dy * sizeof *accepted);
    free(accepted);
}

static void sgd(family *f, bool random, size_t inner, double decay_y, double decay_x) {
    replay *r = &f->r;
    const double t = (double)r->t + 1.0;
    for (size_t i = 0; i < inner; i++) {
        lower_for_all(f, 1);
        move(r->dy, r->y, setting(r, "step_y", NAN) * pow(t, -decay_y), f->g[0]);
    }
    (random ? neumann_random : neumann_sum)(f, 1);
    move_x(r, setting(r, "step_x", NAN) * pow(t, -decay_x), f->hg[0]);
}

static void step_stocbio(family *f) {
    sgd(f, false, count_setting(&f->r, "inner", 10), setting(&f->r, "decay_y", 0.0),
        setting(&f->r, "decay_x", 0.0));
}

static void step_bsa(family *f) {
    sgd(f, true, count_setting(&f->r, "inner", 10), setting(&f->r, "decay_y", 0.5),
        setting(&f->r, "decay_x", 0.5));
}

static void step_ttsa(family *f) {
    sgd(f, true, 1, setting(&f->r, "decay_y", 0.4), setting(&f->r, "decay_x", 0.6));
}

static void step_fsla(family *f) {
    replay *r = &f->r;
    const size_t points = r->t == 0 ? 1 : 2;
    const double factor = pow((double)r->t + 1.0, -setting(r, "decay", 0.5));
    const double alpha = r->t == 0 ? 1.0 : fmin(setting(r, "c1", 1.0) * factor, 1.0);
    double *v[] = {r->v, f->v_old};
    lower_for_all(f, 1);
    move(r->dy, r->y, setting(r, "step_y", NAN) * factor, f->g[0]);
    upper_for_all(f, points);
    take_for_all(f, 'h', 1);
    hessian_times(r, r->v, r->hv);
    move(r->dy, r->hv, 1.0, f->term[0]);
    move(r->dy, r->v, setting(r, "step_v", NAN) * factor, r->hv);
    cross_for_all(f, points, v);
    recursive(r->dx, f->w, alpha, f->hg[0], f->hg[1]);
    keep_old(f);
    memcpy(f->v_old, r->v, r->dy * sizeof(double));
    move_x(r, setting(r, "step_x", NAN) * factor, f->w);
}

static const struct {
    const char *solver;
    void (*step)(family *f);
} algorithms[] = {{"mrbo", step_mrbo},       {"vrbo", step_vrbo}, {"sustain", step_sustain},
                  {"mstsa", step_mstsa},     {"bsa", step_bsa},   {"ttsa", step_ttsa},
                  {"stocbio", step_stocbio}, {"fsla", step_fsla}};

/* ---- The comparison ---- */

static void close_run(family *f) {
    close_family(f);
    close_replay(&f->r);
}

static void check_from(const blv_problem *problem, formulas kind, const char *solver,
                       const char *const *settings, double x0, double y0) {
    family f;
    replay *r = &f.r;
    open_replay(r, problem, kind, solver, settings, 0);
    open_family(&f);
    for (size_t j = 0; j < r->dx; j++)
        r->x[j] = r->dx == 1 ? x0 : x0 * cos((double)(3 * j + 1));
    for (size_t i = 0; i < r->dy; i++)
        r->y[i] = r->dy == 1 ? y0 : y0 * sin((double)(5 * i + 2));
    assert_int_equal(blv_run_open(r->run), BLV_OK);
    write_state(r->run, "x", r->x);
    write_state(r->run, "y", r->y);
    write_state(r->run, "v", r->v);
    for (r->t = 0; r->t < STEPS; r->t++) {
        spy_forget(&r->watch);
        step_run(r->run);
        assert_counts_equal(blv_run_result(r->run)->setup_counts, (blv_counts){0, 0, 0, 0, 0});
        for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
            if (strcmp(algorithms[i].solver, solver) == 0)
                algorithms[i].step(&f);
        compare(r, "x", r->dx, r->x);
        compare(r, "y", r->dy, r->y);
        compare(r, "v", r->dy, r->v);
        expect_all_needed(r);
    }
    close_run(&f);
}

static void check(const blv_problem *problem, const char *solver, const char *const *settings) {
    check_from(problem, QUADRATIC, solver, settings, 1.0, 0.7);
}

/* ---- Whole sums ---- */

static const shape shapes[] = {{"7", "5", "10", "1", "0.09"},
                               {"4", "9", "100", "0.3", "0.009"},
                               {"12", "1", "1", "2", "0.8"},
                               {"10", "20", "300", "1", "0.003"}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void test_storm(void **state) {
    (void)state;
    static const char *const solvers[] = {"mrbo", "sustain", "mstsa"};
    for (size_t i = 0; i < SHAPES; i++)
        for (size_t k = 0; k < 3; k++) {
            blv_problem *p = make_quadratic(&shapes[i], "1");
            const char *step = shapes[i].step;
            check(p, solvers[k],
                  SETTINGS("step_x", "0.3", "step_y", step, "eta", step, "Q", "3", "m", "8", "dd",
                           "1.7", "c1", "0.4"));
            check(p, solvers[k], SETTINGS("step_x", "0.2", "step_y", step, "eta", step, "Q", "7"));
            check(p, solvers[k],
                  SETTINGS("step_x", "0.2", "step_y", step, "eta", step, "Q", "1", "m", "100"));
            blv_problem_destroy(p);
        }
}

static void test_vrbo(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        blv_problem *p = make_quadratic(&shapes[i], "1");
        const char *step = shapes[i].step;
        check(p, "vrbo",
              SETTINGS("step_x", "0.2", "step_y", step, "eta", step, "Q", "3", "inner", "2"));
        check(p, "vrbo",
              SETTINGS("step_x", "0.1", "step_y", step, "eta", step, "Q", "2", "inner", "0",
                       "period", "1"));
        check(p, "vrbo",
              SETTINGS("step_x", "0.2", "step_y", step, "eta", step, "Q", "1", "inner", "5",
                       "period", "7"));
        blv_problem_destroy(p);
    }
}

static void test_sgd(void **state) {
    (void)state;
    static const char *const solvers[] = {"stocbio", "bsa", "ttsa"};
    for (size_t i = 0; i < SHAPES; i++)
        for (size_t k = 0; k < 3; k++) {
            blv_problem *p = make_quadratic(&shapes[i], "1");
            const char *step = shapes[i].step;
            check(p, solvers[k], SETTINGS("step_x", "0.3", "step_y", step, "eta", step, "Q", "4"));
            check(p, solvers[k],
                  SETTINGS("step_x", "0.2", "step_y", step, "eta", step, "Q", "9", "decay_x", "0.3",
                           "decay_y", "0.1"));
            blv_problem_destroy(p);
        }
}

static void test_fsla(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        blv_problem *p = make_quadratic(&shapes[i], "1");
        const char *step = shapes[i].step;
        check(p, "fsla", SETTINGS("step_x", "0.2", "step_y", step, "step_v", step));
        check(
            p, "fsla",
            SETTINGS("step_x", "0.1", "step_y", step, "step_v", step, "decay", "0.2", "c1", "0.4"));
        blv_problem_destroy(p);
    }
}

static void test_toys_with_projection(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(toy_starts); i++) {
        const struct toy_start *at = &toy_starts[i];
        blv_problem *p = make_problem(at->name, NULL);
        for (size_t k = 0; k < sizeof algorithms / sizeof *algorithms; k++) {
            const char *solver = algorithms[k].solver;
            bool fsla = strcmp(solver, "fsla") == 0;
            check_from(p, at->kind, solver,
                       fsla ? SETTINGS("step_x", "0.03", "step_y", "0.1", "step_v", "0.1")
                            : SETTINGS("step_x", "0.03", "step_y", "0.1", "eta", "0.1", "Q", "6"),
                       at->x, at->y);
        }
        blv_problem_destroy(p);
    }
}

/* ---- Batches ---- */

static void test_batches(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "iid", "shuffle"};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3; k++) {
            blv_problem *p = make_quadratic(&shapes[i], "23");
            const char *how = samplers[k], *step = shapes[i].step;
            for (size_t s = 0; s < sizeof algorithms / sizeof *algorithms; s++) {
                const char *solver = algorithms[s].solver;
                if (strcmp(solver, "fsla") == 0)
                    check(p, solver,
                          SETTINGS("batch", "5", "sampler", how, "step_x", "0.1", "step_y", step,
                                   "step_v", step));
                else if (strcmp(solver, "vrbo") == 0)
                    check(p, solver,
                          SETTINGS("batch", "5", "sampler", how, "step_x", "0.1", "step_y", step,
                                   "eta", step, "Q", "2", "inner", "2"));
                else
                    check(p, solver,
                          SETTINGS("batch", "5", "sampler", how, "step_x", "0.1", "step_y", step,
                                   "eta", step, "Q", "3"));
            }
            blv_problem_destroy(p);
        }
}

static void test_vrbo_batch_sizes(void **state) {
    (void)state;
    blv_problem *p = make_quadratic(&shapes[0], "23");
    check(p, "vrbo",
          SETTINGS("S1", "11", "S2", "4", "sampler", "iid", "step_x", "0.1", "step_y", "0.09",
                   "eta", "0.09", "Q", "2", "inner", "2"));
    check(p, "vrbo",
          SETTINGS("S1", "1000", "S2", "4", "step_x", "0.1", "step_y", "0.09", "eta", "0.09", "Q",
                   "2", "inner", "2"));
    blv_problem_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storm),
        cmocka_unit_test(test_vrbo),
        cmocka_unit_test(test_sgd),
        cmocka_unit_test(test_fsla),
        cmocka_unit_test(test_toys_with_projection),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_vrbo_batch_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
