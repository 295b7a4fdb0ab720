/* Input at the edge of what is allowed: dates and times, attributes, labels, indices and arguments
 * that are just right, and those that are just wrong, with what is said of them. */
#include "reader_helpers.h"

#include <math.h>
#include <stdlib.h>

static void check_rejected_bytes(const char *name, const void *data, size_t n,
                                 const blv_read_options *options, const char *message) {
    blv_dataset *set = NULL;
    blv_message why = {""};
    blv_error error = blv_dataset_read(&set, put_file(name, data, n), options, &why);
    if (error == BLV_OK || set || !strstr(why.text, message))
        fail_msg("error %d: %s\nexpected: %s", (int)error, why.text, message);
}

static void check_rejected(const char *text, const blv_read_options *options, const char *message) {
    check_rejected_bytes("text", text, strlen(text), options, message);
}

/* ---- Dates ---- */

/* The date in a column of dates, as days since 1970; NaN: no date. */
static double date_of(const char *text) {
    char table[300];
    blv_dataset *set = NULL;
    snprintf(table, sizeof table, "when,k\n%s,a\n1970-01-02,b\n1970-01-03,a\n", text);
    const blv_error error =
        blv_dataset_read(&set, put_text("text", table),
                         OPTIONS(.kinds = "when:date", .header = "yes"), &(blv_message){""});
    double days = NAN;
    if (!error)
        days = at(set, 0, 0);
    blv_dataset_release(set);
    return days;
}

static void test_dates(void **state) {
    static const struct {
        const char *text;
        double days;
    } dates[] = {
        {"1970-01-02T00:00Z", 1.0},
        {"1970/01/02 12:00", 1.5},
        {"1970-01-02T12:00:30.5Z", 1.5 + 30.5 / 86400.0},
        {"1970-01-02 12:00+06:00", 1.25},
        {"1970-01-02 06:00-0600", 1.5},
        {"1970-01-02T24:00", 2.0},
        {"2024-02-29", 19782.0},
        {"1970-01-02T00:00:60", 1.0 + 60.0 / 86400.0},
        {"2023-02-29", NAN},
        {"1970-13-02", NAN},
        {"1970-00-02", NAN},
        {"1970-01-00", NAN},
        {"0999-01-02", NAN},
        {"1970-01/02", NAN},
        {"1970.01.02", NAN},
        {"1970-01-02T", NAN},
        {"1970-01-02T25:00", NAN},
        {"1970-01-02T-1:00", NAN},
        {"1970-01-02T12:60", NAN},
        {"1970-01-02T12:-1", NAN},
        {"1970-01-02T12:00:", NAN},
        {"1970-01-02T12:00:61", NAN},
        {"1970-01-02T12:00:-1", NAN},
        {"1970-01-02T12:00+16:00", NAN},
        {"1970-01-02T12:00+01:60", NAN},
        {"1970-01-02T12:00+01:-9", NAN},
        {"1970-01-02T12:00+1", NAN},
        {"1970-01-02T12:00 UTC", NAN},
        {"1970-01-02x", NAN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        const double found = date_of(dates[i].text);
        if (!(isnan(dates[i].days) ? isnan(found) : found == dates[i].days))
            fail_msg("%s is %.17g, expected %.17g", dates[i].text, found, dates[i].days);
    }
}

/* ---- Kinds of columns ---- */

static void test_kinds(void **state) {
    static const char text[] = "a,b,k\n1,2,x\n2,1,y\n3,5,x\n";
    char zeros[] = "a:drop\nb:drop\n";
    (void)state;
    check_rejected(text, OPTIONS(.kinds = "a:drop,b"), "columns: 'b'; expected NAME:KIND");
    check_rejected(text, OPTIONS(.kinds = "0123456789:drop"), "there is no column '0123456789'");
    check_rejected(text, OPTIONS(.kinds = "1a:drop"), "there is no column '1a'");
    check_rejected(text, OPTIONS(.kinds = "3:drop"), "there is no column '3'");
    check_rejected(text, OPTIONS(.kinds = "k:drop"), "'k' is the label");
    char kinds[600];
    strcpy(kinds, put_file("kinds.txt", zeros, sizeof zeros)); /* and a zero byte */
    check_rejected(text, OPTIONS(.kinds = kinds), "expected a text of at most 1 MiB");
    char *large = malloc((1 << 20) + 1);
    assert_non_null(large);
    memset(large, '\n', (1 << 20) + 1);
    strcpy(kinds, put_file("kinds.txt", large, (1 << 20) + 1));
    free(large);
    check_rejected(text, OPTIONS(.kinds = kinds), "expected a text of at most 1 MiB");
    strcpy(kinds, put_text("kinds.txt", "a:drop\r\n"));
    blv_dataset *d = read_text(text, OPTIONS(.kinds = kinds));
    check_values(d, 3, 1, (const double[]){2, 1, 5});
    blv_dataset_release(d);
    check_rejected("a,b,k\n?,2,x\n1,?,y\n", OPTIONS(.missing = BLV_MISSING_DROP),
                   "every row has a missing value");
    check_rejected(text, OPTIONS(.truth = "k", .label = "k"),
                   "true labels need another column with the labels of classes");
    check_rejected(text, OPTIONS(.truth = "a", .label = "none"), "true labels need another column");
    check_rejected(text, OPTIONS(.truth = "a", .real_targets = true, .label = "b"),
                   "true labels need another column");
    check_rejected(text, OPTIONS(.weight = "k", .label = "k"),
                   "the weights need a column of their own");
    check_rejected(text, OPTIONS(.weight = "a", .truth = "a"),
                   "the weights need a column of their");
}

/* More columns with remarks than are listed: the others are counted. */
static void test_many_remarks(void **state) {
    char text[4000] = "", *at_end = text;
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 60; j++)
            at_end += sprintf(at_end, "%s%s", i == j % 3 ? "blue" : "red",
                              j < 59  ? ","
                              : i % 2 ? ",y\n"
                                      : ",x\n");
    blv_dataset *d = read_text(text, OPTIONS(.header = "no"));
    assert_int_equal(blv_dataset_view_of(d)->rows, 3);
    assert_true(has_note(d, "columns more"));
    blv_dataset_release(d);
}

/* ---- ARFF ---- */

static void test_attributes(void **state) {
    static const char head[] = "@relation r\n@attribute a numeric\n@attribute s string\n"
                               "@attribute class {u, v}\n@data\n";
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"@relation r\n@attribute '' numeric\n@data\n1\n", "expected the name of an attribute"},
        {"@relation r\n@attribute a {x, , y}\n@data\nx\n", "expected a value of the attribute"},
        {"@relation r\n@attribute a {x, y\n@data\nx\n", "expected } after the values"},
        {"@relation r\n@attribute a {x, 'y\n@data\nx\n", "expected a closing quote"},
    };
    static const struct {
        const char *row, *message;
    } rows[] = {
        {"{0 1, 3 x}\n", "expected the place of an attribute"},
        {"{2 u, 0 1}\n", "expected the place of an attribute"},
        {"{x 1}\n", "expected the place of an attribute"},
        {"{0123456789 1}\n", "expected the place of an attribute"},
        {"{0=1}\n", "expected the place of an attribute"},
        {"{0 ,2 u}\n", "expected a value"},
        {"{0 '1' 2 u}\n", "expected a comma or }"},
        {"{0 1} x\n", "expected the line's end after }"},
        {"{0 1, 2 w}\n", "w"},
        {"{0 1}\n", "expected a value of every attribute that is a string or date"},
        {"1,'a'b,u\n", "expected a comma after a closing quote"},
        {"1,'a,u\n", "expected a closing quote"},
    };
    char text[400];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_rejected(wrong[i].text, NULL, wrong[i].message);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "%s%s", head, rows[i].row);
        check_rejected(text, NULL, rows[i].message);
    }
    enum { LONG = 200000 }; /* more than is looked at to tell the format */
    char *many = malloc(LONG);
    assert_non_null(many);
    size_t n = (size_t)sprintf(many, "%s", head);
    while (n + 10 < LONG)
        n += (size_t)sprintf(many + n, "1,x,u\n");
    many[n - 4] = '\0';
    check_rejected_bytes("text", many, n, NULL, "expected text, found 'a zero byte'");
    free(many);
    blv_dataset *d = read_text("@relation r\n@attribute a numeric\n@attribute b {'it\\'s', x}\n"
                               "@attribute class {u, v}\n@data\n1,'it\\'s',u\n2,x,v\n",
                               NULL);
    assert_true(has_note(d, "'b'") && at(d, 1, 0) == 2.0);
    check_classes(d, "u v");
    blv_dataset_release(d);
}

/* Records between braces that stay sparse: numbers and a label. */
static void test_sparse_records(void **state) {
    static const char head[] = "@relation r\n@attribute a numeric\n@attribute b numeric\n"
                               "@attribute c numeric\n@data\n";
    char text[300];
    (void)state;
    snprintf(text, sizeof text, "%s{0 1.5, 2 3}\n{1 2}\n{}\n", head);
    blv_dataset *d = read_text(text, OPTIONS(.real_targets = true));
    check_values(d, 3, 2, (const double[]){1.5, 0, 0, 2, 0, 0});
    assert_true(blv_dataset_view_of(d)->target[0] == 3.0);
    blv_dataset_release(d);
    d = read_text(text, OPTIONS(.label = "none", .layout = BLV_LAYOUT_SPARSE));
    check_values(d, 3, 3, (const double[]){1.5, 0, 3, 0, 2, 0, 0, 0, 0});
    assert_null(blv_dataset_view_of(d)->label);
    blv_dataset_release(d);
    d = read_text(text, OPTIONS(.label = "a"));
    check_values(d, 3, 2, (const double[]){0, 3, 2, 0, 0, 0});
    check_classes(d, "1.5 0 0");
    blv_dataset_release(d);
    snprintf(text, sizeof text, "%s{0 1, 2 x}\n", head);
    check_rejected(text, OPTIONS(.real_targets = true), "expected a finite number, found 'x'");
    snprintf(text, sizeof text, "%s{0 y, 2 1}\n", head);
    check_rejected(text, NULL, "attribute 'a': expected a finite number, found 'y'");
    snprintf(text, sizeof text, "%s{0 1e999, 2 1}\n", head);
    check_rejected(text, NULL, "attribute 'a': expected a finite number, found '1e999'");
    snprintf(text, sizeof text, "%s{0 ?, 2 1}\n{0 3, 2 2}\n", head); /* a table then */
    d = read_text(text, NULL);
    assert_true(at(d, 0, 0) == 3.0); /* the median of what is there */
    blv_dataset_release(d);
}

/* ---- Binary formats ---- */

static void test_signed_bytes(void **state) {
    unsigned char idx[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 0xff, 0x80};
    unsigned char many[] = {0, 0, 8, 2, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 1};
    (void)state;
    blv_dataset *d = read_set(put_file("rows-idx2-ubyte", idx, sizeof idx), NULL);
    check_values(d, 2, 2, (const double[]){1, 2, 255, 128});
    blv_dataset_release(d);
    idx[2] = 9;
    d = read_set(put_file("rows-idx2-ubyte", idx, sizeof idx), NULL);
    check_values(d, 2, 2, (const double[]){1, 2, -1, -128});
    blv_dataset_release(d);
    check_rejected_bytes("rows-idx2-ubyte", many, sizeof many, NULL, "rows-idx2-ubyte");
    /* found beside it only where the file is one of images */
    put_text("t10k-labels-idx1-ubyte", "no labels");
    assert_null(blv_dataset_labels_beside(put_text("t10k-images-idx3-ubyte", "no images")));
    assert_null(blv_dataset_labels_beside("/nowhere/t10k-images-idx3-ubyte"));
    assert_null(blv_dataset_labels_beside(NULL));
}

static void test_cifar_labels(void **state) {
    static unsigned char records[2 * 3074];
    (void)state;
    records[3074] = 19;
    records[3075] = 99;
    blv_dataset *d =
        read_set(put_file("cifar", records, sizeof records), OPTIONS(.label = "coarse"));
    check_classes(d, "0 19");
    blv_dataset_release(d);
    d = read_set(put_file("cifar", records, sizeof records), OPTIONS(.label = "fine"));
    check_classes(d, "0 99");
    blv_dataset_release(d);
    check_rejected_bytes("cifar", records, sizeof records, OPTIONS(.label = "rough"),
                         "label is 'rough'; expected");
    static unsigned char ten[2 * 3073];
    check_rejected_bytes("cifar", ten, sizeof ten, OPTIONS(.label = "fine"), "label is 'fine'");
    records[3075] = 100;
    check_rejected_bytes("cifar", records, sizeof records, NULL, "cifar");
}

static void test_lines(void **state) {
    (void)state;
    blv_dataset *d = read_text("# a remark\n\n 1 1:2 \n\t-1 2:0.5\f\n", NULL);
    check_values(d, 2, 2, (const double[]){2, 0, 0, 0.5});
    blv_dataset_release(d);
    check_rejected("1 1:2\n-1 1:inf\n", NULL, "line 2");
    check_rejected("1 1:2\n-1 :3\n", NULL, "line 2");
    check_rejected("1 1:2\ninf 1:3\n", OPTIONS(.real_targets = true), "line 2");
    check_rejected("1 1:2\n", OPTIONS(.weight = "w"),
                   "weights are a column of a CSV or ARFF file, and this is libsvm");
    check_rejected("1 1:2\n", OPTIONS(.labels = "x"), "a file of labels is given, but libsvm");
    check_rejected("1 1:2\n", OPTIONS(.precision = (blv_precision)7), "neither f32 nor f64");
    /* decimal commas are found behind blanks and quotes as well */
    d = read_text("\"1,5\"; 2,25 ;a\n\"3,5\"; 4 ;b\n", OPTIONS(.header = "no"));
    check_values(d, 2, 2, (const double[]){1.5, 2.25, 3.5, 4});
    blv_dataset_release(d);
    d = read_text("1,5;a;0,5\n2;b;1\n7;c;2,5\n", OPTIONS(.real_targets = true, .header = "no"));
    assert_true(blv_dataset_view_of(d)->target[0] == 0.5 && blv_dataset_view_of(d)->target[1] == 1);
    blv_dataset_release(d);
}

/* ---- From memory ---- */

typedef struct arrays {
    double dense[4], weight[2], value[2];
    size_t row_start[3];
    uint32_t column[2];
    int32_t label[2];
} arrays;

static void test_views(void **state) {
    static const arrays sound = {{1, 2, 3, 4}, {1, 1}, {5, 6}, {0, 1, 2}, {0, 1}, {0, 1}};
    static const int32_t seven[] = {0, 7};
    arrays a = sound;
    const blv_dataset_view dense = {.size = sizeof dense,
                                    .rows = 2,
                                    .columns = 2,
                                    .stride = 2,
                                    .precision = BLV_F64,
                                    .dense = a.dense,
                                    .label = a.label,
                                    .classes = 2,
                                    .weight = a.weight};
    const blv_dataset_view sparse = {.size = sizeof sparse,
                                     .rows = 2,
                                     .columns = 2,
                                     .precision = BLV_F64,
                                     .row_start = a.row_start,
                                     .column = a.column,
                                     .value = a.value};
    blv_dataset *d;
    blv_message why;
    (void)state;
#define WRONG(view, change, message)                                                               \
    do {                                                                                           \
        blv_dataset_view v = view;                                                                 \
        change;                                                                                    \
        assert_int_equal(blv_dataset_create(&d, &v, NULL, &why), BLV_E_VALUE);                     \
        if (!strstr(why.text, message))                                                            \
            fail_msg("%s\nexpected: %s", why.text, message);                                       \
        a = sound;                                                                                 \
    } while (0)
    WRONG(dense, v.rows = 0, "there are no rows");
    WRONG(dense, v.columns = 0, "there are no features");
    WRONG(dense, v.precision = (blv_precision)9, "the precision is neither f32 nor f64");
    WRONG(dense, v.dense = NULL, "features must be dense or sparse");
    WRONG(dense, v.stride = 1, "a stride of 1 for 2 rows of 2 columns");
    WRONG(dense, v.stride = SIZE_MAX / 8, "a stride of");
    WRONG(dense, v.rows = (size_t)UINT32_MAX + 1, "at most 4294967295 of each are possible");
    WRONG(dense, v.columns = (size_t)UINT32_MAX + 1, "at most 4294967295 of each are possible");
    WRONG(dense, v.classes = (size_t)INT32_MAX + 1, "classes are too many");
    WRONG(dense, v.label = NULL, "2 classes, but labels are missing");
    WRONG(dense, v.target = a.weight, "both classes and real targets");
    WRONG(dense, a.label[1] = 2, "row 1: class 2 of 2");
    WRONG(dense, a.label[1] = -1, "row 1: class -1 of 2");
    WRONG(dense, v.true_label = seven, "row 1: class 7 of 2");
    WRONG(dense, a.weight[1] = -1.0, "row 1: weight -1; expected a number from 0 on");
    WRONG(dense, a.weight[1] = INFINITY, "row 1: weight inf; expected a number from 0 on");
    WRONG(dense, a.dense[3] = NAN, "finite");
    WRONG(sparse, v.column = NULL, "");
    WRONG(sparse, v.value = NULL, "");
    WRONG(sparse, v.true_label = a.label, "true labels without labels");
    WRONG(sparse, a.value[1] = INFINITY, "finite");
    WRONG(sparse, a.row_start[0] = 1, "row 0 starts at 1 instead of 0");
    WRONG(dense, v.class_names = ((const char *const[]){"a", NULL}), "class 1 has no name");
    WRONG(dense, v.feature_names = ((const char *const[]){NULL, "b"}), "column 0 has no name");
#undef WRONG
}

static blv_dataset *rows_of(const blv_dataset_view *view) {
    blv_dataset *d = NULL;
    blv_message why = {""};
    if (blv_dataset_create(&d, view, NULL, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return d;
}

/* What a set lacks is told where it is needed. */
static void test_what_is_missing(void **state) {
    static const double values[] = {1, 2, 3, 4};
    static const int32_t zeros[] = {0, 0};
    blv_dataset_view view = {.size = sizeof view,
                             .rows = 2,
                             .columns = 2,
                             .stride = 2,
                             .precision = BLV_F64,
                             .dense = values};
    blv_message why;
    blv_dataset *none = rows_of(&view), *changed = NULL;
    (void)state;
    assert_int_equal(blv_dataset_expect_classes(none, "rows", &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "rows: no labels that name a class"));
    assert_int_equal(blv_dataset_relabel(none, zeros, &changed, &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "the set has no classes"));
    view.target = values;
    blv_dataset *real = rows_of(&view);
    assert_int_equal(blv_dataset_expect_classes(real, "rows", &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "the labels are real numbers; expected classes"));
    assert_int_equal(blv_dataset_align((blv_dataset *[]){real, none}, NULL, 2, &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "no labels; expected real targets"));
    view.target = NULL;
    view.label = zeros;
    view.classes = 1;
    blv_dataset *one = rows_of(&view);
    assert_int_equal(blv_dataset_expect_classes(one, "rows", &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "rows: one class only ('0'); expected at least two"));
    assert_int_equal(blv_dataset_relabel(one, (const int32_t[]){0, 1}, &changed, &why),
                     BLV_E_VALUE);
    assert_int_equal(blv_dataset_relabel(one, (const int32_t[]){0, -1}, &changed, &why),
                     BLV_E_VALUE);
    assert_int_equal(blv_dataset_align((blv_dataset *[]){one, real}, NULL, 2, &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "real targets; expected classes"));
    blv_dataset_release(one);
    blv_dataset_release(real);
    blv_dataset_release(none);
}

/* Classes are the same where their names are the same numbers. */
static void test_same_classes(void **state) {
    (void)state;
    blv_dataset *a = read_text("1 1:1\n-1 1:2\n", NULL), *b = read_text("-1.0 1:1\n+1 1:2\n", NULL);
    blv_message why;
    assert_int_equal(blv_dataset_align((blv_dataset *[]){a, b}, NULL, 2, &why), BLV_OK);
    const blv_dataset_view *first = blv_dataset_view_of(a), *second = blv_dataset_view_of(b);
    assert_int_equal(first->label[0], second->label[1]);
    assert_int_equal(first->label[1], second->label[0]);
    blv_dataset_release(b);
    b = read_text("1 1:1\n7 1:2\n", NULL);
    assert_int_equal(blv_dataset_align((blv_dataset *[]){a, b}, NULL, 2, &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "'7'"));
    blv_dataset_release(b);
    blv_dataset_release(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dates),          cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_many_remarks),   cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_sparse_records), cmocka_unit_test(test_signed_bytes),
        cmocka_unit_test(test_cifar_labels),   cmocka_unit_test(test_lines),
        cmocka_unit_test(test_views),          cmocka_unit_test(test_what_is_missing),
        cmocka_unit_test(test_same_classes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
