/* Tables at the edges of what the readers tell apart: what each of them is read as, or why it is
 * rejected. */
#include "reader_helpers.h"

#include <stdio.h>

typedef struct edge {
    const char *text;
    const char *recipe; /* what is made of its columns; NULL: it is rejected */
    const char *said;   /* in a note, or why it is rejected; NULL: nothing */
    blv_read_options options;
} edge;

static void check_edge(const edge *e) {
    blv_read_options options = e->options;
    blv_message why = {""};
    blv_dataset *d = NULL;
    options.size = sizeof options;
    blv_error error = blv_dataset_read(&d, put_text("text", e->text), &options, &why);
    if ((error == BLV_OK) != (e->recipe != NULL))
        fail_msg("%s: '%s'", e->text, why.text);
    if (error == BLV_OK) {
        assert_string_equal(blv_dataset_recipe(d), e->recipe);
        if (e->said && !has_note(d, e->said))
            fail_msg("%s: no note says '%s'", e->text, e->said);
        if (!e->said && has_note(d, "left out"))
            fail_msg("%s: a column is left out", e->text);
    } else if (!strstr(why.text, e->said)) {
        fail_msg("%s: '%s' does not say '%s'", e->text, why.text, e->said);
    }
    blv_dataset_release(d);
}

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        static const edge edges[] = {__VA_ARGS__};                                                 \
        for (size_t k = 0; k < sizeof edges / sizeof *edges; k++)                                  \
            check_edge(&edges[k]);                                                                 \
    } while (0)

#define ARFF(declared, rows) "@relation r\n" declared "@data\n" rows
#define CLASS "@attribute c {a,b}\n"
#define LABEL "label\tlabel\n"

static void test_arff(void **state) {
    (void)state;
    CHECK(
        {.text = ARFF("@attribute 'x\\\n", "1\n"), .said = "line 2: expected a closing quote"},
        {.text = ARFF("@attribute x real\n@attribute c {'',a}\n", "1,''\n2,a\n"),
         .said = "line 5, column 2 of 2: expected a label, found nothing"},
        {.text = ARFF("@attribute d date 'yyyy/MM/dd'\n" CLASS, "'2024/01/02',a\n'2024/01/03',b\n"),
         .recipe = "date\td\t-\t0\nlabel\tc\n"},
        {.text = ARFF("@attribute d date yyyy\n", ""),
         .said = "line 2: expected dates of the form yyyy-MM-dd"},
        {.text = "@relation r\n@attributes x real\n@data\n1\n",
         .said = "line 2: expected @relation, @attribute or @data, found '@attributes x real'"},
        {.text = ARFF("@attribute x real\n" CLASS, "1,a,3\n"),
         .said = "line 5: 3 fields; expected 2"},
        {.text = ARFF("@attribute s string\n" CLASS, "{0 '', 1 a}\n{0 u, 1 b}\n"),
         .recipe = "category\ts\t0\t3\tu\nlabel\tc\n",
         .said = "column 's': category of 1 levels, 1 missing"},
        {.text = ARFF("@attribute x real\n" CLASS, "{0 , 1 a}\n"),
         .said = "line 5: expected a value, found ', 1 a}'"},
        {.text = "% c\n\n \t" ARFF("@attribute x real\n" CLASS, "1,a\n2,b\n"),
         .recipe = "number\tx\t-\t0\nlabel\tc\n"},
        {.text = "% a comment alone", .said = "there is no row of data"});
}

#define TWELVE(first, last)                                                                        \
    ",x,label\n" first ",1,a\nw,2,b\ne,1,a\nr,2,b\nt,1,a\ny,2,b\nu,1,a\ni,2,b\no,1,a\n" last       \
    ",2,b\n"

/* Dates that are none are texts; columns of identifiers are left out. */
static void test_kinds_of_columns(void **state) {
    (void)state;
    CHECK({.text = "d,label\n2024-01-01 12:30+12,a\n2024-01-02 12:30,b\n",
           .recipe = "category\td\t0\t2\t2024-01-01 12:30+12\t2024-01-02 12:30\n" LABEL},
          {.text = "d,label\n2024-01-01 12:30+12:61,a\n2024-01-02 12:30,b\n",
           .recipe = "category\td\t0\t2\t2024-01-01 12:30+12:61\t2024-01-02 12:30\n" LABEL},
          {.text = "d,label\n2024-01-01T25:00,a\n2024-01-02T12:30,b\n",
           .recipe = "category\td\t0\t2\t2024-01-01T25:00\t2024-01-02T12:30\n" LABEL},
          {.text = "d,label\n2024- 1- 2,a\n2024- 1- 3,b\n",
           .recipe = "category\td\t0\t2\t2024- 1- 2\t2024- 1- 3\n" LABEL},
          {.text = "d,label\n2024501-01,a\n2024502-01,b\n",
           .recipe = "category\td\t0\t2\t2024501-01\t2024502-01\n" LABEL},
          {.text = "userId,x,label\n7,1,a\n9,2,b\n8,2,b\n",
           .recipe = "drop\tuserId\nnumber\tx\t-\t0\n" LABEL,
           .said = "column 'userId' left out: it identifies the rows"},
          {.text = "userId,x,label\n7,1,a\n,2,b\n8,2,b\n",
           .recipe = "number\tuserId\t7.5\t1\nnumber\tx\t-\t0\n" LABEL},
          {.text = "userId,x,label\n7.5,1,a\n9,2,b\n8,2,b\n",
           .recipe = "number\tuserId\t-\t0\nnumber\tx\t-\t0\n" LABEL},
          {.text = "id,x,label\n7,1,a\n", .recipe = "number\tid\t-\t0\nnumber\tx\t-\t0\n" LABEL},
          {.text = TWELVE("q", "p"),
           .recipe = "drop\t\nnumber\tx\t-\t0\n" LABEL,
           .said = "left out: it identifies the rows"},
          {.text = TWELVE("q", "o"),
           .recipe = "category\t\t2\t2\te\ti\to\tq\tr\tt\tu\tw\ty\nnumber\tx\t-\t0\n" LABEL},
          {.text = ",x,label\nq,1,a\nw,2,b\ne,1,a\n",
           .recipe = "category\t\t0\t2\te\tq\tw\nnumber\tx\t-\t0\n" LABEL},
          {.text = "Unnamed: 0,x,label\n0,.5,a\n1,2,b\n2,.5,a\n",
           .recipe = "drop\tUnnamed: 0\nnumber\tx\t-\t0\n" LABEL,
           .said = "it counts the rows"},
          {.text = "x,label\n1,a\n2,b\n",
           .said = "columns: 'x' is given a kind twice",
           .options = {.kinds = "x:number,x:number"}});
}

static void test_delimiters(void **state) {
    (void)state;
    static const char two[] = "number\t\t-\t0\nnumber\t\t-\t0\nlabel\t\n";
    static const char one[] = "number\t\t-\t0\nlabel\t\n";
    check_edge(&(edge){.text = "1,5;2,5;3", .recipe = two});
    check_edge(&(edge){.text = " 1 2 0\n 3 4 1\n", .recipe = two});
    check_edge(&(edge){.text = "1 2 0 \r\n3 4 1 \r\n", .recipe = two});
    check_edge(&(edge){.text = "1,5;2,5\n1,25;3\n", .recipe = one});
    check_edge(&(edge){.text = "\"1,5\";\"2,5\"\n\"1,25\";\"3,5\"\n", .recipe = one});
    check_edge(&(edge){.text = "1,2\r", .recipe = one});
    check_edge(&(edge){.text = "1,5;2,5", .recipe = one});
    check_edge(&(edge){.text = "1,5 ;2,5\n\"1,25\";3\n", .recipe = one});
    CHECK({.text = "a,b,c;d\n1,2,3;4\n5,6,3;4\n",
           .recipe = "number\ta\t-\t0\nnumber\tb\t-\t0\nlabel\tc;d\n"},
          {.text = "a,b;c,d\n1,e;c,0\n2,e;f,1\n",
           .recipe = "number\ta\t-\t0\ncategory\tb;c\t0\t2\te;c\te;f\nlabel\td\n"},
          {.text = "x\n1,\n2,\n", .said = "line 2, column 2 of 2: expected a label, found nothing"},
          {.text = "1,2\r3,4", .said = "line 1: its end is a carriage return alone"},
          {.text = "x,label\nu\r1,\"a\"\n", .said = "line 2: a carriage return alone inside of it"},
          {.text = "1 2 \r0\n3 4 1\n", .said = "line 1: a carriage return alone inside of it"});
}

/* 1,234 may have been meant for thousands; 0,234 and 1,2345 were not. */
static void test_decimal_commas(void **state) {
    (void)state;
    static const char x[] = "number\tx\t-\t0\n" LABEL;
    check_edge(&(edge){.text = "x;label\n1,234;a\n2,345;b\n",
                       .recipe = x,
                       .said = "commas are taken for decimal ones, not for those of thousands: "
                               "'1,234'"});
    static const char *const plain[] = {"x;label\n0,234;a\n1,5;b\n", "x;label\n-1,2345;a\n1,5;b\n",
                                        "x;label\n1234,500;a\n1,5;b\n"};
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++) {
        blv_dataset *d = read_text(plain[k], NULL);
        assert_true(at(d, 1, 0) == 1.5);
        assert_false(has_note(d, "thousands"));
        blv_dataset_release(d);
    }
    check_edge(&(edge){.text = "x;label\n1234,500;a\n1,;b\n",
                       .said = "line 3, column 1 of 2 (x): expected a finite number, found '1,'"});
}

static void test_labels(void **state) {
    (void)state;
#define THREE "a,b,c\n1,2,3\n4,5,6\n"
    CHECK(
        {.text = "x,y,label\n1,2,a\n3,4,\n",
         .said = "line 3, column 3 of 3: expected a label, found nothing; rows without one"},
        {.text = "x,truth,label\n1,a,a\n3,,b\n",
         .said = "line 3, column 2 of 3: expected a label, found nothing",
         .options = {.truth = "truth"}},
        {.text = "x,label,truth\n1,a,a\n3,b,b\n",
         .recipe = "number\tx\t-\t0\nlabel\tlabel\ndrop\ttruth\n",
         .options = {.truth = "truth"}},
        {.text = "x,w,label,class\n1,1,a,u\n3,1,b,v\n",
         .recipe = "number\tx\t-\t0\ndrop\tw\nlabel\tlabel\ncategory\tclass\t0\t2\tu\tv\n",
         .said = "the label is column 2, 'label'; others may be it as well: 'class'",
         .options = {.weight = "w"}},
        {.text = "x,class,target\n1,a,u\n3,b,v\n",
         .recipe = "number\tx\t-\t0\nlabel\tclass\ndrop\ttarget\n",
         .options = {.truth = "target"}},
        {.text = "x,class,target\n1,1,a\n3,2,b\n",
         .recipe = "number\tx\t-\t0\ndrop\tclass\nlabel\ttarget\n",
         .options = {.weight = "class"}},
        {.text = THREE,
         .recipe = "number\ta\t-\t0\nnumber\tb\t-\t0\nlabel\tc\n",
         .options = {.label = "02"}},
        {.text = THREE,
         .said = "no label column '99999999999'; the header has 'a', 'b', 'c'",
         .options = {.label = "99999999999"}},
        {.text = THREE, .said = "no label column '3'", .options = {.label = "3"}},
        {.text = THREE, .said = "no label column '1x'", .options = {.label = "1x"}},
        {.text = "x,label\n1,a\n2,b\n",
         .said = "columns: 'label' is the label",
         .options = {.kinds = "label:number"}},
        {.text = "1:2 3\n", .said = "line 1: expected a label before the pairs, found '1:2'"},
        {.text = "1 qid: 1:2\n0 qid:2 1:3\n", .said = "line 1: expected index:value, found 'qid:'"},
        {.text = "# only a comment", .said = "there is no row of data"},
        {.text = "1 2:3,4\n", .recipe = "category\t\t0\t2\t1 2:3\nlabel\t\n"});
}

/* A recipe is a part of model files, which may come from anywhere. */
static void test_damaged_recipes(void **state) {
    (void)state;
    static const char *const damaged[] = {
        "number",
        "label\n",
        "number\tx\n",
        "number\tx\t0\n",
        "number\tx\t0\t0",
        "number\tx\t0\t4\n",
        "number\tx\t0\t/\n",
        "number\tx\t0\t00\n",
        "number\tx\tinf\t0\n",
        "number\tx\t1e999\t0\n",
        "number\tx\t0q\t0\n",
        "number\tx\t-1-\t0\n",
        "auto\tx\t0\t0\n",
        "numbers of a long name\tx\t0\t0\n",
        "category\tx\t3\t0\ta\tb\n",
        "category\tx\t-\t0\ta\tb\n",
        "category\tx\t-1\t0\ta\tb\n",
        "category\tx\t0\t0\ta\ta\n",
    };
    for (size_t k = 0; k < sizeof damaged / sizeof *damaged; k++)
        check_edge(&(edge){.text = "x,label\n1,a\n2,b\n",
                           .said = "the recipe of the columns is damaged",
                           .options = {.recipe = damaged[k]}});
}

/* Read by a recipe, whose columns are found by name or by place; it comes back as it is. */
static void test_recipes(void **state) {
    (void)state;
#define RECIPE(made) .recipe = (made), .options = {.recipe = (made)}
    CHECK({.text = "x\ty,label\n1,a\n2,b\n", RECIPE("number\tx\\ty\t-\t0\n" LABEL)},
          {.text = "x\\,label\n1,a\n2,b\n", RECIPE("number\tx\\\\\t-\t0\n" LABEL)},
          {.text = "x,label\nu,a\nv,b\n", RECIPE("category\tx\t0\t0\tu\tv\n" LABEL)},
          {.text = "x,label\nu,a\nw,b\n",
           RECIPE("category\tx\t0\t2\tu\tv\n" LABEL),
           .said = "column 'x': category of 2 levels, 1 level not seen before"},
          {.text = "x,label\nu,a\n,b\n", RECIPE("category\tx\t0\t3\tu\tv\n" LABEL)},
          {.text = "1,a\n2,b\n", RECIPE("number\t\t-\t0\nlabel\t\n")},
          {.text = "x,z,label\n1,9,a\n2,9,b\n",
           .recipe = "number\tx\t-\t0\ndrop\tz\n" LABEL,
           .said = "column 'z' left out: the rows of the training do not have it",
           .options = {.recipe = "number\tx\t-\t0\n" LABEL}},
          {.text = "x,label\n1,a\n2,b\n",
           .recipe = "number\tx\t-\t0\n" LABEL,
           .options = {.recipe = "number\tx\t-\t0\ndrop\tz\n" LABEL}},
          {.text = "x,label\nw,a\n,b\n",
           .said = "no column is left for the features",
           .options = {.recipe = "category\tx\t0\t0\n" LABEL}},
          {.text = "x,label\n1,a\n2,b\n",
           .recipe = "number\tx\t-\t0\n" LABEL,
           .options = {.recipe = "number\t\t-\t0\nlabel\t\n"}},
          {.text = "x,label\n1,\n2,b\n",
           .said = "expected a label, found nothing; label none reads the rows without labels",
           .options = {.recipe = "number\tx\t-\t0\n" LABEL}},
          {.text = "1,5,a\n2,6,b\n",
           .said = "3 columns are more than the rows of the training have",
           .options = {.recipe = "number\t\t-\t0\nlabel\t\n"}},
          {.text = "x,label\n1,a\n2,b\n",
           .said = "there is no column 'z', which the rows of the training have",
           .options = {.recipe = "number\tz\t-\t0\n" LABEL}});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arff),       cmocka_unit_test(test_kinds_of_columns),
        cmocka_unit_test(test_delimiters), cmocka_unit_test(test_decimal_commas),
        cmocka_unit_test(test_labels),     cmocka_unit_test(test_damaged_recipes),
        cmocka_unit_test(test_recipes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
