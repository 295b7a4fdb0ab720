/* The solver `auto`: that it ends by itself, at the right place, on problems of every kind that it
 * serves. Gradients of Phi come from LAPACK or from closed forms, not from the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "bilevel/checkpoint.h"
#include "blv_testing.h"

enum { DIM = 12 };

static blv_problem *make_quadratic(const char *kappa, const char *terms) {
    return make_problem("quadratic",
                        SETTINGS("dx", "12", "dy", "12", "kappa", kappa, "terms", terms));
}

static void start_at_random(blv_run *run, double scale) {
    assert_int_equal(blv_run_start_random(run, scale), BLV_OK);
}

/* |grad Phi| where the run is, of a quadratic. */
static double true_gradient(const blv_problem *problem, const blv_run *run) {
    double x[DIM], gradient[DIM];
    read_state(run, "x", x);
    quadratic_truth(problem, x, NULL, NULL, gradient);
    return dense_size(DIM, gradient);
}

static void expect_converged(blv_run *run) {
    solve_run(run);
    if (blv_run_result(run)->outcome != BLV_CONVERGED)
        fail_msg("%s", blv_run_message(run));
}

static blv_run *converge(const blv_problem *problem, const char *const *settings) {
    blv_run *run = make_run(problem, "auto", settings);
    expect_converged(run);
    return run;
}

/* ---- Smooth problems ---- */

static void test_quadratics(void **state) {
    static const char *const kappas[] = {"2", "100", "10000"}, *const terms[] = {"1", "2000"};
    (void)state;
    for (size_t i = 0; i < LENGTH(kappas) * LENGTH(terms); i++) {
        blv_problem *problem = make_quadratic(kappas[i / 2], terms[i % 2]);
        double best[DIM], x[DIM], phi, phi_best;
        quadratic_best_x(problem, best);
        quadratic_truth(problem, best, NULL, &phi_best, NULL);
        for (int seed = 0; seed < 2; seed++) {
            blv_run *run = make_run(problem, "auto", NULL);
            start_at_random(run, seed);
            double first = true_gradient(problem, run);
            expect_converged(run);
            read_state(run, "x", x);
            quadratic_truth(problem, x, NULL, &phi, NULL);
            assert_at_most(true_gradient(problem, run), 2e-6 * first);
            assert_near(phi, phi_best, 1e-10 * phi_best);
            assert_int_equal(has_note(run, "batches of 64 for"), i % 2 == 1);
            blv_run_destroy(run);
        }
        blv_problem_destroy(problem);
    }
}

static void test_tolerance(void **state) {
    static const char *const tols[] = {"1e-2", "1e-5", "1e-9"};
    (void)state;
    blv_problem *problem = make_quadratic("100", "1");
    for (size_t i = 0; i < LENGTH(tols); i++) {
        blv_run *run = converge(problem, SETTINGS("tol", tols[i]));
        assert_at_most(true_gradient(problem, run), atof(tols[i]));
        blv_run_destroy(run);
    }
    blv_problem_destroy(problem);
}

static void expect_one_answer(blv_problem *problem) {
    double first = NAN;
    for (int i = 0; i < 10; i++) {
        char seed[8];
        snprintf(seed, sizeof seed, "%d", i);
        blv_run *run = make_run(problem, "auto", SETTINGS("seed", seed));
        start_at_random(run, 1.0);
        expect_converged(run);
        double phi = certify_run(run).phi;
        first = i == 0 ? phi : first;
        assert_near(phi, first, 1e-9 * fabs(first));
        blv_run_destroy(run);
    }
    blv_problem_destroy(problem);
}

static void test_ten_starts(void **state) {
    (void)state;
    expect_one_answer(make_problem("pl-shift", SETTINGS("dim", "7")));
    expect_one_answer(make_quadratic("10000", "1"));
    expect_one_answer(make_quadratic("100", "2000"));
}

/* Against `exact`, which solves tightly everywhere. */
static void expect_no_worse_than_exact(blv_problem *problem) {
    blv_run *own = make_run(problem, "auto", SETTINGS("iters", "2000"));
    blv_run *exact = make_run(problem, "exact", SETTINGS("iters", "500"));
    solve_run(own);
    solve_run(exact);
    double phi = certify_run(exact).phi;
    assert_at_most(certify_run(own).phi, phi + 1e-6 * fabs(phi));
    assert_true(blv_run_result(own)->outcome == BLV_CONVERGED ||
                blv_run_result(own)->outcome == BLV_STALLED);
    blv_run_destroy(own);
    blv_run_destroy(exact);
    blv_problem_destroy(problem);
}

static void test_data_problems(void **state) {
    static const char rows[] = "auto_rows.svm";
    (void)state;
    FILE *file = fopen(rows, "w");
    assert_non_null(file);
    for (int i = 0; i < 90; i++)
        fprintf(file, "%d 1:%g 2:%g 3:%g\n", (i % 3 + (i % 11 == 0)) % 3, sin(i), 0.01 * i,
                i % 3 + cos(7.0 * i));
    fclose(file);
    const char *const *settings = SETTINGS("train", rows, "train_size", "60", "C", "0.1");
    expect_no_worse_than_exact(make_problem("hyperclean", settings));
    settings = SETTINGS("train", rows, "train_size", "60", "lo", "-6", "hi", "3");
    expect_no_worse_than_exact(make_problem("l2reg", settings));
    remove(rows);
    expect_no_worse_than_exact(
        make_problem("synthetic-logistic", SETTINGS("rows", "300", "columns", "4")));
}

static double measure_of(const blv_problem *problem, const blv_solution *solution,
                         const char *name) {
    const char *const *names = blv_problem_definition(problem)->measures;
    for (size_t i = 0; i < solution->measure_count; i++)
        if (strcmp(names[i], name) == 0)
            return solution->measures[i];
    return NAN;
}

/* At the random start of a network nothing that can be measured holds for the way to its end: steps
 * and the end must come from what is met there. A third of the labels is wrong. */
static void test_network(void **state) {
    static const char rows[] = "auto_network_rows.svm";
    (void)state;
    FILE *file = fopen(rows, "w");
    assert_non_null(file);
    for (int i = 0; i < 450; i++)
        fprintf(file, "%d 1:%g 2:%g 3:%g 4:%g\n", i % 3, sin(1.7 * i) + 2 * (i % 3 == 0),
                cos(2.3 * i) + 2 * (i % 3 == 1), sin(3.1 * i) + 2 * (i % 3 == 2), cos(0.9 * i));
    fclose(file);
    static const char *const seeds[] = {"0", "1", "2", "3", "4"};
    for (size_t i = 0; i < LENGTH(seeds); i++) {
        blv_problem *problem =
            make_problem("hyperclean-nn",
                         SETTINGS("train", rows, "train_size", "300", "val_size", "150", "scaling",
                                  "unit", "C", "0.001", "net", "mlp:in-8-out", "corrupt", "0.3",
                                  "data_seed", seeds[i], "net_seed", seeds[i]));
        const blv_solve_options options = {BLV_SIZED(blv_solve_options), .iters = 10000,
                                           .seed = (int64_t)i};
        blv_solution *solution = NULL;
        assert_int_equal(blv_solve(&solution, problem, &options, NULL), BLV_OK);
        assert_true(measure_of(problem, solution, "val_accuracy") > 0.95);
        assert_true(measure_of(problem, solution, "auroc_weight") > 0.95);
        blv_solution_destroy(solution);
        blv_problem_destroy(problem);
    }
    remove(rows);
}

/* A few rows: g is one batch, and so is f where the validation rows are few. Steps of z that ran
 * ahead of y took away the weight of all rows. A fifth of the labels is wrong. */
static void test_small_network(void **state) {
    static const char rows[] = "auto_small_rows.svm";
    static const char *const val_sizes[] = {"100", "60"};
    (void)state;
    FILE *file = fopen(rows, "w");
    assert_non_null(file);
    for (int i = 0; i < 160; i++) {
        double angle = 2.4 * i, radius = 1 + i % 2 + 0.1 * sin(1.7 * i);
        fprintf(file, "%d 1:%g 2:%g\n", i % 2, radius * cos(angle), radius * sin(angle));
    }
    fclose(file);
    for (size_t i = 0; i < LENGTH(val_sizes); i++) {
        blv_problem *problem = make_problem(
            "hyperclean-nn", SETTINGS("train", rows, "train_size", "60", "val_size", val_sizes[i],
                                      "C", "0.001", "net", "mlp:in-10-out", "corrupt", "0.2"));
        const blv_solve_options options = {BLV_SIZED(blv_solve_options), .iters = 10000};
        blv_solution *solution = NULL;
        assert_int_equal(blv_solve(&solution, problem, &options, NULL), BLV_OK);
        assert_true(measure_of(problem, solution, "val_accuracy") > 0.9);
        assert_true(measure_of(problem, solution, "auroc_weight") > 0.9);
        blv_solution_destroy(solution);
        blv_problem_destroy(problem);
    }
    remove(rows);
}

/* ---- Problems made from others: sets X, and gradients alone ---- */

static int into_box(void *user, blv_vec *x) {
    (void)user;
    for (size_t i = 0; i < blv_vec_dim(x); i++)
        blv_vec_put(x, i, fmin(fmax(blv_vec_at(x, i), -0.05), 0.1));
    return 0;
}

/* Onto the simplex: x - t, cut at 0, with the t that makes the sum 1, by bisection. */
static int into_simplex(void *user, blv_vec *x) {
    double low = -10.0, high = 10.0;
    (void)user;
    for (int k = 0; k < 100; k++) {
        double sum = 0.0, t = 0.5 * (low + high);
        for (size_t i = 0; i < blv_vec_dim(x); i++)
            sum += fmax(blv_vec_at(x, i) - t, 0.0);
        *(sum > 1.0 ? &low : &high) = t;
    }
    for (size_t i = 0; i < blv_vec_dim(x); i++)
        blv_vec_put(x, i, fmax(blv_vec_at(x, i) - high, 0.0));
    return 0;
}

static blv_problem *like(const blv_problem *base, blv_project_fn project, bool gradients_only) {
    blv_problem_def def = *blv_problem_definition(base);
    blv_problem *problem = NULL;
    def.project_x = project;
    def.known_solution = NULL;
    def.start = NULL;
    def.free_user = NULL;
    if (gradients_only) {
        def.lower_hvp = NULL;
        def.lower_cross = NULL;
        def.lower_all = NULL;
        def.lower_hessian_matrix = NULL;
        def.lower_cross_matrix = NULL;
    }
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    return problem;
}

static void test_sets(void **state) {
    static const blv_project_fn sets[] = {into_box, into_simplex};
    (void)state;
    blv_problem *base = make_quadratic("100", "1");
    for (size_t i = 0; i < LENGTH(sets); i++) {
        blv_problem *problem = like(base, sets[i], false);
        blv_run *run = converge(problem, NULL);
        double x[DIM], gradient[DIM], moved[DIM];
        blv_vec *v = NULL;
        read_state(run, "x", x);
        quadratic_truth(base, x, NULL, NULL, gradient);
        assert_int_equal(blv_vec_create(&v, blv_problem_definition(base)->space_x), BLV_OK);
        for (size_t j = 0; j < DIM; j++)
            moved[j] = x[j] - gradient[j];
        blv_vec_write(v, moved);
        sets[i](NULL, v);
        blv_vec_read(v, moved);
        assert_at_most(dense_gap(DIM, x, moved), 1e-6);
        assert_true(dense_size(DIM, gradient) > 1e-3); /* the set does matter */
        blv_vec_destroy(v);
        blv_run_destroy(run);
        blv_problem_destroy(problem);
    }
    blv_problem_destroy(base);
}

static void test_gradients_only(void **state) {
    (void)state;
    blv_problem *base = make_quadratic("100", "1"), *problem = like(base, NULL, true);
    blv_run *run = make_run(problem, "auto", NULL);
    double first = true_gradient(base, run);
    expect_converged(run);
    assert_at_most(true_gradient(base, run), 1e-5 * first);
    assert_true(has_note(run, "Hv by central differences"));
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    blv_problem_destroy(base);
}

/* ---- Lower levels that are not strongly convex ---- */

/* g = (y1 + y2 - x)^2/2 and f = ((x - 1)^2 + (y1 - y2)^2)/2: a minimum of 0 at x = 1, y = (1, 1)/2,
 * from a start with y1 != y2. Nothing says that d2g/dy2 is singular. */
static int flat_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      double *f, blv_vec *fx, blv_vec *fy) {
    double a = blv_vec_at(x, 0) - 1.0, b = blv_vec_at(y, 0) - blv_vec_at(y, 1);
    (void)user, (void)batch;
    if (f)
        *f = 0.5 * (a * a + b * b);
    blv_vec_put(fx, 0, a);
    blv_vec_put(fy, 0, b);
    blv_vec_put(fy, 1, -b);
    return 0;
}

static int flat_lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      double *g, blv_vec *gx, blv_vec *gy) {
    double a = blv_vec_at(y, 0) + blv_vec_at(y, 1) - blv_vec_at(x, 0);
    (void)user, (void)batch;
    if (g)
        *g = 0.5 * a * a;
    blv_vec_put(gx, 0, -a);
    blv_vec_put(gy, 0, a);
    blv_vec_put(gy, 1, a);
    return 0;
}

static int flat_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                    const blv_vec *v, blv_vec *hv) {
    double sum = blv_vec_at(v, 0) + blv_vec_at(v, 1);
    (void)user, (void)batch, (void)x, (void)y;
    blv_vec_put(hv, 0, sum);
    blv_vec_put(hv, 1, sum);
    return 0;
}

static int flat_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, blv_vec *jv) {
    (void)user, (void)batch, (void)x, (void)y;
    blv_vec_put(jv, 0, -blv_vec_at(v, 0) - blv_vec_at(v, 1));
    return 0;
}

static void test_flat_lower_level(void **state) {
    (void)state;
    const blv_problem_def def = {
        BLV_SIZED(blv_problem_def), .dim_x = 1,          .dim_y = 2,
        .upper = flat_upper,        .lower = flat_lower, .lower_hvp = flat_hvp,
        .lower_cross = flat_cross};
    blv_problem *problem = NULL;
    double x, y[2] = {0.7, -0.1};
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    blv_run *run = make_run(problem, "auto", NULL);
    write_state(run, "y", y);
    solve_run(run);
    read_state(run, "x", &x);
    read_state(run, "y", y);
    assert_near(x, 1.0, 1e-3);
    assert_near(y[0], 0.5, 1e-3);
    assert_near(y[1], 0.5, 1e-3);
    assert_true(has_note(run, "gradients alone from here on, by ragd-gs"));
    assert_true(blv_run_result(run)->outcome != BLV_LIMIT_ITERATIONS);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_declared_singular(void **state) {
    (void)state;
    double x;
    blv_problem *problem = make_problem("non-singleton", NULL);
    blv_run *run = make_run(problem, "auto", NULL);
    solve_run(run);
    assert_int_equal(blv_run_result(run)->outcome, BLV_UNCERTIFIED);
    read_state(run, "x", &x);
    assert_near(x, 1.0, 1e-4);
    assert_true(has_note(run, "many minimizers"));
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* f = -x falls for ever, so that no doubling of the steps leaves it as it is. */
static int falling_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                         double *f, blv_vec *fx, blv_vec *fy) {
    (void)user, (void)batch, (void)y;
    if (f)
        *f = -blv_vec_at(x, 0);
    blv_vec_put(fx, 0, -1.0);
    if (fy)
        blv_vec_fill(fy, 0.0);
    return 0;
}

static void test_end_on_networks(void **state) {
    (void)state;
    const blv_problem_def def = {
        BLV_SIZED(blv_problem_def), .dim_x = 1,          .dim_y = 2,
        .upper = falling_upper,     .lower = flat_lower, .many_minimizers = true};
    blv_problem *problem = NULL;
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    blv_run *run = make_run(problem, "auto", SETTINGS("iters", "200000"));
    solve_run(run);
    assert_int_equal(blv_run_result(run)->outcome, BLV_STALLED);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* ---- The same bits ---- */

typedef struct image {
    unsigned char bytes[1 << 22];
    size_t size;
} image;

static int add_bytes(void *context, const void *bytes, size_t count) {
    image *to = context;
    if (to->size + count > sizeof to->bytes)
        return 1;
    memcpy(to->bytes + to->size, bytes, count);
    to->size += count;
    return 0;
}

static void expect_same_end(const blv_run *a, const blv_run *b) {
    double of_a[DIM], of_b[DIM];
    assert_int_equal(blv_run_result(a)->iterations, blv_run_result(b)->iterations);
    for (int level = 0; level < 2; level++) {
        read_state(a, level ? "y" : "x", of_a);
        read_state(b, level ? "y" : "x", of_b);
        assert_memory_equal(of_a, of_b, sizeof of_a);
    }
    assert_memory_equal(&blv_run_result(a)->counts, &blv_run_result(b)->counts, sizeof(blv_counts));
}

/* Saved on batches, at the turn to whole sums, and on those; and a run on two threads. */
static void test_same_bits(void **state) {
    static image saved;
    (void)state;
    blv_problem *problem = make_quadratic("300", "3000");
    blv_problem *other = make_problem_as(
        "quadratic", SETTINGS("dx", "12", "dy", "12", "kappa", "300", "terms", "3000"), BLV_F64, 2);
    blv_run *whole = converge(problem, NULL), *on_two = converge(other, NULL);
    uint64_t end = blv_run_result(whole)->iterations;
    const uint64_t at[] = {40, end - 3, end - 1};
    expect_same_end(whole, on_two);
    for (size_t i = 0; i < LENGTH(at); i++) {
        blv_run *first = make_run(problem, "auto", NULL), *second = make_run(problem, "auto", NULL);
        for (uint64_t k = 0; k < at[i]; k++)
            step_run(first);
        saved.size = 0;
        assert_int_equal(blv_run_save_to(first, add_bytes, &saved), BLV_OK);
        if (blv_run_load_from(second, saved.bytes, saved.size) != BLV_OK)
            fail_msg("%s", blv_run_message(second));
        expect_converged(second);
        expect_same_end(whole, second);
        blv_run_destroy(first);
        blv_run_destroy(second);
    }
    blv_run_destroy(whole);
    blv_run_destroy(on_two);
    blv_problem_destroy(problem);
    blv_problem_destroy(other);
}

/* ---- Batches that run off ---- */

/* Batches say that f falls with y for ever; the whole sum is (y - 1)^2/2, and has no value beyond
 * y = 10. What batches do must not decide where the run ends. */
static int misleading_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                            double *f, blv_vec *fx, blv_vec *fy) {
    double at = blv_vec_at(y, 0);
    (void)user, (void)x;
    if (f)
        *f = at > 10.0 ? (double)NAN : 0.5 * (at - 1.0) * (at - 1.0);
    if (fx)
        blv_vec_fill(fx, 0.0);
    if (fy)
        blv_vec_fill(fy, batch ? -100.0 : at - 1.0);
    return 0;
}

static int follower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                    double *g, blv_vec *gx, blv_vec *gy) {
    double apart = blv_vec_at(y, 0) - blv_vec_at(x, 0);
    (void)user, (void)batch;
    if (g)
        *g = 0.5 * apart * apart;
    if (gx)
        blv_vec_fill(gx, -apart);
    if (gy)
        blv_vec_fill(gy, apart);
    return 0;
}

static void test_batches_run_off(void **state) {
    (void)state;
    blv_problem *problem;
    const blv_problem_def def = {
        BLV_SIZED(blv_problem_def), .dim_x = 1,        .dim_y = 1,
        .upper = misleading_upper,  .lower = follower, .upper_samples = 2000,
        .lower_samples = 2000};
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    blv_run *run = converge(problem, NULL);
    double x;
    read_state(run, "x", &x);
    assert_true(fabs(x - 1.0) < 1e-5);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quadratics),        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_ten_starts),        cmocka_unit_test(test_data_problems),
        cmocka_unit_test(test_network),           cmocka_unit_test(test_small_network),
        cmocka_unit_test(test_end_on_networks),   cmocka_unit_test(test_sets),
        cmocka_unit_test(test_gradients_only),    cmocka_unit_test(test_flat_lower_level),
        cmocka_unit_test(test_declared_singular), cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_batches_run_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
