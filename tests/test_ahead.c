/* Steps whose scalars are not waited for, on a space that stands for a device: the same bits, rows
 * and ends as when every step waits, and fewer waits. Scalars that nobody has settled are NaN here,
 * so whoever looks too early is found out. */
#include "counting_space.h"

#include "bilevel/checkpoint.h"
#include "bilevel/registry.h"
#include "bilevel/run.h"
#include "space/later.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- A space that leaves scalars where they are ---- */

struct blv_later {
    double *name[BLV_LATER_NUMBERS];
    double value[BLV_LATER_NUMBERS];
    size_t count;
    bool not_finite;
};

static size_t settled, left; /* calls of settle, scalars that were left behind */

static blv_later *open_later(void) {
    settled = left = 0;
    return calloc(1, sizeof(blv_later));
}

static void close_later(blv_later *later) {
    free(later);
}

static double *value_of(blv_later *later, const double *name) {
    for (size_t i = 0; i < later->count; i++)
        if (later->name[i] == name)
            return &later->value[i];
    return NULL;
}

static void leave(blv_later *later, double *name, double value) {
    double *at = value_of(later, name);
    if (!at) {
        assert_true(later->count < BLV_LATER_NUMBERS);
        later->name[later->count] = name;
        at = &later->value[later->count++];
    }
    *at = value;
    *name = (double)NAN;
    left++;
}

static double known(blv_later *later, const double *name) {
    const double *at = value_of(later, name);
    return at ? *at : *name;
}

static void reduce_later(blv_later *later, size_t count, const blv_operands *pairs,
                         double *const *result, const bool *is_norm) {
    for (size_t i = 0; i < count; i++) {
        const double sum = naive_dot(pairs[i].space, pairs[i].a, pairs[i].b);
        later->not_finite |= !isfinite(sum);
        if (result[i])
            leave(later, result[i], is_norm[i] ? sqrt(sum) : sum);
    }
}

static void compute_later(blv_later *later, blv_later_rule rule, double *result, double c,
                          const double *a, const double *b) {
    leave(later, result, blv_later_value(rule, c, known(later, a), known(later, b)));
}

static void move_later(blv_later *later, const blv_space *space, void *out, const void *a,
                       double sign, const double *factor, const void *b) {
    naive_copy(space, out, a);
    naive_scale(space, out, 1.0);
    naive_axpy(space, out, sign * known(later, factor), b);
}

static bool settle_later(blv_later *later) {
    const bool finite = !later->not_finite;
    for (size_t i = 0; i < later->count; i++)
        *later->name[i] = later->value[i];
    later->count = 0;
    later->not_finite = false;
    settled++;
    return finite;
}

static const blv_later_ops later_ops = {.open = open_later,
                                        .close = close_later,
                                        .reduce = reduce_later,
                                        .compute = compute_later,
                                        .value = blv_later_value,
                                        .move = move_later,
                                        .settle = settle_later};

/* ---- A problem with batches ---- */

enum { D = 4, SAMPLES = 60 };

/* f = |y - 1 - s|^2/2 + |x|^2/20,  g = sum (1 + i/2) y_i^2/2 - y'x + s 1'y, with s the mean of
 * sin over the samples */
typedef struct refusal {
    uint64_t calls, at; /* the call of `lower` of this number is rejected, 0: none, */
    int code;           /* with this */
    double wall;        /* behind it gy is infinite, where x_0 is more; 0: nowhere */
    double leap;        /* behind it gy is 1e120, and 0 before; 0: gy as it is */
} refusal;

static double shift_of(const blv_batch *batch) {
    double sum = 0.0;
    const size_t count = batch ? batch->count : SAMPLES;
    for (size_t i = 0; i < count; i++)
        sum += sin(1.0 + (double)(batch ? batch->index ? batch->index[i] : batch->first + i : i));
    return 0.1 * sum / (double)count;
}

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    (void)user;
    const double *a = counting_elements(x), *b = counting_elements(y), s = shift_of(batch);
    double *da = counting_elements(fx), *db = counting_elements(fy), value = 0.0;
    for (size_t i = 0; i < D; i++) {
        value += 0.05 * a[i] * a[i] + 0.5 * (b[i] - 1.0 - s) * (b[i] - 1.0 - s);
        if (da)
            da[i] = 0.1 * a[i];
        if (db)
            db[i] = b[i] - 1.0 - s;
    }
    if (f)
        *f = value;
    return 0;
}

static double curvature(size_t i) {
    return 1.0 + 0.5 * (double)i;
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    refusal *r = user;
    const double *a = counting_elements(x), *b = counting_elements(y), s = shift_of(batch);
    double *da = counting_elements(gx), *db = counting_elements(gy), value = 0.0;
    if (batch && ++r->calls == r->at)
        return r->code;
    for (size_t i = 0; r->leap > 0.0 && db && i < D; i++)
        db[i] = a[0] > r->leap ? 1e120 : 0.0;
    if (r->leap > 0.0)
        db = NULL;
    for (size_t i = 0; i < D; i++) {
        value += 0.5 * curvature(i) * b[i] * b[i] - b[i] * a[i] + s * b[i];
        if (da)
            da[i] = -b[i];
        if (db)
            db[i] =
                r->wall > 0.0 && a[0] > r->wall ? (double)INFINITY : curvature(i) * b[i] - a[i] + s;
    }
    if (g)
        *g = value;
    return 0;
}

static int hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
               const blv_vec *v, blv_vec *hv) {
    (void)user, (void)batch, (void)x, (void)y;
    for (size_t i = 0; i < D; i++)
        counting_elements(hv)[i] = curvature(i) * counting_elements(v)[i];
    return 0;
}

static int cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                 const blv_vec *v, blv_vec *jv) {
    (void)user, (void)batch, (void)x, (void)y;
    for (size_t i = 0; i < D; i++)
        counting_elements(jv)[i] = -counting_elements(v)[i];
    return 0;
}

/* ---- Runs ---- */

typedef struct fixture {
    counting counts;
    blv_space_ops ops;
    blv_space *x, *y;
    blv_problem *problem;
    blv_run *run;
    refusal rejects;
    char *rows; /* of the trace, less the time */
} fixture;

static void take_row(void *context, const blv_progress *progress, const char *row) {
    fixture *f = context;
    (void)progress;
    const char *from = strstr(row, "\"seconds\":"), *to = from ? strchr(from, ',') : NULL;
    assert_non_null(to);
    const size_t before = f->rows ? strlen(f->rows) : 0;
    f->rows = realloc(f->rows, before + strlen(row) + 2);
    assert_non_null(f->rows);
    sprintf(f->rows + before, "%.*s%s\n", (int)(from - row), row, to);
}

static void open_fixture(fixture *f, bool later, const char *solver, const char *const *settings) {
    *f = (fixture){.ops = counting_ops(false)};
    assert_int_equal(blv_space_create(&f->x, &f->ops, D, BLV_F64, &f->counts), BLV_OK);
    assert_int_equal(blv_space_create(&f->y, &f->ops, D, BLV_F64, &f->counts), BLV_OK);
    if (later) {
        blv_space_set_later(f->x, &later_ops);
        blv_space_set_later(f->y, &later_ops);
    }
    const blv_problem_def def = {BLV_SIZED(blv_problem_def),
                                 .upper = upper,
                                 .lower = lower,
                                 .lower_hvp = hvp,
                                 .lower_cross = cross,
                                 .user = &f->rejects,
                                 .upper_samples = SAMPLES,
                                 .lower_samples = SAMPLES,
                                 .space_x = f->x,
                                 .space_y = f->y};
    blv_message why = {""};
    if (blv_problem_create(&f->problem, &def, &why) != BLV_OK ||
        blv_run_create(&f->run, f->problem, blv_solver_find(NULL, solver, NULL), &why) != BLV_OK)
        fail_msg("%s: %s", solver, why.text);
    assert_int_equal(blv_run_set(f->run, "batch", "7"), BLV_OK);
    for (size_t i = 0; settings && settings[i]; i += 2)
        if (blv_run_set(f->run, settings[i], settings[i + 1]) != BLV_OK)
            fail_msg("%s: %s", solver, blv_run_message(f->run));
    assert_int_equal(blv_run_trace_callback(f->run, take_row, f, true), BLV_OK);
}

static void close_fixture(fixture *f) {
    blv_run_destroy(f->run);
    blv_problem_destroy(f->problem);
    blv_space_destroy(f->x);
    blv_space_destroy(f->y);
    free(f->rows);
    assert_int_equal(f->counts.vectors.live, 0);
}

static void assert_same_ends(const fixture *a, const fixture *b) {
    static const char *const names[] = {"x", "y", "v"};
    assert_string_equal(blv_run_message(a->run), blv_run_message(b->run));
    const blv_result *p = blv_run_result(a->run), *q = blv_run_result(b->run);
    assert_int_equal(p->outcome, q->outcome);
    assert_int_equal(p->iterations, q->iterations);
    const double *m = &p->metrics.gy_norm, *n = &q->metrics.gy_norm;
    for (size_t i = 0; i < sizeof p->metrics / sizeof *m; i++)
        if (!(m[i] == n[i] || (isnan(m[i]) && isnan(n[i]))))
            fail_msg("metric %zu is %g and %g after %d", i, m[i], n[i], (int)p->iterations);
    for (size_t i = 0; i < 3; i++) {
        double u[D], v[D];
        assert_int_equal(blv_run_read(a->run, names[i], u), BLV_OK);
        assert_int_equal(blv_run_read(b->run, names[i], v), BLV_OK);
        assert_memory_equal(u, v, sizeof u);
        for (size_t j = 0; j < D; j++)
            assert_true(isfinite(u[j]));
    }
}

static void assert_same_runs(const fixture *a, const fixture *b) {
    const blv_result *p = blv_run_result(a->run), *q = blv_run_result(b->run);
    assert_same_ends(a, b);
    assert_string_equal(a->rows, b->rows);
    assert_memory_equal(&p->counts, &q->counts, sizeof p->counts);
}

typedef struct setting {
    const char *solver, *settings[12];
    int64_t rejected_call; /* less than 0: fatally */
    double wall;
} setting;

#define FIXED "step_x", "0.05", "step_y", "0.2", "step_v", "0.2"

static const setting cases[] = {
    {"soba", {FIXED, "iters", "1000", "every", "97", NULL}, 0, 0.0},
    {"soba", {FIXED, "iters", "777", "sampler", "iid", NULL}, 0, 0.0},
    {"s-tfbo", {"iters", "1000", "every", "97", NULL}, 0, 0.0},
    {"s-tfbo", {"iters", "501", "every", "1000", "sampler", "shuffle", NULL}, 0, 0.0},
    {"s-tfbo", {"iters", "300", NULL}, 211, 0.0},
    {"soba", {FIXED, "iters", "300", NULL}, 211, 0.0},
    {"soba", {FIXED, "iters", "300", "tol", "1e-3", NULL}, 0, 0.0},
    /* these end within a step */
    {"soba", {FIXED, "budget", "2001", NULL}, 0, 0.0},
    {"soba", {FIXED, "budget", "20011", "every", "1000", NULL}, 0, 0.0},
    {"s-tfbo", {"budget", "20017", "every", "1000", NULL}, 0, 0.0},
    {"s-tfbo", {"iters", "300", NULL}, -211, 0.0},
    {"soba", {FIXED, "iters", "300", "every", "1000", NULL}, -211, 0.0},
    /* these diverge */
    {"soba",
     {"step_x", "9", "step_y", "2", "step_v", "3", "decay", "0", "iters", "900", NULL},
     0,
     0.0},
    {"soba", {FIXED, "iters", "900", "every", "300", NULL}, 0, 0.75},
    {"soba", {FIXED, "iters", "900", "every", "50", NULL}, 0, 0.9},
    {"s-tfbo", {"alpha0", "30", "iters", "900", "every", "300", NULL}, 0, 0.75},
    {"s-tfbo", {"alpha0", "30", "iters", "900", "every", "50", NULL}, 0, 0.9},
};
enum { CASES = sizeof cases / sizeof *cases };

static void test_same_runs(void **state) {
    (void)state;
    size_t diverged = 0;
    for (size_t i = 0; i < CASES; i++) {
        fixture one, two;
        open_fixture(&one, false, cases[i].solver, cases[i].settings);
        open_fixture(&two, true, cases[i].solver, cases[i].settings);
        one.rejects.at = two.rejects.at = (uint64_t)llabs(cases[i].rejected_call);
        one.rejects.code = two.rejects.code = cases[i].rejected_call < 0 ? -1 : 1;
        one.rejects.wall = two.rejects.wall = cases[i].wall;
        assert_int_equal(blv_run_solve(one.run), BLV_OK);
        assert_int_equal(blv_run_solve(two.run), BLV_OK);
        assert_same_runs(&one, &two);
        diverged += strstr(blv_run_message(one.run), "not finite") != NULL;
        printf("    %s: %s\n", cases[i].solver, blv_run_message(one.run));
        close_fixture(&one);
        close_fixture(&two);
    }
    assert_int_equal(diverged, 4);
}

/* A finite gradient and a step that make y infinite, wherever the next wait is: undone, with the
 * iterations and norms of the run that waits. (Whose oracles may have been called once more.) */
static void test_undone(void **state) {
    static const char *const settings[] = {"step_x", "0.02",  "step_y", "1e200", "step_v",
                                           "0.2",    "iters", "400",    NULL};
    uint64_t last = 0, ends = 0;
    (void)state;
    for (int i = 1; i <= 100; i++) {
        fixture one, two;
        open_fixture(&one, false, "soba", settings);
        open_fixture(&two, true, "soba", settings);
        one.rejects.leap = two.rejects.leap = 0.004 * i;
        assert_int_equal(blv_run_solve(one.run), BLV_OK);
        assert_int_equal(blv_run_solve(two.run), BLV_OK);
        assert_same_ends(&one, &two);
        ends += blv_run_result(one.run)->iterations > last;
        last = blv_run_result(one.run)->iterations;
        close_fixture(&one);
        close_fixture(&two);
    }
    printf("    %d ends, the last %d\n", (int)ends, (int)last);
}

static void test_fewer_waits(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        fixture f;
        open_fixture(&f, true, cases[i].solver, cases[i].settings);
        assert_int_equal(blv_run_solve(f.run), BLV_OK);
        const uint64_t steps = blv_run_result(f.run)->iterations;
        assert_true(left >= 3 * (steps - 100));
        assert_true(f.counts.waits + settled < steps / 4);
        close_fixture(&f);
    }
}

static void test_single_steps_wait(void **state) {
    (void)state;
    fixture one, two;
    open_fixture(&one, false, "s-tfbo", cases[2].settings);
    open_fixture(&two, true, "s-tfbo", cases[2].settings);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(blv_run_step(two.run), BLV_OK);
    assert_int_equal(blv_run_solve(one.run), BLV_OK);
    assert_same_runs(&one, &two);
    assert_int_equal(left, 0);
    close_fixture(&one);
    close_fixture(&two);
}

/* Stopped on the way by a limit that is raised, saved and loaded. */
static void test_resumed(void **state) {
    (void)state;
    const char *path = "ahead.npz";
    fixture whole, first, second;
    open_fixture(&whole, true, "s-tfbo", (const char *const[]){"iters", "700", NULL});
    open_fixture(&first, true, "s-tfbo", (const char *const[]){"iters", "333", NULL});
    open_fixture(&second, true, "s-tfbo", (const char *const[]){"iters", "700", NULL});
    assert_int_equal(blv_run_solve(whole.run), BLV_OK);
    assert_int_equal(blv_run_solve(first.run), BLV_OK);
    assert_int_equal(blv_run_save(first.run, path), BLV_OK);
    assert_int_equal(blv_run_load(second.run, path), BLV_OK);
    assert_int_equal(blv_run_solve(second.run), BLV_OK);
    double a[D], b[D];
    assert_int_equal(blv_run_read(whole.run, "x", a), BLV_OK);
    assert_int_equal(blv_run_read(second.run, "x", b), BLV_OK);
    assert_memory_equal(a, b, sizeof a);
    close_fixture(&whole);
    close_fixture(&first);
    close_fixture(&second);
    remove(path);
}

static void test_lost_device(void **state) {
    (void)state;
    for (size_t at = 20; at < 60; at += 3) {
        fixture f;
        open_fixture(&f, true, "s-tfbo", cases[3].settings);
        f.counts.fails_at = at;
        blv_run_solve(f.run);
        if (f.counts.waits >= at) {
            assert_int_equal(blv_run_result(f.run)->outcome, BLV_ORACLE_FAILED);
            assert_non_null(strstr(blv_run_message(f.run), "the device was lost"));
        }
        close_fixture(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_runs),         cmocka_unit_test(test_fewer_waits),
        cmocka_unit_test(test_single_steps_wait), cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_lost_device),       cmocka_unit_test(test_undone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
