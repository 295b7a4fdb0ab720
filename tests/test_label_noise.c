/* The problem label-noise: its values against plain sums, its oracles and its hypergradient against
 * differences, and the noise that it finds in labels that were made wrong on purpose. */
#include "dataset_helpers.h"
#include "reader_helpers.h"

#include "bilevel/bilevel.h"

enum { ROWS = 60, COLUMNS = 7, FOLDS = 3, MOST_CLASSES = 4 };

static blv_message why;

typedef struct instance {
    blv_sets sets;
    uint32_t part[ROWS], val_part[ROWS];
    double start[MOST_CLASSES * MOST_CLASSES];
    blv_noise_setting setting;
    blv_problem *problem;
} instance;

static blv_dataset *part_of(const blv_dataset *all, size_t first, size_t count) {
    size_t index[ROWS];
    blv_dataset *part = NULL;
    for (size_t i = 0; i < count; i++)
        index[i] = first + i;
    assert_int_equal(blv_dataset_select(all, index, count, &part, &why), BLV_OK);
    return part;
}

/* The set with weights for its rows, some of them 0. */
static void weigh(blv_dataset **set) {
    blv_dataset_view view = *blv_dataset_view_of(*set);
    double weight[ROWS];
    for (size_t i = 0; i < view.rows; i++)
        weight[i] = (double)(i * 7 % 5);
    view.weight = weight;
    blv_dataset *weighted = NULL;
    assert_int_equal(blv_dataset_create(&weighted, &view, NULL, &why), BLV_OK);
    blv_dataset_release(*set);
    *set = weighted;
}

static void open_instance(instance *t, size_t classes, bool sparse, bool trusted, bool weighed) {
    sample s = {.rows = ROWS,
                .columns = COLUMNS,
                .classes = classes,
                .sparse = sparse,
                .precision = BLV_F64};
    blv_dataset *all = make_sample(&s);
    *t = (instance){.sets = {.size = sizeof t->sets, .train = part_of(all, 0, 40)}};
    if (trusted)
        t->sets.val = part_of(all, 40, ROWS - 40);
    blv_dataset_release(all);
    if (weighed)
        weigh(&t->sets.train);
    if (weighed && trusted)
        weigh(&t->sets.val);
    for (size_t i = 0; i < ROWS; i++)
        t->part[i] = t->val_part[i] = (uint32_t)(i * 7 % FOLDS);
    for (size_t i = 0; i < classes * classes; i++)
        t->start[i] = i % (classes + 1) == 0 ? 0.7 : 0.3 / (double)(classes - 1);
    t->setting = (blv_noise_setting){.size = sizeof t->setting,
                                     .folds = FOLDS,
                                     .part = t->part,
                                     .val_part = t->val_part,
                                     .start = t->start,
                                     .prior = 5.0,
                                     .noisy_share = 0.3};
    assert_int_equal(blv_label_noise_create(&t->sets, &t->setting, NULL, &t->problem, &why),
                     BLV_OK);
}

static void close_instance(instance *t) {
    blv_problem_destroy(t->problem);
    blv_dataset_release(t->sets.train);
    blv_dataset_release(t->sets.val);
}

static double pseudo(size_t i) {
    return sin(12.9898 * (double)(i + 1)) * 0.7;
}

/* -log sum_k p_k T[k,label] of a row, or -log p_label where T is NULL. */
static double plain_row(const blv_dataset *set, size_t i, const double *w, const double *T) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    double sum = 0.0, stated = 0.0;
    for (size_t k = 0; k < v->classes; k++) {
        double score = 0.0;
        for (size_t j = 0; j < v->columns; j++)
            score += at(set, i, j) * w[v->dense ? k * v->columns + j : j * v->classes + k];
        sum += exp(score);
        stated += exp(score) * (T ? T[k * v->classes + (size_t)v->label[i]]
                                  : (double)((size_t)v->label[i] == k));
    }
    return log(sum) - log(stated);
}

static void plain_sums(const blv_dataset *set, const uint32_t *part, size_t fold, const double *w,
                       const double *T, double *inside, double *outside, double *rows_outside) {
    const blv_dataset_view *v = set ? blv_dataset_view_of(set) : NULL;
    double sum = 0.0;
    for (size_t i = 0; v && i < v->rows; i++)
        sum += v->weight ? v->weight[i] : 1.0;
    for (size_t i = 0; v && i < v->rows; i++) {
        double counts = v->weight ? v->weight[i] * (double)v->rows / sum : 1.0;
        *(part[i] == fold ? inside : outside) += counts * plain_row(set, i, w, T);
        *rows_outside += part[i] != fold ? counts : 0.0;
    }
}

static void expect_plain_values(const instance *t, size_t classes, bool sparse) {
    const blv_problem_def *def = blv_problem_definition(t->problem);
    const size_t first = t->sets.val ? 2 : 1, model = classes * COLUMNS;
    double x[2 + MOST_CLASSES * MOST_CLASSES], y[FOLDS * MOST_CLASSES * COLUMNS];
    double T[MOST_CLASSES * MOST_CLASSES], f = 0.0, g = 0.0, held = 0.0, held_val = 0.0;
    assert_int_equal(def->dim_x, first + classes * (classes - 1));
    assert_int_equal(def->dim_y, FOLDS * model);
    for (size_t i = 0; i < def->dim_x; i++)
        x[i] = pseudo(i);
    for (size_t i = 0; i < def->dim_y; i++)
        y[i] = pseudo(i + 5);
    for (size_t k = 0, next = first; k < classes; k++) {
        double sum = 0.0;
        for (size_t l = 0; l < classes; l++)
            sum += T[k * classes + l] = l == k ? 1.0 : exp(x[next++]);
        for (size_t l = 0; l < classes; l++)
            T[k * classes + l] /= sum;
    }
    for (size_t m = 0; m < FOLDS; m++) {
        const double *w = y + m * model, weight = t->sets.val ? exp(x[1]) : 0.0;
        double noisy = 0.0, own = 0.0, rows = 0.0, trusted = 0.0, norm = 0.0;
        plain_sums(t->sets.train, t->part, m, w, T, &held, &noisy, &rows);
        plain_sums(t->sets.val, t->val_part, m, w, NULL, &held_val, &own, &trusted);
        for (size_t i = 0; i < model; i++) {
            size_t column = sparse ? i / classes : i % COLUMNS;
            norm += (column + 1 < COLUMNS ? 1.0 : 0.01) * w[i] * w[i];
        }
        g += (noisy + weight * own) / (rows + weight * trusted) + 0.5 * exp(x[0]) * norm;
    }
    double share = t->sets.val ? 0.3 : 1.0;
    f = share * held / 40.0 + (t->sets.val ? held_val / 20.0 : 0.0);
    for (size_t i = 0; i < classes * classes; i++)
        f -= share * 5.0 / 40.0 * t->start[i] * log(T[i]);

    blv_vec *vx = NULL, *vy = NULL;
    double found_f, found_g;
    assert_int_equal(blv_vec_create(&vx, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&vy, def->space_y), BLV_OK);
    blv_vec_write(vx, x);
    blv_vec_write(vy, y);
    assert_int_equal(def->upper(def->user, NULL, vx, vy, &found_f, NULL, NULL), 0);
    assert_int_equal(def->lower(def->user, NULL, vx, vy, &found_g, NULL, NULL), 0);
    assert_true(fabs(f - found_f) <= 1e-11 * fabs(f));
    assert_true(fabs(g - found_g) <= 1e-11 * fabs(g));
    blv_vec_destroy(vx);
    blv_vec_destroy(vy);
}

static void test_values_and_oracles(void **state) {
    (void)state;
    for (size_t classes = 2; classes <= MOST_CLASSES; classes++)
        for (int sparse = 0; sparse < 2; sparse++)
            for (int kind = 0; kind < 4; kind++) {
                instance t;
                blv_check_report report;
                open_instance(&t, classes, sparse, kind % 2, kind / 2);
                expect_plain_values(&t, classes, sparse);
                assert_int_equal(blv_problem_check(t.problem, 1, 0.5, &report, &why), BLV_OK);
                for (size_t i = 0; i < report.count; i++)
                    if (!report.item[i].ok)
                        fail_msg("%s: error %g", report.item[i].what, report.item[i].error);
                close_instance(&t);
            }
}

/* ---- The hypergradient ---- */

static double phi_at(const blv_problem *problem, blv_vec *x, blv_vec *y) {
    const blv_problem_def *def = blv_problem_definition(problem);
    double reached, f;
    blv_vec_fill(y, 0.0);
    assert_int_equal(blv_solve_lower(problem, x, y, 0.0, NULL, NULL, &reached, &why), BLV_OK);
    assert_int_equal(def->upper(def->user, NULL, x, y, &f, NULL, NULL), 0);
    return f;
}

static void shift(blv_vec *x, const double *host, size_t i, double by) {
    double moved[2 + MOST_CLASSES * MOST_CLASSES];
    memcpy(moved, host, blv_space_dim(blv_vec_space(x)) * sizeof *moved);
    moved[i] += by;
    blv_vec_write(x, moved);
}

static void test_hypergradient(void **state) {
    (void)state;
    instance t;
    open_instance(&t, 3, false, true, false);
    const blv_problem_def *def = blv_problem_definition(t.problem);
    const double h = 1e-4;
    double host[2 + MOST_CLASSES * MOST_CLASSES], norm = 0.0;
    blv_vec *x = NULL, *y = NULL;
    blv_certificate certificate;
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    for (size_t i = 0; i < def->dim_x; i++)
        host[i] = i < 2 ? -1.0 : -1.5 + pseudo(i);
    for (size_t i = 0; i < def->dim_x; i++) {
        shift(x, host, i, h);
        double above = phi_at(t.problem, x, y);
        shift(x, host, i, -h);
        double slope = (above - phi_at(t.problem, x, y)) / (2.0 * h);
        norm += slope * slope;
    }
    blv_vec_write(x, host);
    phi_at(t.problem, x, y);
    /* the projection does not reach this x, so that this is |grad Phi| or that of a short step */
    assert_int_equal(blv_certify(t.problem, x, y, NULL, &certificate, NULL, &why), BLV_OK);
    assert_true(fabs(certificate.grad_norm - sqrt(norm)) <= 1e-5 * sqrt(norm));
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    close_instance(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values_and_oracles),
                                       cmocka_unit_test(test_hypergradient)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
