/* The AID and ITD family and bcsr against a second computation of its iterates, in plain dense
 * arrays, as in test_replay.c; and d of itd against differences of x -> f(x, y_T(x)). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay_model.h"

enum { STEPS = 30 };

/* ---- The algorithms ---- */

static void steps_on_y(replay *r, size_t count) {
    for (size_t taken = 0; taken < count; taken++) {
        take(r, 'l');
        lower(r);
        move(r->dy, r->y, setting(r, "step_y", NAN), r->gy);
    }
}

static const spy_call *step_on_x(replay *r) {
    const spy_call *call = take(r, 'j');
    cross_times(r, r->v, r->jv);
    make_d(r);
    move_x(r, setting(r, "step_x", NAN), r->fx);
    return call;
}

static void solve_cg(replay *r) {
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

static void step_ba_cg(replay *r) {
    double wanted = setting(r, "c", 1.0) * pow((double)r->t + 1.0, 0.25);
    size_t count = 0;
    while ((double)count < wanted)
        count++;
    steps_on_y(r, count);
    take(r, 'u');
    upper(r);
    solve_cg(r);
    step_on_x(r);
}

static void fixed_point(replay *r, bool one_batch) {
    const spy_call *first = NULL;
    steps_on_y(r, count_setting(r, "inner", 10));
    take(r, 'u');
    upper(r);
    for (size_t k = 0; k < count_setting(r, "linear", 10); k++) {
        const spy_call *call = take(r, 'h');
        first = first ? first : call;
        if (one_batch)
            assert_same_batch(first, call);
        hessian_times(r, r->v, r->hv);
        make_r(r);
        move(r->dy, r->v, setting(r, "step_v", NAN), r->hv);
    }
    step_on_x(r);
}

static void step_aid_fp(replay *r) {
    fixed_point(r, true);
}

static void step_amigo(replay *r) {
    fixed_point(r, false);
}

/* H and J on one batch */
static void step_bcsr(replay *r) {
    const spy_call *call = NULL;
    steps_on_y(r, count_setting(r, "inner", 5));
    take(r, 'u');
    upper(r);
    for (size_t k = 0; k < count_setting(r, "linear", 3); k++) {
        const spy_call *before = call;
        call = take(r, 'h');
        if (before)
            assert_same_batch(before, call);
        hessian_times(r, r->v, r->hv);
        for (size_t i = 0; i < r->dy; i++)
            r->v[i] -= setting(r, "step_v", NAN) * (r->hv[i] - r->fy[i]);
    }
    assert_same_batch(call, step_on_x(r));
}

/* v = eta sum_{q=0..K} (I - eta H)^q fy, from the last factor inwards: v = eta fy + (I - eta H) v.
 */
static void step_aid_neumann(replay *r) {
    const double eta = setting(r, "eta", NAN);
    const spy_call *first = NULL;
    steps_on_y(r, count_setting(r, "inner", 10));
    take(r, 'u');
    upper(r);
    for (size_t i = 0; i < r->dy; i++)
        r->v[i] = eta * r->fy[i];
    for (size_t k = 0; k < count_setting(r, "linear", 0); k++) {
        const spy_call *call = take(r, 'h');
        first = first ? first : call;
        assert_same_batch(first, call);
        hessian_times(r, r->v, r->hv);
        for (size_t i = 0; i < r->dy; i++)
            r->v[i] += eta * (r->fy[i] - r->hv[i]);
    }
    step_on_x(r);
}

static void step_t1_t2(replay *r) {
    steps_on_y(r, count_setting(r, "inner", 10));
    take(r, 'u');
    upper(r);
    for (size_t i = 0; i < r->dy; i++)
        r->v[i] = setting(r, "eta", NAN) * r->fy[i];
    step_on_x(r);
}

/* Hv and Jv at one point, on the batch of an earlier call. */
static void take_products(replay *r, const spy_call *like) {
    if (blv_problem_definition(r->watched)->lower_all) {
        assert_same_batch(like, take(r, 'a'));
        return;
    }
    assert_same_batch(like, take(r, 'h'));
    assert_same_batch(like, take(r, 'j'));
}

/* One iteration of reverse mode from the formulas; d goes to fx. */
static void reverse_mode(replay *r) {
    const size_t T = count_setting(r, "inner", 10), K0 = count_setting(r, "K0", T), dy = r->dy;
    const double eta = setting(r, "step_y", NAN), m = setting(r, "momentum", 0.0);
    double *points = make_numbers((T + 1) * dy), *adjoint = make_numbers((T + 2) * dy);
    double *y = r->y;
    const spy_call **calls = calloc(T, sizeof(const spy_call *));
    assert_non_null(calls);
    memcpy(points, y, dy * sizeof *y);
    for (size_t t = 0; t < T; t++) {
        calls[t] = take(r, 'l');
        r->y = points + t * dy;
        lower(r);
        for (size_t i = 0; i < dy; i++) {
            double before = t > 0 ? points[(t - 1) * dy + i] : points[i];
            points[(t + 1) * dy + i] = r->y[i] - eta * r->gy[i] + m * (r->y[i] - before);
        }
    }
    memcpy(y, points + T * dy, dy * sizeof *y);
    r->y = y;
    take(r, 'u');
    upper(r);
    memcpy(adjoint + T * dy, r->fy, dy * sizeof *y); /* and p_{T+1} is zero */
    for (size_t t = T; t-- > T - K0;) {
        const double *next = adjoint + (t + 1) * dy, *after = adjoint + (t + 2) * dy;
        static const double zero[64];
        after = t + 2 > T ? zero : after;
        take_products(r, calls[t]);
        r->y = points + t * dy;
        hessian_times(r, next, r->hv);
        cross_times(r, next, r->jv);
        r->y = y;
        for (size_t j = 0; j < r->dx; j++)
            r->fx[j] -= eta * r->jv[j];
        for (size_t i = 0; i < dy; i++)
            adjoint[t * dy + i] = next[i] - eta * r->hv[i] + m * (next[i] - after[i]);
    }
    free(points);
    free(adjoint);
    free(calls);
}

static void step_itd(replay *r) {
    reverse_mode(r);
    move_x(r, setting(r, "step_x", NAN), r->fx);
}

static const struct {
    const char *solver;
    void (*step)(replay *r);
} algorithms[] = {{"ba-cg", step_ba_cg}, {"aid-fp", step_aid_fp},           {"amigo", step_amigo},
                  {"bcsr", step_bcsr},   {"aid-neumann", step_aid_neumann}, {"t1-t2", step_t1_t2},
                  {"itd", step_itd}};

/* ---- The comparison ---- */

/* x0 and y0 may be NULL: random numbers. The two computations never meet. */
static void check(const blv_problem *problem, formulas kind, const char *solver,
                  const char *const *settings, const double *x0, const double *y0, int hidden) {
    replay r;
    open_replay(&r, problem, kind, solver, settings, hidden);
    start_at(&r, x0, y0);
    assert_int_equal(blv_run_open(r.run), BLV_OK);
    bool has_v = blv_run_dim(r.run, "v") > 0;
    write_state(r.run, "x", r.x);
    write_state(r.run, "y", r.y);
    if (has_v)
        write_state(r.run, "v", r.v);
    for (r.t = 0; r.t < STEPS; r.t++) {
        spy_forget(&r.watch);
        step_run(r.run);
        for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
            if (strcmp(algorithms[i].solver, solver) == 0)
                algorithms[i].step(&r);
        compare(&r, "x", r.dx, r.x);
        compare(&r, "y", r.dy, r.y);
        if (has_v)
            compare(&r, "v", r.dy, r.v);
        expect_all_needed(&r);
    }
    close_replay(&r);
}

/* ---- Whole sums and batches of the quadratic ---- */

static const shape shapes[] = {{"7", "5", "10", "1", "0.09"},
                               {"4", "9", "100", "0.3", "0.009"},
                               {"12", "1", "1", "2", "0.8"},
                               {"20", "30", "300", "1", "0.003"}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Whole sums of one term and of several, which are fewer than the 64 of a default batch, then
 * batches by each sampler. STEP in `own` stands for the shape's. */
static void check_quadratics(const char *solver, const char *const *own) {
    static const char *const samplers[] = {"block", "iid", "shuffle"};
    const char *settings[32];
    for (size_t i = 0; i < SHAPES; i++)
        for (size_t k = 0; k < 5; k++) {
            blv_problem *p = make_quadratic(&shapes[i], k == 0 ? "1" : "23");
            size_t n = 0;
            for (; own[n]; n++)
                settings[n] = strcmp(own[n], "STEP") == 0 ? shapes[i].step : own[n];
            settings[n++] = "step_x";
            settings[n++] = "0.1";
            if (k >= 2) {
                settings[n++] = "sampler";
                settings[n++] = samplers[k - 2];
                settings[n++] = "batch";
                settings[n++] = "5";
            }
            settings[n] = NULL;
            check(p, QUADRATIC, solver, settings, NULL, NULL, k == 0 ? SPY_HIDES_ALL : 0);
            blv_problem_destroy(p);
        }
}

static void test_ba_cg(void **state) {
    (void)state;
    check_quadratics("ba-cg", SETTINGS("step_y", "STEP", "linear", "2"));
    check_quadratics("ba-cg", SETTINGS("step_y", "STEP", "linear", "2", "c", "2.5"));
}

static void test_aid_fp(void **state) {
    (void)state;
    check_quadratics("aid-fp", SETTINGS("step_y", "STEP", "step_v", "STEP"));
    check_quadratics("aid-fp",
                     SETTINGS("step_y", "STEP", "step_v", "STEP", "inner", "1", "linear", "1"));
    check_quadratics("aid-fp",
                     SETTINGS("step_y", "STEP", "step_v", "0.001", "inner", "3", "linear", "4"));
}

static void test_amigo(void **state) {
    (void)state;
    check_quadratics("amigo", SETTINGS("step_y", "STEP", "step_v", "STEP"));
    check_quadratics("amigo",
                     SETTINGS("step_y", "STEP", "step_v", "STEP", "inner", "2", "linear", "3"));
}

static void test_bcsr(void **state) {
    (void)state;
    check_quadratics("bcsr", SETTINGS("step_y", "STEP", "step_v", "STEP"));
    check_quadratics("bcsr",
                     SETTINGS("step_y", "STEP", "step_v", "0.001", "inner", "1", "linear", "1"));
    check_quadratics("bcsr",
                     SETTINGS("step_y", "STEP", "step_v", "STEP", "inner", "2", "linear", "6"));
}

static void test_aid_neumann(void **state) {
    (void)state;
    check_quadratics("aid-neumann", SETTINGS("step_y", "STEP", "eta", "STEP", "linear", "12"));
    check_quadratics("aid-neumann",
                     SETTINGS("step_y", "STEP", "eta", "0.002", "linear", "3", "inner", "2"));
    check_quadratics("aid-neumann",
                     SETTINGS("step_y", "STEP", "eta", "STEP", "linear", "0", "inner", "1"));
}

static void test_t1_t2(void **state) {
    (void)state;
    check_quadratics("t1-t2", SETTINGS("step_y", "STEP", "eta", "STEP"));
    check_quadratics("t1-t2", SETTINGS("step_y", "STEP", "eta", "0.3", "inner", "1"));
}

static void test_itd(void **state) {
    (void)state;
    check_quadratics("itd", SETTINGS("step_y", "STEP", "inner", "10"));
    check_quadratics("itd", SETTINGS("step_y", "STEP", "inner", "1"));
    check_quadratics("itd", SETTINGS("step_y", "STEP", "inner", "9", "K0", "4"));
    check_quadratics("itd", SETTINGS("step_y", "STEP", "inner", "6", "K0", "1"));
    check_quadratics("itd", SETTINGS("step_y", "STEP", "inner", "8", "momentum", "0.6"));
    check_quadratics("itd", SETTINGS("step_y", "STEP", "inner", "8", "K0", "3", "momentum", "0.9"));
}

/* ---- Lower levels that are not quadratic, with bounds on x ---- */

static void check_toy(const struct toy_start *at) {
    blv_problem *p = make_problem(at->name, NULL);
    const struct {
        const char *solver;
        const char *const *settings;
    } cases[] = {
        {"ba-cg", SETTINGS("step_x", "0.02", "step_y", "0.1", "linear", "2", "c", "2")},
        {"aid-fp", SETTINGS("step_x", "0.02", "step_y", "0.1", "step_v", "0.1", "linear", "5")},
        {"amigo", SETTINGS("step_x", "0.02", "step_y", "0.1", "step_v", "0.1", "linear", "5")},
        {"bcsr", SETTINGS("step_x", "0.02", "step_y", "0.1", "step_v", "0.1")},
        {"aid-neumann", SETTINGS("step_x", "0.02", "step_y", "0.1", "eta", "0.1", "linear", "7")},
        {"t1-t2", SETTINGS("step_x", "0.02", "step_y", "0.1", "eta", "0.2")},
        {"itd", SETTINGS("step_x", "0.02", "step_y", "0.1", "inner", "10")},
        {"itd", SETTINGS("step_x", "0.02", "step_y", "0.1", "inner", "10", "K0", "4")},
        {"itd", SETTINGS("step_x", "0.02", "step_y", "0.05", "inner", "10", "momentum", "0.5")},
        {"itd",
         SETTINGS("step_x", "0.02", "step_y", "0.05", "inner", "10", "K0", "6", "momentum", "0.7")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(p, at->kind, cases[i].solver, cases[i].settings, &at->x, &at->y, 0);
    blv_problem_destroy(p);
}

static void test_toys_with_projection(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH(toy_starts); i++)
        check_toy(&toy_starts[i]);
}

/* ---- d of itd by differences ---- */

typedef struct descent {
    const blv_problem_def *def;
    const spy *record; /* of the batches */
    size_t T;
    double eta, momentum;
    blv_vec *x, *y, *gy;
} descent;

/* f(x, y_T(x)) from y_0, on the batches of the record. */
static double value_after(const descent *w, const double *x, const double *y0) {
    size_t dy = w->def->dim_y, t = 0;
    double *y = make_numbers(dy), *before = make_numbers(dy), *gy = make_numbers(dy), f = NAN;
    memcpy(y, y0, dy * sizeof *y);
    memcpy(before, y0, dy * sizeof *y);
    blv_vec_write(w->x, x);
    for (size_t k = 0; k < w->record->size; k++) {
        const spy_call *call = &w->record->calls[k];
        const blv_batch batch = {.count = call->count, .index = call->index};
        const blv_batch *on = call->whole ? NULL : &batch;
        blv_vec_write(w->y, y);
        if (call->kind == 'u')
            assert_int_equal(w->def->upper(w->def->user, on, w->x, w->y, &f, NULL, NULL), 0);
        if (call->kind != 'l')
            continue;
        assert_int_equal(w->def->lower(w->def->user, on, w->x, w->y, NULL, NULL, w->gy), 0);
        blv_vec_read(w->gy, gy);
        for (size_t i = 0; i < dy; i++) {
            double next = y[i] - w->eta * gy[i] + w->momentum * (y[i] - before[i]);
            before[i] = y[i];
            y[i] = next;
        }
        t++;
    }
    assert_int_equal(t, w->T);
    free(y);
    free(before);
    free(gy);
    return f;
}

/* One step with step_x = 1: what x has moved by is d. */
static void check_derivative(const blv_problem *problem, const char *eta, const char *T,
                             const char *momentum, const char *batch) {
    spy watch;
    blv_problem *watched = spy_on(&watch, problem, 0);
    watch.record = true;
    blv_run *run = make_run(
        watched, "itd",
        SETTINGS("step_x", "1", "step_y", eta, "inner", T, "momentum", momentum, "batch", batch));
    const blv_problem_def *def = watch.inner;
    descent w = {.def = def,
                 .record = &watch,
                 .T = (size_t)strtod(T, NULL),
                 .eta = strtod(eta, NULL),
                 .momentum = strtod(momentum, NULL)};
    assert_int_equal(blv_vec_create(&w.x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&w.y, def->space_y), BLV_OK);
    assert_int_equal(blv_vec_create(&w.gy, def->space_y), BLV_OK);
    double *x0 = make_numbers(def->dim_x), *y0 = make_numbers(def->dim_y),
           *x1 = make_numbers(def->dim_x);
    fill_start(def->dim_x, 5, 0.7, x0);
    fill_start(def->dim_y, 6, 0.7, y0);
    write_state(run, "x", x0);
    write_state(run, "y", y0);
    step_run(run);
    read_state(run, "x", x1);
    double largest = 0.0;
    for (size_t j = 0; j < def->dim_x; j++) {
        const double h = 1e-5, at = x0[j];
        x0[j] = at + h;
        double above = value_after(&w, x0, y0);
        x0[j] = at - h;
        double difference = (above - value_after(&w, x0, y0)) / (2.0 * h);
        x0[j] = at;
        assert_near(at - x1[j], difference, 1e-8);
        largest = fmax(largest, fabs(difference));
    }
    assert_true(largest > 1e-3); /* there was something to compare */
    blv_vec_destroy(w.x);
    blv_vec_destroy(w.y);
    blv_vec_destroy(w.gy);
    free(x0);
    free(y0);
    free(x1);
    blv_run_destroy(run);
    blv_problem_destroy(watched);
    spy_free(&watch);
}

static void test_itd_is_the_derivative(void **state) {
    (void)state;
    blv_problem *shift = make_problem("pl-shift", SETTINGS("dim", "6"));
    blv_problem *sums = make_problem(
        "quadratic", SETTINGS("dx", "5", "dy", "8", "kappa", "10", "terms", "20", "scale", "1"));
    blv_problem *logistic =
        make_problem("synthetic-logistic", SETTINGS("rows", "60", "columns", "7"));
    static const char *const momenta[] = {"0", "0.5", "0.9"}, *const lengths[] = {"1", "2", "12"};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            check_derivative(shift, "0.05", lengths[k], momenta[i], "full");
            check_derivative(sums, "0.05", lengths[k], momenta[i], "full");
            check_derivative(sums, "0.05", lengths[k], momenta[i], "3");
            check_derivative(logistic, "0.3", lengths[k], momenta[i], "full");
            check_derivative(logistic, "0.3", lengths[k], momenta[i], "8");
        }
    blv_problem_destroy(shift);
    blv_problem_destroy(sums);
    blv_problem_destroy(logistic);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ba_cg),
        cmocka_unit_test(test_aid_fp),
        cmocka_unit_test(test_amigo),
        cmocka_unit_test(test_bcsr),
        cmocka_unit_test(test_aid_neumann),
        cmocka_unit_test(test_t1_t2),
        cmocka_unit_test(test_itd),
        cmocka_unit_test(test_toys_with_projection),
        cmocka_unit_test(test_itd_is_the_derivative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
