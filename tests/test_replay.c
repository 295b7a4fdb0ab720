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
static const double agreement = 1e-12;

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

static void compare(const replay *r, const char *name, size_t n, const double *expected) {
    double *values = make_numbers(n);
    read_state(r->run, name, values);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(values[i] - expected[i]) <= agreement * (1.0 + fabs(expected[i]))))
            fail_msg(
                "%s on %s (%zu, %zu), step %zu: %s[%zu] is %.17g, expected %.17g (off by %.3g)",
                blv_run_solver(r->run)->name, r->watch.inner->name, r->dx, r->dy, r->t, name, i,
                values[i], expected[i], fabs(values[i] - expected[i]));
    free(values);
}

/* Numbers in [-1, 1] that are the same everywhere. */
static void fill_start(size_t n, unsigned seed, double scale, double *out) {
    uint64_t state = 88172645463325252u + seed;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        out[i] = scale * ((double)(state >> 11) * 0x1p-52 - 1.0);
    }
}

static void open_replay(replay *r, const blv_problem *problem, formulas kind, const char *solver,
                        const char *const *settings, int hidden) {
    *r = (replay){.problem = problem, .settings = settings, .kind = kind};
    r->watched = spy_on(&r->watch, problem, hidden);
    r->watch.record = true;
    r->run = make_run(r->watched, solver, settings);
    r->dx = r->watch.inner->dim_x;
    r->dy = r->watch.inner->dim_y;
    r->lo = kind == QUADRATIC ? -INFINITY : 0.0;
    r->hi = kind == PL_SINE ? 3.0 : INFINITY;
    r->ridge = kind == QUADRATIC ? *array_of(problem, "ridge") : 0.0;
    double **of_x[] = {&r->x, &r->fx, &r->jv};
    double **of_y[] = {&r->y, &r->v, &r->fy, &r->gy, &r->hv, &r->p, &r->q, &r->c, &r->b};
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++)
        *of_x[i] = make_numbers(r->dx);
    for (size_t i = 0; i < sizeof of_y / sizeof *of_y; i++)
        *of_y[i] = make_numbers(r->dy);
    r->A = make_numbers(r->dy * r->dy);
    r->C = make_numbers(r->dy * r->dx);
    r->alpha = setting(r, "alpha0", 1.0);
    r->beta = setting(r, "beta0", 1.0);
    r->gamma = setting(r, "gamma0", 1.0);
}

static void close_replay(replay *r) {
    double *const all[] = {r->x,  r->y, r->v, r->fx, r->fy, r->gy, r->hv,
                           r->jv, r->p, r->q, r->c,  r->b,  r->A,  r->C};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    blv_run_destroy(r->run);
    blv_problem_destroy(r->watched);
    spy_free(&r->watch);
}

/* x0 and y0 may be NULL: a start of random numbers, v too.
 *
 * FREE: two computations that never meet. TIED: after each comparison the one here goes on from the
 * run's own x, y and v. That is for settings whose steps are expanding maps, such as first steps of
 * 1/beta0 that are far longer than 1/L: they blow up the last bits by L/beta0 in each iteration, so
 * that no two computations could agree after fifty. */
static void check(const blv_problem *problem, formulas kind, const char *solver,
                  const char *const *settings, const double *x0, const double *y0, int flags) {
    int hidden = flags & (SPY_HIDES_ALL | SPY_HIDES_HVP | SPY_HIDES_JVP);
    replay r;
    open_replay(&r, problem, kind, solver, settings, hidden);
    fill_start(r.dx, 1, 1.0, r.x);
    fill_start(r.dy, 2, 1.0, r.y);
    fill_start(r.dy, 3, 0.5, r.v);
    if (x0)
        memcpy(r.x, x0, r.dx * sizeof *r.x);
    if (y0)
        memcpy(r.y, y0, r.dy * sizeof *r.y);
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
        for (size_t i = 0; i < r.watch.size; i++)
            if (!r.watch.calls[i].seen)
                fail_msg("%s, step %zu: a call of kind %c was not needed", solver, r.t,
                         r.watch.calls[i].kind);
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

static const struct {
    const char *dx, *dy, *kappa, *ridge, *step; /* step: safe for gradient steps on g */
} shapes[] = {{"7", "5", "10", "1", "0.09"},
              {"4", "9", "100", "0.3", "0.009"},
              {"1", "6", "50", "1", "0.015"},
              {"12", "1", "1", "2", "0.8"},
              {"20", "30", "300", "1", "0.003"}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static blv_problem *make_shape(size_t i, const char *terms) {
    return make_problem("quadratic",
                        SETTINGS("dx", shapes[i].dx, "dy", shapes[i].dy, "kappa", shapes[i].kappa,
                                 "ridge", shapes[i].ridge, "terms", terms, "seed", "4"));
}

static void test_s_tfbo(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        blv_problem *p = make_shape(i, "1");
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
        blv_problem *p = make_shape(i, "1");
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
        blv_problem *p = make_shape(i, "1");
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
        blv_problem *p = make_shape(i, "1");
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
        blv_problem *p = make_shape(i, "1");
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
static void check_toy(const char *name, formulas kind, double x0, double y0) {
    blv_problem *p = make_problem(name, NULL);
    check(p, kind, "s-tfbo", SETTINGS("beta0", "0.5"), &x0, &y0, FREE);
    check(p, kind, "d-tfbo", SETTINGS("T", "400", "alpha0", "20", "beta0", "8", "gamma0", "8"), &x0,
          &y0, FREE);
    check(p, kind, "d-tfbo",
          SETTINGS("inner", "fixed", "n_y", "4", "n_v", "6", "alpha0", "20", "beta0", "8", "gamma0",
                   "8"),
          &x0, &y0, FREE);
    check(p, kind, "d-tfbo", SETTINGS("T", "400"), &x0, &y0, TIED);
    check(p, kind, "aid-cg", SETTINGS("step_x", "0.02", "step_y", "0.1", "linear", "2"), &x0, &y0,
          FREE);
    check(p, kind, "soba", SETTINGS("step_x", "0.05", "step_y", "0.1", "step_v", "0.1"), &x0, &y0,
          FREE);
    blv_problem_destroy(p);
}

static void test_toys_with_projection(void **state) {
    (void)state;
    check_toy("scalar-penalty", SCALAR_PENALTY, 0.0, 0.05);
    check_toy("scalar-penalty", SCALAR_PENALTY, 1.0, 0.0);
    check_toy("scalar-penalty", SCALAR_PENALTY, 0.02, -1.0);
    check_toy("pl-sine", PL_SINE, 0.0, 0.2);
    check_toy("pl-sine", PL_SINE, 1.5, -1.4);
    check_toy("pl-sine", PL_SINE, 3.0, -2.9);
}

/* ---- Batches ---- */

static void test_batches(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "iid", "shuffle"};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3; k++) {
            blv_problem *p = make_shape(i, "23");
            const char *how = samplers[k], *step = shapes[i].step, *L = shapes[i].kappa;
            check_quadratic(p, "s-tfbo", SETTINGS("batch", "5", "sampler", how), FREE);
            check_quadratic(p, "s-tfbo", SETTINGS("batch", "4", "sampler", how, "seed", "9"),
                            SPY_HIDES_ALL);
            check_quadratic(p, "d-tfbo",
                            SETTINGS("batch", "5", "sampler", how, "inner", "fixed", "n_y", "4",
                                     "n_v", "3", "beta0", L, "gamma0", L),
                            FREE);
            check_quadratic(p, "d-tfbo",
                            SETTINGS("batch", "11", "sampler", how, "T", "50", "cap", "12", "beta0",
                                     L, "gamma0", L),
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
