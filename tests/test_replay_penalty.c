/* The penalty and accelerated solvers against a second computation of their iterates, in plain
 * dense arrays, on the batches that the run drew: see test_replay.c. The constants are given, since
 * what is automatic has no formula to be held against. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "penalty_model.h"

#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

enum { STEPS = 60 };

static const struct algorithm {
    const char *solver;
    void (*step)(model *m);
    const char *third; /* state vector that the model calls z */
} algorithms[] = {{"f2ba", step_f2ba, "z"},
                  {"ragd-gs", step_ragd_gs, "z"},
                  {"minimaxopt", step_minimaxopt, "u"},
                  {"accf2ba", step_accf2ba, "z"},
                  {"rahgd", step_rahgd, NULL},
                  {"f2sa", step_f2sa, "z"},
                  {"pbgd", step_pbgd, "z"},
                  {"pbsgd", step_pbgd, "z"},
                  {"bome", step_bome, "z"}};

/* x0 and y0 may be NULL: a start of random numbers. Returns the restarts. */
static double check(const blv_problem *problem, formulas kind, const char *solver,
                    const char *const *settings, const double *x0, const double *y0) {
    model m = {.k = 0.0};
    replay *r = &m.r;
    const struct algorithm *a = algorithms;
    while (strcmp(a->solver, solver) != 0)
        a++;
    open_replay(r, problem, kind, solver, settings, 0);
    assert_true(r->dx <= ROOM && r->dy <= ROOM);
    start_at(r, x0, y0);
    memcpy(m.z, r->y, r->dy * sizeof *r->y);
    assert_int_equal(blv_run_open(r->run), BLV_OK);
    write_state(r->run, "x", r->x);
    write_state(r->run, "y", r->y);
    for (r->t = 0; r->t < STEPS; r->t++) {
        spy_forget(&r->watch);
        step_run(r->run);
        a->step(&m);
        compare(r, "x", r->dx, r->x);
        compare(r, "y", r->dy, r->y);
        if (a->third)
            compare(r, a->third, r->dy, m.z);
        if (blv_run_dim(r->run, "v") > 0)
            compare(r, "v", r->dy, m.v);
        if (blv_run_dim(r->run, "wbar") > 0)
            compare(r, "wbar", r->dx, m.wbar);
        expect_all_needed(r);
    }
    double restarts = m.restarts;
    close_replay(r);
    return restarts;
}

static const shape shapes[] = {{"7", "5", "10", "1", NULL},
                               {"4", "9", "100", "0.3", NULL},
                               {"1", "6", "50", "1", NULL},
                               {"20", "30", "300", "1", NULL}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void on_quadratics(const char *solver, const char *const *settings) {
    for (size_t i = 0; i < SHAPES; i++) {
        blv_problem *p = make_quadratic(&shapes[i], "1");
        check(p, QUADRATIC, solver, settings, NULL, NULL);
        blv_problem_destroy(p);
    }
}

static void on_toys(const char *solver, const char *const *settings) {
    for (size_t i = 0; i < LENGTH(toy_starts); i++) {
        const struct toy_start *at = &toy_starts[i];
        blv_problem *p = make_problem(at->name, NULL);
        check(p, at->kind, solver, settings, &at->x, &at->y);
        blv_problem_destroy(p);
    }
}

static void on_batches(const char *solver, const char *const *settings) {
    static const char *const samplers[] = {"block", "iid", "shuffle"};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3; k++) {
            const char *all[40];
            size_t n = 0;
            blv_problem *p = make_quadratic(&shapes[i], "23");
            for (; settings[n]; n++)
                all[n] = settings[n];
            memcpy(all + n,
                   ((const char *[]){"batch", i == 0 ? "5" : "11", "sampler", samplers[k], NULL}),
                   5 * sizeof *all);
            check(p, QUADRATIC, solver, all, NULL, NULL);
            blv_problem_destroy(p);
        }
}

/* ---- F2BA ---- */

static void test_f2ba(void **state) {
    (void)state;
    on_quadratics("f2ba", SETTINGS("step_x", "0.1", "Lg", "310", "mu", "1", "inner", "10"));
    on_quadratics("f2ba", SETTINGS("step_x", "0.002", "Lg", "310", "mu", "1", "inner", "3",
                                   "inner_y", "7", "lambda", "20"));
    on_toys("f2ba", SETTINGS("step_x", "0.02", "Lg", "10", "mu", "1", "inner", "12"));
    on_batches("f2ba",
               SETTINGS("step_x", "0.05", "Lg", "120", "mu", "1", "inner", "6", "lambda", "10"));
}

/* ---- RAGD-GS ---- */

static void test_ragd_gs(void **state) {
    (void)state;
    on_quadratics("ragd-gs", SETTINGS("L", "3", "Hc", "0", "Lg", "310", "mu", "1", "inner", "250"));
    on_quadratics("ragd-gs", SETTINGS("L", "3", "Hc", "0.2", "Lg", "310", "mu", "1", "inner", "150",
                                      "inner_y", "300", "warm", "off"));
    on_quadratics("ragd-gs", SETTINGS("L", "5", "Hc", "0.1", "nu", "0.5", "Lg", "310", "mu", "1",
                                      "inner", "200", "lambda", "100"));
    on_toys("ragd-gs", SETTINGS("L", "60", "Hc", "1", "Lg", "10", "mu", "1", "inner", "12"));
    on_batches("ragd-gs", SETTINGS("L", "20", "Hc", "1", "Lg", "120", "mu", "1", "inner", "30",
                                   "lambda", "30"));
}

/* The column `restarts` of a trace, row by row. */
static size_t read_restarts(const char *path, double *out, size_t room) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t rows = 0;
    json_error_t error;
    json_t *row;
    while (rows < room && (row = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error))) {
        out[rows++] = json_number_value(json_object_get(row, "restarts"));
        json_decref(row);
    }
    fclose(file);
    return rows;
}

/* From the iterates alone: an epoch ends where the condition holds for the first time. */
static void check_restarts(const blv_problem *p, const char *nu, const char *Hc, double L) {
    char path[] = "restarts-XXXXXX", L_text[32];
    double x[ROOM], before[ROOM], column[2 * STEPS + 2], S = 0.0, k = 0.0,
                                                         expected[STEPS + 1] = {0};
    double exponent = strtod(nu, NULL), constant = strtod(Hc, NULL);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(L_text, sizeof L_text, "%.17g", L);
    blv_run *run =
        make_run(p, "ragd-gs",
                 SETTINGS("L", L_text, "Hc", Hc, "nu", nu, "Lg", "10.1", "mu", "1", "every", "1"));
    size_t dx = blv_problem_definition(p)->dim_x;
    assert_int_equal(blv_run_trace(run, path), BLV_OK);
    assert_int_equal(blv_run_start_random(run, 1.0), BLV_OK);
    read_state(run, "x", before);
    for (size_t t = 1; t <= STEPS; t++) {
        step_run(run);
        read_state(run, "x", x);
        double way = dense_gap(dx, x, before);
        S += way * way;
        k += 1.0;
        memcpy(before, x, sizeof x);
        bool ends = pow(k + 1.0, 4.0 + exponent) * constant * constant * pow(S, exponent) > L * L;
        expected[t] = expected[t - 1] + (ends ? 1.0 : 0.0);
        if (ends)
            k = S = 0.0;
    }
    blv_run_destroy(run);
    assert_int_equal(read_restarts(path, column, 2 * STEPS + 2), STEPS + 1);
    print_message("ragd-gs, nu = %s, Hc = %s: %g restarts in %d steps\n", nu, Hc, expected[STEPS],
                  STEPS);
    for (size_t t = 0; t <= STEPS; t++)
        if (column[t] != expected[t])
            fail_msg("nu = %s, step %zu: %g restarts, expected %g", nu, t, column[t], expected[t]);
    assert_true(expected[STEPS] >= 2.0 && expected[STEPS] < STEPS / 2);
    unlink(path);
}

static void test_restarts(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "12", "dy", "6", "kappa", "10"));
    check_restarts(p, "1", "0.01", 2.0);
    check_restarts(p, "1", "0.2", 2.0);
    check_restarts(p, "1", "0.05", 10.0);
    check_restarts(p, "0.5", "0.05", 2.0);
    check_restarts(p, "0", "0.01", 2.0);
    blv_problem_destroy(p);
}

/* ---- MinimaxOPT ---- */

static void test_minimaxopt(void **state) {
    (void)state;
    on_quadratics("minimaxopt", SETTINGS("eta0", "0.003", "steps", "7"));
    on_quadratics("minimaxopt",
                  SETTINGS("eta0", "0.003", "tau", "2", "stages", "4", "steps", "9", "inner", "3",
                           "factor_x", "5", "factor_u", "0.5", "factor_w", "0.7"));
    on_quadratics("minimaxopt", SETTINGS("eta0", "0.001", "alpha0", "2", "steps", "10", "momentum",
                                         "0.8", "order", "simultaneous"));
    on_quadratics("minimaxopt",
                  SETTINGS("eta0", "0.002", "steps", "6", "stages", "10", "momentum", "0.5",
                           "schedule", "cosine", "inner", "2", "order", "simultaneous"));
    on_quadratics("minimaxopt", SETTINGS("eta0", "0.01", "steps", "20", "optimizer", "adam"));
    on_quadratics("minimaxopt",
                  SETTINGS("eta0", "0.02", "steps", "20", "optimizer", "adam", "momentum", "0.5",
                           "beta2", "0.9", "eps", "1e-4", "inner", "2"));
    on_toys("minimaxopt", SETTINGS("eta0", "0.1", "steps", "30", "tau", "1.2"));
    on_batches("minimaxopt", SETTINGS("eta0", "0.005", "steps", "20"));
    on_batches("minimaxopt", SETTINGS("eta0", "0.003", "steps", "20", "momentum", "0.6", "inner",
                                      "2", "order", "simultaneous"));
}

/* Example 1 of the minimax paper: five stages of 101 steps. */
static void test_minimaxopt_example(void **state) {
    (void)state;
    blv_problem *p = make_problem("scalar-penalty", NULL);
    blv_run *run = make_run(p, "minimaxopt",
                            SETTINGS("alpha0", "1", "eta0", "1", "tau", "2", "stages", "5", "steps",
                                     "101", "iters", "505"));
    const double one = 1.0;
    double u, w, x;
    write_state(run, "x", &one);
    solve_run(run);
    read_state(run, "u", &u);
    read_state(run, "y", &w);
    read_state(run, "x", &x);
    print_message("Example 1: u = %.6f, w = %.6f, x = %.6f\n", u, w, x);
    assert_near(u, 0.10015, 2e-5);
    assert_near(w, 0.10014, 2e-5);
    assert_near(x, 0.4493, 1e-4);
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

/* ---- The others ---- */

static void test_accf2ba(void **state) {
    (void)state;
    blv_problem *p = make_quadratic(&shapes[0], "1");
    const char *const *often = SETTINGS("L", "3", "B", "0.3", "Lg", "11", "mu", "1", "inner", "60");
    const char *const *never = SETTINGS("L", "3", "B", "1e9", "Lg", "11", "mu", "1", "inner", "60");
    double restarts = check(p, QUADRATIC, "accf2ba", often, NULL, NULL);
    print_message("accf2ba: %g restarts\n", restarts);
    assert_true(restarts >= 2.0 && restarts < STEPS / 2);
    assert_true(check(p, QUADRATIC, "accf2ba", never, NULL, NULL) == 0.0);
    blv_problem_destroy(p);
    on_quadratics("accf2ba", SETTINGS("L", "3", "theta", "0.3", "B", "1", "Lg", "310", "mu", "1",
                                      "inner", "250"));
    on_toys("accf2ba", SETTINGS("L", "60", "B", "0.5", "Lg", "10", "mu", "1", "inner", "12"));
    on_batches("accf2ba", SETTINGS("L", "20", "theta", "0.5", "B", "1", "Lg", "120", "mu", "1",
                                   "inner", "30", "lambda", "30"));
}

static void test_rahgd(void **state) {
    (void)state;
    on_quadratics("rahgd", SETTINGS("L", "3", "B", "2", "Lg", "310", "mu", "1", "inner", "60",
                                    "linear", "4"));
    on_quadratics("rahgd", SETTINGS("L", "4", "theta", "0.3", "B", "0.5", "Lg", "310", "mu", "1",
                                    "inner", "20", "linear", "2"));
    on_toys("rahgd",
            SETTINGS("L", "60", "B", "0.5", "Lg", "10", "mu", "1", "inner", "12", "linear", "2"));
    on_batches("rahgd", SETTINGS("L", "10", "theta", "0.5", "B", "1", "Lg", "120", "mu", "1",
                                 "inner", "20", "linear", "3"));
}

static void test_f2sa(void **state) {
    (void)state;
    on_quadratics("f2sa", SETTINGS("step_x", "0.02", "step_y", "3e-5", "step_z", "0.003"));
    on_quadratics("f2sa", SETTINGS("step_x", "0.02", "step_y", "3e-4", "step_z", "0.002", "lambda0",
                                   "7", "inner", "3"));
    on_toys("f2sa", SETTINGS("step_x", "0.02", "step_y", "1e-3", "step_z", "0.1"));
    on_batches("f2sa", SETTINGS("step_x", "0.02", "step_y", "8e-4", "step_z", "0.008", "lambda0",
                                "10", "inner", "4"));
}

static void test_pbgd(void **state) {
    (void)state;
    static const char *const solvers[] = {"pbgd", "pbsgd"};
    for (size_t i = 0; i < 2; i++) {
        on_quadratics(solvers[i], SETTINGS("step_x", "0.02", "step_y", "1e-4", "step_z", "0.003"));
        on_quadratics(solvers[i], SETTINGS("step_x", "0.05", "step_y", "3e-4", "step_z", "0.003",
                                           "gamma", "8", "inner", "1"));
        on_toys(solvers[i], SETTINGS("step_x", "0.005", "step_y", "3e-3", "step_z", "0.1"));
        on_batches(solvers[i], SETTINGS("step_x", "0.02", "step_y", "4e-4", "step_z", "0.008",
                                        "gamma", "10", "inner", "4"));
    }
}

static void test_bome(void **state) {
    (void)state;
    on_quadratics("bome",
                  SETTINGS("step_x", "0.003", "step_y", "1e-3", "Lg", "310", "inner", "10"));
    on_quadratics("bome", SETTINGS("step_x", "0.003", "step_y", "1e-4", "Lg", "310", "inner", "40",
                                   "eta", "5"));
    on_toys("bome", SETTINGS("step_x", "0.01", "step_y", "0.003", "Lg", "10", "inner", "12"));
    on_batches("bome", SETTINGS("step_x", "0.003", "step_y", "1e-3", "Lg", "130", "inner", "5"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f2ba),
        cmocka_unit_test(test_ragd_gs),
        cmocka_unit_test(test_restarts),
        cmocka_unit_test(test_minimaxopt),
        cmocka_unit_test(test_minimaxopt_example),
        cmocka_unit_test(test_accf2ba),
        cmocka_unit_test(test_rahgd),
        cmocka_unit_test(test_f2sa),
        cmocka_unit_test(test_pbgd),
        cmocka_unit_test(test_bome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
