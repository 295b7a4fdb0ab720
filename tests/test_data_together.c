/* Sets that come from elsewhere or are used together: recipes that are damaged, sets around the
 * caller's memory, rows that another set has too, sets that do not fit together, archives of sparse
 * rows, and rows that are written as in their file with other labels. */
#include "reader_helpers.h"

#include <math.h>
#include <stdlib.h>

static void check_rejected(const char *path, const blv_read_options *options, const char *message) {
    blv_dataset *set = NULL;
    blv_message why = {""};
    blv_error error = blv_dataset_read(&set, path, options, &why);
    if (error == BLV_OK || set || !strstr(why.text, message))
        fail_msg("error %d: %s\nexpected: %s", (int)error, why.text, message);
}

/* ---- Recipes ---- */

static void test_recipes(void **state) {
    static const char text[] = "n,c,k\n1,red,x\n2,blue,y\n3,red,x\n,green,y\n";
    (void)state;
    blv_dataset *d = read_text(text, NULL);
    const char *recipe = blv_dataset_recipe(d);
    assert_non_null(recipe);
    blv_dataset *again = read_text(text, OPTIONS(.recipe = recipe));
    assert_true(blv_dataset_fingerprint(d) == blv_dataset_fingerprint(again));
    blv_dataset_release(again);
    again =
        read_text("c,n\nviolet,7\nred,\n", OPTIONS(.recipe = recipe)); /* no label, a new level */
    assert_int_equal(blv_dataset_view_of(again)->columns, blv_dataset_view_of(d)->columns);
    assert_true(at(again, 0, 0) == 7.0 && at(again, 1, 0) == 2.0 && at(again, 1, 1) == 1.0);
    blv_dataset_release(again);
    blv_dataset_release(d);
    static const char *const damaged[] = {
        "number\tn\tx\t0\ncategory\tc\t0\t2\tred\nlabel\tk\n",        /* no fill */
        "number\tn\t2\t\ncategory\tc\t0\t2\tred\nlabel\tk\n",         /* no marks */
        "number\tn\t2\tx\ncategory\tc\t0\t2\tred\nlabel\tk\n",        /* no number of marks */
        "number\tn\t2\t-1\ncategory\tc\t0\t2\tred\nlabel\tk\n",       /* below what there is */
        "number\tn\t2\t4\ncategory\tc\t0\t2\tred\nlabel\tk\n",        /* above */
        "number\tn\t2\t1\ncategory\tc\t0\t2\tred\tred\nlabel\tk\n",   /* a level twice */
        "number\tn\t2\t1\ncategory\tc\t-1\t2\tred\tblue\nlabel\tk\n", /* no such level */
        "number\tn\t2\t1\ncategory\tc\t9\t2\tred\tblue\nlabel\tk\n",
        "number\tn\t2\t1\ncategory\tc\t-\t2\tred\tblue\nlabel\tk\n",
        "length\tn\t2\t1\ncategory\tc\t0\t2\tred\tblue\nlabel\tk\n", /* no such kind */
        "number\n",
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        check_rejected(put_text("text", text), OPTIONS(.recipe = damaged[i]),
                       "the recipe of the columns is damaged");
    /* names and levels with tabs, lines and backslashes in them are written and read back */
    d = read_text("\"a\tb\",c,k\n1,\"x\\y\",u\n2,\"x\ny\",v\n3,\"x\\y\",u\n", NULL);
    again = read_text("\"a\tb\",c\n4,\"x\ny\"\n", OPTIONS(.recipe = blv_dataset_recipe(d)));
    assert_true(at(again, 0, 0) == 4.0);
    double levels = 0.0;
    for (size_t j = 1; j < blv_dataset_view_of(again)->columns; j++)
        levels += at(again, 0, j) * (double)j;
    assert_true(levels == (at(d, 1, 1) == 1.0 ? 1.0 : 2.0));
    blv_dataset_release(again);
    blv_dataset_release(d);
}

/* ---- As in the file, with other labels ---- */

typedef struct bytes_out {
    char text[500];
    size_t size;
} bytes_out;

static int put(void *context, const void *data, size_t count) {
    bytes_out *out = context;
    assert_true(out->size + count < sizeof out->text);
    memcpy(out->text + out->size, data, count);
    out->size += count;
    return 0;
}

/* Classes are exchanged: 0 and 1. */
static void check_source(const char *text, const blv_read_options *options, const char *expected) {
    blv_dataset *d = read_text(text, options), *other = NULL;
    const blv_dataset_view *v = blv_dataset_view_of(d);
    int32_t label[8];
    bytes_out out = {"", 0};
    blv_message why = {""};
    assert_true(v->rows <= 8 && v->classes == 2);
    for (size_t i = 0; i < v->rows; i++)
        label[i] = 1 - v->label[i];
    assert_int_equal(blv_dataset_relabel(d, label, &other, &why), BLV_OK);
    if (blv_dataset_write_to(other, "out", "source", put, &out, &why) != BLV_OK)
        fail_msg("%s", why.text);
    out.text[out.size] = '\0';
    assert_string_equal(out.text, expected);
    blv_dataset_release(other);
    blv_dataset_release(d);
}

static void test_sources(void **state) {
    static const char head[] =
        "@relation r\n@attribute a numeric\n@attribute k {u, 'v w'}\n@data\n";
    char text[300], expected[300];
    (void)state;
    check_source("a,k\r\n1,x\r\n2,y\r\n", NULL, "a,k\r\n1,y\r\n2,x\r\n");
    check_source("1,\"x, 1\"\n2,y\n", OPTIONS(.header = "no"), "1,y\n2,\"x, 1\"\n");
    check_source("1,\"say \"\"x\"\"\"\n2,y\n", OPTIONS(.header = "no"),
                 "1,y\n2,\"say \"\"x\"\"\"\n");
    check_source("1,\" x\"\n2,y\n", OPTIONS(.header = "no", .columns = 0), "1,y\n2,\" x\"\n");
    check_source("1 2:3\n-1 1:2 \n", NULL, "-1 2:3\n1 1:2 \n");
    snprintf(text, sizeof text, "%s1,u\n2, 'v w'\n", head);
    snprintf(expected, sizeof expected, "%s1,'v w'\n2, u\n", head);
    check_source(text, NULL, expected);
    /* between braces the first class may be left out */
    snprintf(text, sizeof text, "%s{0 1}\n{0 2, 1 'v w'}\n{1 'v w' }\n{}\n", head);
    snprintf(expected, sizeof expected, "%s{0 1, 1 'v w'}\n{0 2, 1 u}\n{1 u }\n{1 'v w'}\n", head);
    blv_dataset *d = read_text(text, NULL), *other = NULL;
    int32_t label[4];
    bytes_out out = {"", 0};
    for (size_t i = 0; i < 4; i++)
        label[i] = 1 - blv_dataset_view_of(d)->label[i];
    assert_int_equal(blv_dataset_relabel(d, label, &other, NULL), BLV_OK);
    assert_int_equal(blv_dataset_write_to(other, "out", "source", put, &out, NULL), BLV_OK);
    out.text[out.size] = '\0';
    blv_dataset *back = read_text(out.text, NULL);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(blv_dataset_view_of(back)->label[i], label[i]);
    blv_dataset_release(back);
    blv_dataset_release(other);
    blv_dataset_release(d);
}

/* ---- Around the caller's memory ---- */

static void count_release(void *context) {
    ++*(int *)context;
}

static void test_borrowed(void **state) {
    static const double values[] = {1, 2, 3, 4, 5, 6}, wrong[] = {1, NAN, 3, 4, 5, 6};
    static const size_t start[] = {0, 1, 2};
    static const uint32_t column[] = {0, 1};
    const blv_dataset_view dense = {.size = sizeof dense,
                                    .rows = 2,
                                    .columns = 2,
                                    .stride = 2,
                                    .precision = BLV_F64,
                                    .dense = values};
    const blv_dataset_view sparse = {.size = sizeof sparse,
                                     .rows = 2,
                                     .columns = 2,
                                     .precision = BLV_F64,
                                     .row_start = start,
                                     .column = column,
                                     .value = values};
    blv_dataset *d;
    blv_message why;
    int released = 0;
    (void)state;
    assert_int_equal(blv_dataset_borrow(&d, &dense, NULL, count_release, &released, &why), BLV_OK);
    assert_ptr_equal(blv_dataset_view_of(d)->dense, values);
    assert_int_equal(blv_dataset_multiply(d, 2.0, NULL), BLV_OK); /* a copy is changed */
    assert_true(at(d, 0, 1) == 4.0 && values[1] == 2.0);
    blv_dataset_release(d);
    assert_int_equal(released, 1);
    released = 0;
    assert_int_equal(blv_dataset_borrow(&d, &sparse, NULL, count_release, &released, &why), BLV_OK);
    check_values(d, 2, 2, (const double[]){1, 0, 0, 2});
    blv_dataset_release(d);
    assert_int_equal(released, 3);
    blv_dataset_view v = dense;
    v.stride = 3;
    assert_int_equal(blv_dataset_borrow(&d, &v, NULL, count_release, &released, &why),
                     BLV_E_ARGUMENT);
    assert_int_equal(blv_dataset_borrow(&d, &dense, NULL, NULL, &released, &why), BLV_E_ARGUMENT);
    v = sparse;
    v.value = NULL;
    assert_int_not_equal(blv_dataset_borrow(&d, &v, NULL, count_release, &released, &why), BLV_OK);
    v = dense;
    v.dense = wrong;
    assert_int_equal(blv_dataset_borrow(&d, &v, NULL, count_release, &released, &why), BLV_E_VALUE);
    assert_null(d);
}

/* ---- Two sets ---- */

typedef struct lines {
    char text[2000];
} lines;

static void keep(void *context, const char *line) {
    lines *all = context;
    size_t n = strlen(all->text);
    snprintf(all->text + n, sizeof all->text - n, "%s\n", line);
}

static void expect_said(blv_dataset *train, blv_dataset *test, const char *part) {
    const blv_dataset *const sets[] = {train, test};
    static const char *const names[] = {"train", "test"};
    lines said = {""};
    assert_int_equal(blv_dataset_warn(sets, names, 2, keep, &said, NULL), BLV_OK);
    if (part ? !strstr(said.text, part) : said.text[0])
        fail_msg("'%s'\nexpected: %s", said.text, part ? part : "nothing");
}

/* The same rows, or not, dense and sparse, of classes and of numbers. */
static void test_rows_of_both(void **state) {
    static const char train[] = "1 1:1 2:2\n2 1:3\n1 2:4\n2 1:5 2:1\n", same[] = "2 1:3\n1 2:9\n",
                      none[] = "1 1:3\n1 2:4.5\n2 2:2\n2 1:1 2:2\n";
    (void)state;
    for (int real = 0; real < 2; real++)
        for (int sparse = 0; sparse < 2; sparse++) {
            const blv_read_options *options =
                OPTIONS(.real_targets = real,
                        .layout = sparse ? BLV_LAYOUT_SPARSE : BLV_LAYOUT_DENSE, .columns = 2);
            blv_dataset *a = read_text(train, options), *b = read_text(same, options),
                        *c = read_text(none, options);
            expect_said(a, b, "1 of 2 rows of test are also in train");
            expect_said(a, c, NULL);
            expect_said(a, NULL, NULL);
            blv_dataset_release(a);
            blv_dataset_release(b);
            blv_dataset_release(c);
        }
}

static void test_joined(void **state) {
    (void)state;
    blv_dataset *a = read_text("1 1:1 2:2\n-1 1:3\n", OPTIONS(.layout = BLV_LAYOUT_DENSE));
    const struct {
        const char *text;
        blv_read_options options;
    } others[] = {
        {"1 1:1 3:2\n-1 1:3\n", {.layout = BLV_LAYOUT_DENSE}},
        {"1 1:1 2:2\n-1 1:3\n2 1:1\n", {.layout = BLV_LAYOUT_DENSE}},
        {"1 1:1 2:2\n-1 1:3\n", {.layout = BLV_LAYOUT_SPARSE}},
        {"1 1:1 2:2\n-1 1:3\n", {.layout = BLV_LAYOUT_DENSE, .precision = BLV_F32}},
        {"1 1:1 2:2\n-1 1:3\n", {.layout = BLV_LAYOUT_DENSE, .real_targets = true}},
    };
    blv_dataset *joined = NULL;
    blv_message why;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        blv_read_options options = others[i].options;
        options.size = sizeof options;
        blv_dataset *b = read_text(others[i].text, &options);
        assert_int_equal(blv_dataset_join(a, b, &joined, &why), BLV_E_VALUE);
        assert_null(joined);
        blv_dataset_release(b);
    }
    assert_int_equal(blv_dataset_join(a, a, &joined, &why), BLV_OK);
    check_values(joined, 4, 2, (const double[]){1, 2, 3, 0, 1, 2, 3, 0});
    blv_dataset_release(joined);
    blv_dataset_release(a);
}

/* ---- Sparse rows in archives ---- */

typedef struct csr {
    size_t shape_count, data, indices, indptr, indices_ndim;
    double columns, index, start;
} csr;

static const char *write_csr(const csr *c) {
    const char *path = in_folder("rows.npz");
    const double shape[] = {2, c->columns, 1}, data[] = {1, 2, 3}, indices[] = {0, c->index, 2},
                 indptr[] = {c->start, 2, 3, 3}, y[] = {0, 1};
    blv_npz_writer *w;
    assert_int_equal(blv_npz_create(&w, path, NULL), BLV_OK);
    assert_int_equal(blv_npz_add_f64(w, "shape", 1, &c->shape_count, shape, NULL), BLV_OK);
    assert_int_equal(blv_npz_add_f64(w, "data", 1, &c->data, data, NULL), BLV_OK);
    assert_int_equal(blv_npz_add_f64(w, "indices", c->indices_ndim, (const size_t[]){c->indices, 1},
                                     indices, NULL),
                     BLV_OK);
    assert_int_equal(blv_npz_add_f64(w, "indptr", 1, &c->indptr, indptr, NULL), BLV_OK);
    assert_int_equal(blv_npz_add_f64(w, "y", 1, (const size_t[]){2}, y, NULL), BLV_OK);
    assert_int_equal(blv_npz_commit(w, NULL), BLV_OK);
    return path;
}

static void test_sparse_archives(void **state) {
    static const csr sound = {2, 3, 3, 3, 1, 3, 1, 0};
    (void)state;
    blv_dataset *d = read_set(write_csr(&sound), OPTIONS(.layout = BLV_LAYOUT_SPARSE));
    check_values(d, 2, 3, (const double[]){1, 2, 0, 0, 0, 3});
    blv_dataset_release(d);
#define WITH(change, message)                                                                      \
    do {                                                                                           \
        csr c = sound;                                                                             \
        change;                                                                                    \
        check_rejected(write_csr(&c), NULL, message);                                              \
    } while (0)
    WITH(c.shape_count = 3, "expected the numbers of rows and columns");
    WITH(c.columns = 2.5, "expected the numbers of rows and columns");
    WITH(c.columns = -1, "expected the numbers of rows and columns");
    WITH(c.columns = 0, "expected columns within the shape");
    WITH(c.indices = 2, "expected as many elements as in data");
    WITH(c.indptr = 4, "expected one element more than rows");
    WITH(c.indices_ndim = 2, "expected one dimension");
    WITH(c.index = 3, "expected columns within the shape");
    WITH(c.index = 0.5, "expected columns within the shape");
    WITH(c.start = 1, "expected places from 0 to the end of data");
    WITH(c.start = 4, "expected ascending places in data");
#undef WITH
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recipes),  cmocka_unit_test(test_sources),
        cmocka_unit_test(test_borrowed), cmocka_unit_test(test_rows_of_both),
        cmocka_unit_test(test_joined),   cmocka_unit_test(test_sparse_archives),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
