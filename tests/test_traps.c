/* Mistakes that have been seen in implementations of bilevel methods: one test for each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blv_testing.h"
#include "linsolve/operator.h"

#include <stdio.h>
#include <unistd.h>

/* ---- A CG that returns the iterate before the converged one ---- */

enum { N = 6 };

/* A = 2 I + (i + j mod 3 on the off-diagonals)/10, diagonally dominant. */
static double entry(size_t i, size_t j) {
    return i == j ? 2.0 : (double)((i + j) % 3) / 10.0;
}

static int apply(void *context, const blv_vec *in, blv_vec *out) {
    (void)context;
    for (size_t i = 0; i < N; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < N; j++)
            sum += entry(i, j) * blv_vec_at(in, j);
        blv_vec_put(out, i, sum);
    }
    return 0;
}

static double residual_of(const blv_vec *x, const blv_vec *b) {
    double square = 0.0;
    for (size_t i = 0; i < N; i++) {
        double r = blv_vec_at(b, i);
        for (size_t j = 0; j < N; j++)
            r -= entry(i, j) * blv_vec_at(x, j);
        square += r * r;
    }
    return sqrt(square);
}

static void test_cg_returns_the_converged_iterate(void **state) {
    (void)state;
    blv_space *space;
    blv_vec *b, *x;
    blv_linear_work *cg;
    assert_int_equal(blv_space_create_host(&space, N, BLV_F64, 1), BLV_OK);
    assert_int_equal(blv_vec_create(&b, space), BLV_OK);
    assert_int_equal(blv_vec_create(&x, space), BLV_OK);
    assert_int_equal(blv_linear_work_create(&cg, space, BLV_CG_VECTORS), BLV_OK);
    for (size_t i = 0; i < N; i++)
        blv_vec_put(b, i, 1.0 + (double)(i * i));
    static const double tolerances[] = {1e1, 1e-1, 1e-4, 1e-9};
    for (size_t k = 0; k < 4; k++) {
        blv_linear_result r = blv_cg_solve(cg, apply, NULL, b, x, true, tolerances[k], 100);
        assert_int_equal(r.end, BLV_LINEAR_CONVERGED);
        assert_at_most(residual_of(x, b), tolerances[k] * (1.0 + 1e-9));
        assert_near(residual_of(x, b), r.residual, 1e-12);
        /* one product less is not enough, so the last one did matter */
        r = blv_cg_solve(cg, apply, NULL, b, x, true, tolerances[k], r.products - 1);
        assert_true(residual_of(x, b) > tolerances[k]);
    }
    blv_linear_work_destroy(cg);
    blv_vec_destroy(b);
    blv_vec_destroy(x);
    blv_space_destroy(space);
}

/* ---- Hyper-cleaning ---- */

enum { ROWS = 29 };
static char rows_path[64];

static void remove_rows(void) {
    remove(rows_path);
}

/* Three classes, rows all different. */
static blv_problem *make_cleaning(const char *corrupt, const char *layout) {
    if (!rows_path[0]) {
        snprintf(rows_path, sizeof rows_path, "traps_%ld.svm", (long)getpid());
        FILE *file = fopen(rows_path, "w");
        assert_non_null(file);
        for (int i = 0; i < ROWS; i++)
            fprintf(file, "%d 1:%g 2:%g 3:%g\n", i % 3, 0.1 * i - 1.0, (double)(i % 5) - 2.0,
                    i % 2 ? 0.3 : -0.7);
        assert_int_equal(fclose(file), 0);
        atexit(remove_rows);
    }
    return make_problem("hyperclean", SETTINGS("train", rows_path, "val", rows_path, "order",
                                               "file", "corrupt", corrupt, "layout", layout));
}

typedef struct cleaning {
    const blv_problem_def *def;
    blv_vec *x, *y, *gx;
} cleaning;

static cleaning open_cleaning(const blv_problem *p) {
    cleaning c = {.def = blv_problem_definition(p)};
    assert_int_equal(c.def->dim_x, ROWS);
    assert_int_equal(blv_vec_create(&c.x, c.def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&c.gx, c.def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&c.y, c.def->space_y), BLV_OK);
    for (size_t i = 0; i < c.def->dim_y; i++)
        blv_vec_put(c.y, i, sin(1.0 + (double)(i * i)));
    return c;
}

static void close_cleaning(cleaning *c) {
    blv_vec_destroy(c->x);
    blv_vec_destroy(c->gx);
    blv_vec_destroy(c->y);
}

static double ridge_of(const cleaning *c) {
    double norm = blv_vec_norm(c->y);
    return 0.001 * norm * norm;
}

/* The loss of each row: twice g on that row alone with weight sigmoid(0) = 1/2. */
static void row_losses(cleaning *c, double *loss) {
    blv_vec_fill(c->x, 0.0);
    for (size_t i = 0; i < ROWS; i++) {
        double g;
        const blv_batch one = {.first = i, .count = 1};
        assert_int_equal(c->def->lower(c->def->user, &one, c->x, c->y, &g, NULL, NULL), 0);
        loss[i] = 2.0 * (g - ridge_of(c));
    }
}

static void check_weights(cleaning *c, const double *loss, const blv_batch *batch) {
    double g, expected = 0.0, gx[ROWS] = {0.0};
    for (size_t k = 0; k < batch->count; k++) {
        size_t i = batch->index ? batch->index[k] : batch->first + k;
        double w = 1.0 / (1.0 + exp(-blv_vec_at(c->x, i)));
        expected += w * loss[i] / (double)batch->count;
        gx[i] += w * (1.0 - w) * loss[i] / (double)batch->count;
    }
    assert_int_equal(c->def->lower(c->def->user, batch, c->x, c->y, &g, c->gx, NULL), 0);
    assert_near(g - ridge_of(c), expected, 1e-12);
    for (size_t i = 0; i < ROWS; i++)
        assert_near(blv_vec_at(c->gx, i), gx[i], 1e-12);
}

static void test_weights_belong_to_the_sampled_rows(void **state) {
    (void)state;
    static const char *const layouts[] = {"dense", "sparse"};
    static const size_t lists[][4] = {{3, 17, 5, 28}, {28, 0, 14, 1}, {9, 9, 2, 9}};
    for (size_t l = 0; l < 2; l++) {
        blv_problem *p = make_cleaning("0", layouts[l]);
        cleaning c = open_cleaning(p);
        double loss[ROWS];
        row_losses(&c, loss);
        for (size_t i = 0; i < ROWS; i++)
            blv_vec_put(c.x, i, 0.3 * (double)i - 4.0);
        for (size_t k = 0; k < 3; k++)
            check_weights(&c, loss, &(blv_batch){.count = 4, .index = lists[k]});
        check_weights(&c, loss, &(blv_batch){.first = 7, .count = 12});
        check_weights(&c, loss, &(blv_batch){.first = 0, .count = ROWS});
        close_cleaning(&c);
        blv_problem_destroy(p);
    }
}

/* Labels show in the losses. The corrupted ones are so many and no others, at the first access and
 * after a hundred, and in another problem of the same seed. */
static void test_corruption_is_drawn_once(void **state) {
    (void)state;
    blv_problem *plain = make_cleaning("0", "dense"), *p = make_cleaning("0.4", "dense"),
                *again = make_cleaning("0.4", "dense");
    cleaning clean = open_cleaning(plain), c = open_cleaning(p), other = open_cleaning(again);
    double before[ROWS], first[ROWS], later[ROWS], elsewhere[ROWS], g;
    row_losses(&clean, before);
    row_losses(&c, first);
    for (int k = 0; k < 100; k++)
        assert_int_equal(c.def->lower(c.def->user, NULL, c.x, c.y, &g, NULL, NULL), 0);
    row_losses(&c, later);
    row_losses(&other, elsewhere);
    size_t changed = 0;
    for (size_t i = 0; i < ROWS; i++)
        changed += fabs(first[i] - before[i]) > 1e-9;
    assert_int_equal(changed, 12); /* 0.4 of 29, rounded */
    assert_memory_equal(first, later, sizeof first);
    assert_memory_equal(first, elsewhere, sizeof first);
    cleaning *const all[] = {&clean, &c, &other};
    for (size_t i = 0; i < 3; i++)
        close_cleaning(all[i]);
    blv_problem_destroy(plain);
    blv_problem_destroy(p);
    blv_problem_destroy(again);
}

/* ---- Samplers, as a run uses them ---- */

enum { TERMS_MAX = 25, BATCH = 5, BLOCKS = 5 };

/* Batches of 5: in every epoch each sample once, for f and for g; of 25 samples with blocks, which
 * are all full, and of 23 in a shuffle, whose last batch is shorter. */
static void test_an_epoch_has_every_sample_once(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "shuffle"}, *const terms[] = {"25", "23"};
    for (size_t k = 0; k < 2; k++) {
        blv_problem *inner =
            make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", terms[k]));
        spy watch;
        blv_problem *watched = spy_on(&watch, inner, 0);
        watch.record = true;
        blv_run *run = make_run(watched, "soba",
                                SETTINGS("batch", "5", "sampler", samplers[k], "step_x", "0.01",
                                         "step_y", "0.001", "step_v", "0.001"));
        for (int epoch = 0; epoch < 4; epoch++) {
            size_t seen[2][TERMS_MAX] = {{0}};
            spy_forget(&watch);
            for (int i = 0; i < BLOCKS; i++)
                step_run(run);
            for (size_t i = 0; i < watch.size; i++)
                for (size_t j = 0; j < watch.calls[i].count; j++)
                    seen[watch.calls[i].kind == 'u'][watch.calls[i].index[j]]++;
            for (size_t i = 0; i < (k ? 23 : 25); i++)
                assert_true(seen[0][i] == 1 && seen[1][i] == 1);
        }
        blv_run_destroy(run);
        blv_problem_destroy(watched);
        blv_problem_destroy(inner);
        spy_free(&watch);
    }
}

/* The samples of the first epoch do not come in the order of the file, for any seed; where they are
 * in random order already, the blocks do not. */
static void test_the_first_epoch_is_shuffled(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "shuffle"}, *const seeds[] = {"0", "1", "2"};
    for (int shuffled = 0; shuffled < 2; shuffled++)
        for (size_t k = 0; k < 6; k++) {
            blv_problem *inner =
                make_problem("quadratic", SETTINGS("dx", "2", "dy", "2", "terms", "100"));
            spy watch;
            blv_problem *watched = spy_on(&watch, inner, 0), *marked = NULL;
            blv_problem_def def = *blv_problem_definition(watched);
            def.shuffled = shuffled;
            assert_int_equal(blv_problem_create(&marked, &def, NULL), BLV_OK);
            watch.record = true;
            blv_run *run =
                make_run(marked, "soba",
                         SETTINGS("batch", "5", "sampler", samplers[k % 2], "seed", seeds[k / 2],
                                  "step_x", "0.01", "step_y", "0.001", "step_v", "0.001"));
            size_t next = 0, in_order = 0;
            for (int i = 0; i < 20; i++)
                step_run(run);
            for (size_t i = 0; i < watch.size; i++)
                for (size_t j = 0; watch.calls[i].kind != 'u' && j < watch.calls[i].count; j++)
                    in_order += watch.calls[i].index[j] == next++;
            assert_int_equal(next, 100);
            assert_true(in_order < 50);
            blv_run_destroy(run);
            blv_problem_destroy(marked);
            blv_problem_destroy(watched);
            blv_problem_destroy(inner);
            spy_free(&watch);
        }
}

/* ---- Neumann sums that miss the first term ---- */

/* With one unknown h = H: eta sum_{q=0..K} (1 - eta h)^q = (1 - (1 - eta h)^(K+1)) / h. */
static void test_neumann_sums_have_their_first_term(void **state) {
    (void)state;
    static const char *const terms[] = {"0", "1", "2", "9"};
    for (size_t k = 0; k < 4; k++) {
        blv_problem *p = make_problem(
            "quadratic", SETTINGS("dx", "2", "dy", "1", "kappa", "1", "eigen_min", "1.7"));
        blv_run *run = make_run(p, "aid-neumann",
                                SETTINGS("step_x", "0.1", "step_y", "0.5", "eta", "0.2", "linear",
                                         terms[k], "inner", "2"));
        double y, v, h = 1.7;
        step_run(run);
        read_state(run, "y", &y);
        read_state(run, "v", &v);
        double fy = y - *array_of(p, "b"), K = strtod(terms[k], NULL);
        assert_true(fabs(fy) > 1e-3);
        assert_near(v, (1.0 - pow(1.0 - 0.2 * h, K + 1.0)) / h * fy, 1e-14);
        blv_run_destroy(run);
        blv_problem_destroy(p);
    }
}

/* ---- Schedules that restart every epoch ---- */

/* Five batches are an epoch; the step of iteration t is that of t, not of its place in the epoch.
 */
static void test_schedules_go_on_over_epochs(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", "23"));
    blv_run *run = make_run(p, "soba",
                            SETTINGS("batch", "5", "step_x", "0.01", "step_y", "0.002", "step_v",
                                     "0.003", "decay", "0.5"));
    for (int t = 0; t < 4 * BLOCKS + 3; t++) {
        step_run(run);
        const blv_metrics *m = &blv_run_result(run)->metrics;
        double factor = 1.0 / sqrt((double)t + 1.0);
        assert_near(m->step_x, 0.01 * factor, 1e-15);
        assert_near(m->step_y, 0.002 * factor, 1e-15);
        assert_near(m->step_v, 0.003 * factor, 1e-15);
    }
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

/* The same for a schedule of inner steps: ba-cg takes ceil((k+1)^(1/4)) of them. */
static void test_inner_steps_go_on_over_epochs(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", "23"));
    blv_run *run = make_run(
        p, "ba-cg", SETTINGS("batch", "5", "step_x", "0.01", "step_y", "0.002", "sampler", "iid"));
    uint64_t expected = 0;
    for (int k = 0; k < 100; k++) {
        step_run(run);
        expected += k == 0 ? 1 : k < 16 ? 2 : k < 81 ? 3 : 4;
        assert_int_equal(blv_run_result(run)->counts.g_grad, BATCH * expected);
    }
    blv_run_destroy(run);
    blv_problem_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cg_returns_the_converged_iterate),
        cmocka_unit_test(test_weights_belong_to_the_sampled_rows),
        cmocka_unit_test(test_corruption_is_drawn_once),
        cmocka_unit_test(test_an_epoch_has_every_sample_once),
        cmocka_unit_test(test_the_first_epoch_is_shuffled),
        cmocka_unit_test(test_neumann_sums_have_their_first_term),
        cmocka_unit_test(test_schedules_go_on_over_epochs),
        cmocka_unit_test(test_inner_steps_go_on_over_epochs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
