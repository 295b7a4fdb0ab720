/* The built-in problems: derivatives, closed forms against LAPACK, spectrum, finite sums. And the
 * check itself: each planted mistake must be found, and named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blv_testing.h"

/* ---- Derivatives ---- */

static void assert_check_passes(const blv_problem *problem, uint64_t seed, double scale) {
    blv_check_report report;
    blv_message why;
    if (blv_problem_check(problem, seed, scale, &report, &why) != BLV_OK)
        fail_msg("%s", why.text);
    const blv_problem_def *def = blv_problem_definition(problem);
    for (size_t i = 0; i < report.count; i++)
        if (!report.item[i].ok)
            print_error("%s %s, seed %d, scale %g: %s is off by %.3g, allowed %.3g\n", def->name,
                        def->precision == BLV_F32 ? "f32" : "f64", (int)seed, scale,
                        report.item[i].what, report.item[i].error, report.item[i].allowed);
    assert_true(report.count >= 6);
    assert_true(report.ok);
}

static const struct {
    const char *name;
    const char *const *settings;
} instances[] = {
    {"quadratic", NULL},
    {"quadratic", (const char *const[]){"dx", "7", "dy", "3", "kappa", "10", NULL}},
    {"quadratic",
     (const char *const[]){"dx", "3", "dy", "80", "kappa", "1000", "ridge", "0", NULL}},
    {"quadratic", (const char *const[]){"dx", "6", "dy", "4", "terms", "17", "scale", "1", NULL}},
    {"quadratic", (const char *const[]){"dx", "90", "dy", "5", "terms", "2", "seed", "3", NULL}},
    {"scalar-penalty", NULL},
    {"parabola", NULL},
    {"saddle", NULL},
    {"pl-sine", NULL},
    {"pl-shift", NULL},
    {"pl-shift", (const char *const[]){"dim", "200", "seed", "5", NULL}},
    {"non-singleton", NULL},
};

static void test_derivatives(void **state) {
    (void)state;
    static const double scales[] = {0.1, 1.0, 3.0};
    for (size_t i = 0; i < sizeof instances / sizeof *instances; i++)
        for (int precision = 0; precision < 2; precision++) {
            blv_problem *p = make_problem_as(instances[i].name, instances[i].settings,
                                             precision ? BLV_F32 : BLV_F64, 1);
            for (uint64_t seed = 0; seed < 4; seed++)
                for (size_t s = 0; s < 3; s++)
                    assert_check_passes(p, seed, scales[s]);
            blv_problem_destroy(p);
        }
}

/* ---- Closed forms ---- */

static double *random_numbers(size_t n, unsigned seed) {
    double *out = make_numbers(n);
    uint64_t bits = 1u + seed;
    for (size_t i = 0; i < n; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        out[i] = (double)(bits >> 11) * 0x1p-52 - 1.0;
    }
    return out;
}

static void check_closed_form(const char *const *settings) {
    blv_problem *p = make_problem("quadratic", settings);
    const blv_problem_def *def = blv_problem_definition(p);
    size_t dx = def->dim_x, dy = def->dim_y;
    double *x = random_numbers(dx, 3), *gradient = make_numbers(dx), *known = make_numbers(dx);
    double *best_x = make_numbers(dx), *best_y = make_numbers(dy), *known_y = make_numbers(dy);
    double phi, known_phi;
    blv_vec *vx, *vy, *vg;
    assert_int_equal(blv_vec_create(&vx, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&vg, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&vy, def->space_y), BLV_OK);

    blv_vec_write(vx, x);
    quadratic_truth(p, x, NULL, &phi, gradient);
    assert_int_equal(def->known_phi(def->user, vx, &known_phi, vg), 0);
    blv_vec_read(vg, known);
    assert_near(known_phi, phi, 1e-11 * (1.0 + phi));
    assert_at_most(dense_gap(dx, known, gradient), 1e-10 * (1.0 + dense_size(dx, gradient)));
    assert_int_equal(def->known_phi(def->user, vx, NULL, NULL), 0);

    quadratic_best_x(p, best_x);
    quadratic_truth(p, best_x, best_y, NULL, gradient);
    assert_at_most(dense_size(dx, gradient), 1e-10);
    assert_int_equal(def->known_solution(def->user, vx, vy), 0);
    blv_vec_read(vx, known);
    blv_vec_read(vy, known_y);
    assert_at_most(dense_gap(dx, known, best_x), 1e-10 * (1.0 + dense_size(dx, best_x)));
    assert_at_most(dense_gap(dy, known_y, best_y), 1e-10 * (1.0 + dense_size(dy, best_y)));
    assert_int_equal(def->known_solution(def->user, NULL, NULL), 0);

    double *const all[] = {x, gradient, known, best_x, best_y, known_y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    blv_vec_destroy(vx);
    blv_vec_destroy(vy);
    blv_vec_destroy(vg);
    blv_problem_destroy(p);
}

static void test_quadratic_closed_form(void **state) {
    (void)state;
    check_closed_form(NULL);
    check_closed_form(SETTINGS("seed", "12", "ridge", "0.01"));
    check_closed_form(SETTINGS("dx", "3", "dy", "11", "kappa", "1000", "scale", "1"));
    check_closed_form(SETTINGS("dx", "11", "dy", "3", "kappa", "1", "terms", "5"));
    check_closed_form(SETTINGS("dx", "1", "dy", "1", "eigen_min", "0.1"));
}

static void check_spectrum(const char *dy, const char *eigen_min, const char *kappa) {
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "4", "dy", dy, "eigen_min", eigen_min,
                                                        "kappa", kappa, "seed", "2"));
    size_t n = blv_problem_definition(p)->dim_y;
    const double lo = strtod(eigen_min, NULL), hi = n > 1 ? lo * strtod(kappa, NULL) : lo;
    const double *A = array_of(p, "A");
    double *copy = make_numbers(n * n), *values = make_numbers(n);
    memcpy(copy, A, n * n * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(A[i * n + j] == A[j * n + i]);
    assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', (int)n, copy, (int)n, values), 0);
    assert_near(values[0], lo, 1e-12 * hi);
    assert_near(values[n - 1], hi, 1e-12 * hi);
    for (size_t i = 1; i < n; i++) { /* spread evenly on the logarithmic scale */
        double expected = lo * pow(hi / lo, (double)i / (double)(n - 1));
        assert_near(values[i], expected, 1e-12 * hi);
    }
    free(copy);
    free(values);
    blv_problem_destroy(p);
}

static void test_spectrum(void **state) {
    (void)state;
    check_spectrum("50", "1", "100");
    check_spectrum("50", "0.1", "10");
    check_spectrum("31", "3", "1");
    check_spectrum("8", "0.01", "10000");
    check_spectrum("1", "2", "100");
}

/* Every term of the sum is itself strongly convex in y: delta is small. */
static void test_terms_are_convex(void **state) {
    (void)state;
    blv_problem *p = make_problem("quadratic", SETTINGS("dx", "3", "dy", "6", "terms", "40"));
    const blv_problem_def *def = blv_problem_definition(p);
    blv_vec *x, *y, *unit, *column;
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    assert_int_equal(blv_vec_create(&unit, def->space_y), BLV_OK);
    assert_int_equal(blv_vec_create(&column, def->space_y), BLV_OK);
    double mean[36] = {0}, A[36], values[6];
    for (size_t i = 0; i < 40; i++) {
        const blv_batch one = {.first = i, .count = 1};
        for (size_t k = 0; k < 6; k++) {
            double e[6] = {0};
            e[k] = 1.0;
            blv_vec_write(unit, e);
            assert_int_equal(def->lower_hvp(def->user, &one, x, y, unit, column), 0);
            blv_vec_read(column, A + 6 * k);
        }
        for (size_t k = 0; k < 36; k++)
            mean[k] += A[k] / 40.0;
        assert_int_equal(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 6, A, 6, values), 0);
        assert_true(values[0] > 0.1);
    }
    for (size_t k = 0; k < 36; k++)
        assert_near(mean[k], array_of(p, "A")[k], 1e-11);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_vec_destroy(unit);
    blv_vec_destroy(column);
    blv_problem_destroy(p);
}

/* Known solutions of the toys: the gradient of Phi vanishes there, to differences of Phi. */
static void test_toy_solutions(void **state) {
    (void)state;
    static const char *const names[] = {"scalar-penalty", "parabola", "saddle", "pl-sine"};
    static const double answers[][3] = {
        {0.45, 0.1, 0.0}, {0.5, 0.5, 0.5}, {0.0, 0.0, 0.0}, {1.21515, -1.21515, 0.19991}};
    for (size_t i = 0; i < 4; i++) {
        blv_problem *p = make_problem(names[i], NULL);
        const blv_problem_def *def = blv_problem_definition(p);
        blv_vec *x, *y, *gradient;
        double at_x, at_y, phi, slope, above, below;
        const double h = 1e-5;
        assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
        assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
        assert_int_equal(blv_vec_create(&gradient, def->space_x), BLV_OK);
        assert_int_equal(def->known_solution(def->user, x, y), 0);
        blv_vec_read(x, &at_x);
        blv_vec_read(y, &at_y);
        assert_near(at_x, answers[i][0], 5e-6);
        assert_near(at_y, answers[i][1], 5e-6);
        assert_int_equal(def->known_phi(def->user, x, &phi, gradient), 0);
        blv_vec_read(gradient, &slope);
        assert_near(phi, answers[i][2], 5e-6);
        assert_near(slope, 0.0, 1e-10);
        blv_vec_fill(x, at_x + 0.1 + h); /* away from the solution: the gradient is not trivial */
        assert_int_equal(def->known_phi(def->user, x, &above, NULL), 0);
        blv_vec_fill(x, at_x + 0.1 - h);
        assert_int_equal(def->known_phi(def->user, x, &below, NULL), 0);
        blv_vec_fill(x, at_x + 0.1);
        assert_int_equal(def->known_phi(def->user, x, NULL, gradient), 0);
        blv_vec_read(gradient, &slope);
        assert_near((above - below) / (2.0 * h), slope, 1e-7);
        blv_vec_destroy(x);
        blv_vec_destroy(y);
        blv_vec_destroy(gradient);
        blv_problem_destroy(p);
    }
}

/* ---- Planted mistakes ---- */

typedef enum mistake {
    NO_MISTAKE,
    WRONG_FX,
    WRONG_FY,
    WRONG_GX,
    WRONG_GY,
    ASYMMETRIC_HV,
    WRONG_JV,
    WRONG_ALL_GY,
    WRONG_ALL_HV,
    WRONG_ALL_JV,
    WRONG_F_BATCH,
    WRONG_G_BATCH,
    WRONG_PROJECTION,
    WRONG_HESSIAN,
    WRONG_CROSS,
    NAN_IN_GY,
    WRONG_FX_BATCH,
    WRONG_F_VALUE_BATCH,
    WRONG_GX_BATCH,
    WRONG_G_VALUE_BATCH,
    WRONG_HV_BATCH,
    WRONG_JV_BATCH,
    WRONG_ALL_BATCH,
    WRONG_FY_ALONE,
    WRONG_GY_ALONE,
    WRONG_ALL_HV_ALONE
} mistake;

enum { AT = 2, DX = 5, DY = 4 };

typedef struct planted {
    const blv_problem_def *inner;
    mistake what;
} planted;

/* Adds a hundredth to coordinate AT, or a NaN. */
static void spoil(blv_vec *v, bool yes, double by) {
    if (!v || !yes)
        return;
    double host[DX > DY ? DX : DY];
    blv_vec_read(v, host);
    host[AT] += by;
    blv_vec_write(v, host);
}

static int planted_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                         double *f, blv_vec *fx, blv_vec *fy) {
    const planted *p = user;
    int code = p->inner->upper(p->inner->user, batch, x, y, f, fx, fy);
    if (f && batch && p->what == WRONG_F_VALUE_BATCH)
        *f += 0.01;
    spoil(fx, p->what == WRONG_FX || (p->what == WRONG_FX_BATCH && batch), 0.01);
    spoil(fy, p->what == WRONG_FY_ALONE && !fx && !batch, 0.01);
    spoil(fy, p->what == WRONG_FY || (p->what == WRONG_F_BATCH && batch), 0.01);
    return code;
}

static int planted_lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                         double *g, blv_vec *gx, blv_vec *gy) {
    const planted *p = user;
    int code = p->inner->lower(p->inner->user, batch, x, y, g, gx, gy);
    if (g && batch && p->what == WRONG_G_VALUE_BATCH)
        *g += 0.01;
    spoil(gx, p->what == WRONG_GX || (p->what == WRONG_GX_BATCH && batch), 0.01);
    spoil(gy, p->what == WRONG_GY_ALONE && !gx && !batch, 0.01);
    spoil(gy, p->what == WRONG_GY || (p->what == WRONG_G_BATCH && batch), 0.01);
    spoil(gy, p->what == NAN_IN_GY, (double)NAN);
    return code;
}

/* One row of H is a little longer than the column. */
static int planted_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       const blv_vec *v, blv_vec *hv) {
    const planted *p = user;
    int code = p->inner->lower_hvp(p->inner->user, batch, x, y, v, hv);
    double host[DY];
    blv_vec_read(v, host);
    spoil(hv, p->what == ASYMMETRIC_HV || (p->what == WRONG_HV_BATCH && batch), 0.01 * host[0]);
    return code;
}

static int planted_jv(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, blv_vec *jv) {
    const planted *p = user;
    int code = p->inner->lower_cross(p->inner->user, batch, x, y, v, jv);
    spoil(jv, p->what == WRONG_JV || (p->what == WRONG_JV_BATCH && batch), 0.01);
    return code;
}

static int planted_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    const planted *p = user;
    int code = p->inner->lower_all(p->inner->user, batch, x, y, v, gy, hv, jv);
    spoil(gy, p->what == WRONG_ALL_GY || (p->what == WRONG_ALL_BATCH && batch), 1e-6);
    spoil(hv, p->what == WRONG_ALL_HV || (p->what == WRONG_ALL_HV_ALONE && !gy && !jv), 1e-6);
    spoil(jv, p->what == WRONG_ALL_JV, 1e-6);
    return code;
}

/* A ball of radius 2 by its formula; the wrong one goes only half of the way. */
static int planted_project(void *user, blv_vec *x) {
    const planted *p = user;
    double norm = blv_vec_norm(x), radius = 2.0;
    if (norm > radius)
        blv_vec_scale(x, (p->what == WRONG_PROJECTION ? 0.5 * (norm + radius) : radius) / norm);
    return 0;
}

static int planted_hessian(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                           double *matrix) {
    const planted *p = user;
    (void)batch;
    (void)x;
    (void)y;
    memcpy(matrix, p->inner->arrays[0].data, (size_t)DY * DY * sizeof *matrix);
    matrix[AT] += p->what == WRONG_HESSIAN ? 0.01 : 0.0;
    return 0;
}

static int planted_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                         double *matrix) {
    const planted *p = user;
    (void)batch;
    (void)x;
    (void)y;
    for (size_t i = 0; i < DX; i++)
        for (size_t j = 0; j < DY; j++)
            matrix[i * DY + j] = p->inner->arrays[1].data[j * DX + i];
    matrix[AT] += p->what == WRONG_CROSS ? 0.01 : 0.0;
    return 0;
}

static blv_problem *plant(planted *user, blv_problem **inner, mistake what) {
    *inner = make_problem(
        "quadratic", SETTINGS("dx", "5", "dy", "4", "kappa", "3", "terms", "7", "scale", "0.5"));
    *user = (planted){.inner = blv_problem_definition(*inner), .what = what};
    blv_problem_def def = {BLV_SIZED(blv_problem_def),
                           .name = "planted",
                           .dim_x = DX,
                           .dim_y = DY,
                           .upper_samples = 7,
                           .lower_samples = 7,
                           .user = user,
                           .upper = planted_upper,
                           .lower = planted_lower,
                           .lower_hvp = planted_hvp,
                           .lower_cross = planted_jv,
                           .lower_all = planted_all,
                           .project_x = planted_project,
                           .lower_hessian_matrix = planted_hessian,
                           .lower_cross_matrix = planted_cross};
    blv_problem *problem = NULL;
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    return problem;
}

/* item: how the item begins that must find it; by_coordinate: it names the coordinate. */
static void check_mistake(mistake what, const char *item, bool by_coordinate) {
    planted user;
    blv_problem *inner, *problem = plant(&user, &inner, what);
    blv_message why;
    for (uint64_t seed = 0; seed < 5; seed++) {
        blv_check_report report;
        assert_int_equal(blv_problem_check(problem, seed, 1.0, &report, &why), BLV_OK);
        assert_int_equal(report.ok, what == NO_MISTAKE);
        bool found = what == NO_MISTAKE;
        for (size_t i = 0; i < report.count; i++) {
            const blv_check_item *it = &report.item[i];
            if (what == NO_MISTAKE)
                assert_true(it->ok);
            else if (strncmp(it->what, item, strlen(item)) == 0) {
                found = true;
                if (it->ok)
                    fail_msg("seed %d: '%s' did not notice mistake %d", (int)seed, item, what);
                assert_int_equal(it->worst, by_coordinate ? AT : SIZE_MAX);
            }
        }
        assert_true(found);
    }
    blv_problem_destroy(problem);
    blv_problem_destroy(inner);
}

static void test_mistakes_are_found(void **state) {
    (void)state;
    check_mistake(NO_MISTAKE, "", false);
    check_mistake(WRONG_FX, "fx against", true);
    check_mistake(WRONG_FY, "fy against", true);
    check_mistake(WRONG_GX, "gx against", true);
    check_mistake(WRONG_GY, "gy against", true);
    check_mistake(ASYMMETRIC_HV, "Hv symmetric", false);
    check_mistake(ASYMMETRIC_HV, "Hv against", false);
    check_mistake(WRONG_JV, "Jv against", false);
    check_mistake(WRONG_ALL_GY, "lower_all against", false);
    check_mistake(WRONG_ALL_HV, "lower_all against", false);
    check_mistake(WRONG_ALL_JV, "lower_all against", false);
    check_mistake(WRONG_F_BATCH, "f, fx, fy: batches", false);
    check_mistake(WRONG_G_BATCH, "g, gx, gy: batches", false);
    check_mistake(WRONG_PROJECTION, "projection", false);
    check_mistake(WRONG_HESSIAN, "lower_hessian_matrix", false);
    check_mistake(WRONG_CROSS, "lower_cross_matrix", false);
    check_mistake(NAN_IN_GY, "g, gx, gy: batches", false);
}

/* Whether any item at all notices. */
static bool is_found(mistake what) {
    planted user;
    blv_problem *inner, *problem = plant(&user, &inner, what);
    blv_check_report report;
    blv_message why;
    assert_int_equal(blv_problem_check(problem, 0, 1.0, &report, &why), BLV_OK);
    blv_problem_destroy(problem);
    blv_problem_destroy(inner);
    return !report.ok;
}

static size_t count_missed(size_t count, const mistake *mistakes, const char *const *names) {
    size_t missed = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_found(mistakes[i])) {
            print_error("not noticed: %s\n", names[i]);
            missed++;
        }
    return missed;
}

/* Every oracle on a batch, not fy and gy alone: stochastic solvers call nothing else. */
static void test_mistakes_on_batches(void **state) {
    (void)state;
    static const mistake mistakes[] = {WRONG_FX_BATCH,      WRONG_F_VALUE_BATCH, WRONG_GX_BATCH,
                                       WRONG_G_VALUE_BATCH, WRONG_HV_BATCH,      WRONG_JV_BATCH,
                                       WRONG_ALL_BATCH};
    static const char *const names[] = {"fx on a batch",       "f on a batch",  "gx on a batch",
                                        "g on a batch",        "Hv on a batch", "Jv on a batch",
                                        "lower_all on a batch"};
    assert_int_equal(count_missed(7, mistakes, names), 0);
}

/* Outputs that are right together and wrong alone: double-loop solvers ask for gy alone. */
static void test_mistakes_with_null_outputs(void **state) {
    (void)state;
    static const mistake mistakes[] = {WRONG_FY_ALONE, WRONG_GY_ALONE, WRONG_ALL_HV_ALONE};
    static const char *const names[] = {"fy without fx", "gy without gx", "Hv of lower_all alone"};
    assert_int_equal(count_missed(3, mistakes, names), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_quadratic_closed_form),
        cmocka_unit_test(test_spectrum),
        cmocka_unit_test(test_terms_are_convex),
        cmocka_unit_test(test_toy_solutions),
        cmocka_unit_test(test_mistakes_are_found),
        cmocka_unit_test(test_mistakes_on_batches),
        cmocka_unit_test(test_mistakes_with_null_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
