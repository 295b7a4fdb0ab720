/* Tables as people have them: kinds of columns, categories, missing values, labels that have to be
 * found, separators. Encoded values are compared with ones that are computed here in another way.
 */
#include "reader_helpers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check_names(const blv_dataset *set, const char *const *names, size_t count) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    assert_int_equal(v->columns, count);
    assert_non_null(v->feature_names);
    for (size_t j = 0; j < count; j++)
        assert_string_equal(v->feature_names[j], names[j]);
}

static void check_rejected(const char *text, const blv_read_options *options, const char *message) {
    blv_dataset *set = NULL;
    blv_message why = {""};
    blv_error error = blv_dataset_read(&set, put_text("text", text), options, &why);
    assert_null(set);
    if (error == BLV_OK || !strstr(why.text, message))
        fail_msg("error %d: %s\nexpected: %s", (int)error, why.text, message);
}

/* ---- Kinds ---- */

static void test_kinds(void **state) {
    (void)state;
    blv_dataset *d = read_text("age,city,member,since,label\n"
                               "31,Rome,yes,2024-03-01,a\n"
                               "42.5,Bern,No,1970-01-01,b\n"
                               "18,Rome,TRUE,2000-02-29T12:00,a\n",
                               OPTIONS(.layout = BLV_LAYOUT_DENSE));
    const char *const names[] = {"age",    "city=Bern", "city=Rome", "city never seen",
                                 "member", "since"};
    check_names(d, names, 6);
    /* days since 1970 from `date -u +%s`: 1709251200, 0 and 951825600 seconds */
    const double values[] = {31,   0, 1, 0, 1, 1709251200.0 / 86400.0, //
                             42.5, 1, 0, 0, 0, 0,                      //
                             18,   0, 1, 0, 1, 951825600.0 / 86400.0};
    check_values(d, 3, 6, values);
    assert_true(has_note(d, "column 'city': category of 2 levels"));
    assert_true(has_note(d, "column 'since': date"));
    blv_dataset_release(d);
    /* zones, as pandas writes them: `date -u -d 2020-03-29T00:30:00+01:00 +%s` */
    d = read_text("when,k\n2020-03-29 00:30:00+01:00,a\n2020-03-29 04:30:00-0530,b\n", NULL);
    check_values(d, 2, 1, (const double[]){1585438200.0 / 86400.0, 1585476000.0 / 86400.0});
    blv_dataset_release(d);
}

static void test_given_kinds(void **state) {
    (void)state;
    static const char text[] = "zip,when,code,label\n1010,2024-01-01,1,a\n8001,2024-01-02,2,b\n";
    blv_dataset *d = read_text(
        text, OPTIONS(.kinds = "zip:category,when:drop,code:number", .layout = BLV_LAYOUT_DENSE));
    const char *const names[] = {"zip=1010", "zip=8001", "zip never seen", "code"};
    check_names(d, names, 4);
    check_values(d, 2, 4, (const double[]){1, 0, 0, 1, 0, 1, 0, 2});
    blv_dataset_release(d);
    /* the same from a file, and by number */
    char kinds[600];
    snprintf(kinds, sizeof kinds, "%s", put_text("kinds", "0:category\nwhen:drop\r\n"));
    d = read_text(text, OPTIONS(.kinds = kinds, .layout = BLV_LAYOUT_DENSE));
    check_names(d, names, 4);
    blv_dataset_release(d);

    check_rejected(text, OPTIONS(.kinds = "zpi:category"), "did you mean 'zip'?");
    check_rejected(text, OPTIONS(.kinds = "zip:text"), "expected number, category, boolean, date");
    check_rejected(text, OPTIONS(.kinds = "label:drop"), "is the label");
    check_rejected(text, OPTIONS(.kinds = "when:number"), "line 2, column 2 of 4 (when): expected");
    check_rejected(text, OPTIONS(.kinds = "zip:boolean"), "expected a boolean in every row");
    check_rejected(text, OPTIONS(.kinds = "zip:drop,when:drop,code:drop"), "no column is left");
    check_rejected(text, OPTIONS(.kinds = ":"), "there is no column");
}

/* Words among numbers are an error rather than a category of numbers. */
static void test_typing_errors(void **state) {
    (void)state;
    check_rejected("a,b\n1,x\n2,y\n1.2.3,x\n", NULL,
                   "line 4, column 1 of 2 (a): expected a finite number, found '1.2.3'; "
                   "2 fields of the column are numbers, 1 is not");
    blv_dataset *d = read_text("a,b\n1,x\n2,y\n1.2.3,x\n",
                               OPTIONS(.kinds = "a:category", .layout = BLV_LAYOUT_DENSE));
    assert_int_equal(blv_dataset_view_of(d)->columns, 4);
    blv_dataset_release(d);
}

static void test_dropped_columns(void **state) {
    (void)state;
    /* the index of pandas, a number and a text that identify rows, a column without values */
    char text[4096] = ",x,name,user_id,gap,label\n";
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d,%d.5,n%d,%d,,%s\n", i, i, i,
                 1000 - 7 * i, i % 2 ? "a" : "b");
    blv_dataset *d = read_text(text, NULL);
    const char *const names[] = {"x"};
    check_names(d, names, 1);
    assert_true(at(d, 3, 0) == 3.5 && at(d, 39, 0) == 39.5);
    assert_true(has_note(d, "column '' left out: it counts the rows"));
    assert_true(has_note(d, "column 'name' left out: nearly every row has another text"));
    assert_true(has_note(d, "column 'user_id' left out: it identifies the rows"));
    assert_true(has_note(d, "column 'gap' left out: it has no values"));
    blv_dataset_release(d);
    /* a first column with a name, or that does not count from 0, stays */
    d = read_text("n,x,label\n0,5,a\n1,6,b\n", NULL);
    assert_int_equal(blv_dataset_view_of(d)->columns, 2);
    blv_dataset_release(d);
    d = read_text(",x,label\n1,5,a\n2,6,b\n", NULL);
    assert_int_equal(blv_dataset_view_of(d)->columns, 2);
    blv_dataset_release(d);
    /* rows that were shuffled or picked; no header at all, where it has to count from 0 on */
    static const struct {
        const char *header;
        int step, first;
        size_t columns;
    } cases[] = {{",x,label\n", 7, 0, 1},
                 {",x,label\n", 11, 300, 1},
                 {",x,label\n", 0, 5, 2},
                 {"", 1, 0, 1},
                 {"", 1, 1, 2}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        strcpy(text, cases[k].header);
        for (int i = 0; i < 40; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%d,%d.5,%s\n",
                     cases[k].first + cases[k].step * i % 40, i % 9, i % 2 ? "a" : "b");
        d = read_text(text, NULL);
        assert_int_equal(blv_dataset_view_of(d)->columns, cases[k].columns);
        blv_dataset_release(d);
    }
}

static void test_constant_columns(void **state) {
    (void)state;
    blv_dataset *d = read_text("a,b,c,d,label\n1,x,5,7,p\n2,x,5,,q\n3,x,5,7,p\n", NULL);
    assert_true(has_note(d, "the same in every row: columns 'b', 'c'"));
    assert_int_equal(blv_dataset_view_of(d)->columns, 6);
    blv_dataset_release(d);
    d = read_text("1,2,p\n", NULL); /* of one row nothing is said */
    assert_null(blv_dataset_notes(d, 0));
    blv_dataset_release(d);
}

/* As the files of the UCI repository are: no header, blanks behind commas, codes, the label first.
 */
static void test_uci(void **state) {
    (void)state;
    blv_dataset *d = read_text("39, State-gov, Bachelors, ?, <=50K\n50, Private, HS, Sales, >50K\n"
                               "38, Private, HS, Exec, <=50K\n53, ?, 11th, Sales, >50K\n",
                               OPTIONS(.layout = BLV_LAYOUT_DENSE));
    check_names(d,
                (const char *const[]){"x0", "x1=Private", "x1=State-gov", "x1 never seen",
                                      "x1 missing", "x2=11th", "x2=Bachelors", "x2=HS",
                                      "x2 never seen", "x3=Exec", "x3=Sales", "x3 never seen",
                                      "x3 missing"},
                13);
    check_values(d, 4, 13,
                 (const double[]){39, 0, 1, 0,  0, 0, 1, 0, 0,  0, 1, 0, 1, 50, 1, 0, 0, 0,
                                  0,  0, 1, 0,  0, 1, 0, 0, 38, 1, 0, 0, 0, 0,  0, 1, 0, 1,
                                  0,  0, 0, 53, 1, 0, 0, 1, 1,  0, 0, 0, 0, 1,  0, 0});
    assert_string_equal(class_of(d, 3), ">50K");
    blv_dataset_release(d);
    d = read_text("A11 6 A34 1\nA12 48 A32 2\nA14 12 A34 1\n", OPTIONS(.layout = BLV_LAYOUT_DENSE));
    check_names(d,
                (const char *const[]){"x0=A11", "x0=A12", "x0=A14", "x0 never seen", "x1", "x2=A32",
                                      "x2=A34", "x2 never seen"},
                8);
    check_values(d, 3, 8, (const double[]){1,  0, 0, 0, 6, 0, 1, 0, 0,  1, 0, 0,
                                           48, 1, 0, 0, 0, 0, 1, 0, 12, 0, 1, 0});
    blv_dataset_release(d);
    d = read_text("p,x,s\ne,x,t\ne,b,s\n", OPTIONS(.label = "0", .layout = BLV_LAYOUT_DENSE));
    check_values(d, 3, 6, (const double[]){0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0});
    assert_string_equal(class_of(d, 0), "p");
    blv_dataset_release(d);
}

/* ---- Missing values ---- */

static void test_missing(void **state) {
    (void)state;
    static const char text[] = "u,v,ok,label\n"
                               "4,x,yes,a\n"
                               ",y,no,b\n"
                               "1,?,,a\n"
                               "NA,y,no,b\n"
                               "3,N/A,yes,b\n"
                               "10,null,NaN,a\n";
    blv_dataset *d = read_text(text, OPTIONS(.layout = BLV_LAYOUT_DENSE));
    const char *const names[] = {"u",         "u missing", "v=x",       "v=y", "v never seen",
                                 "v missing", "ok",        "ok missing"};
    check_names(d, names, 8);
    const double values[] = {4,   0, 1, 0, 0, 0, 1, 0, /* the median of 4, 1, 3 and 10 is 3.5, */
                             3.5, 1, 0, 1, 0, 0, 0, 0, /* y is the most frequent level, and of as */
                             1,   0, 0, 1, 0, 1, 0, 1, /* many yes as no it is no */
                             3.5, 1, 0, 1, 0, 0, 0, 0, //
                             3,   0, 0, 1, 0, 1, 1, 0, //
                             10,  0, 0, 1, 0, 1, 0, 1};
    check_values(d, 6, 8, values);
    assert_true(has_note(d, "column 'u': number, 2 missing"));
    blv_dataset_release(d);

    d = read_text(text, OPTIONS(.missing = BLV_MISSING_DROP, .layout = BLV_LAYOUT_DENSE));
    check_values(d, 1, 4, (const double[]){4, 1, 0, 1}); /* one level is left */
    assert_true(has_note(d, "5 of 6 rows left out: values are missing"));
    assert_string_equal(class_of(d, 0), "a");
    blv_dataset_release(d);

    check_rejected(text, OPTIONS(.missing = BLV_MISSING_ERROR),
                   "line 3, column 1 of 4 (u): expected a value, found nothing");
    check_rejected("u,label\n?,a\n,b\n", OPTIONS(.missing = BLV_MISSING_DROP, .header = "yes"),
                   "no column is left");
}

/* ---- Against another computation ---- */

enum { ROWS = 300, WORDS = 5 };
static const char *const words[WORDS] = {"delta", "alpha", "echo", "bravo", "charlie"};

typedef struct table_row {
    double number; /* NaN: missing */
    int word;      /* -1: missing */
} table_row;

static unsigned next_random(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static char *write_table(const table_row *rows, size_t count) {
    char *text = calloc(count + 1, 64);
    size_t used = (size_t)sprintf(text, "n;w;label\r\n");
    for (size_t i = 0; i < count; i++) {
        char number[32] = "";
        if (!isnan(rows[i].number))
            snprintf(number, sizeof number, "%.17g", rows[i].number);
        char *point = strchr(number, '.');
        if (point)
            *point = ',';
        used += (size_t)sprintf(text + used, "%s;%s;%zu\r\n", number,
                                rows[i].word < 0 ? "NaN" : words[rows[i].word], i % 3);
    }
    return text;
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Numbers with a decimal comma, semicolons, CRLF, missing values and a category; then other rows in
 * another order of columns, with a level that was not there, by the recipe of the first. */
static void test_encoding(void **state) {
    (void)state;
    static table_row rows[ROWS];
    unsigned seed = 7;
    double there[ROWS];
    size_t n = 0, count[WORDS] = {0};
    for (size_t i = 0; i < ROWS; i++) {
        unsigned draw = next_random(&seed);
        rows[i].number = draw % 5 == 0 ? NAN : ((double)(draw % 20011) - 10000.0) / 64.0;
        rows[i].word = (int)(next_random(&seed) % 6) - 1;
        if (!isnan(rows[i].number))
            there[n++] = rows[i].number;
        if (rows[i].word >= 0)
            count[rows[i].word]++;
    }
    qsort(there, n, sizeof *there, by_size);
    double median = n % 2 ? there[n / 2] : (there[n / 2 - 1] + there[n / 2]) / 2.0;
    static const int order[WORDS] = {1, 3, 4, 0, 2}; /* of the words, by letters */
    size_t most = 0;
    for (size_t k = 1; k < WORDS; k++)
        most = count[order[k]] > count[order[most]] ? k : most;
    char *text = write_table(rows, ROWS);
    for (int sparse = 0; sparse < 2; sparse++) {
        blv_dataset *d =
            read_text(text, OPTIONS(.layout = sparse ? BLV_LAYOUT_SPARSE : BLV_LAYOUT_DENSE));
        const char *const names[] = {"n",       "n missing",    "w=alpha",
                                     "w=bravo", "w=charlie",    "w=delta",
                                     "w=echo",  "w never seen", "w missing"};
        check_names(d, names, 9);
        assert_true((blv_dataset_view_of(d)->dense == NULL) == (sparse == 1));
        for (size_t i = 0; i < ROWS; i++) {
            bool no_number = isnan(rows[i].number), no_word = rows[i].word < 0;
            assert_true(at(d, i, 0) == (no_number ? median : rows[i].number));
            assert_true(at(d, i, 1) == (no_number ? 1.0 : 0.0));
            for (size_t k = 0; k < WORDS; k++)
                assert_true(at(d, i, 2 + k) ==
                            ((no_word ? k == most : rows[i].word == order[k]) ? 1.0 : 0.0));
            assert_true(at(d, i, 7) == 0.0);
            assert_true(at(d, i, 8) == (no_word ? 1.0 : 0.0));
        }
        blv_dataset *other =
            read_text("label,w,more,n\n1,zulu,5,2.5\n0,echo,6,\n",
                      OPTIONS(.recipe = blv_dataset_recipe(d), .layout = BLV_LAYOUT_DENSE));
        check_names(other, names, 9);
        check_values(other, 2, 9,
                     (const double[]){2.5, 0, 0, 0, 0, 0, 0, 1, 0, //
                                      median, 1, 0, 0, 0, 0, 1, 0, 0});
        assert_string_equal(class_of(other, 0), "1");
        assert_true(has_note(other, "1 level not seen before"));
        assert_true(has_note(other, "column 'more' left out"));
        assert_string_equal(blv_dataset_recipe(other) ? "there" : "missing", "there");
        blv_dataset_release(other);
        blv_dataset_release(d);
    }
    free(text);
}

static void test_recipes(void **state) {
    (void)state;
    blv_dataset *d = read_text("a\tb,c\\,label\n", OPTIONS(.header = "no", .label = "none"));
    blv_dataset_release(d);
    d = read_text("x,\"c\\\nd\",label\n1,\"u\tv\",p\n2,\"w\\\nt\",q\n",
                  OPTIONS(.layout = BLV_LAYOUT_DENSE));
    blv_dataset *same = read_text(
        "\"c\\\nd\",x\n\"w\\\nt\",7\n",
        OPTIONS(.recipe = blv_dataset_recipe(d), .header = "yes", .layout = BLV_LAYOUT_DENSE));
    check_values(same, 1, 4, (const double[]){7, 0, 1, 0}); /* u\tv comes before w\\\nt */
    assert_null(blv_dataset_view_of(same)->label);
    blv_dataset_release(same);
    check_rejected("x,label\n1,p\n", OPTIONS(.recipe = blv_dataset_recipe(d)),
                   "there is no column 'c\\?d', which the rows of the training have");
    blv_dataset_release(d);

    /* without names: by place, with the label and without it */
    d = read_text("1,a,0\n2,b,1\n3,a,1\n", OPTIONS(.layout = BLV_LAYOUT_DENSE));
    const char *recipe = blv_dataset_recipe(d);
    same = read_text("5,b,1\n", OPTIONS(.recipe = recipe, .layout = BLV_LAYOUT_DENSE));
    check_values(same, 1, 4, (const double[]){5, 0, 1, 0});
    assert_non_null(blv_dataset_view_of(same)->label);
    blv_dataset_release(same);
    same = read_text("5,b\n", OPTIONS(.recipe = recipe, .layout = BLV_LAYOUT_DENSE));
    check_values(same, 1, 4, (const double[]){5, 0, 1, 0});
    assert_null(blv_dataset_view_of(same)->label);
    blv_dataset_release(same);
    check_rejected("z\n", OPTIONS(.recipe = recipe), "fewer than the rows of the training");
    check_rejected("5,b,1,7\n", OPTIONS(.recipe = recipe), "more than the rows of the training");
    check_rejected("5,b,1\n", OPTIONS(.recipe = "number\tx"),
                   "the recipe of the columns is damaged");
    check_rejected("5,b,1\n", OPTIONS(.recipe = "nothing"), "the recipe of the columns is damaged");
    check_rejected("b,1\n", OPTIONS(.recipe = "category\t\t9\t0\tb\nlabel\t\n"), "is damaged");
    blv_dataset_release(d);
}

/* A recipe from before there was a level for what was never seen. */
static void test_old_recipe(void **state) {
    (void)state;
    blv_dataset *d = read_text("n,c,k\n,Oslo,a\n2,Rome,b\n",
                               OPTIONS(.layout = BLV_LAYOUT_DENSE,
                                       .recipe = "number\tn\t7\t1\ncategory\tc\t0\t0\tBern\tRome\n"
                                                 "label\tk\n"));
    check_names(d, (const char *const[]){"n", "n missing", "c=Bern", "c=Rome"}, 4);
    check_values(d, 2, 4, (const double[]){7, 1, 0, 0, 2, 0, 0, 1});
    blv_dataset_release(d);
}

/* ---- Learning from a part of the rows ---- */

/* The encoding of a part is as if the other rows had been read by the recipe of that part, but for
 * features of levels that it does not have. */
static void test_relearning(void **state) {
    (void)state;
    static const char head[] = "n,c,ok,when,label\n";
    static const char part[] = "1,x,yes,2024-01-01,a\n,y,no,,b\n5,,no,2024-01-05,a\n"
                               "9,y,,2024-01-02,b\n,x,yes,,a\n2,y,no,2024-01-09,b\n";
    static const char others[] = "100,z,yes,2030-01-01,a\n,,,,b\n200,z,yes,2031-01-01,a\n"
                                 "300,z,yes,2032-01-01,a\n,y,yes,,b\n";
    char text[1024];
    for (int sparse = 0; sparse < 2; sparse++) {
        const blv_layout layout = sparse ? BLV_LAYOUT_SPARSE : BLV_LAYOUT_DENSE;
        snprintf(text, sizeof text, "%s%s%s", head, part, others);
        blv_dataset *all = read_text(text, OPTIONS(.layout = layout)), *d[2], *expected[2];
        const size_t first[] = {0, 1, 2, 3, 4, 5}, second[] = {6, 7, 8, 9, 10};
        assert_int_equal(blv_dataset_select(all, first, 6, &d[0], NULL), BLV_OK);
        assert_int_equal(blv_dataset_select(all, second, 5, &d[1], NULL), BLV_OK);
        assert_int_equal(blv_dataset_relearn(d, 2, NULL), BLV_OK);
        snprintf(text, sizeof text, "%s%s", head, part);
        expected[0] = read_text(text, OPTIONS(.layout = layout));
        snprintf(text, sizeof text, "%s%s", head, others);
        expected[1] =
            read_text(text, OPTIONS(.layout = layout, .recipe = blv_dataset_recipe(expected[0])));
        const char *const *names = blv_dataset_view_of(expected[0])->feature_names;
        const char *const *wide = blv_dataset_view_of(all)->feature_names;
        const size_t features = blv_dataset_view_of(all)->columns;
        assert_int_equal(blv_dataset_view_of(expected[0])->columns + 1, features); /* c=z */
        for (int s = 0; s < 2; s++)
            for (size_t i = 0; i < blv_dataset_view_of(d[s])->rows; i++)
                for (size_t j = 0, k = 0; j < features; j++) {
                    const bool new_level = strcmp(wide[j], "c=z") == 0;
                    assert_true(new_level || strcmp(wide[j], names[k]) == 0);
                    assert_true(at(d[s], i, j) == (new_level ? 0.0 : at(expected[s], i, k)));
                    k += !new_level;
                }
        /* rows that are read by the recipe of the part are encoded alike */
        blv_dataset *again =
            read_text(text, OPTIONS(.layout = layout, .recipe = blv_dataset_recipe(d[0])));
        for (size_t i = 0; i < 5; i++)
            for (size_t j = 0; j < features; j++)
                assert_true(strstr("c=z c never seen", wide[j]) ||
                            at(again, i, j) == at(d[1], i, j));
        blv_dataset_release(again);
        blv_dataset_release(all);
        for (int s = 0; s < 2; s++) {
            blv_dataset_release(d[s]);
            blv_dataset_release(expected[s]);
        }
    }
    blv_dataset *plain = read_text("1 1:2\n0 2:1\n", NULL);
    const uint64_t before = blv_dataset_fingerprint(plain);
    assert_int_equal(blv_dataset_relearn(&plain, 1, NULL), BLV_OK);
    assert_true(blv_dataset_fingerprint(plain) == before);
    blv_dataset_release(plain);
}

/* ---- Warnings ---- */

static char said[2048];

static void take_line(void *context, const char *line) {
    (void)context;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

static const char *warnings(const blv_dataset *train, const blv_dataset *test) {
    const blv_dataset *const sets[] = {train, test};
    const char *const names[] = {"train.csv", "test.csv"};
    said[0] = '\0';
    assert_int_equal(blv_dataset_warn(sets, names, 2, take_line, NULL, NULL), BLV_OK);
    return said;
}

static void test_warnings(void **state) {
    (void)state;
    char text[4096] = "code,city,x,same,label\n", other[4096] = "code,city,x,same,label\n";
    for (int i = 0; i < 40; i++) {
        char row[64];
        snprintf(row, sizeof row, "%c,%s,%d,7,%s\n", "pqr"[i % 3], i % 2 ? "Rome" : "Bern",
                 i % 3 == 0 ? i : -i, i % 3 == 0 ? "yes" : "no");
        strcat(text, row);
        if (i % 3 == 0)
            strcat(other, row);
    }
    for (int sparse = 0; sparse < 2; sparse++) {
        const blv_layout layout = sparse ? BLV_LAYOUT_SPARSE : BLV_LAYOUT_DENSE;
        blv_dataset *train = read_text(text, OPTIONS(.layout = layout));
        blv_dataset *test =
            read_text(other, OPTIONS(.layout = layout, .recipe = blv_dataset_recipe(train)));
        blv_dataset *const both[] = {train, test};
        assert_int_equal(blv_dataset_align(both, NULL, 2, NULL), BLV_OK);
        assert_string_equal(warnings(train, test),
                            "train.csv: the same in every row: column 'same'\n"
                            "14 of 14 rows of test.csv are also in train.csv\n"
                            "test.csv has no row of class 'no'\n"
                            "train.csv: the label follows from one column alone: 'code', 'x'\n");
        assert_int_equal(blv_dataset_kinds(train, said, sizeof said, NULL), BLV_OK);
        assert_string_equal(said, "2 numbers, 2 categories; label 'label'");
        blv_dataset_release(train);
        blv_dataset_release(test);
    }
    /* numbers: each class in an interval of its own; and nothing to say */
    text[0] = other[0] = '\0';
    for (int i = 0; i < 30; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d,%d,%s\n", 2 * i, i * 7 % 30,
                 i < 10   ? "a"
                 : i < 20 ? "b"
                          : "c");
        snprintf(other + strlen(other), sizeof other - strlen(other), "%d,%d,%s\n", i * 11 % 30,
                 i * 7 % 30,
                 i < 10   ? "a"
                 : i < 20 ? "b"
                          : "c");
    }
    blv_dataset *train = read_text(text, NULL);
    assert_string_equal(warnings(train, NULL),
                        "train.csv: the label follows from one column alone: 'x0'\n");
    blv_dataset_release(train);
    train = read_text(other, NULL);
    assert_string_equal(warnings(train, NULL), "");
    assert_int_equal(blv_dataset_kinds(train, said, sizeof said, NULL), BLV_OK);
    assert_string_equal(said, "2 numbers");
    blv_dataset_release(train);
}

/* ---- Weights ---- */

static void test_weights(void **state) {
    (void)state;
    static const char text[] = "x;w;k\n1,5;0,5;a\n2;2;b\n;3;a\n4;0;b\n";
    blv_dataset *d = read_text(text, OPTIONS(.weight = "w", .missing = BLV_MISSING_DROP)), *part;
    const blv_dataset_view *v = blv_dataset_view_of(d);
    check_names(d, (const char *const[]){"x"}, 1);
    assert_int_equal(v->rows, 3);
    assert_true(v->weight && v->weight[0] == 0.5 && v->weight[1] == 2.0 && v->weight[2] == 0.0);
    const size_t rows[] = {1, 0};
    assert_int_equal(blv_dataset_select(d, rows, 2, &part, NULL), BLV_OK);
    assert_true(blv_dataset_view_of(part)->weight[0] == 2.0);
    blv_dataset_release(part);
    blv_dataset *plain = read_text(text, OPTIONS(.kinds = "w:drop", .missing = BLV_MISSING_DROP));
    assert_null(blv_dataset_view_of(plain)->weight);
    assert_true(blv_dataset_fingerprint(plain) != blv_dataset_fingerprint(d));
    blv_dataset_release(plain);
    blv_dataset_release(d);
    d = read_text("1,a,3\n2,b,4\n", OPTIONS(.weight = "2")); /* the label is the last other one */
    assert_string_equal(class_of(d, 1), "b");
    assert_true(blv_dataset_view_of(d)->weight[1] == 4.0);
    blv_dataset_release(d);
    check_rejected("x,w,k\n1,-1,a\n2,1,b\n", OPTIONS(.weight = "w"),
                   "line 2, column 2 of 3 (w): expected a weight from 0 on, found '-1'");
    check_rejected("x,w,k\n1,,a\n2,1,b\n", OPTIONS(.weight = "w"), "expected a weight from 0 on");
    check_rejected("x,w,k\n1,1,a\n", OPTIONS(.weight = "v"), "no weight column 'v'");
    check_rejected("x,w,k\n1,1,a\n", OPTIONS(.weight = "k", .label = "k"),
                   "the weights need a column of their own");
    check_rejected("1 1:2\n", OPTIONS(.weight = "w"), "weights are a column of a CSV or ARFF file");
    check_rejected("a,w,class\n1,0,u\n2,0,v\n", OPTIONS(.weight = "w"),
                   "weights of the rows add up to 0");
    check_rejected("a,w,class\n1,1e308,u\n2,1e308,v\n", OPTIONS(.weight = "w"), "add up to inf");
}

/* ---- Labels ---- */

static void test_label_column(void **state) {
    (void)state;
    static const char *const named[] = {"Class,x\na,1\nb,2\n", "x,y,z\n1,a,5\n2,b,6\n",
                                        "x,TARGET,z\n1,a,5\n2,b,6\n"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        blv_dataset *d = read_text(named[i], NULL);
        assert_string_equal(class_of(d, 0), "a");
        blv_dataset_release(d);
    }
    blv_dataset *d = read_text("y,x,class\n1,2,a\n3,4,b\n", NULL); /* the last one is named so */
    assert_string_equal(class_of(d, 1), "b");
    blv_dataset_release(d);
    check_rejected("a,b,a\n1,2,x\n3,4,y\n", OPTIONS(.label = "a"),
                   "2 columns have the name 'a'; expected a number from 0 to 2");
    d = read_text("a,b,a\n1,2,.5\n3,4,.25\n", OPTIONS(.targets = BLV_TARGETS_REAL));
    blv_dataset *same = read_text(
        "a,b,a\n5,6,.75\n", OPTIONS(.recipe = blv_dataset_recipe(d), .targets = BLV_TARGETS_REAL));
    assert_true(blv_dataset_view_of(same)->target[0] == .75 && at(same, 0, 0) == 5.0);
    blv_dataset_release(same);
    blv_dataset_release(d);

    char text[4096] = "kind,n,m,x\n";
    for (int i = 0; i < 60; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s,%d,%d,%d.25\n",
                 i % 2 ? "p" : "q", i % 3, i, i);
    check_rejected(
        text, NULL,
        "the last column 'x' has 60 different values in 60 rows, which are no classes; name "
        "the column of the labels; it may be 'kind', 'n'");
    d = read_text(text, OPTIONS(.label = "kind"));
    assert_int_equal(blv_dataset_view_of(d)->classes, 2);
    blv_dataset_release(d);
    strcpy(text, "x,when\n");
    for (int i = 0; i < 40; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d,2024-02-%02d %d:00\n", i,
                 i % 28 + 1, i % 24);
    check_rejected(text, OPTIONS(.label = "when"),
                   "the label column 'when' has 40 different values in 40 rows, which are no "
                   "classes; targets classes takes them for some");
    d = read_text(text, OPTIONS(.label = "when", .targets = BLV_TARGETS_CLASSES));
    assert_int_equal(blv_dataset_view_of(d)->classes, 40);
    blv_dataset_release(d);
}

static void test_targets(void **state) {
    (void)state;
    char text[8192] = "x,y\n";
    for (int i = 0; i < 200; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d,%d\n", i, i * i % 101);
    blv_dataset *d = read_text(text, NULL); /* 51 different whole numbers in 200 rows */
    assert_non_null(blv_dataset_view_of(d)->target);
    assert_true(blv_dataset_view_of(d)->target[11] == 20.0);
    assert_true(has_note(d, "the labels are taken as real numbers: 51 different ones"));
    assert_int_equal(blv_dataset_expect_classes(d, "it", NULL), BLV_E_FORMAT);
    blv_dataset_release(d);
    d = read_text(text, OPTIONS(.targets = BLV_TARGETS_CLASSES));
    assert_int_equal(blv_dataset_view_of(d)->classes, 51);
    blv_dataset_release(d);
    /* more than there may be classes; a last column that nobody named is no target even so */
    d = read_text(text, OPTIONS(.max_classes = 40));
    assert_true(blv_dataset_view_of(d)->target[11] == 20.0);
    assert_true(has_note(d, "the labels are taken as real numbers: more than 40 different ones"));
    blv_dataset_release(d);
    strcpy(text, "x;z\n");
    for (int i = 0; i < 100; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d;%d,25\n", i, i);
    check_rejected(text, OPTIONS(.max_classes = 40),
                   "the last column 'z' has 100 different values");
    check_rejected(text, NULL, "the last column 'z' has 100 different values");
    for (size_t most = 40; most < 10000; most += 5000) { /* decimal commas of the label alone */
        d = read_text(text, OPTIONS(.label = "z", .max_classes = most));
        assert_true(blv_dataset_view_of(d)->target[11] == 11.25);
        assert_true(at(d, 11, 0) == 11.0);
        blv_dataset_release(d);
    }
    d = read_text(text, OPTIONS(.label = "z", .targets = BLV_TARGETS_REAL));
    assert_true(blv_dataset_view_of(d)->target[11] == 11.25);
    blv_dataset_release(d);
    d = read_text("x,y\n1,2\n3,4\n", OPTIONS(.targets = BLV_TARGETS_REAL));
    assert_non_null(blv_dataset_view_of(d)->target);
    blv_dataset_release(d);
}

/* ---- Texts ---- */

static void test_separators(void **state) {
    (void)state;
    static const char *const same[] = {
        "\xef\xbb\xbf\x75;v;k\r\n1,5;-2;a\r\n0,25;3;b\r\n", /* with a byte order mark */
        "u\tv\tk\n1,5\t-2\ta\n0,25\t3\tb\n",                /* tabs and decimal commas */
        "u v k\n1.5   -2 a\n  0.25 3 b  \r\n",              /* blanks */
        "u,v,k\n1.5,-2,a\n0.25,3,b",                        /* no newline at the end */
        "\"u\",\"v\",\"k\"\n\"1.5\",-2,a\n0.25,3,b\n",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        blv_dataset *d = read_text(same[i], NULL);
        check_values(d, 2, 2, (const double[]){1.5, -2, 0.25, 3});
        assert_string_equal(class_of(d, 1), "b");
        check_names(d, (const char *const[]){"u", "v"}, 2);
        blv_dataset_release(d);
    }
    blv_dataset *tags = read_text("1.5,u;v,a\n2,w;v,b\n7,u;v,a\n", NULL); /* not the delimiter */
    assert_int_equal(blv_dataset_view_of(tags)->columns, 4);
    assert_string_equal(class_of(tags, 1), "b");
    blv_dataset_release(tags);
    tags = read_text("1,5;2,5;a\n2,25;7,0;b\n", NULL);
    check_values(tags, 2, 2, (const double[]){1.5, 2.5, 2.25, 7});
    blv_dataset_release(tags);
    check_rejected("u,k\r1,a\r2,b\r", NULL, "line 1: its end is a carriage return alone");
    check_rejected("u;k\n1,5;a\n1.5;b\n1;a\n", NULL, "found '1.5'"); /* both, which is ambiguous */
    blv_dataset *d = read_text("x,note,k\n1,\"two\nlines, \"\"q\"\"\",a\n2,one,b\n",
                               OPTIONS(.layout = BLV_LAYOUT_DENSE));
    check_names(
        d, (const char *const[]){"x", "note=one", "note=two\nlines, \"q\"", "note never seen"}, 4);
    blv_dataset_release(d);
}

static void test_missing_labels(void **state) {
    (void)state;
    static const char text[] = "a,y\n1,u\n2,NA\n3,v\n4,\n5,u\n";
    check_rejected(text, NULL, "line 3, column 2 of 2: expected a label, found 'NA'");
    check_rejected("a,y\n1,u\n2,\n", NULL, "expected a label, found nothing");
    blv_dataset *d = read_text(text, OPTIONS(.missing = BLV_MISSING_DROP));
    assert_int_equal(blv_dataset_view_of(d)->classes, 2);
    check_values(d, 3, 1, (const double[]){1, 3, 5});
    assert_true(has_note(d, "2 of 5 rows left out: values are missing"));
    blv_dataset_release(d);
    d = read_text("a,y\n1,0.5\n2,?\n3,1.5\n",
                  OPTIONS(.missing = BLV_MISSING_DROP, .real_targets = true));
    assert_int_equal(blv_dataset_view_of(d)->rows, 2);
    assert_true(blv_dataset_view_of(d)->target[1] == 1.5);
    blv_dataset_release(d);
    d = read_text("a,y\n1,u\n2,NA\n", OPTIONS(.targets = BLV_TARGETS_CLASSES)); /* as asked for */
    assert_int_equal(blv_dataset_view_of(d)->classes, 2);
    blv_dataset_release(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_given_kinds),
        cmocka_unit_test(test_constant_columns),
        cmocka_unit_test(test_uci),
        cmocka_unit_test(test_typing_errors),
        cmocka_unit_test(test_dropped_columns),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_recipes),
        cmocka_unit_test(test_old_recipe),
        cmocka_unit_test(test_relearning),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_label_column),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_separators),
        cmocka_unit_test(test_missing_labels),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
