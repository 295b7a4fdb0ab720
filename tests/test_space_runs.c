/* Runs on a space that stands for a device: how often they wait for it, what they do when it fails,
 * and how they keep to another process's word. */
#include "counting_space.h"
#include "space_conformance.h"

#include "bilevel/registry.h"
#include "bilevel/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { DX = 3, DY = 5 };

/* f = |y - 1|^2/2 + |x|^2/20,  g = sum_i (1 + i/2) y_i^2/2 - sum_i y_i x_(i mod 3) */

static double curvature(size_t i) {
    return 1.0 + 0.5 * (double)i;
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    (void)user;
    (void)batch;
    const double *a = counting_elements(x), *b = counting_elements(y);
    double *da = counting_elements(fx), *db = counting_elements(fy), value = 0.0;
    for (size_t i = 0; i < DX; i++) {
        value += 0.05 * a[i] * a[i];
        if (da)
            da[i] = 0.1 * a[i];
    }
    for (size_t i = 0; i < DY; i++) {
        value += 0.5 * (b[i] - 1.0) * (b[i] - 1.0);
        if (db)
            db[i] = b[i] - 1.0;
    }
    if (f)
        *f = value;
    return 0;
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    (void)user;
    (void)batch;
    const double *a = counting_elements(x), *b = counting_elements(y);
    double *da = counting_elements(gx), *db = counting_elements(gy), value = 0.0;
    for (size_t i = 0; da && i < DX; i++)
        da[i] = 0.0;
    for (size_t i = 0; i < DY; i++) {
        value += 0.5 * curvature(i) * b[i] * b[i] - b[i] * a[i % DX];
        if (da)
            da[i % DX] -= b[i];
        if (db)
            db[i] = curvature(i) * b[i] - a[i % DX];
    }
    if (g)
        *g = value;
    return 0;
}

static int hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
               const blv_vec *v, blv_vec *hv) {
    (void)user, (void)batch, (void)x, (void)y;
    for (size_t i = 0; i < DY; i++)
        counting_elements(hv)[i] = curvature(i) * counting_elements(v)[i];
    return 0;
}

static int cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                 const blv_vec *v, blv_vec *jv) {
    (void)user, (void)batch, (void)x, (void)y;
    for (size_t i = 0; i < DX; i++)
        counting_elements(jv)[i] = 0.0;
    for (size_t i = 0; i < DY; i++)
        counting_elements(jv)[i % DX] -= counting_elements(v)[i];
    return 0;
}

typedef struct fixture {
    counting counts;
    blv_space_ops ops;
    blv_space *x, *y;
    blv_problem *problem;
    blv_run *run;
} fixture;

static void open_fixture(fixture *f, bool agrees, const char *solver, const char *const *settings) {
    *f = (fixture){.ops = counting_ops(agrees)};
    assert_int_equal(blv_space_create(&f->x, &f->ops, DX, BLV_F64, &f->counts), BLV_OK);
    assert_int_equal(blv_space_create(&f->y, &f->ops, DY, BLV_F64, &f->counts), BLV_OK);
    const blv_problem_def def = {
        BLV_SIZED(blv_problem_def), .upper = upper,  .lower = lower, .lower_hvp = hvp,
        .lower_cross = cross,       .space_x = f->x, .space_y = f->y};
    assert_int_equal(blv_problem_create(&f->problem, &def, NULL), BLV_OK);
    blv_message why = {""};
    if (blv_run_create(&f->run, f->problem, blv_solver_find(NULL, solver, NULL), &why) != BLV_OK)
        fail_msg("%s: %s", solver, why.text);
    for (size_t i = 0; settings && settings[i]; i += 2)
        if (blv_run_set(f->run, settings[i], settings[i + 1]) != BLV_OK)
            fail_msg("%s: %s", solver, blv_run_message(f->run));
}

static void close_fixture(fixture *f) {
    blv_run_destroy(f->run);
    blv_problem_destroy(f->problem);
    blv_space_destroy(f->x);
    blv_space_destroy(f->y);
    assert_int_equal(f->counts.vectors.live, 0);
}

static void assert_finite(const blv_run *run) {
    double x[DX], y[DY];
    assert_int_equal(blv_run_read(run, "x", x), BLV_OK);
    assert_int_equal(blv_run_read(run, "y", y), BLV_OK);
    for (size_t i = 0; i < DX; i++)
        assert_true(isfinite(x[i]));
    for (size_t i = 0; i < DY; i++)
        assert_true(isfinite(y[i]));
}

static void test_it_conforms(void **state) {
    (void)state;
    counting counts = {.waits = 0};
    const blv_space_ops ops = counting_ops(false);
    blv_space *space, *other;
    assert_int_equal(blv_space_create(&space, &ops, 17, BLV_F64, &counts), BLV_OK);
    assert_int_equal(blv_space_create(&other, &ops, 4, BLV_F64, &counts), BLV_OK);
    space_conformance(space, other);
    blv_space_destroy(space);
    blv_space_destroy(other);
}

/* ---- How often a step waits ---- */

static size_t waits_of(const char *solver, const char *const *settings, const char *iters) {
    fixture f;
    open_fixture(&f, false, solver, settings);
    assert_int_equal(blv_run_set(f.run, "iters", iters), BLV_OK);
    assert_int_equal(blv_run_solve(f.run), BLV_OK);
    assert_int_equal(blv_run_result(f.run)->outcome, BLV_LIMIT_ITERATIONS);
    size_t waits = f.counts.waits;
    assert_finite(f.run);
    close_fixture(&f);
    return waits;
}

static void test_steps_wait_once(void **state) {
    (void)state;
    static const char *const fixed[] = {"step_x", "0.05", "step_y", "0.1", "step_v", "0.1", NULL};
    assert_int_equal(waits_of("s-tfbo", NULL, "30") - waits_of("s-tfbo", NULL, "10"), 20);
    assert_int_equal(waits_of("soba", fixed, "30") - waits_of("soba", fixed, "10"), 20);
    size_t automatic = waits_of("soba", NULL, "30") - waits_of("soba", NULL, "10");
    assert_true(automatic <= 40);
    static const char *const scaled[] = {"scale", "auto", NULL};
    automatic = waits_of("s-tfbo", scaled, "30") - waits_of("s-tfbo", scaled, "10");
    assert_true(automatic <= 40);
}

/* ---- Moves that are not finite ---- */

static void test_bad_moves_are_undone(void **state) {
    (void)state;
    static const char *const wild[] = {"step_x", "1e200", "step_y", "1e200",
                                       "step_v", "1e200", NULL};
    static const char *const names[] = {"soba", "aid-fp", "bcsr", "fsla"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fixture f;
        open_fixture(&f, false, names[i], wild);
        assert_int_equal(blv_run_solve(f.run), BLV_OK);
        const blv_result *result = blv_run_result(f.run);
        assert_int_equal(result->outcome, BLV_DIVERGED);
        char expected[80];
        snprintf(expected, sizeof expected, "diverged in iteration %llu",
                 (unsigned long long)result->iterations + 1);
        if (!strstr(blv_run_message(f.run), expected))
            fail_msg("%s: %s", names[i], blv_run_message(f.run));
        assert_finite(f.run);
        close_fixture(&f);
    }
}

/* Stepping one by one, nothing that is not finite is ever seen. */
static void test_steps_show_finite_iterates(void **state) {
    (void)state;
    static const char *const wild[] = {"step_x", "1e60", "step_y", "1e60", "step_v", "1e60", NULL};
    fixture f;
    open_fixture(&f, false, "soba", wild);
    for (int k = 0; k < 20; k++) {
        assert_int_equal(blv_run_step(f.run), BLV_OK);
        assert_finite(f.run);
    }
    assert_int_equal(blv_run_result(f.run)->outcome, BLV_DIVERGED);
    close_fixture(&f);
}

/* ---- Failures of the device ---- */

static void test_failures_end_the_run(void **state) {
    (void)state;
    for (size_t at = 1; at <= 12; at++) {
        fixture f;
        open_fixture(&f, false, "s-tfbo", NULL);
        assert_int_equal(blv_run_set(f.run, "iters", "20"), BLV_OK);
        f.counts.fails_at = f.counts.waits + at;
        assert_int_equal(blv_run_solve(f.run), BLV_E_DEVICE);
        assert_int_equal(blv_run_result(f.run)->outcome, BLV_ORACLE_FAILED);
        assert_true(blv_run_result(f.run)->iterations < 20);
        assert_non_null(strstr(blv_run_message(f.run), "the device was lost"));
        assert_int_equal(blv_run_step(f.run), BLV_E_DEVICE);
        close_fixture(&f);
    }
}

static void test_the_first_failure_stays(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, false, "s-tfbo", NULL);
    blv_message why;
    blv_space_fail(f.x, BLV_OK, "nothing");
    assert_int_equal(blv_space_error(f.x, &why), BLV_OK);
    blv_space_fail(f.x, BLV_E_DEVICE, "first %d", 1);
    blv_space_fail(f.x, BLV_E_MEMORY, "second");
    assert_int_equal(blv_space_error(f.x, &why), BLV_E_DEVICE);
    assert_string_equal(why.text, "first 1");
    assert_int_equal(blv_space_error(f.y, NULL), BLV_OK);
    assert_int_equal(blv_space_error(NULL, NULL), BLV_E_ARGUMENT);
    close_fixture(&f);
}

/* ---- Several processes ---- */

static int never(void *context, const blv_progress *progress) {
    (void)progress;
    ++*(int *)context;
    return 0;
}

static void test_the_others_word_counts(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, true, "soba", NULL);
    assert_int_equal(blv_run_set(f.run, "iters", "40"), BLV_OK);
    assert_int_equal(blv_run_set(f.run, "seconds", "100"), BLV_OK);
    assert_int_equal(blv_run_solve(f.run), BLV_OK);
    assert_int_equal(blv_run_result(f.run)->outcome, BLV_LIMIT_ITERATIONS);
    assert_true(f.counts.agreed > 40);
    close_fixture(&f);

    open_fixture(&f, true, "s-tfbo", NULL); /* another process was asked to stop */
    assert_int_equal(blv_run_set(f.run, "iters", "40"), BLV_OK);
    f.counts.later = 1.0;
    assert_int_equal(blv_run_solve(f.run), BLV_OK);
    assert_int_equal(blv_run_result(f.run)->outcome, BLV_STOPPED_REQUEST);
    close_fixture(&f);

    int calls = 0;
    open_fixture(&f, true, "s-tfbo", NULL); /* the monitor of another process wants to stop */
    assert_int_equal(blv_run_set(f.run, "iters", "40"), BLV_OK);
    assert_int_equal(blv_run_monitor(f.run, never, &calls, 1, 0.0), BLV_OK);
    assert_int_equal(blv_run_step(f.run), BLV_OK);
    f.counts.later = 1.0;
    assert_int_equal(blv_run_step(f.run), BLV_OK);
    assert_true(blv_run_result(f.run)->outcome < 0 && calls > 0);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_conforms),
        cmocka_unit_test(test_steps_wait_once),
        cmocka_unit_test(test_bad_moves_are_undone),
        cmocka_unit_test(test_steps_show_finite_iterates),
        cmocka_unit_test(test_failures_end_the_run),
        cmocka_unit_test(test_the_first_failure_stays),
        cmocka_unit_test(test_the_others_word_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
