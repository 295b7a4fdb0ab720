/* Problems whose rows are spread over ranks against the same problems in one process: every oracle
 * on whole sums and batches, every solver step by step, measures, checkpoints. Started with mpirun,
 * by any number of ranks; each rank makes the problem of one process, too. */
#include "bilevel/bilevel.h"
#include "bilevel/mpi.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static blv_ranks *ranks;

typedef struct pair {
    blv_problem *one, *spread;
} pair;

typedef struct kind {
    const char *family;
    const char *const *settings;
} kind;

#define KIND(name, ...)                                                                            \
    {                                                                                              \
        name, (const char *const[]) {                                                              \
            __VA_ARGS__, NULL                                                                      \
        }                                                                                          \
    }
#define DIGITS "train", TEST_DATA "/digits.csv.gz", "train_size", "60", "val_size", "41"
#define SPARSE_FROM "train", TEST_SPARSE, "layout", "sparse", "order", "file", "val_size",
#define SPARSE SPARSE_FROM "0.3"

static const kind kinds[] = {
    KIND("quadratic", "dx", "7", "dy", "5", "terms", "13"),
    KIND("synthetic-logistic", "rows", "101", "columns", "6"),
    KIND("hyperclean", DIGITS, "corrupt", "0.3", "scaling", "standard"),
    KIND("hyperclean", DIGITS, "intercept", "on", "unit_rows", "on", "test_size", "20"),
    KIND("l2reg", DIGITS, "penalty", "per-class"),
    KIND("l2reg", SPARSE, "loss", "softmax"),
    KIND("hyperclean", SPARSE),
    KIND("l2reg", "train", TEST_DATA "/digits.csv.gz", "train_size", "64"), /* as many as columns */
    /* the last rank has no training row, and the shares are uneven */
    KIND("hyperclean", SPARSE_FROM "0.7"),
    KIND("l2reg", SPARSE_FROM "0.7"),
    /* fewer rows than ranks in a set */
    KIND("hyperclean", "train", TEST_DATA "/digits.csv.gz", "train_size", "20", "val_size", "2"),
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static blv_problem *create(const kind *k, blv_precision precision, const blv_ranks *over) {
    blv_problem_options options = {
        .size = sizeof options, .precision = precision, .threads = 1, .ranks = over};
    blv_problem *problem = NULL;
    blv_message why = {""};
    blv_error error = blv_problem_from_family(blv_family_find(NULL, k->family, &why), k->settings,
                                              &options, &problem, &why);
    if (error != BLV_OK)
        fail_msg("%s: %s", k->family, why.text);
    return problem;
}

static pair create_pair(const kind *k, blv_precision precision) {
    return (pair){create(k, precision, NULL), create(k, precision, ranks)};
}

static void destroy_pair(pair *p) {
    blv_problem_destroy(p->one);
    blv_problem_destroy(p->spread);
}

/* ---- Oracles ---- */

static blv_vec *vector(const blv_problem *p, bool x, unsigned seed) {
    const blv_problem_def *def = blv_problem_definition(p);
    blv_vec *v;
    assert_int_equal(blv_vec_create(&v, x ? def->space_x : def->space_y), BLV_OK);
    double *host = malloc(blv_vec_dim(v) * sizeof *host);
    assert_non_null(host);
    for (size_t i = 0; i < blv_vec_dim(v); i++)
        host[i] = (double)(float)(0.3 * sin((double)(i * 7 + seed * 13 + 1)));
    blv_vec_write(v, host);
    free(host);
    return v;
}

static void assert_near(const char *what, const blv_vec *a, const blv_vec *b, double allowed) {
    const size_t n = blv_vec_dim(a);
    double *left = malloc(2 * n * sizeof *left), *right = left + n, largest = 0.0;
    assert_non_null(left);
    assert_int_equal(n, blv_vec_dim(b));
    blv_vec_read(a, left);
    blv_vec_read(b, right);
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(left[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(left[i] - right[i]) <= allowed * largest))
            fail_msg("%s: element %zu is %.17g in one process and %.17g on ranks", what, i, left[i],
                     right[i]);
    free(left);
}

typedef struct outputs {
    double f, g;
    blv_vec *fx, *fy, *gx, *gy, *hv, *jv, *all_gy, *all_hv, *all_jv;
} outputs;

static outputs call_all(const blv_problem *p, const blv_batch *upper, const blv_batch *lower) {
    const blv_problem_def *d = blv_problem_definition(p);
    blv_vec *x = vector(p, true, 1), *y = vector(p, false, 2), *v = vector(p, false, 3);
    outputs o = {.fx = vector(p, true, 0),
                 .gx = vector(p, true, 0),
                 .jv = vector(p, true, 0),
                 .fy = vector(p, false, 0),
                 .gy = vector(p, false, 0),
                 .hv = vector(p, false, 0),
                 .all_gy = vector(p, false, 0),
                 .all_hv = vector(p, false, 0),
                 .all_jv = vector(p, true, 0)};
    assert_int_equal(d->upper(d->user, upper, x, y, &o.f, o.fx, o.fy), 0);
    assert_int_equal(d->lower(d->user, lower, x, y, &o.g, o.gx, o.gy), 0);
    assert_int_equal(d->lower_hvp(d->user, lower, x, y, v, o.hv), 0);
    assert_int_equal(d->lower_cross(d->user, lower, x, y, v, o.jv), 0);
    assert_int_equal(d->lower_all(d->user, lower, x, y, v, o.all_gy, o.all_hv, o.all_jv), 0);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_vec_destroy(v);
    return o;
}

static void compare_oracles(const pair *p, const blv_batch *upper, const blv_batch *lower,
                            double allowed) {
    outputs a = call_all(p->one, upper, lower), b = call_all(p->spread, upper, lower);
    assert_true(fabs(a.f - b.f) <= allowed * fabs(a.f) && fabs(a.g - b.g) <= allowed * fabs(a.g));
    blv_vec *const left[] = {a.fx, a.fy, a.gx, a.gy, a.hv, a.jv, a.all_gy, a.all_hv, a.all_jv};
    blv_vec *const right[] = {b.fx, b.fy, b.gx, b.gy, b.hv, b.jv, b.all_gy, b.all_hv, b.all_jv};
    static const char *const names[] = {"fx", "fy", "gx", "gy", "hv", "jv", "all", "all", "all"};
    for (size_t i = 0; i < 9; i++) {
        assert_near(names[i], left[i], right[i], allowed);
        blv_vec_destroy(left[i]);
        blv_vec_destroy(right[i]);
    }
}

static void compare_measures(const pair *p, double allowed) {
    const blv_problem *const problems[] = {p->one, p->spread};
    double values[2][BLV_MEASURES_MAX] = {{0.0}};
    for (size_t i = 0; i < 2; i++) {
        const blv_problem_def *d = blv_problem_definition(problems[i]);
        blv_vec *x = vector(problems[i], true, 1), *y = vector(problems[i], false, 2);
        if (d->measure)
            assert_int_equal(d->measure(d->user, x, y, values[i]), 0);
        blv_vec_destroy(x);
        blv_vec_destroy(y);
    }
    for (size_t k = 0; k < BLV_MEASURES_MAX; k++)
        assert_true((isnan(values[0][k]) && isnan(values[1][k])) ||
                    fabs(values[0][k] - values[1][k]) <= allowed * fabs(values[0][k]));
}

static void test_oracles(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (int single = 0; single < 2; single++) {
            const double allowed = single ? 2e-5 : 1e-12;
            pair p = create_pair(&kinds[k], single ? BLV_F32 : BLV_F64);
            const size_t index[] = {3, 0, 3, 1, 4}, few[] = {1, 1, 0};
            const blv_batch some = {.count = 5, .index = index}, block = {.first = 1, .count = 3},
                            pick = {.count = 3, .index = few}, last = {.first = 1, .count = 1};
            compare_oracles(&p, NULL, NULL, allowed);
            compare_oracles(&p, &pick, &some, allowed);
            compare_oracles(&p, &last, &block, allowed);
            compare_measures(&p, allowed);
            destroy_pair(&p);
        }
}

/* Labels of which some are wrong: folds, with and without rows whose labels are right. */
static blv_problem *create_noise(blv_precision precision, bool val, const blv_ranks *over) {
    enum { CLASSES = 10, FOLDS = 3 };
    const blv_read_options reading = {
        .size = sizeof reading, .precision = precision, .ranks = over};
    const double shares[] = {0.08, 0.04};
    const blv_problem_options options = {
        .size = sizeof options, .precision = precision, .threads = 1};
    blv_dataset *set, *part[2];
    double start[CLASSES * CLASSES];
    uint32_t fold[200];
    blv_problem *problem;
    blv_message why;
    assert_int_equal(blv_dataset_read(&set, TEST_DATA "/digits.csv.gz", &reading, &why), BLV_OK);
    assert_int_equal(blv_dataset_split(set, shares, 2, true, 5, part, &why), BLV_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_true(blv_dataset_view_of(part[i])->rows <= 200);
        assert_int_equal(blv_dataset_scale(&part[i], 1, BLV_SCALE_UNIT, &why), BLV_OK);
    }
    for (uint32_t i = 0; i < 200; i++)
        fold[i] = i * 7 % FOLDS;
    for (size_t i = 0; i < CLASSES * CLASSES; i++)
        start[i] = i % (CLASSES + 1) == 0 ? 0.73 : 0.03;
    const blv_noise_setting setting = {.size = sizeof setting,
                                       .folds = FOLDS,
                                       .part = fold,
                                       .val_part = fold,
                                       .start = start,
                                       .prior = 4.0,
                                       .noisy_share = 0.7};
    const blv_sets sets = {.size = sizeof sets, .train = part[0], .val = val ? part[1] : NULL};
    if (blv_label_noise_create(&sets, &setting, &options, &problem, &why) != BLV_OK)
        fail_msg("%s", why.text);
    blv_dataset_release(set);
    blv_dataset_release(part[0]);
    blv_dataset_release(part[1]);
    return problem;
}

static void test_label_noise(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        const blv_precision precision = k % 2 ? BLV_F32 : BLV_F64;
        pair p = {create_noise(precision, k < 2, NULL), create_noise(precision, k < 2, ranks)};
        compare_oracles(&p, NULL, NULL, precision == BLV_F32 ? 5e-5 : 1e-12);
        destroy_pair(&p);
    }
}

/* The finite differences of the library, on problems that are spread. */
static void test_check(void **state) {
    (void)state;
    for (size_t k = 0; ranks->count <= 2 && k < KINDS - 1; k++) {
        blv_problem *problem = create(&kinds[k], BLV_F64, ranks);
        blv_check_report report;
        blv_message why;
        assert_int_equal(blv_problem_check(problem, 1, 0.5, &report, &why), BLV_OK);
        for (size_t i = 0; i < report.count; i++)
            if (!report.item[i].ok)
                fail_msg("%s: %s", kinds[k].family, report.item[i].what);
        blv_problem_destroy(problem);
    }
}

/* ---- Runs ---- */

typedef struct ending {
    double *x, *y;
    blv_outcome outcome;
    uint64_t iterations;
    double measures[BLV_MEASURES_MAX];
} ending;

/* The automatic constants of a problem that is nearly singular multiply rounding, and so does a
 * large penalty: steps and penalties are given. */
static void set_steps(blv_run *run) {
    static const char *const keys[] = {"step_x", "step_y", "step_v", "step_z", "eta"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        (void)blv_run_set(run, keys[i], "0.05"); /* of those that have it */
    (void)blv_run_set(run, "lambda", "10");
}

static blv_run *start(const blv_problem *problem, const blv_solver *solver, int64_t iters) {
    blv_run *run;
    blv_message why;
    if (blv_run_create(&run, problem, solver, &why) != BLV_OK)
        fail_msg("%s: %s", solver->name, why.text);
    assert_int_equal(blv_run_set_int(run, "iters", iters), BLV_OK);
    assert_int_equal(blv_run_set(run, "batch", "9"), BLV_OK);
    if (strcmp(blv_problem_definition(problem)->name, "hyperclean") == 0 ||
        !(solver->uses & (BLV_USES_HVP | BLV_USES_CROSS)))
        set_steps(run);
    if (strcmp(solver->name, "d-tfbo") == 0) /* its first steps are long: many multiply rounding */
        assert_int_equal(blv_run_set(run, "inner", "tol"), BLV_OK);
    return run;
}

static ending finish(blv_run *run) {
    assert_int_equal(blv_run_solve(run), BLV_OK);
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    ending e = {.x = malloc(def->dim_x * sizeof(double)),
                .y = malloc(def->dim_y * sizeof(double)),
                .outcome = blv_run_result(run)->outcome,
                .iterations = blv_run_result(run)->iterations};
    assert_int_equal(blv_run_read(run, "x", e.x), BLV_OK);
    assert_int_equal(blv_run_read(run, "y", e.y), BLV_OK);
    blv_run_destroy(run);
    return e;
}

static double distance(const double *a, const double *b, size_t n) {
    double off = 0.0, size = 1e-3;
    for (size_t i = 0; i < n; i++) {
        off = fmax(off, fabs(a[i] - b[i]));
        size = fmax(size, fabs(a[i]));
    }
    return off / size;
}

static void free_ending(ending *e) {
    free(e->x);
    free(e->y);
}

static void replay(const pair *p, const blv_solver *solver, int64_t iters) {
    const blv_problem_def *def = blv_problem_definition(p->one);
    ending a = finish(start(p->one, solver, iters)), b = finish(start(p->spread, solver, iters));
    const double off = fmax(distance(a.x, b.x, def->dim_x), distance(a.y, b.y, def->dim_y));
    if (a.outcome != b.outcome || a.iterations != b.iterations || !(off <= 1e-12))
        fail_msg("%s on %s: off by %g, outcomes %d and %d after %d and %d iterations", solver->name,
                 def->name, off, a.outcome, b.outcome, (int)a.iterations, (int)b.iterations);
    free_ending(&a);
    free_ending(&b);
}

/* Every solver that suits takes the same steps on ranks as in one process, to rounding. auto takes
 * decisions that rounding may turn. */
static void replay_all(const kind *k, int64_t iters) {
    pair p = create_pair(k, BLV_F64);
    const blv_solver *solver;
    size_t replayed = 0;
    for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++) {
        blv_message remark;
        if (blv_solver_fit(solver, p.one, &remark) != BLV_FIT_SUITED ||
            strcmp(solver->name, "bcsr") == 0 || strcmp(solver->name, "auto") == 0)
            continue;
        replay(&p, solver, iters);
        replayed++;
    }
    assert_true(replayed >= 9);
    destroy_pair(&p);
}

/* The same with x spread, for those whose steps can all be given. */
static void replay_spread(const kind *k, int64_t iters) {
    static const char *const nine[] = {"s-tfbo", "d-tfbo",  "soba",  "saba", "ttsa",
                                       "amigo",  "stocbio", "t1-t2", "itd"};
    pair p = create_pair(k, BLV_F64);
    for (size_t i = 0; i < 9; i++)
        replay(&p, blv_solver_find(NULL, nine[i], NULL), iters);
    destroy_pair(&p);
}

static void test_replay(void **state) {
    (void)state;
    if (ranks->count > 2) /* cores may be short: each exchange waits for its turn */
        return;
    replay_all(&kinds[0], 6);
    replay_all(&kinds[1], 4);
    replay_spread(&kinds[2], 8);
    replay_spread(&kinds[8], 8);
}

/* What the kinds are there for. */
static void test_shares(void **state) {
    (void)state;
    blv_problem *problem = create(&kinds[8], BLV_F64, ranks);
    const blv_space *x = blv_problem_definition(problem)->space_x;
    const size_t here = blv_space_local_dim(x), all = blv_space_dim(x);
    if (ranks->count > 1 && ranks->rank == ranks->count - 1)
        assert_int_equal(here, 0);
    if (ranks->count > 1 && ranks->rank == 0)
        assert_true(here > all / (size_t)ranks->count);
    blv_problem_destroy(problem);
}

/* The whole call: auto, certificate, measures. */
static void test_solve(void **state) {
    (void)state;
    for (size_t k = 1; k < (ranks->count <= 2 ? 3 : 2); k++) {
        pair p = create_pair(&kinds[k], BLV_F64);
        blv_solution *a, *b;
        blv_message why;
        const blv_solve_options options = {.size = sizeof options, .tol = 1e-6};
        assert_int_equal(blv_solve(&a, p.one, &options, &why), BLV_OK);
        assert_int_equal(blv_solve(&b, p.spread, &options, &why), BLV_OK);
        assert_int_equal(a->certified, b->certified); /* the outcome may hang on rounding */
        if (!(fabs(a->phi - b->phi) <= 1e-5 * fabs(a->phi)))
            fail_msg("Phi is %.12g in one process and %.12g on ranks", a->phi, b->phi);
        blv_solution_destroy(a);
        blv_solution_destroy(b);
        destroy_pair(&p);
    }
}

/* Saved half way and loaded: the same bits. Rank 0 writes the file. */
static void test_checkpoint(void **state) {
    static const char *const solvers[] = {"soba", "saba", "mrbo"};
    char path[200];
    (void)state;
    snprintf(path, sizeof path, "mpi-checkpoint-%d.npz", ranks->count);
    blv_problem *problem = create(&kinds[2], BLV_F64, ranks);
    const blv_problem_def *def = blv_problem_definition(problem);
    for (size_t s = 0; s < 3; s++) {
        const blv_solver *solver = blv_solver_find(NULL, solvers[s], NULL);
        ending whole = finish(start(problem, solver, 20));
        blv_run *half = start(problem, solver, 10), *rest = start(problem, solver, 20);
        assert_int_equal(blv_run_solve(half), BLV_OK);
        assert_int_equal(blv_run_save(half, path), BLV_OK);
        blv_run_destroy(half);
        if (blv_run_load(rest, path) != BLV_OK)
            fail_msg("%s", blv_run_message(rest));
        ending again = finish(rest);
        assert_memory_equal(whole.x, again.x, def->dim_x * sizeof(double));
        assert_memory_equal(whole.y, again.y, def->dim_y * sizeof(double));
        free_ending(&whole);
        free_ending(&again);
    }
    /* what cannot be written or read, no rank gets */
    blv_run *run = start(problem, blv_solver_find(NULL, "soba", NULL), 5);
    assert_int_equal(blv_run_save(run, "/no/such/folder/file.npz"), BLV_E_FILE);
    assert_non_null(strstr(blv_run_message(run), "/no/such/folder"));
    assert_int_equal(blv_run_load(run, "no-such-file.npz"), BLV_E_FILE);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    if (ranks->rank == 0)
        unlink(path);
}

/* A monitor that sets its own interval, by a clock that each rank has for itself. */
typedef struct watched {
    blv_run *run;
    uint64_t calls;
} watched;

static int watch(void *context, const blv_progress *progress) {
    watched *w = context;
    (void)progress;
    w->calls++;
    blv_run_monitor(w->run, watch, w, 0, ranks->rank == 0 ? 1e-9 : 1e9);
    return 0;
}

/* Clocks: rank 0 has the word. Stops are taken from any rank. None waits for one that has left. */
static void test_limits(void **state) {
    (void)state;
    blv_problem *problem = create(&kinds[1], BLV_F64, ranks);
    const blv_solver *solver = blv_solver_find(NULL, "soba", NULL);
    blv_run *run = start(problem, solver, 1000000000);
    assert_int_equal(blv_run_set(run, "seconds", "0.05"), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    uint64_t first = blv_run_result(run)->iterations;
    assert_true(ranks->broadcast(ranks->context, 0, &first, sizeof first));
    assert_int_equal(first, blv_run_result(run)->iterations);
    blv_run_destroy(run);
    for (int rank = 0; rank < ranks->count; rank++) {
        run = start(problem, solver, 1000000000);
        if (ranks->rank == rank)
            blv_run_stop(run);
        assert_int_equal(blv_run_solve(run), BLV_OK);
        assert_int_equal(blv_run_result(run)->outcome, BLV_STOPPED_REQUEST);
        blv_run_destroy(run);
    }
    watched w = {.run = start(problem, solver, 50)};
    assert_int_equal(blv_run_monitor(w.run, watch, &w, 0, 1.0 + ranks->rank), BLV_OK);
    watch(&w, NULL);
    assert_int_equal(blv_run_solve(w.run), BLV_OK);
    assert_int_equal(blv_run_result(w.run)->outcome, BLV_LIMIT_ITERATIONS);
    assert_true(w.calls > 40); /* as often as rank 0 says */
    blv_run_destroy(w.run);
    blv_problem_destroy(problem);
}

/* ---- An oracle that fails on one rank only ---- */

typedef struct failing {
    int calls, last;
} failing;

/* f = g = mean over ranks of (y - x)^2/2; on the last rank the sixth call fails. */
static int fail_once(failing *f, const blv_vec *x, const blv_vec *y, double *value, blv_vec *to_x,
                     blv_vec *to_y) {
    const double off = blv_vec_at(y, 0) - blv_vec_at(x, 0);
    double sums[] = {0.5 * off * off / ranks->count, off / ranks->count};
    const bool fails = ++f->calls > 5 && ranks->rank == ranks->count - 1;
    const int code = blv_ranks_sum(ranks, fails ? -7 : 0, 2, sums);
    if (value)
        *value = sums[0];
    blv_vec_put(to_x, 0, -sums[1]);
    blv_vec_put(to_y, 0, sums[1]);
    return code;
}

static int failing_oracle(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                          double *value, blv_vec *to_x, blv_vec *to_y) {
    (void)batch;
    return fail_once(user, x, y, value, to_x, to_y);
}

static void test_failing_rank(void **state) {
    blv_space *space;
    blv_problem *problem;
    blv_run *run;
    blv_message why;
    failing f = {0};
    (void)state;
    assert_int_equal(blv_space_create_replicated(&space, ranks, 1, BLV_F64, 1), BLV_OK);
    const blv_problem_def def = {BLV_SIZED(blv_problem_def), .user = &f,
                                 .upper = failing_oracle,    .lower = failing_oracle,
                                 .space_x = space,           .space_y = space};
    assert_int_equal(blv_problem_create(&problem, &def, &why), BLV_OK);
    assert_int_equal(blv_run_create(&run, problem, blv_solver_find(NULL, "f2sa", &why), &why),
                     BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_run_result(run)->outcome, BLV_ORACLE_FAILED);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    blv_space_destroy(space);
}

/* Two such problems are not equal; the same one is, on any number of ranks. */
static void test_fingerprint(void **state) {
    (void)state;
    blv_problem *a = create(&kinds[2], BLV_F64, ranks), *b = create(&kinds[2], BLV_F64, ranks),
                *c = create(&kinds[3], BLV_F64, ranks);
    const uint64_t print = blv_problem_fingerprint(a);
    assert_true(print == blv_problem_fingerprint(b));
    assert_true(print != blv_problem_fingerprint(c));
    blv_problem_destroy(a);
    blv_problem_destroy(b);
    blv_problem_destroy(c);
}

static void test_refused(void **state) {
    (void)state;
    const blv_problem_options options = {.size = sizeof options, .threads = 1, .ranks = ranks};
    blv_problem *problem;
    blv_message why = {""};
    assert_int_equal(blv_problem_from_family(blv_family_find(NULL, "hyperclean-nn", &why),
                                             kinds[3].settings, &options, &problem, &why),
                     BLV_E_UNSUPPORTED);
    assert_non_null(strstr(why.text, "ranks"));
    assert_int_equal(blv_problem_from_family(blv_family_find(NULL, "parabola", &why), NULL,
                                             &options, &problem, &why),
                     BLV_E_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracles),      cmocka_unit_test(test_label_noise),
        cmocka_unit_test(test_check),        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_shares),       cmocka_unit_test(test_solve),
        cmocka_unit_test(test_checkpoint),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_failing_rank), cmocka_unit_test(test_fingerprint),
        cmocka_unit_test(test_refused),
    };
    blv_message why;
    if (blv_mpi_start(&ranks, &why) != BLV_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    blv_mpi_leave(ranks, failed, NULL);
    return failed;
}
