/* Data sets: made, looked at, selected, split, written. */
#include "dataset_helpers.h"

#include "data/dataset_private.h"

#include <sys/mman.h>

/* ---- Made from memory ---- */

static void test_create_copies(void **state) {
    (void)state;
    for (int f = 0; f < FORMS; f++) {
        sample s = form((sample){.rows = 7, .columns = 5, .classes = 3, .named = true}, f);
        blv_dataset *d = make_sample(&s);
        const blv_dataset_view *v = blv_dataset_view_of(d);
        assert_int_equal(v->rows, 7);
        assert_int_equal(v->columns, 5);
        assert_int_equal(v->classes, 3);
        assert_string_equal(v->format, "memory");
        assert_false(v->mapped);
        assert_int_equal(!v->dense, s.sparse);
        for (size_t i = 0; i < 7; i++) {
            for (size_t j = 0; j < 5; j++)
                assert_true(value_at(v, i, j) == sample_value(i, j));
            assert_int_equal(v->label[i], sample_label(i, 3));
        }
        assert_string_equal(v->class_names[2], "2");
        assert_string_equal(v->feature_names[4], "column \"4\", cm");
        assert_string_equal(blv_dataset_history(d, 0), "made for a test");
        assert_null(blv_dataset_history(d, 1));
        assert_null(blv_dataset_notes(d, 0));
        blv_dataset *again = NULL;
        assert_int_equal(blv_dataset_transpose(d, NULL), BLV_OK);
        assert_int_equal(blv_dataset_create(&again, v, NULL, NULL), BLV_OK);
        assert_same_features(v, blv_dataset_view_of(again));
        assert_int_equal(!blv_dataset_view_of(again)->column_start, !s.sparse);
        assert_true(blv_dataset_fingerprint(d) == blv_dataset_fingerprint(again));
        blv_dataset_release(again);
        blv_dataset_release(d);
    }
    blv_dataset_release(NULL);
    assert_null(blv_dataset_view_of(NULL));
}

static void test_stride(void **state) {
    (void)state;
    const float x[] = {1, 2, 99, 3, 4, 99};
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = 2,
                                   .columns = 2,
                                   .precision = BLV_F32,
                                   .dense = x,
                                   .stride = 3};
    blv_dataset *d = NULL;
    assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
    const blv_dataset_view *v = blv_dataset_view_of(d);
    assert_int_equal(v->stride, 2);
    assert_true(value_at(v, 1, 1) == 4.0 && value_at(v, 1, 0) == 3.0);
    assert_null(v->label);
    assert_null(v->target);
    blv_dataset_release(d);
}

static void count_release(void *context) {
    (*(int *)context)++;
}

/* The caller's memory is used, shared by copies, never changed, and given back once for each array.
 */
static void test_borrowed(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, 4};
    const size_t row_start[] = {0, 1, 2};
    const uint32_t column[] = {1, 0};
    const blv_dataset_view views[] = {
        {.size = sizeof(blv_dataset_view), .rows = 2, .columns = 2, .dense = x, .stride = 2},
        {.size = sizeof(blv_dataset_view),
         .rows = 2,
         .columns = 2,
         .row_start = row_start,
         .column = column,
         .value = x}};
    for (int sparse = 0; sparse < 2; sparse++) {
        int released = 0;
        blv_dataset *d = NULL, *copy = NULL;
        assert_int_equal(
            blv_dataset_borrow(&d, &views[sparse], NULL, count_release, &released, NULL), BLV_OK);
        const blv_dataset_view *v = blv_dataset_view_of(d);
        assert_ptr_equal(sparse ? v->value : v->dense, x);
        assert_int_equal(blv_dataset_copy(d, &copy, NULL), BLV_OK);
        assert_int_equal(blv_dataset_multiply(d, 2.0, NULL), BLV_OK);
        assert_true(x[0] == 1.0);
        assert_true(value_at(blv_dataset_view_of(d), 1, 0) == (sparse ? 4.0 : 6.0));
        blv_dataset_release(d);
        assert_int_equal(released, 0);
        blv_dataset_release(copy);
        assert_int_equal(released, sparse ? 3 : 1);
    }
    blv_dataset_view gaps = views[0];
    gaps.stride = 3;
    gaps.rows = 1;
    blv_dataset *d = NULL;
    assert_int_equal(blv_dataset_borrow(&d, &gaps, NULL, count_release, NULL, NULL),
                     BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_borrow(&d, &views[0], NULL, NULL, NULL, NULL), BLV_E_ARGUMENT);
}

static void refused(const blv_dataset_view *view, const char *words) {
    blv_message why = {""};
    blv_dataset *d = (blv_dataset *)&why;
    assert_int_equal(blv_dataset_create(&d, view, NULL, &why), BLV_E_VALUE);
    assert_null(d);
    assert_says(&why, words);
}

static void test_bad_views(void **state) {
    (void)state;
    const double x[] = {1, 2, 3, NAN};
    const int32_t label[] = {0, 1};
    const uint32_t column[] = {0, 1, 1, 5};
    const size_t start[] = {0, 2, 3}, descending[] = {0, 2, 1}, late[] = {1, 2, 3};
    const char *const names[] = {"a", NULL};
    const blv_dataset_view good = {
        .size = sizeof(blv_dataset_view), .rows = 1, .columns = 2, .dense = x, .stride = 2};
    blv_dataset_view v = good;
    v.rows = 0;
    refused(&v, "no rows");
    v = good;
    v.columns = 0;
    refused(&v, "no features");
    v = good;
    v.rows = 2;
    refused(&v, "row 1, column 1: nan");
    v = good;
    v.stride = 1;
    refused(&v, "stride");
    v = good;
    v.dense = NULL;
    refused(&v, "dense or sparse");
    v = good;
    v.label = label;
    refused(&v, "labels are there");
    v = good;
    v.classes = 2;
    refused(&v, "labels are missing");
    v.label = label + 1;
    v.classes = 1;
    refused(&v, "row 0: class 1 of 1");
    v.classes = 2;
    v.class_names = names;
    refused(&v, "class 1 has no name");
    v.target = x;
    refused(&v, "both");
    v = good;
    v.feature_names = names;
    refused(&v, "column 1 has no name");
    v = good;
    v.target = x + 3;
    refused(&v, "target nan");
    v = good;
    v.true_label = label;
    refused(&v, "true labels");

    blv_dataset_view sparse = {.size = sizeof(blv_dataset_view),
                               .rows = 2,
                               .columns = 2,
                               .row_start = start,
                               .column = column,
                               .value = x};
    v = sparse;
    v.row_start = descending;
    refused(&v, "row 1 ends before it starts");
    v.row_start = late;
    refused(&v, "starts at 1");
    v = sparse;
    v.column = column + 1;
    refused(&v, "row 0: column 1 after column 1");
    v.column = column + 2;
    refused(&v, "column 5 of 2");
    v.column = NULL;
    refused(&v, "missing");
    v = sparse;
    v.value = x + 1;
    refused(&v, "row 1, column 1: nan");
    blv_dataset *d = NULL;
    assert_int_equal(blv_dataset_create(&d, NULL, NULL, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_create(NULL, &good, NULL, NULL), BLV_E_ARGUMENT);
}

/* A reader's set is checked the same way, with its path and another code. */
static void test_finish(void **state) {
    (void)state;
    blv_dataset *d = blv_dataset_new();
    blv_message why = {""};
    d->view.rows = 2;
    d->view.columns = 1;
    assert_true(blv_dataset_put(d, BLV_PART_DENSE, calloc(2, sizeof(double))));
    int32_t *label = calloc(2, sizeof *label);
    assert_true(blv_dataset_put(d, BLV_PART_LABEL, label));
    d->view.classes = 2;
    label[1] = 2;
    assert_int_equal(blv_dataset_finish(d, "file.csv", &why), BLV_E_FORMAT);
    assert_string_equal(why.text, "file.csv: row 1: class 2 of 2");
    label[1] = 1;
    assert_int_equal(blv_dataset_finish(d, "file.csv", &why), BLV_OK);
    assert_int_equal(d->view.stride, 1);
    assert_string_equal(d->view.class_names[1], "1");
    assert_true(blv_dataset_note(d, "%d lines\nwere empty", 3));
    assert_string_equal(blv_dataset_notes(d, 0), "3 lines?were empty");
    blv_dataset_release(d);
}

/* A mapped set keeps its pointer into the file until it is changed. */
static void test_mapped(void **state) {
    (void)state;
    blv_dataset *d = blv_dataset_new();
    size_t length = 4 * sizeof(double);
    void *map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    memcpy(map, (double[]){9, 1, 2, 3}, length);
    assert_int_equal(mprotect(map, length, PROT_READ), 0);
    d->view.rows = 3;
    d->view.columns = 1;
    assert_true(blv_dataset_put_map(d, BLV_PART_DENSE, map, length, sizeof(double)));
    assert_int_equal(blv_dataset_finish(d, "x.npy", NULL), BLV_OK);
    assert_true(d->view.mapped && d->view.dense == (double *)map + 1);
    blv_dataset *picked = NULL;
    assert_int_equal(blv_dataset_select(d, (size_t[]){2, 0}, 2, &picked, NULL), BLV_OK);
    assert_false(picked->view.mapped);
    assert_true(value_at(&picked->view, 0, 0) == 3.0);
    assert_int_equal(blv_dataset_multiply(d, 2.0, NULL), BLV_OK);
    assert_false(d->view.mapped);
    assert_true(value_at(&d->view, 0, 0) == 2.0 && value_at(&d->view, 2, 0) == 6.0);
    blv_dataset_release(picked);
    blv_dataset_release(d);
}

static void test_fingerprint(void **state) {
    (void)state;
    sample s = {.rows = 9, .columns = 4, .classes = 2};
    uint64_t first = 0;
    for (int f = 0; f < FORMS; f++) {
        sample other = form(s, f);
        blv_dataset *d = make_sample(&other);
        if (f == 0)
            first = blv_dataset_fingerprint(d);
        assert_true(blv_dataset_fingerprint(d) == first);
        blv_dataset *swapped = NULL;
        const size_t order[] = {1, 0, 2, 3, 4, 5, 6, 7, 8};
        assert_int_equal(blv_dataset_select(d, order, 9, &swapped, NULL), BLV_OK);
        assert_true(blv_dataset_fingerprint(swapped) != first);
        assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_UNIFORM, 0.2, 1, NULL), BLV_OK);
        assert_true(blv_dataset_fingerprint(d) != first);
        blv_dataset_release(swapped);
        blv_dataset_release(d);
    }
    sample named = s;
    named.named = true;
    blv_dataset *d = make_sample(&named);
    assert_true(blv_dataset_fingerprint(d) != first);
    blv_dataset_release(d);
}

/* ---- Labels ---- */

static bool put_classes(blv_dataset *d, blv_texts *t, const int32_t *number, size_t size) {
    blv_list label = {0}, truth = {0};
    void *items = blv_list_room(&label, size / sizeof *number, sizeof *number);
    assert_non_null(items);
    memcpy(items, number, size);
    label.count = size / sizeof *number;
    return blv_dataset_put_classes(d, t, &label, &truth);
}

static blv_dataset *classes_of(const char *const *texts, size_t count) {
    blv_dataset *d = blv_dataset_new();
    blv_texts t = {.slot_count = 0};
    int32_t number[16] = {0};
    assert_true(count <= 16);
    d->view.rows = count;
    for (size_t i = 0; i < count; i++)
        number[i] = blv_texts_number(&t, texts[i], strlen(texts[i]));
    assert_true(put_classes(d, &t, number, sizeof number));
    blv_texts_free(&t);
    return d;
}

static void test_label_texts(void **state) {
    (void)state;
    const char *const numbers[] = {"10", "2", "+1", "-3.5", "1", "2", "1e1"};
    blv_dataset *d = classes_of(numbers, 7);
    assert_int_equal(d->view.classes, 4);
    assert_string_equal(d->view.class_names[0], "-3.5");
    assert_string_equal(d->view.class_names[1], "+1");
    assert_string_equal(d->view.class_names[2], "2");
    assert_string_equal(d->view.class_names[3], "10");
    const int32_t expected[] = {3, 2, 1, 0, 1, 2, 3};
    assert_memory_equal(d->view.label, expected, sizeof expected);
    blv_dataset_release(d);

    const char *const words[] = {"b", "10", "2", "a", "ab", "a"};
    d = classes_of(words, 6);
    assert_int_equal(d->view.classes, 5);
    const char *const sorted[] = {"10", "2", "a", "ab", "b"};
    for (size_t c = 0; c < 5; c++)
        assert_string_equal(d->view.class_names[c], sorted[c]);
    assert_int_equal(d->view.label[0], 4);
    assert_int_equal(d->view.label[5], 2);
    blv_dataset_release(d);
}

static void test_many_label_texts(void **state) {
    (void)state;
    blv_texts t = {.slot_count = 0};
    char text[16];
    int32_t number[5000];
    for (size_t i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "c%03zu", i * 7 % 500);
        number[i] = blv_texts_number(&t, text, 4);
        assert_int_equal(number[i], i % 500);
    }
    blv_dataset *d = blv_dataset_new();
    d->view.rows = 5000;
    assert_true(put_classes(d, &t, number, sizeof number));
    assert_int_equal(d->view.classes, 500);
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(d->view.label[i], i * 7 % 500);
    blv_texts_free(&t);
    blv_dataset_release(d);
}

/* ---- Selected ---- */

static void test_select(void **state) {
    (void)state;
    const size_t index[] = {4, 3, 4, 0};
    for (int f = 0; f < FORMS; f++) {
        for (size_t classes = 0; classes <= 3; classes += 3) {
            sample s =
                form((sample){.rows = 6, .columns = 5, .classes = classes, .named = true}, f);
            blv_dataset *d = make_sample(&s), *picked = NULL;
            if (classes)
                assert_int_equal(blv_dataset_corrupt(d, BLV_CORRUPT_UNIFORM, 1.0, 5, NULL), BLV_OK);
            assert_int_equal(blv_dataset_select(d, index, 4, &picked, NULL), BLV_OK);
            const blv_dataset_view *v = blv_dataset_view_of(d), *p = blv_dataset_view_of(picked);
            assert_int_equal(p->rows, 4);
            for (size_t i = 0; i < 4; i++) {
                for (size_t j = 0; j < 5; j++)
                    assert_true(value_at(p, i, j) == sample_value(index[i], j));
                if (classes) {
                    assert_int_equal(p->label[i], v->label[index[i]]);
                    assert_int_equal(p->true_label[i], sample_label(index[i], 3));
                } else {
                    assert_true(p->target[i] == v->target[index[i]]);
                }
            }
            assert_string_equal(p->feature_names[1], v->feature_names[1]);
            assert_string_equal(blv_dataset_history(picked, 0), "made for a test");
            assert_string_equal(last_history(picked), "select: 4 of 6 rows");
            blv_dataset_release(d);
            blv_dataset_release(picked);
        }
    }
}

static void test_select_refuses(void **state) {
    (void)state;
    sample s = {.rows = 3, .columns = 3, .classes = 2};
    blv_dataset *d = make_sample(&s), *picked = d;
    blv_message why = {""};
    size_t index[] = {0, 3};
    assert_int_equal(blv_dataset_select(d, index, 2, &picked, &why), BLV_E_VALUE);
    assert_says(&why, "row 3, but there are 3");
    assert_null(picked);
    assert_int_equal(blv_dataset_select(d, index, 0, &picked, &why), BLV_E_VALUE);
    assert_int_equal(blv_dataset_select(NULL, index, 1, &picked, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_select(d, NULL, 1, &picked, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_select(d, index, 1, NULL, &why), BLV_E_ARGUMENT);
    blv_dataset_release(d);
}

/* ---- Split ---- */

enum { MANY = 1003 };

/* Rows carry their number in column 0. */
static blv_dataset *numbered(size_t rows, size_t classes) {
    double *x = calloc(rows, sizeof *x);
    int32_t *label = calloc(rows, sizeof *label);
    for (size_t i = 0; i < rows; i++) {
        x[i] = (double)i;
        label[i] = (int32_t)(i % 10 < 6 ? 0 : i % 10 % classes);
    }
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = rows,
                                   .columns = 1,
                                   .dense = x,
                                   .stride = 1,
                                   .classes = classes,
                                   .label = label};
    blv_dataset *d = NULL;
    assert_int_equal(blv_dataset_create(&d, &view, NULL, NULL), BLV_OK);
    free(x);
    free(label);
    return d;
}

static size_t count_class(const blv_dataset *d, int32_t c) {
    size_t n = 0;
    const blv_dataset_view *v = blv_dataset_view_of(d);
    for (size_t i = 0; i < v->rows; i++)
        n += v->label[i] == c;
    return n;
}

static void check_partition(const blv_dataset *d, blv_dataset **part, size_t parts,
                            const size_t *expected, bool stratified) {
    const blv_dataset_view *v = blv_dataset_view_of(d);
    unsigned char *seen = calloc(v->rows, 1);
    for (size_t p = 0; p < parts; p++) {
        const blv_dataset_view *q = blv_dataset_view_of(part[p]);
        assert_int_equal(q->rows, expected[p]);
        size_t ascents = 0;
        for (size_t i = 0; i < q->rows; i++) {
            size_t row = (size_t)value_at(q, i, 0);
            assert_int_equal(seen[row]++, 0);
            assert_int_equal(q->label[i], v->label[row]);
            ascents += i > 0 && value_at(q, i, 0) > value_at(q, i - 1, 0);
        }
        if (q->rows > 100)
            assert_in_range(ascents, q->rows * 2 / 5, q->rows * 3 / 5);
        for (size_t c = 0; stratified && c < v->classes; c++) {
            double share = (double)count_class(d, (int32_t)c) * (double)q->rows / (double)v->rows;
            double found = (double)count_class(part[p], (int32_t)c);
            if (!(fabs(found - share) < 1.0 + 1e-9))
                fail_msg("part %zu, class %zu: %g rows of %g", p, c, found, share);
        }
    }
    free(seen);
}

static void destroy_all(blv_dataset **part, size_t parts) {
    for (size_t p = 0; p < parts; p++)
        blv_dataset_release(part[p]);
}

static void test_split(void **state) {
    (void)state;
    const double sizes[][4] = {{0.64, 0.16, 0.2}, {0.5, 0.5}, {0.1, 0.1, 0.1, 0.1},
                               {700, 0.2, 0.1},   {MANY},     {1, 1, 1, 1}};
    const size_t expected[][4] = {{642, 160, 201}, {502, 501}, {101, 100, 100, 100},
                                  {700, 201, 100}, {MANY},     {1, 1, 1, 1}};
    const size_t parts[] = {3, 2, 4, 3, 1, 4};
    for (size_t classes = 1; classes <= 10; classes += 3) {
        blv_dataset *d = numbered(MANY, classes), *part[4];
        for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
            for (int stratified = 0; stratified < 2; stratified++) {
                assert_int_equal(
                    blv_dataset_split(d, sizes[k], parts[k], stratified, k, part, NULL), BLV_OK);
                check_partition(d, part, parts[k], expected[k], stratified);
                destroy_all(part, parts[k]);
            }
        }
        blv_dataset_release(d);
    }
}

static void test_split_by_seed(void **state) {
    (void)state;
    blv_dataset *d = numbered(100, 3);
    blv_dataset *a[2], *b[2], *c[2];
    const double sizes[] = {0.7, 0.2};
    for (int stratified = 0; stratified < 2; stratified++) {
        assert_int_equal(blv_dataset_split(d, sizes, 2, stratified, 1, a, NULL), BLV_OK);
        assert_int_equal(blv_dataset_split(d, sizes, 2, stratified, 1, b, NULL), BLV_OK);
        assert_int_equal(blv_dataset_split(d, sizes, 2, stratified, 2, c, NULL), BLV_OK);
        for (size_t p = 0; p < 2; p++) {
            assert_true(blv_dataset_fingerprint(a[p]) == blv_dataset_fingerprint(b[p]));
            assert_true(blv_dataset_fingerprint(a[p]) != blv_dataset_fingerprint(c[p]));
        }
        assert_string_equal(last_history(a[1]),
                            stratified
                                ? "split stratified 0.7 0.2, seed 1: part 2 of 2, 20 of 100 rows"
                                : "split 0.7 0.2, seed 1: part 2 of 2, 20 of 100 rows");
        destroy_all(a, 2);
        destroy_all(b, 2);
        destroy_all(c, 2);
    }
    blv_dataset_release(d);
}

static void test_subsample(void **state) {
    (void)state;
    blv_dataset *d = numbered(100, 3), *picked = NULL;
    assert_int_equal(blv_dataset_subsample(d, 0.25, true, 3, &picked, NULL), BLV_OK);
    check_partition(d, &picked, 1, (size_t[]){25}, true);
    assert_string_equal(last_history(picked), "subsample stratified 0.25, seed 3: 25 of 100 rows");
    blv_dataset_release(picked);
    assert_int_equal(blv_dataset_subsample(d, 100, false, 3, &picked, NULL), BLV_OK);
    check_partition(d, &picked, 1, (size_t[]){100}, false);
    blv_dataset_release(picked);
    blv_dataset_release(d);
}

static void split_refused(const blv_dataset *d, double a, double b, bool stratified,
                          const char *words) {
    blv_message why = {""};
    blv_dataset *part[2];
    assert_int_equal(blv_dataset_split(d, (double[]){a, b}, 2, stratified, 0, part, &why),
                     BLV_E_VALUE);
    assert_says(&why, words);
    assert_null(part[0]);
    assert_null(part[1]);
}

static void test_split_refuses(void **state) {
    (void)state;
    blv_dataset *d = numbered(10, 2), *part[2];
    split_refused(d, 0.7, 0.7, false, "add up to 14 rows, but there are 10");
    split_refused(d, 8, 0.5, true, "add up to 13 rows, but there are 10");
    split_refused(d, 6, 5, true, "add up to 11 rows");
    split_refused(d, 11, 1, true, "size 11, but there are 10 rows");
    split_refused(d, 0.5, 0, false, "size 0; expected more than 0");
    split_refused(d, 0.5, -0.5, false, "size -0.5");
    split_refused(d, NAN, 0.5, false, "size nan");
    split_refused(d, 0.5, INFINITY, false, "size inf");
    split_refused(d, 0.5, 2.5, false, "whole number of rows");
    split_refused(d, 0.5, 0.01, false, "less than one row");
    assert_int_equal(blv_dataset_split(d, NULL, 2, false, 0, part, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_split(d, (double[]){1}, 0, false, 0, part, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_subsample(d, 0.5, false, 0, NULL, NULL), BLV_E_ARGUMENT);
    blv_dataset_release(d);
    sample s = {.rows = 10, .columns = 3};
    d = make_sample(&s);
    split_refused(d, 0.5, 0.5, true, "stratified needs classes");
    assert_int_equal(blv_dataset_split(d, (double[]){0.5, 0.5}, 2, false, 0, part, NULL), BLV_OK);
    destroy_all(part, 2);
    blv_dataset_release(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_copies),    cmocka_unit_test(test_stride),
        cmocka_unit_test(test_bad_views),        cmocka_unit_test(test_finish),
        cmocka_unit_test(test_mapped),           cmocka_unit_test(test_fingerprint),
        cmocka_unit_test(test_borrowed),         cmocka_unit_test(test_label_texts),
        cmocka_unit_test(test_many_label_texts), cmocka_unit_test(test_select),
        cmocka_unit_test(test_select_refuses),   cmocka_unit_test(test_split),
        cmocka_unit_test(test_split_by_seed),    cmocka_unit_test(test_subsample),
        cmocka_unit_test(test_split_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
