/* Cross-validation as the upper level of l2reg: values against problems on the parts of the rows,
 * oracles and the hypergradient against differences, real targets against the normal equations. */
#include "dataset_helpers.h"

#include "bilevel/bilevel.h"

enum { ROWS = 45, COLUMNS = 5, FOLDS = 3, REPEATS = 2, BLOCKS = FOLDS * REPEATS };

static blv_message why;
static uint32_t fold[REPEATS * ROWS];
static const uint32_t groups[COLUMNS] = {0, 1, 0, 1, 0};

static double wave(size_t i) {
    return sin(12.9898 * (double)(i + 1)) * 0.7;
}

/* classes 0: real targets. The last column is of ones. */
static blv_dataset *make_rows(size_t classes, bool sparse) {
    double dense[ROWS * COLUMNS], target[ROWS];
    int32_t label[ROWS];
    size_t row_start[ROWS + 1];
    uint32_t column[ROWS * COLUMNS];
    for (size_t i = 0; i < ROWS; i++) {
        double score = 0.0;
        for (size_t j = 0; j < COLUMNS; j++) {
            dense[i * COLUMNS + j] = j + 1 < COLUMNS ? wave(i * 31 + j * 7) : 1.0;
            column[i * COLUMNS + j] = (uint32_t)j;
            score += dense[i * COLUMNS + j] * (double)(j % 3) + 0.3 * wave(i * 5 + 2);
        }
        target[i] = score;
        label[i] = (int32_t)(((size_t)fabs(score * 3.0) + (i % 7 == 0)) % (classes ? classes : 1));
        row_start[i] = i * COLUMNS;
    }
    row_start[ROWS] = ROWS * COLUMNS;
    blv_dataset_view view = {.size = sizeof view,
                             .rows = ROWS,
                             .columns = COLUMNS,
                             .dense = sparse ? NULL : dense,
                             .stride = COLUMNS,
                             .row_start = sparse ? row_start : NULL,
                             .column = sparse ? column : NULL,
                             .value = sparse ? dense : NULL,
                             .classes = classes,
                             .label = classes ? label : NULL,
                             .target = classes ? NULL : target};
    blv_dataset *set = NULL;
    if (blv_dataset_create(&set, &view, NULL, &why) != BLV_OK)
        fail_msg("%s", why.text);
    for (size_t r = 0; r < REPEATS; r++)
        for (size_t i = 0; i < ROWS; i++)
            fold[r * ROWS + i] = (uint32_t)((i * (2 * r + 1) + i / 7) % FOLDS);
    return set;
}

static blv_l2reg_setting setting_of(blv_penalty_kind kind, bool fixed) {
    return (blv_l2reg_setting){.size = sizeof(blv_l2reg_setting),
                               .penalty = kind,
                               .group = groups,
                               .scale = 0.1,
                               .lo = -INFINITY,
                               .hi = INFINITY,
                               .last_penalty = fixed ? 0.01 : 0.0};
}

static blv_problem *make(const blv_sets *sets, const blv_l2reg_setting *setting) {
    blv_problem *problem = NULL;
    if (blv_l2reg_create(sets, setting, NULL, &problem, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return problem;
}

/* own: the rows of each block, or NULL. */
static blv_problem *fold_problem(blv_dataset *set, blv_l2reg_setting setting, double shrinkage,
                                 blv_dataset *const *own) {
    const blv_sets sets = {.size = sizeof sets, .train = set};
    setting.folds = FOLDS;
    setting.repeats = REPEATS;
    setting.fold = fold;
    setting.shrinkage = shrinkage;
    setting.fold_rows = own;
    return make(&sets, &setting);
}

static blv_vec *vec(const blv_space *space, const double *values) {
    blv_vec *v = NULL;
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    if (values)
        blv_vec_write(v, values);
    return v;
}

static void values_at(const blv_problem *problem, const double *x, const double *y, double *f,
                      double *g) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *vx = vec(def->space_x, x), *vy = vec(def->space_y, y);
    assert_int_equal(def->upper(def->user, NULL, vx, vy, f, NULL, NULL), 0);
    assert_int_equal(def->lower(def->user, NULL, vx, vy, g, NULL, NULL), 0);
    blv_vec_destroy(vx);
    blv_vec_destroy(vy);
}

/* f and g of a problem on copies of the rows of one fold. */
static void values_of_fold(blv_dataset *set, const blv_l2reg_setting *setting, size_t block,
                           const double *x, const double *y, double *f, double *g, size_t *held) {
    size_t in[ROWS], out[ROWS], trained = 0;
    *held = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (fold[block / FOLDS * ROWS + i] == block % FOLDS)
            out[(*held)++] = i;
        else
            in[trained++] = i;
    blv_sets parts = {.size = sizeof parts};
    assert_int_equal(blv_dataset_select(set, in, trained, &parts.train, &why), BLV_OK);
    assert_int_equal(blv_dataset_select(set, out, *held, &parts.val, &why), BLV_OK);
    blv_problem *problem = make(&parts, setting);
    values_at(problem, x, y, f, g);
    blv_problem_destroy(problem);
    blv_dataset_release(parts.train);
    blv_dataset_release(parts.val);
}

static void expect_sums(blv_dataset *set, blv_penalty_kind kind, bool fixed, double shrinkage,
                        blv_dataset *const *own) {
    const blv_l2reg_setting setting = setting_of(kind, fixed);
    blv_problem *problem = fold_problem(set, setting, shrinkage, own);
    const blv_problem_def *def = blv_problem_definition(problem);
    const size_t d = def->dim_x, block = def->dim_y / BLOCKS;
    double x[COLUMNS], y[BLOCKS * COLUMNS * 4], f = 0.0, g = 0.0, fs, gs;
    blv_check_report report;
    for (size_t k = 0; k < d; k++)
        x[k] = wave(k);
    for (size_t i = 0; i < def->dim_y; i++)
        y[i] = wave(i + 11);
    for (size_t b = 0; b < BLOCKS; b++) {
        size_t held;
        values_of_fold(own ? own[b] : set, &setting, b, x, y + b * block, &fs, &gs, &held);
        f += fs * (double)held / (double)(ROWS * REPEATS);
        g += gs;
    }
    for (size_t k = 0; k < d; k++)
        f += 0.5 * shrinkage * x[k] * x[k] / (double)d;
    values_at(problem, x, y, &fs, &gs);
    assert_true(fabs(f - fs) < 1e-12 * (1.0 + fabs(f)) && fabs(g - gs) < 1e-12 * (1.0 + fabs(g)));
    assert_int_equal(blv_problem_check(problem, 3, 1.0, &report, &why), BLV_OK);
    for (size_t i = 0; i < report.count; i++)
        if (!report.item[i].ok)
            fail_msg("%s: %g", report.item[i].what, report.item[i].error);
    blv_problem_destroy(problem);
}

static void test_sums(void **state) {
    (void)state;
    for (size_t classes = 0; classes <= 3; classes += classes == 0 ? 2 : 1)
        for (int sparse = 0; sparse < 2; sparse++) {
            blv_dataset *set = make_rows(classes, sparse);
            for (int kind = BLV_PENALTY_PER_FEATURE; kind <= BLV_PENALTY_GROUPS; kind++)
                for (int fixed = 0; fixed < 2; fixed++)
                    expect_sums(set, (blv_penalty_kind)kind, fixed, fixed ? 0.7 : 0.0, NULL);
            blv_dataset *own[BLOCKS]; /* every model sees the rows in a way of its own */
            for (size_t b = 0; b < BLOCKS; b++) {
                assert_int_equal(blv_dataset_copy(set, &own[b], &why), BLV_OK);
                assert_int_equal(blv_dataset_multiply(own[b], 1.0 + (double)b, &why), BLV_OK);
            }
            expect_sums(set, BLV_PENALTY_PER_FEATURE, true, 0.7, own);
            for (size_t b = 0; b < BLOCKS; b++)
                blv_dataset_release(own[b]);
            blv_dataset_release(set);
        }
}

/* ---- The hypergradient ---- */

static double phi(const blv_problem *problem, const double *x, double *y) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *vx = vec(def->space_x, x), *vy = vec(def->space_y, NULL);
    double reached, f, g;
    assert_int_equal(blv_solve_lower(problem, vx, vy, 1e-13, NULL, NULL, &reached, &why), BLV_OK);
    blv_vec_read(vy, y);
    values_at(problem, x, y, &f, &g);
    blv_vec_destroy(vx);
    blv_vec_destroy(vy);
    return f;
}

/* m becomes its solution of m v = b, by elimination without pivots: m is positive definite. */
static void eliminate(size_t n, double *m, double *b) {
    for (size_t k = 0; k < n; k++)
        for (size_t i = k + 1; i < n; i++) {
            double factor = m[i * n + k] / m[k * n + k];
            for (size_t j = k; j < n; j++)
                m[i * n + j] -= factor * m[k * n + j];
            b[i] -= factor * b[k];
        }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            b[k] -= m[k * n + j] * b[j];
        b[k] /= m[k * n + k];
    }
}

/* fx - J H^-1 fy with H from its products with unit vectors. */
static void hypergradient(const blv_problem *problem, const double *x, const double *y,
                          double *gradient) {
    const blv_problem_def *def = blv_problem_definition(problem);
    const size_t n = def->dim_y;
    double *h = calloc(n * n, sizeof *h), *unit = calloc(n, sizeof *unit);
    double *v = calloc(n, sizeof *v), *column = calloc(n, sizeof *column), fx[COLUMNS];
    blv_vec *vx = vec(def->space_x, x), *vy = vec(def->space_y, y), *vv = vec(def->space_y, NULL);
    blv_vec *hv = vec(def->space_y, NULL), *jv = vec(def->space_x, NULL);
    assert_int_equal(def->upper(def->user, NULL, vx, vy, NULL, jv, hv), 0);
    blv_vec_read(hv, v);
    blv_vec_read(jv, fx);
    for (size_t j = 0; j < n; j++) {
        unit[j] = 1.0;
        blv_vec_write(vv, unit);
        assert_int_equal(def->lower_hvp(def->user, NULL, vx, vy, vv, hv), 0);
        blv_vec_read(hv, column);
        for (size_t i = 0; i < n; i++)
            h[i * n + j] = column[i];
        unit[j] = 0.0;
    }
    eliminate(n, h, v);
    blv_vec_write(vv, v);
    assert_int_equal(def->lower_cross(def->user, NULL, vx, vy, vv, jv), 0);
    blv_vec_read(jv, gradient);
    for (size_t k = 0; k < def->dim_x; k++)
        gradient[k] = fx[k] - gradient[k];
    blv_vec *all[] = {vx, vy, vv, hv, jv};
    for (size_t i = 0; i < 5; i++)
        blv_vec_destroy(all[i]);
    free(h);
    free(unit);
    free(v);
    free(column);
}

static void test_hypergradient(void **state) {
    (void)state;
    for (size_t classes = 0; classes <= 3; classes += classes == 0 ? 2 : 1) {
        blv_dataset *set = make_rows(classes, false);
        blv_problem *problem =
            fold_problem(set, setting_of(BLV_PENALTY_PER_FEATURE, true), 0.3, NULL);
        double x[COLUMNS], y[BLOCKS * COLUMNS * 3], exact[COLUMNS];
        const size_t d = blv_problem_definition(problem)->dim_x;
        assert_int_equal(d, COLUMNS - 1);
        for (size_t k = 0; k < d; k++)
            x[k] = wave(k);
        phi(problem, x, y);
        hypergradient(problem, x, y, exact);
        for (size_t k = 0; k < d; k++) {
            const double at = x[k], step = 1e-5;
            x[k] = at + step;
            const double above = phi(problem, x, y);
            x[k] = at - step;
            const double below = phi(problem, x, y);
            x[k] = at;
            const double difference = (above - below) / (2.0 * step);
            assert_true(fabs(difference - exact[k]) < 1e-7 * (1.0 + fabs(exact[k])));
        }
        blv_problem_destroy(problem);
        blv_dataset_release(set);
    }
}

/* ---- Real targets ---- */

/* (X'X / n + ridge) w = X't / n */
static void test_normal_equations(void **state) {
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        blv_dataset *set = make_rows(0, sparse);
        const blv_sets sets = {.size = sizeof sets, .train = set, .val = set};
        const blv_l2reg_setting setting = setting_of(BLV_PENALTY_PER_FEATURE, true);
        blv_problem *problem = make(&sets, &setting);
        const blv_dataset_view *v = blv_dataset_view_of(set);
        const double *rows = sparse ? v->value : v->dense;
        double x[COLUMNS], y[COLUMNS], h[COLUMNS * COLUMNS] = {0}, w[COLUMNS] = {0}, mean = 0.0;
        for (size_t k = 0; k + 1 < COLUMNS; k++)
            x[k] = wave(k);
        const double f = phi(problem, x, y);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLUMNS; j++) {
                w[j] += rows[i * COLUMNS + j] * v->target[i] / ROWS;
                for (size_t k = 0; k < COLUMNS; k++)
                    h[j * COLUMNS + k] += rows[i * COLUMNS + j] * rows[i * COLUMNS + k] / ROWS;
            }
        for (size_t j = 0; j < COLUMNS; j++)
            h[j * COLUMNS + j] += j + 1 < COLUMNS ? 0.1 * exp(x[j]) : 0.01;
        eliminate(COLUMNS, h, w);
        for (size_t i = 0; i < ROWS; i++) {
            double miss = -v->target[i];
            for (size_t j = 0; j < COLUMNS; j++)
                miss += rows[i * COLUMNS + j] * w[j];
            mean += 0.5 * miss * miss / ROWS;
        }
        for (size_t j = 0; j < COLUMNS; j++)
            assert_true(fabs(w[j] - y[j]) < 1e-10);
        assert_true(fabs(f - mean) < 1e-10);
        blv_problem_destroy(problem);
        blv_dataset_release(set);
    }
}

static void test_rejected(void **state) {
    (void)state;
    blv_dataset *set = make_rows(2, false), *real = make_rows(0, false);
    const blv_sets sets = {.size = sizeof sets, .train = set};
    const blv_sets mixed = {.size = sizeof mixed, .train = set, .val = real};
    blv_l2reg_setting setting = setting_of(BLV_PENALTY_ONE, true);
    blv_problem *problem = NULL;
    assert_int_equal(blv_l2reg_create(&sets, &setting, NULL, &problem, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_l2reg_create(&mixed, &setting, NULL, &problem, &why), BLV_E_VALUE);
    assert_int_equal(blv_hyperclean_create(&(blv_sets){sizeof sets, real, real, NULL}, 0.1, NULL,
                                           &problem, &why),
                     BLV_E_FORMAT);
    setting.folds = FOLDS;
    assert_int_equal(blv_l2reg_create(&sets, &setting, NULL, &problem, &why), BLV_E_VALUE);
    setting.fold = fold;
    blv_dataset *const other[FOLDS] = {real, real, real}; /* not its rows */
    setting.fold_rows = other;
    assert_int_equal(blv_l2reg_create(&sets, &setting, NULL, &problem, &why), BLV_E_VALUE);
    setting.fold_rows = NULL;
    setting.folds = 50;
    assert_int_equal(blv_l2reg_create(&sets, &setting, NULL, &problem, &why), BLV_E_VALUE);
    assert_null(problem);
    blv_dataset_release(set);
    blv_dataset_release(real);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums), cmocka_unit_test(test_hypergradient),
        cmocka_unit_test(test_normal_equations), cmocka_unit_test(test_rejected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
