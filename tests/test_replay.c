/* Every solver against a second computation of its iterates, in plain dense arrays.
 *
 * A spy stands between the run and the problem and writes down which oracle was called on which
 * batch. After every step the same step is made here, from the formulas of the papers and with the
 * batches of the record, and x, y and v are compared. Every recorded call must have been needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay_model.h"

enum { STEPS = 50, FREE = 0, TIED = 1 << 10 };

/* ---- The algorithms ---- */

static void step_s_tfbo(replay *r) {
    take(r, 'u');
    upper(r);
    take_all(r);
    lower(r);
    hessian_times(r, r->v, r->hv);
    cross_times(r, r->v, r->jv);
    make_r(r);
    make_d(r);
    r->beta = sqrt(r->beta * r->beta + dense_inner(r->dy, r->gy, r->gy));
    r->gamma = sqrt(r->gamma * r->gamma + dense_inner(r->dy, r->hv, r->hv));
    r->alpha = sqrt(r->alpha * r->alpha + dense_inner(r->dx, r->fx, r->fx));
    double phi = r->beta > r->gamma ? r->beta : r->gamma;
    move(r->dy, r->y, setting(r, "eta_y", 1.0) / r->beta, r->gy);
    move(r->dy, r->v, setting(r, "eta_v", 1.0) / phi, r->hv);
    move_x(r, setting(r, "eta_x", 1.0) / (r->alpha * phi), r->fx);
}

static void step_d_tfbo(replay *r) {
    bool fixed = setting_is(r, "inner", "fixed");
    double T = setting(r, "T", STEPS);
    size_t cap = count_setting(r, "cap", 10000);
    double beta = setting(r, "beta0", 1.0), gamma = setting(r, "gamma0", 1.0);
    for (size_t taken = 0; !fixed || taken < count_setting(r, "n_y", 10); taken++) {
        take(r, 'l');
        lower(r);
        double square = dense_inner(r->dy, r->gy, r->gy);
        if (!fixed && (square <= setting(r, "c_y", 1.0) / T || taken == cap))
            break;
        beta = sqrt(beta * beta + square);
        move(r->dy, r->y, setting(r, "eta_y", 1.0) / beta, r->gy);
    }
    take(r, 'u');
    upper(r);
    for (size_t taken = 0; !fixed || taken < count_setting(r, "n_v", 10); taken++) {
        take(r, 'h');
        hessian_times(r, r->v, r->hv);
        make_r(r);
        double square = dense_inner(r->dy, r->hv, r->hv);
        if (!fixed && (square <= setting(r, "c_v", 1.0) / T || taken == cap))
            break;
        gamma = sqrt(gamma * gamma + square);
        move(r->dy, r->v, setting(r, "eta_v", 1.0) / gamma, r->hv);
    }
    take(r, 'j');
    cross_times(r, r->v, r->jv);
    make_d(r);
    r->alpha = sqrt(r->alpha * r->alpha + dense_inner(r->dx, r->fx, r->fx));
    move_x(r, setting(r, "eta_x", 1.0) / r->alpha, r->fx);
}

/* K products: the first gives the residual fy - H v at the warm start, every other one a step. The
 * batch is that of the first product for all of them. */
static void step_cg(replay *r) {
    const spy_call *first = take(r, 'h');
    double *residual = r->gy;
    hessian_times(r, r->v, r->hv);
    for (size_t i = 0; i < r->dy; i++)
        residual[i] = r->p[i] = r->fy[i] - r->hv[i];
    for (size_t products = 1; products < count_setting(r, "linear", 10); products++) {
        assert_same_batch(first, take(r, 'h'));
        hessian_times(r, r->p, r->q);
        double rho = dense_inner(r->dy, residual, residual);
        double step = rho / dense_inner(r->dy, r->p, r->q);
        move(r->dy, r->v, -step, r->p);
        move(r->dy, residual, step, r->q);
        double ratio = dense_inner(r->dy, residual, residual) / rho;
        for (size_t i = 0; i < r->dy; i++)
            r->p[i] = residual[i] + ratio * r->p[i];
    }
}

static void step_aid_cg(replay *r) {
    for (size_t taken = 0; taken < count_setting(r, "inner", 10); taken++) {
        take(r, 'l');
        lower(r);
        move(r->dy, r->y, setting(r, "step_y", NAN), r->gy);
    }
    take(r, 'u');
    upper(r);
    step_cg(r);
    take(r, 'j');
    cross_times(r, r->v, r->jv);
    make_d(r);
    move_x(r, setting(r, "step_x", NAN), r->fx);
}

static void step_soba(replay *r) {
    double factor = pow((double)r->t + 1.0, -setting(r, "decay", 0.5));
    take(r, 'u');
    upper(r);
    take_all(r);
    lower(r);
    hessian_times(r, r->v, r->hv);
    cross_times(r, r->v, r->jv);
    make_r(r);
    make_d(r);
    move(r->dy, r->y, factor * setting(r, "step_y", NAN), r->gy);
    move(r->dy, r->v, factor * setting(r, "step_v", NAN), r->hv);
    move_x(r, factor * setting(r, "step_x", NAN), r->fx);
}

static const struct {
    const char *solver;
    void (*step)(replay *r);
} algorithms[] = {
    {"s-tfbo", step_s_tfbo}, {"d-tfbo", step_d_tfbo}, {"aid-cg", step_aid_cg}, {"soba", step_soba}};

/* ---- The comparison ---- */

/* x0 and y0 may be NULL: a start of random numbers, v too.
 *
 * FREE: two computations that never meet. TIED: after each comparison the one here goes on from the
 * run's own x, y and v. That is for settings whose steps are expanding maps, such as first steps of
 * 1/beta0 that are far longer than 1/L: they blow up the last bits by L/beta0 in each iteration, so
 * that no two computations could agree after fifty. */
static void check(const blv_problem *problem, formulas kind, const char *solver,
                  const char *const *settings, const double *x0, const double *y0, int flags) {
    int hidden = flags & (SPY_HIDES_ALL | SPY_HIDES_HVP | SPY_HIDES_CROSS);
    replay r;
    open_replay(&r, problem, kind, solver, settings, hidden);
    r.agreement = 1e-12;
    r.alpha = setting(&r, "alpha0", 1.0);
    r.beta = setting(&r, "beta0", 1.0);
    r.gamma = setting(&r, "gamma0", 1.0);
    start_at(&r, x0, y0);
    assert_int_equal(blv_run_open(r.run), BLV_OK);
    write_state(r.run, "x", r.x);
    write_state(r.run, "y", r.y);
    write_state(r.run, "v", r.v);
    for (r.t = 0; r.t < STEPS; r.t++) {
        spy_forget(&r.watch);
        step_run(r.run);
        for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
            if (strcmp(algorithms[i].solver, solver) == 0)
                algorithms[i].step(&r);
        compare(&r, "x", r.dx, r.x);
        compare(&r, "y", r.dy, r.y);
        compare(&r, "v", r.dy, r.v);
        expect_all_needed(&r);
        if (flags & TIED) {
            read_state(r.run, "x", r.x);
            read_state(r.run, "y", r.y);
            read_state(r.run, "v", r.v);
        }
    }
    close_replay(&r);
}

/* ---- Whole sums ---- */

static void check_quadratic(const blv_problem *problem, const char *solver,
                            const char *const *settings, int flags) {
    check(problem, QUADRATIC, solver, settings, NULL, NULL, flags);
}

static const shape shapes[] = {{"7", "5", "10", "1", "0.09"},
                               {"4", "9", "100", "0.3", "0.009"},
                               {"1", "6", "50", "1", "0.015"},
                               {"12", "1", "1", "2", "0.8"},
                               {"20", "30", "300", "1", "0.003"}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void test_s_tfbo(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        blv_problem *p = make_quadratic(&shapes[i], "1");
        check_quadratic(p, "s-tfbo", NULL, FREE);
        check_quadratic(p, "s-tfbo", SETTINGS("beta0", "0.01", "gamma0", "0.1"), FREE);
        check_quadratic(p, "s-tfbo",
                        SETTINGS("alpha0", "3", "eta_x", "2", "eta_y", "0.7", "eta_v", "1.5"),
                        FREE);
        check_quadratic(p, "s-tfbo", NULL, SPY_HIDES_ALL);
        blv_problem_destroy(p);
    }
}

/* With beta0 and gamma0 at the largest eigenvalue no step is longer than 1/L. */
static void test_d_tfbo(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        blv_problem *p = make_quadratic(&shapes[i], "1");
        const char *L = shapes[i].kappa;
        check_quadratic(p, "d-tfbo", SETTINGS("T", "1000", "beta0", L, "gamma0", L), FREE);
        check_quadratic(p, "d-tfbo",
                        SETTINGS("iters", "50", "c_y", "0.1", "c_v", "0.2", "alpha0", "2", "beta0",
                                 L, "gamma0", L, "eta_x", "0.8"),
                        FREE);
        check_quadratic(p, "d-tfbo", SETTINGS("inner", "fixed", "beta0", L, "gamma0", L), FREE);
        check_quadratic(p, "d-tfbo",
                        SETTINGS("inner", "fixed", "n_y", "5", "n_v", "3", "beta0", L, "gamma0", L,
                                 "eta_y", "0.6", "eta_v", "0.9"),
                        FREE);
        check_quadratic(p, "d-tfbo", SETTINGS("T", "1000000", "cap", "7", "beta0", L, "gamma0", L),
                        FREE);
        blv_problem_destroy(p);
    }
}

/* The problem as it is shipped, 50 x 50 with condition number 100, and default initial sums. */
static void test_shipped_quadratic(void **state) {
    (void)state;
    static const char *const seeds[] = {"0", "1", "2"};
    for (size_t i = 0; i < 3; i++) {
        blv_problem *p = make_problem("quadratic", SETTINGS("seed", seeds[i]));
        check_quadratic(p, "s-tfbo", NULL, FREE);
        check_quadratic(p, "d-tfbo", SETTINGS("T", "1000"), FREE);
        blv_problem_destroy(p);
    }
}

/* The defaults, on problems whose L is near enough to beta0. */
static void test_d_tfbo_long_steps(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i += 3) {
        blv_problem *p = make_quadratic(&shapes[i], "1");
        check_quadratic(p, "d-tfbo", SETTINGS("T", "1000"), TIED);
        check_quadratic(p, "d-tfbo", SETTINGS("T", "500", "beta0", "0.5", "gamma0", "5"), TIED);
        check_quadratic(p, "d-tfbo", SETTINGS("inner", "fixed"), TIED);
        blv_problem_destroy(p);
    }
}

/* More products than unknowns only chase rounding: at most dy + 1. With many products CG itself
 * blows up the last bits, hence tied. */
static void test_aid_cg(void **state) {
    (void)state;
    static const char *const products[] = {"6", "7", "5", "2", "10"};
    for (size_t i = 0; i < SHAPES; i++) {
        blv_problem *p = make_quadratic(&shapes[i], "1");
        const char *step = shapes[i].step, *some = i == 3 ? "2" : "4";
        check_quadratic(p, "aid-cg",
                        SETTINGS("step_x", "0.1", "step_y", step, "linear", products[i]), TIED);
        check_quadratic(p, "aid-cg", SETTINGS("step_x", "0.1", "step_y", step, "linear", some),
                        FREE);
        check_quadratic(p, "aid-cg",
                        SETTINGS("step_x", "0.2", "step_y", step, "inner", "3", "linear", "2"),
                        FREE);
        check_quadratic(p, "aid-cg",
                        SETTINGS("step_x", "0.2", "step_y", step, "inner", "1", "linear", "2"),
                        FREE);
        blv_problem_destroy(p);
    }
}

static void test_soba(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        blv_problem *p = make_quadratic(&shapes[i], "1");
        const char *step = shapes[i].step;
        check_quadratic(p, "soba", SETTINGS("step_x", "0.3", "step_y", step, "step_v", step), FREE);
        check_quadratic(p, "soba",
                        SETTINGS("step_x", "0.1", "step_y", step, "step_v", step, "decay", "0.3"),
                        SPY_HIDES_ALL);
        check_quadratic(p, "soba",
                        SETTINGS("step_x", "0.1", "step_y", step, "step_v", step, "decay", "0"),
                        FREE);
        blv_problem_destroy(p);
    }
}

/* The bounds of X are met on the way: the starts are on or near them. */
static void check_toy(const struct toy_start *at) {
    blv_problem *p = make_problem(at->name, NULL);
    check(p, at->kind, "s-tfbo", SETTINGS("beta0", "0.5"), &at->x, &at->y, FREE);
    check(p, at->kind, "d-tfbo", SETTINGS("T", "400", "alpha0", "20", "beta0", "8", "gamma0", "8"),
          &at->x, &at->y, FREE);
    check(p, at->kind, "d-tfbo",
          SETTINGS("inner", "fixed", "n_y", "4", "n_v", "6", "alpha0", "20", "beta0", "8", "gamma0",
                   "8"),
          &at->x, &at->y, FREE);
    check(p, at->kind, "d-tfbo", SETTINGS("T", "400"), &at->x, &at->y, TIED);
    check(p, at->kind, "aid-cg", SETTINGS("step_x", "0.02", "step_y", "0.1", "linear", "2"), &at->x,
          &at->y, FREE);
    check(p, at->kind, "soba", SETTINGS("step_x", "0.05", "step_y", "0.1", "step_v", "0.1"), &at->x,
          &at->y, FREE);
    blv_problem_destroy(p);
}

static void test_toys_with_projection(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(toy_starts); i++)
        check_toy(&toy_starts[i]);
}

/* ---- Batches ---- */

static void test_batches(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "iid", "shuffle"};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3; k++) {
            blv_problem *p = make_quadratic(&shapes[i], "23");
            const char *how = samplers[k], *step = shapes[i].step, *L = shapes[i].kappa;
            check_quadratic(p, "s-tfbo", SETTINGS("batch", "5", "sampler", how), FREE);
            check_quadratic(p, "s-tfbo", SETTINGS("batch", "4", "sampler", how, "seed", "9"),
                            SPY_HIDES_ALL);
            check_quadratic(p, "d-tfbo",
                            SETTINGS("batch", "5", "sampler", how, "inner", "fixed", "n_y", "4",
                                     "n_v", "3", "beta0", L, "gamma0", L),
                            FREE);
            check_quadratic(p, "d-tfbo",
                            SETTINGS("batch", "11", "sampler", how, "inner", "tol", "T", "50",
                                     "cap", "12", "beta0", L, "gamma0", L),
                            FREE);
            check_quadratic(p, "aid-cg",
                            SETTINGS("batch", "5", "sampler", how, "step_x", "0.1", "step_y", step,
                                     "inner", "4", "linear", "3"),
                            i == 0 ? FREE : TIED);
            check_quadratic(p, "soba",
                            SETTINGS("batch", "3", "sampler", how, "step_x", "0.1", "step_y", step,
                                     "step_v", step),
                            FREE);
            blv_problem_destroy(p);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_s_tfbo),
        cmocka_unit_test(test_d_tfbo),
        cmocka_unit_test(test_shipped_quadratic),
        cmocka_unit_test(test_d_tfbo_long_steps),
        cmocka_unit_test(test_aid_cg),
        cmocka_unit_test(test_soba),
        cmocka_unit_test(test_toys_with_projection),
        cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
