/* MGBiO, MSGBiO and VR-MSGBiO against a second computation of their iterates in plain dense arrays,
 * with the batches that a spy has recorded. See test_replay.c for the method.
 *
 * With representation = operator the products go through MINRES, here through LAPACK: what is
 * compared is the mathematics. A window that is shorter than the run is recomputed from its
 * definition: the recursion starts anew at the oldest iteration that is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mgbio_model.h"

/* ---- MGBiO ---- */

static void step_mgbio(model *m) {
    replay *r = &m->r;
    bool fused = blv_problem_definition(r->watched)->lower_all;
    double eta = setting(r, "eta", 0.5);
    double *H = m->Hm, *J = m->G;
    take(r, 'u');
    upper(r);
    const spy_call *g = take(r, fused ? 'a' : 'l');
    lower(r);
    dense_matrices(r, H, J);
    size_t products = mark(r, "haj", g);
    if (setting_is(r, "linear", "explicit"))
        assert_int_equal(products, r->dy + (fused ? 0 : 1));
    indefinite_solve(r->dy, H, r->fy, r->v);
    dense_times(r->dx, r->dy, J, r->v, r->jv);
    make_d(r);
    move_x_part(r, eta, setting(r, "gamma", NAN), r->fx);
    move(r->dy, r->y, eta * setting(r, "lambda", NAN), r->gy);
}

/* ---- MSGBiO and VR-MSGBiO ---- */

static double eta_of(const model *m, size_t t) {
    double k = setting(&m->r, "k", NAN), shift = setting(&m->r, "m", NAN);
    return fmin(1.0, k / pow(shift + (double)t, m->recursive ? 1.0 / 3.0 : 0.5));
}

/* The coefficient of this iteration: by the eta before, 1 at first. */
static double coefficient(const model *m, const char *key) {
    if (m->r.t == 0)
        return 1.0;
    double eta = eta_of(m, m->r.t - 1);
    return fmin(1.0, setting(&m->r, key, NAN) * (m->recursive ? eta * eta : eta));
}

/* All that the calls of this step show. */
static void look(model *m) {
    replay *r = &m->r;
    seen_matrices *seen = &m->seen[r->t];
    bool twice = m->recursive && r->t > 0;
    double *fx = make_numbers(r->dx), *fy = make_numbers(r->dy), *gy = make_numbers(r->dy);
    const spy_call *f = take(r, 'u');
    upper(r);
    memcpy(fx, r->fx, r->dx * sizeof *fx);
    memcpy(fy, r->fy, r->dy * sizeof *fy);
    swap_points(m);
    upper(r);
    swap_points(m);
    if (twice)
        assert_same_batch(f, take(r, 'u'));
    renew(m, r->dx, coefficient(m, "c1"), fx, r->t ? r->fx : m->u, m->u);
    renew(m, r->dy, coefficient(m, "c2"), fy, r->t ? r->fy : m->h, m->h);

    const spy_call *g = take(r, 'l');
    lower(r);
    memcpy(gy, r->gy, r->dy * sizeof *gy);
    dense_matrices(r, seen->H, seen->G);
    swap_points(m);
    lower(r);
    dense_matrices(r, seen->H_old, seen->G_old);
    swap_points(m);
    if (twice)
        assert_same_batch(g, take(r, 'l'));
    renew(m, r->dy, coefficient(m, "c3"), gy, r->t ? r->gy : m->s, m->s);
    seen->c_J = coefficient(m, "c4");
    seen->c_H = coefficient(m, "c5");
    bool dense = setting_is(r, "representation", "explicit");
    bool fused = blv_problem_definition(r->watched)->lower_all;
    if (dense && fused)
        assert_int_equal(mark(r, "a", g), (twice ? 2 : 1) * r->dy);
    else if (dense)
        assert_int_equal(mark(r, "hj", g), (twice ? 4 : 2) * r->dy);
    free(fx);
    free(fy);
    free(gy);
}

/* Hm and G by the recursion from where the window begins. */
static void sum_window(model *m, size_t slots) {
    replay *r = &m->r;
    size_t first = r->t + 1 > slots ? r->t + 1 - slots : 0;
    memcpy(m->Hm, m->seen[first].H, r->dy * r->dy * sizeof *m->Hm);
    memcpy(m->G, m->seen[first].G, r->dx * r->dy * sizeof *m->G);
    for (size_t t = first + 1; t <= r->t; t++) {
        const seen_matrices *seen = &m->seen[t];
        renew(m, r->dy * r->dy, seen->c_H, seen->H, seen->H_old, m->Hm);
        renew(m, r->dx * r->dy, seen->c_J, seen->G, seen->G_old, m->G);
    }
    size_t terms = (m->recursive ? 2 : 1) * (r->t - first) + 1;
    assert_int_equal(mark(r, "j", NULL), terms);
    assert_int_equal(mark(r, "h", NULL) % terms, 0);
}

static void clip(model *m) {
    replay *r = &m->r;
    double norm = dense_size(r->dy, m->h), most = setting(r, "clip_fy", NAN);
    for (size_t i = 0; norm > most && i < r->dy; i++)
        m->h[i] *= most / norm;
    clip_by_eigenvalues(r->dy, m->Hm, setting(r, "clip_mu", NAN), setting(r, "clip_L", NAN));
    clip_by_svd(r->dx, r->dy, m->G, setting(r, "clip_gxy", NAN));
}

static void step_momentum(model *m) {
    replay *r = &m->r;
    const seen_matrices *seen = &m->seen[r->t];
    look(m);
    if (setting_is(r, "representation", "explicit")) {
        renew(m, r->dy * r->dy, seen->c_H, seen->H, r->t ? seen->H_old : m->Hm, m->Hm);
        renew(m, r->dx * r->dy, seen->c_J, seen->G, r->t ? seen->G_old : m->G, m->G);
    } else {
        sum_window(m, count_setting(r, "window", 20));
    }
    if (setting_is(r, "clip", "on"))
        clip(m);
    indefinite_solve(r->dy, m->Hm, m->h, r->v);
    dense_times(r->dx, r->dy, m->G, r->v, r->jv);
    memcpy(r->fx, m->u, r->dx * sizeof *m->u);
    make_d(r);
    double eta = eta_of(m, r->t);
    memcpy(m->x_old, r->x, r->dx * sizeof *r->x);
    memcpy(m->y_old, r->y, r->dy * sizeof *r->y);
    move_x_part(r, eta, setting(r, "gamma", NAN), r->fx);
    move(r->dy, r->y, eta * setting(r, "lambda", NAN), m->s);
}

/* ---- The comparison ---- */

static void check_from(const blv_problem *problem, formulas kind, const char *solver,
                       const char *const *settings, int hidden, const double *x0,
                       const double *y0) {
    model m;
    open_model(&m, problem, kind, solver, settings, hidden);
    replay *r = &m.r;
    start_at(r, x0, y0);
    assert_int_equal(blv_run_open(r->run), BLV_OK);
    write_state(r->run, "x", r->x);
    write_state(r->run, "y", r->y);
    for (r->t = 0; r->t < STEPS; r->t++) {
        spy_forget(&r->watch);
        step_run(r->run);
        if (strcmp(solver, "mgbio") == 0)
            step_mgbio(&m);
        else
            step_momentum(&m);
        compare(r, "x", r->dx, r->x);
        compare(r, "y", r->dy, r->y);
        compare(r, "v", r->dy, r->v);
        expect_all_needed(r);
    }
    close_model(&m);
}

static void check(const blv_problem *problem, const char *solver, const char *const *settings,
                  int hidden) {
    check_from(problem, QUADRATIC, solver, settings, hidden, NULL, NULL);
}

/* ---- Cases ---- */

static const shape shapes[] = {{"7", "5", "10", "1", "0.09"},
                               {"4", "9", "100", "1", "0.009"},
                               {"1", "6", "50", "1", "0.015"},
                               {"12", "1", "1", "1", "0.8"},
                               {"11", "13", "300", "1", "0.003"}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

#define TIGHT "products", "1000", "tolerance", "1e-15"
/* Coefficients that are all different, and steps that reach the bound 1 at first. */
#define MOMENTUM "gamma", "0.3", "k", "2.5", "m", "5", "c1", "0.3", "c2", "0.5", "c3", "0.7"
#define RECURSIVE "gamma", "0.2", "k", "1.5", "m", "3", "c1", "0.4", "c2", "0.6", "c3", "0.8"

static void test_mgbio(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        blv_problem *p = make_quadratic(&shapes[i], "1");
        const char *step = shapes[i].step;
        check(p, "mgbio", SETTINGS("gamma", "0.3", "lambda", step, "linear", "minres", TIGHT), 0);
        check(p, "mgbio", SETTINGS("gamma", "0.2", "lambda", step, "eta", "1", TIGHT),
              SPY_HIDES_ALL);
        check(p, "mgbio",
              SETTINGS("gamma", "0.3", "lambda", step, "eta", "0.3", "linear", "explicit"), 0);
        check(p, "mgbio", SETTINGS("gamma", "0.3", "lambda", step, "linear", "explicit"),
              SPY_HIDES_ALL);
        blv_problem_destroy(p);
    }
}

static void check_momentum(const blv_problem *p, const char *step, const char *form,
                           const char *window, int hidden) {
    check(p, "msgbio",
          SETTINGS(MOMENTUM, "lambda", step, "c4", "0.4", "c5", "0.6", "representation", form,
                   "window", window, TIGHT),
          hidden);
    check(p, "vr-msgbio",
          SETTINGS(RECURSIVE, "lambda", step, "c4", "0.5", "c5", "0.7", "representation", form,
                   "window", window, TIGHT),
          hidden);
}

static void test_momentum(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        blv_problem *p = make_quadratic(&shapes[i], "1");
        const char *step = shapes[i].step;
        check_momentum(p, step, "explicit", "20", 0);
        check_momentum(p, step, "explicit", "20", SPY_HIDES_ALL);
        check_momentum(p, step, "operator", "30", 0);
        check_momentum(p, step, "operator", "6", 0);
        check_momentum(p, step, "operator", "1", 0);
        blv_problem_destroy(p);
    }
}

static void test_batches(void **state) {
    (void)state;
    static const char *const samplers[] = {"block", "iid", "shuffle"};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++) {
            blv_problem *p = make_quadratic(&shapes[i], "23");
            const char *how = samplers[k], *step = shapes[i].step;
            check(p, "mgbio",
                  SETTINGS("batch", "5", "sampler", how, "gamma", "0.3", "lambda", step, TIGHT), 0);
            check(p, "mgbio",
                  SETTINGS("batch", "4", "sampler", how, "gamma", "0.3", "lambda", step, "linear",
                           "explicit"),
                  0);
            static const char *const windows[] = {"30", "30", "5"};
            for (size_t form = 0; form < 3; form++) {
                const char *word = form == 0 ? "explicit" : "operator";
                check(p, "msgbio",
                      SETTINGS(MOMENTUM, "lambda", step, "c4", "0.4", "c5", "0.6", "batch", "5",
                               "sampler", how, "representation", word, "window", windows[form],
                               TIGHT),
                      0);
                check(p, "vr-msgbio",
                      SETTINGS(RECURSIVE, "lambda", step, "c4", "0.5", "c5", "0.7", "batch", "7",
                               "sampler", how, "representation", word, "window", windows[form],
                               TIGHT),
                      0);
            }
            blv_problem_destroy(p);
        }
}

/* Steps that the user has set are taken as they are, even where they are far too long. */
static void test_long_steps(void **state) {
    (void)state;
    for (int batches = 0; batches < 2; batches++) {
        blv_problem *p = make_quadratic(&shapes[0], batches ? "24" : "1");
        const char *batch = batches ? "batch" : "iters", *size = batches ? "6" : "1000";
        check(p, "mgbio",
              SETTINGS("gamma", "1.5", "lambda", "0.35", "eta", "1", "linear", "explicit", batch,
                       size),
              0);
        check(p, "msgbio",
              SETTINGS("gamma", "1.5", "lambda", "0.35", "k", "100", "m", "5", "c1", "1", "c2", "1",
                       "c3", "1", "c4", "1", "c5", "1", "representation", "explicit", batch, size),
              0);
        blv_problem_destroy(p);
    }
}

/* Bounds that cut off: of |h|, of eigenvalues from both sides, of singular values. */
static void test_clip(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++)
        for (int batches = 0; batches < 2; batches++) {
            blv_problem *p = make_quadratic(&shapes[i], batches ? "23" : "1");
            const char *step = shapes[i].step;
            const char *batch = batches ? "5" : "full";
            if (batches)
                check(p, "msgbio",
                      SETTINGS(MOMENTUM, "lambda", step, "c4", "0.4", "c5", "0.6", "batch", batch,
                               "representation", "explicit", "clip", "on", "clip_fy", "0.3",
                               "clip_gxy", "0.1", "clip_mu", "1.4", "clip_L", "6"),
                      0);
            else
                check(p, "vr-msgbio",
                      SETTINGS(RECURSIVE, "lambda", step, "c4", "0.5", "c5", "0.7",
                               "representation", "explicit", "clip", "on", "clip_fy", "0.2",
                               "clip_gxy", "0.05", "clip_mu", "1.2", "clip_L", "5"),
                      0);
            blv_problem_destroy(p);
        }
}

/* The bounds of X are met on the way, and H is negative at some of the starts. */
static void test_toys(void **state) {
    (void)state;
    static const struct {
        const char *name;
        formulas kind;
        double x0, y0;
    } starts[] = {{"scalar-penalty", SCALAR_PENALTY, 0.0, 0.05},
                  {"scalar-penalty", SCALAR_PENALTY, 0.02, -1.0},
                  {"pl-sine", PL_SINE, 0.0, 0.2},
                  {"pl-sine", PL_SINE, 1.5, 0.1},
                  {"pl-sine", PL_SINE, 3.0, -2.9},
                  {"pl-sine", PL_SINE, 2.9, -1.4}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        blv_problem *p = make_problem(starts[i].name, NULL);
        formulas kind = starts[i].kind;
        double x0 = starts[i].x0, y0 = starts[i].y0;
        check_from(p, kind, "mgbio", SETTINGS("gamma", "0.05", "lambda", "0.1", TIGHT), 0, &x0,
                   &y0);
        check_from(p, kind, "mgbio",
                   SETTINGS("gamma", "0.05", "lambda", "0.1", "linear", "explicit"), 0, &x0, &y0);
        for (int form = 0; form < 2; form++) {
            const char *word = form ? "operator" : "explicit";
            check_from(p, kind, "msgbio",
                       SETTINGS("gamma", "0.05", "lambda", "0.1", "k", "2.5", "m", "5", "c1", "0.9",
                                "c2", "0.8", "c3", "0.7", "c4", "0.85", "c5", "0.95",
                                "representation", word, "window", "8", TIGHT),
                       0, &x0, &y0);
            check_from(p, kind, "vr-msgbio",
                       SETTINGS("gamma", "0.05", "lambda", "0.1", "k", "1.2", "m", "3", "c1", "0.4",
                                "c2", "0.6", "c3", "0.8", "c4", "0.5", "c5", "0.7",
                                "representation", word, "window", "8", TIGHT),
                       0, &x0, &y0);
        }
        blv_problem_destroy(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mgbio),   cmocka_unit_test(test_momentum),
        cmocka_unit_test(test_batches), cmocka_unit_test(test_long_steps),
        cmocka_unit_test(test_clip),    cmocka_unit_test(test_toys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
