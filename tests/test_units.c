/* Units of f, g, x and y: each multiplied by 2^10 and 2^-10 gives the same iterates up to the
 * factor, bit for bit, for every solver with automatic constants, the tuning-free ones with
 * scale=auto. Where derivatives come from differences: to 1e-6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bilevel/bilevel.h"
#include "run_testing.h"

#include <stdio.h>

enum { STEPS = 10 };

/* f' = f_unit f, g' = g_unit g, x' = x_unit x, y' = y_unit y: all powers of two, so that nothing is
 * rounded in another way. */
typedef struct units {
    double f, g, x, y;
} units;

typedef struct scaled {
    blv_problem *base, *problem;
    const blv_problem_def *def;
    units unit;
    bool differences; /* neither Hv nor Jv is handed over */
    blv_vec *x, *y;
} scaled;

static void at_base(const scaled *s, const blv_vec *x, const blv_vec *y) {
    blv_vec_copy(s->x, x);
    blv_vec_scale(s->x, 1.0 / s->unit.x);
    blv_vec_copy(s->y, y);
    blv_vec_scale(s->y, 1.0 / s->unit.y);
}

static void multiply(blv_vec *v, double factor) {
    if (v)
        blv_vec_scale(v, factor);
}

static int scaled_value(const scaled *s, blv_upper_fn ask, double unit, const blv_batch *batch,
                        const blv_vec *x, const blv_vec *y, double *value, blv_vec *in_x,
                        blv_vec *in_y) {
    at_base(s, x, y);
    int code = ask(s->def->user, batch, s->x, s->y, value, in_x, in_y);
    if (value)
        *value *= unit;
    multiply(in_x, unit / s->unit.x);
    multiply(in_y, unit / s->unit.y);
    return code;
}

static int scaled_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        double *f, blv_vec *fx, blv_vec *fy) {
    const scaled *s = user;
    return scaled_value(s, s->def->upper, s->unit.f, batch, x, y, f, fx, fy);
}

static int scaled_lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        double *g, blv_vec *gx, blv_vec *gy) {
    const scaled *s = user;
    return scaled_value(s, s->def->lower, s->unit.g, batch, x, y, g, gx, gy);
}

static int scaled_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, blv_vec *hv) {
    const scaled *s = user;
    at_base(s, x, y);
    int code = s->def->lower_hvp(s->def->user, batch, s->x, s->y, v, hv);
    multiply(hv, s->unit.g / (s->unit.y * s->unit.y));
    return code;
}

static int scaled_project(void *user, blv_vec *x) {
    const scaled *s = user;
    blv_vec_scale(x, 1.0 / s->unit.x);
    int code = s->def->project_x(s->def->user, x);
    blv_vec_scale(x, s->unit.x);
    return code;
}

static int scaled_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        const blv_vec *v, blv_vec *jv) {
    const scaled *s = user;
    at_base(s, x, y);
    int code = s->def->lower_cross(s->def->user, batch, s->x, s->y, v, jv);
    multiply(jv, s->unit.g / (s->unit.x * s->unit.y));
    return code;
}

/* ---- A ridge regression: a penalty exp(x_j) for each weight ---- */

enum { RIDGE_DIM = 6, RIDGE_ROWS = 40 };

static double ridge_feature[2 * RIDGE_ROWS][RIDGE_DIM], ridge_target[2 * RIDGE_ROWS];

static void fill_ridge(void) {
    for (size_t row = 0; row < 2 * RIDGE_ROWS; row++) {
        for (size_t j = 0; j < RIDGE_DIM; j++)
            ridge_feature[row][j] = sin(1.0 + 3.0 * (double)row + 7.0 * (double)j * (double)j);
        ridge_target[row] = cos(2.0 * (double)row) + ridge_feature[row][0];
    }
}

/* Mean of squares / 2 over rows first .. first + RIDGE_ROWS of the batch, and its gradient. */
static double squares(const blv_batch *batch, size_t first, const blv_vec *y, double *gradient) {
    size_t count = batch ? batch->count : RIDGE_ROWS;
    double value = 0.0, at[RIDGE_DIM];
    blv_vec_read(y, at);
    for (size_t k = 0; k < count; k++) {
        size_t row = first + (!batch ? k : batch->index ? batch->index[k] : batch->first + k);
        double error = -ridge_target[row];
        for (size_t j = 0; j < RIDGE_DIM; j++)
            error += ridge_feature[row][j] * at[j];
        value += 0.5 * error * error / (double)count;
        for (size_t j = 0; gradient && j < RIDGE_DIM; j++)
            gradient[j] += error * ridge_feature[row][j] / (double)count;
    }
    return value;
}

static int ridge_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       double *f, blv_vec *fx, blv_vec *fy) {
    double gradient[RIDGE_DIM] = {0};
    double value = squares(batch, RIDGE_ROWS, y, gradient);
    (void)user, (void)x;
    if (f)
        *f = value;
    for (size_t j = 0; j < RIDGE_DIM; j++) {
        blv_vec_put(fx, j, 0.0);
        blv_vec_put(fy, j, gradient[j]);
    }
    return 0;
}

static int ridge_lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       double *g, blv_vec *gx, blv_vec *gy) {
    double gradient[RIDGE_DIM] = {0};
    double value = squares(batch, 0, y, gradient);
    (void)user;
    for (size_t j = 0; j < RIDGE_DIM; j++) {
        double w = exp(blv_vec_at(x, j)), yj = blv_vec_at(y, j);
        value += 0.5 * w * yj * yj;
        blv_vec_put(gx, j, 0.5 * w * yj * yj);
        blv_vec_put(gy, j, gradient[j] + w * yj);
    }
    if (g)
        *g = value;
    return 0;
}

static int ridge_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *hv) {
    size_t count = batch ? batch->count : RIDGE_ROWS;
    double out[RIDGE_DIM] = {0}, at[RIDGE_DIM];
    (void)user, (void)y;
    blv_vec_read(v, at);
    for (size_t k = 0; k < count; k++) {
        size_t row = !batch ? k : batch->index ? batch->index[k] : batch->first + k;
        double product = 0.0;
        for (size_t j = 0; j < RIDGE_DIM; j++)
            product += ridge_feature[row][j] * at[j];
        for (size_t j = 0; j < RIDGE_DIM; j++)
            out[j] += product * ridge_feature[row][j] / (double)count;
    }
    for (size_t j = 0; j < RIDGE_DIM; j++)
        blv_vec_put(hv, j, out[j] + exp(blv_vec_at(x, j)) * at[j]);
    return 0;
}

static int ridge_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       const blv_vec *v, blv_vec *jv) {
    (void)user, (void)batch;
    for (size_t j = 0; j < RIDGE_DIM; j++)
        blv_vec_put(jv, j, exp(blv_vec_at(x, j)) * blv_vec_at(y, j) * blv_vec_at(v, j));
    return 0;
}

static blv_problem *make_ridge(void) {
    blv_problem *problem = NULL;
    const blv_problem_def def = {BLV_SIZED(blv_problem_def),  .dim_x = RIDGE_DIM,
                                 .dim_y = RIDGE_DIM,          .threads = 1,
                                 .upper_samples = RIDGE_ROWS, .lower_samples = RIDGE_ROWS,
                                 .upper = ridge_upper,        .lower = ridge_lower,
                                 .lower_hvp = ridge_hvp,      .lower_cross = ridge_cross};
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    return problem;
}

/* ---- The problems ---- */

/* Some of the best penalties are outside. */
static int ridge_project(void *user, blv_vec *x) {
    (void)user;
    for (size_t j = 0; j < RIDGE_DIM; j++)
        blv_vec_put(x, j, fmin(fmax(blv_vec_at(x, j), -0.5), 0.25));
    return 0;
}

static blv_problem *make_box(void) {
    blv_problem *whole = make_ridge(), *problem = NULL;
    blv_problem_def def = *blv_problem_definition(whole);
    def.project_x = ridge_project;
    def.space_x = def.space_y = NULL;
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    blv_problem_destroy(whole);
    return problem;
}

static blv_problem *from_family(const char *family, const char *const *settings) {
    blv_problem *problem = NULL;
    blv_message why = {0};
    const blv_problem_options options = {BLV_SIZED(blv_problem_options), .threads = 1};
    blv_error error = blv_problem_from_family(blv_family_find(NULL, family, NULL), settings,
                                              &options, &problem, &why);
    if (error != BLV_OK)
        fail_msg("%s: %s", family, why.text);
    return problem;
}

static blv_problem *make_quadratic(void) {
    const char *const settings[] = {"dx", "5", "dy", "7", "kappa", "20", NULL};
    return from_family("quadratic", settings);
}

static blv_problem *make_sum(void) {
    const char *const settings[] = {"dx", "5", "dy", "5", "kappa", "5", "terms", "50", NULL};
    return from_family("quadratic", settings);
}

static blv_problem *make_logistic(void) {
    const char *const settings[] = {"rows", "120", "columns", "8", NULL};
    return from_family("synthetic-logistic", settings);
}

static const struct {
    const char *name;
    blv_problem *(*make)(void);
    const char *batch; /* NULL: not a sum */
} problems[] = {{"quadratic", make_quadratic, NULL},
                {"quadratic sum", make_sum, "16"},
                {"ridge", make_ridge, "16"},
                {"logistic", make_logistic, "16"},
                {"ridge in a box", make_box, "16"}};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static void open_scaled(scaled *s, size_t problem, units unit, bool differences) {
    *s = (scaled){.base = problems[problem].make(), .unit = unit, .differences = differences};
    s->def = blv_problem_definition(s->base);
    assert_int_equal(blv_vec_create(&s->x, s->def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&s->y, s->def->space_y), BLV_OK);
    const blv_problem_def def = {BLV_SIZED(blv_problem_def),
                                 .dim_x = s->def->dim_x,
                                 .dim_y = s->def->dim_y,
                                 .threads = 1,
                                 .upper_samples = s->def->upper_samples,
                                 .lower_samples = s->def->lower_samples,
                                 .shuffled = s->def->shuffled,
                                 .user = s,
                                 .upper = scaled_upper,
                                 .lower = scaled_lower,
                                 .lower_hvp = differences ? NULL : scaled_hvp,
                                 .lower_cross = differences ? NULL : scaled_cross,
                                 .project_x = s->def->project_x ? scaled_project : NULL,
                                 .space_x = s->def->space_x,
                                 .space_y = s->def->space_y};
    assert_int_equal(blv_problem_create(&s->problem, &def, NULL), BLV_OK);
}

static void close_scaled(scaled *s) {
    blv_problem_destroy(s->problem);
    blv_vec_destroy(s->x);
    blv_vec_destroy(s->y);
    blv_problem_destroy(s->base);
}

/* ---- Runs ---- */

typedef struct trail {
    size_t dim_x, dim_y, steps;
    double x[STEPS][DIM_MAX], y[STEPS][DIM_MAX];
    blv_outcome outcome;
} trail;

static void follow(size_t problem, units unit, const blv_solver *solver, bool random,
                   bool differences, trail *t) {
    scaled s;
    open_scaled(&s, problem, unit, differences);
    blv_run *run = NULL;
    assert_int_equal(blv_run_create(&run, s.problem, solver, NULL), BLV_OK);
    if (strcmp(solver->group, "tuning-free") == 0)
        assert_int_equal(blv_run_set(run, "scale", "auto"), BLV_OK);
    if (problems[problem].batch)
        assert_int_equal(blv_run_set(run, "batch", problems[problem].batch), BLV_OK);
    t->dim_x = s.def->dim_x;
    t->dim_y = s.def->dim_y;
    double start[DIM_MAX];
    if (random) {
        for (size_t i = 0; i < t->dim_x; i++)
            start[i] = unit.x * sin(5.0 + 3.0 * (double)i) / 2.0;
        assert_int_equal(blv_run_write(run, "x", start), BLV_OK);
        for (size_t i = 0; i < t->dim_y; i++)
            start[i] = unit.y * sin(2.0 + 7.0 * (double)i) / 2.0;
        assert_int_equal(blv_run_write(run, "y", start), BLV_OK);
    }
    for (t->steps = 0; t->steps < STEPS; t->steps++) {
        assert_int_equal(blv_run_step(run), BLV_OK);
        assert_int_equal(blv_run_read(run, "x", t->x[t->steps]), BLV_OK);
        assert_int_equal(blv_run_read(run, "y", t->y[t->steps]), BLV_OK);
    }
    t->outcome = blv_run_result(run)->outcome;
    blv_run_destroy(run);
    close_scaled(&s);
}

/* Whether they are equal up to the unit, or no further apart than this share of the largest. */
static bool same(const double *a, const double *b, size_t n, double unit, double share) {
    double largest = 0.0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(a[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(b[i] / unit - a[i]) <= share * largest))
            return false;
    return true;
}

/* The first step that differs; STEPS: none. */
static size_t first_difference(const trail *a, const trail *b, units unit, double share) {
    for (size_t k = 0; k < STEPS; k++)
        if (!same(a->x[k], b->x[k], a->dim_x, unit.x, share) ||
            !same(a->y[k], b->y[k], a->dim_y, unit.y, share))
            return k;
    return STEPS;
}

static const units changes[] = {{0x1p10, 1, 1, 1},  {0x1p-10, 1, 1, 1}, {1, 0x1p10, 1, 1},
                                {1, 0x1p-10, 1, 1}, {1, 1, 0x1p10, 1},  {1, 1, 0x1p-10, 1},
                                {1, 1, 1, 0x1p10},  {1, 1, 1, 0x1p-10}};
enum { CHANGES = sizeof changes / sizeof *changes };

/* How many changes of unit change the run. */
static size_t try_problem(const blv_solver *solver, size_t p, bool random, bool differences) {
    static trail plain, other;
    static const units none = {1, 1, 1, 1};
    size_t failures = 0;
    follow(p, none, solver, random, differences, &plain);
    if (plain.outcome == BLV_DIVERGED)
        fail_msg("%s on %s: %s", solver->name, problems[p].name, blv_outcome_text(plain.outcome));
    for (size_t c = 0; c < CHANGES; c++) {
        follow(p, changes[c], solver, random, differences, &other);
        size_t step = first_difference(&plain, &other, changes[c], differences ? 1e-6 : 0.0);
        if (step == STEPS && plain.outcome == other.outcome)
            continue;
        if (failures++ == 0)
            print_error("%s: %s%s%s, %c %s: step %zu\n", solver->name, problems[p].name,
                        random ? " from a random start" : "", differences ? " by differences" : "",
                        "fgxy"[c / 2], c % 2 ? "/ 1024" : "x 1024", step);
    }
    return failures;
}

static void test_units(void **state) {
    size_t failures = 0;
    (void)state;
    const blv_solver *solver;
    for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++)
        for (size_t p = 0; p < PROBLEMS; p++)
            failures += try_problem(solver, p, false, false) + try_problem(solver, p, true, false);
    assert_int_equal(failures, 0);
}

/* Hv and Jv from differences of gradients, whose width has no unit either. */
static void test_differences(void **state) {
    enum { LOGISTIC = 3 };
    size_t failures = 0;
    (void)state;
    const blv_solver *solver;
    for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++)
        failures += try_problem(solver, LOGISTIC, true, true);
    assert_int_equal(failures, 0);
}

/* Where a run ends by itself, and as what, has no unit either, on a set X too. */
static void test_ends(void **state) {
    static const char *const names[] = {"auto", "exact"};
    (void)state;
    for (size_t n = 0; n < 2; n++) {
        uint64_t first = 0;
        for (size_t c = 0; c <= CHANGES; c++) {
            scaled s;
            blv_run *run = NULL;
            open_scaled(&s, PROBLEMS - 1, c < CHANGES ? changes[c] : (units){1, 1, 1, 1}, false);
            assert_int_equal(
                blv_run_create(&run, s.problem, blv_solver_find(NULL, names[n], NULL), NULL),
                BLV_OK);
            assert_int_equal(blv_run_solve(run), BLV_OK);
            const blv_result *result = blv_run_result(run);
            assert_int_equal(result->outcome, BLV_CONVERGED);
            if (c == 0)
                first = result->iterations;
            assert_int_equal(result->iterations, first);
            blv_run_destroy(run);
            close_scaled(&s);
        }
    }
}

int main(void) {
    fill_ridge();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_units),
                                       cmocka_unit_test(test_differences),
                                       cmocka_unit_test(test_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
