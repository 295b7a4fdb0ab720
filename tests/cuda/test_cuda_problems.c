/* Problems on a GPU against the same ones on the host: oracles, every solver's steps, checkpoints
 * from one to the other, the same bits twice. Run in the root of the tree, for its data. */
#include "bilevel/bilevel.h"
#include "bilevel/checkpoint.h"
#include "bilevel/cuda.h"
#include "bilevel/registry.h"
#include "bilevel/run.h"
#include "core/run_private.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DIGITS "train", "data/digits.csv.gz", "scaling", "unit", "val_size", "0.2"

typedef struct problem_case {
    const char *name, *family;
    const char *settings[24];
    bool stochastic_steps; /* batches of rows are fast enough to try */
} problem_case;

static const problem_case cases[] = {
    {"quadratic", "quadratic", {"dx", "30", "dy", "40", NULL}, true},
    {"quadratic, terms", "quadratic", {"dx", "6", "dy", "8", "terms", "20", NULL}, false},
    {"synthetic-logistic", "synthetic-logistic", {"rows", "2000", NULL}, true},
    {"hyperclean", "hyperclean", {DIGITS, "corrupt", "0.3", NULL}, true},
    {"hyperclean in file order", "hyperclean", {DIGITS, "order", "file", NULL}, true},
    {"l2reg per feature", "l2reg", {DIGITS, NULL}, true},
    {"l2reg one", "l2reg", {DIGITS, "penalty", "one", NULL}, false},
    {"l2reg per class, sparse",
     "l2reg",
     {DIGITS, "penalty", "per-class", "layout", "sparse", NULL},
     true},
    {"hyperclean-nn",
     "hyperclean-nn",
     {DIGITS, "corrupt", "0.3", "net", "mlp:in-16-out,act=gelu,dropout=0.2", NULL},
     true},
    {"coreset", "coreset", {DIGITS, "K", "50", NULL}, false},
    {"coreset of a network",
     "coreset",
     {DIGITS, "K", "50", "net", "mlp:in-12-out,act=softplus", NULL},
     false},
    {"decay-nn", "decay-nn", {DIGITS, "net", "mlp:in-16-out,act=softplus", NULL}, true},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Under compute-sanitizer: whole steps alone, and few of them. */
static bool is_small(void) {
    return getenv("BLV_TEST_SMALL") != NULL;
}

static blv_problem *make(const problem_case *c, blv_precision precision, blv_memory_kind memory) {
    const blv_problem_options options = {
        .size = sizeof options, .precision = precision, .threads = 2, .memory = memory};
    blv_problem *problem = NULL;
    blv_message why = {""};
    if (blv_problem_from_family(blv_family_find(NULL, c->family, NULL), c->settings, &options,
                                &problem, &why) != BLV_OK)
        fail_msg("%s: %s", c->name, why.text);
    return problem;
}

/* |a - b| / |b|, or |a| where b is 0 */
static double distance(size_t n, const double *a, const double *b) {
    double apart = 0.0, size = 0.0;
    for (size_t i = 0; i < n; i++) {
        apart += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(apart) / (size > 0.0 ? sqrt(size) : 1.0);
}

typedef struct outputs {
    double f, g, *fx, *fy, *gx, *gy, *hv, *jv;
} outputs;

static blv_vec *vec(const blv_space *space, double (*value)(size_t)) {
    blv_vec *v;
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    const size_t n = blv_space_dim(space);
    double *host = malloc(n * sizeof *host);
    for (size_t i = 0; i < n; i++)
        host[i] = value ? value(i) : -77.0;
    blv_vec_write(v, host);
    free(host);
    return v;
}

static double of_x(size_t i) {
    return 0.3 * sin(1.0 + (double)i);
}
static double of_y(size_t i) {
    return 0.1 * cos(2.0 * (double)i);
}
static double of_v(size_t i) {
    return 0.2 * sin(3.0 * (double)i + 0.5);
}

static double *taken(blv_vec *v) {
    double *host = malloc(blv_vec_dim(v) * sizeof *host);
    blv_vec_read(v, host);
    blv_vec_destroy(v);
    return host;
}

static outputs call(const blv_problem *problem, const blv_batch *batch, bool all) {
    const blv_problem_def *d = blv_problem_definition(problem);
    blv_vec *x = vec(d->space_x, of_x), *y = vec(d->space_y, of_y), *v = vec(d->space_y, of_v);
    blv_vec *fx = vec(d->space_x, NULL), *fy = vec(d->space_y, NULL), *gx = vec(d->space_x, NULL),
            *gy = vec(d->space_y, NULL), *hv = vec(d->space_y, NULL), *jv = vec(d->space_x, NULL);
    outputs o;
    assert_int_equal(d->upper(d->user, batch, x, y, &o.f, fx, fy), 0);
    assert_int_equal(d->lower(d->user, batch, x, y, &o.g, gx, gy), 0);
    if (all) {
        assert_int_equal(d->lower_all(d->user, batch, x, y, v, gy, hv, jv), 0);
    } else {
        assert_int_equal(d->lower_hvp(d->user, batch, x, y, v, hv), 0);
        assert_int_equal(d->lower_cross(d->user, batch, x, y, v, jv), 0);
    }
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_vec_destroy(v);
    o.fx = taken(fx), o.fy = taken(fy), o.gx = taken(gx), o.gy = taken(gy), o.hv = taken(hv),
    o.jv = taken(jv);
    return o;
}

static void drop(outputs *o) {
    free(o->fx), free(o->fy), free(o->gx), free(o->gy), free(o->hv), free(o->jv);
}

static void expect_near(const problem_case *c, const char *what, double apart, double allowed) {
    if (!(apart <= allowed))
        fail_msg("%s: %s is %g off, allowed %g", c->name, what, apart, allowed);
}

static void test_oracles(void **state) {
    (void)state;
    for (size_t i = 0; i < 2 * CASES; i++) {
        const problem_case *c = &cases[i / 2];
        const blv_precision precision = i % 2 ? BLV_F32 : BLV_F64;
        const double allowed = precision == BLV_F32 ? 2e-5 : 1e-12;
        blv_problem *here = make(c, precision, BLV_MEMORY_HOST),
                    *there = make(c, precision, BLV_MEMORY_CUDA);
        const blv_problem_def *d = blv_problem_definition(here);
        const size_t samples = d->lower_samples, few[] = {3, 1, 3, 0, 5};
        const blv_batch range = {.first = 2, .count = 7}, list = {.count = 5, .index = few};
        const blv_batch *const batches[] = {NULL, &range, &list};
        for (size_t b = 0; b < (samples > 20 && d->upper_samples > 20 ? 6 : 1); b++) {
            outputs p = call(here, batches[b % 3], b < 3), q = call(there, batches[b % 3], b < 3);
            expect_near(c, "f", fabs(q.f - p.f) / fabs(p.f), allowed);
            expect_near(c, "g", fabs(q.g - p.g) / fabs(p.g), allowed);
            expect_near(c, "fx", distance(d->dim_x, q.fx, p.fx), allowed);
            expect_near(c, "fy", distance(d->dim_y, q.fy, p.fy), allowed);
            expect_near(c, "gx", distance(d->dim_x, q.gx, p.gx), allowed);
            expect_near(c, "gy", distance(d->dim_y, q.gy, p.gy), allowed);
            expect_near(c, "hv", distance(d->dim_y, q.hv, p.hv), allowed);
            expect_near(c, "jv", distance(d->dim_x, q.jv, p.jv), allowed);
            drop(&p);
            drop(&q);
        }
        blv_problem_destroy(here);
        blv_problem_destroy(there);
    }
}

/* The papers' solvers, and what is given to them in place of automatic constants. Those come from
 * estimates that multiply rounding: on one machine a start that differs by 1e-16 changes mgbio,
 * msgbio, vr-msgbio and minimaxopt by 1e-7 to 1e-2 after 50 steps, and by less than 1e-11 with
 * these. So does MINRES where it is cut off on the way, after 20 products: here it goes to its
 * tolerance. */
typedef struct paper_solver {
    const char *name, *settings[14];
} paper_solver;

static const paper_solver papers[] = {
    {"d-tfbo", {NULL}},
    {"s-tfbo", {NULL}},
    {"mrbo", {"eta", "0.02", "Q", "10", "m", "1", "dd", "1", NULL}},
    {"vrbo", {"eta", "0.02", "Q", "10", NULL}},
    {"ragd-gs",
     {"L", "200", "Hc", "1", "lambda", "10", "Lg", "100", "mu", "0.5", "inner", "10", NULL}},
    {"mgbio", {"gamma", "0.02", "lambda", "0.02", "products", "100", NULL}},
    {"msgbio", {"gamma", "0.02", "lambda", "0.02", "k", "1", "m", "100", "products", "100", NULL}},
    {"vr-msgbio",
     {"gamma", "0.02", "lambda", "0.02", "k", "1", "m", "100", "products", "100", NULL}},
    {"minimaxopt", {"alpha0", "2", "eta0", "0.02", "factor_x", "1", "momentum", "0.5", NULL}},
};

static const paper_solver *paper_of(const blv_solver *solver) {
    for (size_t i = 0; i < sizeof papers / sizeof *papers; i++)
        if (strcmp(solver->name, papers[i].name) == 0)
            return &papers[i];
    return NULL;
}

static blv_run *start(const blv_problem *problem, const blv_solver *solver, const char *iterations,
                      bool batches) {
    blv_run *run;
    blv_message why = {""};
    if (blv_run_create(&run, problem, solver, &why) != BLV_OK)
        return NULL;
    assert_int_equal(blv_run_set(run, "iters", iterations), BLV_OK);
    for (const blv_param *p = solver->params; p && p->key; p++)
        if (strncmp(p->key, "step", 4) == 0 && p->value && strcmp(p->value, "auto") == 0)
            blv_run_set(run, p->key, "0.02"); /* automatic ones come from an iteration that
                                                 amplifies the last bits */
    const paper_solver *paper = paper_of(solver);
    for (size_t i = 0; paper && paper->settings[i]; i += 2)
        if (blv_run_set(run, paper->settings[i], paper->settings[i + 1]) != BLV_OK)
            fail_msg("%s: %s", solver->name, blv_run_message(run));
    if (batches && (solver->uses & BLV_IS_STOCHASTIC))
        assert_int_equal(blv_run_set(run, "batch", "64"), BLV_OK);
    return run;
}

static double *state_of(const blv_run *run, const char *name) {
    double *host = malloc(blv_run_dim(run, name) * sizeof *host);
    assert_int_equal(blv_run_read(run, name, host), BLV_OK);
    return host;
}

static double apart(const blv_run *a, const blv_run *b) {
    double *ax = state_of(a, "x"), *bx = state_of(b, "x"), *ay = state_of(a, "y"),
           *by = state_of(b, "y");
    const double result =
        fmax(distance(blv_run_dim(a, "x"), ax, bx), distance(blv_run_dim(a, "y"), ay, by));
    free(ax), free(bx), free(ay), free(by);
    return result;
}

/* Constants that are estimated before the first step come from a Lanczos iteration, which amplifies
 * the last bits. */
static double allowed_f64(const blv_solver *solver) {
    if (paper_of(solver))
        return 1e-10;
    for (const blv_param *p = solver->params; p && p->key; p++)
        if (strncmp(p->key, "step", 4) != 0 && p->value && strcmp(p->value, "auto") == 0)
            return 1e-5;
    return 1e-10;
}

/* On many rows: one of each kind, none with dense matrices or long inner loops. */
static bool is_quick(const blv_solver *solver) {
    static const char *const names[] = {"soba", "aid-cg", "f2ba", "f2sa", "pbgd", "bome"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(solver->name, names[i]) == 0)
            return true;
    return false;
}

/* How far f32 takes a run on the host from one in f64, and from one whose start differs in the last
 * bits: what a solver makes of rounding errors, whichever machine they come from. */
static double own_error(const problem_case *c, const blv_problem *here, const blv_run *run,
                        const blv_solver *solver) {
    blv_problem *wide = make(c, BLV_F64, BLV_MEMORY_HOST);
    blv_run *in_f64 = start(wide, solver, "100", c->stochastic_steps);
    assert_int_equal(blv_run_solve(in_f64), BLV_OK);
    double most = apart(run, in_f64);
    for (int i = 1; i <= 3; i++) {
        blv_run *moved = start(here, solver, "100", c->stochastic_steps);
        assert_int_equal(blv_run_open(moved), BLV_OK);
        double *y = state_of(moved, "y");
        for (size_t j = 0; j < blv_run_dim(moved, "y"); j++)
            y[j] += 3e-8 * sin((double)(i * 1000 + (int)j));
        assert_int_equal(blv_run_write(moved, "y", y), BLV_OK);
        assert_int_equal(blv_run_solve(moved), BLV_OK);
        most = fmax(most, apart(moved, run));
        free(y);
        blv_run_destroy(moved);
    }
    blv_run_destroy(in_f64);
    blv_problem_destroy(wide);
    return most;
}

static uint64_t steps_of(blv_precision precision) {
    return precision == BLV_F32 ? 100 : 50;
}

/* Every solver, 50 steps in f64 and 100 in f32, batches of 64 where it takes batches. */
static void replay(const problem_case *c, blv_precision precision) {
    blv_problem *here = make(c, precision, BLV_MEMORY_HOST),
                *there = make(c, precision, BLV_MEMORY_CUDA);
    size_t off = 0, of_papers = 0;
    for (size_t i = 0; blv_solver_at(NULL, i); i++) {
        const blv_solver *solver = blv_solver_at(NULL, i);
        if ((strcmp(c->family, "hyperclean") == 0 && !is_quick(solver) && !paper_of(solver)) ||
            strcmp(solver->name, "auto") == 0 ||
            blv_solver_fit(solver, here, NULL) != BLV_FIT_SUITED)
            continue;
        const char *steps = precision == BLV_F32 ? "100" : "50";
        blv_run *a = start(here, solver, steps, c->stochastic_steps),
                *b = start(there, solver, steps, c->stochastic_steps);
        if (!a || !b) {
            blv_run_destroy(a);
            blv_run_destroy(b);
            continue;
        }
        if (blv_run_solve(a) != BLV_OK || blv_run_solve(b) != BLV_OK)
            fail_msg("%s on %s: %s; %s", solver->name, c->name, blv_run_message(a),
                     blv_run_message(b));
        const bool single = precision == BLV_F32;
        const double differ = apart(b, a), own = single ? own_error(c, here, a, solver) : 0.0;
        const double allowed = single ? fmax(1e-5, 10.0 * own) : allowed_f64(solver);
        printf("    %-20s %s %-12s %4d steps %.1e", c->name, single ? "f32" : "f64", solver->name,
               (int)blv_run_result(b)->iterations, differ);
        printf(single ? ", the host's own %.1e\n" : "\n", own);
        if (!(differ <= allowed)) {
            off++;
            printf("      more than %g: %s; %s\n", allowed, blv_run_message(a), blv_run_message(b));
        }
        of_papers += paper_of(solver) != NULL &&
                     blv_run_result(a)->iterations == steps_of(precision) &&
                     blv_run_result(b)->iterations == steps_of(precision);
        blv_run_destroy(a);
        blv_run_destroy(b);
    }
    blv_problem_destroy(here);
    blv_problem_destroy(there);
    assert_int_equal(of_papers, sizeof papers / sizeof *papers);
    assert_int_equal(off, 0);
}

static void test_replay_f64(void **state) {
    (void)state;
    replay(&cases[0], BLV_F64);
    replay(&cases[2], BLV_F64);
    replay(&cases[3], BLV_F64);
}

static void test_replay_f32(void **state) {
    (void)state;
    replay(&cases[2], BLV_F32);
    replay(&cases[3], BLV_F32);
}

static void test_checkpoints(void **state) {
    (void)state;
    for (int to_gpu = 0; to_gpu < 2; to_gpu++) {
        const char *path = "cuda-checkpoint.npz";
        blv_problem *from = make(&cases[3], BLV_F32, to_gpu ? BLV_MEMORY_HOST : BLV_MEMORY_CUDA),
                    *to = make(&cases[3], BLV_F32, to_gpu ? BLV_MEMORY_CUDA : BLV_MEMORY_HOST);
        const blv_solver *solver = blv_solver_find(NULL, "soba", NULL);
        blv_run *first = start(from, solver, "40", true), *whole = start(from, solver, "80", true),
                *second = start(to, solver, "80", true);
        assert_int_equal(blv_run_solve(first), BLV_OK);
        assert_int_equal(blv_run_solve(whole), BLV_OK);
        assert_int_equal(blv_run_save(first, path), BLV_OK);
        if (blv_run_load(second, path) != BLV_OK)
            fail_msg("%s", blv_run_message(second));
        assert_int_equal(blv_run_solve(second), BLV_OK);
        assert_int_equal(blv_run_result(second)->iterations, 80);
        expect_near(&cases[3], "a resumed run", apart(second, whole), 1e-4);
        blv_run_destroy(first);
        blv_run_destroy(whole);
        blv_run_destroy(second);
        blv_problem_destroy(from);
        blv_problem_destroy(to);
        remove(path);
    }
}

static void test_same_bits(void **state) {
    (void)state;
    blv_problem *problem = make(&cases[3], BLV_F32, BLV_MEMORY_CUDA);
    const blv_solver *solver = blv_solver_find(NULL, "s-tfbo", NULL);
    blv_run *a = start(problem, solver, "60", false), *b = start(problem, solver, "60", false);
    assert_int_equal(blv_run_solve(a), BLV_OK);
    assert_int_equal(blv_run_solve(b), BLV_OK);
    assert_true(apart(a, b) == 0.0);
    blv_run_destroy(a);
    blv_run_destroy(b);
    blv_problem_destroy(problem);
}

/* Steps that are not waited for have the bits of those that are, and runs that end in one of them
 * keep the last good point. */
static void test_ahead(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "iid", "shuffle"};
    const int steps = is_small() ? 70 : 300;
    for (int i = 0; i < 12; i += is_small() ? 6 : 1) { /* few: block in f32 and iid in f64 */
        const problem_case *c = &cases[i % 2 ? 3 : 2];
        blv_problem *problem = make(c, i / 2 % 2 ? BLV_F64 : BLV_F32, BLV_MEMORY_CUDA);
        for (const char *const *name = (const char *const[]){"soba", "s-tfbo", NULL}; *name;
             name++) {
            const blv_solver *solver = blv_solver_find(NULL, *name, NULL);
            blv_run *a = start(problem, solver, is_small() ? "70" : "300", true),
                    *b = start(problem, solver, is_small() ? "70" : "300", true);
            assert_int_equal(blv_run_set(a, "batch", "64"), BLV_OK);
            assert_int_equal(blv_run_set(b, "batch", "64"), BLV_OK);
            assert_int_equal(blv_run_set(a, "sampler", samplers[i / 4]), BLV_OK);
            assert_int_equal(blv_run_set(b, "sampler", samplers[i / 4]), BLV_OK);
            assert_int_equal(blv_run_solve(a), BLV_OK);
            for (int step = 0; step < steps; step++)
                assert_int_equal(blv_run_step(b), BLV_OK);
            assert_int_equal(blv_run_result(b)->iterations, steps);
            if (apart(a, b) != 0.0)
                fail_msg("%s on %s, %s: %g apart", *name, c->name, samplers[i / 4], apart(a, b));
            assert_memory_equal(&blv_run_result(a)->metrics, &blv_run_result(b)->metrics,
                                sizeof(blv_metrics));
            blv_run_destroy(a);
            blv_run_destroy(b);
        }
        blv_problem_destroy(problem);
    }
}

/* Lists of rows, which the GPU copies once an epoch: the batches of the host. */
static void test_lists(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        const problem_case *c = &cases[i % 2 ? 3 : 2];
        blv_problem *here = make(c, BLV_F64, BLV_MEMORY_HOST),
                    *there = make(c, BLV_F64, BLV_MEMORY_CUDA);
        const blv_solver *solver = blv_solver_find(NULL, "soba", NULL);
        blv_run *run[2];
        for (int k = 0; k < 2; k++) {
            run[k] = start(k ? there : here, solver, "200", true); /* several epochs */
            assert_int_equal(blv_run_set(run[k], "sampler", i / 2 ? "shuffle" : "iid"), BLV_OK);
            assert_int_equal(blv_run_solve(run[k]), BLV_OK);
        }
        expect_near(c, "a run on lists", apart(run[1], run[0]), 1e-10);
        blv_run_destroy(run[0]);
        blv_run_destroy(run[1]);
        blv_problem_destroy(here);
        blv_problem_destroy(there);
    }
}

/* Steps that are too long: penalties grow until f32 overflows. That happens in one of the steps
 * that nobody waits for (the first 16 are waited for, and 32, 64, ...): the run goes back to where
 * they began and ends where one ends that waits for each. */
static void test_goes_back(void **state) {
    (void)state;
    static const char *const steps_x[] = {"6", "10", "12", "16"};
    blv_problem *problem = make(&cases[2], BLV_F32, BLV_MEMORY_CUDA);
    for (size_t s = is_small() ? 3 : 0; s < sizeof steps_x / sizeof *steps_x; s++) {
        blv_run *run[2];
        for (int i = 0; i < 2; i++) {
            run[i] = start(problem, blv_solver_find(NULL, "soba", NULL), "2000", true);
            assert_int_equal(blv_run_set(run[i], "decay", "0"), BLV_OK);
            assert_int_equal(blv_run_set(run[i], "step_x", steps_x[s]), BLV_OK);
            assert_int_equal(blv_run_set(run[i], "step_y", "1"), BLV_OK);
            assert_int_equal(blv_run_set(run[i], "step_v", "1"), BLV_OK);
            for (int step = 0; i && step < 2000; step++)
                blv_run_step(run[i]);
            blv_run_solve(run[i]);
            double *y = state_of(run[i], "y");
            for (size_t j = 0; j < blv_run_dim(run[i], "y"); j++)
                assert_true(isfinite(y[j]));
            free(y);
        }
        printf("    step_x = %s, went back %llu times: %s\n", steps_x[s],
               (unsigned long long)run[0]->ahead.back, blv_run_message(run[0]));
        assert_string_equal(blv_run_message(run[0]), blv_run_message(run[1]));
        assert_int_equal(blv_run_result(run[0])->outcome, BLV_DIVERGED);
        assert_int_equal(run[0]->ahead.back, 1);
        assert_int_equal(run[1]->ahead.back, 0);
        assert_true(apart(run[0], run[1]) == 0.0);
        blv_run_destroy(run[0]);
        blv_run_destroy(run[1]);
    }
    blv_problem_destroy(problem);
}

static void test_certificate(void **state) {
    (void)state;
    blv_problem *problem = make(&cases[3], BLV_F32, BLV_MEMORY_CUDA);
    blv_run *run = start(problem, blv_solver_find(NULL, "exact", NULL), "5", false);
    assert_int_equal(blv_run_set(run, "certify", "on"), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    blv_check_report report;
    blv_message why = {""};
    assert_int_equal(blv_problem_check(problem, 1, 0.3, &report, &why), BLV_OK);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest few[] = {cmocka_unit_test(test_ahead),
                                     cmocka_unit_test(test_goes_back)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracles),     cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_ahead),       cmocka_unit_test(test_goes_back),
        cmocka_unit_test(test_lists),       cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_certificate), cmocka_unit_test(test_replay_f64),
        cmocka_unit_test(test_replay_f32),
    };
    return is_small() ? cmocka_run_group_tests(few, NULL, NULL)
                      : cmocka_run_group_tests(tests, NULL, NULL);
}
