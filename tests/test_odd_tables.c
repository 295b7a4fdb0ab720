/* Tables that were once misread without a word. */
#include "reader_helpers.h"

#include <stdio.h>

static void check_rejected(const char *text, const char *expected) {
    blv_dataset *d = NULL;
    blv_message why = {""};
    assert_int_equal(blv_dataset_read(&d, put_text("text", text), NULL, &why), BLV_E_FORMAT);
    if (!strstr(why.text, expected))
        fail_msg("%s, not %s: %s", why.text, expected, text);
}

/* Alone they end no line: two rows are not one, and none is lost before a field. */
static void test_carriage_returns(void **state) {
    (void)state;
    static const char expected[] = "a carriage return alone inside of it";
    check_rejected("x,y,label\n1,2,a\n3,4,\rb\n", expected);
    check_rejected("x,y,label\n1,2,a\n3\r,4,b\n", expected);
    check_rejected("x,kind,label\n1,u\rv,a\n3,w,b\n", expected);
    check_rejected("x,kind,label\n1,\"u\"\r,a\n3,w,b\n", expected);
    check_rejected("@relation r\n@attribute s string\n@attribute c {x,y}\n@data\nu\rv,x\n",
                   "expected text, found 'a carriage return'");
    blv_dataset *d = read_text("x,kind,label\r\n1,\"u\rv\",a\r\n3,\"u\rv\" ,\"b\r\"\r\r\n5,w,a\n",
                               OPTIONS(.layout = BLV_LAYOUT_DENSE));
    check_values(d, 3, 4, (const double[]){1, 1, 0, 0, 3, 1, 0, 0, 5, 0, 1, 0});
    assert_string_equal(blv_dataset_view_of(d)->class_names[1], "b\r");
    blv_dataset_release(d);
}

/* Rows that end in a separator have no field behind it, and names stay above their columns. */
static void test_separators_at_the_end(void **state) {
    (void)state;
    static const char *const texts[] = {
        "label,x,y\na,1,2,\nb,3,4,\n",
        "label,x,y,\na,1,2,\nb,3,4,",
        "label;x;y\r\na;1;2;\r\nb;3;4;\r\n",
        "label\tx\ty\t\na\t1\t2\t\n\nb\t3\t4\t\n",
    };
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        blv_dataset *d = read_text(texts[k], NULL);
        check_values(d, 2, 2, (const double[]){1, 2, 3, 4});
        check_classes(d, "a b");
        assert_string_equal(blv_dataset_view_of(d)->feature_names[1], "y");
        assert_true(has_note(d, "lines end in a separator, behind which there is no field"));
        const char *recipe = blv_dataset_recipe(d);
        blv_dataset *same = read_text("y,x,label\n2,1,a,\n4,3,b,\n", OPTIONS(.recipe = recipe));
        check_values(same, 2, 2, (const double[]){1, 2, 3, 4});
        blv_dataset_release(same);
        blv_dataset_release(d);
    }
    /* a name above a column without values, and rows that do not all end so */
    blv_dataset *d = read_text("label,x,y\na,1,\nb,3,\n", NULL);
    check_values(d, 2, 1, (const double[]){1, 3});
    assert_true(has_note(d, "column 'y' left out: it has no values"));
    blv_dataset_release(d);
    d = read_text("x,label,y\nr1,1,a,\nr2,3,b,5\n", OPTIONS(.kinds = "0:drop"));
    check_classes(d, "a b");
    assert_true(at(d, 0, 0) == 1.0 && at(d, 1, 0) == 3.0);
    blv_dataset_release(d);
}

/* A column of codes may begin with a text above a number: the row is one of data. */
static void test_code_in_the_first_row(void **state) {
    (void)state;
    static const char rows[] = "33,A7,.5,yes\n34,113,.6,no\n35,B2,.7,yes\n36,A7,.8,no\n";
    char text[200] = "age,code,share,kind\n";
    const blv_read_options options = {.size = sizeof options, .layout = BLV_LAYOUT_DENSE};
    strcat(text, rows);
    blv_dataset *named = read_text(text, &options), *d = read_text(rows, &options);
    assert_int_equal(blv_dataset_view_of(named)->rows, 4);
    assert_int_equal(blv_dataset_view_of(d)->rows, 4);
    assert_int_equal(blv_dataset_view_of(d)->columns, blv_dataset_view_of(named)->columns);
    for (size_t j = 0; j < blv_dataset_view_of(d)->columns; j++)
        assert_true(at(d, 0, j) == at(named, 0, j));
    blv_dataset *same = read_text(rows, OPTIONS(.recipe = blv_dataset_recipe(named)));
    assert_int_equal(blv_dataset_view_of(same)->rows, 4);
    assert_true(has_note(same, "there is no header"));
    blv_dataset_release(same);
    blv_dataset_release(d);
    blv_dataset_release(named);
    d = read_text("A7,yes\n113,no\nB2,yes\nA7,no\n", &options); /* no number above another */
    assert_int_equal(blv_dataset_view_of(d)->rows, 4);
    blv_dataset_release(d);
    d = read_text("code,kind\n113,no\nA7,yes\nB2,yes\nA7,no\n", &options);
    assert_int_equal(blv_dataset_view_of(d)->rows, 4);
    blv_dataset_release(d);
    /* a header by the second pass, in which its name is no number any more */
    d = read_text("kind;301.5;label\nu;3,5;a\nu;4,5;b\n", &options);
    assert_string_equal(blv_dataset_view_of(d)->feature_names[2], "301.5");
    blv_dataset_release(d);
    /* names above numbers, some of which are numbers too */
    static const char *const headers[] = {
        "400.5,401.2,kind\n1,2,0\n3,4,1\n5,6,0\n",
        "land,1970,kind\n1,.5,u\n2,.25,v\n3,.5,u\n",
        "code,1970,kind\nA7,.5,0\n113,.25,1\nB2,.5,0\n",
    };
    for (size_t k = 0; k < sizeof headers / sizeof *headers; k++) {
        d = read_text(headers[k], OPTIONS(.targets = BLV_TARGETS_CLASSES));
        assert_int_equal(blv_dataset_view_of(d)->rows, 3);
        blv_dataset_release(d);
    }
    d = read_text("400.5,401.2,outcome\n1,2,.25\n3,4,.5\n5,6,.75\n",
                  OPTIONS(.targets = BLV_TARGETS_REAL));
    assert_int_equal(blv_dataset_view_of(d)->rows, 3);
    blv_dataset_release(d);
}

/* The label is one of two columns that have such a name. */
static void test_two_labels(void **state) {
    (void)state;
    static const char text[] = "class,x,target\n0,1,1\n1,2,0\n0,3,1\n";
    blv_dataset *d = read_text(text, NULL);
    check_classes(d, "0 1 0");
    assert_true(has_note(d, "the label is column 0, 'class'; others may be it as well: 'target'"));
    blv_dataset_release(d);
    d = read_text(text, OPTIONS(.label = "class"));
    assert_false(has_note(d, "may be it as well"));
    blv_dataset_release(d);
    d = read_text("x,label,label\n1,1,0\n2,0,1\n", NULL);
    check_classes(d, "0 1");
    assert_true(has_note(d, "the label is column 2, 'label'; others may be it as well: 'label'"));
    blv_dataset_release(d);
}

static void test_leading_zeros(void **state) {
    (void)state;
    static const char text[] = "zip,x,label\n10001,0.5,a\n02139,0,b\n10001,-0.5,a\n";
    blv_dataset *d = read_text(text, NULL);
    assert_true(at(d, 1, 0) == 2139.0);
    assert_true(has_note(d, "leading zeros ('02139') are lost, as the kind is number, not "
                            "category: column 'zip'"));
    blv_dataset_release(d);
    d = read_text(text, OPTIONS(.kinds = "zip:category", .layout = BLV_LAYOUT_DENSE));
    assert_string_equal(blv_dataset_view_of(d)->feature_names[0], "zip=02139");
    assert_false(has_note(d, "leading zeros"));
    blv_dataset_release(d);
    d = read_text(text, OPTIONS(.kinds = "zip:number"));
    assert_false(has_note(d, "leading zeros"));
    blv_dataset_release(d);
}

/* Doubles do not tell them apart. */
static void test_large_numbers(void **state) {
    (void)state;
    static const char text[] = "x,label\n1,9007199254740992\n2,9007199254740993\n3,1\n4,+1.0\n";
    blv_dataset *d = read_text(text, NULL);
    assert_int_equal(blv_dataset_view_of(d)->classes, 3);
    assert_string_equal(class_of(d, 0), "9007199254740992");
    assert_string_equal(class_of(d, 1), "9007199254740993");
    blv_dataset *other = read_text("x,label\n1,9007199254740993\n", NULL);
    assert_int_equal(
        blv_dataset_align((blv_dataset *[]){d, other}, (const char *[]){"d", "other"}, 2, NULL),
        BLV_OK);
    assert_string_equal(class_of(other, 0), "9007199254740993");
    blv_dataset_release(other);
    blv_dataset_release(d);
    d = read_text("id,x,label\n9007199254740992,1,a\n9007199254740993,2,b\n"
                  "9007199254740994,2,b\n",
                  NULL);
    assert_true(has_note(d, "column 'id' left out: it identifies the rows"));
    blv_dataset_release(d);
}

static void test_booleans_as_numbers(void **state) {
    (void)state;
    blv_dataset *d = read_text("flag,x,label\nTrue,1,a\nFalse,2,b\nTrue,3,a\n", NULL);
    blv_dataset *same =
        read_text("flag,x,label\n1.0,1,a\n0.0,2,b\n", OPTIONS(.recipe = blv_dataset_recipe(d)));
    check_values(same, 2, 2, (const double[]){1, 1, 0, 2});
    blv_dataset_release(same);
    blv_dataset_release(d);
}

/* A time at the end of the line is no pair of libsvm. */
static void test_times(void **state) {
    (void)state;
    blv_dataset *d = read_text("0, 1.5, 12:30\n1, 2.5, 12:45\n0, 3.5, 12:30\n",
                               OPTIONS(.label = "0", .layout = BLV_LAYOUT_DENSE));
    assert_string_equal(blv_dataset_view_of(d)->format, "csv");
    check_values(d, 3, 4, (const double[]){1.5, 1, 0, 0, 2.5, 0, 1, 0, 3.5, 1, 0, 0});
    blv_dataset_release(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_carriage_returns),
        cmocka_unit_test(test_separators_at_the_end),
        cmocka_unit_test(test_code_in_the_first_row),
        cmocka_unit_test(test_leading_zeros),
        cmocka_unit_test(test_large_numbers),
        cmocka_unit_test(test_booleans_as_numbers),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_two_labels),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
