/* Whether the first line of a table holds names: found, given by the rows of a training, or said to
 * be doubtful. */
#include "reader_helpers.h"

#include <stdio.h>

/* The first row has a name where the rows have a number, but not the second row. */
static void test_late_header(void **state) {
    (void)state;
    blv_dataset *d = read_text("age,city\n,Rome\n5,Bern\n7,Rome\n", OPTIONS(.label = "city"));
    assert_int_equal(blv_dataset_view_of(d)->rows, 3);
    assert_int_equal(blv_dataset_view_of(d)->classes, 2);
    assert_true(at(d, 0, 0) == 6.0 && at(d, 0, 1) == 1.0);
    blv_dataset_release(d);
    d = read_text("age,city,k\n,Rome,a\n5,Bern,b\n7,Rome,a\n", OPTIONS(.layout = BLV_LAYOUT_DENSE));
    assert_int_equal(blv_dataset_view_of(d)->columns, 5);
    assert_string_equal(blv_dataset_view_of(d)->feature_names[1], "age missing");
    blv_dataset_release(d);
}

/* Names above texts, dates and booleans, numbers as names, and first rows that are none. */
static void test_names_in_the_first_row(void **state) {
    (void)state;
    static const struct {
        const char *first, *rows;
        bool names;
    } cases[] = {
        {"class,cap,odor\n", "p,x,n\ne,b,m\np,x,n\n", true},
        {"when,kind\n", "2024-02-29 12:30:00,a\n2024-02-28,b\n2024-02-28,a\n", true},
        {"member,kind\n", "yes,a\nno,b\nyes,a\n", true},
        {"0,1,kind\n", "1,2,a\n3,4,b\n5,6,a\n", true},
        {"0,1,2,3\n", "1,2,3,0\n3,4,5,1\n5,6,7,0\n", true},
        {",0,1,target\n", "0,2,a,u\n1,4,b,v\n2,6,a,u\n", true}, /* of texts as well */
        {"1990,1991,target\n", "0,a,u\n4,b,v\n6,a,u\n", true},  /* years */
        {",0,2,size\n", "0,2,a,u\n1,4,b,u\n2,6,a,u\n", true},   /* above an index */
        {",3,5\n", "0,2,0\n1,4,1\n2,6,0\n", true},
        {",0,2,size\n", "9,2,a,u\n7,4,b,u\n8,6,a,u\n", false},
        {",0,1\n", "0,2,0\n1,4,1\n2,6,0\n", true},
        {"land,1970,1972,1974,1976,k\n", "A,1,0,.5,0,u\nB,0,.5,0,1,v\nC,0,0,0,0,u\n", true},
        {"400,402,404,406,408\n", ".5,.1,.5,.1,0\n.2,.3,.7,.1,1\n.2,.3,.7,.1,0\n", true},
        {"400,402,404,407,408\n", ".5,.1,.5,.1,0\n.2,.3,.7,.1,1\n.2,.3,.7,.1,0\n", false},
        {"kind,cap\n", "p,x\ne,b\np,x\np,x\ne,b\np,x\np,x\ne,b\np,x\np,x\ne,b\np,x\n", true},
        {"kind,cap\n", "p,x\ne,b\np,x\n", false}, /* too few rows to tell */
        {"p,n\n", "p,m\ne,n\ne,m\n", false},
        {"unknown,a\n", "yes,a\nno,b\nyes,a\n", false}, /* the label comes again */
        {"0,1,yes\n", "1,0,yes\n0,0,no\n1,1,no\n", false},
        {"0,1,2\n", "1,2,0\n3,4,1\n5,6,0\n", false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[400];
        size_t lines = 0;
        snprintf(text, sizeof text, "%s%s", cases[k].first, cases[k].rows);
        for (const char *c = cases[k].rows; *c; c++)
            lines += *c == '\n';
        blv_dataset *d = read_text(text, OPTIONS(.targets = BLV_TARGETS_CLASSES));
        if (blv_dataset_view_of(d)->rows != lines + !cases[k].names)
            fail_msg("%zu rows: %s", blv_dataset_view_of(d)->rows, text);
        blv_dataset_release(d);
    }
}

/* A first line that may be a header is never read as a row without a word. */
static void test_doubtful(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool doubtful;
    } cases[] = {
        {"0,2,size\n1.5,2,small\n3,4,big\n2,2,small\n", true},
        {"0,2,size\n1,2,small\n3,4,big\n", true},
        {"1990,1992,1994\n.5,2,u\n3,4,v\n5,6,u\n", true},
        {"1990,1992,1994\n.5,2,0\n3,4,1\n5,6,0\n", true},
        {"400,402,404,1\n.5,.25,.125,1\n3,4,5,0\n.1,.2,.3,0\n", false}, /* the label comes again */
        {"land,1970,1975\nA,1,0\nB,0,1\nC,0,0\nD,1,1\nE,1,1\nF,0,1\nG,1,0\nH,1,1\nI,1,0\nJ,0,0\n",
         true}, /* names of rows, which all differ */
        {"1,2,x\n3,4,y\n5,6,x\n7,8,y\n", false},
        {"1,2,3\n1,2,1\n3,4,2\n2,3,1\n", false}, /* numbers as those below */
        {"5,3,9\n.1,.2,0\n.3,.4,1\n.1,.1,0\n", false},
        {"1.5,2,5\n.1,.2,0\n.3,.4,1\n.1,.1,0\n", false},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        blv_dataset *d = read_text(cases[k].text, OPTIONS(.targets = BLV_TARGETS_CLASSES));
        if (has_note(d, "line 1 may be a header, and is taken for a row") != cases[k].doubtful)
            fail_msg("doubt: %s", cases[k].text);
        blv_dataset_release(d);
        d = read_text(cases[k].text, OPTIONS(.targets = BLV_TARGETS_CLASSES, .header = "no"));
        assert_false(has_note(d, "may be a header"));
        blv_dataset_release(d);
    }
    blv_dataset *d = read_text("1990,1992,1994\n.5,2,.75\n3,4,.5\n5,6,.25\n",
                               OPTIONS(.targets = BLV_TARGETS_REAL));
    assert_true(has_note(d, "may be a header"));
    blv_dataset_release(d);
}

/* Rows of a training tell what a header is, also one of numbers, and what an index is. */
static void test_header_by_recipe(void **state) {
    (void)state;
    blv_dataset *d = read_text("1990,1992,target\n.5,2,u\n3,4,v\n5,6,u\n", NULL);
    const char *recipe = blv_dataset_recipe(d);
    blv_dataset *same = read_text("1992,1990\n7,8\n", OPTIONS(.recipe = recipe));
    check_values(same, 1, 2, (const double[]){8, 7});
    blv_dataset_release(same);
    same = read_text("7,8\n", OPTIONS(.recipe = recipe));
    check_values(same, 1, 2, (const double[]){7, 8});
    assert_true(has_note(same, "there is no header: columns are in the order of the training"));
    blv_dataset_release(same);
    same = read_text("1990,1992\n", OPTIONS(.recipe = recipe, .header = "no"));
    check_values(same, 1, 2, (const double[]){1990, 1992});
    assert_false(has_note(same, "there is no header"));
    blv_dataset_release(same);
    blv_dataset_release(d);

    d = read_text(",age,size,kind\n0,7,1,u\n1,8,3,v\n2,9,2,u\n", NULL);
    assert_true(has_note(d, "column '' left out: it counts the rows"));
    recipe = blv_dataset_recipe(d);
    static const char *const rows[] = {"age,size\n5,6\n", ",age,size\n0,5,6\n",
                                       "size,,age\n6,0,5\n", "size,age,kind\n6,5,u\n"};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        same = read_text(rows[k], OPTIONS(.recipe = recipe));
        check_values(same, 1, 2, (const double[]){5, 6});
        blv_dataset_release(same);
    }
    blv_dataset_release(d);
}

/* As write.table of R has it: no name above the names of rows. */
static void test_one_name_fewer(void **state) {
    (void)state;
    char words[600] = "mpg cyl am\n", numbers[600] = "mpg cyl am\n";
    for (int i = 0; i < 12; i++) {
        snprintf(words + strlen(words), 40, "\"car %d\" %d.5 %d %c\n", i, i, i % 3, "uv"[i % 2]);
        snprintf(numbers + strlen(numbers), 40, "\"%d\" %d.5 %d %c\n", i + 1, i, i % 3,
                 "uv"[i % 2]);
    }
    for (size_t k = 0; k < 2; k++) {
        blv_dataset *d = read_text(k ? numbers : words, NULL);
        const blv_dataset_view *v = blv_dataset_view_of(d);
        assert_true(v->rows == 12 && v->columns == 2 && v->classes == 2);
        assert_string_equal(v->feature_names[0], "mpg");
        assert_true(at(d, 3, 0) == 3.5);
        assert_true(has_note(d, "column '' left out: it identifies the rows"));
        blv_dataset_release(d);
    }
}

static void test_header_alone(void **state) {
    (void)state;
    blv_dataset *d = NULL;
    blv_message why = {""};
    assert_int_equal(blv_dataset_read(&d, put_text("text", "age,kind\n"), NULL, &why),
                     BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "there is no row of data"));
}

static void test_utf16(void **state) {
    (void)state;
    blv_dataset *d = NULL;
    blv_message why = {""};
    static const char *const text[] = {"\xff\xfe,\0a\0\n\0", "\xfe\xff\0,\0a\0\n"};
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(blv_dataset_read(&d, put_file("u16", text[k], 8), NULL, &why),
                         BLV_E_FORMAT);
        assert_non_null(strstr(why.text, "text in UTF-16; expected UTF-8"));
    }
}

/* A byte that texts do not have is no reason to reject one; a zero byte is. */
static void test_odd_bytes(void **state) {
    (void)state;
    char text[400] = "name,x,kind\n";
    for (int i = 0; i < 10; i++)
        snprintf(text + strlen(text), 40, "%s,%d.5,%c\n", i == 4 ? "it\x19s" : "its", i,
                 "uv"[i % 2]);
    blv_dataset *d = read_text(text, NULL);
    assert_true(blv_dataset_view_of(d)->rows == 10 &&
                at(d, 3, blv_dataset_view_of(d)->columns - 1) == 3.5);
    blv_dataset_release(d);
    blv_message why = {""};
    const size_t length = strlen(text);
    text[20] = '\0';
    assert_int_equal(blv_dataset_read(&d, put_file("odd", text, length), NULL, &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "format unknown"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_header),    cmocka_unit_test(test_names_in_the_first_row),
        cmocka_unit_test(test_doubtful),       cmocka_unit_test(test_header_by_recipe),
        cmocka_unit_test(test_one_name_fewer), cmocka_unit_test(test_header_alone),
        cmocka_unit_test(test_utf16),          cmocka_unit_test(test_odd_bytes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
