/* Data sets: what changes them, against computation of the test's own. */
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
            if (s.sparse) {
                assert_transposed_agrees(new);
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
        if (s.sparse)
            assert_transposed_agrees(v);
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

static void test_match(void **state) {
    (void)state;
    const char *const here[] = {"+1", "7", "-1", "unused"}, *const there[] = {"-1", "1", "2", "7"};
    for (int f = 0; f < FORMS * FORMS; f++) {
        sample s = standard(f % FORMS), t = standard(f / FORMS);
        s.classes = 3;
        s.named = t.named = false;
        s.columns = f % 3 == 0 ? 4 : 6;
        t.columns = f % 3 == 1 ? 4 : 6;
        blv_dataset *d = with_classes(&s, here), *reference_set = with_classes(&t, there);
        assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_UNIFORM, 0.3, 1, NULL), BLV_OK);
        assert_int_equal(blv_dataset_transpose(d, NULL), BLV_OK);
        assert_int_equal(blv_dataset_transpose(reference_set, NULL), BLV_OK);
        blv_message why = {""};
        if (blv_dataset_match(d, reference_set, &why) != BLV_OK)
            fail_msg("%s", why.text);
        const blv_dataset_view *v = blv_dataset_view_of(d);
        const blv_dataset_view *r = blv_dataset_view_of(reference_set);
        assert_int_equal(v->columns, 6);
        assert_int_equal(r->columns, 6);
        assert_int_equal(v->classes, 4);
        assert_string_equal(v->class_names[1], "1");
        const int32_t to[] = {1, 3, 0};
        for (size_t i = 0; i < ROWS; i++) {
            assert_int_equal(v->true_label[i], to[sample_label(i, 3)]);
            for (size_t j = 0; j < 6; j++) {
                assert_true(value_at(v, i, j) == (j < s.columns ? sample_value(i, j) : 0.0));
                assert_true(value_at(r, i, j) == (j < t.columns ? sample_value(i, j) : 0.0));
            }
        }
        if (s.sparse)
            assert_transposed_agrees(v);
        if (t.sparse)
            assert_transposed_agrees(r);
        blv_dataset_release(d);
        blv_dataset_release(reference_set);
    }
}

static void test_match_refuses(void **state) {
    (void)state;
    const char *const here[] = {"1", "2", "3", "9"}, *const there[] = {"1", "2", "3", "4"};
    sample s = standard(0), t = standard(0);
    blv_dataset *d = with_classes(&s, here), *r = with_classes(&t, there);
    blv_message why = {""};
    uint64_t print = blv_dataset_fingerprint(d);
    assert_int_equal(blv_dataset_match(d, r, &why), BLV_E_VALUE);
    assert_says(&why, "class '9', which the other set has not");
    assert_true(print == blv_dataset_fingerprint(d));
    assert_int_equal(blv_dataset_match(d, d, &why), BLV_E_ARGUMENT);
    blv_dataset_release(r);
    t.columns = 5;
    r = with_classes(&t, here);
    assert_int_equal(blv_dataset_match(d, r, &why), BLV_E_VALUE);
    assert_says(&why, "6 named columns, but 5");
    blv_dataset_release(r);
    t.columns = 6;
    r = with_classes(&t, here);
    assert_int_equal(blv_dataset_match(d, r, &why), BLV_OK);
    blv_dataset_release(r);
    t.classes = 0;
    r = make_sample(&t);
    assert_int_equal(blv_dataset_match(d, r, &why), BLV_E_VALUE);
    assert_says(&why, "classes or targets");
    blv_dataset_release(r);
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
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_match_refuses),
        cmocka_unit_test(test_smallest_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
