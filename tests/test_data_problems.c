/* The problems on data: every oracle against plain dense sums in the test, on dense and sparse
 * forms of the same rows, whole and on batches, in both precisions; odd sizes; what they measure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blv_testing.h"

#include <stdio.h>
#include <unistd.h>

enum { ROWS_MAX = 64, COLUMNS_MAX = 12, CLASSES_MAX = 5, DIM_MAX = COLUMNS_MAX * CLASSES_MAX };

/* Rows of small numbers with many zeros, written to a libsvm file. */
typedef struct sample {
    char path[64];
    size_t rows, columns, classes;
    double a[ROWS_MAX][COLUMNS_MAX];
    int label[ROWS_MAX];
} sample;

static unsigned long state_of_numbers = 1;

static double next_number(void) {
    state_of_numbers = state_of_numbers * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_of_numbers >> 40) / 16777216.0 - 0.5;
}

static void write_sample(sample *s) {
    FILE *file = fopen(s->path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < s->rows; i++) {
        fprintf(file, "%d", s->label[i]);
        for (size_t j = 0; j < s->columns; j++)
            if (s->a[i][j] != 0.0 || j + 1 == s->columns)
                fprintf(file, " %zu:%.17g", j + 1, s->a[i][j]);
        fputc('\n', file);
    }
    assert_int_equal(fclose(file), 0);
}

static void make_sample(sample *s, const char *name, size_t rows, size_t columns, size_t classes,
                        double scale) {
    snprintf(s->path, sizeof s->path, "data_problems_%ld_%s.libsvm", (long)getpid(), name);
    s->rows = rows;
    s->columns = columns;
    s->classes = classes;
    for (size_t i = 0; i < rows; i++) {
        s->label[i] = (int)(i % classes);
        for (size_t j = 0; j < columns; j++) {
            double number = next_number();
            s->a[i][j] = number > 0.1 ? 0.0 : (double)(float)(scale * number);
        }
        if (columns > 2)
            s->a[i][2] = 0.5; /* a constant feature */
    }
    write_sample(s);
}

/* What is needed to compute the sums: rows are in the order of the file. */
typedef struct model {
    size_t n, columns, scores;
    bool sparse, logistic;
    const sample *from;
    double weight[ROWS_MAX];
} model;

static size_t place(const model *m, size_t k, size_t j) {
    return m->sparse ? j * m->scores + k : k * m->columns + j;
}

/* Adds weight_i loss_i and its derivatives of the rows listed; d: gradient, h: Hessian times v. */
static void plain_sums(const model *m, const double *y, const double *v, const size_t *list,
                       size_t count, long double *loss, long double *d, long double *h,
                       double *row_loss, double *row_cross) {
    *loss = 0.0L;
    for (size_t i = 0; i < m->scores * m->columns; i++)
        d[i] = h[i] = 0.0L;
    for (size_t q = 0; q < count; q++) {
        size_t i = list[q];
        const double *a = m->from->a[i];
        size_t label = (size_t)m->from->label[i];
        long double s[CLASSES_MAX] = {0.0L}, t[CLASSES_MAX] = {0.0L}, p[CLASSES_MAX], one, mean = 0;
        for (size_t k = 0; k < m->scores; k++)
            for (size_t j = 0; j < m->columns; j++) {
                s[k] += (long double)a[j] * y[place(m, k, j)];
                t[k] += (long double)a[j] * v[place(m, k, j)];
            }
        if (m->logistic) {
            long double z = label ? s[0] : -s[0];
            one = z > 0 ? log1pl(expl(-z)) : log1pl(expl(z)) - z;
            p[0] = 1.0L / (1.0L + expl(-s[0]));
        } else {
            long double top = s[0], sum = 0.0L;
            for (size_t k = 1; k < m->scores; k++)
                top = fmaxl(top, s[k]);
            for (size_t k = 0; k < m->scores; k++)
                sum += p[k] = expl(s[k] - top);
            for (size_t k = 0; k < m->scores; k++)
                p[k] /= sum;
            one = logl(sum) - (s[label] - top);
        }
        long double cross = 0.0L;
        for (size_t k = 0; k < m->scores; k++)
            mean += p[k] * t[k];
        for (size_t k = 0; k < m->scores; k++) {
            long double r = p[k] - (m->logistic ? (long double)label : (long double)(k == label));
            long double c = m->logistic ? p[0] * (1.0L - p[0]) * t[0] : p[k] * (t[k] - mean);
            cross += r * t[k];
            for (size_t j = 0; j < m->columns; j++) {
                d[place(m, k, j)] += m->weight[i] * r * a[j];
                h[place(m, k, j)] += m->weight[i] * c * a[j];
            }
        }
        *loss += m->weight[i] * one;
        row_loss[i] = (double)one;
        row_cross[i] = (double)cross;
    }
}

static double *numbers(size_t count, double scale) {
    double *out = make_numbers(count);
    for (size_t i = 0; i < count; i++)
        out[i] = (double)(float)(scale * next_number());
    return out;
}

static blv_vec *vector_of(const blv_space *space, const double *values) {
    blv_vec *v = NULL;
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    if (values)
        blv_vec_write(v, values);
    return v;
}

static void assert_vector(const blv_vec *v, const double *expected, double tolerance,
                          const char *what) {
    size_t n = blv_vec_dim(v);
    double *got = make_numbers(n);
    blv_vec_read(v, got);
    double size = dense_size(n, expected);
    if (!(dense_gap(n, got, expected) <= tolerance * (1.0 + size)))
        fail_msg("%s: off by %.3g of %.3g", what, dense_gap(n, got, expected), size);
    free(got);
}

typedef enum { PER_FEATURE, PER_CLASS, ONE, GROUPS, HYPERCLEAN } kind;

/* x-vector, expected derivatives of the penalty part, and all oracles compared. */
static void compare(const blv_problem *problem, const model *shape, kind what, double scale_x,
                    double scale_y, double tolerance, const blv_batch *batch) {
    const blv_problem_def *def = blv_problem_definition(problem);
    model m = *shape;
    size_t dx = def->dim_x, dy = def->dim_y, list[ROWS_MAX], count = batch ? batch->count : m.n;
    assert_int_equal(dy, m.scores * m.columns);
    for (size_t q = 0; q < count; q++)
        list[q] = !batch ? q : batch->index ? batch->index[q] : batch->first + q;
    double *x = numbers(dx, scale_x), *y = numbers(dy, scale_y), *v = numbers(dy, 1.0);
    double *gx = make_numbers(dx), *jv = make_numbers(dx), *gy = make_numbers(dy),
           *hv = make_numbers(dy), row_loss[ROWS_MAX], row_cross[ROWS_MAX];
    long double loss, d[DIM_MAX], h[DIM_MAX], penalty = 0.0L;
    for (size_t i = 0; i < m.n; i++)
        m.weight[i] = what == HYPERCLEAN ? 1.0 / (1.0 + exp(-x[i])) : 1.0;
    plain_sums(&m, y, v, list, count, &loss, d, h, row_loss, row_cross);
    memset(gx, 0, dx * sizeof *gx);
    memset(jv, 0, dx * sizeof *jv);
    const double C = 0.001, n = (double)count;
    for (size_t k = 0; k < m.scores; k++)
        for (size_t j = 0; j < m.columns; j++) {
            size_t at = place(&m, k, j);
            size_t of = what == PER_FEATURE ? j
                        : what == PER_CLASS ? k
                        : what == GROUPS    ? j % 3
                                            : 0;
            double ridge = what == HYPERCLEAN ? 2.0 * C : exp(x[of]);
            penalty += 0.5L * ridge * y[at] * y[at];
            gy[at] = (double)(d[at] / n) + ridge * y[at];
            hv[at] = (double)(h[at] / n) + ridge * v[at];
            if (what != HYPERCLEAN) {
                gx[of] += 0.5 * ridge * y[at] * y[at];
                jv[of] += ridge * y[at] * v[at];
            }
        }
    for (size_t q = 0; what == HYPERCLEAN && q < count; q++) {
        size_t i = list[q];
        double slope = m.weight[i] * (1.0 - m.weight[i]) / n;
        gx[i] += slope * row_loss[i];
        jv[i] += slope * row_cross[i];
    }
    blv_vec *xv = vector_of(def->space_x, x), *yv = vector_of(def->space_y, y);
    blv_vec *vv = vector_of(def->space_y, v), *ax = vector_of(def->space_x, NULL);
    blv_vec *ay = vector_of(def->space_y, NULL), *by = vector_of(def->space_y, NULL);
    double g;
    assert_int_equal(def->lower(def->user, batch, xv, yv, &g, ax, ay), 0);
    assert_near(g, (double)(loss / n + penalty), tolerance * (1.0 + fabs(g)));
    assert_vector(ax, gx, tolerance, "gx");
    assert_vector(ay, gy, tolerance, "gy");
    assert_int_equal(def->lower_hvp(def->user, batch, xv, yv, vv, by), 0);
    assert_vector(by, hv, tolerance, "Hv");
    assert_int_equal(def->lower_cross(def->user, batch, xv, yv, vv, ax), 0);
    assert_vector(ax, jv, tolerance, "Jv");
    assert_int_equal(def->lower_all(def->user, batch, xv, yv, vv, ay, by, ax), 0);
    assert_vector(ay, gy, tolerance, "gy of all");
    assert_vector(by, hv, tolerance, "Hv of all");
    assert_vector(ax, jv, tolerance, "Jv of all");
    blv_vec *const vectors[] = {xv, yv, vv, ax, ay, by};
    for (size_t i = 0; i < 6; i++)
        blv_vec_destroy(vectors[i]);
    double *const arrays[] = {x, y, v, gx, jv, gy, hv};
    for (size_t i = 0; i < 7; i++)
        free(arrays[i]);
}

/* The training file as it is: one validation file beside it, so that nothing is split off. */
static void check_kind(kind what, size_t rows, size_t columns, size_t classes, double scale) {
    static const char *const penalties[] = {"per-feature", "per-class", "one", "groups"};
    sample train, val;
    make_sample(&train, "train", rows, columns, classes, scale);
    make_sample(&val, "val", classes, columns, classes, 1.0);
    char groups[64];
    snprintf(groups, sizeof groups, "data_problems_%ld_groups.txt", (long)getpid());
    FILE *file = fopen(groups, "w");
    assert_non_null(file);
    for (size_t j = 0; j < columns; j++)
        fprintf(file, "%zu\n", j % 3);
    fclose(file);
    for (int sparse = 0; sparse < 2; sparse++)
        for (blv_precision precision = BLV_F64; precision <= BLV_F32; precision++) {
            const char *layout = sparse ? "sparse" : "dense";
            const char *const *settings =
                what == HYPERCLEAN
                    ? SETTINGS("train", train.path, "val", val.path, "val_size", "auto", "layout",
                               layout, "order", "file")
                    : SETTINGS("train", train.path, "val", val.path, "val_size", "auto", "layout",
                               layout, "order", "file", "penalty", penalties[what], "groups",
                               what == GROUPS ? groups : "");
            blv_problem *p = make_problem_as(what == HYPERCLEAN ? "hyperclean" : "l2reg", settings,
                                             precision, 2);
            bool logistic = what != HYPERCLEAN && classes == 2;
            model m = {.n = rows,
                       .columns = columns,
                       .scores = logistic ? 1 : classes,
                       .sparse = sparse,
                       .logistic = logistic,
                       .from = &train};
            /* rounding of the scores, relative to their size, goes through to the probabilities */
            double tolerance = (precision == BLV_F64 ? 1e-12 : 2e-6) * fmax(1.0, 0.01 * scale);
            size_t list[] = {rows - 1, 0, rows / 2, 0};
            blv_batch range = {.first = rows / 3, .count = rows - rows / 3};
            blv_batch some = {.count = 4, .index = list};
            compare(p, &m, what, 1.0, 1.0, tolerance, NULL);
            compare(p, &m, what, 1.0, 1.0, tolerance, &range);
            compare(p, &m, what, 1.0, 1.0, tolerance, &some);
            compare(p, &m, what, 1.0, 1.0, tolerance, &(blv_batch){.first = 0, .count = 1});
            blv_check_report report = {.ok = true}; /* differences need scores of moderate size */
            if (scale <= 1.0)
                assert_int_equal(blv_problem_check(p, 3, 0.5, &report, NULL), BLV_OK);
            for (size_t i = 0; i < report.count; i++)
                if (!report.item[i].ok)
                    fail_msg("%s: %.3g", report.item[i].what, report.item[i].error);
            blv_problem_destroy(p);
        }
    remove(train.path);
    remove(val.path);
    remove(groups);
}

static void test_oracles(void **state) {
    (void)state;
    static const size_t shapes[][3] = {{40, 9, 3}, {17, 12, 5}, {33, 7, 2}, {5, 3, 2}, {6, 1, 3}};
    for (size_t i = 0; i < 5; i++)
        for (kind what = PER_FEATURE; what <= HYPERCLEAN; what++)
            if (what != GROUPS || shapes[i][1] >= 3)
                check_kind(what, shapes[i][0], shapes[i][1], shapes[i][2], 1.0);
}

/* Scores of several thousands: no overflow, losses right to rounding. */
static void test_large_scores(void **state) {
    (void)state;
    check_kind(HYPERCLEAN, 20, 5, 3, 20000.0);
    check_kind(PER_FEATURE, 20, 5, 2, 20000.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracles),
        cmocka_unit_test(test_large_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
