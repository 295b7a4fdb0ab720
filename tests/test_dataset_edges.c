/* Sets of data that do not go together, views that are not sound, and texts that are cut. */
#include "bilevel/ranks.h"
#include "dataset_helpers.h"
#include "reader_helpers.h"

#include <stdio.h>

/* Sets can be joined when they are alike in all that the message names. */
static void test_join_of_unlike_sets(void **state) {
    (void)state;
    const sample plain = {.rows = 6, .columns = 3, .classes = 2, .precision = BLV_F64};
    sample others[] = {plain, plain, plain, plain, plain};
    others[0].columns = 4;
    others[1].classes = 3;
    others[2].sparse = true;
    others[3].precision = BLV_F32;
    others[4].classes = 0;
    blv_dataset *first = make_sample(&plain), *second = make_sample(&plain), *joined = NULL;
    blv_message why = {""};
    assert_int_equal(blv_dataset_join(first, second, &joined, &why), BLV_OK);
    assert_int_equal(blv_dataset_view_of(joined)->rows, 12);
    blv_dataset_release(joined);
    blv_dataset_release(second);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        second = make_sample(&others[k]);
        assert_int_equal(blv_dataset_join(first, second, &joined, &why), BLV_E_VALUE);
        assert_null(joined);
        assert_says(&why, "join: the sets differ in columns, classes, layout or precision");
        blv_dataset_release(second);
    }
    blv_dataset_release(first);
}

/* Cut to the size, as snprintf does: nothing is written behind it. */
static void test_kinds_are_cut(void **state) {
    (void)state;
    blv_dataset *d = read_text("age,town,born,kind,outcome\n1,a,2024-01-02,yes,u\n,b,2024-01-03,no,"
                               "v\n3,a,2024-01-02,no,u\n",
                               NULL);
    static const char whole[] =
        "1 number, 1 category, 1 boolean, 1 date; 1 with missing values; label 'outcome'";
    blv_message why = {""};
    char text[sizeof whole + 8];
    for (size_t size = 1; size <= sizeof whole + 4; size++) {
        memset(text, 'x', sizeof text);
        assert_int_equal(blv_dataset_kinds(d, text, size, &why), BLV_OK);
        const size_t length = strlen(text);
        assert_int_equal(length, size < sizeof whole ? size - 1 : sizeof whole - 1);
        assert_memory_equal(text, whole, length);
        assert_true(text[size] == 'x');
    }
    assert_int_equal(blv_dataset_kinds(d, text, 0, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_kinds(d, NULL, 5, &why), BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_kinds(NULL, text, 5, &why), BLV_E_ARGUMENT);
    blv_dataset_release(d);
}

/* The history of a split into very many parts ends early, the parts are all there. */
static void test_many_parts(void **state) {
    (void)state;
    enum { PARTS = 400 };
    const sample s = {.rows = PARTS, .columns = 3, .classes = 2};
    double sizes[PARTS];
    blv_dataset *d = make_sample(&s), *part[PARTS] = {NULL};
    blv_message why = {""};
    for (size_t p = 0; p < PARTS; p++)
        sizes[p] = 1.0;
    assert_int_equal(blv_dataset_split(d, sizes, PARTS, false, 7, part, &why), BLV_OK);
    for (size_t p = 0; p < PARTS; p++) {
        assert_int_equal(blv_dataset_view_of(part[p])->rows, 1);
        assert_int_equal(strncmp(last_history(part[p]), "split 1 1 1 1 1 1 1", 19), 0);
        assert_true(strlen(last_history(part[p])) < 2 * PARTS);
        blv_dataset_release(part[p]);
    }
    blv_dataset_release(d);
}

/* Rows that are held by ranks: fewer than there are, each once, ascending. */
static void test_held_rows(void **state) {
    (void)state;
    const double dense[4] = {1.0, 2.0, 3.0, 4.0};
    const int32_t label[2] = {0, 1};
    const blv_ranks ranks = {.size = sizeof ranks, .rank = 0, .count = 2}, old = {.size = 4};
    const size_t up[] = {0, 1}, down[] = {1, 0}, twice[] = {1, 1}, outside[] = {0, 2};
    const blv_dataset_view sound = {.size = sizeof sound,
                                    .rows = 2,
                                    .columns = 2,
                                    .precision = BLV_F64,
                                    .dense = dense,
                                    .stride = 2,
                                    .classes = 2,
                                    .label = label,
                                    .ranks = &ranks,
                                    .held = 2,
                                    .held_row = up};
    blv_dataset_view v[7] = {sound, sound, sound, sound, sound, sound, sound};
    v[1].ranks = &old;
    v[2].held_row = NULL;
    v[3].held = 3;
    v[4].held_row = down;
    v[5].held_row = twice;
    v[6].held_row = outside;
    static const char *const said[] = {NULL,
                                       "ranks without rows that are held, or more than there are",
                                       "ranks without rows that are held, or more than there are",
                                       "ranks without rows that are held, or more than there are",
                                       "row 0 is held after another; expected ascending",
                                       "row 1 is held after another; expected ascending",
                                       "row 2 is held after another; expected ascending"};
    for (size_t k = 0; k < sizeof v / sizeof *v; k++) {
        blv_message why = {""};
        blv_dataset *d = NULL;
        blv_error error = blv_dataset_create(&d, &v[k], NULL, &why);
        assert_int_equal(error, said[k] ? BLV_E_VALUE : BLV_OK);
        if (said[k])
            assert_says(&why, said[k]);
        else
            assert_int_equal(blv_dataset_view_of(d)->held, 2);
        blv_dataset_release(d);
    }
}

/* A label without classes, very many categories, a category without values. */
static void test_tables_of_one_kind(void **state) {
    (void)state;
    enum { COLUMNS = 23, ROWS = 30 };
    char text[4096] = "";
    size_t n = 0;
    for (size_t i = 0; i < ROWS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%zu,w%zu\n", i % 3, i);
    blv_dataset *d = NULL;
    blv_message why = {""};
    assert_int_equal(blv_dataset_read(&d, put_text("text", text), NULL, &why), BLV_E_FORMAT);
    assert_says(&why, "the last column has 30 different values in 30 rows, which are no classes");
    /* columns beyond the first twenty are counted */
    n = 0;
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < COLUMNS; j++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%zu,", i ? "v" : "c", j);
        n += (size_t)snprintf(text + n, sizeof text - n, i ? "%zu\n" : "label\n", i);
    }
    d = read_text(text, OPTIONS(.header = "yes"));
    assert_true(has_note(d, "and 3 columns more"));
    assert_int_equal(blv_dataset_view_of(d)->columns, 2 * COLUMNS);
    blv_dataset_release(d);
    /* a column that has no value is what it is said to be */
    d = read_text("x,y,label\n,1,a\n,2,b\n", OPTIONS(.kinds = "x:category"));
    assert_string_equal(blv_dataset_recipe(d),
                        "category\tx\t0\t3\nnumber\ty\t-\t0\nlabel\tlabel\n");
    blv_dataset_release(d);
}

/* Features of an array file are mapped where they are as they are wanted; whatever they are, their
 * numbers are the same. */
static void test_arrays_of_any_form(void **state) {
    (void)state;
    static const double rows[] = {1, 2, 3, 4, 5, 6}, columns[] = {1, 3, 5, 2, 4, 6};
    static const float single[] = {1, 2, 3, 4, 5, 6};
    static const int32_t whole[] = {1, 2, 3, 4, 5, 6}, y[] = {0, 1, 0};
    unsigned char swapped[sizeof rows];
    for (size_t i = 0; i < sizeof rows; i++)
        swapped[i] = ((const unsigned char *)rows)[i / 8 * 8 + 7 - i % 8];
#define DICTIONARY(type, fortran)                                                                  \
    "{'descr': '" type "', 'fortran_order': " fortran ", 'shape': (3, 2), }"
    const struct {
        const char *dictionary;
        const void *elements;
        size_t bytes;
        blv_layout layout;
        blv_precision precision;
        bool mapped;
    } cases[] = {
        {DICTIONARY("<f8", "False"), rows, sizeof rows, BLV_LAYOUT_AUTO, BLV_F64, true},
        {DICTIONARY("<f8", "False"), rows, sizeof rows, BLV_LAYOUT_AUTO, BLV_F32, false},
        {DICTIONARY("<f8", "False"), rows, sizeof rows, BLV_LAYOUT_SPARSE, BLV_F64, false},
        {DICTIONARY("<f8", "True"), columns, sizeof columns, BLV_LAYOUT_AUTO, BLV_F64, false},
        {DICTIONARY(">f8", "False"), swapped, sizeof swapped, BLV_LAYOUT_AUTO, BLV_F64, false},
        {DICTIONARY("<f4", "False"), single, sizeof single, BLV_LAYOUT_AUTO, BLV_F32, true},
        {DICTIONARY("<f4", "False"), single, sizeof single, BLV_LAYOUT_AUTO, BLV_F64, false},
        {DICTIONARY("<i4", "False"), whole, sizeof whole, BLV_LAYOUT_AUTO, BLV_F64, false},
    };
    static bytes b;
    char labels[512];
    make_npy(&b, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", y, sizeof y);
    snprintf(labels, sizeof labels, "%s", put_file("labels.npy", b.data, b.size));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char dictionary[128];
        /* so long that the numbers begin where they may be mapped */
        snprintf(dictionary, sizeof dictionary, "%-117s", cases[k].dictionary);
        make_npy(&b, 1, dictionary, cases[k].elements, cases[k].bytes);
        blv_dataset *d = read_set(
            put_file("x.npy", b.data, b.size),
            OPTIONS(.labels = labels, .layout = cases[k].layout, .precision = cases[k].precision));
        check_values(d, 3, 2, rows);
        check_classes(d, "0 1 0");
        assert_int_equal(blv_dataset_view_of(d)->mapped, cases[k].mapped);
        assert_int_equal(blv_dataset_view_of(d)->dense == NULL,
                         cases[k].layout == BLV_LAYOUT_SPARSE);
        blv_dataset_release(d);
    }
}

/* An archive with some of the arrays of a sparse matrix has no features, unless another array does.
 */
static void test_archives_without_features(void **state) {
    (void)state;
    static const int32_t numbers[] = {0, 1, 0};
    static const double rows[] = {1, 2, 3};
    static bytes i4, f8, archive;
    make_npy(&i4, 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", numbers,
             sizeof numbers);
    make_npy(&f8, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 1), }", rows,
             sizeof rows);
    const entry entries[] = {stored("indptr.npy", &i4), stored("y.npy", &i4),
                             stored("indices.npy", &i4)};
    for (size_t count = 1; count <= 3; count++) {
        blv_dataset *d = NULL;
        blv_message why = {""};
        make_archive(&archive, entries, count);
        assert_int_equal(
            blv_dataset_read(&d, put_file("a.npz", archive.data, archive.size), NULL, &why),
            BLV_E_NAME);
        assert_says(&why, "no array of features; expected X, x, data or features, or data, "
                          "indices, indptr and shape");
    }
    const entry with[] = {entries[0], entries[1], entries[2], stored("X.npy", &f8)};
    make_archive(&archive, with, 4);
    blv_dataset *d = read_set(put_file("a.npz", archive.data, archive.size), NULL);
    check_values(d, 3, 1, rows);
    blv_dataset_release(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join_of_unlike_sets),
        cmocka_unit_test(test_kinds_are_cut),
        cmocka_unit_test(test_many_parts),
        cmocka_unit_test(test_held_rows),
        cmocka_unit_test(test_tables_of_one_kind),
        cmocka_unit_test(test_arrays_of_any_form),
        cmocka_unit_test(test_archives_without_features),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
