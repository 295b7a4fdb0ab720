/* Data sets: what changes them, against computation of the test's own. */
#include "data/dataset_private.h"
#include "dataset_helpers.h"

enum { ROWS = 23, COLUMNS = 6 };

static sample standard(int f) {
    return form((sample){.rows = ROWS, .columns = COLUMNS, .classes = 4, .named = true}, f);
}

/* ---- Corruption ---- */

static blv_dataset *many_rows(size_t rows, size_t classes) {
    sample s = {.rows = rows, .columns = 1, .classes = classes, .sparse = true};
    return make_sample(&s);
}

static size_t count_changed(const blv_dataset_view *v) {
    size_t changed = 0;
    for (size_t i = 0; i < v->rows; i++)
        changed += v->label[i] != v->true_label[i];
    return changed;
}

static void test_corrupt_counts(void **state) {
    (void)state;
    const double share[] = {0.0, 0.001, 0.1, 0.25, 0.4, 0.5, 0.9999, 1.0};
    const size_t rows[] = {1, 2, 10, 77, 1000};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (size_t s = 0; s < sizeof share / sizeof share[0]; s++) {
            for (int kind = BLV_CORRUPT_UNIFORM; kind <= BLV_CORRUPT_PAIRWISE; kind++) {
                blv_dataset *d = many_rows(rows[r], 5);
                assert_int_equal(blv_dataset_corrupt(d, (blv_corruption)kind, share[s], s, NULL),
                                 BLV_OK);
                const blv_dataset_view *v = blv_dataset_view_of(d);
                size_t expected = (size_t)round(share[s] * (double)rows[r]);
                assert_int_equal(count_changed(v), expected);
                for (size_t i = 0; i < v->rows; i++) {
                    assert_int_equal(v->true_label[i], sample_label(i, 5));
                    assert_in_range(v->label[i], 0, 4);
                    if (kind == BLV_CORRUPT_PAIRWISE && v->label[i] != v->true_label[i])
                        assert_int_equal(v->label[i], (v->true_label[i] + 1) % 5);
                }
                blv_dataset_release(d);
            }
        }
    }
}

static void test_corrupt_history(void **state) {
    (void)state;
    blv_dataset *d = many_rows(1000, 10);
    assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_UNIFORM, 0.4, 1, NULL), BLV_OK);
    assert_string_equal(last_history(d), "corrupt uniform 0.4, seed 1: 400 of 1000 labels changed");
    /* the truth is that from before the first corruption */
    assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_PAIRWISE, 0.3, 2, NULL), BLV_OK);
    assert_string_equal(last_history(d),
                        "corrupt pairwise 0.3, seed 2: 300 of 1000 labels changed");
    const blv_dataset_view *v = blv_dataset_view_of(d);
    for (size_t i = 0; i < v->rows; i++)
        assert_int_equal(v->true_label[i], sample_label(i, 10));
    blv_dataset_release(d);
}

/* New labels must be alike over the other classes (or all of them), and rows over the set. Five
 * standard deviations of chi-square; the seed is fixed, so the outcome is as well. */
static void check_uniform(const size_t *count, size_t cells, size_t total) {
    double expected = (double)total / (double)cells, chi = 0.0;
    for (size_t c = 0; c < cells; c++)
        chi += ((double)count[c] - expected) * ((double)count[c] - expected) / expected;
    double freedom = (double)cells - 1.0;
    assert_true(chi < freedom + 5.0 * sqrt(2.0 * freedom));
    assert_true(chi > freedom - 5.0 * sqrt(2.0 * freedom) || freedom < 50.0);
}

static void test_corrupt_is_uniform(void **state) {
    (void)state;
    enum { N = 40000, K = 8 };
    blv_dataset *d = many_rows(N, K);
    assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_UNIFORM, 0.5, 7, NULL), BLV_OK);
    const blv_dataset_view *v = blv_dataset_view_of(d);
    size_t shift[K - 1] = {0}, tenth[10] = {0};
    for (size_t i = 0; i < N; i++) {
        if (v->label[i] == v->true_label[i])
            continue;
        shift[(v->label[i] - v->true_label[i] + K) % K - 1]++;
        tenth[i * 10 / N]++;
    }
    check_uniform(shift, K - 1, N / 2);
    check_uniform(tenth, 10, N / 2);
    blv_dataset_release(d);

    d = many_rows(N, K);
    assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_REDRAW, 1.0, 7, NULL), BLV_OK);
    v = blv_dataset_view_of(d);
    size_t label[K] = {0};
    for (size_t i = 0; i < N; i++)
        label[v->label[i]]++;
    check_uniform(label, K, N);
    size_t changed = count_changed(v);
    assert_in_range(changed, N * 7 / 8 - 400, N * 7 / 8 + 400);
    char line[128];
    snprintf(line, sizeof line, "corrupt redraw 1, seed 7: %zu of %d labels changed", changed, N);
    assert_string_equal(last_history(d), line);
    blv_dataset_release(d);
}

static void test_corrupt_by_seed(void **state) {
    (void)state;
    for (int kind = BLV_CORRUPT_UNIFORM; kind <= BLV_CORRUPT_REDRAW; kind++) {
        blv_dataset *a = many_rows(200, 3), *b = many_rows(200, 3), *c = many_rows(200, 3);
        assert_int_equal(blv_dataset_corrupt(a, (blv_corruption)kind, 0.5, 1, NULL), BLV_OK);
        assert_int_equal(blv_dataset_corrupt(b, (blv_corruption)kind, 0.5, 1, NULL), BLV_OK);
        assert_int_equal(blv_dataset_corrupt(c, (blv_corruption)kind, 0.5, 2, NULL), BLV_OK);
        size_t bytes_of_labels = 200 * sizeof(int32_t);
        const blv_dataset_view *va = blv_dataset_view_of(a), *vb = blv_dataset_view_of(b);
        assert_memory_equal(va->label, vb->label, bytes_of_labels);
        assert_memory_not_equal(va->label, blv_dataset_view_of(c)->label, bytes_of_labels);
        blv_dataset_release(a);
        blv_dataset_release(b);
        blv_dataset_release(c);
    }
}

static void test_corrupt_refuses(void **state) {
    (void)state;
    blv_dataset *d = many_rows(10, 2);
    blv_message why = {""};
    const double bad[] = {-0.1, 1.1, NAN, INFINITY};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_UNIFORM, bad[i], 0, &why), BLV_E_VALUE);
        assert_says(&why, "expected 0 to 1");
    }
    assert_int_equal(blv_dataset_corrupt(d, (blv_corruption)9, 0.5, 0, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_corrupt(NULL, BLV_CORRUPT_UNIFORM, 0.5, 0, &why), BLV_E_ARGUMENT);
    assert_null(blv_dataset_view_of(d)->true_label);
    blv_dataset_release(d);
    d = many_rows(10, 1);
    assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_PAIRWISE, 0.5, 0, &why), BLV_E_VALUE);
    assert_says(&why, "one class only");
    blv_dataset_release(d);
    d = many_rows(10, 0);
    assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_UNIFORM, 0.5, 0, &why), BLV_E_VALUE);
    assert_says(&why, "no classes");
    blv_dataset_release(d);
}

/* ---- Scaling ---- */

typedef struct reference {
    long double mean, deviation, low, high;
} reference;

static reference column_of(const blv_dataset_view *v, size_t j) {
    reference r = {.low = value_at(v, 0, j), .high = value_at(v, 0, j)};
    for (size_t i = 0; i < v->rows; i++) {
        long double x = value_at(v, i, j);
        r.mean += x / (long double)v->rows;
        r.low = x < r.low ? x : r.low;
        r.high = x > r.high ? x : r.high;
    }
    for (size_t i = 0; i < v->rows; i++) {
        long double x = value_at(v, i, j) - r.mean;
        r.deviation += x * x / (long double)v->rows;
    }
    r.deviation = sqrtl(r.deviation);
    return r;
}

static long double scaled(const reference *r, blv_scaling scaling, bool sparse, long double x) {
    if (scaling == BLV_SCALE_STANDARD)
        return (x - (sparse ? 0.0L : r->mean)) / (r->high > r->low ? r->deviation : 1.0L);
    if (!sparse)
        return (x - r->low) / (r->high > r->low ? r->high - r->low : 1.0L);
    long double most = fabsl(r->low) > fabsl(r->high) ? fabsl(r->low) : fabsl(r->high);
    return x / (most > 0.0L ? most : 1.0L);
}

static void test_scale(void **state) {
    (void)state;
    for (int f = 0; f < FORMS; f++) {
        for (int k = BLV_SCALE_STANDARD; k <= BLV_SCALE_UNIT; k++) {
            sample s = standard(f), other = standard(f);
            other.rows = 9;
            other.precision = BLV_F64;
            blv_dataset *before = make_sample(&s), *train = make_sample(&s);
            blv_dataset *test = make_sample(&other);
            const blv_dataset_view *old = blv_dataset_view_of(before);
            const blv_dataset_view *new = blv_dataset_view_of(train);
            assert_int_equal(blv_dataset_transpose(train, NULL), BLV_OK);
            blv_dataset *const both[] = {train, test};
            assert_int_equal(blv_dataset_scale(both, 2, (blv_scaling)k, NULL), BLV_OK);
            double tolerance = s.precision == BLV_F32 ? 1e-6 : 1e-14;
            for (size_t j = 0; j < COLUMNS; j++) {
                reference r = column_of(old, j);
                for (size_t i = 0; i < ROWS; i++) {
                    double expected =
                        (double)scaled(&r, (blv_scaling)k, s.sparse, value_at(old, i, j));
                    assert_true(fabs(value_at(new, i, j) - expected) <= tolerance * 10.0);
                    if (i < 9)
                        assert_true(fabs(value_at(blv_dataset_view_of(test), i, j) - expected) <=
                                    1e-13);
                }
            }
            assert_null(new->column_start);
            assert_transposes(train);
            if (s.sparse) {
                assert_memory_equal(new->column, old->column,
                                    old->row_start[ROWS] * sizeof *old->column);
            }
            const char *line = last_history(train);
            assert_non_null(strstr(line, k == BLV_SCALE_UNIT ? "scale to unit" : "standardize"));
            assert_non_null(strstr(line, s.sparse && k == BLV_SCALE_UNIT ? "1 of 6 columns constant"
                                                                         : "2 of 6 columns"));
            assert_non_null(strstr(last_history(test), "of another set"));
            blv_dataset_release(before);
            blv_dataset_release(train);
            blv_dataset_release(test);
        }
    }
}

/* A large common offset must not cost the digits of the variance. */
static void test_scale_with_offset(void **state) {
    (void)state;
    enum { N = 1000 };
    double *x = calloc(N, sizeof *x);
    for (size_t i = 0; i < N; i++)
        x[i] = 1e9 + sample_value(i, 0);
    blv_dataset_view view = {
        .size = sizeof(blv_dataset_view), .rows = N, .columns = 1, .dense = x, .stride = 1};
    blv_dataset *d = NULL;
    assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
    reference r = column_of(&view, 0);
    assert_int_equal(blv_dataset_scale(&d, 1, BLV_SCALE_STANDARD, NULL), BLV_OK);
    for (size_t i = 0; i < N; i++) {
        double expected = (double)((x[i] - r.mean) / r.deviation);
        assert_true(fabs(value_at(blv_dataset_view_of(d), i, 0) - expected) < 1e-6);
    }
    blv_dataset_release(d);
    free(x);
}

static void test_scale_refuses(void **state) {
    (void)state;
    sample a = standard(0), b = standard(1), c = standard(0);
    c.columns = 5;
    blv_dataset *dense = make_sample(&a), *sparse = make_sample(&b), *narrow = make_sample(&c);
    blv_message why = {""};
    blv_dataset *const mixed[] = {dense, sparse}, *const widths[] = {dense, narrow};
    blv_dataset *const twice[] = {dense, dense}, *const hole[] = {dense, NULL};
    uint64_t print = blv_dataset_fingerprint(dense);
    assert_int_equal(blv_dataset_scale(mixed, 2, BLV_SCALE_UNIT, &why), BLV_E_VALUE);
    assert_says(&why, "set 1 is sparse with 6 columns, the first is dense with 6");
    assert_int_equal(blv_dataset_scale(widths, 2, BLV_SCALE_UNIT, &why), BLV_E_VALUE);
    assert_int_equal(blv_dataset_scale(twice, 2, BLV_SCALE_UNIT, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_scale(hole, 2, BLV_SCALE_UNIT, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_scale(NULL, 1, BLV_SCALE_UNIT, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_scale(twice, 1, (blv_scaling)5, &why), BLV_E_ARGUMENT);
    assert_true(print == blv_dataset_fingerprint(dense));
    blv_dataset_release(dense);
    blv_dataset_release(sparse);
    blv_dataset_release(narrow);

    const double huge[] = {1e308, -1e308};
    blv_dataset_view view = {
        .size = sizeof(blv_dataset_view), .rows = 2, .columns = 1, .dense = huge, .stride = 1};
    blv_dataset *d = NULL;
    assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_dataset_scale(&d, 1, BLV_SCALE_UNIT, &why), BLV_E_VALUE);
    assert_says(&why, "too large");
    assert_int_equal(blv_dataset_multiply(d, 10.0, &why), BLV_E_VALUE);
    assert_says(&why, "would not be finite");
    assert_int_equal(blv_dataset_multiply(d, NAN, &why), BLV_E_VALUE);
    assert_true(value_at(blv_dataset_view_of(d), 0, 0) == 1e308);
    assert_null(blv_dataset_history(d, 0));
    assert_int_equal(blv_dataset_unit_rows(d, &why), BLV_OK);
    assert_true(value_at(blv_dataset_view_of(d), 1, 0) == -1.0);
    blv_dataset_release(d);
}

static void test_multiply_and_unit_rows(void **state) {
    (void)state;
    for (int f = 0; f < FORMS; f++) {
        sample s = standard(f);
        blv_dataset *d = make_sample(&s);
        const blv_dataset_view *v = blv_dataset_view_of(d);
        assert_int_equal(blv_dataset_transpose(d, NULL), BLV_OK);
        assert_int_equal(blv_dataset_multiply(d, -0.5, NULL), BLV_OK);
        assert_string_equal(last_history(d), "multiply by -0.5");
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLUMNS; j++)
                assert_true(value_at(v, i, j) == -0.5 * sample_value(i, j));
        assert_int_equal(blv_dataset_unit_rows(d, NULL), BLV_OK);
        for (size_t i = 0; i < ROWS; i++) {
            long double square = 0.0L;
            for (size_t j = 0; j < COLUMNS; j++)
                square += (long double)sample_value(i, j) * sample_value(i, j);
            for (size_t j = 0; j < COLUMNS; j++)
                assert_true(fabs(value_at(v, i, j) + (double)(sample_value(i, j) / sqrtl(square))) <
                            1e-7);
        }
        assert_null(v->column_start);
        assert_transposes(d);
        blv_dataset_release(d);
    }
    const double rows[] = {0, 0, 3, 4};
    blv_dataset_view view = {
        .size = sizeof(blv_dataset_view), .rows = 2, .columns = 2, .dense = rows, .stride = 2};
    blv_dataset *d = NULL;
    assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_dataset_unit_rows(d, NULL), BLV_OK);
    const double *x = blv_dataset_view_of(d)->dense;
    assert_true(x[0] == 0.0 && x[1] == 0.0 && fabs(x[2] - 0.6) < 1e-15 && fabs(x[3] - 0.8) < 1e-15);
    blv_dataset_release(d);
}

/* ---- Columns ---- */

static void test_intercept_and_transpose(void **state) {
    (void)state;
    for (int f = 0; f < FORMS; f++) {
        sample s = standard(f);
        blv_dataset *d = make_sample(&s);
        assert_int_equal(blv_dataset_transpose(d, NULL), BLV_OK);
        assert_int_equal(blv_dataset_intercept(d, NULL), BLV_OK);
        const blv_dataset_view *v = blv_dataset_view_of(d);
        assert_int_equal(v->columns, COLUMNS + 1);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j <= COLUMNS; j++)
                assert_true(value_at(v, i, j) == (j < COLUMNS ? sample_value(i, j) : 1.0));
        assert_string_equal(v->feature_names[COLUMNS], "intercept");
        assert_string_equal(last_history(d), "intercept: column 6 of ones");
        assert_int_equal(blv_dataset_transpose(d, NULL), BLV_OK);
        if (s.sparse) {
            assert_int_equal(v->column_start[COLUMNS + 1], v->row_start[ROWS]);
            assert_transposed_agrees(v);
            for (size_t j = 0; j <= COLUMNS; j++)
                for (size_t k = v->column_start[j] + 1; k < v->column_start[j + 1]; k++)
                    assert_true(v->row[k - 1] < v->row[k]);
        } else {
            assert_null(v->column_start);
        }
        blv_dataset_release(d);
    }
    assert_int_equal(blv_dataset_transpose(NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_intercept(NULL, NULL), BLV_E_ARGUMENT);
}

static blv_dataset *with_classes(const sample *s, const char *const *names) {
    blv_dataset *plain = make_sample(s), *d = NULL;
    blv_dataset_view view = *blv_dataset_view_of(plain);
    view.class_names = names;
    assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
    blv_dataset_release(plain);
    return d;
}

static void test_one_against_rest(void **state) {
    (void)state;
    const char *const names[] = {"ant", "bee", "cow", "dog"};
    sample s = standard(0);
    blv_dataset *d = with_classes(&s, names);
    blv_message why = {""};
    assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_PAIRWISE, 0.5, 1, NULL), BLV_OK);
    blv_dataset *before = NULL;
    assert_int_equal(blv_dataset_create(&before, blv_dataset_view_of(d), NULL, NULL), BLV_OK);
    const blv_dataset_view *v = blv_dataset_view_of(d), *old = blv_dataset_view_of(before);
    assert_int_equal(blv_dataset_one_against_rest(d, "cat", &why), BLV_E_NAME);
    assert_says(&why, "no class 'cat'");
    assert_int_equal(v->classes, 4);
    assert_int_equal(blv_dataset_one_against_rest(d, "cow", &why), BLV_OK);
    assert_int_equal(v->classes, 2);
    assert_string_equal(v->class_names[0], "rest");
    assert_string_equal(v->class_names[1], "cow");
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(v->label[i], old->label[i] == 2);
        assert_int_equal(v->true_label[i], old->true_label[i] == 2);
    }
    assert_string_equal(last_history(d), "class cow against the rest of 4 classes");
    blv_dataset_release(before);
    blv_dataset_release(d);
    d = many_rows(3, 0);
    assert_int_equal(blv_dataset_one_against_rest(d, "cow", &why), BLV_E_VALUE);
    blv_dataset_release(d);
}

/* Sets as of libsvm files, in all layouts and precisions: the second gets what the first has. */
static void test_align(void **state) {
    (void)state;
    const char *const here[] = {"+1", "7", "-1", "unused"}, *const there[] = {"-1", "1", "2", "7"};
    for (int f = 0; f < FORMS * FORMS; f++) {
        sample s = standard(f % FORMS), t = standard(f / FORMS);
        s.classes = 3;
        s.named = t.named = false;
        s.columns = f % 3 == 0 ? 4 : 6;
        t.columns = f % 3 == 1 ? 4 : 6;
        blv_dataset *d = with_classes(&s, here), *first = with_classes(&t, there);
        assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_UNIFORM, 0.3, 1, NULL), BLV_OK);
        d->view.format = "libsvm";
        blv_message why = {""};
        blv_dataset *const sets[] = {first, NULL, d};
        if (blv_dataset_align(sets, NULL, 3, &why) != BLV_OK)
            fail_msg("%s", why.text);
        const blv_dataset_view *v = blv_dataset_view_of(d), *r = blv_dataset_view_of(first);
        assert_int_equal(v->columns, 6);
        assert_int_equal(r->columns, 6);
        assert_int_equal(v->classes, 4);
        assert_int_equal(v->precision, r->precision);
        assert_int_equal(!v->dense, !r->dense);
        assert_string_equal(v->class_names[1], "1");
        const int32_t to[] = {1, 3, 0};
        for (size_t i = 0; i < ROWS; i++) {
            assert_int_equal(v->true_label[i], to[sample_label(i, 3)]);
            for (size_t j = 0; j < 6; j++) {
                assert_true(value_at(v, i, j) == (j < s.columns ? sample_value(i, j) : 0.0));
                assert_true(value_at(r, i, j) == (j < t.columns ? sample_value(i, j) : 0.0));
            }
        }
        assert_transposes(d);
        assert_transposes(first);
        assert_string_equal(last_history(d), "align: 6 columns and 4 classes as in set 0");
        blv_dataset_release(d);
        blv_dataset_release(first);
    }
}

static blv_error align_two(blv_dataset *d, blv_dataset *first, blv_message *why) {
    return blv_dataset_align((blv_dataset *const[]){first, d},
                             (const char *const[]){"train.csv", "val.csv"}, 2, why);
}

static void test_align_rejects(void **state) {
    (void)state;
    const char *const here[] = {"1", "2", "3", "9"}, *const there[] = {"1", "2", "3", "4"};
    sample s = standard(0), t = standard(0);
    blv_dataset *d = with_classes(&s, here), *r = with_classes(&t, there);
    blv_message why = {""};
    uint64_t print = blv_dataset_fingerprint(d);
    assert_int_equal(align_two(d, r, &why), BLV_E_VALUE);
    assert_says(&why, "val.csv: row ");
    assert_says(&why, "has class '9', which train.csv does not have");
    assert_true(print == blv_dataset_fingerprint(d));
    blv_dataset_release(r);
    t.columns = 5;
    r = with_classes(&t, here);
    assert_int_equal(align_two(d, r, &why), BLV_E_VALUE);
    assert_string_equal(why.text, "val.csv: 6 features; expected 5 as in train.csv");
    blv_dataset_release(r);
    t.columns = 6;
    r = with_classes(&t, here);
    assert_int_equal(align_two(d, r, &why), BLV_OK);
    const char *other[6];
    memcpy(other, blv_dataset_view_of(r)->feature_names, sizeof other);
    other[2] = "else";
    blv_dataset_view renamed = *blv_dataset_view_of(r);
    renamed.feature_names = other;
    assert_int_equal(blv_dataset_align_to(d, NULL, &renamed, "m.npz", &why), BLV_E_VALUE);
    assert_says(&why, "the set: feature 2 is 'column \"2\", cm'; expected 'else' as in m.npz");
    blv_dataset_release(r);
    t.classes = 0;
    r = make_sample(&t);
    assert_int_equal(align_two(d, r, &why), BLV_E_VALUE);
    assert_string_equal(why.text, "val.csv: classes; expected real targets as in train.csv");
    assert_int_equal(blv_dataset_expect_classes(r, "train.csv", &why), BLV_E_FORMAT);
    assert_string_equal(why.text, "train.csv: the labels are real numbers; expected classes");
    blv_dataset_release(r);
    blv_dataset_release(d);
}

/* A model has columns and classes, but no features: layout and precision stay. A libsvm file may be
 * narrower, but not wider. */
static void test_align_to(void **state) {
    (void)state;
    const char *const classes[] = {"1", "2", "3", "4"}, *const model_classes[] = {"4", "3", "2",
                                                                                  "1"};
    for (int f = 0; f < FORMS; f++) {
        sample s = standard(f);
        s.named = false;
        blv_dataset *d = with_classes(&s, classes);
        blv_dataset_view model = {.size = sizeof(blv_dataset_view),
                                  .columns = 8,
                                  .classes = 4,
                                  .class_names = model_classes};
        blv_message why = {""};
        assert_int_equal(blv_dataset_align_to(d, "x.csv", &model, "m.npz", &why), BLV_E_VALUE);
        assert_string_equal(why.text, "x.csv: 6 features; expected 8 as in m.npz");
        d->view.format = "libsvm";
        assert_int_equal(blv_dataset_align_to(d, "x.svm", &model, "m.npz", &why), BLV_OK);
        const blv_dataset_view *v = blv_dataset_view_of(d);
        assert_int_equal(v->columns, 8);
        assert_int_equal(v->precision, s.precision);
        assert_int_equal(!v->dense, s.sparse);
        for (size_t i = 0; i < ROWS; i++)
            assert_int_equal(v->label[i], 3 - sample_label(i, 4));
        model.columns = 7;
        assert_int_equal(blv_dataset_align_to(d, "x.svm", &model, NULL, &why), BLV_E_VALUE);
        assert_string_equal(why.text, "x.svm: 8 features; expected 7 as in the other set");
        blv_dataset_release(d);
    }
}

/* ---- Sets that share arrays ---- */

static void test_shared_arrays(void **state) {
    (void)state;
    for (int f = 0; f < FORMS; f++) {
        sample s = standard(f);
        blv_dataset *d = make_sample(&s), *copy = NULL, *other = NULL;
        const blv_dataset_view *v = blv_dataset_view_of(d);
        assert_int_equal(blv_dataset_copy(d, &copy, NULL), BLV_OK);
        const blv_dataset_view *c = blv_dataset_view_of(copy);
        assert_true(c->dense == v->dense && c->value == v->value && c->label == v->label);
        int32_t label[ROWS];
        for (size_t i = 0; i < ROWS; i++)
            label[i] = (int32_t)(i % 2);
        assert_int_equal(blv_dataset_relabel(d, label, &other, NULL), BLV_OK);
        const blv_dataset_view *o = blv_dataset_view_of(other);
        assert_true(o->dense == v->dense && o->value == v->value);
        assert_memory_equal(o->label, label, sizeof label);
        uint64_t print = blv_dataset_fingerprint(d);
        assert_int_equal(blv_dataset_multiply(copy, 3.0, NULL), BLV_OK);
        assert_int_equal(blv_dataset_corrupt(copy, BLV_CORRUPT_PAIRWISE, 1.0, 1, NULL), BLV_OK);
        assert_true(c->true_label == v->label && c->label != v->label);
        assert_true(print == blv_dataset_fingerprint(d) && o->dense == v->dense);
        assert_true(value_at(c, 1, 1) == 3.0 * value_at(v, 1, 1));
        label[3] = 99;
        blv_dataset *none = NULL;
        blv_message why = {""};
        assert_int_equal(blv_dataset_relabel(d, label, &none, &why), BLV_E_VALUE);
        assert_says(&why, "row 3: class 99 of 4");
        blv_dataset_release(blv_dataset_retain(d));
        blv_dataset_release(d);
        assert_true(value_at(o, 1, 1) == sample_value(1, 1)); /* the arrays outlive the set */
        blv_dataset_release(copy);
        blv_dataset_release(other);
    }
}

/* Consecutive rows of a dense set lie where they were. */
static void test_consecutive_rows(void **state) {
    (void)state;
    for (int f = 0; f < FORMS; f++) {
        sample s = standard(f);
        blv_dataset *d = make_sample(&s), *part = NULL, *joined = NULL;
        size_t index[ROWS - 3];
        for (size_t i = 0; i < ROWS - 3; i++)
            index[i] = i + 2;
        assert_int_equal(blv_dataset_select(d, index, ROWS - 3, &part, NULL), BLV_OK);
        const blv_dataset_view *v = blv_dataset_view_of(d), *p = blv_dataset_view_of(part);
        if (v->dense)
            assert_true((const char *)p->dense > (const char *)v->dense &&
                        (const char *)p->dense <
                            (const char *)v->dense + 3 * COLUMNS * sizeof(double));
        for (size_t i = 0; i < ROWS - 3; i++)
            for (size_t j = 0; j < 6; j++)
                assert_true(value_at(p, i, j) == sample_value(i + 2, j));
        assert_int_equal(blv_dataset_join(d, part, &joined, NULL), BLV_OK);
        const blv_dataset_view *both = blv_dataset_view_of(joined);
        assert_int_equal(both->rows, 2 * ROWS - 3);
        for (size_t j = 0; j < 6; j++)
            assert_true(value_at(both, ROWS + 1, j) == sample_value(3, j) &&
                        value_at(both, 1, j) == sample_value(1, j));
        assert_int_equal(both->label[ROWS + 1], sample_label(3, 4));
        blv_dataset_release(d); /* the part is the only one left that holds the rows */
        assert_int_equal(blv_dataset_multiply(part, 2.0, NULL), BLV_OK);
        assert_true(value_at(p, 0, 1) == 4.0);
        assert_int_equal(blv_dataset_intercept(part, NULL), BLV_OK);
        blv_message why = {""};
        assert_int_equal(blv_dataset_join(joined, part, &d, &why), BLV_E_VALUE);
        assert_says(&why, "align");
        blv_dataset_release(part);
        blv_dataset_release(joined);
    }
}

static void test_split_rows(void **state) {
    (void)state;
    sample s = standard(0);
    blv_dataset *d = make_sample(&s), *part[2];
    const double sizes[] = {0.5, 0.25};
    size_t row[ROWS], count[2], next = 0;
    assert_int_equal(blv_dataset_split(d, sizes, 2, true, 7, part, NULL), BLV_OK);
    assert_int_equal(blv_dataset_split_rows(d, sizes, 2, true, 7, row, count, NULL), BLV_OK);
    for (size_t p = 0; p < 2; p++) {
        const blv_dataset_view *v = blv_dataset_view_of(part[p]);
        assert_int_equal(v->rows, count[p]);
        for (size_t i = 0; i < count[p]; i++, next++)
            for (size_t j = 0; j < 6; j++)
                assert_true(value_at(v, i, j) == sample_value(row[next], j));
        blv_dataset_release(part[p]);
    }
    blv_dataset_release(d);
}

/* One row and one column: nothing divides by zero. */
static void test_smallest_set(void **state) {
    (void)state;
    for (int f = 0; f < FORMS; f++) {
        sample s = form((sample){.rows = 1, .columns = 1, .classes = 1}, f);
        blv_dataset *d = make_sample(&s), *part = NULL;
        assert_int_equal(blv_dataset_split(d, (double[]){1}, 1, true, 0, &part, NULL), BLV_OK);
        assert_int_equal(blv_dataset_scale(&part, 1, BLV_SCALE_STANDARD, NULL), BLV_OK);
        assert_int_equal(blv_dataset_unit_rows(part, NULL), BLV_OK);
        assert_int_equal(blv_dataset_corrupt(part, BLV_CORRUPT_REDRAW, 1.0, 0, NULL), BLV_OK);
        assert_int_equal(blv_dataset_transpose(part, NULL), BLV_OK);
        assert_true(isfinite(value_at(blv_dataset_view_of(part), 0, 0)));
        blv_dataset_release(part);
        blv_dataset_release(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corrupt_counts),
        cmocka_unit_test(test_corrupt_history),
        cmocka_unit_test(test_corrupt_is_uniform),
        cmocka_unit_test(test_corrupt_by_seed),
        cmocka_unit_test(test_corrupt_refuses),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_scale_with_offset),
        cmocka_unit_test(test_scale_refuses),
        cmocka_unit_test(test_multiply_and_unit_rows),
        cmocka_unit_test(test_intercept_and_transpose),
        cmocka_unit_test(test_one_against_rest),
        cmocka_unit_test(test_align),
        cmocka_unit_test(test_align_rejects),
        cmocka_unit_test(test_align_to),
        cmocka_unit_test(test_shared_arrays),
        cmocka_unit_test(test_consecutive_rows),
        cmocka_unit_test(test_split_rows),
        cmocka_unit_test(test_smallest_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
