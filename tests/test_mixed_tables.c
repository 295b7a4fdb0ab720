/* Tables as people have them, continued: lines above them, what is not read, missing values where
 * the training had none, and numbers next to categories in the tasks. */
#include "bilevel/task.h"
#include "reader_helpers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check_rejected(const char *text, const blv_read_options *options, const char *message) {
    blv_dataset *set = NULL;
    blv_message why = {""};
    blv_error error = blv_dataset_read(&set, put_text("text", text), options, &why);
    assert_null(set);
    if (error == BLV_OK || !strstr(why.text, message))
        fail_msg("error %d: %s\nexpected: %s", (int)error, why.text, message);
}

/* ---- A line above the table ---- */

/* As adult.test of UCI begins: its commas are in the lines below, and no part of their numbers. */
static void test_title(void **state) {
    (void)state;
    static const char rows[] = "25, Private, ?, 1.5, yes.\n38, Private, Rome, 2, no.\n"
                               "28, State, Bern, 3, yes.\n";
    char text[400];
    blv_dataset *plain = read_text(rows, NULL);
    snprintf(text, sizeof text, "|1x3 Cross validator\n%s", rows);
    blv_dataset *titled = read_text(text, NULL);
    assert_true(has_note(titled, "line 1 left out: a header of 1 fields, the rows have 5"));
    assert_true(has_note(titled, "column 'x2': category of 2 levels, 1 missing"));
    assert_true(blv_dataset_fingerprint(titled) == blv_dataset_fingerprint(plain));
    blv_dataset_release(titled);
    blv_dataset_release(plain);
    /* a comma behind a number makes it no number */
    check_rejected("1\t2\ta\n3\t4,\tb\n5\t6\ta\n", NULL, "expected a finite number, found '4,'");
}

/* A comma may separate thousands: 1,130 above 837 is no 1.13. */
static void test_thousands(void **state) {
    (void)state;
    static const char note[] =
        "commas are taken for decimal ones, not for those of thousands: '1,130'";
    check_rejected("x;n;k\n0.5;1,130;a\n2.25;837;b\n7;-22,000;a\n", NULL,
                   "commas separate thousands ('1,130'), as other numbers have a point");
    check_rejected("n\tx\tk\n1,130\t2\t0.5\n837\t1\t2.5\n", OPTIONS(.targets = BLV_TARGETS_REAL),
                   "expected a finite number, found '0.5'");
    blv_dataset *d = read_text("x;n;k\n5;1,130;a\n2;837;b\n", NULL);
    assert_true(has_note(d, note)); /* nobody knows */
    blv_dataset_release(d);
    d = read_text("x;n;k\n5,25;1,130;a\n2,5;8,371;b\n", NULL);
    assert_false(has_note(d, note));
    assert_true(at(d, 0, 0) == 5.25 && at(d, 1, 1) == 8.371);
    blv_dataset_release(d);
    d = read_text("x;n;k\n5;0,130;a\n2;8,371;b\n", NULL);
    assert_false(has_note(d, note));
    blv_dataset_release(d);
    d = read_text("x;n;k\n0.5;1,130;a\n2.5;837;b\n7;1,130;a\n", OPTIONS(.kinds = "n:category"));
    assert_true(at(d, 1, 0) == 2.5 && blv_dataset_view_of(d)->columns == 4);
    blv_dataset_release(d);
}

/* What is asked for of one column, or of one of several with its name, is clear. */
static void test_unclear_options(void **state) {
    (void)state;
    static const char text[] = "a,b,b,w,k\n1,2,3,5e-324,x\n2,3,1,0,y\n4,1,2,5e-324,x\n";
    check_rejected(text, OPTIONS(.kinds = "a:drop,a:number"), "'a' is given a kind twice");
    check_rejected(text, OPTIONS(.kinds = "a:drop,0:drop"), "'0' is given a kind twice");
    check_rejected(text, OPTIONS(.kinds = "b:drop"),
                   "2 have the name 'b'; expected a number from 0 to 4");
    check_rejected(text, OPTIONS(.weight = "w"), "the weights of the rows add up to 9.88131e-324");
    blv_dataset *d = read_text(text, OPTIONS(.kinds = "1:drop"));
    assert_int_equal(blv_dataset_view_of(d)->columns, 3);
    assert_true(at(d, 0, 1) == 3.0);
    blv_dataset_release(d);
}

/* What an ARFF file declares is believed: levels that look missing, numbers, and dates, which are
 * not read in another order than it says. */
static void test_declared(void **state) {
    (void)state;
    static const char head[] = "@relation r\n@attribute x numeric\n@attribute c {NA, '?', b}\n"
                               "@attribute class {NA, q}\n@data\n";
    char text[400];
    snprintf(text, sizeof text, "%s1,NA,q\n2,'?',NA\n3,?,q\n4,b,q\n{0 5, 2 q}\n", head);
    blv_dataset *d = read_text(text, NULL);
    static const double c[5][5] = {/* ?, NA, b, never seen, missing */
                                   {0, 1, 0, 0, 0},
                                   {1, 0, 0, 0, 0},
                                   {0, 1, 0, 0, 1},
                                   {0, 0, 1, 0, 0},
                                   {0, 1, 0, 0, 0}};
    assert_int_equal(blv_dataset_view_of(d)->columns, 6);
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            assert_true(at(d, i, 1 + j) == c[i][j]);
    assert_int_equal(blv_dataset_view_of(d)->classes, 2);
    blv_dataset_release(d);
    snprintf(text, sizeof text, "%sinf,NA,q\n1e400,b,NA\n", head);
    check_rejected(text, NULL, "line 6, column 1 of 3 (x): expected a finite number, found 'inf'");

    static const char *const forms[] = {"",
                                        " yyyy-MM-dd",
                                        " 'yyyy/MM/dd HH:mm'",
                                        " \"yyyy-MM-dd'T'HH:mm:ss\"",
                                        " 'yyyy-dd-MM'",
                                        " 'dd.MM.yyyy'",
                                        " 'yyyy-MM-dd hh:mm a'"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(text, sizeof text,
                 "@relation r\n@attribute x date%s\n@attribute k {a,b}\n@data\n"
                 "2024-02-01,a\n2024-03-01,b\n",
                 forms[i]);
        if (i > 3) {
            check_rejected(text, NULL, "line 2: expected dates of the form yyyy-MM-dd");
            continue;
        }
        d = read_text(text, NULL);
        assert_true(at(d, 1, 0) - at(d, 0, 0) == 29.0);
        blv_dataset_release(d);
    }
}

/* Rows to be answered may have labels that are not wanted. */
static void test_label_not_read(void **state) {
    (void)state;
    static const char *const heads[] = {"", "a,c,kind\n"};
    for (int h = 0; h < 2; h++) {
        char text[200];
        snprintf(text, sizeof text, "%s1,x,no\n2,y,yes\n3,x,no\n", heads[h]);
        blv_dataset *train = read_text(text, NULL);
        const char *recipe = blv_dataset_recipe(train);
        snprintf(text, sizeof text, "%s1,x,?\n2,y,other\n3,x,no.\n", heads[h]);
        blv_dataset *d = read_text(text, OPTIONS(.label = "none", .recipe = recipe));
        assert_null(blv_dataset_view_of(d)->label);
        assert_int_equal(blv_dataset_view_of(d)->columns, blv_dataset_view_of(train)->columns);
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < blv_dataset_view_of(d)->columns; j++)
                assert_true(at(d, i, j) == at(train, i, j));
        blv_dataset_release(d);
        blv_dataset_release(train);
    }
}

static void test_no_dates(void **state) {
    (void)state;
    static const char *const texts[] = {"2023-02-29", "1900-02-29", "2024-04-31", "2024-+4-03",
                                        "2024- 4-03", "2024-13-01", "2024-00-10", "2024-4/03"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[200];
        snprintf(text, sizeof text, "when,k\n2024-02-29,a\n%s,b\n2000-02-29,a\n", texts[i]);
        check_rejected(text, OPTIONS(.kinds = "when:date", .header = "yes"),
                       "expected a date in every row");
    }
}

/* ---- Missing values where the training had none ---- */

static int by_size(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Rows n,flag,label with numbers drawn from a few values, so that many are equal, or from many. */
static blv_dataset *read_numbers(size_t rows, unsigned values, double *sorted, char *text,
                                 size_t size) {
    size_t used = (size_t)snprintf(text, size, "n,flag,label\n");
    size_t yes = 0;
    for (size_t i = 0; i < rows; i++) {
        sorted[i] = 0.25 * (double)((unsigned)rand() % values) - 3.0;
        yes += i % 3 > 0;
        used += (size_t)snprintf(text + used, size - used, "%g,%s,%s\n", sorted[i],
                                 i % 3 > 0 ? "yes" : "no", i % 2 ? "a" : "b");
    }
    assert_true(yes * 2 > rows);
    qsort(sorted, rows, sizeof *sorted, by_size);
    return read_text(text, NULL);
}

static void test_fills_of_whole_columns(void **state) {
    (void)state;
    static char text[100000];
    static double sorted[2000];
    static const char later[] = "n,flag,label\n,,a\n1,no,b\n";
    srand(1);
    for (size_t rows = 5; rows < 1500; rows = rows * 5 / 3 + 1)
        for (unsigned values = 1; values < 4000; values *= 11) {
            blv_dataset *train = read_numbers(rows, values, sorted, text, sizeof text);
            check_rejected(later, OPTIONS(.recipe = blv_dataset_recipe(train)),
                           "column 'n' has 1 missing values; the rows of the training have none");
            assert_int_equal(blv_dataset_learn_fills(train, NULL), BLV_OK);
            blv_dataset *d = read_text(
                later, OPTIONS(.recipe = blv_dataset_recipe(train), .layout = BLV_LAYOUT_DENSE));
            const double median = (sorted[(rows - 1) / 2] + sorted[rows / 2]) / 2.0;
            check_values(d, 2, 2, (const double[]){median, 1, 1, 0});
            assert_true(has_note(d, "column 'n': number, 1 missing, none in the training"));
            blv_dataset_release(d);
            blv_dataset_release(train);
        }
    /* after a split those of the part */
    blv_dataset *all = read_text("n,c,label\n1,x,a\n2,y,b\n30,x,a\n40,y,b\n", NULL), *part;
    assert_int_equal(blv_dataset_learn_fills(all, NULL), BLV_OK);
    assert_non_null(strstr(blv_dataset_recipe(all), "number\tn\t16\t0\n"));
    assert_int_equal(blv_dataset_select(all, (const size_t[]){0, 1}, 2, &part, NULL), BLV_OK);
    assert_int_equal(blv_dataset_learn_fills(part, NULL), BLV_OK); /* it is known */
    assert_string_equal(blv_dataset_recipe(part), blv_dataset_recipe(all));
    blv_dataset_release(part);
    blv_dataset_release(all);
    blv_dataset *plain = read_text("1 1:2\n0 2:1\n", NULL);
    assert_int_equal(blv_dataset_learn_fills(plain, NULL), BLV_OK);
    assert_null(blv_dataset_recipe(plain));
    blv_dataset_release(plain);
    assert_int_equal(blv_dataset_learn_fills(NULL, NULL), BLV_E_ARGUMENT);
}

/* ---- Numbers next to categories ---- */

enum { ROWS = 200 };

/* levels: of each of three categories; the second number is in another unit. */
static const char *put_mixed(const char *name, unsigned levels) {
    static char text[50 * ROWS];
    size_t used = (size_t)snprintf(text, sizeof text, "age,weight,c,d,e,label\n");
    for (unsigned i = 0; i < ROWS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%u,%u,c%u,d%u,e%u,%s\n",
                                 17 + (unsigned)rand() % 60, 100000 + (unsigned)rand() % 900000,
                                 i % levels, i % (levels - 1), i % (levels + 1),
                                 rand() % 2 ? "a" : "b");
    return put_text(name, text);
}

/* Each column has a scale of its own, also where the table is kept sparse. */
static void check_scaled(const char *path, blv_layout layout, bool dense) {
    char copy[600];
    snprintf(copy, sizeof copy, "%s", path);
    for (int tune = 0; tune < 2; tune++) {
        const blv_read_options reading = {.size = sizeof reading, .layout = layout};
        const blv_task_files files = {
            .size = sizeof files, .train = copy, .reading = &reading, .for_tune = tune};
        blv_task_sets *sets = NULL;
        assert_int_equal(blv_task_sets_read(&sets, &files, NULL), BLV_OK);
        assert_true(!blv_dataset_view_of(sets->train)->dense == !dense);
        assert_false(sets->unit_rows);
        for (size_t j = 0; j < 2; j++) {
            double sum = 0.0, square = 0.0, largest = 0.0;
            for (size_t i = 0; i < ROWS; i++) {
                const double x = at(sets->train, i, j);
                sum += x / ROWS;
                square += x * x / ROWS;
                largest = fmax(largest, fabs(x));
            }
            const double variance = square - sum * sum;
            assert_true(tune ? fabs(variance - 1.0) < 1e-5 : fabs(largest - 1.0) < 1e-5);
            assert_true(!tune || !dense || fabs(sum) < 1e-5);
        }
        blv_task_sets_destroy(sets);
    }
}

static void test_mixed_tables_in_tasks(void **state) {
    (void)state;
    blv_dataset *dense = read_text("a,label\n1,p\n2,q\n", OPTIONS(.layout = BLV_LAYOUT_DENSE));
    const char *path = put_mixed("mixed", 12); /* 5 of 41 are not zero */
    blv_dataset *d = NULL;
    assert_int_equal(blv_dataset_read(&d, path, NULL, NULL), BLV_OK);
    assert_null(blv_dataset_view_of(d)->dense);
    bool mixed = false;
    assert_int_equal(blv_dataset_centre_table(&d, 1, true, &mixed, NULL), BLV_OK);
    assert_true(mixed && !blv_dataset_view_of(d)->dense);
    blv_dataset *const others[] = {d, NULL, dense}; /* dense already, and not aligned */
    assert_int_equal(blv_dataset_centre_table(others, 3, false, &mixed, NULL), BLV_OK);
    assert_true(mixed && blv_dataset_view_of(d)->dense && blv_dataset_view_of(dense)->dense);
    blv_dataset_release(dense);
    assert_int_equal(blv_dataset_centre_table(NULL, 1, false, &mixed, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_centre_table(&d, 1, false, NULL, NULL), BLV_E_ARGUMENT);
    blv_dataset_release(d);
    check_scaled(path, BLV_LAYOUT_AUTO, true);
    check_scaled(path, BLV_LAYOUT_SPARSE, false);
    check_scaled(put_mixed("wide", 60), BLV_LAYOUT_AUTO, false); /* 5 of 185 */
    /* categories alone stay as they are, and so do sparse numbers */
    d = read_text("c,d,e,f,label\nx,y,z,w,a\nu,v,z,t,b\nx,v,q,s,a\nk,m,n,r,b\n",
                  OPTIONS(.layout = BLV_LAYOUT_SPARSE));
    assert_int_equal(blv_dataset_centre_table(&d, 1, false, &mixed, NULL), BLV_OK);
    assert_false(mixed || blv_dataset_view_of(d)->dense);
    blv_dataset_release(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_title),
        cmocka_unit_test(test_thousands),
        cmocka_unit_test(test_unclear_options),
        cmocka_unit_test(test_declared),
        cmocka_unit_test(test_label_not_read),
        cmocka_unit_test(test_no_dates),
        cmocka_unit_test(test_fills_of_whole_columns),
        cmocka_unit_test(test_mixed_tables_in_tasks),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
